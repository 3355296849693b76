/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch of transforms out of place; the next signals are uploaded too early.
 * EXPECT: KRT-RACE-WAR error certain both count=1
 * MENTIONS: KRT-RACE-WAR "signals"
 * MENTIONS: KRT-RACE-WAR "in cufftExecC2C"
 * EXPECT-FIXED: none
 * MAY-SKIP: needs cuFFT
 */
#include "libs.h"

enum { POINTS = 4, BATCH = 64, N = 2 * POINTS * BATCH };

int main(void)
{
	CUdeviceptr in, out;
	CUstream work, upload;
	uint32_t *next;
	CUevent used;
	int plan;

	prog_start();
	in = device_u32("signals", N);
	out = device_u32("spectra", N);
	next = pinned_u32("next", N);
	work = stream_nb("work");
	upload = stream_nb("upload");
	used = event();
	fft_open();
	LIB(fft.plan(&plan, POINTS, FFT_C2C, BATCH));
	LIB(fft.stream(plan, work));
	set_now(in, bits_of(1), N);
	LIB(fft.c2c(plan, in, out, FFT_FORWARD)); /* loads code */
	CU(cuCtxSynchronize());

	SPIN(work, SLOW);
	LIB(fft.c2c(plan, in, out, FFT_FORWARD));
	CU(cuEventRecord(used, work));
#ifdef FIXED
	CU(cuStreamWaitEvent(upload, used, 0));
#endif
	CU(cuMemcpyHtoDAsync(in, next, 4 * N, upload));
	CU(cuStreamSynchronize(upload));
	CU(cuStreamSynchronize(work));
	check_f32("mean", get_f32(out, 0), POINTS);
	LIB(fft.destroy(plan));
	prog_end();
	return 0;
}
