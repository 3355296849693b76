/* SPDX-License-Identifier: Apache-2.0 */
/* The table of synchronisation semantics: its laws, and what was measured. */
#include <criterion/criterion.h>
#include <string.h>
#include "semantics.h"
#include "api.h"

#define DOC KRT_VIEW_DOC
#define OBS KRT_VIEW_OBS

/* How much order device work gets: a total order of enum krt_sem_order. */
static int order_rank(enum krt_sem_order o)
{
	switch (o) {
	case KRT_ORDER_NONE:
		return 0;
	case KRT_ORDER_FIFO:
		return 1;
	case KRT_ORDER_CONTEXT:
		return 2;
	case KRT_ORDER_CONTEXTS:
		return 3;
	}
	return -1;
}

Test(semantics, documented_is_never_stronger)
{
	for (unsigned i = 0; i < KRT_NR_SEMS; i++) {
		const struct krt_sem *s = krt_semantics(krt_sem_table, i);

		cr_assert(KRT_EDGE_HAS(s->edge[OBS], s->edge[DOC]), "%s: edge", s->id);
		cr_assert_leq(order_rank(s->order[DOC]), order_rank(s->order[OBS]), "%s: order",
			      s->id);
		cr_assert(s->read[DOC] != KRT_READ_IN_ORDER || s->read[OBS] == KRT_READ_IN_ORDER,
			  "%s: read", s->id);
		cr_assert_eq(s->read[DOC] == KRT_READ_NEVER, s->read[OBS] == KRT_READ_NEVER, "%s",
			     s->id);
	}
}

Test(semantics, every_row_has_sources)
{
	static const char *const tag[] = { "[d] ", "[h] ", "[g] ", "[i] ", "[?] " };

	for (unsigned i = KRT_SEM_NONE + 1; i < KRT_NR_SEMS; i++) {
		const struct krt_sem *s = krt_semantics(krt_sem_table, i);

		cr_assert(strlen(s->id) && strlen(s->calls));
		for (unsigned v = 0; v < KRT_VIEWS; v++) {
			bool ok = v == OBS && !strncmp(s->source[v], "as documented", 13);

			for (unsigned t = 0; t < sizeof(tag) / sizeof(tag[0]); t++)
				ok |= !strncmp(s->source[v], tag[t], 4) && strlen(s->source[v]) > 8;
			cr_assert(ok, "%s: view %u: source \"%s\"", s->id, v, s->source[v]);
		}
		/* The documented half rests on documentation, never on a measurement. */
		cr_assert(!strncmp(s->source[DOC], "[d]", 3) || !strncmp(s->source[DOC], "[h]", 3),
			  "%s", s->id);
		/* "as documented" says that the halves are the same. */
		if (!strncmp(s->source[OBS], "as documented", 13)) {
			cr_assert_eq(s->edge[DOC], s->edge[OBS], "%s", s->id);
			cr_assert_eq(s->order[DOC], s->order[OBS], "%s", s->id);
			cr_assert_eq(s->read[DOC], s->read[OBS], "%s", s->id);
		}
		for (unsigned j = KRT_SEM_NONE + 1; j < i; j++)
			cr_assert_str_neq(s->id, krt_semantics(krt_sem_table, j)->id);
	}
}

/* What was measured on the H200, row by row, written down a second time by hand. */
Test(semantics, measured)
{
	static const struct { enum krt_sem_id id; unsigned doc, obs; } row[] = {
		{ KRT_SEM_ALLOC, KRT_EDGE_NONE, KRT_EDGE_NONE },
		{ KRT_SEM_FREE_DEVICE, KRT_EDGE_NONE, KRT_EDGE_CONTEXT },
		{ KRT_SEM_FREE_MANAGED, KRT_EDGE_NONE, KRT_EDGE_CONTEXT },
		{ KRT_SEM_FREE_POOL, KRT_EDGE_NONE, KRT_EDGE_NONE },
		{ KRT_SEM_ALLOC_ASYNC, KRT_EDGE_NONE, KRT_EDGE_NONE },
		{ KRT_SEM_FREE_ASYNC, KRT_EDGE_NONE, KRT_EDGE_NONE },
		{ KRT_SEM_HOST_FREE, KRT_EDGE_NONE, KRT_EDGE_CONTEXT },
		{ KRT_SEM_HOST_UNREGISTER, KRT_EDGE_NONE, KRT_EDGE_CONTEXT },
		{ KRT_SEM_VMM_UNMAP, KRT_EDGE_NONE, KRT_EDGE_NONE },
		{ KRT_SEM_MODULE_LOAD, KRT_EDGE_NONE, KRT_EDGE_CONTEXT },
		{ KRT_SEM_OBJECT, KRT_EDGE_NONE, KRT_EDGE_NONE },
		{ KRT_SEM_COPY_PINNED_TO_DEVICE, KRT_EDGE_OP, KRT_EDGE_OP },
		{ KRT_SEM_COPY_DEVICE_TO_HOST, KRT_EDGE_OP, KRT_EDGE_OP },
		{ KRT_SEM_COPY_DEVICE_TO_DEVICE, KRT_EDGE_NONE, KRT_EDGE_NONE },
		{ KRT_SEM_SET_DEVICE, KRT_EDGE_NONE, KRT_EDGE_NONE },
		{ KRT_SEM_STREAM_SYNC_LEGACY, KRT_EDGE_STREAM, KRT_EDGE_BLOCKING },
		{ KRT_SEM_ASYNC_PAGEABLE_TO_DEVICE_SMALL, KRT_EDGE_SRC, KRT_EDGE_SRC },
		{ KRT_SEM_ASYNC_PAGEABLE_TO_DEVICE, KRT_EDGE_SRC, KRT_EDGE_SRC | KRT_EDGE_EARLIER },
		{ KRT_SEM_ASYNC_DEVICE_TO_PAGEABLE, KRT_EDGE_NONE, KRT_EDGE_OP },
		{ KRT_SEM_COPY_PAGEABLE_TO_DEVICE, KRT_EDGE_SRC | KRT_EDGE_EARLIER, KRT_EDGE_OP },
		{ KRT_SEM_COPY_PAGEABLE_TO_MANAGED, KRT_EDGE_SRC | KRT_EDGE_EARLIER, KRT_EDGE_OP },
		{ KRT_SEM_ARRAY_DESTROY, KRT_EDGE_NONE, KRT_EDGE_CONTEXT },
		{ KRT_SEM_MODULE_UNLOAD, KRT_EDGE_NONE, KRT_EDGE_CONTEXT },
		{ KRT_SEM_LIBRARY_UNLOAD, KRT_EDGE_NONE, KRT_EDGE_CONTEXT },
		{ KRT_SEM_STREAM_SYNC, KRT_EDGE_STREAM, KRT_EDGE_STREAM },
		{ KRT_SEM_EVENT_ELAPSED, KRT_EDGE_NONE, KRT_EDGE_EVENT },
		{ KRT_SEM_CTX_SYNC, KRT_EDGE_CONTEXT, KRT_EDGE_CONTEXT },
		{ KRT_SEM_BATCH_STREAM, KRT_EDGE_NONE, KRT_EDGE_NONE },
		{ KRT_SEM_BATCH_DURING_CALL, KRT_EDGE_SRC, KRT_EDGE_SRC },
		{ KRT_SEM_BATCH_ANY, KRT_EDGE_NONE, KRT_EDGE_NONE },
		{ KRT_SEM_SET_PINNED, KRT_EDGE_OP, KRT_EDGE_OP },
		{ KRT_SEM_SET_MANAGED, KRT_EDGE_OP, KRT_EDGE_OP },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		cr_assert_eq(krt_semantics(krt_sem_table, row[i].id)->edge[DOC], row[i].doc, "%s",
			     krt_semantics(krt_sem_table, row[i].id)->id);
		cr_assert_eq(krt_semantics(krt_sem_table, row[i].id)->edge[OBS], row[i].obs, "%s",
			     krt_semantics(krt_sem_table, row[i].id)->id);
	}
	cr_assert_eq(krt_semantics(krt_sem_table, KRT_SEM_COPY_PEER)->order[DOC], KRT_ORDER_FIFO);
	cr_assert_eq(krt_semantics(krt_sem_table, KRT_SEM_COPY_PEER)->order[OBS], KRT_ORDER_CONTEXTS);
	cr_assert_eq(krt_semantics(krt_sem_table, KRT_SEM_COPY_PEER_NEAR)->order[OBS], KRT_ORDER_FIFO);
}

Test(semantics, edges_imply)
{
	cr_assert(KRT_EDGE_HAS(KRT_EDGE_OP, KRT_EDGE_SRC));
	cr_assert(KRT_EDGE_HAS(KRT_EDGE_OP, KRT_EDGE_EARLIER));
	cr_assert(KRT_EDGE_HAS(KRT_EDGE_DEVICE, KRT_EDGE_CONTEXT));
	cr_assert(KRT_EDGE_HAS(KRT_EDGE_CONTEXT, KRT_EDGE_STREAM));
	cr_assert(!KRT_EDGE_HAS(KRT_EDGE_SRC | KRT_EDGE_EARLIER, KRT_EDGE_OP));
	cr_assert(!KRT_EDGE_HAS(KRT_EDGE_DEVICE, KRT_EDGE_EVENT));
	cr_assert(KRT_EDGE_HAS(KRT_EDGE_ALL, KRT_EDGE_DEVICE));
	cr_assert_eq(krt_sem_views(krt_sem_table, KRT_SEM_FREE_DEVICE, KRT_EDGE_CONTEXT), KRT_IN_OBS);
	cr_assert_eq(krt_sem_views(krt_sem_table, KRT_SEM_COPY_DEVICE_TO_HOST, KRT_EDGE_OP), KRT_IN_BOTH);
	cr_assert_eq(krt_sem_views(krt_sem_table, KRT_SEM_LAUNCH, KRT_EDGE_OP), 0);
	cr_assert_eq(krt_sem_views(krt_sem_table, KRT_SEM_COPY_PAGEABLE_TO_DEVICE, KRT_EDGE_OP), KRT_IN_OBS);
	cr_assert_eq(krt_sem_views(krt_sem_table, KRT_SEM_COPY_PAGEABLE_TO_DEVICE, KRT_EDGE_SRC), KRT_IN_BOTH);
}

Test(semantics, every_pair_of_memory_has_a_row)
{
	for (unsigned s = 0; s < KRT_NR_SEM_MEMS; s++) {
		for (unsigned d = 0; d < KRT_NR_SEM_MEMS; d++) {
			bool host = s <= KRT_SEM_MEM_PINNED && d <= KRT_SEM_MEM_PINNED;

			for (unsigned how = 0; how < 16; how++) {
				bool async = how & 1, memops = how & 4;
				enum krt_sem_peer peer = how & 2 ? KRT_SEM_PEER + (how >> 3 & 1) : KRT_SEM_NO_PEER;
				enum krt_sem_id id =
					krt_sem_copy(async, peer, d, s, 1 << 20, memops);

				cr_assert_neq(id, KRT_SEM_NONE);
				/* whatever the view, nothing on the device stays behind a host to
				 * host copy */
				if (host)
					cr_assert_eq(krt_sem_views(krt_sem_table, id, KRT_EDGE_OP), KRT_IN_BOTH);
				if (memops && !async)
					cr_assert_eq(krt_sem_views(krt_sem_table, id, KRT_EDGE_OP), KRT_IN_BOTH);
				/* a pageable source may be reused on return, always */
				if (s == KRT_SEM_MEM_PAGEABLE)
					cr_assert_eq(krt_sem_views(krt_sem_table, id, KRT_EDGE_SRC), KRT_IN_BOTH);
			}
		}
	}
	cr_assert_eq(
		krt_sem_copy(true, KRT_SEM_NO_PEER, KRT_SEM_MEM_DEVICE, KRT_SEM_MEM_PAGEABLE, 2097152, false),
		KRT_SEM_ASYNC_PAGEABLE_TO_DEVICE_SMALL);
	cr_assert_eq(
		krt_sem_copy(true, KRT_SEM_NO_PEER, KRT_SEM_MEM_DEVICE, KRT_SEM_MEM_PAGEABLE, 2097153, false),
		KRT_SEM_ASYNC_PAGEABLE_TO_DEVICE);
	cr_assert_eq(krt_sem_copy(false, KRT_SEM_PEER, KRT_SEM_MEM_DEVICE, KRT_SEM_MEM_DEVICE, 1, false),
		     KRT_SEM_COPY_PEER);
	cr_assert_eq(krt_sem_copy(false, KRT_SEM_PEER, KRT_SEM_MEM_PINNED, KRT_SEM_MEM_DEVICE, 1, false),
		     KRT_SEM_COPY_PEER_HOST);
	cr_assert_eq(krt_sem_copy(false, KRT_SEM_PEER_NEAR, KRT_SEM_MEM_DEVICE, KRT_SEM_MEM_DEVICE, 1, false),
		     KRT_SEM_COPY_PEER_NEAR);
	cr_assert_eq(krt_sem_copy(false, KRT_SEM_PEER_NEAR, KRT_SEM_MEM_DEVICE, KRT_SEM_MEM_PINNED, 1, false),
		     KRT_SEM_COPY_PEER_NEAR_HOST);
	cr_assert_eq(krt_sem_copy(false, KRT_SEM_NO_PEER, KRT_NR_SEM_MEMS, KRT_SEM_MEM_DEVICE, 1, false),
		     KRT_SEM_NONE);
	for (unsigned d = 0; d < KRT_NR_SEM_MEMS; d++) {
		cr_assert_neq(krt_sem_set(false, d, false), KRT_SEM_NONE);
		cr_assert_eq(krt_sem_set(true, d, true), KRT_SEM_SET_ASYNC);
		cr_assert_eq(krt_sem_set(false, d, true), KRT_SEM_SET_MEMOPS);
	}
	cr_assert_eq(krt_sem_set(false, KRT_NR_SEM_MEMS, false), KRT_SEM_NONE);
	cr_assert_eq(krt_sem_batch(1), KRT_SEM_BATCH_STREAM);
	cr_assert_eq(krt_sem_batch(2), KRT_SEM_BATCH_DURING_CALL);
	cr_assert_eq(krt_sem_batch(3), KRT_SEM_BATCH_ANY);
	cr_assert_eq(krt_sem_batch(0), KRT_SEM_BATCH_STREAM);
}

/* An entry point that takes a stream and is modelled has a row, or picks one by its arguments. */
Test(semantics, modelled_stream_calls_have_rows)
{
	for (unsigned i = 0; i < KRT_NR_APIS; i++) {
		const struct krt_api *a = &krt_api[i];
		bool stream = false;

		if (a->cls != KRT_CLASS_MODELLED)
			continue;
		for (unsigned j = 0; j < a->argc; j++)
			stream |= a->arg[j].role == KRT_ROLE_STREAM;
		if (!stream)
			continue;
		switch (a->op) {
		case KRT_OP_COPY: case KRT_OP_COPY_ARRAY: case KRT_OP_COPY_2D: case KRT_OP_COPY_3D:
		case KRT_OP_COPY_PEER: case KRT_OP_COPY_3D_PEER: case KRT_OP_COPY_BATCH:
		case KRT_OP_COPY_3D_BATCH: case KRT_OP_SET: case KRT_OP_SET_2D:
		case KRT_OP_STREAM_SYNC: case KRT_OP_BATCH_MEM_OP:
		case KRT_OP_CAPTURE_BEGIN: case KRT_OP_CAPTURE_END: case KRT_OP_CAPTURE_DEPS:
		case KRT_OP_GRAPH_INSTANTIATE: case KRT_OP_NONE:
			break;
		default:
			cr_assert_neq(krt_sem_of_op(a->op), KRT_SEM_NONE, "%s", a->symbol);
		}
	}
	cr_assert_eq(krt_sem_of_op(KRT_NR_OPS + 7), KRT_SEM_NONE);
	cr_assert_eq(krt_semantics(krt_sem_table, KRT_NR_SEMS)->edge[OBS], KRT_EDGE_NONE);
}
