/* SPDX-License-Identifier: Apache-2.0 */
/*
 * D = A B + 0 C: what C holds does not count, so another stream may replace it
 * meanwhile; and a workspace of which a part belongs to nobody else.
 * EXPECT: none
 * MAY-SKIP: needs cuBLAS
 */
#include "libs.h"

enum { N = 64 };

int main(void)
{
	const float alpha = 1, beta = 0;
	CUdeviceptr a, b, c, d, room;
	CUstream work, side;
	void *h, *l, *desc;
	uint32_t *next;

	prog_start();
	a = device_u32("a", N * N);
	b = device_u32("b", N * N);
	c = device_u32("c", N * N);
	d = device_u32("d", N * N);
	room = device_u32("room", 2 * N * N);
	next = pinned_u32("next", N * N);
	work = stream_nb("work");
	side = stream_nb("side");
	h = lt_open();
	l = lt_square(N);
	desc = lt_desc(0);
	set_now(a, bits_of(1), N * N);
	set_now(b, bits_of(2), N * N);

	LIB(lt.matmul(h, desc, &alpha, a, l, b, l, &beta, c, l, d, l, NULL, room, 4 * N * N, work));
	CU(cuMemcpyHtoDAsync(c, next, 4 * N * N, side));
	CU(cuMemsetD32Async(room + 4 * N * N, 1, N * N, side));
	CU(cuStreamSynchronize(side));
	CU(cuStreamSynchronize(work));
	check_f32("product", get_f32(d, 5), 2 * N);
	LIB(lt.destroy(h));
	prog_end();
	return 0;
}
