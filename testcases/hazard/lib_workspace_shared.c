/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two handles, each with a stream of its own, were given one workspace: products
 * at the same time may mix there.  The fixed ones have a half each.
 * EXPECT: KRT-RACE-WAW|KRT-RACE-RAW|KRT-RACE-WAR warning likely both count>=1
 * MENTIONS: KRT-RACE-RAW "workspace"
 * EXPECT-FIXED: none
 * MAY-SKIP: needs cuBLAS
 * SIM-ONLY: which products use a workspace is the library's choice
 */
#include "libs.h"

enum { N = 64, ROOM = N * N };

int main(void)
{
	CUdeviceptr a, b, c, d, room;
	blas_handle first, second;
	CUstream s, t;

	prog_start();
	a = device_u32("a", N * N);
	b = device_u32("b", N * N);
	c = device_u32("c", N * N);
	d = device_u32("d", N * N);
	room = device_u32("workspace", 2 * ROOM);
	s = stream_nb("first");
	t = stream_nb("second");
	first = blas_on(s);
	second = blas_on(t);
	LIB(blas.workspace(first, room, 4 * ROOM));
#ifdef FIXED
	LIB(blas.workspace(second, room + 4 * ROOM, 4 * ROOM));
#else
	LIB(blas.workspace(second, room, 4 * ROOM));
#endif
	set_now(a, bits_of(1), N * N);
	set_now(b, bits_of(2), N * N);

	GEMM(first, N, a, b, 0, c);
	GEMM(second, N, b, b, 0, d);
	CU(cuStreamSynchronize(s));
	CU(cuStreamSynchronize(t));
	check_f32("first", get_f32(c, 5), 2 * N);
	check_f32("second", get_f32(d, 5), 4 * N);
	LIB(blas.destroy(first));
	LIB(blas.destroy(second));
	prog_end();
	return 0;
}
