/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start-up, options, devices, contexts, error texts, look-up of entry points.
 *
 * Thread state: a stack of current contexts.  A child made by fork answers
 * NOT_INITIALIZED to everything, as the real driver does in a child of a
 * process that has used it.
 */
#include "sim.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct sim_opts sim_opt = {
	.seed = 1,
	.devices = 2,
	.idle_ms = 20,
	.max_pending = 1024,
	.submit_ns = 2000,
	.op_ns = 3000,
	.bytes_per_us = 10000,
	.driver = CUDA_VERSION,
};
struct ctx *sim_ctxs, *sim_primary[SIM_MAX_DEVS];

static atomic_bool inited;
static atomic_bool ever;	     /* initialised here or in a process that forked us */
static volatile unsigned char *here; /* 1 in the process that initialised, 0 in its children */
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t next_id;

#define STACK 64
static __thread struct {
	struct ctx *stack[STACK];
	unsigned n;
	bool in_hostfn;
} tls;

void sim_in_hostfn(bool in)
{
	tls.in_hostfn = in;
}

void sim_say(const char *fmt, ...)
{
	char b[512];
	va_list ap;
	int n = snprintf(b, sizeof b, "sim: "), m;

	va_start(ap, fmt);
	m = vsnprintf(b + n, sizeof b - (size_t)n - 1, fmt, ap);
	va_end(ap);
	n = n + m < (int)sizeof b - 1 ? n + m : (int)sizeof b - 2;
	b[n++] = '\n';
	if (write(2, b, (size_t)n) < 0)
		return;
}

/* ---- options ---- */

static void set_option(const char *k, const char *v)
{
	uint64_t n = strtoull(v, NULL, 0);

	if (!strcmp(k, "sim_seed"))
		sim_opt.seed = n;
	else if (!strcmp(k, "sim_view"))
		sim_opt.documented = !strcmp(v, "documented");
	else if (!strcmp(k, "sim_devices"))
		sim_opt.devices = n > SIM_MAX_DEVS ? SIM_MAX_DEVS : (unsigned)n;
	else if (!strcmp(k, "sim_idle_ms"))
		sim_opt.idle_ms = n ? (unsigned)n : 1;
	else if (!strcmp(k, "sim_max_pending"))
		sim_opt.max_pending = n ? (unsigned)n : 1;
	else if (!strcmp(k, "sim_submit_ns"))
		sim_opt.submit_ns = n;
	else if (!strcmp(k, "sim_op_ns"))
		sim_opt.op_ns = n;
	else if (!strcmp(k, "sim_service_ns"))
		sim_opt.service_ns = n;
	else if (!strcmp(k, "sim_drop"))
		sim_opt.drop = (unsigned)n;
	else if (!strcmp(k, "sim_driver"))
		sim_opt.driver = (int)n;
	else if (!strcmp(k, "sim_bytes_per_us"))
		sim_opt.bytes_per_us = n ? n : 1;
}

bool sim_dropped(void)
{
	static unsigned n;

	return sim_opt.drop && ++n == sim_opt.drop;
}

/* Only the sim_* words of KRTSAN_OPTIONS are ours; 'quoted' values may hold colons. */
static void read_options(void)
{
	static const char *const env[][2] = {
		{"KRTSAN_SIM_SEED", "sim_seed"},
		{"KRTSAN_SIM_VIEW", "sim_view"},
		{"KRTSAN_SIM_DEVICES", "sim_devices"},
		{"KRTSAN_SIM_IDLE_MS", "sim_idle_ms"},
	};
	const char *p = getenv("KRTSAN_OPTIONS"), *e;

	while (p && *p) {
		char word[128];
		size_t n = 0;
		char quote = 0;
		char *eq;

		for (; *p && (quote || (*p != ':' && *p != ' ')); p++) {
			if (quote ? *p == quote : (*p == '\'' || *p == '"')) {
				quote = quote ? 0 : *p;
				continue;
			}
			if (n < sizeof word - 1)
				word[n++] = *p;
		}
		if (*p)
			p++;
		word[n] = 0;
		eq = strchr(word, '=');
		if (eq) {
			*eq = 0;
			set_option(word, eq + 1);
		}
	}
	for (unsigned i = 0; i < sizeof env / sizeof *env; i++)
		if ((e = getenv(env[i][0])) && *e)
			set_option(env[i][1], e);
	e = getenv("KRTSAN_SIM_TRACE");
	sim_opt.trace = e && *e && strcmp(e, "0");
}

/* ---- entering ---- */

static bool forked(void)
{
	return atomic_load(&ever) && !*here;
}

CUresult sim_enter(bool counts)
{
	if (!atomic_load_explicit(&inited, memory_order_acquire) || !*here)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (tls.in_hostfn)
		return CUDA_ERROR_NOT_PERMITTED;
	sim_call_begins(counts);
	return CUDA_SUCCESS;
}

API(cuInit, (unsigned int flags))
{
	CUresult r = CUDA_SUCCESS;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (forked())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (atomic_load_explicit(&inited, memory_order_acquire))
		return CUDA_SUCCESS;
	pthread_mutex_lock(&init_lock);
	if (!atomic_load(&inited)) {
		read_options();
		here = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (here == MAP_FAILED) {
			r = CUDA_ERROR_OUT_OF_MEMORY;
			goto out;
		}
		madvise((void *)here, 4096, MADV_WIPEONFORK);
		*here = 1;
		mem_init();
		if (!sim_opt.devices) {
			r = CUDA_ERROR_NO_DEVICE;
			goto out;
		}
		if (sim_sched_start()) {
			r = CUDA_ERROR_OUT_OF_MEMORY;
			goto out;
		}
		atomic_store(&ever, true);
		atomic_store_explicit(&inited, true, memory_order_release);
	}
out:
	pthread_mutex_unlock(&init_lock);
	return r;
}

API(cuDriverGetVersion, (int *v))
{
	if (!v)
		return CUDA_ERROR_INVALID_VALUE;
	*v = sim_opt.driver;
	return CUDA_SUCCESS;
}

/* ---- errors ---- */

#define ERRORS(X)                                                                                  \
	X(CUDA_SUCCESS, "no error")                                                                \
	X(CUDA_ERROR_INVALID_VALUE, "invalid argument")                                            \
	X(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")                                               \
	X(CUDA_ERROR_NOT_INITIALIZED, "initialization error")                                      \
	X(CUDA_ERROR_DEINITIALIZED, "driver shutting down")                                        \
	X(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected")                              \
	X(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal")                                     \
	X(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid")                              \
	X(CUDA_ERROR_INVALID_CONTEXT, "invalid device context")                                    \
	X(CUDA_ERROR_MAP_FAILED, "mapping of buffer object failed")                                \
	X(CUDA_ERROR_ALREADY_MAPPED, "resource already mapped")                                    \
	X(CUDA_ERROR_NO_BINARY_FOR_GPU,                                                            \
	  "no kernel image is available for execution on the device")                              \
	X(CUDA_ERROR_NOT_MAPPED, "resource not mapped")                                            \
	X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,                                                      \
	  "peer access is not supported between these two devices")                                \
	X(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed")                                  \
	X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,                                                      \
	  "the provided PTX was compiled with an unsupported toolchain.")                          \
	X(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid")                             \
	X(CUDA_ERROR_FILE_NOT_FOUND, "file not found")                                             \
	X(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle")                                    \
	X(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state")      \
	X(CUDA_ERROR_LOSSY_QUERY, "attempted introspection would be semantically lossy")           \
	X(CUDA_ERROR_NOT_FOUND, "named symbol not found")                                          \
	X(CUDA_ERROR_NOT_READY, "device not ready")                                                \
	X(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered")                  \
	X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch")           \
	X(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated")                    \
	X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled")                \
	X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled")                  \
	X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process")  \
	X(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed")                                 \
	X(CUDA_ERROR_ASSERT, "device-side assert triggered")                                       \
	X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,                                               \
	  "part or all of the requested memory range is already mapped")                           \
	X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,                                                   \
	  "pointer does not correspond to a registered memory region")                             \
	X(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure")                                  \
	X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch")        \
	X(CUDA_ERROR_NOT_PERMITTED, "operation not permitted")                                     \
	X(CUDA_ERROR_NOT_SUPPORTED, "operation not supported")                                     \
	X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,                                                   \
	  "operation not permitted when stream is capturing")                                      \
	X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,                                                   \
	  "operation failed due to a previous error during capture")                               \
	X(CUDA_ERROR_STREAM_CAPTURE_MERGE,                                                         \
	  "operation would result in a merge of separate capture sequences")                       \
	X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,                                                     \
	  "capture was not ended in the same stream as it began")                                  \
	X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work")                \
	X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,                                                     \
	  "dependency created on uncaptured work in another stream")                               \
	X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,                                                      \
	  "operation would make the legacy stream depend on a capturing blocking stream")          \
	X(CUDA_ERROR_CAPTURED_EVENT,                                                               \
	  "operation not permitted on an event last recorded in a capturing stream")               \
	X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,                                                  \
	  "attempt to terminate a thread-local capture sequence from another thread")              \
	X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,                                                    \
	  "the graph update was not performed because it included changes which violated "         \
	  "constraints specific to instantiated graph update")                                     \
	X(CUDA_ERROR_UNKNOWN, "unknown error")

API(cuGetErrorName, (CUresult e, const char **s))
{
	if (!s)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)e) {
#define X(id, text)                                                                                \
	case id:                                                                                   \
		*s = #id;                                                                          \
		return CUDA_SUCCESS;
		ERRORS(X)
#undef X
	}
	*s = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

API(cuGetErrorString, (CUresult e, const char **s))
{
	if (!s)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)e) {
#define X(id, text)                                                                                \
	case id:                                                                                   \
		*s = text;                                                                         \
		return CUDA_SUCCESS;
		ERRORS(X)
#undef X
	}
	*s = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

/* ---- entry points by name ---- */

API(cuGetProcAddress_v2, (const char *name, void **pfn, int version, cuuint64_t flags,
			  CUdriverProcAddressQueryResult *status))
{
	int st = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	void *f;

	if (!name || !pfn)
		return CUDA_ERROR_INVALID_VALUE;
	/* A program built for a later CUDA gets what we have. */
	f = sim_symbol(name, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0,
		       &st);
	*pfn = f;
	if (status)
		*status = st;
	/* v2 answers SUCCESS and tells the rest by status; without one the code says it. */
	return f || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

API(cuGetProcAddress, (const char *name, void **pfn, int version, cuuint64_t flags))
{
	int st;

	if (!name || !pfn)
		return CUDA_ERROR_INVALID_VALUE;
	*pfn = sim_symbol(name, version,
			  (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0, &st);
	return *pfn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

API(cuGetExportTable, (const void **table, const CUuuid *id))
{
	if (!table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*table = NULL;
	return CUDA_ERROR_NOT_FOUND;
}

/* ---- devices ---- */

static bool dev_ok(CUdevice d)
{
	return d >= 0 && (unsigned)d < sim_opt.devices;
}

#define ENTER_DEV(d)                                                                               \
	do {                                                                                       \
		ENTER_QUIET();                                                                     \
		if (!dev_ok(d))                                                                    \
			LEAVE(CUDA_ERROR_INVALID_DEVICE);                                          \
	} while (0)

API(cuDeviceGet, (CUdevice * d, int ordinal))
{
	ENTER_QUIET();
	if (!d)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (!dev_ok(ordinal))
		LEAVE(CUDA_ERROR_INVALID_DEVICE);
	*d = ordinal;
	LEAVE(CUDA_SUCCESS);
}

API(cuDeviceGetCount, (int *n))
{
	ENTER_QUIET();
	if (!n)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*n = (int)sim_opt.devices;
	LEAVE(CUDA_SUCCESS);
}

API(cuDeviceGetName, (char *name, int len, CUdevice d))
{
	ENTER_DEV(d);
	if (!name || len <= 0)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	snprintf(name, (size_t)len, "Simulated CUDA device");
	LEAVE(CUDA_SUCCESS);
}

static CUresult uuid(CUuuid *u, CUdevice d)
{
	ENTER_DEV(d);
	if (!u)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	memcpy(u->bytes, "krtsan simulated", 16);
	u->bytes[15] = (char)d;
	LEAVE(CUDA_SUCCESS);
}
ONE(cuDeviceGetUuid, (CUuuid * u, CUdevice d), uuid(u, d))
ONE(cuDeviceGetUuid_v2, (CUuuid * u, CUdevice d), uuid(u, d))

API(cuDeviceGetLuid, (char *luid, unsigned int *mask, CUdevice d))
{
	ENTER_DEV(d);
	(void)luid, (void)mask;
	LEAVE(CUDA_ERROR_NOT_SUPPORTED);
}

API(cuDeviceTotalMem_v2, (size_t * n, CUdevice d))
{
	ENTER_DEV(d);
	if (!n)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*n = mem_total();
	LEAVE(CUDA_SUCCESS);
}

API(cuDeviceTotalMem, (unsigned int *n, CUdevice d))
{
	ENTER_DEV(d);
	if (!n)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*n = UINT32_MAX;
	LEAVE(CUDA_SUCCESS);
}

/* What is not listed is 0. */
static const struct {
	short id;
	int value;
} attrs[] = {
	{1, 1024},     {2, 1024},   {3, 1024},	 {4, 64},	{5, 2147483647},  {6, 65535},
	{7, 65535},    {8, 49152},  {9, 65536},	 {10, 32},	{11, 2147483647}, {12, 65536},
	{13, 1000000}, {14, 512},   {15, 1},	 {16, SIM_SMS}, {19, 1},	  {21, 131072},
	{22, 131072},  {23, 65536}, {24, 16384}, {25, 16384},	{26, 16384},	  {27, 32768},
	{28, 32768},   {29, 2048},  {30, 512},	 {31, 1},	{36, 1000000},	  {37, 256},
	{38, 4 << 20}, {39, 2048},  {40, 3},	 {41, 1},	{42, 32768},	  {43, 2048},
	{51, 32},      {75, 9},	    {76, 0},	 {78, 1},	{79, 1},	  {80, 1},
	{81, 233472},  {82, 65536}, {83, 1},	 {87, 2},	{89, 1},	  {90, 1},
	{91, 1},       {92, 1},	    {93, 1},	 {94, 1},	{95, 1},	  {96, 1},
	{97, 232448},  {99, 1},	    {102, 1},	 {103, 1},	{106, 32},	  {111, 1024},
	{113, 1},      {115, 1},    {119, 1},	 {120, 1},	{122, 1},	  {123, 1},
	{125, 1},      {126, 4},    {134, -1},
};

API(cuDeviceGetAttribute, (int *v, CUdevice_attribute a, CUdevice d))
{
	ENTER_DEV(d);
	if (!v || (int)a < 1 || (int)a > 200)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*v = 0;
	for (unsigned i = 0; i < sizeof attrs / sizeof *attrs; i++)
		if (attrs[i].id == (short)a)
			*v = attrs[i].value;
	if ((int)a == 33) /* PCI bus */
		*v = d + 1;
	LEAVE(CUDA_SUCCESS);
}

API(cuDeviceComputeCapability, (int *major, int *minor, CUdevice d))
{
	ENTER_DEV(d);
	if (!major || !minor)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*major = 9;
	*minor = 0;
	LEAVE(CUDA_SUCCESS);
}

API(cuDeviceGetProperties, (int prop[11], CUdevice d))
{
	static const int p[11] = {1024,	 1024,	1024,  64, 2147483647, 65535,
				  65535, 49152, 65536, 32, 65536};

	ENTER_DEV(d);
	if (!prop)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	memcpy(prop, p, sizeof p);
	LEAVE(CUDA_SUCCESS);
}

API(cuDeviceGetPCIBusId, (char *id, int len, CUdevice d))
{
	ENTER_DEV(d);
	if (!id || len < 13)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	snprintf(id, (size_t)len, "0000:%02x:00.0", (unsigned)d + 1);
	LEAVE(CUDA_SUCCESS);
}

API(cuDeviceGetByPCIBusId, (CUdevice * d, const char *id))
{
	unsigned dom, bus;

	ENTER_QUIET();
	if (!d || !id)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (sscanf(id, "%x:%x", &dom, &bus) != 2 || !dev_ok((int)bus - 1))
		LEAVE(CUDA_ERROR_INVALID_DEVICE);
	*d = (int)bus - 1;
	LEAVE(CUDA_SUCCESS);
}

API(cuDeviceCanAccessPeer, (int *can, CUdevice a, CUdevice b))
{
	ENTER_DEV(a);
	if (!dev_ok(b))
		LEAVE(CUDA_ERROR_INVALID_DEVICE);
	if (!can)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*can = a != b;
	LEAVE(CUDA_SUCCESS);
}

API(cuDeviceGetP2PAttribute, (int *v, int attr, CUdevice a, CUdevice b))
{
	ENTER_DEV(a);
	if (!dev_ok(b) || a == b)
		LEAVE(CUDA_ERROR_INVALID_DEVICE);
	if (!v)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*v = attr == 2 || attr == 4; /* access and array access */
	if (attr == 3)		     /* native atomics */
		*v = 1;
	LEAVE(CUDA_SUCCESS);
}

API(cuDeviceGetExecAffinitySupport, (int *v, int type, CUdevice d))
{
	ENTER_DEV(d);
	(void)type;
	if (!v)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*v = 0;
	LEAVE(CUDA_SUCCESS);
}

API(cuDeviceGetTexture1DLinearMaxWidth, (size_t * n, int format, unsigned channels, CUdevice d))
{
	ENTER_DEV(d);
	(void)format, (void)channels;
	if (!n)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*n = 1 << 27;
	LEAVE(CUDA_SUCCESS);
}

/* ---- contexts ---- */

struct ctx *sim_current(void)
{
	return tls.n ? tls.stack[tls.n - 1] : NULL;
}

CUresult sim_get_ctx(struct ctx **out)
{
	struct ctx *c = sim_current();

	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!sim_handle_is(c, SIM_CTX) || c->dead)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*out = c;
	return c->error;
}

void sim_ctx_fail(struct ctx *c, CUresult why)
{
	if (c->error == CUDA_SUCCESS) {
		c->error = why;
		if (sim_opt.trace)
			sim_say("context %llu: error %d", (unsigned long long)c->id, why);
	}
}

static struct ctx *ctx_new(int dev, unsigned flags, bool primary)
{
	struct ctx *c = sim_alloc(sizeof *c), **p;

	if (!c)
		return NULL;
	c->id = ++next_id;
	c->dev = dev;
	c->flags = flags;
	c->primary = primary;
	c->peers = 1u << dev;
	for (p = &sim_ctxs; *p; p = &(*p)->next)
		;
	*p = c;
	sim_handle_add(c, SIM_CTX);
	c->legacy = sim_stream_new(c, 0, 0);
	if (!c->legacy)
		return NULL;
	c->legacy->legacy = true;
	c->legacy->blocking = false;
	sim_handle_del(c->legacy);
	return c;
}

/* All that belongs to it goes; the handle of a primary context stays valid for a later retain. */
static void ctx_wipe(struct ctx *c)
{
	sim_wait_ctx(c);
	op_put(c->barrier);
	c->barrier = NULL;
	for (struct strm *s = c->streams; s; s = s->next) {
		if (s->cap)
			cap_stream_gone(s);
		if (!s->legacy) {
			sim_handle_del(s);
			s->dead = true;
		}
	}
	sim_streams_reap(c);
	events_ctx_gone(c);
	module_ctx_gone(c);
	mem_ctx_gone(c);
	c->error = CUDA_SUCCESS;
	c->peers = 1u << c->dev;
}

static void ctx_destroy(struct ctx *c)
{
	struct ctx **p;

	ctx_wipe(c);
	c->dead = true;
	sim_handle_del(c);
	for (p = &sim_ctxs; *p && *p != c; p = &(*p)->next)
		;
	if (*p)
		*p = c->next;
	/* Operations and threads may still name it: the few bytes stay. */
}

static CUresult ctx_create(CUcontext *out, unsigned flags, CUdevice d)
{
	struct ctx *c;

	ENTER();
	if (!out || flags & ~0xffu)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (!dev_ok(d))
		LEAVE(CUDA_ERROR_INVALID_DEVICE);
	if (tls.n == STACK)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	c = ctx_new(d, flags, false);
	if (!c)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	tls.stack[tls.n++] = c;
	*out = (CUcontext)c;
	LEAVE(CUDA_SUCCESS);
}
ONE(cuCtxCreate, (CUcontext * c, unsigned flags, CUdevice d), ctx_create(c, flags, d))
ONE(cuCtxCreate_v2, (CUcontext * c, unsigned flags, CUdevice d), ctx_create(c, flags, d))
ONE(cuCtxCreate_v3, (CUcontext * c, CUexecAffinityParam *a, int n, unsigned flags, CUdevice d),
    a || n ? CUDA_ERROR_NOT_SUPPORTED : ctx_create(c, flags, d))
/* Parameters could ask for green resources; all zero means none. */
ONE(cuCtxCreate_v4, (CUcontext * c, CUctxCreateParams *p, unsigned flags, CUdevice d),
    p &&memcmp(p, (char[24]){0}, 24) ? CUDA_ERROR_NOT_SUPPORTED : ctx_create(c, flags, d))

static CUresult ctx_destroy_call(CUcontext h)
{
	struct ctx *c = (struct ctx *)h;

	ENTER();
	if (!c)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (!sim_handle_is(c, SIM_CTX) || c->primary)
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	ctx_destroy(c);
	if (tls.n && tls.stack[tls.n - 1] == c)
		tls.n--;
	LEAVE(CUDA_SUCCESS);
}
ONE(cuCtxDestroy, (CUcontext c), ctx_destroy_call(c))
ONE(cuCtxDestroy_v2, (CUcontext c), ctx_destroy_call(c))
ONE(cuCtxDetach, (CUcontext c), ctx_destroy_call(c))

API(cuCtxAttach, (CUcontext * c, unsigned flags))
{
	struct ctx *x;

	ENTER();
	(void)flags;
	CUresult r = sim_get_ctx(&x);

	if (r == CUDA_SUCCESS && c)
		*c = (CUcontext)x;
	LEAVE(c ? r : CUDA_ERROR_INVALID_VALUE);
}

static CUresult push(CUcontext h)
{
	ENTER_QUIET();
	if (!sim_handle_is(h, SIM_CTX) || tls.n == STACK)
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	tls.stack[tls.n++] = (struct ctx *)h;
	LEAVE(CUDA_SUCCESS);
}
ONE(cuCtxPushCurrent, (CUcontext c), push(c))
ONE(cuCtxPushCurrent_v2, (CUcontext c), push(c))

static CUresult pop(CUcontext *c)
{
	ENTER_QUIET();
	if (!tls.n)
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	tls.n--;
	if (c)
		*c = (CUcontext)tls.stack[tls.n];
	LEAVE(CUDA_SUCCESS);
}
ONE(cuCtxPopCurrent, (CUcontext * c), pop(c))
ONE(cuCtxPopCurrent_v2, (CUcontext * c), pop(c))

API(cuCtxSetCurrent, (CUcontext h))
{
	ENTER_QUIET();
	if (h && !sim_handle_is(h, SIM_CTX))
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	if (!h) {
		if (tls.n)
			tls.n--;
	} else if (tls.n) {
		tls.stack[tls.n - 1] = (struct ctx *)h;
	} else {
		tls.stack[tls.n++] = (struct ctx *)h;
	}
	LEAVE(CUDA_SUCCESS);
}

API(cuCtxGetCurrent, (CUcontext * c))
{
	ENTER_QUIET();
	if (!c)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*c = (CUcontext)sim_current();
	LEAVE(CUDA_SUCCESS);
}

static CUresult ctx_device(CUdevice *d, struct ctx *c)
{
	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	if (!c || !sim_handle_is(c, SIM_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	*d = c->dev;
	return CUDA_SUCCESS;
}

API(cuCtxGetDevice, (CUdevice * d))
{
	ENTER_QUIET();
	LEAVE(ctx_device(d, sim_current()));
}

API(cuCtxGetDevice_v2, (CUdevice * d, CUcontext c))
{
	ENTER_QUIET();
	LEAVE(ctx_device(d, c ? (struct ctx *)c : sim_current()));
}

API(cuCtxGetId, (CUcontext h, unsigned long long *id))
{
	struct ctx *c = h ? (struct ctx *)h : sim_current();

	ENTER_QUIET();
	if (!id)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (!c || !sim_handle_is(c, SIM_CTX))
		LEAVE(CUDA_ERROR_CONTEXT_IS_DESTROYED);
	*id = c->id;
	LEAVE(CUDA_SUCCESS);
}

API(cuCtxGetApiVersion, (CUcontext h, unsigned int *v))
{
	ENTER_QUIET();
	if (!v)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (h && !sim_handle_is(h, SIM_CTX))
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	*v = 3020;
	LEAVE(CUDA_SUCCESS);
}

#define ENTER_CTX(c)                                                                               \
	struct ctx *c = NULL;                                                                      \
	ENTER();                                                                                   \
	do {                                                                                       \
		CUresult ctx_ = sim_get_ctx(&c);                                                   \
		if (ctx_ != CUDA_SUCCESS)                                                          \
			LEAVE(ctx_);                                                               \
	} while (0)

API(cuCtxGetFlags, (unsigned *flags))
{
	ENTER_CTX(c);
	if (!flags)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*flags = c->flags;
	LEAVE(CUDA_SUCCESS);
}

API(cuCtxSetFlags, (unsigned flags))
{
	ENTER_CTX(c);
	if (flags & ~0xffu)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	c->flags = flags;
	LEAVE(CUDA_SUCCESS);
}

static CUresult ctx_sync(struct ctx *c)
{
	CUresult r = cap_check(c);

	if (r != CUDA_SUCCESS)
		return r;
	if (!sim_dropped())
		sim_wait_ctx(c);
	return c->error;
}

API(cuCtxSynchronize, (void))
{
	ENTER_CTX(c);
	LEAVE(ctx_sync(c));
}

API(cuCtxSynchronize_v2, (CUcontext h))
{
	struct ctx *c = h ? (struct ctx *)h : sim_current();

	ENTER();
	if (!c || !sim_handle_is(c, SIM_CTX))
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	if (c->error)
		LEAVE(c->error);
	LEAVE(ctx_sync(c));
}

API(cuCtxGetStreamPriorityRange, (int *least, int *greatest))
{
	ENTER_CTX(c);
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	LEAVE(CUDA_SUCCESS);
}

static size_t limits[32] = {
	[0] = 1024, [1] = 1 << 20, [2] = 8 << 20, [3] = 2, [4] = 2048, [5] = 128};

API(cuCtxGetLimit, (size_t * v, int limit))
{
	ENTER_CTX(c);
	if (!v)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (limit < 0 || limit > 9)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*v = limits[limit];
	LEAVE(CUDA_SUCCESS);
}

API(cuCtxSetLimit, (int limit, size_t v))
{
	ENTER_CTX(c);
	if (limit < 0 || limit > 9)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	limits[limit] = v;
	LEAVE(CUDA_SUCCESS);
}

static CUresult ctx_config(int *v)
{
	ENTER_CTX(c);
	if (!v)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*v = 0;
	LEAVE(CUDA_SUCCESS);
}

static CUresult ctx_nop(void)
{
	ENTER_CTX(c);
	LEAVE(CUDA_SUCCESS);
}
ONE(cuCtxGetCacheConfig, (int *v), ctx_config(v))
ONE(cuCtxGetSharedMemConfig, (int *v), ctx_config(v))
ONE(cuCtxSetCacheConfig, (int v), ((void)v, ctx_nop()))
ONE(cuCtxSetSharedMemConfig, (int v), ((void)v, ctx_nop()))
ONE(cuCtxResetPersistingL2Cache, (void), ctx_nop())
ONE(cuProfilerStart, (void), ctx_nop())
ONE(cuProfilerStop, (void), ctx_nop())

static CUresult peer(CUcontext h, unsigned flags, bool enable)
{
	struct ctx *p = (struct ctx *)h;

	ENTER_CTX(c);
	if (flags)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (!sim_handle_is(p, SIM_CTX) || p == c)
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	if (p->dev == c->dev)
		LEAVE(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
	if (enable == (c->peers >> p->dev & 1))
		LEAVE(enable ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
			     : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
	c->peers ^= 1u << p->dev;
	mem_generation++;
	LEAVE(CUDA_SUCCESS);
}
ONE(cuCtxEnablePeerAccess, (CUcontext c, unsigned flags), peer(c, flags, true))
ONE(cuCtxDisablePeerAccess, (CUcontext c), peer(c, 0, false))

/* ---- primary contexts ---- */

static unsigned primary_flags[SIM_MAX_DEVS];

API(cuDevicePrimaryCtxRetain, (CUcontext * out, CUdevice d))
{
	ENTER();
	if (!dev_ok(d))
		LEAVE(CUDA_ERROR_INVALID_DEVICE);
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (!sim_primary[d]) {
		sim_primary[d] = ctx_new(d, primary_flags[d], true);
		if (!sim_primary[d])
			LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	}
	sim_primary[d]->dead = false;
	sim_primary[d]->refs++;
	*out = (CUcontext)sim_primary[d];
	LEAVE(CUDA_SUCCESS);
}

static CUresult primary_release(CUdevice d)
{
	struct ctx *c;

	ENTER();
	if (!dev_ok(d))
		LEAVE(CUDA_ERROR_INVALID_DEVICE);
	c = sim_primary[d];
	if (!c || !c->refs)
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	if (--c->refs == 0) {
		ctx_wipe(c);
		c->dead = true;
	}
	LEAVE(CUDA_SUCCESS);
}
ONE(cuDevicePrimaryCtxRelease, (CUdevice d), primary_release(d))
ONE(cuDevicePrimaryCtxRelease_v2, (CUdevice d), primary_release(d))

static CUresult primary_reset(CUdevice d)
{
	ENTER();
	if (!dev_ok(d))
		LEAVE(CUDA_ERROR_INVALID_DEVICE);
	if (sim_primary[d])
		ctx_wipe(sim_primary[d]);
	LEAVE(CUDA_SUCCESS);
}
ONE(cuDevicePrimaryCtxReset, (CUdevice d), primary_reset(d))
ONE(cuDevicePrimaryCtxReset_v2, (CUdevice d), primary_reset(d))

static CUresult primary_set_flags(CUdevice d, unsigned flags)
{
	ENTER();
	if (!dev_ok(d))
		LEAVE(CUDA_ERROR_INVALID_DEVICE);
	if (flags & ~0xffu)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	primary_flags[d] = flags;
	if (sim_primary[d])
		sim_primary[d]->flags = flags;
	LEAVE(CUDA_SUCCESS);
}
ONE(cuDevicePrimaryCtxSetFlags, (CUdevice d, unsigned f), primary_set_flags(d, f))
ONE(cuDevicePrimaryCtxSetFlags_v2, (CUdevice d, unsigned f), primary_set_flags(d, f))

API(cuDevicePrimaryCtxGetState, (CUdevice d, unsigned *flags, int *active))
{
	ENTER_DEV(d);
	if (!flags || !active)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*flags = primary_flags[d];
	*active = sim_primary[d] && sim_primary[d]->refs;
	LEAVE(CUDA_SUCCESS);
}
