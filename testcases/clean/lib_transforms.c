/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transforms of interleaved channels on two streams: even channels by one plan,
 * odd ones by the other, in place, while the first one's input is copied away
 * beforehand and its output after an event.
 * EXPECT: none
 * MAY-SKIP: needs cuFFT
 */
#include "libs.h"

enum { POINTS = 4, BATCH = 32, N = 2 * 2 * POINTS * BATCH };

int main(void)
{
	int n[] = {POINTS}, embed[] = {2 * POINTS}, even, odd;
	CUdeviceptr data, before;
	CUstream s, t, u;
	uint32_t *out;
	CUevent done;

	prog_start();
	data = device_u32("channels", N);
	before = device_u32("before", N);
	out = pinned_u32("out", N);
	s = stream_nb("even");
	t = stream_nb("odd");
	u = stream_nb("fetch");
	done = event();
	fft_open();
	LIB(fft.many(&even, 1, n, embed, 2, 2 * POINTS, embed, 2, 2 * POINTS, FFT_C2C, BATCH));
	LIB(fft.many(&odd, 1, n, embed, 2, 2 * POINTS, embed, 2, 2 * POINTS, FFT_C2C, BATCH));
	LIB(fft.stream(even, s));
	LIB(fft.stream(odd, t));
	set_now(data, bits_of(1), N);
	CU(cuMemcpyDtoD(before, data, 4 * N));
	CU(cuCtxSynchronize());

	LIB(fft.c2c(even, data, data, FFT_FORWARD));
	LIB(fft.c2c(odd, data + 8, data + 8, FFT_INVERSE));
	CU(cuEventRecord(done, s));
	CU(cuStreamWaitEvent(u, done, 0));
	for (unsigned i = 0; i < 8; i++)
		CU(cuMemcpyDtoHAsync(out + i, data + 16 * i, 4, u));
	CU(cuStreamSynchronize(u));
	CU(cuStreamSynchronize(t));
	check_f32("odd", get_f32(data, 2), POINTS);
	LIB(fft.destroy(even));
	LIB(fft.destroy(odd));
	prog_end();
	return 0;
}
