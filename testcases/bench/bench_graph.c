/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording adds to a graph launch, for few nodes and for many: prints the
 * time of each launch as the program sees it, in turns, for graph_launch.sh to
 * take the driver's own part off.
 */
#include "../common/prog.h"

#include <time.h>

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static CUgraphExec star(unsigned nodes)
{
	CUgraphNode first = NULL, node;
	CUgraphExec x;
	CUgraph g;

	CU(cuGraphCreate(&g, 0));
	for (unsigned i = 0; i < nodes; i++) {
		CU(cuGraphAddEmptyNode(&node, g, i ? &first : NULL, i ? 1 : 0));
		first = i ? first : node;
	}
	CU(cuGraphInstantiate(&x, g, 0));
	return x;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
	CUgraphExec x[2];
	CUstream s;

	prog_start();
	s = stream_nb("s");
	x[0] = star(10);
	x[1] = star(10000);
	for (unsigned i = 0; i < 2 * rounds; i++) {
		uint64_t before;

		CU(cuStreamSynchronize(s));
		for (unsigned k = 0; k < 20; k++) /* what ran meanwhile had the caches */
			CU(cuStreamQuery(s));
		before = now();
		CU(cuGraphLaunch(x[i % 2], s));
		printf("%u\n", (unsigned)(now() - before));
	}
	CU(cuStreamSynchronize(s));
	return 0;
}
