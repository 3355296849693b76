// SPDX-License-Identifier: Apache-2.0
// variants: 90 75
// Tensor cores.
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void wmma_gemm(float *d, const half *a, const half *b, const float *c, int k)
{
	wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;

	wmma::load_matrix_sync(acc, c, 16, wmma::mem_row_major);
	for (int i = 0; i < k; i += 16) {
		wmma::load_matrix_sync(fa, a + i, k);
		wmma::load_matrix_sync(fb, b + i, k);
		wmma::mma_sync(acc, fa, fb, acc);
	}
	wmma::store_matrix_sync(d, acc, 16, wmma::mem_row_major);
}
