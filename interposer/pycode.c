/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code objects of CPython (python.h), named by ids of CODE records.
 *
 * known[] leads from a code object's address to its id.  A code object cannot
 * change, and it cannot end while a frame runs it; that it has ended is heard
 * from its type: tp_dealloc goes through code_freed, which takes the address
 * out.  What it says is interned by content, so a loop that compiles one text
 * again and again makes one record.
 *
 * Locking: krt_wipe.w.python guards inserts and the table by content.  Look-ups
 * and code_freed take none: an entry of known[] is one word.
 */
#include "python.h"

#define KNOWN	  32768u
#define KNOWN_TRY 64u
#define CODES_MAX 65535u /* in all; then nothing new gets an id, or is read */
#define CONTENTS  (2 * (CODES_MAX + 1))

static _Atomic uint64_t known[KNOWN]; /* address << 16 | id; id 0: freed */
static unsigned nknown;
static struct content {
	uint64_t hash[2];
	uint32_t id;
} * contents;
static _Atomic uint32_t ncodes; /* changed under the lock */
static void (*_Atomic code_dealloc)(void *); /* PyCode_Type.tp_dealloc as it was */

static unsigned place(uintptr_t code)
{
	return (uint32_t)((code * 0x9e3779b97f4a7c15ull) >> 40);
}

uint32_t krt_pycode_known(uintptr_t code)
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
void krt_pycode_forget(void)
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
		krt_pycode_forget();
	for (; n < KNOWN_TRY; i++, n++) {
		e = atomic_load_explicit(&known[i % KNOWN], memory_order_relaxed);
		if (!e || e >> 16 == code)
			break;
	}
	if (n == KNOWN_TRY) {
		krt_pycode_forget();
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
static int text_read(const struct krt_python *py, uintptr_t str, char *to, size_t max)
{
	struct {
		uint64_t length, hash;
		uint32_t state;
	} s;
	unsigned kind;
	size_t n = 0, done = 0;
	uintptr_t at;

	if (!krt_py_is(py, str, py->text_type) || !krt_py_read(str + py->l.head, &s, sizeof s))
		return -1;
	kind = s.state >> 2 & 7;
	if (!(s.state >> 5 & 1) || (kind != 1 && kind != 2 && kind != 4) || s.length > 1u << 30)
		return -1;
	at = str + (s.state >> 6 & 1 ? py->l.text : py->l.text_wide);
	while (done < s.length) {
		char part[512];
		size_t chars = sizeof part / kind;

		chars = chars < s.length - done ? chars : s.length - done;
		if (!krt_py_read(at + done * kind, part, chars * kind))
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
bool krt_pycode_bytes(const struct krt_python *py, uintptr_t object, uintptr_t *at, uint64_t *len)
{
	*at = object + py->l.head + 16;
	return krt_py_is(py, object, py->bytes_type) &&
	       krt_py_read(object + py->l.head, len, sizeof *len) && *len <= 1u << 30;
}

/* What a code object says.  What cannot be read is left out.  False: it is none. */
bool krt_pycode_read(const struct krt_python *py, uintptr_t code, struct krt_pycode *c)
{
	const struct krt_pylayout *l = &py->l;
	uintptr_t file, name, lines, at;
	uint64_t len;
	int32_t first;
	int n;

	if (!krt_py_is(py, code, py->code_type) || !krt_py_read_word(code + l->file, &file) ||
	    !krt_py_read_word(code + l->name, &name) ||
	    !krt_py_read_word(code + l->lines, &lines) ||
	    !krt_py_read(code + l->first_line, &first, sizeof first))
		return false;
	c->r = (struct krt_rec_code){.h = {.kind = KRT_REC_CODE},
				     .first_line = first > 0 ? (uint32_t)first : 0};
	if (krt_pycode_bytes(py, lines, &at, &len)) {
		len = len < KRT_PYCODE_LINES ? len : KRT_PYCODE_LINES;
		if (!len || krt_py_read(at, c->data, len)) {
			c->r.lines = l->lines_kind;
			c->r.lines_len = (uint32_t)len;
		}
	}
	n = text_read(py, file, c->data + c->r.lines_len, KRT_PYCODE_FILE);
	c->r.file_len = (uint16_t)(n > 0 ? n : 0);
	n = text_read(py, name, c->data + c->r.lines_len + c->r.file_len, KRT_PYCODE_NAME);
	c->r.name_len = (uint16_t)(n > 0 ? n : 0);
	return true;
}

/* Under the lock; c is ready but for its id. */
static uint32_t content_id(struct krt_pycode *c)
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
	c->r.id = ++ncodes;
	contents[i] = (struct content){.hash = {hash[0], hash[1]}, .id = c->r.id};
	krt_lane0_write(&c->r.h, len);
	return c->r.id;
}

uint32_t krt_pycode_id(const struct krt_python *py, uintptr_t code)
{
	struct krt_pycode *c;
	uint32_t id;

	if (code < 4096 || code >> 48 || ncodes == CODES_MAX)
		return 0;
	c = krt_map(sizeof *c);
	if (!c)
		return 0;
	if (!krt_pycode_read(py, code, c)) {
		krt_unmap(c, sizeof *c);
		return 0;
	}
	krt_lock(&krt_wipe.w.python);
	id = krt_pycode_known(code);
	if (!id) {
		id = content_id(c);
		if (id)
			known_put(code, id);
	}
	krt_unlock(&krt_wipe.w.python);
	krt_unmap(c, sizeof *c);
	return id;
}

uintptr_t krt_pycode_dealloc(const struct krt_python *py)
{
	return py->code_type + py->l.head + 32;
}

void krt_pycode_watch(const struct krt_python *py)
{
	void *_Atomic *dealloc = (void *_Atomic *)krt_pycode_dealloc(py);

	atomic_store(&code_dealloc, (void (*)(void *))atomic_load(dealloc));
	atomic_store(dealloc, (void *)code_freed);
}

bool krt_pycode_watched(const struct krt_python *py)
{
	return atomic_load((void *_Atomic *)krt_pycode_dealloc(py)) == (void *)code_freed;
}

bool krt_pycode_open(void)
{
	krt_pycode_forget();
	ncodes = 0;
	contents = krt_map(CONTENTS * sizeof *contents);
	return contents != NULL;
}
