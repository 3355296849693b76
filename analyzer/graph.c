/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs and their executables.  A launch is one operation of its stream.
 */
#include "engine_int.h"

static void on_stream(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_stream_info *s = krt_call_stream(e, c, c->stream);
	struct krt_op_info *op;

	if (!s || krt_capturing(e, s))
		return;
	op = krt_enqueue(e, c, s, KRT_OPC_OTHER);
	if (op)
		krt_op_unref(&e->heap, op);
	if (c->op == KRT_OP_GRAPH_LAUNCH) {
		e->cov.graph_launches++;
		krt_site_work(e, c);
	}
}

void krt_graph_op(struct krt_engine *e, const struct krt_call *c)
{
	if (c->ok && (c->op == KRT_OP_GRAPH_LAUNCH || c->op == KRT_OP_GRAPH_UPLOAD))
		on_stream(e, c);
}
