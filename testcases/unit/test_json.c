/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON writer, and reports against the checked-in schema.  The validator
 * below knows the part of JSON Schema that the schema uses and refuses any
 * keyword that it does not know.
 */
#define _GNU_SOURCE
#include "reports/json.h"
#include "rules/timeline.h"
#include "sample_report.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

/* --- the writer -------------------------------------------------------------------- */

static char *text;
static size_t len;
static FILE *out;

static void start(void)
{
	out = open_memstream(&text, &len);
}

static cJSON *parse(void)
{
	cJSON *j;

	fclose(out);
	j = cJSON_ParseWithLengthOpts(text, len, NULL, 0);
	cr_assert(j, "not JSON: %s", text);
	return j;
}

Test(json, values_and_nesting)
{
	struct krt_json j;
	cJSON *v;

	start();
	krt_json_begin(&j, out);
	krt_json_open(&j, NULL, '{');
	krt_json_uint(&j, "u", INT64_MAX);
	krt_json_uint(&j, "v", UINT64_MAX);
	krt_json_int(&j, "i", -5);
	krt_json_bool(&j, "t", true);
	krt_json_null(&j, "n");
	krt_json_hex(&j, "h", 0xffffffffffffffffu);
	krt_json_open(&j, "empty", '[');
	krt_json_close(&j, ']');
	krt_json_open_flat(&j, "list", '[');
	krt_json_uint(&j, NULL, 1);
	krt_json_open(&j, NULL, '{');
	krt_json_close(&j, '}');
	krt_json_string(&j, NULL, "");
	krt_json_close(&j, ']');
	krt_json_close(&j, '}');
	cr_assert_eq(krt_json_end(&j), 0);
	v = parse();
	cr_assert(strstr(text, "\"u\": 9223372036854775807,"));
	cr_assert(strstr(text, "\"v\": 9223372036854775807,"), "what readers with a sign cannot have is cut");
	cr_assert_eq(cJSON_GetObjectItem(v, "i")->valueint, -5);
	cr_assert(cJSON_IsTrue(cJSON_GetObjectItem(v, "t")));
	cr_assert(cJSON_IsNull(cJSON_GetObjectItem(v, "n")));
	cr_assert_str_eq(cJSON_GetObjectItem(v, "h")->valuestring, "0xffffffffffffffff");
	cr_assert_eq(cJSON_GetArraySize(cJSON_GetObjectItem(v, "empty")), 0);
	cr_assert_eq(cJSON_GetArraySize(cJSON_GetObjectItem(v, "list")), 3);
	cJSON_Delete(v);
	free(text);
}

Test(json, any_bytes_become_valid_text)
{
	struct krt_json j;
	char s[4];
	cJSON *v;

	for (unsigned a = 1; a < 256; a++)
		for (unsigned b = 0; b < 256; b += a < 0x80 ? 64 : 1) {
			const char *got;

			snprintf(s, sizeof(s), "%c%c", a, b);
			start();
			krt_json_begin(&j, out);
			krt_json_open(&j, NULL, '[');
			krt_json_string(&j, NULL, s);
			krt_json_close(&j, ']');
			cr_assert_eq(krt_json_end(&j), 0);
			v = parse();
			for (size_t i = 0; i < len - 1; i++)
				cr_assert((unsigned char)text[i] >= 0x20 || text[i] == '\n');
			got = cJSON_GetArrayItem(v, 0)->valuestring;
			for (const char *c = got; *c; c += krt_utf8_length(c))
				cr_assert_gt(krt_utf8_length(c), 0);
			if (krt_utf8_length(s) == strlen(s) || (a < 0x80 && b < 0x80))
				cr_assert_str_eq(got, s);
			cJSON_Delete(v);
			free(text);
		}
}

Test(json, unbalanced_is_an_error)
{
	struct krt_json j;

	start();
	krt_json_begin(&j, out);
	krt_json_open(&j, NULL, '{');
	cr_assert_eq(krt_json_end(&j), -1);
	krt_json_begin(&j, out);
	krt_json_close(&j, '}');
	cr_assert_eq(krt_json_end(&j), -1);
	krt_json_begin(&j, out);
	for (unsigned i = 0; i < 2 * KRT_JSON_DEPTH; i++)
		krt_json_open(&j, NULL, '[');
	cr_assert_eq(krt_json_end(&j), -1);
	fclose(out);
	free(text);
	out = fopen("/dev/full", "w");
	krt_json_begin(&j, out);
	krt_json_uint(&j, NULL, 1);
	cr_assert_eq(krt_json_end(&j), -1);
	fclose(out);
}

/* --- the schema -------------------------------------------------------------------- */

static cJSON *schema;
static char why[512];

static bool fails(const char *path, const char *what)
{
	snprintf(why, sizeof(why), "%s: %s", path, what);
	return false;
}

static bool is_type(const cJSON *v, const char *t)
{
	if (!strcmp(t, "object")) return cJSON_IsObject(v);
	if (!strcmp(t, "array")) return cJSON_IsArray(v);
	if (!strcmp(t, "string")) return cJSON_IsString(v);
	if (!strcmp(t, "boolean")) return cJSON_IsBool(v);
	if (!strcmp(t, "null")) return cJSON_IsNull(v);
	if (!strcmp(t, "integer"))
		return cJSON_IsNumber(v) && v->valuedouble == (double)(int64_t)v->valuedouble;
	cr_assert_fail("schema: unknown type %s", t);
	return false;
}

static bool valid(const cJSON *v, const cJSON *s, const char *path)
{
	const cJSON *k, *e;
	char sub[256];

	cJSON_ArrayForEach(k, s) {
		const char *key = k->string;

		if (!strcmp(key, "$schema") || !strcmp(key, "$id") || !strcmp(key, "title") ||
		    !strcmp(key, "description") || !strcmp(key, "definitions"))
			continue;
		if (!strcmp(key, "$ref")) {
			cr_assert(!strncmp(k->valuestring, "#/definitions/", 14));
			e = cJSON_GetObjectItemCaseSensitive(
				cJSON_GetObjectItem(schema, "definitions"), k->valuestring + 14);
			cr_assert(e, "schema: %s is not defined", k->valuestring);
			if (!valid(v, e, path))
				return false;
		} else if (!strcmp(key, "type")) {
			bool hit = false;

			if (cJSON_IsString(k))
				hit = is_type(v, k->valuestring);
			else
				cJSON_ArrayForEach(e, k)
					hit |= is_type(v, e->valuestring);
			if (!hit)
				return fails(path, "wrong type");
		} else if (!strcmp(key, "enum")) {
			bool hit = false;

			cJSON_ArrayForEach(e, k)
				hit |= cJSON_Compare(v, e, true);
			if (!hit)
				return fails(path, "not in enum");
		} else if (!strcmp(key, "const")) {
			if (!cJSON_Compare(v, k, true))
				return fails(path, "not the constant");
		} else if (!strcmp(key, "anyOf")) {
			bool hit = false;

			cJSON_ArrayForEach(e, k)
				hit = hit || valid(v, e, path);
			if (!hit)
				return false;
		} else if (!strcmp(key, "minimum")) {
			if (cJSON_IsNumber(v) && v->valuedouble < k->valuedouble)
				return fails(path, "below the minimum");
		} else if (!strcmp(key, "pattern")) {
			regex_t re;
			int r;

			cr_assert_eq(regcomp(&re, k->valuestring, REG_EXTENDED | REG_NOSUB), 0);
			r = cJSON_IsString(v) ? regexec(&re, v->valuestring, 0, NULL, 0) : 0;
			regfree(&re);
			if (r)
				return fails(path, "does not match the pattern");
		} else if (!strcmp(key, "required")) {
			cJSON_ArrayForEach(e, k)
				if (cJSON_IsObject(v) && !cJSON_HasObjectItem(v, e->valuestring)) {
					snprintf(sub, sizeof(sub), "%s.%s", path, e->valuestring);
					return fails(sub, "missing");
				}
		} else if (!strcmp(key, "additionalProperties")) {
			cr_assert(cJSON_IsFalse(k));
			cJSON_ArrayForEach(e, v) {
				const cJSON *p = cJSON_GetObjectItem(s, "properties");

				if (cJSON_IsObject(v) &&
				    !cJSON_GetObjectItemCaseSensitive(p, e->string)) {
					snprintf(sub, sizeof(sub), "%s.%s", path, e->string);
					return fails(sub, "not in the schema");
				}
			}
		} else if (!strcmp(key, "properties")) {
			cJSON_ArrayForEach(e, k) {
				const cJSON *p = cJSON_GetObjectItemCaseSensitive(v, e->string);

				snprintf(sub, sizeof(sub), "%.200s.%s", path, e->string);
				if (p && !valid(p, e, sub))
					return false;
			}
		} else if (!strcmp(key, "items")) {
			unsigned i = 0;

			if (!cJSON_IsArray(v))
				continue;
			cJSON_ArrayForEach(e, v) {
				snprintf(sub, sizeof(sub), "%.200s[%u]", path, i++);
				if (!valid(e, k, sub))
					return false;
			}
		} else {
			cr_assert_fail("schema: unknown keyword %s", key);
		}
	}
	return true;
}

static void load_schema(void)
{
	FILE *f = fopen(KRT_SCHEMA, "r");
	char *b = calloc(1, 1 << 20);

	cr_assert(f && fread(b, 1, (1 << 20) - 1, f) > 0);
	fclose(f);
	schema = cJSON_Parse(b);
	cr_assert(schema);
	free(b);
}

static void drop_schema(void)
{
	cJSON_Delete(schema);
}

static cJSON *report(const struct krt_report *r)
{
	static const struct krt_writer w;

	start();
	cr_assert_eq(krt_write_json(out, r, &w), 0);
	return parse();
}

TestSuite(schema, .init = load_schema, .fini = drop_schema);

Test(schema, an_empty_report)
{
	struct krt_report *r = krt_report_new();
	cJSON *j = report(r);

	cr_assert(valid(j, schema, "report"), "%s", why);
	cr_assert_str_eq(cJSON_GetObjectItem(j, "verdict")->valuestring, "inconclusive");
	cJSON_Delete(j);
	free(text);
	krt_report_destroy(r);
}

Test(schema, a_full_report)
{
	struct krt_report *r = sample_report();
	cJSON *j = report(r), *f;

	cr_assert(valid(j, schema, "report"), "%s", why);
	cr_assert_str_eq(cJSON_GetObjectItem(j, "verdict")->valuestring, "findings");
	f = cJSON_GetArrayItem(cJSON_GetObjectItem(j, "findings"), 0);
	cr_assert_str_eq(cJSON_GetObjectItem(f, "rule")->valuestring, "KRT-RACE-RAW");
	cr_assert_str_eq(cJSON_GetObjectItem(f, "fingerprint")->valuestring, "00003f9c21a07b44");
	cr_assert_eq(cJSON_GetObjectItem(f, "count")->valueint, 1200);
	f = cJSON_GetObjectItem(f, "current");
	cr_assert_str_eq(cJSON_GetObjectItem(f, "stream")->valuestring, "stream 3 (0x55d0)");
	cr_assert_eq(cJSON_GetObjectItem(f, "sequence")->valueint, 1842);
	cr_assert_eq(cJSON_GetArraySize(cJSON_GetObjectItem(f, "stack")), 5);
	cr_assert(strstr(text, "\\u003c/script\\u003e"),
		  "a page that embeds the report would end here");
	cJSON_Delete(j);
	free(text);
	krt_report_destroy(r);
}

/* Does the validator notice?  Every key of every object of a good report is taken away once. */
static unsigned removed;

static void without_each_key(cJSON *root, cJSON *v)
{
	cJSON *e, *next;

	for (e = v->child; e; e = next) {
		next = e->next;
		if (cJSON_IsObject(v)) {
			cJSON_DetachItemViaPointer(v, e);
			cr_assert_not(valid(root, schema, "report"), "without %s it still passed",
				      e->string);
			removed++;
			/* back to its place */
			if (next)
				cJSON_InsertItemInArray(v, 0, e);
			else
				cJSON_AddItemToObject(v, e->string, e);
		}
		without_each_key(root, e);
	}
}

Test(schema, nothing_may_be_missing_or_added)
{
	struct krt_report *r = sample_report();
	cJSON *j = report(r), *f;

	without_each_key(j, j);
	cr_assert_gt(removed, 200);
	cr_assert(valid(j, schema, "report"), "%s", why);
	cJSON_AddNullToObject(j, "more");
	cr_assert_not(valid(j, schema, "report"));
	cJSON_DeleteItemFromObject(j, "more");
	f = cJSON_GetArrayItem(cJSON_GetObjectItem(j, "findings"), 0);
	cJSON_ReplaceItemInObject(f, "level", cJSON_CreateString("fatal"));
	cr_assert_not(valid(j, schema, "report"));
	cJSON_ReplaceItemInObject(f, "level", cJSON_CreateString("note"));
	cr_assert(valid(j, schema, "report"), "%s", why);
	cJSON_ReplaceItemInObject(f, "count", cJSON_CreateNumber(0));
	cr_assert_not(valid(j, schema, "report"));
	cJSON_Delete(j);
	free(text);
	krt_report_destroy(r);
}

Test(schema, a_range_without_a_known_end_has_length_0)
{
	for (unsigned open = 0; open < 2; open++) {
		struct krt_report *r = sample_report();
		const cJSON *f, *range;
		cJSON *j;

		cr_assert_str_eq(r->finding[0].buffer.name, "act0");
		r->finding[0].current.range_len = r->finding[0].buffer.len = 1;
		r->finding[0].buffer.open = open;
		j = report(r);
		cr_assert(valid(j, schema, "report"), "%s", why);
		f = cJSON_GetArrayItem(cJSON_GetObjectItem(j, "findings"), 0);
		range = cJSON_GetObjectItem(cJSON_GetObjectItem(f, "current"), "range");
		cr_assert_eq(cJSON_GetObjectItem(range, "length")->valueint, !open);
		cr_assert_eq(cJSON_GetObjectItem(cJSON_GetObjectItem(f, "buffer"), "length")->valueint,
			     !open);
		cJSON_Delete(j);
		free(text);
		krt_report_destroy(r);
	}
}

Test(schema, has_the_promised_keys)
{
	static const char *const top[] = {"schema_version", "tool",	  "verdict",
					  "coverage",	    "processes",  "rules",
					  "findings",	    "suppressed", "timeline",
					  "stats"};
	static const char *const finding[] = {"fingerprint", "rule",	 "level",    "confidence",
					      "view",	     "message",	 "fix",	     "buffer",
					      "current",     "previous", "ordering", "count"};
	const cJSON *p = cJSON_GetObjectItem(schema, "properties");

	for (unsigned i = 0; i < sizeof(top) / sizeof(*top); i++)
		cr_assert(cJSON_HasObjectItem(p, top[i]), "%s", top[i]);
	p = cJSON_GetObjectItem(
		cJSON_GetObjectItem(cJSON_GetObjectItem(schema, "definitions"), "finding"),
		"properties");
	for (unsigned i = 0; i < sizeof(finding) / sizeof(*finding); i++)
		cr_assert(cJSON_HasObjectItem(p, finding[i]), "%s", finding[i]);
}

Test(schema, knows_every_reason)
{
	const cJSON *e = cJSON_GetObjectItem(schema, "definitions");

	e = cJSON_GetObjectItem(cJSON_GetObjectItem(e, "coverage"), "properties");
	e = cJSON_GetObjectItem(cJSON_GetObjectItem(e, "reasons"), "items");
	e = cJSON_GetObjectItem(cJSON_GetObjectItem(e, "properties"), "reason");
	e = cJSON_GetObjectItem(e, "enum");
	cr_assert_eq(cJSON_GetArraySize(e), KRT_NR_REASONS);
	for (unsigned i = 0; i < KRT_NR_REASONS; i++)
		cr_assert_str_eq(cJSON_GetArrayItem(e, (int)i)->valuestring, krt_reason_text(i));
}

Test(schema, knows_every_kind_of_the_timeline)
{
	const cJSON *d = cJSON_GetObjectItem(schema, "definitions"), *e;
	static const struct {
		const char *key;
		unsigned n;
		const char *(*text)(unsigned kind);
	} lists[] = {
		{"kinds", KRT_NR_TIMELINE_KINDS, krt_timeline_kind_text},
		{"edge_kinds", KRT_NR_TIMELINE_EDGES, krt_timeline_edge_text},
	};

	d = cJSON_GetObjectItem(cJSON_GetObjectItem(d, "timeline"), "properties");
	for (unsigned i = 0; i < 2; i++) {
		e = cJSON_GetObjectItem(cJSON_GetObjectItem(d, lists[i].key), "items");
		e = cJSON_GetObjectItem(e, "enum");
		cr_assert_eq((unsigned)cJSON_GetArraySize(e), lists[i].n);
		for (unsigned k = 0; k < lists[i].n; k++)
			cr_assert_str_eq(cJSON_GetArrayItem(e, (int)k)->valuestring, lists[i].text(k));
	}
}

Test(schema, a_timeline_has_rows_of_its_columns)
{
	struct krt_report *r = sample_report();
	cJSON *j = report(r), *p, *e, *f;
	const cJSON *t = cJSON_GetObjectItem(j, "timeline");

	cr_assert_eq(cJSON_GetArraySize(cJSON_GetObjectItem(t, "processes")), 1);
	p = cJSON_GetArrayItem(cJSON_GetObjectItem(t, "processes"), 0);
	cr_assert_eq(cJSON_GetObjectItem(p, "pid")->valueint, 4711);
	cJSON_ArrayForEach(e, cJSON_GetObjectItem(p, "operations"))
		cr_assert_eq(cJSON_GetArraySize(e),
			     cJSON_GetArraySize(cJSON_GetObjectItem(t, "columns")));
	/* the two findings of the process: one with both operations, one whose is not there */
	e = cJSON_GetObjectItem(p, "findings");
	cr_assert_eq(cJSON_GetArraySize(e), 2);
	f = cJSON_GetArrayItem(e, 0);
	cr_assert_eq(cJSON_GetArrayItem(f, 1)->valueint, 3);
	cr_assert_eq(cJSON_GetArrayItem(f, 2)->valueint, 2);
	f = cJSON_GetArrayItem(e, 1);
	cr_assert(cJSON_IsNull(cJSON_GetArrayItem(f, 1)));
	cr_assert(cJSON_IsNull(cJSON_GetArrayItem(f, 2)));
	cJSON_Delete(j);
	free(text);
	krt_report_destroy(r);
}

/* --- verdicts ---------------------------------------------------------------------- */

Test(verdict, follows_findings_and_coverage)
{
	struct krt_report *r = krt_report_new();
	struct krt_process *p;
	struct krt_finding *f;

	cr_assert_eq(krt_report_verdict(r), KRT_VERDICT_INCONCLUSIVE, "no CUDA call seen");
	p = krt_report_add_process(r);
	krt_coverage_reason(&p->coverage, KRT_REASON_NO_CUDA, NULL);
	cr_assert_eq(krt_report_verdict(r), KRT_VERDICT_INCONCLUSIVE);
	p = krt_report_add_process(r);
	p->used_cuda = true;
	cr_assert_eq(krt_report_verdict(r), KRT_VERDICT_CLEAN,
		     "a helper without CUDA is no reason");
	f = krt_report_add_finding(r);
	f->level = KRT_LEVEL_NOTE;
	cr_assert_eq(krt_report_verdict(r), KRT_VERDICT_CLEAN, "notes alone are clean");
	krt_coverage_reason(&r->process[1].coverage, KRT_REASON_DROPPED, "%d", 5);
	cr_assert_eq(krt_report_verdict(r), KRT_VERDICT_INCONCLUSIVE);
	cr_assert_not(krt_report_complete(r));
	f->level = KRT_LEVEL_WARNING;
	cr_assert_eq(krt_report_verdict(r), KRT_VERDICT_FINDINGS, "also in an incomplete run");
	r->process[1].coverage.reasons = 0;
	krt_coverage_reason(&r->own, KRT_REASON_LOST, "process %d", 7);
	cr_assert_not(krt_report_complete(r));
	krt_report_destroy(r);
}

Test(fingerprint, holds_no_volatile_thing)
{
	struct krt_report *r = sample_report();
	struct krt_finding a = r->finding[0], b = a;
	struct krt_frame frames[5];
	uint64_t was = krt_fingerprint(&a);

	memcpy(frames, sample_frames, sizeof(frames));
	for (unsigned i = 0; i < 5; i++) {
		frames[i].pc += 4096;
		frames[i].offset += 64;
		frames[i].line += 3;
	}
	b.pid = 99;
	b.current.sequence = 7;
	b.current.range_base = 5;
	b.buffer.base = 9;
	b.current.stream = "stream 9 (0x1)";
	b.current.stack.frame = frames;
	cr_assert_eq(krt_fingerprint(&b), was);
	frames[2].function = "backward";
	cr_assert_neq(krt_fingerprint(&b), was);
	/* either order */
	b = a;
	b.current = a.previous;
	b.previous = a.current;
	cr_assert_eq(krt_fingerprint(&b), was);
	b.rule = KRT_RULE_RACE_WAW;
	cr_assert_neq(krt_fingerprint(&b), was);
	krt_report_destroy(r);
}
