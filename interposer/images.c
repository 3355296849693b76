/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module images (images.h): each becomes known to the trace once, by content
 * where it is copied and by place where it lies in a file.
 *
 * Images are the program's: whatever their headers say, nothing is read that
 * may not be there: krt_read.
 *
 * An image in a read-only segment of a loaded ELF object costs a few headers and
 * a hash of 256 bytes: nothing of it is paged in that the driver does not look at
 * first.  Copies are bounded by images=.
 *
 * Locking: krt_wipe.w.images guards the table and the ids; lane 0 is written
 * with it held, so that whoever finds an id finds its record before it.
 */
#include "images.h"
#include "lane.h"
#include "modules.h"
#include "unwinder.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WRAPPER_MAGIC   0x466243b1u
#define CONTAINER_MAGIC 0xba55ed50u
#define LINKED_MAX      4096            /* containers of the objects that one was linked from */
#define SECTIONS_MAX    (1u << 17)
#define FILE_COPY_MAX   (1u << 20)      /* a file given by name may be a temporary one: copied up to here */
#define MAPPED_MIN      (64u << 10)     /* less is copied sooner than its mapping is found */
#define PAGE            4096u
#define SCAN            (64u * PAGE)
#define SLOTS           16384u

struct known {
	uint64_t key[2];
	uint32_t id;
};
static struct known *known; /* open addressing; emptied when it is full */
static uint32_t known_used, next_image;
static uint64_t copied;

bool krt_images_open(void)
{
	known = krt_map(SLOTS * sizeof *known);
	known_used = next_image = 0;
	copied = 0;
	return known != NULL;
}

/* ---- reading ---- */

static bool read_all(uint64_t addr, void *to, size_t len)
{
	return krt_read(addr, to, len) == len;
}

/* ---- telling ---- */

/* The blob being written: it may move with its record. */
struct blob {
	struct krt_call *call;
	size_t at;
};

static bool blob_open(struct blob *b, struct krt_call *c)
{
	char *data = krt_call_blob(c, KRT_BLOB_OF_CALL, KRT_BLOB_IMAGE, 0);

	*b = (struct blob){ c, data ? (size_t)(data - (char *)c->rec) - sizeof(struct krt_blob) : 0 };
	return data != NULL;
}

static void blob_add(struct blob *b, uint32_t id, unsigned missing)
{
	struct krt_image_ref *ref = krt_call_more(b->call, sizeof *ref);

	if (!ref)
		return;
	*ref = (struct krt_image_ref){ id, id ? KRT_IMAGE_TOLD : missing };
	((struct krt_blob *)((char *)b->call->rec + b->at))->len += sizeof *ref;
}

/* Under the lock. */
static struct known *find(const uint64_t key[2])
{
	uint32_t i = (uint32_t)key[0];

	while (known[i % SLOTS].id && memcmp(known[i % SLOTS].key, key, sizeof known->key))
		i++;
	return &known[i % SLOTS];
}

/* The id of an image whose record is ready; key: its own in this process; cost: bytes that are copied. */
static uint32_t intern(struct krt_rec_image *r, const uint64_t key[2], size_t len, uint64_t cost)
{
	struct known *k;
	uint32_t id = 0;

	krt_lock(&krt_wipe.w.images);
	k = find(key);
	if (k->id) {
		id = k->id;
	} else if (copied + cost <= krt_opt.images) {
		if (known_used > SLOTS / 4 * 3) {
			memset(known, 0, SLOTS * sizeof *known);
			known_used = 0;
			k = find(key);
		}
		id = r->id = ++next_image;
		krt_lane0_write(&r->h, len);
		copied += cost;
		memcpy(k->key, key, sizeof k->key);
		k->id = id;
		known_used++;
	}
	krt_unlock(&krt_wipe.w.images);
	return id;
}

static uint32_t known_id(const uint64_t key[2])
{
	uint32_t id;

	krt_lock(&krt_wipe.w.images);
	id = find(key)->id;
	krt_unlock(&krt_wipe.w.images);
	return id;
}

static bool fits(uint64_t len)
{
	return len <= krt_opt.images && len <= KRT_RECORD_MAX - PAGE &&
	       (!krt_opt.bound || len <= krt_opt.bound / 4);
}

/*
 * Who loads an image from memory?  The frame that called the driver, or the one
 * that called the runtime library.
 */
static unsigned loader_role(void)
{
	static const char runtime[] = "/libcudart";
	uint64_t pc[24];
	unsigned n = krt_unwind(pc, 24, NULL);

	for (unsigned i = 0; i < n; i++) {
		const struct krt_module *m = krt_module_at(pc[i]);

		if (!m)
			return KRT_MODULE_USER;
		if (m->role == KRT_MODULE_CUDA && memmem(m->path, m->path_len, runtime, sizeof runtime - 1))
			continue;
		return m->role;
	}
	return KRT_MODULE_USER;
}

static uint32_t tell_copy(uint64_t addr, uint64_t len, unsigned *missing)
{
	unsigned role = loader_role();
	size_t size = sizeof(struct krt_rec_image) + len;
	struct krt_rec_image *r;
	uint32_t id;

	*missing = (role == KRT_MODULE_CUDA || role == KRT_MODULE_DRIVER) && !krt_opt.lib_ptx ? KRT_IMAGE_LIBRARY
		   : fits(len) ? KRT_IMAGE_TOLD : KRT_IMAGE_LIMIT;
	if (*missing)
		return 0;
	r = krt_map(size + 8);
	if (!r) {
		*missing = KRT_IMAGE_MEMORY;
		return 0;
	}
	*missing = KRT_IMAGE_UNREADABLE;
	if (!read_all(addr, r->data, len)) {
		krt_unmap(r, size + 8);
		return 0;
	}
	r->h.kind = KRT_REC_IMAGE;
	r->form = KRT_IMAGE_COPY;
	r->role = (uint8_t)role;
	r->len = len;
	r->sample = krt_image_sample(r->data, len);
	r->hash[0] = krt_hash(KRT_IMAGE_COPY, r->data, len);
	r->hash[1] = krt_hash(~r->hash[0], r->data, len);
	id = intern(r, r->hash, size, len);
	*missing = KRT_IMAGE_LIMIT;
	krt_unmap(r, size + 8);
	return id;
}

struct file { /* a FILE record being made; too large for a small stack: mapped */
	struct krt_rec_image r;
	char path[4096 + 8];
};

static void stat_file(struct krt_rec_image *r, const struct statx *st)
{
	r->file_size = st->stx_size;
	r->mtime_ns = (uint64_t)st->stx_mtime.tv_sec * 1000000000u + st->stx_mtime.tv_nsec;
}

/* The last fields, when all others are there. */
static void file_ready(struct file *f, size_t path_len)
{
	struct krt_rec_image *r = &f->r;

	r->h.kind = KRT_REC_IMAGE;
	r->form = KRT_IMAGE_FILE;
	r->path_len = (uint16_t)path_len;
	/* of the place: all behind the hash itself */
	r->hash[0] = krt_hash(KRT_IMAGE_FILE, &r->len, offsetof(struct krt_rec_image, data) -
						       offsetof(struct krt_rec_image, len) + path_len);
	r->hash[1] = krt_hash(~r->hash[0], r->data, path_len);
}

/* In a loaded object's file.  0: it is not, or not as it was there. */
static uint32_t tell_in_file(uint64_t addr, uint64_t len)
{
	const struct krt_module *m = krt_module_at(addr);
	struct {
		const struct krt_module *m; /* lives for ever */
		uint64_t offset, len, sample;
	} place = { m, 0, len, 0 };
	char head[KRT_IMAGE_SAMPLE];
	size_t n = len < sizeof head ? len : sizeof head;
	uint64_t key[2];
	struct file *f;
	uint32_t id;

	if (!m || !krt_module_in_file(m, addr, len, &place.offset) || !m->path_len || m->path[0] != '/' ||
	    m->path_len >= sizeof f->path || !read_all(addr, head, n))
		return 0;
	place.sample = krt_image_sample(head, n);
	key[0] = krt_hash(KRT_IMAGE_FILE, &place, sizeof place);
	key[1] = krt_hash(~key[0], &place, sizeof place);
	id = known_id(key);
	if (krt_likely(id))
		return id;
	f = krt_map(sizeof *f);
	if (!f)
		return 0;
	f->r.role = m->role;
	f->r.len = len;
	f->r.offset = place.offset;
	f->r.sample = place.sample;
	f->r.build_id_len = m->build_id_len;
	memcpy(f->r.build_id, m->build_id, m->build_id_len);
	memcpy(f->r.data, m->path, m->path_len);
	if (!m->build_id_len) {
		struct statx st;

		if (!syscall(SYS_statx, AT_FDCWD, f->r.data, 0, STATX_SIZE | STATX_MTIME, &st))
			stat_file(&f->r, &st);
	}
	file_ready(f, m->path_len);
	id = intern(&f->r, key, sizeof f->r + m->path_len, 0);
	krt_unmap(f, sizeof *f);
	return id;
}

struct mapping {
	uint64_t lo, hi, off, inode;
	bool writable;
	const char *path; /* in the line, terminated */
};

static const char *hex(const char *p, uint64_t *v)
{
	for (*v = 0;; p++) {
		unsigned d = *p >= '0' && *p <= '9' ? (unsigned)(*p - '0')
			     : *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a') + 10 : 16;

		if (d == 16)
			return p;
		*v = *v << 4 | d;
	}
}

/* "lo-hi perms offset dev inode    path", of the kernel's making. */
static bool parse_mapping(const char *p, struct mapping *m)
{
	p = hex(p, &m->lo);
	if (*p != '-')
		return false;
	p = hex(p + 1, &m->hi);
	if (strlen(p) < 6)
		return false;
	m->writable = p[2] != '-';
	p = hex(p + 6, &m->off);
	p = *p ? strchr(p + 1, ' ') : NULL; /* behind the device */
	if (!p)
		return false;
	for (m->inode = 0, p++; *p >= '0' && *p <= '9'; p++)
		m->inode = m->inode * 10 + (uint64_t)(*p - '0');
	while (*p == ' ')
		p++;
	m->path = p;
	return true;
}

/* The mapping around addr, its line in buf (SCAN bytes); false: none. */
static bool mapping_at(uint64_t addr, char *buf, struct mapping *m)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	size_t have = 0;
	bool found = false;
	long n;

	if (fd < 0)
		return false;
	while (!found && have < SCAN - 1 && (n = syscall(SYS_read, fd, buf + have, SCAN - 1 - have)) > 0) {
		char *line = buf, *end;

		have += (size_t)n;
		buf[have] = 0;
		while (!found && (end = strchr(line, '\n'))) {
			*end = 0;
			found = parse_mapping(line, m) && addr >= m->lo && addr < m->hi;
			line = end + 1;
		}
		if (!found) {
			have -= (size_t)(line - buf);
			memmove(buf, line, have);
		}
	}
	syscall(SYS_close, fd);
	return found;
}

/* In a file that the program mapped, read-only.  0: it is not. */
static uint32_t tell_in_mapping(uint64_t addr, uint64_t len)
{
	struct file *f = krt_map(sizeof *f);
	char *buf = krt_map(SCAN);
	struct mapping m = { 0 };
	struct statx st;
	uint32_t id = 0;
	size_t path_len;

	if (!f || !buf || !mapping_at(addr, buf, &m) || m.writable || m.path[0] != '/' || len > m.hi - addr)
		goto out;
	path_len = strlen(m.path);
	/* the same file still, under the same name */
	if (path_len >= sizeof f->path ||
	    syscall(SYS_statx, AT_FDCWD, m.path, 0, STATX_TYPE | STATX_INO | STATX_SIZE | STATX_MTIME, &st) ||
	    !S_ISREG(st.stx_mode) || st.stx_ino != m.inode)
		goto out;
	memcpy(f->r.data, m.path, path_len);
	f->r.len = len;
	f->r.offset = m.off + (addr - m.lo);
	if (f->r.offset + len > st.stx_size || !read_all(addr, buf, KRT_IMAGE_SAMPLE))
		goto out;
	f->r.sample = krt_image_sample(buf, KRT_IMAGE_SAMPLE);
	stat_file(&f->r, &st);
	file_ready(f, path_len);
	id = intern(&f->r, f->r.hash, sizeof f->r + path_len, 0);
out:
	if (f)
		krt_unmap(f, sizeof *f);
	if (buf)
		krt_unmap(buf, SCAN);
	return id;
}

static void tell(struct blob *b, uint64_t addr, uint64_t len)
{
	unsigned missing = 0;
	uint32_t id = tell_in_file(addr, len);

	if (!id && len >= MAPPED_MIN)
		id = tell_in_mapping(addr, len);
	if (!id)
		id = tell_copy(addr, len, &missing);
	blob_add(b, id, missing);
}

/* ---- forms ---- */

/* The length of a cubin, 0: it is none. */
static uint64_t elf_length(uint64_t addr)
{
	Elf64_Ehdr h;
	uint64_t end, sections, n;
	Elf64_Shdr *s;

	if (!read_all(addr, &h, sizeof h) || h.e_ident[EI_CLASS] != ELFCLASS64 ||
	    h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_machine != EM_CUDA)
		return 0;
	end = sizeof h;
	n = h.e_shnum;
	if (h.e_shoff > 1ull << 40 || h.e_phoff > 1ull << 40)
		return 0;
	if (h.e_phnum && h.e_phoff + (uint64_t)h.e_phnum * h.e_phentsize > end)
		end = h.e_phoff + (uint64_t)h.e_phnum * h.e_phentsize;
	if (!h.e_shoff || h.e_shentsize != sizeof *s)
		return h.e_shoff ? 0 : end;
	if (!n) {
		Elf64_Shdr first;

		if (!read_all(addr + h.e_shoff, &first, sizeof first))
			return 0;
		n = first.sh_size;
	}
	if (n > SECTIONS_MAX)
		return 0;
	sections = n * sizeof *s;
	if (h.e_shoff + sections > end)
		end = h.e_shoff + sections;
	s = krt_map(sections + 8);
	if (!s)
		return 0;
	if (!read_all(addr + h.e_shoff, s, sections))
		end = 0;
	for (uint64_t i = 0; end && i < n; i++) {
		if (s[i].sh_type == SHT_NOBITS || s[i].sh_type == SHT_NULL)
			continue;
		if (s[i].sh_offset > 1ull << 40 || s[i].sh_size > 1ull << 40)
			end = 0;
		else if (s[i].sh_offset + s[i].sh_size > end)
			end = s[i].sh_offset + s[i].sh_size;
	}
	krt_unmap(s, sections + 8);
	return end;
}

/* Does it begin like a text?  So far as it goes, 64 bytes at most. */
static bool is_text(const unsigned char *p, size_t len)
{
	for (size_t i = 0; i < len && i < 64 && p[i]; i++)
		if (p[i] > 126 || (p[i] < ' ' && (p[i] < '\t' || p[i] > '\r')))
			return false;
	return len && *p;
}

/* The length of a text that a NUL ends, 0: no text, none to be read, or too long to be copied. */
static uint64_t text_length(uint64_t addr, unsigned *missing)
{
	unsigned char head[64];
	uint64_t len = 0;
	size_t n = krt_read(addr, head, sizeof head);
	char *buf, *end;

	*missing = KRT_IMAGE_UNKNOWN;
	if (!is_text(head, n))
		return 0;
	end = memchr(head, 0, n);
	if (end)
		return (uint64_t)(end - (char *)head);
	*missing = KRT_IMAGE_MEMORY;
	buf = krt_map(SCAN);
	if (!buf)
		return 0;
	do {
		n = krt_read(addr + len, buf, SCAN);
		end = n ? memchr(buf, 0, n) : NULL;
		len += end ? (size_t)(end - buf) : n;
	} while (!end && n == SCAN && len < KRT_RECORD_MAX);
	*missing = len >= KRT_RECORD_MAX ? KRT_IMAGE_LIMIT : KRT_IMAGE_UNREADABLE;
	krt_unmap(buf, SCAN);
	return end ? len : 0;
}

static uint64_t container_length(uint64_t addr)
{
	struct {
		uint32_t magic;
		uint16_t version, header;
		uint64_t size;
	} h;

	if (!read_all(addr, &h, sizeof h) || h.magic != CONTAINER_MAGIC || h.header < sizeof h ||
	    h.size > 1ull << 40)
		return 0;
	return h.header + h.size;
}

/* Of each image: where it lies, its length, or 0 and why it has none. */
typedef void image_fn(void *user, uint64_t addr, uint64_t len, unsigned missing);

static void container(uint64_t addr, image_fn *fn, void *user)
{
	fn(user, addr, container_length(addr), KRT_IMAGE_UNREADABLE);
}

static void wrapper(uint64_t addr, image_fn *fn, void *user)
{
	struct {
		uint32_t magic, version;
		uint64_t container, linked;
	} w;

	if (!read_all(addr, &w, sizeof w)) {
		fn(user, addr, 0, KRT_IMAGE_UNREADABLE);
		return;
	}
	container(w.container, fn, user);
	/* of a version 1 it is a file name or nothing */
	for (unsigned i = 0; w.version == 2 && w.linked && i < LINKED_MAX; i++) {
		uint64_t each;

		if (!read_all(w.linked + 8ull * i, &each, sizeof each) || !each)
			break;
		if (each != w.container)
			container(each, fn, user);
	}
}

/* len 0: what the image's headers say. */
static void image(uint64_t addr, uint64_t len, image_fn *fn, void *user)
{
	unsigned missing = KRT_IMAGE_UNKNOWN;
	uint32_t magic;

	if (!addr || !read_all(addr, &magic, sizeof magic)) {
		fn(user, addr, 0, KRT_IMAGE_UNREADABLE);
		return;
	}
	krt_modules_refresh(); /* which file it lies in */
	if (magic == WRAPPER_MAGIC) {
		wrapper(addr, fn, user);
		return;
	}
	if (!len) {
		if (magic == CONTAINER_MAGIC)
			len = container_length(addr);
		else if (!memcmp(&magic, ELFMAG, SELFMAG))
			len = elf_length(addr);
		else
			len = text_length(addr, &missing);
	}
	fn(user, addr, len, missing);
}

static void tell_image(void *user, uint64_t addr, uint64_t len, unsigned missing)
{
	if (len)
		tell(user, addr, len);
	else
		blob_add(user, 0, missing);
}

struct each {
	void (*fn)(void *user, uint64_t addr, uint64_t len);
	void *user;
};

static void each_image(void *user, uint64_t addr, uint64_t len, unsigned missing)
{
	const struct each *e = user;

	(void)missing;
	if (len)
		e->fn(e->user, addr, len);
}

void krt_images_each(uint64_t addr, void (*fn)(void *user, uint64_t addr, uint64_t len), void *user)
{
	struct each e = { fn, user };

	image(addr, 0, each_image, &e);
}

/* ---- files ---- */

static uint32_t copy_file(int fd, const struct statx *st)
{
	size_t len = st->stx_size, size = sizeof(struct krt_rec_image) + len, done = 0;
	struct krt_rec_image *r = krt_map(size + 8);
	uint32_t id = 0;
	long n;

	if (!r)
		return 0;
	while (done < len && (n = syscall(SYS_pread64, fd, r->data + done, len - done, (off_t)done)) > 0)
		done += (size_t)n;
	if (done == len) {
		r->h.kind = KRT_REC_IMAGE;
		r->form = KRT_IMAGE_COPY;
		r->len = len;
		r->sample = krt_image_sample(r->data, len);
		r->hash[0] = krt_hash(KRT_IMAGE_COPY, r->data, len);
		r->hash[1] = krt_hash(~r->hash[0], r->data, len);
		id = intern(r, r->hash, size, len);
	}
	krt_unmap(r, size + 8);
	return id;
}

/* A path as the analyzer can open it; 0: too long. */
static size_t full_path(const char *path, char *to, size_t size)
{
	size_t len = strnlen(path, size), at = 0;
	long n;

	if (*path != '/') {
		n = syscall(SYS_getcwd, to, size);
		if (n <= 1 || to[0] != '/')
			return 0;
		at = (size_t)n;
		to[at - 1] = '/';
	}
	if (at + len >= size)
		return 0;
	memcpy(to + at, path, len);
	to[at + len] = 0;
	return at + len;
}

static void named_file(struct blob *b, const char *path)
{
	char head[KRT_IMAGE_SAMPLE];
	struct statx st;
	struct file *f = NULL;
	uint32_t id = 0;
	size_t len;
	long n;
	int fd = -1;

	if (path) /* a pipe or a device must not be waited for */
		fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0) {
		blob_add(b, 0, KRT_IMAGE_UNREADABLE);
		return;
	}
	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE | STATX_MTIME, &st) ||
	    !S_ISREG(st.stx_mode) || !st.stx_size)
		goto out;
	if (st.stx_size <= FILE_COPY_MAX && fits(st.stx_size))
		id = copy_file(fd, &st);
	if (id)
		goto out;
	f = krt_map(sizeof *f);
	len = f ? full_path(path, f->r.data, sizeof f->path) : 0;
	n = len ? syscall(SYS_pread64, fd, head, sizeof head, (off_t)0) : 0;
	if (n <= 0)
		goto out;
	f->r.len = st.stx_size;
	f->r.sample = krt_image_sample(head, (uint64_t)n);
	stat_file(&f->r, &st);
	file_ready(f, len);
	id = intern(&f->r, f->r.hash, sizeof f->r + len, 0);
out:
	syscall(SYS_close, fd);
	if (f)
		krt_unmap(f, sizeof *f);
	blob_add(b, id, KRT_IMAGE_UNREADABLE);
}

/* ---- calls ---- */

void krt_images_given(struct krt_call *c)
{
	const struct krt_api *a = &krt_api[c->api];
	uint64_t addr = 0, len = 0;
	const char *path = NULL;
	bool file = false;
	struct blob b;

	for (unsigned i = 0; i < a->argc; i++)
		switch ((enum krt_role)a->arg[i].role) {
		case KRT_ROLE_IMAGE:
			addr = c->args[i];
			break;
		case KRT_ROLE_BYTES:
			len = c->args[i];
			break;
		case KRT_ROLE_IN_STRING:
			path = (const char *)c->args[i];
			file = true;
			break;
		default:
			break;
		}
	if (!blob_open(&b, c))
		return;
	if (file)
		named_file(&b, path);
	else
		image(addr, len, tell_image, &b);
}

void krt_images_linked(struct krt_call *c)
{
	const uint64_t *out = (const uint64_t *)c->args[1], *size = (const uint64_t *)c->args[2];
	struct blob b;

	if (!out || !size || !*out || !*size || !blob_open(&b, c))
		return;
	image(*out, *size, tell_image, &b);
}
