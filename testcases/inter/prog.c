/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs for the recorder, on the fake driver: prog MODE [argument].  What is
 * recorded of them is checked by verify.c (same mode names).
 */
#define _GNU_SOURCE
#include "../abi/fake.h"
#include "krtsan.h"
#include "record.h"

#define CUABI_EXACT_NAMES
#include "cuabi.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern struct fake_control fake;

#define DEV(x)  ((CUdeviceptr)(x))
#define STREAM  ((CUstream)0x5000)

static void need(int good, const char *what)
{
	if (!good) {
		fprintf(stderr, "prog: %s\n", what);
		_exit(99);
	}
}

static void launch(CUfunction f, CUstream s, uint64_t a, int b, uint64_t c)
{
	struct { char text[40]; } block = { "forty bytes by value" };
	void *params[] = { &a, &b, &c, &block };

	need(!cuLaunchKernel(f, 1, 2, 3, 4, 5, 6, 7, s, params, NULL), "launch");
}

static int basic(const char *arg)
{
	CUdeviceptr p = 0;
	CUstream s = NULL;
	CUevent e = NULL;
	char host[256] = "host";
	uint64_t pack[8] = { 1, 2, 3 };
	size_t size = 24;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, pack, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			  CU_LAUNCH_PARAM_END };
	CUlaunchAttribute attr[2] = { { .id = 2, .value.cooperative = 1 }, { .id = 8, .value.priority = 3 } };
	CUlaunchConfig config = { .gridDimX = 9, .hStream = STREAM, .attrs = attr, .numAttrs = 2 };
	CUDA_MEMCPY2D m = { .WidthInBytes = 32, .Height = 2, .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host };
	uint64_t a = 11, c = 13;
	int b = 12;
	char block[40] = "x";
	void *params[] = { &a, &b, &c, block };

	(void)arg;
	need(!cuInit(0), "init");
	need(!cuMemAlloc_v2(&p, 4096) && p, "alloc");
	need(!cuStreamCreate(&s, 1) && s, "stream");
	need(!cuEventCreate(&e, 2), "event");
	need(!cuMemcpyHtoDAsync_v2(p, host, 256, s), "copy");
	need(!cuMemcpyHtoDAsync_v2_ptsz(p, host, 256, 0), "copy ptsz");
	need(!cuMemcpy2DAsync_v2(&m, s), "2d");
	launch((CUfunction)0x1000, s, 0xaaaa, 5, 0xbbbb);
	need(!cuLaunchKernel((CUfunction)0x1000, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra), "extra");
	need(!cuLaunchKernelEx(&config, (CUfunction)0x1000, params, NULL), "ex");
	need(!cuEventRecord(e, s), "record");
	fake.result = CUDA_ERROR_INVALID_VALUE;
	errno = 5;
	need(cuMemAlloc_v2(&p, 1) == CUDA_ERROR_INVALID_VALUE && errno == 5, "the driver's error, and errno");
	fake.result = 0;
	need(!cuMemFree_v2(p), "free");
	return 0;
}

static void *many_thread(void *arg)
{
	for (int i = 0; i < 500; i++)
		cuMemsetD32Async(DEV(arg), (unsigned)i, 16, STREAM);
	return NULL;
}

static int many(const char *arg)
{
	pthread_t t[64];

	(void)arg;
	cuInit(0);
	for (long i = 0; i < 64; i++)
		need(!pthread_create(&t[i], NULL, many_thread, (void *)(0x10000 + i)), "thread");
	for (int i = 0; i < 64; i++)
		pthread_join(t[i], NULL);
	return 0;
}

static void *one_call(void *arg)
{
	cuMemFree_v2(DEV(arg));
	return NULL;
}

static int reuse(const char *arg)
{
	(void)arg;
	cuInit(0);
	for (long i = 0; i < 300; i++) {
		pthread_t t;

		need(!pthread_create(&t, NULL, one_call, (void *)(0x100 + i)), "thread");
		pthread_join(t, NULL);
	}
	return 0;
}

/* arg: none, "init" (the child initialises), "before" (forked before cuInit) */
static int forks(const char *arg)
{
	int early = arg && !strcmp(arg, "before"), status;
	pid_t pid;

	if (!early)
		cuInit(0);
	cuMemFree_v2(1);
	pid = fork();
	if (!pid) {
		for (int i = 0; i < 1000; i++)
			cuMemFree_v2(2);
		if (arg) {
			cuInit(0);
			for (int i = 0; i < 50; i++)
				cuMemFree_v2(3);
		}
		exit(7);
	}
	waitpid(pid, &status, 0);
	need(WIFEXITED(status) && WEXITSTATUS(status) == 7, "the child's code");
	if (early)
		cuInit(0);
	for (int i = 0; i < 10; i++)
		cuMemFree_v2(4);
	return 0;
}

/* vfork shares our memory: the child's exec and _exit must leave our records alone */
static int vforks(const char *arg)
{
	int status;
	pid_t pid;

	(void)arg;
	cuInit(0);
	pid = vfork();
	if (!pid) {
		execl("/no/such/program", "x", (char *)NULL);
		_exit(5);
	}
	waitpid(pid, &status, 0);
	need(WIFEXITED(status) && WEXITSTATUS(status) == 5, "the child's code");
	for (int i = 0; i < 10; i++)
		cuMemFree_v2(4);
	return 0;
}

static int execs(const char *arg)
{
	(void)arg;
	cuInit(0);
	cuMemFree_v2(1);
	execl("/no/such/program", "x", (char *)NULL);
	cuMemFree_v2(2); /* goes on */
	execlp("/proc/self/exe", "prog", "one", "three", (char *)NULL);
	return 98;
}

static int one(const char *arg)
{
	cuInit(0);
	cuMemFree_v2(9);
	return arg ? 3 : 0;
}

static int killed(const char *arg)
{
	(void)arg;
	cuInit(0);
	for (int i = 0; i < 5000; i++)
		cuMemFree_v2(DEV(i));
	raise(SIGKILL);
	return 0;
}

static int big(const char *arg)
{
	size_t n = 100000;
	CUdeviceptr *d = malloc(n * 8), *s = malloc(n * 8);
	size_t *len = malloc(n * 8), idx = 0;
	CUmemcpyAttributes attr = { .srcAccessOrder = 1 };

	(void)arg;
	for (size_t i = 0; i < n; i++) {
		d[i] = i;
		s[i] = i * 3;
		len[i] = i & 255;
	}
	cuInit(0);
	for (int i = 0; i < 3; i++) {
		cuMemFree_v2(1);
		need(!cuMemcpyBatchAsync_v2(d, s, len, n, &attr, &idx, 1, STREAM), "batch");
	}
	cuMemFree_v2(2);
	return 0;
}

static int ran;
static void host_inner(void *data)
{
	ran += (int)(uintptr_t)data;
	cuMemFree_v2(0x77);
}

static void callback_inner(CUstream s, CUresult status, void *data)
{
	need(s == STREAM && !status, "callback arguments");
	host_inner(data);
}

/* arg: "thread": on a thread of the driver's */
static int hosts(const char *arg)
{
	fake.host_thread = arg != NULL;
	cuInit(0);
	need(!cuLaunchHostFunc(STREAM, host_inner, (void *)1), "host function");
	need(!cuStreamAddCallback(STREAM, callback_inner, (void *)10, 0), "callback");
	fake.capturing = 1;
	need(!cuLaunchHostFunc(STREAM, host_inner, (void *)100), "captured");
	need(fake.args("cuLaunchHostFunc")[1] == (uintptr_t)host_inner, "a captured function is untouched");
	need(ran == 111, "all ran");
	cuMemFree_v2(0x78);
	return 0;
}

static void host_exit(void *data)
{
	(void)data;
	exit(5);
}

static int hostexit(const char *arg)
{
	(void)arg;
	cuInit(0);
	cuMemFree_v2(1);
	cuLaunchHostFunc(STREAM, host_exit, NULL);
	return 98;
}

static void host_thread_exit(void *data)
{
	(void)data;
	pthread_exit(NULL);
}

static void *leaves(void *arg)
{
	(void)arg;
	cuMemFree_v2(1);
	cuLaunchHostFunc(STREAM, host_thread_exit, NULL);
	return NULL;
}

static int threadexit(const char *arg)
{
	(void)arg;
	cuInit(0);
	for (int i = 0; i < 20; i++) {
		pthread_t t;

		pthread_create(&t, NULL, leaves, NULL);
		pthread_join(t, NULL);
	}
	cuMemFree_v2(2);
	return 0;
}

static int jumps(const char *arg)
{
	static jmp_buf jump;

	(void)arg;
	cuInit(0);
	fake.jump = &jump;
	fake.exec_inside = 1;
	for (volatile int i = 0; i < 2000; i++) {
		if (!setjmp(jump))
			cuStreamSynchronize(STREAM);
		cuMemFree_v2(1);
	}
	fake.exec_inside = 0;
	cuStreamSynchronize(STREAM);
	return 0;
}

static int intern(const char *arg)
{
	(void)arg;
	cuInit(0);
	for (int i = 0; i < 100; i++)
		launch((CUfunction)0x1000, STREAM, 1, 2, 3);
	for (int i = 0; i < 100; i++)
		launch((CUfunction)0x1000, STREAM, 1, 2, (uint64_t)i + 1000);
	fake.kernels = 1; /* the same handles are CUkernels now, and another layout */
	fake.unload = 1;
	cuModuleUnload((CUmodule)0x30d);
	launch((CUfunction)0x1000, STREAM, 1, 2, 3);
	cuModuleUnload((CUmodule)0x30d);
	launch((CUfunction)0x1000, STREAM, 1, 2, 3);
	fake.kernels = 2;
	launch((CUfunction)0x2000, STREAM, 1, 2, 3);
	return 0;
}

static int full(const char *arg)
{
	(void)arg;
	cuInit(0);
	for (int i = 0; i < 30000; i++)
		need(!cuMemFree_v2(DEV(i)), "free");
	return 0;
}

/* The process file of the session that this process records in, mapped. */
static const struct krt_proc *own_header(char *lane, size_t size)
{
	const char *dir = getenv("KRTSAN_SESSION");
	char path[4096];
	glob_t g;
	int fd;
	void *h;

	snprintf(path, sizeof path, "%s/%d.*.proc", dir ? dir : "", (int)getpid());
	need(!glob(path, 0, NULL, &g), "process file");
	snprintf(lane, size, "%.*s.1", (int)strlen(g.gl_pathv[0]) - 5, g.gl_pathv[0]);
	fd = open(g.gl_pathv[0], O_RDONLY);
	h = mmap(NULL, sizeof(struct krt_proc), PROT_READ, MAP_SHARED, fd, 0);
	need(fd >= 0 && h != MAP_FAILED, "process file");
	close(fd);
	globfree(&g);
	return h;
}

static uint64_t of_slot(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

/*
 * With a reader: windows that it has read are used again, those of a burst are given
 * back, and a record of many windows fits in between.
 */
static int again(const char *arg)
{
	const size_t n = 20000;
	CUdeviceptr *many = calloc(n, 8);
	CUmemcpyAttributes attr = { .srcAccessOrder = 1 };
	size_t idx = 0;
	char lane[4096];
	const struct krt_proc *h;
	const struct krt_slot *slot;
	struct stat st;
	unsigned calls = 0;
	uint64_t end = 0;

	(void)arg;
	need(!cuInit(0) && many, "init");
	h = own_header(lane, sizeof lane);
	slot = &h->slot[1];
	for (unsigned i = 0; i < 60000; i++, calls++) /* as fast as it goes */
		need(!cuMemFree_v2(DEV(i)), "free");
	for (unsigned round = 0; round < 60; round++) {
		for (unsigned t = 0; of_slot(&slot->consumed) != of_slot(&slot->commit); t++) {
			need(t < 60000, "a reader");
			usleep(1000);
		}
		if (round == 40) { /* by now there is one window, and one to spare */
			need(!stat(lane, &st), "lane");
			end = (uint64_t)st.st_size;
		}
		for (unsigned i = 0; i < 1500; i++, calls++)
			need(!cuMemFree_v2(DEV(i)), "free");
		if (round == 5 || round == 15) {
			need(!cuMemcpyBatchAsync_v2(many, many, (size_t *)many, n, &attr, &idx, 1, STREAM), "batch");
			calls++;
		}
	}
	need(!stat(lane, &st) && (uint64_t)st.st_size == end, "no window after those");
	need(st.st_blocks * 512 <= 16 * KRT_WINDOW, "space given back");
	printf("%u calls\n", calls);
	free(many);
	return 0;
}

static void said(void)
{
	static const char text[] = "handler ran\n";

	need(write(1, text, sizeof text - 1) > 0, "write");
}

static volatile int children;
static void child_seen(int sig)
{
	(void)sig;
	children++;
}

static void report_children(void)
{
	need(!children, "no SIGCHLD");
	need(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no child");
	said();
}

/* more than any bound of the tests, at a pace that a reader keeps up with on a slow machine; arg: then killed */
static int outgrow(const char *arg)
{
	const struct timespec ms = { 0, 1000000 };

	signal(SIGCHLD, child_seen);
	cuInit(0);
	for (int i = 0; i < 60000; i++) {
		need(!cuMemFree_v2(DEV(i)), "free");
		if (i % 100 == 99)
			nanosleep(&ms, NULL);
	}
	if (arg)
		raise(SIGKILL);
	report_children();
	return 0;
}

static int notes(const char *arg)
{
	int x;

	(void)arg;
	cuInit(0);
	krtsan_access(STREAM, &x, sizeof x, KRTSAN_READ | KRTSAN_WRITE);
	krtsan_name(&x, 4, "a name");
	krtsan_ignore_begin();
	cuMemFree_v2(1);
	krtsan_ignore_begin();
	krtsan_ignore_end();
	cuMemFree_v2(2);
	krtsan_ignore_end();
	cuMemFree_v2(3);
	krtsan_host_write(&x, 4);
	return 0;
}

/* closes all descriptors, then uses up all of them */
static int descriptors(const char *arg)
{
	struct rlimit lim = { 16, 16 };
	int made = 0;

	(void)arg;
	cuInit(0);
	cuMemFree_v2(1);
	syscall(436 /* close_range */, 3, ~0u, 0);
	for (int i = 0; i < 4000; i++)
		cuMemFree_v2(2);
	setrlimit(RLIMIT_NOFILE, &lim);
	while (open("/dev/null", O_RDONLY) >= 0)
		made++;
	for (int i = 0; i < 4000; i++)
		need(!cuMemFree_v2(3), "free");
	need(made == 13, "no descriptor of ours is open");
	return 0;
}

/* a file size limit would be SIGXFSZ */
static int filelimit(const char *arg)
{
	struct rlimit lim = { 1 << 20, 1 << 20 };

	(void)arg;
	cuInit(0);
	setrlimit(RLIMIT_FSIZE, &lim);
	for (int i = 0; i < 30000; i++)
		need(!cuMemFree_v2(3), "free");
	return 0;
}

/* a signal that exits, again and again wherever the recorder is */
static void alarm_exit(int sig)
{
	(void)sig;
	_exit(0);
}

static int sigexit(const char *arg)
{
	(void)arg;
	for (int i = 0; i < 60; i++) {
		int status;
		pid_t pid = fork();

		if (!pid) {
			struct itimerval t = { .it_value.tv_usec = 3000 + i * 37 };

			cuInit(0);
			signal(SIGALRM, alarm_exit);
			setitimer(ITIMER_REAL, &t, NULL);
			for (uint64_t k = 0;; k++)
				launch((CUfunction)(0x1000 + (k & 0xff0)), STREAM, k, 2, 3);
		}
		need(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status), "exits");
	}
	return 0;
}

static int late(const char *arg)
{
	(void)arg;
	need(!cuMemFree_v2(1), "free");
	need(!cuMemFree_v2(2), "free");
	return 0;
}

static int fails(const char *arg)
{
	(void)arg;
	fake.result = CUDA_ERROR_NO_DEVICE;
	need(cuInit(0) == CUDA_ERROR_NO_DEVICE, "no device");
	fake.result = CUDA_ERROR_NOT_INITIALIZED;
	need(cuMemFree_v2(2) == CUDA_ERROR_NOT_INITIALIZED, "not initialised");
	return 0;
}

static int inner(const char *arg)
{
	CUdeviceptr p;

	(void)arg;
	cuInit(0);
	fake.inner_call = 1;
	cuMemAlloc_v2(&p, 10);
	cuMemFree_v2(p);
	return 0;
}

/* bare HOW CODE */
static int ends(const char *arg)
{
	int code = arg ? atoi(strchr(arg, ' ') + 1) : 0;

	signal(SIGCHLD, child_seen);
	atexit(report_children); /* registered before ours: runs after it */
	cuInit(0);
	cuMemFree_v2(1);
	if (!strncmp(arg, "exit", 4))
		exit(code);
	if (!strncmp(arg, "_exit", 5))
		_exit(code);
	if (!strncmp(arg, "quick", 5)) {
		at_quick_exit(report_children);
		quick_exit(code);
	}
	if (!strncmp(arg, "kill", 4))
		raise(SIGKILL);
	if (!strncmp(arg, "exec", 4)) {
		execl("/bin/sh", "sh", "-c", "exit 0", (char *)NULL);
		return 98;
	}
	if (!strncmp(arg, "child", 5)) { /* a child that records too */
		char *const argv[] = { (char *)"prog", (char *)"ends", (char *)"return 0", NULL };
		int status;
		pid_t pid = fork();

		if (!pid) {
			execv("/proc/self/exe", argv);
			_exit(97);
		}
		waitpid(pid, &status, 0);
		children = 0;
		need(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child of a recording process keeps its code");
	}
	return code;
}

/* Calls of up to 16 arguments, with arrays of a length that another one tells. */
static int tensors(const char *arg)
{
	cuuint64_t dim[5] = { 64, 32, 16, 8, 4 }, stride[4] = { 256, 8192, 131072, 1048576 };
	cuuint32_t box[5] = { 16, 16, 1, 1, 1 }, step[5] = { 1, 1, 1, 1, 1 };
	int lower[3] = { 0 }, upper[3] = { 1, 1, 1 };
	CUtensorMap map = { { 0x4d4150 } };
	CUDA_RESOURCE_DESC what = { .resType = CU_RESOURCE_TYPE_LINEAR };
	CUDA_TEXTURE_DESC how = { .flags = 1 };
	CUtexObject texture = 0x7e;
	CUsurfObject surface = 0x5f;
	void *at = (void *)0x700000010000;

	(void)arg;
	need(!cuInit(0), "init");
	need(!cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, at, dim, stride, box, step, 0, 0, 0, 0), "tiled");
	need(!cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 1, at, dim, NULL, box, step, 0, 0, 0, 0), "one row");
	need(!cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 5, at, dim, stride, lower, upper, 8, 9, step, 1, 2, 3, 1), "im2col");
	need(!cuTensorMapEncodeIm2colWide(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, at, dim, stride, 5, 6, 7, 8, step, 1, 1, 2, 3, 1), "wide");
	/* of no such rank: nothing of the arrays may be read */
	need(!cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 6, at, (void *)8, (void *)8, box, step, 0, 0, 0, 0), "rank 6");
	need(!cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 0, at, (void *)8, (void *)8, box, step, 0, 0, 0, 0), "rank 0");
	need(!cuTensorMapReplaceAddress(&map, (char *)at + 256), "address");
	what.res.linear.devPtr = (uintptr_t)at;
	what.res.linear.sizeInBytes = 4096;
	need(!cuTexObjectCreate(&texture, &what, &how, NULL), "texture");
	need(!cuSurfObjectCreate(&surface, &what), "surface");
	need(!cuSurfObjectDestroy(surface), "surface gone");
	need(!cuTexObjectDestroy(texture), "texture gone");
	need(map.opaque[0] == 0x4d4150, "the map is the program's");
	return 0;
}

static int nothing(const char *arg)
{
	return arg ? atoi(arg) : 0;
}

int main(int argc, char **argv)
{
	static const struct { const char *name; int (*run)(const char *); } modes[] = {
		{ "basic", basic }, { "many", many }, { "reuse", reuse }, { "forks", forks },
		{ "vforks", vforks }, { "execs", execs }, { "one", one }, { "killed", killed }, { "big", big }, { "again", again },
		{ "hosts", hosts }, { "hostexit", hostexit }, { "threadexit", threadexit },
		{ "jumps", jumps }, { "intern", intern }, { "full", full }, { "outgrow", outgrow }, { "notes", notes },
		{ "descriptors", descriptors }, { "filelimit", filelimit }, { "late", late }, { "sigexit", sigexit },
		{ "fails", fails }, { "inner", inner }, { "ends", ends }, { "tensors", tensors }, { "nothing", nothing },
	};

	for (unsigned i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
		if (!strcmp(modes[i].name, argv[1]))
			return modes[i].run(argc > 2 ? argv[2] : NULL);
	return 96;
}
