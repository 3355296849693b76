/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record: the only thing that crosses from the interposer to the analyzer,
 * and the layout of the session folder it travels in.  TRACE.md beside this
 * file says the same in prose; this header is the authority.
 *
 * A session folder holds, for each process that attached (NAME = PID.STARTNS):
 *   NAME.proc     one struct krt_proc, mapped shared by the process
 *   NAME.0        lane 0: interned things, written under one lock
 *   NAME.1 ...    one lane a live thread (a finished thread's lane is reused)
 *
 * Lanes grow by windows of KRT_WINDOW bytes, allocated in full before they are
 * mapped (a hole on a full disk would be a SIGBUS in somebody else's program).
 * Records are 8-byte aligned and never cross a window; the rest of a window is
 * a PAD record, or less than a record header of zeros.  A record too long for a
 * window is split: KRT_RF_MORE is set on all parts but the last, the parts
 * after the first are KRT_REC_CONT.
 *
 * While a reader follows, windows that it has read are used again: they are in the
 * caches and their pages are there.  Offsets (commit, consumed, kept) count on all
 * the same.  A window's successor lies behind it in the file, unless the window's
 * last record is a PAD with KRT_RF_NEXT (struct krt_rec_next): it says where.  A
 * window is only used again when all of it is before slot.consumed, and never once
 * all of it is before slot.kept: that is the reader's to punch out, before it
 * stores a consumed beyond it.
 *
 * Publication: a writer completes a record (all its parts), then stores the new
 * end in slot.commit with release.  Nothing behind commit exists.
 *
 * Order: each call takes a ticket before (t0) and after (t1) the driver ran, all
 * of them different; t0 of an enqueued host function is the token that brackets
 * its run (hostfn_enter, hostfn_exit).
 * Readers merge the lanes of a process by t1; lane 0 and records with t1 == 0
 * are taken as they come.  Before taking t1 a writer stores a lower bound of it
 * in slot.pending and clears it after publication, so that
 *     horizon = min(ticket, every pending that is not 0), ticket read first
 * is a bound below which no further record can appear.
 */
#ifndef KRT_RECORD_H
#define KRT_RECORD_H

#include "account.h"

#include <stdint.h>

#define KRT_TRACE_MAGIC   0x314e415354524b00ull /* "\0KRTSAN1" */
#define KRT_TRACE_VERSION 1
#define KRT_WINDOW        (256u * 1024)
#define KRT_LANES         1024 /* lane 0 included */

/* struct krt_proc.state */
enum krt_proc_state {
	KRT_PROC_STARTED = 0,  /* attached, CUDA not initialised */
	KRT_PROC_RUNNING = 1,  /* cuInit succeeded through us */
	KRT_PROC_EXITED = 2,   /* exit handlers ran: everything was written */
	KRT_PROC_EXEC = 3,     /* replaced itself by exec */
};

/* struct krt_proc.trouble, bits: each makes the run incomplete */
enum krt_trouble {
	KRT_TROUBLE_DROPPED = 1 << 0,   /* records dropped (see dropped) */
	KRT_TROUBLE_MEMORY = 1 << 1,    /* no memory, no disk, no lane: recording stopped */
	KRT_TROUBLE_LATE = 1 << 2,      /* CUDA was initialised before us */
	KRT_TROUBLE_INTERNAL = 1 << 3,  /* a failure of ours */
	KRT_TROUBLE_BOUND = 1 << 4,     /* bare run: the bound was reached, recording stopped */
	KRT_TROUBLE_BYPASS = 1 << 5,    /* CUDA used, but not through us */
	KRT_TROUBLE_SPACE = 1 << 6,     /* with DROPPED or MEMORY: the disk of the session folder is full */
	KRT_TROUBLE_PART = 1 << 7,      /* no memory for a part of what was to be recorded; the rest was */
	KRT_TROUBLE_HOST = 1 << 8,      /* host=guard or host=checksum was asked for and is not in force */
};

struct krt_slot {           /* one lane; 64 bytes */
	uint64_t commit;    /* published end, bytes from the start of the lane's file */
	uint64_t pending;   /* lower bound of the ticket being taken, 0 when idle */
	uint64_t consumed;  /* reader: everything before is read */
	uint64_t dropped;   /* whole records lost on this lane */
	int32_t tid;        /* kernel thread id of the present user, 0 when free */
	uint32_t pad0;
	uint64_t kept;      /* windows wholly before are not used again */
	uint64_t pad1[2];
};

struct krt_proc {
	uint64_t magic;
	uint32_t version;
	uint32_t size;           /* of the file */
	uint64_t api_hash;       /* krt_tables_hash() of the writer */
	int32_t pid, ppid;
	uint64_t start_ns;       /* CLOCK_REALTIME at attach */
	uint64_t mono_ns;        /* CLOCK_MONOTONIC at attach */
	uint32_t state;          /* enum krt_proc_state */
	uint32_t trouble;        /* enum krt_trouble */
	int32_t exit_code;       /* valid when state is EXITED */
	uint32_t lanes;          /* lanes in use so far, lane 0 included */
	uint64_t ticket;         /* next ticket; starts at 1 */
	uint64_t written;        /* bytes published on all lanes */
	uint64_t stalled_ns;     /* time calls waited for the reader */
	int32_t reader;          /* pid of the live reader, 0: none */
	uint32_t parent_records; /* an ancestor answers for this process's exit code */
	uint64_t host[KRT_NR_ACCOUNTS]; /* bytes, by enum krt_host_account */
	uint32_t host_mode;      /* the option host= in force */
	uint32_t pad;
	char exe[512];
	char options[1024];      /* effective KRTSAN_OPTIONS */
	struct krt_slot slot[KRT_LANES];
};

enum krt_rec_kind {
	KRT_REC_PAD = 0,
	KRT_REC_CALL = 1,     /* struct krt_rec_call */
	KRT_REC_CONT = 2,     /* continuation: header, then payload */
	KRT_REC_THREAD = 3,   /* struct krt_rec_thread: the lane's user from here on */
	KRT_REC_MARK = 4,     /* struct krt_rec_mark */
	KRT_REC_DEVICE_TIME = 5, /* struct krt_rec_device_time */
	/* lane 0 */
	KRT_REC_STACK = 16,   /* struct krt_rec_stack */
	KRT_REC_MODULE = 17,  /* struct krt_rec_module: a loaded ELF object */
	KRT_REC_KERNEL = 18,  /* struct krt_rec_kernel */
	KRT_REC_STRING = 19,  /* struct krt_rec_string */
	KRT_REC_CONTEXT = 20, /* struct krt_rec_context */
	KRT_REC_STREAM = 21,  /* struct krt_rec_stream: a stream not seen at birth */
	KRT_REC_DEVICE = 22,  /* struct krt_rec_device */
	KRT_REC_DRIVER = 23,  /* struct krt_rec_driver */
	KRT_REC_PARAMS = 24,  /* struct krt_rec_params: a repeated parameter block */
	KRT_REC_IMAGE = 25,   /* struct krt_rec_image: a module image, or part of one */
	KRT_REC_CODE = 26,    /* struct krt_rec_code: a code object of Python */
	/* readers leave out kinds that they do not know */
};

enum krt_rec_flags {
	KRT_RF_MORE = 1 << 0,   /* a KRT_REC_CONT follows on this lane */
	KRT_RF_HOSTFN = 1 << 1, /* made from inside a host function (token says which) */
	KRT_RF_IGNORE = 1 << 2, /* between krtsan_ignore_begin and _end of its thread */
	KRT_RF_NEXT = 1 << 3,   /* PAD: struct krt_rec_next */
};

struct krt_rec {          /* every record begins with this */
	uint32_t size;    /* of this part, header included, multiple of 8 */
	uint8_t kind;     /* enum krt_rec_kind */
	uint8_t flags;    /* enum krt_rec_flags */
	uint16_t library; /* calls: number of the library call that they are, or that they were made inside; 0: none */
};

/* The last record of a window whose successor lies elsewhere. */
struct krt_rec_next {
	struct krt_rec h;
	uint64_t at;      /* of the next window in the file, a multiple of KRT_WINDOW */
	/* the rest of the window */
};

/*
 * A call.  args[argc] holds each argument truncated to its width (roles OUT_*,
 * IN_*, PARAMS: the pointer).  Blobs follow.  A failed call has no OUT blobs.
 */
struct krt_rec_call {
	struct krt_rec h;
	uint16_t api;       /* enum krt_api_id */
	uint16_t argc;
	int32_t result;     /* CUresult; 0 for notes and libc calls */
	uint64_t t0, t1;    /* tickets before and after */
	uint64_t start_ns;  /* since the process attached (the simulated driver's clock where that runs); 0 with times=0 */
	uint32_t took_ns;   /* saturates; time inside the driver */
	uint32_t stack;     /* id of a krt_rec_stack, 0: none */
	uint64_t ctx;       /* current context of the thread where the call depends on it, else 0 */
	uint64_t args[];
	/* struct krt_blob ... */
};

enum krt_blob_kind {
	KRT_BLOB_BYTES = 0,   /* what the argument's role says */
	KRT_BLOB_PARAMS = 1,  /* struct krt_params, then bytes */
	KRT_BLOB_SHARED = 2,  /* u32 id of a krt_rec_params */
	KRT_BLOB_ADDR = 3,    /* u64: an address that ends with it (HEAP_END), or a look-up result */
	KRT_BLOB_CAPTURE = 4, /* struct krt_capture_rec: the call's stream captures */
	KRT_BLOB_NODE = 5,    /* struct krt_node_rec: a node that the call made or changed, read back */
	KRT_BLOB_GRAPH = 6,   /* struct krt_graph_rec: the graph of an instantiation, update or clone */
	KRT_BLOB_FRAME = 7,   /* struct krt_frame_rec: the calling thread's stack */
	KRT_BLOB_IMAGE = 8,   /* struct krt_image_ref[]: what a load or link call was given, or the linker gave */
	KRT_BLOB_POINTERS = 9, /* struct krt_pointer_run ...: device addresses that a copy takes from the host */
};
#define KRT_BLOB_OF_CALL 255 /* as arg: of the call, not of an argument (CAPTURE, NODE, GRAPH, FRAME, IMAGE, POINTERS) */

struct krt_blob {
	uint8_t arg;      /* which argument */
	uint8_t kind;     /* enum krt_blob_kind */
	uint16_t rsv;
	uint32_t len;     /* of the data, without padding to 8 */
	/* data */
};

/*
 * Graphs.  Everything is a multiple of 8 long.  What the driver's queries
 * answered, not what the program passed: nobody's graph is missed.
 */
struct krt_capture_rec {  /* of a call on a stream that captures, and of a capture's end */
	uint64_t id;      /* of the capture, as the driver numbers them */
	uint64_t graph;   /* being built; 0: not told */
	uint64_t node;    /* the capture's one dependency right after the call; 0: none or several */
	uint32_t status;  /* CUstreamCaptureStatus after the call */
	uint32_t rsv;
};

enum krt_node_flags {
	KRT_NODE_UNREAD = 1 << 0, /* its parameters could not be read: payload empty */
	KRT_NODE_STACK = 1 << 1,  /* of a call: host memory it names lies on the calling thread's stack */
};
struct krt_node_rec {
	uint32_t size;    /* of all of it, nested graphs included */
	uint16_t type;    /* CUgraphNodeType */
	uint16_t flags;   /* enum krt_node_flags */
	uint64_t node;    /* CUgraphNode */
	uint64_t ctx;     /* kernel, copy, set, memop: its context; else 0 */
	/*
	 * KERNEL       struct krt_node_kernel, struct krt_params, bytes
	 * MEMCPY       CUDA_MEMCPY3D
	 * MEMSET       CUDA_MEMSET_NODE_PARAMS
	 * HOST         u64 fn, u64 userData
	 * GRAPH        struct krt_graph_rec: the child
	 * EMPTY        nothing
	 * WAIT_EVENT, EVENT_RECORD    u64 event
	 * EXT_SEMAS_SIGNAL, _WAIT     u64 n, u64 semaphore[n]
	 * MEM_ALLOC    u64 address, u64 bytes
	 * MEM_FREE     u64 address
	 * BATCH_MEM_OP u64 n, CUstreamBatchMemOpParams[n]
	 * CONDITIONAL  u64 handle, u32 kind (CUgraphConditionalNodeType), u32 n, struct krt_graph_rec[n]
	 */
};
struct krt_node_kernel {
	uint64_t func;    /* CUfunction, or CUkernel where that was given */
	uint32_t grid[3], block[3], shared;
	uint32_t coop;    /* launched cooperatively */
};
enum krt_graph_flags {
	KRT_GRAPH_UNREAD = 1 << 0,   /* nodes or edges could not be read, here or in a nested graph */
	KRT_GRAPH_REMEMBERED = 1 << 1, /* a body of a cloned conditional node: read from the original */
};
struct krt_graph_rec {
	uint32_t size;    /* of all of it */
	uint32_t flags;   /* enum krt_graph_flags */
	uint64_t graph;   /* CUgraph */
	uint32_t nodes, edges;
	/* struct krt_node_rec[nodes], in the driver's order; struct krt_edge_rec[edges] */
};
struct krt_edge_rec {
	uint32_t from, to; /* places in the list of nodes */
	uint8_t from_port, to_port, type; /* CUgraphEdgeData */
	uint8_t rsv[5];
};
struct krt_frame_rec {    /* of a graph launch, where some node names memory on a stack */
	uint64_t sp;      /* below everything that is alive on it */
	uint64_t low, high; /* of the stack, 0: not known */
};

/*
 * What looks like device addresses among the bytes that a small copy takes from
 * host memory, as they were before the driver was called; words that are aligned
 * where they go to.  All other bytes of a copy with such a run are none.  Runs are
 * in ascending order; in a run a word that is none is 0.
 */
struct krt_pointer_run {
	uint32_t item;    /* which copy of a batch, else 0 */
	uint32_t offset;  /* of the first word, in bytes from the copy's first */
	uint32_t n;       /* words */
	uint32_t rsv;
	/* uint64_t word[n] */
};
#define KRT_POINTERS_COPY_MAX 65536 /* larger copies are not looked into, nor those without one in 4 KiB */

#define KRT_PARAMS_UNKNOWN UINT32_MAX
struct krt_params {       /* raw parameter buffer of a launch, laid out by the kernel's offsets */
	uint32_t kernel;  /* id of a krt_rec_kernel */
	uint32_t len;     /* bytes that follow; KRT_PARAMS_UNKNOWN: layout not known, none follow */
};

struct krt_rec_thread {
	struct krt_rec h;
	int32_t tid;
	uint32_t serial;  /* unique in the process; thread ids are recycled */
	char name[16];
};

enum krt_mark {
	KRT_MARK_EXITING = 1,   /* exit handlers begin: frees are not judged from here on */
	KRT_MARK_FORKED = 2,    /* value: child pid */
	KRT_MARK_STOPPED = 3,   /* recording stopped; value: enum krt_trouble */
	KRT_MARK_UNWRAPPED = 4, /* value: string id "NAME@VERSION": an entry point passed through unseen */
	KRT_MARK_EXEC = 5,
	KRT_MARK_RANGE = 7,     /* value: string id of the thread's innermost NVTX range from here on, 0: none */
	KRT_MARK_TIMING = 6,    /* timing=cupti; value: enum krt_timing, version or CUPTI's result << 8 */
	KRT_MARK_PYTHON = 8,    /* no Python frames; value: enum krt_no_python, Python's major << 16 | minor << 8 */
};
/* Why device times are recorded or not. */
#define KRT_TIMINGS(X)                                                     \
	X(ON, "recorded")                                                  \
	X(NO_LIBRARY, "libcupti.so.13 cannot be opened")                   \
	X(VERSION, "libcupti is of a version that was not tested")         \
	X(SUBSCRIBER, "another tool uses CUPTI")                           \
	X(FAILED, "CUPTI failed")
enum krt_timing {
#define X(name, text) KRT_TIMING_##name,
	KRT_TIMINGS(X)
#undef X
	KRT_NR_TIMINGS
};
static inline const char *krt_timing_text(unsigned t)
{
	static const char *const text[KRT_NR_TIMINGS] = {
#define X(name, words) [KRT_TIMING_##name] = words,
		KRT_TIMINGS(X)
#undef X
	};
	return t < KRT_NR_TIMINGS ? text[t] : "not known";
}
/* Why Python frames are not recorded. */
#define KRT_PYTHONS(X)                                                                  \
	X(UNKNOWN, "this version's frames are not known")                               \
	X(UNTESTED, "this kind of build was not tested (pystacks=force tries it)")      \
	X(LAYOUT, "its frames do not look as expected")
enum krt_no_python {
#define X(name, text) KRT_PYTHON_##name,
	KRT_PYTHONS(X)
#undef X
	KRT_NR_PYTHONS
};
static inline const char *krt_python_text(unsigned p)
{
	static const char *const text[KRT_NR_PYTHONS] = {
#define X(name, words) [KRT_PYTHON_##name] = words,
		KRT_PYTHONS(X)
#undef X
	};
	return p < KRT_NR_PYTHONS ? text[p] : "not known";
}
struct krt_rec_mark {
	struct krt_rec h;
	uint32_t mark, rsv;
	uint64_t t1;
	uint64_t value;
};

struct krt_rec_stack {
	struct krt_rec h;
	uint32_t id;
	uint16_t depth;
	uint16_t python;  /* frames of Python functions */
	uint64_t pc[];    /* return addresses, innermost first; our own frames dropped */
	/* struct krt_rec_pyframe[python], innermost first */
};
struct krt_rec_pyframe {
	uint32_t code;    /* id of a krt_rec_code */
	uint32_t offset;  /* of the instruction being executed, in bytes from the code's first */
	uint32_t native;  /* pc[native] is the interpreter's, at work on this frame; depth: none of them */
	uint32_t rsv;
};

/* A code object of Python.  Two of equal content are one. */
enum krt_code_lines { /* what the line table is */
	KRT_LINES_NONE = 0,
	KRT_LINES_LNOTAB = 1,    /* co_lnotab, up to 3.9 */
	KRT_LINES_TABLE = 2,     /* co_linetable of 3.10 */
	KRT_LINES_LOCATIONS = 3, /* co_linetable from 3.11 on */
};
struct krt_rec_code {
	struct krt_rec h;
	uint32_t id;
	uint32_t first_line;
	uint32_t lines_len;
	uint16_t file_len, name_len;
	uint8_t lines;        /* enum krt_code_lines */
	uint8_t rsv[7];
	char data[];          /* line table, file, name (from 3.11 on with its scope); UTF-8, as far as the file system's is */
};

struct krt_rec_module {
	struct krt_rec h;
	uint64_t base, end;   /* mapped range */
	uint64_t bias;        /* address in memory minus address in the file */
	uint8_t build_id[20];
	uint8_t build_id_len;
	uint8_t role;         /* enum krt_module_role */
	uint16_t path_len;
	char path[];          /* not terminated */
};
enum krt_module_role {
	KRT_MODULE_USER = 0,
	KRT_MODULE_KRTSAN = 1,
	KRT_MODULE_DRIVER = 2, /* libcuda */
	KRT_MODULE_CUDA = 3,   /* cudart, cuBLAS, NCCL, ...: a call site lies outside */
	KRT_MODULE_EXE = 4,    /* the program itself (may hold a static cudart) */
};

struct krt_rec_kernel {
	struct krt_rec h;
	uint32_t id;
	uint32_t nparams;     /* KRT_PARAMS_UNKNOWN: the driver cannot tell */
	uint64_t func;        /* CUfunction or CUkernel */
	uint64_t module;      /* CUmodule or CUlibrary where known, else 0 */
	uint32_t bytes;       /* size of the parameter buffer */
	uint16_t name_len, rsv;
	struct krt_param { uint32_t offset, size; } param[];
	/* name, not terminated, padded to 8 */
};

struct krt_rec_string {
	struct krt_rec h;
	uint32_t id, len;
	char text[];
};

struct krt_rec_context {
	struct krt_rec h;
	uint64_t ctx;
	uint64_t ctx_id;      /* cuCtxGetId, 0 where the driver cannot tell */
	int32_t device;
	uint32_t flags;       /* cuCtxGetFlags */
	uint32_t primary;     /* 1: a primary context */
	uint32_t rsv;
};

struct krt_rec_stream {
	struct krt_rec h;
	uint64_t stream;
	uint64_t stream_id;   /* cuStreamGetId */
	uint64_t ctx;
	uint32_t flags;       /* cuStreamGetFlags */
	int32_t priority;
};

struct krt_rec_device {
	struct krt_rec h;
	int32_t device;
	int32_t cc_major, cc_minor;
	uint32_t concurrent_managed;  /* attribute values */
	uint32_t pageable_access;
	uint32_t unified_addressing;
	char name[64];
};

struct krt_rec_driver {
	struct krt_rec h;
	int32_t version;      /* cuDriverGetVersion */
	uint32_t exports;     /* names of the table that it has */
	uint16_t path_len, rsv[3];
	char path[];
};

/* When the device worked on what calls enqueued; comes any time after them, on the lane of whoever was told. */
struct krt_rec_device_time {
	struct krt_rec h;
	uint32_t n, rsv;
	uint64_t t1;
	struct krt_device_time {
		uint64_t call;    /* t0 of the call */
		uint32_t lane;    /* on which it was recorded */
		uint32_t device;  /* ordinal */
		uint64_t start_ns, end_ns; /* as krt_rec_call.start_ns */
	} time[];
};

/* Why an image was not told. */
enum krt_image_missing {
	KRT_IMAGE_TOLD = 0,
	KRT_IMAGE_UNREADABLE = 1, /* no such memory or file */
	KRT_IMAGE_UNKNOWN = 2,    /* of no known form: its length cannot be told */
	KRT_IMAGE_LIMIT = 3,      /* it would have to be copied, beyond images= */
	KRT_IMAGE_LIBRARY = 4,    /* lib_ptx=0: what one of NVIDIA's libraries made in memory for itself */
	KRT_IMAGE_MEMORY = 5,     /* no memory */
};
struct krt_image_ref {
	uint32_t id;      /* of a krt_rec_image, 0: not told */
	uint32_t missing; /* enum krt_image_missing */
};
enum krt_image_form {
	KRT_IMAGE_FILE = 0, /* bytes [offset, offset + len) of a file */
	KRT_IMAGE_COPY = 1, /* the bytes follow */
};
/*
 * PTX text (without its NUL), a cubin, a fatbin container or a whole file, told
 * once.  A fatbin wrapper is told by its containers: the linked one first, then
 * those of the objects it was linked from.
 */
struct krt_rec_image {
	struct krt_rec h;
	uint32_t id;
	uint8_t form;         /* enum krt_image_form */
	uint8_t role;         /* enum krt_module_role of the file it lies in, or of who loaded the copy */
	uint8_t build_id_len; /* FILE: of the ELF object it lies in, 0: none */
	uint8_t rsv;
	uint64_t hash[2];     /* COPY: of the bytes; FILE: of the place */
	uint64_t len;
	uint64_t sample;      /* krt_image_sample of its beginning */
	uint64_t offset;      /* FILE */
	uint64_t file_size, mtime_ns; /* FILE without build-id: of the file as it was */
	uint8_t build_id[20];
	uint16_t path_len, rsv2;
	char data[];          /* FILE: path_len bytes of path; COPY: len bytes */
};
#define KRT_IMAGE_SAMPLE 256 /* bytes that the sample is of, at most */
static inline uint64_t krt_image_sample(const void *data, uint64_t len)
{
	const unsigned char *p = (const unsigned char *)data;
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */

	for (uint64_t i = 0; i < len && i < KRT_IMAGE_SAMPLE; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}

struct krt_rec_params {
	struct krt_rec h;
	uint32_t id;
	uint32_t kernel;
	uint32_t len, rsv;
	uint8_t bytes[];
};

#endif
