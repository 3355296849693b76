/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two subdomains exchange halo rows: inner rows are computed while the halo rows
 * travel, as strided copies between pitched buffers.
 */
#include "prog.h"

enum { COLS = 60, ROWS = 18, STEPS = 4 };

static size_t pitch;

static void rows(CUdeviceptr dst, size_t drow, CUdeviceptr src, size_t srow, CUstream s)
{
	CUDA_MEMCPY2D c = {
		.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = src,
		.srcY = srow,
		.srcPitch = pitch,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = dst,
		.dstY = drow,
		.dstPitch = pitch,
		.WidthInBytes = 4 * COLS,
		.Height = 1,
	};

	CU(cuMemcpy2DAsync(&c, s));
}

int main(void)
{
	prog_start();
	CUstream inner[2] = {stream_nb("inner0"), stream_nb("inner1")}, halo = stream_nb("halo");
	CUevent computed[2] = {event(), event()}, exchanged = event();
	CUdeviceptr d[2];

	for (int i = 0; i < 2; i++) {
		CU(cuMemAllocPitch(&d[i], &pitch, 4 * COLS, ROWS, 4));
		CU(cuMemsetD2D32(d[i], pitch, (uint32_t)(10 * (i + 1)), COLS, ROWS));
	}
	CU(cuCtxSynchronize());
	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < 2; i++) {
			/* Border rows first: they are what the neighbour needs. */
			UPDATES(inner[i], d[i] + pitch, 4 * COLS);
			INC(inner[i], d[i] + pitch, 1, COLS, 2000);
			UPDATES(inner[i], d[i] + pitch * (ROWS - 2), 4 * COLS);
			INC(inner[i], d[i] + pitch * (ROWS - 2), 1, COLS, 2000);
			CU(cuEventRecord(computed[i], inner[i]));
			for (size_t r = 2; r < ROWS - 2; r += 5) {
				UPDATES(inner[i], d[i] + pitch * r, 4 * COLS);
				INC(inner[i], d[i] + pitch * r, 1, COLS, 2000);
			}
		}
		for (int i = 0; i < 2; i++)
			CU(cuStreamWaitEvent(halo, computed[i], 0));
		rows(d[1], 0, d[0], ROWS - 2, halo);
		rows(d[0], ROWS - 1, d[1], 1, halo);
		CU(cuEventRecord(exchanged, halo));
		for (int i = 0; i < 2; i++)
			CU(cuStreamWaitEvent(inner[i], exchanged, 0));
	}
	check_u32("halo of 1", get_u32(d[1], 0), 10 + STEPS);
	check_u32("halo of 0", get_u32(d[0] + pitch * (ROWS - 1), 0), 20 + STEPS);
	for (int i = 0; i < 2; i++)
		CU(cuEventDestroy(computed[i]));
	CU(cuEventDestroy(exchanged));

	prog_end();
	return 0;
}
