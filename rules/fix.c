/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order that is missing, and how to make it in the user's own words: fix.def
 * has the lines.  Pure functions of facts and findings.
 */
#include "fix.h"
#include "words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- which order -------------------------------------------------------------------- */

static enum krt_edge_kind graph_kind(const struct krt_facts *f)
{
	if (f->graph->early)
		return KRT_EDGE_EARLY_KIND;
	return f->graph->captured ? KRT_EDGE_CAPTURED_KIND : KRT_EDGE_NODES_KIND;
}

/* A stream waits, or the host does. */
static enum krt_edge_kind wait_kind(const struct krt_facts *f)
{
	if (f->graph)
		return graph_kind(f);
	if (f->prev.host || f->same_op)
		return KRT_EDGE_NONE_KIND;
	if (f->beside)
		return KRT_EDGE_BESIDE_KIND;
	/* a source that is read outside stream order: waits of its stream do not count */
	return f->cur.host || (f->cur.loose && f->cur.what[0] == 'r') ? KRT_EDGE_HOST_KIND
								      : KRT_EDGE_WAIT_KIND;
}

static enum krt_edge_kind kind_of(const struct krt_facts *f)
{
	enum krt_edge_kind k = wait_kind(f);

	if (f->cur.effect) /* where the wait belongs is not seen */
		return KRT_EDGE_NONE_KIND;
	switch (f->rule) {
	case KRT_RULE_RACE_RAW:
	case KRT_RULE_RACE_WAR:
	case KRT_RULE_RACE_WAW:
	case KRT_RULE_HOST_READ_RACE:
	case KRT_RULE_HOST_WRITE_RACE:
	case KRT_RULE_HOST_FREE_IN_USE:
	case KRT_RULE_UBA_STREAM:
	case KRT_RULE_COOP_SHARED:
	case KRT_RULE_GRAPH_EXEC_OVERLAP:
	case KRT_RULE_GRAPH_UNORDERED_NODES:
		return k;
	case KRT_RULE_FREE_IN_USE:
		return k == KRT_EDGE_HOST_KIND && !strncmp(f->cur.api, "cuMemFree", 9)
			       ? KRT_EDGE_FREE_KIND
			       : k;
	case KRT_RULE_REUSE_RACE:
		/* a use that its pool was not told of, beside the stream that the block was for */
		if (!f->former || f->at_home || f->told || f->destroyed)
			return k;
		return k == KRT_EDGE_HOST_KIND	 ? KRT_EDGE_REUSE_HOST_KIND
		       : k == KRT_EDGE_WAIT_KIND ? KRT_EDGE_REUSE_KIND
						 : k;
	case KRT_RULE_UAF_STREAM:
		return KRT_EDGE_MOVE_KIND;
	case KRT_RULE_CAPTURE_ISOLATION:
		/* prev: the fork, not the beginning of the capture */
		return f->capture && f->capture->why == KRT_CAPTURE_UNJOINED && f->prev.seq &&
				       f->prev.seq != f->capture->begin_seq
			       ? KRT_EDGE_JOIN_KIND
			       : KRT_EDGE_NONE_KIND;
	case KRT_RULE_UNFINISHED:
		if (f->event)
			return KRT_EDGE_NONE_KIND;
		return f->cur.what[0] == 'e' ? KRT_EDGE_HOST_KIND : KRT_EDGE_END_KIND;
	default:
		return KRT_EDGE_NONE_KIND;
	}
}

void krt_fix_edge(const struct krt_facts *f, struct krt_missing *m)
{
	enum krt_edge_kind k = kind_of(f);

	memset(m, 0, sizeof(*m));
	m->record_after = f->prev.seq;
	m->wait_before = f->cur.seq;
	if (k == KRT_EDGE_MOVE_KIND) {
		m->record_after = f->cur.seq;
		m->wait_before = f->prev.seq;
	} else if (k == KRT_EDGE_END_KIND && !f->prev.seq) {
		m->record_after = f->cur.seq;
		m->wait_before = f->end_seq;
	}
	if (k == KRT_EDGE_JOIN_KIND && f->capture->last) {
		m->record_after = f->capture->last_seq;
		m->each = f->capture->more > 0;
	}
	if (k == KRT_EDGE_NONE_KIND || !m->record_after) {
		memset(m, 0, sizeof(*m));
		return;
	}
	m->kind = k;
	m->host = k == KRT_EDGE_HOST_KIND || k == KRT_EDGE_FREE_KIND ||
		  k == KRT_EDGE_REUSE_HOST_KIND || k == KRT_EDGE_END_KIND ||
		  (k == KRT_EDGE_MOVE_KIND && f->prev.host);
}

/* --- the table -------------------------------------------------------------------------- */

struct row {
	const char *sentence, *code;
};

static const struct row rows[KRT_NR_EDGE_KINDS][KRT_NR_USER_APIS] = {
#define KRT_FIX(KIND, API, sentence, code)                                                         \
	[KRT_EDGE_##KIND##_KIND][KRT_USER_##API] = {sentence, code},
#define KRT_CALL(driver, runtime)
#include "fix.def"
#undef KRT_FIX
#undef KRT_CALL
};

static const struct {
	const char *driver, *runtime;
} calls[] = {
#define KRT_FIX(KIND, API, sentence, code)
#define KRT_CALL(driver, runtime) {driver, runtime},
#include "fix.def"
#undef KRT_FIX
#undef KRT_CALL
};

static bool per_thread(const char *stream)
{
	return stream && !strncmp(stream, "per-thread stream", 17);
}

/* The handle of a per-thread stream is another stream in the thread that waits. */
static const char *code_of(const struct krt_missing *m)
{
	enum krt_edge_kind kind =
		m->host && per_thread(m->record_stream) ? KRT_EDGE_EVENT_KIND : m->kind;

	for (int api = (int)m->api; api >= 0; api--)
		if (rows[kind][api].code)
			return rows[kind][api].code;
	return NULL;
}

/* --- filling in ---------------------------------------------------------------------------- */

#define NAME  64
#define PLACE 160

struct fill {
	const struct krt_missing *m;
	const char *from, *to;
	char record[NAME], wait[NAME], event[NAME];
	char at[PLACE], then[PLACE], freed[PLACE];
	bool python;
};

struct out {
	char *buf;
	size_t len, at;
};

/* No control character gets in, so that a line stays a line. */
static void put(struct out *o, const char *s, size_t n)
{
	for (size_t i = 0; i < n && o->at + 1 < o->len; i++)
		o->buf[o->at++] = (unsigned char)s[i] < ' ' && s[i] != '\n' ? '?' : s[i];
	o->buf[o->at] = 0;
}

static void put_text(struct out *o, const char *s)
{
	for (; s && *s; s++)
		put(o, *s == '\n' ? "?" : s, 1);
}

static void put_number(struct out *o, uint64_t v)
{
	char text[24];

	put(o, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, v));
}

static bool is(const char *name, size_t n, const char *what)
{
	return strlen(what) == n && !memcmp(name, what, n);
}

static void put_field(struct out *o, const struct fill *f, const char *name, size_t n)
{
	if (is(name, n, "from"))
		put_text(o, f->from);
	else if (is(name, n, "to"))
		put_text(o, f->to);
	else if (is(name, n, "#from"))
		put_number(o, f->m->record_after);
	else if (is(name, n, "#to"))
		put_number(o, f->m->wait_before);
	else if (is(name, n, "record"))
		put_text(o, f->record);
	else if (is(name, n, "wait"))
		put_text(o, f->wait);
	else if (is(name, n, "event"))
		put_text(o, f->event);
	else if (is(name, n, "once"))
		put_text(o, f->m->each ? "once for each stream" : "once");
	else if (is(name, n, "at") || is(name, n, "after")) {
		put_text(o, n > 2 ? "after " : "");
		put_text(o, f->at);
	} else if (is(name, n, "freed")) {
		put_text(o, f->freed);
	} else if (is(name, n, "then") || is(name, n, "before")) {
		put_text(o, n > 4 ? "before " : "");
		put_text(o, f->then);
	}
}

static void expand(struct out *o, const struct fill *f, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "{"), k;

		put(o, text, n);
		text += n;
		if (!*text)
			break;
		k = strcspn(text, "}");
		put_field(o, f, text + 1, k - 1);
		text += k + (text[k] == '}');
	}
}

/* --- names ------------------------------------------------------------------------------- */

static bool letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A name of the program as an identifier: other characters become '_'. */
static void identifier(char out[NAME], const char *s, size_t n)
{
	size_t at = 0;

	if (n && !letter(*s))
		out[at++] = '_';
	for (size_t i = 0; i < n && at < NAME - 1; i++)
		out[at++] = letter(s[i]) || digit(s[i]) ? s[i] : '_';
	out[at] = 0;
}

/* An expression for a stream.  False: a placeholder, to be explained. */
static bool stream_name(char out[NAME], const char *display, enum krt_user_api api,
			const char *other)
{
	static const char *const legacy[] = {[KRT_USER_DRIVER] = "CU_STREAM_LEGACY",
					     [KRT_USER_RUNTIME] = "cudaStreamLegacy",
					     [KRT_USER_TORCH] = "torch.cuda.default_stream()"};
	static const char *const own[] = {[KRT_USER_DRIVER] = "CU_STREAM_PER_THREAD",
					  [KRT_USER_RUNTIME] = "cudaStreamPerThread",
					  [KRT_USER_TORCH] = "torch.cuda.current_stream()"};
	static const char named[] = "stream \"", numbered[] = "stream ";
	const char *s = display ? display : "", *end;
	size_t at;

	if (!strncmp(s, "legacy stream", 13)) {
		snprintf(out, NAME, "%s", legacy[api]);
		return true;
	}
	if (per_thread(s)) {
		snprintf(out, NAME, "%s", own[api]);
		return true;
	}
	if (!strncmp(s, named, sizeof(named) - 1) &&
	    (end = strrchr(s, '"')) > s + sizeof(named) - 1) {
		identifier(out, s + sizeof(named) - 1, (size_t)(end - s) - (sizeof(named) - 1));
		if (strncmp(end, "\" (", 3))
			return true;
		/* another stream has this name too: a number tells them apart */
		at = strlen(out);
		snprintf(out + at, NAME - at, "%.*s", (int)strspn(end + 3, "0123456789"), end + 3);
		return false;
	}
	if (api == KRT_USER_TORCH)
		snprintf(out, NAME, "side");
	else if (!strncmp(s, numbered, sizeof(numbered) - 1) && digit(s[sizeof(numbered) - 1]))
		snprintf(out, NAME, "stream%.*s",
			 (int)strspn(s + sizeof(numbered) - 1, "0123456789"),
			 s + sizeof(numbered) - 1);
	else
		snprintf(out, NAME, "%s", other);
	return false;
}

static void place(char out[PLACE], const char *known, uint64_t seq)
{
	if (known)
		snprintf(out, PLACE, "%s", known);
	else
		snprintf(out, PLACE, "#%" PRIu64, seq);
}

/* What a placeholder stands for. */
static void explain(struct out *o, const struct fill *f, const char *code, const char *field,
		    const char *name, const char *display, const char *at)
{
	if (!strstr(code, field))
		return;
	put_text(o, f->m->api == KRT_USER_TORCH ? "# " : "// ");
	put_text(o, name);
	put_text(o, ": ");
	put_text(o, display && *display ? display : "the stream");
	put_text(o, display && *display ? ", of " : " of ");
	put_text(o, at);
	put(o, "\n", 1);
}

/* The driver's calls are the same from Python. */
static void python_comments(char *s)
{
	for (char *at = s; (at = strstr(at, "// ")); at++)
		if (at == s || at[-1] == '\n' || (at > s + 1 && at[-1] == ' ' && at[-2] == ' ')) {
			*at = '#';
			memmove(at + 1, at + 2, strlen(at + 2) + 1);
		}
}

static const char *code(const struct fill *filled, bool known_record, bool known_wait,
			struct krt_arena *a)
{
	const struct krt_missing *m = filled->m;
	const char *text = code_of(m);
	bool captured = m->kind == KRT_EDGE_CAPTURED_KIND; /* of streams the nodes do not tell */
	char buf[2048];
	struct out o = {buf, sizeof(buf), 0};

	if (!text)
		return NULL;
	expand(&o, filled, text);
	if (!known_record)
		explain(&o, filled, text, "{record}", filled->record,
			captured ? NULL : filled->from, filled->at);
	if (!known_wait)
		explain(&o, filled, text, "{wait}", filled->wait, captured ? NULL : filled->to,
			filled->then);
	if (o.at && buf[o.at - 1] == '\n')
		buf[o.at - 1] = 0;
	if (filled->python)
		python_comments(buf);
	return krt_arena_strdup(a, buf);
}

/* --- sentences --------------------------------------------------------------------------- */

/* Of a word of the driver's API the runtime's, NULL: it has none. */
static const char *runtime_word(const char *s, size_t n)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (is(s, n, calls[i].driver))
			return calls[i].runtime;
	return NULL;
}

static bool word_part(char c)
{
	return letter(c) || digit(c) || c == '*';
}

static void translate(struct out *o, const char *s)
{
	while (*s) {
		size_t n = 0;
		const char *other;

		while (word_part(s[n]))
			n++;
		other = n ? runtime_word(s, n) : NULL;
		if (other)
			put_text(o, other);
		else
			put(o, s, n ? n : 1);
		s += n ? n : 1;
	}
}

bool krt_fix_sentence(const struct krt_missing *m, const char *from, const char *to, char *buf,
		      size_t len)
{
	const char *text = rows[m->kind][KRT_USER_DRIVER].sentence;
	struct fill f = {.m = m, .from = from, .to = to};
	struct out o = {buf, len, 0};

	if (!text)
		return false;
	expand(&o, &f, text);
	return true;
}

void krt_fix_words(struct krt_finding *f, const struct krt_fix_places *p, struct krt_arena *a)
{
	struct krt_missing *m = &f->edge;
	bool known_record, known_wait;
	char buf[1024] = "", from[160], to[160];
	struct out o = {buf, sizeof(buf), 0};
	struct fill filled = {.m = m,
			      .from = krt_words_stream(m->record_stream, from, sizeof(from)),
			      .to = m->host ? "the host"
					    : krt_words_stream(m->wait_stream, to, sizeof(to)),
			      .event = "done",
			      .python = p->python};
	const char *said, *sentence = rows[m->kind][m->api].sentence, *lines;

	if (m->kind == KRT_EDGE_NONE_KIND) { /* its own words alone */
		if (m->api == KRT_USER_DRIVER || !f->fix)
			return;
		translate(&o, f->fix);
		said = krt_arena_strdup(a, buf);
		f->fix = said ? said : f->fix;
		return;
	}
	place(filled.at, p->record, m->record_after);
	place(filled.then, p->wait, m->wait_before);
	place(filled.freed, p->freed, f->buffer.freed_seq);
	known_record = stream_name(filled.record, m->record_stream, m->api, "first");
	known_wait = stream_name(filled.wait, m->wait_stream, m->api, "second");
	if (!strcmp(filled.record, filled.wait) && m->kind != KRT_EDGE_NODES_KIND &&
	    strcmp(m->record_stream ? m->record_stream : "", m->wait_stream ? m->wait_stream : ""))
		strncat(filled.wait, "2", NAME - 1 - strlen(filled.wait));
	if (!strcmp(filled.record, filled.event) || !strcmp(filled.wait, filled.event))
		snprintf(filled.event, NAME, "done_event");
	lines = code(&filled, known_record, known_wait, a);
	m->code = lines ? lines : m->code;
	if (m->api == KRT_USER_DRIVER || !f->fix)
		return;
	if (sentence)
		expand(&o, &filled, sentence);
	else
		translate(&o, f->fix);
	said = krt_arena_strdup(a, buf);
	f->fix = said ? said : f->fix;
}
