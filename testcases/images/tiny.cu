struct view { float *p; int n; const float *q; };
extern "C" __global__ void gather(view v, long long k, const float *s) { int i = threadIdx.x; if (i < v.n) v.p[i] = v.q[i*k] + *s; }
__global__ void scale(float *dst, const float *src, float f) { dst[threadIdx.x] = src[threadIdx.x]*f; }
