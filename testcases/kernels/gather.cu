// SPDX-License-Identifier: Apache-2.0
// variants: 90 75 90-O0
// Indices, pointer tables, chains: what is touched depends on what lies in memory.

extern "C" __global__ void gather(float *out, const float *in, const int *index, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = in[index[i]];
}

extern "C" __global__ void scatter(float *out, const float *in, const int *index, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[index[i]] = in[i];
}

// One block a row of the table.
extern "C" __global__ void embedding(float *out, const float *table, const long long *ids, int dim)
{
	long long id = ids[blockIdx.x];

	for (int c = threadIdx.x; c < dim; c += blockDim.x)
		out[(long long)blockIdx.x * dim + c] = table[id * dim + c];
}

extern "C" __global__ void spmv(float *y, const int *row, const int *col, const float *val,
				const float *x, int rows)
{
	int r = blockIdx.x * blockDim.x + threadIdx.x;
	float s = 0;

	if (r >= rows)
		return;
	for (int k = row[r]; k < row[r + 1]; k++)
		s += val[k] * x[col[k]];
	y[r] = s;
}

extern "C" __global__ void where(float *out, const unsigned char *mask, const float *a,
				 const float *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = mask[i] ? a[i] : b[i];
}

// Selects between pointers, not between values.
extern "C" __global__ void either(float *out, const float *a, const float *b, int second, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	const float *p = second ? b : a;

	if (i < n)
		out[i] = p[i];
}

extern "C" __global__ void batched_copy(float *const *out, const float *const *in, int n)
{
	float *o = out[blockIdx.y];
	const float *x = in[blockIdx.y];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		o[i] = x[i];
}

struct Node {
	Node *next;
	int value;
};

extern "C" __global__ void walk_list(int *out, const Node *head)
{
	int s = 0;

	for (; head; head = head->next)
		s += head->value;
	*out = s;
}

struct Job {
	const float *src;
	float *dst;
	int n;
};

extern "C" __global__ void run_jobs(const Job *jobs)
{
	Job j = jobs[blockIdx.x];

	for (int i = threadIdx.x; i < j.n; i += blockDim.x)
		j.dst[i] = j.src[i];
}

// Leaves pointers for a later kernel.
extern "C" __global__ void make_table(float **table, float *base, long long stride, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		table[i] = base + i * stride;
}

// In and out of the hash table's cells by compare and swap.
extern "C" __global__ void hash_insert(unsigned *keys, const unsigned *in, int n, unsigned mask)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	unsigned k = in[i] | 1, at = (k * 2654435761u) & mask;
	for (unsigned tries = 0; tries <= mask; tries++) {
		unsigned old = atomicCAS(&keys[at], 0, k);

		if (old == 0 || old == k)
			return;
		at = (at + 1) & mask;
	}
}
