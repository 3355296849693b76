struct big { int n; float x[4100]; };
extern "C" __global__ void big(float *p, const __grid_constant__ big b) { p[threadIdx.x] = b.x[threadIdx.x]; }
