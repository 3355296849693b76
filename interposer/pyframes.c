/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python frames (pyframes.h), read where CPython has them.
 *
 * The calling thread is inside a native call, so its own chain of frames stands
 * still, whether it holds the GIL or not.  Its thread state is asked of two
 * functions that read a thread-local or a global word.  What lies in it is in a
 * table per version.  Before the first frame counts, all that will be relied on
 * is looked at with reads that cannot fault (look_sound); any doubt switches
 * this off, with a notice.
 *
 * A code object is named by address.  It cannot change, and it cannot end while
 * a frame runs it; that it has ended is heard from its type: tp_dealloc goes
 * through code_freed, which takes the address out of the table.  What it says is
 * interned by content, so a loop that compiles one text again and again makes
 * one record.
 *
 * Only while the interpreter shuts down may a thread's state go while it is in a
 * native call, and only one that does not hold the GIL.  From then on nothing is
 * read, and threads other than the first read such a state through the kernel.
 *
 * Locking: krt_wipe.w.python guards the choice of an interpreter, the inserts
 * into known[] and the table by content.  Look-ups and code_freed take none:
 * an entry of known[] is one word.
 */
#include "pyframes.h"
#include "elf_object.h"
#include "lane.h"
#include "modules.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define MINOR_MIN 8
#define MINOR_MAX 13
#define NONE	  0xffff /* as an offset: there is no such field */

/* How a frame says which instruction it is at. */
enum instruction {
	AT_BYTES,   /* int: bytes */
	AT_UNITS,   /* int: units of 2 bytes */
	AT_POINTER, /* address */
};

struct layout {
	uint16_t state_frame;  /* of the frame, or of what holds it ... */
	uint16_t holder_frame; /* ... there */
	uint16_t threads;      /* of an interpreter: its first thread state */
	uint16_t state_thread; /* pthread_t */
	uint16_t code, previous, instruction, owner, entry; /* of a frame */
	uint16_t frame_size;				    /* covers these */
	uint16_t file, name, first_line, lines;		    /* of a code object */
	uint16_t instructions; /* bytes object, or with AT_POINTER the first of them */
	uint16_t text;	       /* size of a compact ASCII string's head, ... */
	uint16_t text_wide;    /* ... and of another compact one's */
	uint16_t head;	       /* of an object */
	uint8_t at;	       /* enum instruction */
	uint8_t lines_kind;    /* enum krt_code_lines */
};

#define OWNED_BY_C                                                                                 \
	3 /* owner of a frame that stands for a call of the interpreter, from 3.12 on              \
	   */

#define OBJECT .head = 16
/* a frame is an object ... */
#define FRAME_OBJECT                                                                               \
	OBJECT, .state_frame = 24, .holder_frame = NONE, .state_thread = 176, .code = 32,          \
		.previous = 24, .owner = NONE, .entry = NONE, .frame_size = 112, .threads = 8
#define CODE_OLD                                                                                   \
	.file = 104, .name = 112, .first_line = 40, .lines = 120, .instructions = 48, .text = 48,  \
	.text_wide = 72
/* ... and later a part of a stack of its own */
#define FRAME_PART                                                                                 \
	OBJECT, .previous = 8, .code = 0, .instruction = 56, .owner = 70, .entry = NONE,           \
		.frame_size = 72, .at = AT_POINTER, .threads = NONE
#define CODE_NEW                                                                                   \
	.file = 112, .name = 128, .first_line = 68, .lines = 136, .text = 40, .text_wide = 56,     \
	.lines_kind = KRT_LINES_LOCATIONS

static const struct layout layouts[MINOR_MAX - MINOR_MIN + 1] = {
	/* 3.8 */
	{FRAME_OBJECT, CODE_OLD, .instruction = 104, .at = AT_BYTES,
	 .lines_kind = KRT_LINES_LNOTAB},
	/* 3.9 */
	{FRAME_OBJECT, CODE_OLD, .instruction = 104, .at = AT_BYTES,
	 .lines_kind = KRT_LINES_LNOTAB},
	/* 3.10 */
	{FRAME_OBJECT, CODE_OLD, .instruction = 96, .at = AT_UNITS, .lines_kind = KRT_LINES_TABLE},
	/* 3.11 */
	{OBJECT,
	 .threads = 16,
	 .state_frame = 56,
	 .holder_frame = 8,
	 .state_thread = 152,
	 .code = 32,
	 .previous = 48,
	 .instruction = 56,
	 .owner = 69,
	 .entry = 68,
	 .frame_size = 72,
	 .file = 112,
	 .name = 128,
	 .first_line = 72,
	 .lines = 136,
	 .instructions = 184,
	 .text = 48,
	 .text_wide = 72,
	 .at = AT_POINTER,
	 .lines_kind = KRT_LINES_LOCATIONS},
	/* 3.12 */
	{FRAME_PART, CODE_NEW, .state_frame = 56, .holder_frame = 0, .state_thread = 136,
	 .instructions = 192},
	/* 3.13 */
	{FRAME_PART, CODE_NEW, .state_frame = 72, .holder_frame = NONE, .state_thread = 152,
	 .instructions = 200},
};

/* An interpreter among the loaded objects.  Written once, then only read. */
struct python {
	struct layout l;
	unsigned minor;
	uintptr_t runtime;	  /* tells one from the other */
	uintptr_t eval, eval_end; /* its loop */
	uintptr_t code_type, text_type, bytes_type;
	void *(*this_thread)(
		void); /* PyThreadState that the thread has, by a thread-local; NULL: none */
	void *(*current)(
		void); /* that which holds the GIL (up to 3.11), that by which this thread does */
	void *(*first_interpreter)(void), *(*main_interpreter)(void);
	int (*finalizing)(void);
	uint32_t version; /* as PY_VERSION_HEX */
	bool odd;	  /* a debug build, or one without GIL */
};

#define PYTHONS 4
static struct python *found[PYTHONS];	     /* under the lock */
static struct python *_Atomic chosen;	     /* one that looked sound */
static _Atomic bool candidates;		     /* found[] has some, none of them chosen yet */
static _Atomic unsigned looked;		     /* krt_modules_changes() when found[] was made */
static bool told, refused;		     /* the notice, an interpreter; under the lock */
static void (*_Atomic code_dealloc)(void *); /* PyCode_Type.tp_dealloc as it was */

/* ---- reading ---- */

static bool read_all(uintptr_t at, void *to, size_t len)
{
	return at >= 4096 && krt_read(at, to, len) == len;
}

static uintptr_t word(const char *at)
{
	uintptr_t v;

	memcpy(&v, at, sizeof v);
	return v;
}

static bool read_word(uintptr_t at, uintptr_t *v)
{
	return !(at & 7) && read_all(at, v, sizeof *v);
}

/* safe: through the kernel. */
static inline bool fetch(uintptr_t at, uintptr_t *v, bool safe)
{
	if (krt_unlikely(safe))
		return read_word(at, v);
	*v = word((const char *)at);
	return true;
}

static bool is_a(const struct python *py, uintptr_t object, uintptr_t type)
{
	uintptr_t t;

	return read_word(object + py->l.head - 8u, &t) && t == type;
}

/* ---- the thread's chain ---- */

static bool innermost(const struct python *py, uintptr_t state, uintptr_t *frame, bool safe);

/*
 * Up to 3.11 a thread that runs a subinterpreter without the GIL still goes by
 * the state that it had first.  That of the newest interpreter with frames of
 * this thread is the one.  The lists may change meanwhile: nothing in them is
 * believed but that a state is this thread's.
 */
static uintptr_t newest_state(const struct python *py, uintptr_t mine)
{
	uintptr_t in = (uintptr_t)py->first_interpreter(), state, thread, frame;

	for (unsigned i = 0; in && i < 64; i++) {
		if (!read_word(in + py->l.threads, &state))
			break;
		for (unsigned k = 0; state && k < 1024; k++) {
			if (read_word(state + py->l.state_thread, &thread) &&
			    thread == (uintptr_t)pthread_self() &&
			    innermost(py, state, &frame, true) && frame)
				return state;
			if (!read_word(state + 8, &state))
				break;
		}
		if (!read_word(in, &in))
			break;
	}
	return mine;
}

/* The state of the calling thread, 0: it has none. */
static uintptr_t thread_state(const struct python *py, bool *held)
{
	uintptr_t mine = (uintptr_t)py->this_thread(), current = (uintptr_t)py->current(), thread;

	*held = current && (current == mine || py->minor >= 12);
	if (*held)
		return current;
	if (krt_likely(py->minor >= 12 || !mine ||
		       py->first_interpreter() == py->main_interpreter()))
		return mine;
	*held = current && read_word(current + py->l.state_thread, &thread) &&
		thread == (uintptr_t)pthread_self();
	return *held ? current : newest_state(py, mine);
}

struct frame {
	uintptr_t at, code, previous;
	int64_t offset; /* of the instruction, but for AT_POINTER: its address */
	bool native;	/* stands for a call of the interpreter */
	bool entry;
};

static inline bool frame_read(const struct python *py, uintptr_t at, struct frame *f, bool safe)
{
	const struct layout *l = &py->l;
	const char *p = (const char *)at;
	char copy[128];
	int32_t n;

	if (krt_unlikely(safe)) {
		if ((at & 7) || !read_all(at, copy, l->frame_size))
			return false;
		p = copy;
	}
	f->at = at;
	f->code = word(p + l->code);
	f->previous = word(p + l->previous);
	f->native = l->owner != NONE && l->entry == NONE && p[l->owner] == OWNED_BY_C;
	f->entry = l->owner == NONE || (l->entry != NONE && p[l->entry]);
	if (l->at == AT_POINTER) {
		f->offset = (int64_t)(word(p + l->instruction) - (f->code + l->instructions));
	} else {
		memcpy(&n, p + l->instruction, sizeof n);
		f->offset = l->at == AT_UNITS ? 2 * (int64_t)n : n;
	}
	return true;
}

static bool innermost(const struct python *py, uintptr_t state, uintptr_t *frame, bool safe)
{
	uintptr_t at;

	if (!fetch(state + py->l.state_frame, &at, safe))
		return false;
	if (py->l.holder_frame != NONE) {
		if (!at)
			return false;
		return fetch(at + py->l.holder_frame, frame, safe);
	}
	*frame = at;
	return true;
}

/* ---- code objects ---- */

#define KNOWN	  32768u
#define KNOWN_TRY 64u
#define CODES_MAX 65535u /* in all; what comes later has no id */
#define CONTENTS  (2 * (CODES_MAX + 1))
#define FILE_MAX  4096u
#define NAME_MAX  1024u
#define LINES_MAX (1u << 20)

static _Atomic uint64_t known[KNOWN]; /* address << 16 | id; id 0: freed */
static unsigned nknown;
static struct content {
	uint64_t hash[2];
	uint32_t id;
} * contents;
static uint32_t ncodes;

static unsigned place(uintptr_t code)
{
	return (uint32_t)((code * 0x9e3779b97f4a7c15ull) >> 40);
}

static inline uint32_t known_id(uintptr_t code)
{
	for (unsigned i = place(code), n = 0; n < KNOWN_TRY; i++, n++) {
		uint64_t e = atomic_load_explicit(&known[i % KNOWN], memory_order_acquire);

		if (e >> 16 == code)
			return e & 0xffff;
		if (!e)
			break;
	}
	return 0;
}

/* Under the lock.  The table is emptied when it is full: what is live comes again. */
static void known_clear(void)
{
	for (unsigned i = 0; i < KNOWN; i++)
		atomic_store_explicit(&known[i], 0, memory_order_release);
	nknown = 0;
}

static void known_put(uintptr_t code, uint32_t id)
{
	unsigned i = place(code), n = 0;
	uint64_t e;

	if (nknown > KNOWN / 4 * 3)
		known_clear();
	for (; n < KNOWN_TRY; i++, n++) {
		e = atomic_load_explicit(&known[i % KNOWN], memory_order_relaxed);
		if (!e || e >> 16 == code)
			break;
	}
	if (n == KNOWN_TRY) {
		known_clear();
		i = place(code);
		e = 0;
	}
	nknown += !e;
	atomic_store_explicit(&known[i % KNOWN], (uint64_t)code << 16 | id, memory_order_release);
}

/* PyCode_Type.tp_dealloc, with the GIL. */
static void code_freed(void *code)
{
	for (unsigned i = place((uintptr_t)code), n = 0; n < KNOWN_TRY; i++, n++) {
		uint64_t e = atomic_load_explicit(&known[i % KNOWN], memory_order_acquire);

		if (!e)
			break;
		if (e >> 16 == (uintptr_t)code) {
			atomic_compare_exchange_strong(&known[i % KNOWN], &e,
						       (uint64_t)(uintptr_t)code << 16);
			break;
		}
	}
	atomic_load_explicit(&code_dealloc, memory_order_acquire)(code);
}

/* One character in UTF-8; of those that stand for a byte of a file's name, that byte. */
static size_t utf8(uint32_t c, char *to)
{
	if (c < 0x80 || (c >= 0xdc80 && c <= 0xdcff)) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		c = 0xfffd;
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* The text of a str, at most max bytes of it; -1: it is none, or not of the usual form. */
static int text_read(const struct python *py, uintptr_t str, char *to, size_t max)
{
	struct {
		uint64_t length, hash;
		uint32_t state;
	} s;
	unsigned kind;
	size_t n = 0, done = 0;
	uintptr_t at;

	if (!is_a(py, str, py->text_type) || !read_all(str + py->l.head, &s, sizeof s))
		return -1;
	kind = s.state >> 2 & 7;
	if (!(s.state >> 5 & 1) || (kind != 1 && kind != 2 && kind != 4) || s.length > 1u << 30)
		return -1;
	at = str + (s.state >> 6 & 1 ? py->l.text : py->l.text_wide);
	while (done < s.length) {
		char part[512];
		size_t chars = sizeof part / kind;

		chars = chars < s.length - done ? chars : s.length - done;
		if (!read_all(at + done * kind, part, chars * kind))
			return -1;
		for (size_t i = 0; i < chars; i++) {
			uint32_t c = 0;

			if (max - n < 4)
				return (int)n;
			memcpy(&c, part + i * kind, kind); /* little endian */
			n += utf8(c, to + n);
		}
		done += chars;
	}
	return (int)n;
}

/* Where the bytes of a bytes object lie; false: it is none. */
static bool bytes_read(const struct python *py, uintptr_t object, uintptr_t *at, uint64_t *len)
{
	*at = object + py->l.head + 16;
	return is_a(py, object, py->bytes_type) &&
	       read_all(object + py->l.head, len, sizeof *len) && *len <= 1u << 30;
}

struct code {
	struct krt_rec_code r;
	char data[LINES_MAX + FILE_MAX + NAME_MAX + 8];
};

/* What a code object says.  What cannot be read is left out.  False: it is none. */
static bool code_read(const struct python *py, uintptr_t code, struct code *c)
{
	const struct layout *l = &py->l;
	uintptr_t file, name, lines, at;
	uint64_t len;
	int32_t first;
	int n;

	if (!is_a(py, code, py->code_type) || !read_word(code + l->file, &file) ||
	    !read_word(code + l->name, &name) || !read_word(code + l->lines, &lines) ||
	    !read_all(code + l->first_line, &first, sizeof first))
		return false;
	c->r = (struct krt_rec_code){.h = {.kind = KRT_REC_CODE},
				     .first_line = first > 0 ? (uint32_t)first : 0};
	if (bytes_read(py, lines, &at, &len)) {
		len = len < LINES_MAX ? len : LINES_MAX;
		if (!len || read_all(at, c->data, len)) {
			c->r.lines = l->lines_kind;
			c->r.lines_len = (uint32_t)len;
		}
	}
	n = text_read(py, file, c->data + c->r.lines_len, FILE_MAX);
	c->r.file_len = (uint16_t)(n > 0 ? n : 0);
	n = text_read(py, name, c->data + c->r.lines_len + c->r.file_len, NAME_MAX);
	c->r.name_len = (uint16_t)(n > 0 ? n : 0);
	return true;
}

/* Under the lock; c is ready but for its id. */
static uint32_t content_id(struct code *c)
{
	size_t head = offsetof(struct krt_rec_code, first_line);
	size_t len = sizeof c->r + c->r.lines_len + c->r.file_len + c->r.name_len;
	uint64_t hash[2];
	uint32_t i;

	hash[0] = krt_hash(0, (char *)&c->r + head, len - head);
	hash[1] = krt_hash(~hash[0], (char *)&c->r + head, len - head);
	for (i = (uint32_t)hash[0] % CONTENTS; contents[i].id; i = (i + 1) % CONTENTS)
		if (!memcmp(contents[i].hash, hash, sizeof hash))
			return contents[i].id;
	if (ncodes == CODES_MAX)
		return 0;
	contents[i] = (struct content){.hash = {hash[0], hash[1]}, .id = ++ncodes};
	c->r.id = ncodes;
	krt_lane0_write(&c->r.h, len);
	return ncodes;
}

static __attribute__((noinline)) uint32_t code_id(const struct python *py, uintptr_t code)
{
	struct code *c;
	uint32_t id;

	if (code < 4096 || code >> 48)
		return 0;
	c = krt_map(sizeof *c);
	if (!c)
		return 0;
	if (!code_read(py, code, c)) {
		krt_unmap(c, sizeof *c);
		return 0;
	}
	krt_lock(&krt_wipe.w.python);
	id = known_id(code);
	if (!id) {
		id = content_id(c);
		if (id)
			known_put(code, id);
	}
	krt_unlock(&krt_wipe.w.python);
	krt_unmap(c, sizeof *c);
	return id;
}

/* ---- finding an interpreter ---- */

static uintptr_t variable(const struct krt_object *first, const struct krt_object *o,
			  const char *name)
{
	const ElfW(Sym) *s = krt_object_symbol(first, name, true); /* the program may hold a copy */

	if (s)
		return first->base + s->st_value;
	s = krt_object_symbol(o, name, true);
	return s ? o->base + s->st_value : 0;
}

static void *either(const struct krt_object *o, const char *name, const char *other)
{
	void *p = krt_object_find(o, name);

	return p ? p : krt_object_find(o, other);
}

/* "3.9.18 (main, ..." as PY_VERSION_HEX without the rest. */
static uint32_t parse_version(const char *s)
{
	uint32_t part[2] = {0, 0};

	for (unsigned i = 0; s && i < 2; i++) {
		while (*s >= '0' && *s <= '9')
			part[i] = part[i] * 10 + (uint32_t)(*s++ - '0');
		if (*s == '.')
			s++;
	}
	return part[0] << 24 | part[1] << 16;
}

/*
 * 3.13 describes itself, for debuggers, at the beginning of its runtime.  Where
 * that differs from the table it counts, and the build is an odd one.
 */
static bool own_words(struct python *py)
{
	uint64_t w[48];
	struct layout l = py->l;

	if (!read_all(py->runtime, w, sizeof w) || memcmp(&w[0], "xdebugpy", 8) != 0 ||
	    (uint32_t)w[1] >> 16 != py->version >> 16)
		return false;
	l.state_frame = (uint16_t)w[23];
	l.state_thread = (uint16_t)w[24];
	l.previous = (uint16_t)w[29];
	l.code = (uint16_t)w[30];
	l.instruction = (uint16_t)w[31];
	l.owner = (uint16_t)w[33];
	l.file = (uint16_t)w[35];
	l.name = (uint16_t)w[37];
	l.lines = (uint16_t)w[38];
	l.first_line = (uint16_t)w[39];
	l.instructions = (uint16_t)w[43];
	l.head = (uint16_t)w[44];
	l.text = (uint16_t)(l.head + 24);
	l.text_wide = (uint16_t)(l.head + 40);
	if (l.code > 104 || l.previous > 104 || l.instruction > 104 || l.owner > 111 || l.head > 64)
		return false;
	l.frame_size = 112;
	py->odd |= w[2] != 0;
	py->l = l;
	return true;
}

/* An object that holds a whole interpreter. */
static bool object_python(const struct krt_object *first, const struct krt_object *o,
			  struct python *py)
{
	const ElfW(Sym) *eval = krt_object_symbol(o, "_PyEval_EvalFrameDefault", false);
	const ElfW(Sym) *runtime = krt_object_symbol(o, "_PyRuntime", true);
	const char *(*get_version)(void) =
		(const char *(*)(void))krt_object_find(o, "Py_GetVersion");
	const ElfW(Sym) *version = krt_object_symbol(o, "Py_Version", true);

	if (!eval || !runtime || !get_version)
		return false;
	*py = (struct python){
		.runtime = o->base + runtime->st_value,
		.eval = o->base + eval->st_value,
		.eval_end = o->base + eval->st_value + eval->st_size,
		.this_thread = (void *(*)(void))krt_object_find(o, "PyGILState_GetThisThreadState"),
		.current = (void *(*)(void))either(o, "_PyThreadState_UncheckedGet",
						   "PyThreadState_GetUnchecked"),
		.first_interpreter = (void *(*)(void))krt_object_find(o, "PyInterpreterState_Head"),
		.main_interpreter = (void *(*)(void))krt_object_find(o, "PyInterpreterState_Main"),
		.finalizing = (int (*)(void))either(o, "_Py_IsFinalizing", "Py_IsFinalizing"),
		.code_type = variable(first, o, "PyCode_Type"),
		.text_type = variable(first, o, "PyUnicode_Type"),
		.bytes_type = variable(first, o, "PyBytes_Type"),
		.odd = krt_object_find(o, "_Py_NegativeRefcount") !=
		       NULL, /* counts references: a debug build */
	};
	/* Py_GetVersion writes where it has none ready, so later versions are asked otherwise */
	py->version = version ? (uint32_t) * (const unsigned long *)(o->base + version->st_value)
			      : parse_version(get_version());
	py->minor = py->version >> 16 & 255;
	return true;
}

struct scan {
	struct krt_object first;
	bool begun;
	unsigned n;
	struct python py[PYTHONS];
};

static int scan_one(struct dl_phdr_info *info, size_t size, void *data)
{
	struct scan *s = data;
	struct krt_object o;

	(void)size;
	krt_object_read(&o, info);
	if (!s->begun)
		s->first = o;
	s->begun = true;
	if (o.sym && o.str && object_python(&s->first, &o, &s->py[s->n]))
		s->n++;
	return s->n == PYTHONS;
}

static void notice(const struct python *py, enum krt_python why)
{
	struct krt_rec_mark m = {.h = {.kind = KRT_REC_MARK}, .mark = KRT_MARK_PYTHON};

	if (told)
		return;
	told = true;
	m.value = (uint64_t)(py->version >> 16) << 8 | why;
	krt_lane0_write(&m.h, sizeof m);
	krt_msg("python: no Python frames in call stacks: %u.%u: %s", py->version >> 24, py->minor,
		krt_python_text(why));
}

/* Is this one to be tried?  Under the lock. */
static bool acceptable(struct python *py)
{
	enum krt_python why;

	if (py->version >> 24 != 3 || py->minor < MINOR_MIN || py->minor > MINOR_MAX ||
	    !py->this_thread || !py->current || !py->first_interpreter || !py->main_interpreter ||
	    !py->finalizing || !py->code_type || !py->text_type || !py->bytes_type) {
		why = KRT_PYTHON_UNKNOWN;
	} else {
		py->l = layouts[py->minor - MINOR_MIN];
		if (py->minor >= 13 && !own_words(py))
			why = KRT_PYTHON_LAYOUT;
		else if (py->odd && krt_opt.pystacks != KRT_PYSTACKS_force)
			why = KRT_PYTHON_UNTESTED;
		else
			return true;
	}
	notice(py, why);
	return false;
}

/* Where a type keeps what ends its objects. */
static void *_Atomic *dealloc_of(const struct python *py)
{
	return (void *_Atomic *)(py->code_type + py->l.head + 32);
}

/* Objects came or went: which of them are interpreters? */
static __attribute__((noinline)) void look(unsigned changes)
{
	struct python *py = atomic_load(&chosen);
	struct scan *s = krt_map(sizeof *s);
	bool there = false, some = false;

	if (!s)
		return;
	dl_iterate_phdr(scan_one, s);
	krt_lock(&krt_wipe.w.python);
	for (unsigned i = 0; i < PYTHONS; i++)
		found[i] = NULL;
	for (unsigned i = 0; i < s->n; i++) {
		if (py && s->py[i].runtime == py->runtime && s->py[i].eval == py->eval)
			there = atomic_load(dealloc_of(py)) == (void *)code_freed;
		else if (!py && !refused && acceptable(&s->py[i]) &&
			 (found[i] = krt_alloc(sizeof *py)))
			*found[i] = s->py[i];
		some |= found[i] != NULL;
	}
	if (py && !there) { /* unloaded, and perhaps loaded again: begin anew at the next change */
		atomic_store(&chosen, NULL);
		known_clear();
		changes--;
	}
	atomic_store(&candidates, some);
	atomic_store(&looked, changes);
	krt_unlock(&krt_wipe.w.python);
	krt_unmap(s, sizeof *s);
}

static bool type_name(const struct python *py, uintptr_t type, const char *name)
{
	uintptr_t at;
	char text[8];
	size_t len = strlen(name) + 1;

	return read_word(type + py->l.head + 8, &at) && read_all(at, text, len) &&
	       !memcmp(text, name, len);
}

/* Is this frame's code what the table says, and the frame at one of its instructions? */
static bool frame_sound(const struct python *py, const struct frame *f, struct code *c)
{
	uintptr_t object, at;
	uint64_t len;

	if (!code_read(py, f->code, c) || !c->r.name_len || !c->r.lines ||
	    c->r.first_line > 100000000)
		return false;
	if (py->l.at == AT_POINTER) {
		if (!read_all(f->code + py->l.head, &len, sizeof len)) /* units */
			return false;
		len *= 2;
	} else if (!read_word(f->code + py->l.instructions, &object) ||
		   !bytes_read(py, object, &at, &len)) {
		return false;
	}
	return f->offset >= -2 && f->offset < (int64_t)len && len < 1u << 30;
}

/* The whole chain, read without faulting.  1: sound, 0: nothing there to judge, -1: not. */
static int look_sound(const struct python *py, uintptr_t state, struct code *c)
{
	uintptr_t thread, at;
	struct frame f;
	unsigned sound = 0;
	void *dealloc;

	if (!type_name(py, py->code_type, "code") || !type_name(py, py->text_type, "str") ||
	    !type_name(py, py->bytes_type, "bytes"))
		return -1;
	if (!read_all((uintptr_t)dealloc_of(py), &dealloc, sizeof dealloc) ||
	    !krt_module_at((uintptr_t)dealloc) ||
	    krt_module_at((uintptr_t)dealloc) != krt_module_at(py->eval))
		return -1;
	if (!read_word(state + py->l.state_thread, &thread))
		return -1;
	if (thread != (uintptr_t)pthread_self())
		return 0; /* made by another thread for this one: not to be told from a wrong table
			   */
	if (!innermost(py, state, &at, true))
		return -1;
	for (unsigned i = 0; at && i < 4 * KRT_PYFRAMES_MAX; i++, at = f.previous) {
		if (!frame_read(py, at, &f, true))
			return -1;
		if (f.native)
			continue;
		if (!frame_sound(py, &f, c))
			return -1;
		sound++;
	}
	return sound != 0;
}

/* Under the lock. */
static int try_one(struct python *py)
{
	bool held;
	uintptr_t state = thread_state(py, &held), at;
	struct code *c;
	int sound;

	if (!state || py->finalizing() || !innermost(py, state, &at, true) || !at)
		return 0;
	c = krt_map(sizeof *c);
	if (!c)
		return 0;
	sound = look_sound(py, state, c);
	krt_unmap(c, sizeof *c);
	return sound;
}

static __attribute__((noinline)) struct python *choose(void)
{
	struct python *py = NULL;
	bool some = false;

	krt_lock(&krt_wipe.w.python);
	for (unsigned i = 0; i < PYTHONS && !atomic_load(&chosen); i++) {
		int sound = found[i] ? try_one(found[i]) : -1;

		if (sound > 0) {
			void *_Atomic *dealloc = dealloc_of(found[i]);

			atomic_store(&code_dealloc, (void (*)(void *))atomic_load(dealloc));
			atomic_store(&chosen, found[i]);
			atomic_store(dealloc, (void *)code_freed);
			some = false;
		} else if (sound < 0 && found[i]) {
			notice(found[i], KRT_PYTHON_LAYOUT);
			found[i] = NULL;
			refused = true;
		}
		some |= sound == 0;
	}
	py = atomic_load(&chosen);
	atomic_store(&candidates, !py && some);
	krt_unlock(&krt_wipe.w.python);
	return py;
}

/* ---- the walk ---- */

static unsigned walk(const struct python *py, uintptr_t state, bool safe, struct krt_pyframe *out,
		     unsigned max)
{
	struct frame f;
	uintptr_t at;
	unsigned n = 0;
	bool open = false; /* out[n - 1] may be the outermost of its call of the interpreter */

	if (!innermost(py, state, &at, safe))
		return 0;
	for (unsigned i = 0; at && n < max && i < 4 * KRT_PYFRAMES_MAX; i++, at = f.previous) {
		uint32_t id;

		if (!frame_read(py, at, &f, safe))
			break;
		if (f.native) {
			if (open)
				out[n - 1].where |= KRT_PYFRAME_ENTRY;
			else
				out[n++] = (struct krt_pyframe){0, KRT_PYFRAME_ENTRY};
			open = false;
			continue;
		}
		id = known_id(f.code);
		if (krt_unlikely(!id))
			id = code_id(py, f.code);
		out[n++] = (struct krt_pyframe){
			id,
			(f.offset < 0 ? 0 : (uint32_t)f.offset & ~KRT_PYFRAME_ENTRY) |
				(f.entry ? KRT_PYFRAME_ENTRY : 0),
		};
		open = !f.entry;
	}
	return n;
}

unsigned krt_pyframes(struct krt_pyframe *frame, unsigned max, bool quiet)
{
	unsigned changes = krt_modules_changes();
	struct python *py;
	uintptr_t state;
	bool held;

	if (krt_opt.pystacks == KRT_PYSTACKS_off)
		return 0;
	if (krt_unlikely(changes != atomic_load_explicit(&looked, memory_order_relaxed)) && !quiet)
		look(changes);
	py = atomic_load_explicit(&chosen, memory_order_acquire);
	if (krt_unlikely(!py)) {
		if (!atomic_load_explicit(&candidates, memory_order_relaxed))
			return 0;
		py = choose();
		if (!py)
			return 0;
	}
	if (krt_unlikely(krt_modules_doubtful()) || py->finalizing())
		return 0;
	state = thread_state(py, &held);
	if (!state)
		return 0;
	return walk(py, state, !held && krt_tls.thread && krt_tls.thread->tid != krt_proc->pid,
		    frame, max);
}

unsigned krt_pyframes_place(const struct krt_pyframe *frame, unsigned n, const uint64_t *pc,
			    unsigned depth, struct krt_rec_pyframe *out)
{
	const struct python *py = atomic_load_explicit(&chosen, memory_order_acquire);
	unsigned native = 0, filled = 0;
	bool begin = true;

	for (unsigned i = 0; i < n; i++) {
		if (begin) /* the next call of the interpreter, outwards */
			while (native < depth &&
			       !(py && pc[native] > py->eval && pc[native] <= py->eval_end))
				native++;
		if (frame[i].code)
			out[filled++] = (struct krt_rec_pyframe){
				.code = frame[i].code,
				.offset = frame[i].where & ~KRT_PYFRAME_ENTRY,
				.native = native,
			};
		begin = frame[i].where & KRT_PYFRAME_ENTRY;
		if (begin && native < depth)
			native++;
	}
	return filled;
}

bool krt_pyframes_open(void)
{
	known_clear();
	ncodes = 0;
	told = false;
	contents = krt_map(CONTENTS * sizeof *contents);
	return contents != NULL;
}
