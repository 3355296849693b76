// SPDX-License-Identifier: Apache-2.0
// variants: 90 75 100 90-O0
// Arithmetic and control flow that an analysis of ranges gets wrong first: wrap-around,
// narrow types, signs, bits, odd loops, odd guards.

extern "C" __global__ void wrap_unsigned(int *y, const int *x, unsigned n, unsigned back)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i - back < n) // of back .. back + n - 1
		y[i] = x[i - back];
}

extern "C" __global__ void wrap_32_bits(int *y, unsigned first)
{
	unsigned i = first + blockIdx.x * blockDim.x + threadIdx.x; // passes 2^32

	y[i & 127] = 1;
}

extern "C" __global__ void wrap_multiply(int *y, unsigned factor, unsigned n)
{
	unsigned i = (blockIdx.x * blockDim.x + threadIdx.x) * factor; // passes 2^32

	if (i < n)
		y[i] = 1;
}

extern "C" __global__ void narrow_byte(int *y, int first)
{
	y[(unsigned char)(first + threadIdx.x)] = 1;
}

extern "C" __global__ void narrow_signed(int *y, int first)
{
	y[(signed char)(first + threadIdx.x)] = 1; // y is the middle of its memory
}

extern "C" __global__ void narrow_short(int *y, const short *at)
{
	short i = at[threadIdx.x];

	if (i >= 0 && i < 50)
		y[i] = 1;
}

extern "C" __global__ void negative_count(int *y, int n)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		y[i] = 1;
}

extern "C" __global__ void negative_stride(int *y, int n, int stride)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i * stride] = 1;
}

extern "C" __global__ void absolute(int *y, int middle)
{
	y[abs((int)(blockIdx.x * blockDim.x + threadIdx.x) - middle)] = 1;
}

extern "C" __global__ void divided(int *y, const int *x, int n, int by)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = x[i / by] + x[i / 3] + x[i % 5];
}

extern "C" __global__ void divided_negative(int *y, int middle)
{
	y[((int)threadIdx.x - middle) / 4] = 1;	 // rounds to zero
	y[((int)threadIdx.x - middle) >> 2] = 1; // rounds down
}

extern "C" __global__ void bits_mixed(int *y, unsigned mask, int shift)
{
	unsigned i = threadIdx.x;

	y[i ^ 5] = 1;
	y[128 + (i | mask)] = 1;
	y[256 + ((i << shift) & 127)] = 1;
	y[384 + (__brev(i) >> 25)] = 1;
	y[512 + __popc(i) + __clz(i)] = 1;
}

extern "C" __global__ void doubling(int *y, int n)
{
	for (int i = threadIdx.x + 1; i < n; i *= 2)
		y[i] = 1;
}

extern "C" __global__ void shrinking(int *y, int n)
{
	for (int i = n; i > 0; i = i / 3)
		y[i] = 1;
}

extern "C" __global__ void counting_down(int *y, int n)
{
	for (int i = n - 1 - threadIdx.x; i >= 0; i -= blockDim.x)
		y[i] = 1;
}

extern "C" __global__ void do_while(int *y, int n)
{
	int i = threadIdx.x;

	do {
		y[i] = 1;
		i += blockDim.x;
	} while (i < n);
}

extern "C" __global__ void breaks(int *y, const int *x, int n)
{
	for (int i = 0; i < n; i++) {
		if (x[i] == 0)
			break;
		if (x[i] == 1)
			continue;
		y[i] = x[i];
	}
}

extern "C" __global__ void two_inductions(int *y, int n, int step)
{
	int j = 0;

	for (int i = threadIdx.x; i < n; i += blockDim.x, j += step)
		y[i + j] = 1;
}

extern "C" __global__ void moving_bound(int *y, int n)
{
	int end = n;

	for (int i = 0; i < end; i++, end--)
		y[i + threadIdx.x] = 1;
}

extern "C" __global__ void steps_by_data(int *y, const int *step, int n)
{
	int i = 0;

	while (i < n) {
		y[i] = 1;
		i += step[i];
	}
}

extern "C" __global__ void either_guard(int *y, int a, int b)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < a || i >= b)
		y[i] = 1;
}

extern "C" __global__ void both_guards(int *y, int a, int b)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (!(i < a) && !(i >= b))
		y[i] = 1;
}

extern "C" __global__ void not_this_one(int *y, int a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i != a)
		y[i] = 1;
}

extern "C" __global__ void only_this_one(int *y, int a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i == a)
		y[i] = 1;
}

// The guard is about another value than the index.
extern "C" __global__ void wrong_guard(int *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, j = i;

	if (i < n)
		j = 2 * i + 1;
	y[j] = 1;
}

extern "C" __global__ void guard_then_change(int *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		i = n;
	y[i] = 1;
	i += 3;
	y[i] = 2;
}

extern "C" __global__ void lane_of_another(int *y)
{
	int i = __shfl_sync(~0u, (int)threadIdx.x, 5) +
		__shfl_xor_sync(~0u, (int)threadIdx.x, 3) * 2;

	y[i] = 1;
}

extern "C" __global__ void warps_and_lanes(int *y, int width)
{
	unsigned lane, warp = threadIdx.x >> 5;

	asm("mov.u32 %0, %%laneid;" : "=r"(lane));
	y[warp * width + lane] = 1;
}

extern "C" __global__ void ballots(int *y, const int *x)
{
	unsigned who = __ballot_sync(~0u, x[threadIdx.x] > 0), lane = threadIdx.x & 31;

	if (x[threadIdx.x] > 0)
		y[__popc(who & ((1u << lane) - 1))] = threadIdx.x;
}

extern "C" __global__ void all_dimensions(int *y)
{
	unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;

	y[block * (blockDim.x * blockDim.y * blockDim.z) + thread] = 1;
}

extern "C" __global__ void swapped_dimensions(int *y, int ld)
{
	y[blockIdx.x * ld + blockIdx.y * blockDim.y + threadIdx.y] = threadIdx.x;
}

extern "C" __global__ void from_the_end(int *end, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		end[-1 - i] = 1;
}

extern "C" __global__ void floats_as_index(int *y, float scale)
{
	y[(int)(threadIdx.x * scale)] = 1;
}

extern "C" __global__ void alternates(int *a, int *b, int n)
{
	for (int k = 0; k < n; k++) { // pointers that swap in a loop
		a[k * blockDim.x + threadIdx.x] = b[threadIdx.x];
		int *t = a;
		a = b;
		b = t;
	}
}

extern "C" __global__ void pointer_difference(int *y, const int *a, const int *b)
{
	if (threadIdx.x < b - a)
		y[threadIdx.x] = 1;
}

extern "C" __global__ void pointer_masked(int *y, int n)
{
	int *p = (int *)((unsigned long long)y & ~63ull); // down to a line

	if (threadIdx.x < n)
		p[threadIdx.x] = 1;
}

extern "C" __global__ void wide_index(char *y, long long first, int n)
{
	for (long long i = first + threadIdx.x; i < first + n; i += blockDim.x)
		y[i - first] = 1;
}

extern "C" __global__ void minimum_of_both(int *y, int n, int m)
{
	int end = min(n, m);

	for (int i = threadIdx.x; i < end; i += blockDim.x)
		y[i] = 1;
}

extern "C" __global__ void clamped(int *y, int lo, int hi)
{
	y[max(lo, min((int)(blockIdx.x * blockDim.x + threadIdx.x), hi))] = 1;
}

extern "C" __global__ void chunk_of_block(int *y, int n)
{
	int per = (n + gridDim.x - 1) / gridDim.x, from = blockIdx.x * per, to = min(from + per, n);

	for (int i = from + threadIdx.x; i < to; i += blockDim.x)
		y[i] = 1;
}

extern "C" __global__ void nested_triangle(int *y, int n)
{
	for (int r = threadIdx.x; r < n; r += blockDim.x)
		for (int c = r; c < n; c++)
			y[r * n + c] = 1;
}

extern "C" __global__ void ring(int *y, int head, int size, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		y[(head + i) % size] = i;
}

extern "C" __global__ void ring_by_compare(int *y, int head, int size, int count)
{
	for (int i = 0; i < count; i++) {
		y[head] = i;
		if (++head == size)
			head = 0;
	}
}

extern "C" __global__ void skewed(int *y, int ld, int skip)
{
	int r = threadIdx.y, c = threadIdx.x;

	if (c >= r * skip)
		y[r * ld + c] = 1;
}

extern "C" __global__ void selected_offset(int *y, const int *flag, int far)
{
	int off = flag[threadIdx.x] ? far : 0;

	y[off + (int)threadIdx.x] = 1;
}

extern "C" __global__ void size_of_nothing(int *y, const int *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	for (int k = 0; k < n; k++)
		if (k > n)
			y[i] = x[i];
	if (n == 0)
		y[0] = 1;
}
