/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module images of a session (image_store.h).
 *
 * An image has units: a container's PTX and cubin entries, or the image itself.
 * Of a unit that was unpacked once the names of its kernels stay, as hashes, so
 * that it is not unpacked again for a kernel that it lacks.
 */
#define _GNU_SOURCE
#include "image_store.h"
#include "mix.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_LIMIT (256ull << 20)
#define IDS_MAX       (1u << 20) /* of a process */
#define PROCESSES_MAX (1u << 16)
#define UNITS_MAX     4096u      /* of an image */
#define NAMES_MAX     (1u << 20) /* kernels of a unit */
#define NOTES_MAX     (1u << 16) /* bytes of an ELF file's notes */
#define TRIES_MAX     1024u      /* units unpacked for one question */
#define BELOW_MAX     65536u     /* folders in the folder of texts */

struct unit {
	struct unit *next; /* of the image */
	struct image *image;
	struct krt_fatbin_entry e;
	bool tried;        /* names and result are known */
	bool text;         /* there is PTX in it */
	bool damaged;
	uint64_t *names;   /* hashes, ascending */
	uint32_t nnames;
	/* unpacked */
	char *data;
	size_t len;
	uint64_t hash;
	struct unit *newer, *older;
};

struct image {
	uint64_t hash[2], len, sample, offset, file_size, mtime_ns;
	uint8_t form, role, build_id_len, build_id[20];
	char *path;
	char *bytes;       /* a copy */
	bool walked, refused, changed;
	struct unit *units, **end;
	uint32_t nunits;
};

struct process {
	struct image **by_id;
	uint32_t n;
};

struct krt_image_store {
	struct krt_image_config cfg;
	char *ptx_path;
	struct process *process;
	unsigned nprocesses;
	struct image **table; /* open addressing by hash[0] */
	size_t room, used;
	struct unit *newest, *oldest; /* of those that are unpacked */
	struct image **folder;        /* files of ptx_path */
	size_t nfolder;
	char **below;                 /* names of the folders in it, as of below_at */
	size_t nbelow;
	struct timespec below_at;
	uint64_t copied, unpacked;
};

const char *krt_image_result_text(enum krt_image_result r)
{
	static const char *const text[KRT_NR_IMAGE_RESULTS] = {
		[KRT_IMAGE_FOUND] = "found",
		[KRT_IMAGE_NO_TEXT] = "its module holds machine code alone",
		[KRT_IMAGE_OFF] = "its module lies in one of NVIDIA's libraries",
		[KRT_IMAGE_CHANGED] = "the file with its module is gone or has changed",
		[KRT_IMAGE_DAMAGED] = "its module could not be read",
		[KRT_IMAGE_NONE] = "no module image with it is known",
		[KRT_IMAGE_NO_MEMORY] = "no memory",
	};

	return r < KRT_NR_IMAGE_RESULTS ? text[r] : "not known";
}

const char *krt_image_from_text(enum krt_image_from f)
{
	static const char *const text[] = {
		[KRT_FROM_PTX] = "PTX",
		[KRT_FROM_FATBIN] = "PTX in the fat binary",
		[KRT_FROM_CUBIN] = "PTX in the cubin's debug section",
		[KRT_FROM_FOLDER] = "PTX of ptx_path",
	};

	return (unsigned)f < sizeof(text) / sizeof(*text) ? text[f] : "not known";
}

/* --- the store ------------------------------------------------------------------------ */

struct krt_image_store *krt_image_store_new(const struct krt_image_config *cfg)
{
	struct krt_image_store *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->cfg = *cfg;
	if (!s->cfg.copied)
		s->cfg.copied = DEFAULT_LIMIT;
	if (!s->cfg.unpacked)
		s->cfg.unpacked = DEFAULT_LIMIT;
	s->cfg.ptx_path = NULL;
	if (cfg->ptx_path && *cfg->ptx_path && !(s->ptx_path = strdup(cfg->ptx_path))) {
		free(s);
		return NULL;
	}
	return s;
}

static void image_free(struct image *m)
{
	if (!m)
		return;
	for (struct unit *u = m->units, *next; u; u = next) {
		next = u->next;
		free(u->names);
		free(u->data);
		free(u);
	}
	free(m->path);
	free(m->bytes);
	free(m);
}

static void below_drop(struct krt_image_store *s)
{
	for (size_t i = 0; i < s->nbelow; i++)
		free(s->below[i]);
	free(s->below);
	s->below = NULL;
	s->nbelow = 0;
}

void krt_image_store_free(struct krt_image_store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->room; i++)
		image_free(s->table[i]);
	free(s->table);
	for (size_t i = 0; i < s->nfolder; i++)
		image_free(s->folder[i]);
	free(s->folder);
	below_drop(s);
	for (unsigned i = 0; i < s->nprocesses; i++)
		free(s->process[i].by_id);
	free(s->process);
	free(s->ptx_path);
	free(s);
}

void krt_image_store_volume(const struct krt_image_store *s, uint64_t *copied, uint64_t *unpacked)
{
	*copied = s->copied;
	*unpacked = s->unpacked;
}

static struct image **slot(struct image **table, size_t room, const struct image *m)
{
	size_t i = (size_t)m->hash[0] & (room - 1);

	while (table[i] && (table[i]->form != m->form || table[i]->len != m->len ||
			    memcmp(table[i]->hash, m->hash, sizeof(m->hash))))
		i = (i + 1) & (room - 1);
	return &table[i];
}

static bool table_grow(struct krt_image_store *s)
{
	size_t room = s->room ? 2 * s->room : 64;
	struct image **table;

	if (s->used < s->room / 4 * 3)
		return true;
	table = calloc(room, sizeof(*table));
	if (!table)
		return false;
	for (size_t i = 0; i < s->room; i++)
		if (s->table[i])
			*slot(table, room, s->table[i]) = s->table[i];
	free(s->table);
	s->table = table;
	s->room = room;
	return true;
}

static struct image **id_slot(struct krt_image_store *s, unsigned process, uint32_t id)
{
	struct process *p;

	if (!id || id >= IDS_MAX || process >= PROCESSES_MAX)
		return NULL;
	if (process >= s->nprocesses) {
		p = realloc(s->process, (process + 1u) * sizeof(*p));
		if (!p)
			return NULL;
		memset(p + s->nprocesses, 0, (process + 1u - s->nprocesses) * sizeof(*p));
		s->process = p;
		s->nprocesses = process + 1;
	}
	p = &s->process[process];
	if (id >= p->n) {
		uint32_t n = p->n ? p->n : 64;
		struct image **more;

		while (n <= id)
			n *= 2;
		more = realloc(p->by_id, n * sizeof(*more));
		if (!more)
			return NULL;
		memset(more + p->n, 0, (n - p->n) * sizeof(*more));
		p->by_id = more;
		p->n = n;
	}
	return &p->by_id[id];
}

int krt_image_store_record(struct krt_image_store *s, unsigned process,
			   const struct krt_rec_image *r, size_t len)
{
	size_t room = len - offsetof(struct krt_rec_image, data);
	struct image **id, **at, *m;

	if (len < sizeof(*r) || r->build_id_len > sizeof(r->build_id) || r->form > KRT_IMAGE_COPY ||
	    !r->len || (r->form == KRT_IMAGE_COPY ? r->len : r->path_len) > room ||
	    (r->form == KRT_IMAGE_FILE && (!r->path_len || r->data[0] != '/' || r->offset > INT64_MAX ||
					   r->len > INT64_MAX - r->offset)) ||
	    !r->id || r->id >= IDS_MAX || process >= PROCESSES_MAX)
		return -EINVAL;
	id = id_slot(s, process, r->id);
	if (!id || !table_grow(s))
		return -ENOMEM;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	memcpy(m->hash, r->hash, sizeof(m->hash));
	m->form = r->form;
	m->role = r->role;
	m->len = r->len;
	m->sample = r->sample;
	m->offset = r->offset;
	m->file_size = r->file_size;
	m->mtime_ns = r->mtime_ns;
	m->build_id_len = r->build_id_len;
	memcpy(m->build_id, r->build_id, sizeof(m->build_id));
	m->end = &m->units;
	at = slot(s->table, s->room, m);
	if (*at) { /* another process loaded it too */
		free(m);
		*id = *at;
		return 0;
	}
	if (m->form == KRT_IMAGE_FILE)
		m->path = strndup(r->data, r->path_len);
	else if (r->len <= s->cfg.copied - s->copied)
		m->bytes = malloc(r->len);
	else
		m->refused = true;
	if (!m->path && !m->bytes && !m->refused) {
		free(m);
		return -ENOMEM;
	}
	if (m->bytes) {
		memcpy(m->bytes, r->data, r->len);
		s->copied += r->len;
	}
	*at = *id = m;
	s->used++;
	return 0;
}

/* --- reading ---------------------------------------------------------------------------- */

struct opened {
	const struct image *m;
	int fd;
	struct krt_image_source source;
};

static bool read_at(int fd, uint64_t off, void *to, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t r = pread(fd, (char *)to + done, n - done, (off_t)(off + done));

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return false;
		done += (size_t)r;
	}
	return true;
}

static bool read_image(void *user, uint64_t off, void *to, size_t n)
{
	const struct opened *o = user;

	if (off > o->m->len || n > o->m->len - off)
		return false;
	if (o->m->bytes)
		memcpy(to, o->m->bytes + off, n);
	else
		return read_at(o->fd, o->m->offset + off, to, n);
	return true;
}

/* Does the ELF file have this build-id? */
static bool same_build(int fd, const uint8_t *id, size_t id_len)
{
	Elf64_Ehdr h;
	bool same = false;

	if (!read_at(fd, 0, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG) ||
	    h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	for (unsigned i = 0; i < h.e_phnum && !same; i++) {
		Elf64_Phdr p;
		char *notes;
		size_t at = 0, n;

		if (h.e_phoff > INT64_MAX / 2 || !read_at(fd, h.e_phoff + i * sizeof(p), &p, sizeof(p)))
			return false;
		if (p.p_type != PT_NOTE || p.p_filesz > NOTES_MAX || p.p_offset > INT64_MAX / 2)
			continue;
		n = p.p_filesz;
		notes = malloc(n + 1);
		if (!notes || !read_at(fd, p.p_offset, notes, n)) {
			free(notes);
			continue;
		}
		while (n - at >= sizeof(Elf64_Nhdr)) {
			Elf64_Nhdr note;
			size_t name, desc;

			memcpy(&note, notes + at, sizeof(note));
			at += sizeof(note);
			name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
			desc = ((size_t)note.n_descsz + 3) & ~(size_t)3;
			if (name > n - at || desc > n - at - name)
				break;
			if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
			    !memcmp(notes + at, "GNU", 4))
				same = id_len <= note.n_descsz && !memcmp(notes + at + name, id, id_len);
			at += name + desc;
		}
		free(notes);
	}
	return same;
}

static bool unchanged(const struct opened *o)
{
	const struct image *m = o->m;
	unsigned char head[KRT_IMAGE_SAMPLE];
	size_t n = m->len < sizeof(head) ? m->len : sizeof(head);
	struct stat st;

	if (fstat(o->fd, &st) || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size < m->offset || m->len > (uint64_t)st.st_size - m->offset)
		return false;
	if (m->build_id_len ? !same_build(o->fd, m->build_id, m->build_id_len)
			    : (uint64_t)st.st_size != m->file_size ||
				      (uint64_t)st.st_mtim.tv_sec * 1000000000u +
						      (uint64_t)st.st_mtim.tv_nsec != m->mtime_ns)
		return false;
	return read_at(o->fd, m->offset, head, n) && krt_image_sample(head, n) == m->sample;
}

static bool image_open(struct opened *o, struct image *m)
{
	*o = (struct opened){.m = m, .fd = -1};
	o->source = (struct krt_image_source){read_image, o, m->len};
	if (m->bytes)
		return true;
	/* devices and pipes are no images, and opening one may block or act */
	o->fd = m->path ? open(m->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	if (o->fd >= 0 && unchanged(o))
		return true;
	if (o->fd >= 0)
		close(o->fd);
	m->changed = true;
	return false;
}

static void image_close(struct opened *o)
{
	if (o->fd >= 0)
		close(o->fd);
}

/* --- units ---------------------------------------------------------------------------------- */

static bool unit_add(struct image *m, const struct krt_fatbin_entry *e)
{
	struct unit *u = calloc(1, sizeof(*u));

	if (!u)
		return false;
	u->image = m;
	u->e = *e;
	*m->end = u;
	m->end = &u->next;
	m->nunits++;
	return true;
}

/* Finds the units, once.  False: no memory. */
static bool image_walk(struct image *m, struct opened *o)
{
	struct krt_fatbin_entry e = {.packing = KRT_STORED, .stored = m->len, .size = m->len};
	struct krt_fatbin_walk w = {0};
	char head[64];
	size_t n = m->len < sizeof(head) ? m->len : sizeof(head);

	if (m->walked)
		return true;
	m->walked = true;
	if (!read_image(o, 0, head, n))
		return true;
	switch (krt_image_kind(head, n)) {
	case KRT_KIND_UNKNOWN:
		return true;
	case KRT_KIND_PTX:
		e.kind = 1;
		return unit_add(m, &e);
	case KRT_KIND_CUBIN:
		e.kind = 2;
		return unit_add(m, &e);
	case KRT_KIND_FATBIN:
		break;
	}
	while (m->nunits < UNITS_MAX && krt_fatbin_next(&o->source, &w, &e))
		if ((e.kind == 1 || e.kind == 2) && !unit_add(m, &e))
			return false;
	return true;
}

static void lru_out(struct krt_image_store *s, struct unit *u)
{
	*(u->newer ? &u->newer->older : &s->newest) = u->older;
	*(u->older ? &u->older->newer : &s->oldest) = u->newer;
	u->newer = u->older = NULL;
}

static void lru_in(struct krt_image_store *s, struct unit *u)
{
	u->older = s->newest;
	*(s->newest ? &s->newest->newer : &s->oldest) = u;
	s->newest = u;
}

static void unit_drop(struct krt_image_store *s, struct unit *u)
{
	lru_out(s, u);
	s->unpacked -= u->len;
	free(u->data);
	u->data = NULL;
}

static void unit_keep(struct krt_image_store *s, struct unit *u, char *data, size_t len)
{
	u->data = data;
	u->len = len;
	u->hash = krt_mix_bytes(0, data, len);
	s->unpacked += len;
	lru_in(s, u);
	while (s->unpacked > s->cfg.unpacked && s->oldest != u)
		unit_drop(s, s->oldest);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool name_add(struct unit *u, const char *name, size_t len)
{
	if (u->nnames >= NAMES_MAX)
		return true;
	if (!(u->nnames & (u->nnames - 1))) {
		void *more = realloc(u->names, (u->nnames ? 2 * u->nnames : 1) * sizeof(*u->names));

		if (!more)
			return false;
		u->names = more;
	}
	u->names[u->nnames++] = krt_mix_bytes(0, name, len);
	return true;
}

static bool unit_has(const struct unit *u, uint64_t name)
{
	return u->nnames && bsearch(&name, u->names, u->nnames, sizeof(name), by_value);
}

/* The names of its kernels.  False: no memory. */
static bool names_of(struct unit *u, const char *text, size_t len, const struct krt_cubin *c)
{
	const char *name;
	uint32_t i = 0;
	size_t at = 0, n;

	if (u->tried)
		return true;
	while ((name = c ? krt_cubin_kernel(c, &i, &n) : krt_ptx_entry(text, len, &at, &n)))
		if (!name_add(u, name, n))
			return false;
	if (u->nnames)
		qsort(u->names, u->nnames, sizeof(*u->names), by_value);
	u->tried = true;
	return true;
}

static enum krt_image_result bad(struct unit *u, int err)
{
	if (err == -ENOMEM)
		return KRT_IMAGE_NO_MEMORY;
	u->tried = u->damaged = true;
	return KRT_IMAGE_DAMAGED;
}

/* Its text into memory, where it is not. */
static enum krt_image_result unit_text(struct krt_image_store *s, struct unit *u, struct opened *o)
{
	struct krt_cubin c;
	char *data, *text;
	size_t len;
	int r;

	if (u->damaged)
		return KRT_IMAGE_DAMAGED;
	if (u->tried && !u->text)
		return KRT_IMAGE_NO_TEXT;
	if (u->data) {
		lru_out(s, u);
		lru_in(s, u);
		return KRT_IMAGE_FOUND;
	}
	r = krt_fatbin_unpack(&o->source, &u->e, s->cfg.unpacked, &data, &len);
	if (r)
		return bad(u, r);
	if (u->e.kind == 2) {
		if (!krt_cubin_open(&c, data, len)) {
			free(data);
			return bad(u, -EBADMSG);
		}
		r = names_of(u, NULL, 0, &c) ? krt_cubin_ptx(&c, &text, &len) : -ENOMEM;
		free(data);
		if (r)
			return r == -ENOENT ? KRT_IMAGE_NO_TEXT : KRT_IMAGE_NO_MEMORY;
		data = text;
	} else {
		len = krt_ptx_clean(data, len);
		if (!names_of(u, data, len, NULL)) {
			free(data);
			return KRT_IMAGE_NO_MEMORY;
		}
	}
	u->text = true;
	if (!u->e.arch)
		u->e.arch = krt_ptx_target(data, len);
	unit_keep(s, u, data, len);
	return KRT_IMAGE_FOUND;
}

/* --- questions ------------------------------------------------------------------------------ */


static struct image *image_of(struct krt_image_store *s, unsigned process, uint32_t id)
{
	if (process >= s->nprocesses || id >= s->process[process].n)
		return NULL;
	return s->process[process].by_id[id];
}

static void worse(enum krt_image_result *so_far, enum krt_image_result r)
{
	if (r < *so_far || r == KRT_IMAGE_NO_MEMORY)
		*so_far = r;
}

/* The higher, the nearer. */
static uint32_t nearness(uint32_t of, uint32_t arch)
{
	if (!arch || of <= arch)
		return of + (1u << 20);
	return of < 1u << 20 ? (1u << 20) - of : 0;
}

/* May this image be asked?  Its units are known then. */
static bool ready(struct krt_image_store *s, struct image *m, struct opened *o,
		  enum krt_image_result *why)
{
	if (!m)
		return false;
	if (m->refused || m->changed) {
		worse(why, m->refused ? KRT_IMAGE_DAMAGED : KRT_IMAGE_CHANGED);
		return false;
	}
	if (!s->cfg.library && (m->role == KRT_MODULE_CUDA || m->role == KRT_MODULE_DRIVER)) {
		worse(why, KRT_IMAGE_OFF);
		return false;
	}
	if (!image_open(o, m)) {
		worse(why, KRT_IMAGE_CHANGED);
		return false;
	}
	if (image_walk(m, o))
		return true;
	m->walked = false;
	for (struct unit *u = m->units, *next; u; u = next) {
		next = u->next;
		free(u);
	}
	m->units = NULL;
	m->end = &m->units;
	m->nunits = 0;
	image_close(o);
	*why = KRT_IMAGE_NO_MEMORY;
	return false;
}

static void answer(const struct unit *u, enum krt_image_from from, struct krt_image_text *out)
{
	*out = (struct krt_image_text){
		.text = u->data,
		.len = u->len,
		.hash = u->hash,
		.arch = u->e.arch,
		.from = from,
		.where = u->image->path,
	};
}

/*
 * The best unit of a kind that holds the kernel, asking those that were never
 * unpacked from the nearest on.  NULL: none, or *why says NO_MEMORY.
 */
static struct unit *best(struct krt_image_store *s, struct image *m, struct opened *o, unsigned kind,
			 uint64_t name, uint32_t arch, unsigned *tries, enum krt_image_result *why)
{
	uint64_t below = UINT64_MAX; /* units are asked in falling order of nearness, then of place */

	for (;;) {
		struct unit *u = NULL;
		uint64_t best_key = 0, place = m->nunits;

		for (struct unit *v = m->units; v; v = v->next, place--) {
			uint64_t key = (uint64_t)nearness(v->e.arch, arch) << 32 | place;

			if (v->e.kind == kind && key < below && (!u || key > best_key)) {
				u = v;
				best_key = key;
			}
		}
		if (!u)
			return NULL;
		below = best_key;
		if (u->tried && !u->damaged && !unit_has(u, name))
			continue;
		if (!u->tried && !(*tries)--) {
			*tries = 0;
			return NULL;
		}
		enum krt_image_result r = unit_text(s, u, o);

		if (r == KRT_IMAGE_NO_MEMORY || r == KRT_IMAGE_DAMAGED) {
			worse(why, r);
			if (r == KRT_IMAGE_NO_MEMORY)
				return NULL;
			continue;
		}
		if (!unit_has(u, name))
			continue;
		if (r == KRT_IMAGE_FOUND)
			return u;
		worse(why, r);
		if (kind == 2) /* the others of this container were made in the same way */
			return NULL;
	}
}

static enum krt_image_from from_of(const struct image *m, const struct unit *u)
{
	if (u->e.kind == 2)
		return KRT_FROM_CUBIN;
	return u->e.stored == m->len && u->e.packing == KRT_STORED ? KRT_FROM_PTX : KRT_FROM_FATBIN;
}

/* --- the folder of texts --------------------------------------------------------------------- */

/* The folders in it, as Triton's cache has them; read anew when it has changed. */
static void read_below(struct krt_image_store *s)
{
	struct timespec now;
	struct stat st;
	size_t room = 0;
	DIR *d;

	if (stat(s->ptx_path, &st) || (st.st_mtim.tv_sec == s->below_at.tv_sec &&
				       st.st_mtim.tv_nsec == s->below_at.tv_nsec))
		return;
	below_drop(s);
	d = opendir(s->ptx_path);
	for (struct dirent *e; d && s->nbelow < BELOW_MAX && (e = readdir(d));) {
		char **more = s->below;

		if (e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN))
			continue;
		if (s->nbelow == room) {
			room = room ? 2 * room : 64;
			more = realloc(s->below, room * sizeof(*more));
		}
		if (!more)
			break;
		s->below = more;
		s->below[s->nbelow] = strdup(e->d_name);
		s->nbelow += s->below[s->nbelow] != NULL;
	}
	if (d)
		closedir(d);
	/* the clock of files is coarse: what has just changed may change again unseen */
	clock_gettime(CLOCK_REALTIME, &now);
	s->below_at = now.tv_sec > st.st_mtim.tv_sec + 1 ? st.st_mtim : (struct timespec){0};
}

/* Do two files hold the same? */
static bool same_content(const char *a, const char *b)
{
	FILE *f = fopen(a, "re"), *g = fopen(b, "re");
	char x[4096], y[4096];
	bool same = f && g;
	size_t n = 1;

	while (same && n) {
		n = fread(x, 1, sizeof(x), f);
		same = fread(y, 1, sizeof(y), g) == n && !memcmp(x, y, n);
	}
	if (f)
		fclose(f);
	if (g)
		fclose(g);
	return same;
}

static bool is_text(const char *path, struct stat *st)
{
	return !stat(path, st) && S_ISREG(st->st_mode) && st->st_size;
}

/*
 * The file NAME.ptx in the folder, else in a folder of it.  Which of several that
 * differ is meant (one kernel, compiled for other arguments) cannot be told: none.
 */
static char *folder_path(struct krt_image_store *s, const char *name)
{
	char *path, *found = NULL;
	struct stat st;

	if (asprintf(&path, "%s/%s.ptx", s->ptx_path, name) < 0)
		return NULL;
	if (is_text(path, &st))
		return path;
	free(path);
	read_below(s);
	for (size_t i = 0; i < s->nbelow; i++) {
		if (asprintf(&path, "%s/%s/%s.ptx", s->ptx_path, s->below[i], name) < 0)
			break;
		if (!is_text(path, &st)) {
			free(path);
		} else if (!found) {
			found = path;
		} else if (same_content(found, path)) {
			free(path);
		} else {
			free(path);
			free(found);
			return NULL;
		}
	}
	return found;
}

static struct image *folder_file(struct krt_image_store *s, const char *name)
{
	struct image *m, **more;
	struct stat st;
	char *path;

	if (!*name || strlen(name) > 240 || strchr(name, '/') || !(path = folder_path(s, name)))
		return NULL;
	for (size_t i = 0; i < s->nfolder; i++)
		if (!strcmp(s->folder[i]->path, path)) {
			free(path);
			return s->folder[i];
		}
	m = calloc(1, sizeof(*m));
	more = realloc(s->folder, (s->nfolder + 1) * sizeof(*more));
	if (more)
		s->folder = more;
	if (!m || !more || !is_text(path, &st)) {
		free(path);
		free(m);
		return NULL;
	}
	m->path = path;
	m->form = KRT_IMAGE_FILE;
	m->len = m->file_size = (uint64_t)st.st_size;
	m->mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	m->end = &m->units;
	/* nobody saw it at a load: the sample is of what it is now */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	unsigned char head[KRT_IMAGE_SAMPLE];
	size_t n = m->len < sizeof(head) ? m->len : sizeof(head);

	if (fd >= 0 && read_at(fd, 0, head, n))
		m->sample = krt_image_sample(head, n);
	if (fd >= 0)
		close(fd);
	s->folder[s->nfolder++] = m;
	return m;
}

static bool from_folder(struct krt_image_store *s, const char *name, uint64_t kernel,
			struct krt_image_text *out, enum krt_image_result *why)
{
	struct image *m = folder_file(s, name);
	unsigned tries = 1;
	struct opened o;
	struct unit *u;

	if (!ready(s, m, &o, why))
		return false;
	u = best(s, m, &o, 1, kernel, 0, &tries, why);
	image_close(&o);
	if (u)
		answer(u, KRT_FROM_FOLDER, out);
	return u != NULL;
}

/* --- answers ---------------------------------------------------------------------------------- */

int krt_image_store_text(struct krt_image_store *s, unsigned process, const uint32_t *ids, uint32_t n,
			 const char *kernel, uint32_t arch, struct krt_image_text *out)
{
	uint64_t name = krt_mix_bytes(0, kernel, strlen(kernel));
	enum krt_image_result why = KRT_IMAGE_NONE;
	unsigned tries = TRIES_MAX;

	for (unsigned kind = 1; kind <= 2; kind++)
		for (uint32_t i = 0; i < n; i++) {
			struct image *m = image_of(s, process, ids[i]);
			struct opened o;
			struct unit *u;

			/* files are not opened again for nothing */
			if (m && m->walked && !m->changed) {
				struct unit *v = m->units;

				while (v && (v->e.kind != kind ||
					     (v->tried && !v->damaged && !unit_has(v, name))))
					v = v->next;
				if (!v)
					continue;
			}
			if (!ready(s, m, &o, &why))
				continue;
			u = best(s, m, &o, kind, name, arch, &tries, &why);
			image_close(&o);
			if (u) {
				answer(u, from_of(m, u), out);
				return KRT_IMAGE_FOUND;
			}
			if (why == KRT_IMAGE_NO_MEMORY)
				return why;
		}
	if (!s->ptx_path)
		return why;
	if (from_folder(s, kernel, name, out, &why))
		return KRT_IMAGE_FOUND;
	for (uint32_t i = 0; i < n; i++) {
		struct image *m = image_of(s, process, ids[i]);
		char hash[40];

		if (!m || m->form != KRT_IMAGE_COPY)
			continue;
		snprintf(hash, sizeof(hash), "%016llx%016llx", (unsigned long long)m->hash[0],
			 (unsigned long long)m->hash[1]);
		if (from_folder(s, hash, name, out, &why))
			return KRT_IMAGE_FOUND;
	}
	return why;
}

int krt_image_store_params(struct krt_image_store *s, unsigned process, const uint32_t *ids, uint32_t n,
			   const char *kernel, uint32_t arch, struct krt_cubin_params *out)
{
	enum krt_image_result why = KRT_IMAGE_NONE;
	unsigned tries = TRIES_MAX;

	*out = (struct krt_cubin_params){0};
	for (uint32_t i = 0; i < n; i++) {
		struct image *m = image_of(s, process, ids[i]);
		uint64_t near = 0;
		struct opened o;

		if (!ready(s, m, &o, &why))
			continue;
		/* first how near the nearest is, then those */
		for (unsigned round = 0; round < 2; round++)
			for (struct unit *u = m->units; u; u = u->next) {
				uint64_t key = nearness(u->e.arch, arch);
				struct krt_cubin c;
				char *data;
				size_t len;
				int r;

				if (u->e.kind != 2)
					continue;
				if (!round) {
					near = key > near ? key : near;
					continue;
				}
				if (key != near || !tries)
					continue;
				tries--;
				r = krt_fatbin_unpack(&o.source, &u->e, s->cfg.unpacked, &data, &len);
				if (r) {
					worse(&why, r == -ENOMEM ? KRT_IMAGE_NO_MEMORY : KRT_IMAGE_DAMAGED);
					continue;
				}
				r = krt_cubin_open(&c, data, len) ? krt_cubin_params(&c, kernel, out)
								  : -EBADMSG;
				free(data);
				if (!r) {
					image_close(&o);
					return KRT_IMAGE_FOUND;
				}
				if (r != -ENOENT)
					worse(&why, r == -ENOMEM ? KRT_IMAGE_NO_MEMORY : KRT_IMAGE_DAMAGED);
			}
		image_close(&o);
	}
	return why;
}
