/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the files that read CPython's memory: the interpreter (pyfind.c), its
 * code objects (pycode.c) and the frames of a thread (pyframes.c).
 */
#ifndef KRT_PYTHON_H
#define KRT_PYTHON_H

#include "pyframes.h"

#include <string.h>

#pragma GCC visibility push(hidden)

#define KRT_PY_NONE 0xffff /* as an offset: there is no such field */

/* How a frame says which instruction it is at. */
enum krt_pyinstruction {
	KRT_PY_AT_BYTES,   /* int: bytes */
	KRT_PY_AT_UNITS,   /* int: units of 2 bytes */
	KRT_PY_AT_POINTER, /* address */
};

struct krt_pylayout {
	uint16_t state_frame;  /* of the frame, or of what holds it ... */
	uint16_t holder_frame; /* ... there */
	uint16_t threads;      /* of an interpreter: its first thread state */
	uint16_t state_thread; /* pthread_t */
	uint16_t code, previous, instruction, owner, entry; /* of a frame */
	uint16_t frame_size;				    /* covers these */
	uint16_t file, name, first_line, lines;		    /* of a code object */
	uint16_t instructions; /* bytes object, or with KRT_PY_AT_POINTER the first of them */
	uint16_t text;	       /* size of a compact ASCII string's head, ... */
	uint16_t text_wide;    /* ... and of another compact one's */
	uint16_t head;	       /* of an object */
	uint8_t at;	       /* enum krt_pyinstruction */
	uint8_t lines_kind;    /* enum krt_code_lines */
};

/* An interpreter among the loaded objects.  Written once, then only read. */
struct krt_python {
	struct krt_pylayout l;
	unsigned minor;
	uintptr_t runtime;	  /* tells one from the other */
	uintptr_t eval, eval_end; /* its loop */
	uintptr_t libc, libc_end; /* where threads begin */
	uintptr_t code_type, text_type, bytes_type;
	void *(*this_thread)(
		void); /* PyThreadState that the thread has, by a thread-local; NULL: none */
	void *(*current)(
		void); /* that which holds the GIL (up to 3.11), that by which this thread does */
	void *(*first_interpreter)(void), *(*main_interpreter)(void);
	int (*finalizing)(void);
	const char *(*get_version)(void);
	uint32_t version; /* as PY_VERSION_HEX; 0: get_version tells, once it may be called */
	bool odd;	  /* a debug build, or one without GIL */
};

/* ---- reading without faults ---- */

static inline bool krt_py_read(uintptr_t at, void *to, size_t len)
{
	return at >= 4096 && krt_read(at, to, len) == len;
}

static inline bool krt_py_read_word(uintptr_t at, uintptr_t *v)
{
	return !(at & 7) && krt_py_read(at, v, sizeof *v);
}

static inline bool krt_py_is(const struct krt_python *py, uintptr_t object, uintptr_t type)
{
	uintptr_t t;

	return krt_py_read_word(object + py->l.head - 8u, &t) && t == type;
}

/* ---- pyfind.c ---- */

/* The interpreter that this process runs, once it looked sound; NULL: none, or none yet.  quiet:
 * the loader is not asked. */
const struct krt_python *krt_python_get(bool quiet);
/* The last answer. */
const struct krt_python *krt_python_last(void);
/* At attach. */
void krt_python_open(void);

/* ---- pyframes.c ---- */

struct krt_pychain { /* a frame of a thread's chain */
	uintptr_t code, previous;
	int64_t offset; /* of the instruction */
	bool native;	/* stands for a call of the interpreter */
	bool entry;
};

struct krt_pyreads; /* how a state is read that may go meanwhile; NULL: as it lies there */
extern struct krt_pyreads krt_pyreads_plain; /* by one system call each */

/* The state of the calling thread, 0: it has none; held: it has the GIL. */
uintptr_t krt_pyframe_state(const struct krt_python *py, bool *held);
bool krt_pyframe_innermost(const struct krt_python *py, uintptr_t state, uintptr_t *frame,
			   struct krt_pyreads *safe);
bool krt_pyframe_read(const struct krt_python *py, uintptr_t at, struct krt_pychain *f,
		      struct krt_pyreads *safe);

/* ---- pycode.c ---- */

#define KRT_PYCODE_FILE	 4096u
#define KRT_PYCODE_NAME	 1024u
#define KRT_PYCODE_LINES (1u << 20)

struct krt_pycode {
	struct krt_rec_code r;
	char data[KRT_PYCODE_LINES + KRT_PYCODE_FILE + KRT_PYCODE_NAME + 8];
};

/* What a code object says.  What cannot be read is left out.  False: it is none. */
bool krt_pycode_read(const struct krt_python *py, uintptr_t code, struct krt_pycode *c);
/* Where the bytes of a bytes object lie; false: it is none. */
bool krt_pycode_bytes(const struct krt_python *py, uintptr_t object, uintptr_t *at, uint64_t *len);

/* The id of a code object that a frame runs, 0: none; known: without reading it. */
uint32_t krt_pycode_id(const struct krt_python *py, uintptr_t code);
uint32_t krt_pycode_known(uintptr_t code);

/* Where PyCode_Type keeps what ends its objects; take it over; is it taken over? */
uintptr_t krt_pycode_dealloc(const struct krt_python *py);
void krt_pycode_watch(const struct krt_python *py);
bool krt_pycode_watched(const struct krt_python *py);

/* No address is known any more.  Under the lock. */
void krt_pycode_forget(void);
bool krt_pycode_open(void);

#pragma GCC visibility pop
#endif
