/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPython of this process (python.h).
 *
 * It is found by its symbols, wherever it lies.  What lies where in its objects
 * is in a table per version.  Before the first frame counts, all that will be
 * relied on is looked at with reads that cannot fault (look_sound); any doubt
 * switches Python frames off, with a notice.
 *
 * Locking: krt_wipe.w.python guards the choice; who has it reads without.
 */
#include "elf_object.h"
#include "modules.h"
#include "python.h"

#include <pthread.h>
#include <unistd.h>

#define MINOR_MIN 8
#define MINOR_MAX 13

#define OBJECT .head = 16
/* a frame is an object ... */
#define FRAME_OBJECT                                                                               \
	OBJECT, .state_frame = 24, .holder_frame = KRT_PY_NONE, .state_thread = 176, .code = 32,   \
		.previous = 24, .owner = KRT_PY_NONE, .entry = KRT_PY_NONE, .frame_size = 112,     \
		.threads = 8
#define CODE_OLD                                                                                   \
	.file = 104, .name = 112, .first_line = 40, .lines = 120, .instructions = 48, .text = 48,  \
	.text_wide = 72
/* ... and later a part of a stack of its own */
#define FRAME_PART                                                                                 \
	OBJECT, .previous = 8, .code = 0, .instruction = 56, .owner = 70, .entry = KRT_PY_NONE,    \
		.frame_size = 72, .at = KRT_PY_AT_POINTER, .threads = KRT_PY_NONE
#define CODE_NEW                                                                                   \
	.file = 112, .name = 128, .first_line = 68, .lines = 136, .text = 40, .text_wide = 56,     \
	.lines_kind = KRT_LINES_LOCATIONS

static const struct krt_pylayout layouts[MINOR_MAX - MINOR_MIN + 1] = {
	/* 3.8 */
	{FRAME_OBJECT, CODE_OLD, .instruction = 104, .at = KRT_PY_AT_BYTES,
	 .lines_kind = KRT_LINES_LNOTAB},
	/* 3.9 */
	{FRAME_OBJECT, CODE_OLD, .instruction = 104, .at = KRT_PY_AT_BYTES,
	 .lines_kind = KRT_LINES_LNOTAB},
	/* 3.10 */
	{FRAME_OBJECT, CODE_OLD, .instruction = 96, .at = KRT_PY_AT_UNITS,
	 .lines_kind = KRT_LINES_TABLE},
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
	 .at = KRT_PY_AT_POINTER,
	 .lines_kind = KRT_LINES_LOCATIONS},
	/* 3.12 */
	{FRAME_PART, CODE_NEW, .state_frame = 56, .holder_frame = 0, .state_thread = 136,
	 .instructions = 192},
	/* 3.13 */
	{FRAME_PART, CODE_NEW, .state_frame = 72, .holder_frame = KRT_PY_NONE, .state_thread = 152,
	 .instructions = 200},
};

#define PYTHONS 4
static struct krt_python *found[PYTHONS]; /* under the lock */
static struct krt_python *_Atomic chosen; /* one that looked sound */
static _Atomic bool candidates;		  /* found[] has some, none of them chosen yet */
static _Atomic unsigned looked;		  /* krt_modules_changes() when found[] was made */
static bool told, refused;		  /* the notice, an interpreter; under the lock */

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
 * 3.13 describes itself, for debuggers, at the beginning of its runtime: that
 * counts, and says of a build without GIL that it is one.
 */
static bool own_words(struct krt_python *py)
{
	uint64_t w[48];
	struct krt_pylayout l = py->l;

	if (!krt_py_read(py->runtime, w, sizeof w) || memcmp(&w[0], "xdebugpy", 8) != 0 ||
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
	/* no more than these: the last frame of a chunk may end where the mapping does */
	l.frame_size = (uint16_t)(l.owner + 1);
	for (unsigned i = 0; i < 3; i++) {
		unsigned end = (const uint16_t[]){l.code, l.previous, l.instruction}[i] + 8u;

		l.frame_size = l.frame_size < end ? (uint16_t)end : l.frame_size;
	}
	py->odd |= w[2] != 0;
	py->l = l;
	return true;
}

/* An object that holds a whole interpreter. */
static bool object_python(const struct krt_object *first, const struct krt_object *o,
			  struct krt_python *py)
{
	const ElfW(Sym) *eval = krt_object_symbol(o, "_PyEval_EvalFrameDefault", false);
	const ElfW(Sym) *runtime = krt_object_symbol(o, "_PyRuntime", true);
	void *get_version = krt_object_find(o, "Py_GetVersion");
	const ElfW(Sym) *version = krt_object_symbol(o, "Py_Version", true);

	if (!eval || !runtime || !get_version)
		return false;
	*py = (struct krt_python){
		.runtime = o->base + runtime->st_value,
		.eval = o->base + eval->st_value,
		.eval_end = o->base + eval->st_value + eval->st_size,
		.this_thread = (void *(*)(void))krt_object_find(o, "PyGILState_GetThisThreadState"),
		.current = (void *(*)(void))either(o, "_PyThreadState_UncheckedGet",
						   "PyThreadState_GetUnchecked"),
		.first_interpreter = (void *(*)(void))krt_object_find(o, "PyInterpreterState_Head"),
		.main_interpreter = (void *(*)(void))krt_object_find(o, "PyInterpreterState_Main"),
		.get_version = (const char *(*)(void))get_version,
		.finalizing = (int (*)(void))either(o, "_Py_IsFinalizing", "Py_IsFinalizing"),
		.code_type = variable(first, o, "PyCode_Type"),
		.text_type = variable(first, o, "PyUnicode_Type"),
		.bytes_type = variable(first, o, "PyBytes_Type"),
		.odd = krt_object_find(o, "_Py_NegativeRefcount") !=
		       NULL, /* counts references: a debug build */
	};
	if (version)
		py->version = (uint32_t) * (const unsigned long *)(o->base + version->st_value);
	return true;
}

struct scan {
	struct krt_object first;
	bool begun;
	unsigned n;
	struct krt_python py[PYTHONS];
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

static void notice(const struct krt_python *py, enum krt_no_python why)
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

/*
 * May its functions be called?  An object that is being loaded is listed before it is
 * relocated: a call would fault.  That its types are made ready shows that its own code ran.
 */
static bool ready(const struct krt_python *py)
{
	uintptr_t head = py->l.head ? py->l.head : layouts[0].head, flags;

	return py->code_type && krt_py_read_word(py->code_type + head + 152, &flags) &&
	       flags & 1u << 12;
}

/* Is this one to be tried?  Under the lock. */
static bool acceptable(struct krt_python *py)
{
	enum krt_no_python why;

	if (!py->version)
		py->version = parse_version(py->get_version());
	py->minor = py->version >> 16 & 255;
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

/* Objects came or went: which of them are interpreters? */
static __attribute__((noinline)) void look(unsigned changes)
{
	struct krt_python *py = atomic_load(&chosen);
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
			there = krt_pycode_watched(py);
		else if (!py && !refused && (!s->py[i].version || acceptable(&s->py[i])) &&
			 (found[i] = krt_alloc(sizeof *py)))
			*found[i] = s->py[i];
		some |= found[i] != NULL;
	}
	if (py && !there) { /* unloaded, and perhaps loaded again: begin anew at the next change */
		atomic_store(&chosen, NULL);
		krt_pycode_forget();
		changes--;
	}
	atomic_store(&candidates, some);
	atomic_store(&looked, changes);
	krt_unlock(&krt_wipe.w.python);
	krt_unmap(s, sizeof *s);
}

static bool type_name(const struct krt_python *py, uintptr_t type, const char *name)
{
	uintptr_t at;
	char text[8];
	size_t len = strlen(name) + 1;

	return krt_py_read_word(type + py->l.head + 8, &at) && krt_py_read(at, text, len) &&
	       !memcmp(text, name, len);
}

/* Is this frame's code what the table says, and the frame at one of its instructions? */
static bool frame_sound(const struct krt_python *py, const struct krt_pychain *f,
			struct krt_pycode *c)
{
	uintptr_t object, at;
	uint64_t len;

	if (!krt_pycode_read(py, f->code, c) || !c->r.name_len || !c->r.lines ||
	    c->r.first_line > 100000000)
		return false;
	if (py->l.at == KRT_PY_AT_POINTER) {
		if (!krt_py_read(f->code + py->l.head, &len, sizeof len)) /* units */
			return false;
		len *= 2;
	} else if (!krt_py_read_word(f->code + py->l.instructions, &object) ||
		   !krt_pycode_bytes(py, object, &at, &len)) {
		return false;
	}
	return f->offset >= -2 && f->offset < (int64_t)len && len < 1u << 30;
}

/* The whole chain, read without faulting.  1: sound, 0: nothing there to judge, -1: not. */
static int look_sound(const struct krt_python *py, uintptr_t state, struct krt_pycode *c)
{
	uintptr_t thread, at;
	struct krt_pychain f;
	unsigned sound = 0;
	void *dealloc;

	if (!type_name(py, py->code_type, "code") || !type_name(py, py->text_type, "str") ||
	    !type_name(py, py->bytes_type, "bytes"))
		return -1;
	if (!krt_py_read(krt_pycode_dealloc(py), &dealloc, sizeof dealloc) ||
	    !krt_module_at((uintptr_t)dealloc) ||
	    krt_module_at((uintptr_t)dealloc) != krt_module_at(py->eval))
		return -1;
	if (!krt_py_read_word(state + py->l.state_thread, &thread))
		return -1;
	if (thread != (uintptr_t)pthread_self())
		return 0; /* made by another thread for this one: not to be told from a wrong table
			   */
	if (!krt_pyframe_innermost(py, state, &at, &krt_pyreads_plain))
		return -1;
	for (unsigned i = 0; at && i < 4 * KRT_PYFRAMES_MAX; i++, at = f.previous) {
		if (!krt_pyframe_read(py, at, &f, &krt_pyreads_plain))
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
static int try_one(struct krt_python *py)
{
	bool held;
	uintptr_t state, at;
	struct krt_pycode *c;
	int sound;

	if (!ready(py))
		return 0;
	state = krt_pyframe_state(py, &held);
	if (!state || py->finalizing() ||
	    !krt_pyframe_innermost(py, state, &at, &krt_pyreads_plain) || !at)
		return 0;
	c = krt_map(sizeof *c);
	if (!c)
		return 0;
	sound = look_sound(py, state, c);
	krt_unmap(c, sizeof *c);
	return sound;
}

static __attribute__((noinline)) struct krt_python *choose(void)
{
	struct krt_python *py = NULL;
	bool some = false;

	krt_lock(&krt_wipe.w.python);
	for (unsigned i = 0; i < PYTHONS && !atomic_load(&chosen); i++) {
		int sound;

		if (found[i] && !found[i]->version && ready(found[i]) && !acceptable(found[i]))
			found[i] = NULL;
		sound = found[i] ? try_one(found[i]) : -1;
		if (sound > 0) {
			const struct krt_module *libc = krt_module_at((uintptr_t)&syscall);

			found[i]->libc = libc ? libc->base : 0;
			found[i]->libc_end = libc ? libc->end : 0;
			krt_pycode_watch(found[i]);
			atomic_store(&chosen, found[i]);
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

const struct krt_python *krt_python_last(void)
{
	return atomic_load_explicit(&chosen, memory_order_acquire);
}

const struct krt_python *krt_python_get(bool quiet)
{
	unsigned changes = krt_modules_changes();
	struct krt_python *py;

	if (krt_unlikely(changes != atomic_load_explicit(&looked, memory_order_relaxed)) && !quiet)
		look(changes);
	py = atomic_load_explicit(&chosen, memory_order_acquire);
	if (krt_likely(py || !atomic_load_explicit(&candidates, memory_order_relaxed)))
		return py;
	return choose();
}

void krt_python_open(void)
{
	told = false;
}
