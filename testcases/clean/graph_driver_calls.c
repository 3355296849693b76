/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver calls by itself comes after what it has to, though no call shows it:
 * host nodes that read a result, free their own data or return a block to the pool, and
 * destructors of user objects that do so when the last launch of a graph is over.
 * EXPECT: none
 */
#include "blocks.h"

enum { N = 2048 };

struct job {
	uint32_t data[N]; /* pageable, and large enough to be worth a look */
	uint32_t *result;
	CUdeviceptr block;
};

static struct blocks pool;
static volatile int over;

static void consume(void *p)
{
	const struct job *j = p;

	krtsan_host_read(j->result, 4 * N);
	check_u32("result[1]", j->result[1], 1);
}

static void end(void *p)
{
	struct job *j = p;

	blocks_free(&pool, j->block);
	free(j);
	__atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
}

static struct job *job_new(CUstream s)
{
	struct job *j = calloc(1, sizeof(*j));

	MUST(j);
	for (uint32_t i = 0; i < N; i++)
		j->data[i] = i;
	j->block = blocks_alloc(&pool, 4 * N, s);
	return j;
}

/* Upload, work, read back, and the CPU looks at it; then it ends the job, or the object does. */
static void run(CUstream s, struct job *j, uint32_t *result, bool object)
{
	CUDA_MEMCPY3D up = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			    .srcHost = j->data,
			    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			    .dstDevice = j->block,
			    .WidthInBytes = 4 * N,
			    .Height = 1,
			    .Depth = 1},
		      down = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			      .srcDevice = j->block,
			      .dstMemoryType = CU_MEMORYTYPE_HOST,
			      .dstHost = result,
			      .WidthInBytes = 4 * N,
			      .Height = 1,
			      .Depth = 1};
	CUDA_HOST_NODE_PARAMS look = {.fn = consume, .userData = j},
			      last = {.fn = end, .userData = j};
	CUgraphNode node[4];
	CUuserObject holder;
	CUgraphExec exec;
	CUgraph graph;

	j->result = result;
	over = 0;
	CU(cuGraphCreate(&graph, 0));
	CU(cuGraphAddMemcpyNode(&node[0], graph, NULL, 0, &up, prog_context));
	CU(cuGraphAddMemcpyNode(&node[1], graph, &node[0], 1, &down, prog_context));
	CU(cuGraphAddHostNode(&node[2], graph, &node[1], 1, &look));
	if (object) {
		CU(cuUserObjectCreate(&holder, j, end, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
		CU(cuGraphRetainUserObject(graph, holder, 1, CU_GRAPH_USER_OBJECT_MOVE));
	} else {
		CU(cuGraphAddHostNode(&node[3], graph, &node[2], 1, &last));
	}
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	SPIN(s, SLOW / 8);
	CU(cuGraphLaunch(exec, s));
	CU(cuGraphExecDestroy(exec));
}

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s"), other = stream_nb("other");
	uint32_t *result = pinned_u32("result", N);

	blocks_open(&pool, "pool", 64 * N);
	for (int object = 0; object < 2; object++) {
		CUdeviceptr next;

		run(s, job_new(s), result, object);
		while (!__atomic_load_n(&over, __ATOMIC_SEQ_CST))
			usleep(1000);
		next = blocks_alloc(&pool, 4 * N, other);
		CU(cuMemsetD32Async(next, 7, N, other));
		CU(cuStreamSynchronize(other));
		blocks_free(&pool, next);
		CU(cuStreamSynchronize(s));
	}
	blocks_close(&pool);
	prog_end();
	return 0;
}
