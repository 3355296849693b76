/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests in flight, each with an event from a pool; a request's buffers and its
 * event are used again when the event is seen complete.
 */
#include "prog.h"

enum { N = 1024, SLOTS = 4, REQUESTS = 12 };

struct slot {
	CUevent done;
	CUdeviceptr in, out;
	uint32_t *hin, *hout, id;
	bool busy;
};

static int served;

static bool retire(struct slot *s)
{
	CUresult r = cuEventQuery(s->done);

	if (r == CUDA_ERROR_NOT_READY)
		return false;
	CU(r);
	krtsan_host_read(s->hout, 4 * N);
	if (s->hout[N - 1] != s->id + 1)
		check_u32("answer", s->hout[N - 1], s->id + 1);
	s->busy = false;
	served++;
	return true;
}

int main(void)
{
	prog_start();
	CUstream s[2] = {stream_nb("even"), stream_nb("odd")};
	struct slot slot[SLOTS];

	for (int i = 0; i < SLOTS; i++)
		slot[i] = (struct slot){event(),
					device_u32("in", N),
					device_u32("out", N),
					pinned_u32("hin", N),
					pinned_u32("hout", N),
					0,
					false};
	for (uint32_t id = 0; id < REQUESTS; id++) {
		CUstream q = s[id & 1];
		struct slot *t = NULL;

		while (!t)
			for (int i = 0; i < SLOTS && !t; i++)
				if (!slot[i].busy || retire(&slot[i]))
					t = &slot[i];
		t->busy = true;
		t->id = id;
		krtsan_host_write(t->hin, 4 * N);
		host_fill(t->hin, id, N);
		CU(cuMemcpyHtoDAsync(t->in, t->hin, 4 * N, q));
		COPY(q, t->out, t->in, N, 2000);
		INC(q, t->out, 1, N, 0);
		CU(cuMemcpyDtoHAsync(t->hout, t->out, 4 * N, q));
		CU(cuEventRecord(t->done, q));
	}
	for (int i = 0; i < SLOTS; i++) {
		while (slot[i].busy && !retire(&slot[i]))
			;
		CU(cuEventDestroy(slot[i].done));
		CU(cuMemFreeHost(slot[i].hin));
		CU(cuMemFreeHost(slot[i].hout));
	}
	check_u32("served", (uint32_t)served, REQUESTS);

	prog_end();
	return 0;
}
