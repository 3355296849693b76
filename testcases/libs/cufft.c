/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libcufft.so.12: complex transforms of four points each, in batches. */
#include "fake.h"

enum { OK, INVALID_PLAN = 1, INVALID_VALUE = 4, EXEC_FAILED = 6, NOT_IMPLEMENTED = 14, C2C = 0x29 };

#define PLANS 64

static struct plan {
	bool used;
	CUstream stream;
	int64_t batch, in_step, in_dist, out_step, out_dist;
} plans[PLANS];

EXPORT int cufftPlan1d(int *plan, int nx, int type, int batch);
EXPORT int cufftPlanMany(int *plan, int rank, int *n, int *inembed, int istride, int idist,
			 int *onembed, int ostride, int odist, int type, int batch);
EXPORT int cufftSetStream(int plan, CUstream stream);
EXPORT int cufftExecC2C(int plan, uint64_t in, uint64_t out, int direction);
EXPORT int cufftGetSize(int plan, size_t *bytes);
EXPORT int cufftDestroy(int plan);

int cufftPlanMany(int *plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
		  int ostride, int odist, int type, int batch)
{
	if (rank != 1 || n[0] != 4 || type != C2C)
		return NOT_IMPLEMENTED;
	for (int i = 1; i < PLANS; i++)
		if (!plans[i].used) {
			plans[i] = (struct plan){true,
						 NULL,
						 batch,
						 inembed ? istride : 1,
						 inembed ? idist : 4,
						 onembed ? ostride : 1,
						 onembed ? odist : 4};
			*plan = i;
			return OK;
		}
	return INVALID_VALUE;
}

int cufftPlan1d(int *plan, int nx, int type, int batch)
{
	return cufftPlanMany(plan, 1, &nx, NULL, 0, 0, NULL, 0, 0, type, batch);
}

static struct plan *get(int plan)
{
	return plan > 0 && plan < PLANS && plans[plan].used ? &plans[plan] : NULL;
}

int cufftSetStream(int plan, CUstream stream)
{
	if (!get(plan))
		return INVALID_PLAN;
	get(plan)->stream = stream;
	return OK;
}

int cufftGetSize(int plan, size_t *bytes)
{
	*bytes = 0;
	return get(plan) ? OK : INVALID_PLAN;
}

int cufftExecC2C(int plan, uint64_t in, uint64_t out, int direction)
{
	struct plan *p = get(plan);
	struct dft_args d;

	if (!p)
		return INVALID_PLAN;
	d = (struct dft_args){in,	  out,	       p->batch,    p->in_step,
			      p->in_dist, p->out_step, p->out_dist, direction > 0};
	return fake_launch("lib_dft4", p->stream, &d) ? OK : EXEC_FAILED;
}

int cufftDestroy(int plan)
{
	if (!get(plan))
		return INVALID_PLAN;
	get(plan)->used = false;
	return OK;
}
