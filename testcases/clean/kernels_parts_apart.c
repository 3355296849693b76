/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of one buffer on several streams: halves, rows and elements that alternate, tiles,
 * by kernels of which nothing was declared, and copies and sets beside them.
 * EXPECT: none
 */
#include "shapes.h"

enum { N = 1024, ROWS_N = 96 };

int main(void)
{
	prog_start();
	shapes_load();
	CUstream a = stream_nb("a"), b = stream_nb("b"), c = stream_nb("c");
	CUdeviceptr halves = device_u32("halves", 2 * N), rows = device_u32("rows", 2 * ROWS_N * ROW);
	CUdeviceptr elements = device_u32("elements", 2 * N), tiles = device_u32("tiles", 256 * ROWS_N);

	set_now(halves, 0, 2 * N);
	set_now(rows, 0, 2 * ROWS_N * ROW);
	set_now(elements, 0, 2 * N);
	set_now(tiles, 0, 256 * ROWS_N);
	for (int i = 0; i < 2; i++) {
		FILL(a, halves, 1, N, SLOW / 4);
		FILL(b, halves + 4 * N, 2, N, 0);
		ROWS(a, rows, 0, ROWS_N, 0);
		ROWS(b, rows, 1, ROWS_N, 0);
		EVENS(a, elements, 0, N, 0);
		EVENS(b, elements, 1, N, 0);
		TILE(a, tiles, 0, ROWS_N, 0);
		TILE(b, tiles, 64, ROWS_N, 0);
		CU(cuMemsetD2D32Async(tiles + 4 * 128, 4 * 256, 5, 128, ROWS_N, c));
		/* the odd rows again, by a set */
		CU(cuMemsetD2D32Async(rows + 4 * ROW, 8 * ROW, 1, ROW, ROWS_N, b));
	}
	check_u32("halves[N]", get_u32(halves, N), 2);
	check_u32("rows[0]", get_u32(rows, 0), 0);
	check_u32("rows[ROW]", get_u32(rows, ROW), 1);
	check_u32("elements[1]", get_u32(elements, 1), 1);
	check_u32("tiles[128]", get_u32(tiles, 128), 5);

	prog_end();
	return 0;
}
