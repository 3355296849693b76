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
		return k == KRT_EDGE_HOST_KIND ? KRT_EDGE_REUSE_HOST_KIND
		       : k == KRT_EDGE_WAIT_KIND ? KRT_EDGE_REUSE_KIND
						 : k;
	case KRT_RULE_UAF_STREAM:
		return KRT_EDGE_MOVE_KIND;
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
	if (k == KRT_EDGE_NONE_KIND || !m->record_after) {
		memset(m, 0, sizeof(*m));
		return;
	}
	m->kind = k;
	m->host = k == KRT_EDGE_HOST_KIND || k == KRT_EDGE_FREE_KIND ||
		  k == KRT_EDGE_REUSE_HOST_KIND || k == KRT_EDGE_END_KIND ||
		  (k == KRT_EDGE_MOVE_KIND && f->prev.host);
}
