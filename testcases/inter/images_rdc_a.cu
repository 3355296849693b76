/* SPDX-License-Identifier: Apache-2.0 */
extern __device__ int helper(int);
extern "C" __global__ void ka(int *p) { *p = helper(*p); }
