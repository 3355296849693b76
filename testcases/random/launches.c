/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations drawn at random, two to eight on three streams with some order among
 * them: kernels as nvcc compiles them, copies and sets, at random places of two
 * buffers.  launches SEED ROUNDS.  What each touches is computed here, byte
 * by byte, from what the kernel means; what krtsan finds is held against it
 * (check.py): `meet NAME` for a buffer in which the two surely meet, `touch NAME` for
 * one in which they do and it need not be proven, `maybe NAME` where data decides,
 * `apart NAME` where they do not.
 *
 * Rounds have call stacks of their own, so that their findings stay apart.
 */
#include "prog.h"
#include "nvcc_kernels.h"

enum { N = 4096, OPS = 11, ROWS = 64, MOST = 8, STREAMS = 3 };
/* 32-bit elements of a buffer; kinds of operations; rows that are told apart; operations of a round */

/* Elements that an operation reads and writes, of x and of y. */
struct touched {
	uint8_t read[2][N], write[2][N];
	uint8_t may[2][N]; /* atomically, where data decides */
	bool many;	   /* more rows than are proven to be touched */
};

static CUmodule module;
static CUstream s[STREAMS];
static CUevent done;
static uint64_t state;

static uint32_t roll(uint32_t n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state >> 33) % n;
}

static void run(const char *kernel, unsigned grid, unsigned block, CUstream on, void **args)
{
	CUfunction f;

	CU(cuModuleGetFunction(&f, module, kernel));
	CU(cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, on, args, NULL));
}

/* Sizes as people have them, and odd ones. */
static uint32_t size(uint32_t most)
{
	uint32_t n = roll(3) ? roll(most + 1) : 64 * roll(most / 64 + 1);

	return n < most ? n : most;
}

struct op {
	unsigned sort, from, to; /* which buffer is read, written */
	uint32_t at, at2, n, grid, block, width, first;
};

static struct op draw(void)
{
	struct op o = {.sort = roll(OPS), .from = roll(2), .to = roll(2)};

	o.at = roll(3) ? roll(N) : 0;
	o.at2 = roll(3) ? roll(N) : 0;
	o.n = size(N - (o.at > o.at2 ? o.at : o.at2));
	o.block = 32u << roll(4);
	o.grid = roll(4) ? (o.n + o.block - 1) / o.block : 1 + roll(8); /* enough, or some */
	if (!o.grid)
		o.grid = 1;
	if (o.sort == 3) { /* rows of a matrix, every second */
		o.width = 1 + roll(roll(2) ? 64 : 300);
		o.first = roll(2);
		o.grid = 1 + roll(N / (2 * o.width));
		while (o.at + (2 * (o.grid - 1) + o.first + 1) * o.width > N && o.grid > 1)
			o.grid--;
		if (o.at + (o.first + 1) * o.width > N)
			o.at = 0;
	}
	if (o.sort == 9 && o.at > N - 256)
		o.at = N - 256;
	if (o.sort == 10 && o.at + o.block > N)
		o.at = N - o.block;
	if (o.sort == 8) { /* a set of rows */
		o.width = 1 + roll(32);
		o.n = 1 + roll(20);
		o.first = o.width + roll(32);
		o.at = roll(N - o.n * o.first);
	}
	return o;
}

static void act(const struct op *o, const CUdeviceptr buf[2], CUstream on, struct touched *t)
{
	CUdeviceptr from = buf[o->from] + 4 * o->at2, to = buf[o->to] + 4 * o->at;
	uint64_t n = o->n, threads = (uint64_t)o->grid * o->block;
	int32_t width = (int32_t)o->width, first = (int32_t)o->first;
	float v = 1;

	memset(t, 0, sizeof(*t));
	switch (o->sort) {
	case 0: /* fill: a thread an element, guarded */
		run("fill", o->grid, o->block, on, (void *[]){&to, &n, &v});
		n = n < threads ? n : threads;
		memset(t->write[o->to] + o->at, 1, n);
		break;
	case 1: /* scale: guarded */
	case 6:
		run("scale", o->grid, o->block, on, (void *[]){&from, &to, &n, &v});
		n = n < threads ? n : threads;
		memset(t->read[o->from] + o->at2, 1, n);
		memset(t->write[o->to] + o->at, 1, n);
		break;
	case 2: /* saxpy: a loop with the grid's stride */
		run("saxpy", o->grid, o->block, on, (void *[]){&from, &to, &n, &v});
		memset(t->read[o->from] + o->at2, 1, n);
		memset(t->read[o->to] + o->at, 1, n);
		memset(t->write[o->to] + o->at, 1, n);
		break;
	case 3: /* rows: a block a row */
		run("rows", o->grid, o->block, on, (void *[]){&to, &width, &first, &v});
		for (uint32_t b = 0; b < o->grid; b++)
			memset(t->write[o->to] + o->at + (2 * b + o->first) * o->width, 1, o->width);
		t->many = o->grid > ROWS;
		break;
	case 4: /* templates: a signed guard */
		width = (int32_t)n;
		run("_Z5applyIfLi0EEvPKT_PS0_i", o->grid, o->block, on, (void *[]){&from, &to, &width});
		n = n < threads ? n : threads;
		memset(t->read[o->from] + o->at2, 1, n);
		memset(t->write[o->to] + o->at, 1, n);
		break;
	case 5: { /* pointers in a functor */
		struct {
			CUdeviceptr x, y;
		} f = {from, to};

		width = (int32_t)n;
		run("_Z4eachI7doubledEviT_", o->grid, o->block, on, (void *[]){&width, &f});
		n = n < threads ? n : threads;
		memset(t->read[o->from] + o->at2, 1, n);
		memset(t->write[o->to] + o->at, 1, n);
		break;
	}
	case 7:
		if (!n)
			break;
		CU(cuMemcpyDtoDAsync(to, from, 4 * n, on));
		memset(t->read[o->from] + o->at2, 1, n);
		memset(t->write[o->to] + o->at, 1, n);
		break;
	case 9: /* a histogram */
		width = (int32_t)n;
		run("histogram", o->grid, o->block, on, (void *[]){&from, &width, &to});
		n = n < threads ? n : threads;
		memset(t->read[o->from] + o->at2, 1, n);
		memset(t->may[o->to] + o->at, n != 0, 256);
		break;
	case 10: /* what it is given first it never touches */
		run("unused", o->grid, o->block, on, (void *[]){&from, &to});
		memset(t->write[o->to] + o->at, 1, o->block);
		break;
	default:
		CU(cuMemsetD2D32Async(to, 4 * o->first, 7, o->width, n, on));
		for (uint32_t r = 0; r < n; r++)
			memset(t->write[o->to] + o->at + r * o->first, 1, o->width);
		break;
	}
}

/* How two meet in a buffer when nothing orders them: the larger is the surer. */
enum { APART, MAYBE, TOUCH, MEET };
static const char *const words[] = {"apart", "maybe", "touch", "meet"};

static unsigned meeting(const struct touched *a, const struct touched *b, unsigned i)
{
	bool meet = false, maybe = false;

	for (unsigned k = 0; k < N; k++) {
		meet |= (a->write[i][k] && (b->read[i][k] || b->write[i][k])) || (a->read[i][k] && b->write[i][k]);
		maybe |= (a->may[i][k] && (b->read[i][k] || b->write[i][k])) ||
			 (b->may[i][k] && (a->read[i][k] || a->write[i][k]));
	}
	return meet ? (a->many || b->many ? TOUCH : MEET) : maybe ? MAYBE : APART;
}

static void one_round(unsigned number)
{
	static struct touched t[MOST];
	uint32_t before[MOST], known[STREAMS] = {0}; /* operations that are over: bits */
	unsigned ops = roll(2) ? 2 : 2 + roll(MOST - 1), how[2] = {APART, APART};
	CUdeviceptr buf[2];
	struct op o[MOST];
	char name[2][16];

	for (unsigned i = 0; i < 2; i++)
		snprintf(name[i], sizeof(name[i]), "%c%u", "xy"[i], number);
	/* call stacks of their own for these too */
	buf[0] = device_u32(name[0], N);
	buf[1] = device_u32(name[1], N);
	CU(cuCtxSynchronize());
	for (unsigned n = 0; n < ops; n++) {
		unsigned on = roll(STREAMS), from = roll(STREAMS);

		if (!roll(ops > 2 ? 2 : 6) && from != on) {
			CU(cuEventRecord(done, s[from]));
			CU(cuStreamWaitEvent(s[on], done, 0));
			known[on] |= known[from];
		}
		o[n] = draw();
		act(&o[n], buf, s[on], &t[n]);
		before[n] = known[on];
		known[on] |= 1u << n;
	}
	CU(cuCtxSynchronize());
	for (unsigned n = 0; n < ops; n++)
		for (unsigned m = 0; m < n; m++)
			for (unsigned i = 0; i < 2 && !(before[n] >> m & 1); i++) {
				unsigned h = meeting(&t[m], &t[n], i);

				if (h > how[i])
					how[i] = h;
			}
	for (unsigned i = 0; i < 2; i++) {
		printf("%s %s:", words[how[i]], name[i]);
		for (unsigned n = 0; n < ops; n++)
			printf(" %u(%u+%u grid %u block %u after %x)", o[n].sort, o[n].at, o[n].n, o[n].grid,
			       o[n].block, before[n]);
		putchar('\n');
		CU(cuMemFree(buf[i]));
	}
}

static __attribute__((noinline)) void deeper(unsigned depth, unsigned number)
{
	if (depth)
		deeper(depth - 1, number);
	else
		one_round(number);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 30;

	state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	for (unsigned i = 0; i < 4; i++)
		roll(2);
	prog_start();
	CU(cuModuleLoadData(&module, nvcc_kernels_ptx));
	for (unsigned i = 0; i < STREAMS; i++)
		s[i] = stream_nb((const char *[]){"a", "b", "c"}[i]);
	done = event();
	for (unsigned i = 0; i < rounds; i++)
		deeper(i, i);
	CU(cuEventDestroy(done));
	CU(cuModuleUnload(module));
	prog_end();
	return 0;
}
