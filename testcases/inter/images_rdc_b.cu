/* SPDX-License-Identifier: Apache-2.0 */
__device__ int helper(int x) { return x + 1; }
extern "C" __global__ void kb(int *p) { *p = helper(2); }
