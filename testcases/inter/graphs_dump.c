/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace says of captures and graphs, as text that is the same in each
 * run: graphs_dump FOLDER; graphs_dump FOLDER took prints the time that the
 * driver took for each graph launch, instead.  Handles get numbers in the order in which they are
 * met; addresses are told by the names that the program gave (krtsan_name).
 */
#include "decode.h"
#include "reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUABI_EXACT_NAMES
#include "cuabi.h"

struct named {
	uint64_t at, len;
	char name[64];
};
static struct named named[256];
static unsigned nnamed;

struct handle {
	char kind;
	unsigned number;
	uint64_t value;
};
static struct handle *handles;
static unsigned nhandles;

struct kernel {
	uint32_t id, n;
	char name[64];
	struct krt_param param[16];
};
static struct kernel kernels[64];
static unsigned nkernels;

static int bad;
static unsigned added; /* nodes; only the first are told */
static bool making;    /* the graph that is told is a new one */

static const char *handle(char kind, uint64_t value)
{
	static char text[8][32];
	static unsigned turn;
	char *t = text[turn++ % 8];
	unsigned of_kind = 0, i;

	if (!value)
		return "0";
	for (i = 0; i < nhandles; i++) {
		of_kind += handles[i].kind == kind;
		if (handles[i].kind == kind && handles[i].value == value)
			break;
	}
	if (i == nhandles) {
		handles = realloc(handles, (nhandles + 1) * sizeof *handles);
		handles[nhandles++] = (struct handle){ kind, of_kind + 1, value };
	}
	snprintf(t, 32, "%c%u", kind, handles[i].number);
	return t;
}

/* A new object, whose handle may have been another's. */
static void fresh(char kind, uint64_t value)
{
	for (unsigned i = 0; i < nhandles; i++)
		if (handles[i].kind == kind && handles[i].value == value)
			handles[i].value = 0;
}

static const char *address(uint64_t at)
{
	static char text[8][96];
	static unsigned turn;
	char *t = text[turn++ % 8];

	if (at < 65536) {
		snprintf(t, 96, "%" PRIu64, at);
		return t;
	}
	for (unsigned i = nnamed; i-- > 0;) {
		if (at < named[i].at || at >= named[i].at + (named[i].len ? named[i].len : 1))
			continue;
		snprintf(t, 96, at > named[i].at ? "%s+%" PRIu64 : "%s", named[i].name, at - named[i].at);
		return t;
	}
	return "?";
}

static void indent(unsigned n)
{
	printf("%*s", (int)n * 2, "");
}

static void params(const void *at, size_t len)
{
	const struct krt_params *p = at;
	const char *bytes = (const char *)(p + 1);

	if (len < sizeof *p)
		bad = 1;
	for (unsigned i = 0; len >= sizeof *p && i < nkernels; i++) {
		const struct kernel *k = &kernels[i];

		if (k->id != p->kernel)
			continue;
		printf(" %s(", k->name);
		if (p->len == KRT_PARAMS_UNKNOWN)
			printf("?");
		for (uint32_t j = 0; p->len != KRT_PARAMS_UNKNOWN && j < k->n && j < 16; j++) {
			uint64_t v = 0;

			if (k->param[j].offset + k->param[j].size > p->len || k->param[j].size > 8)
				continue;
			memcpy(&v, bytes + k->param[j].offset, k->param[j].size);
			printf("%s%s", j ? ", " : "", address(v));
		}
		printf(")");
	}
}

static const char *const types[] = {
	"KERNEL", "MEMCPY", "MEMSET", "HOST", "GRAPH", "EMPTY", "WAIT_EVENT", "EVENT_RECORD", "EXT_SEMAS_SIGNAL",
	"EXT_SEMAS_WAIT", "MEM_ALLOC", "MEM_FREE", "BATCH_MEM_OP", "CONDITIONAL",
};

static size_t graph(const char *at, size_t len, unsigned depth);

static void side(CUmemorytype type, const void *host, CUdeviceptr device, CUarray array, size_t x, size_t y, size_t z)
{
	switch (type) {
	case CU_MEMORYTYPE_HOST:
		printf(" host %s", address((uintptr_t)host));
		break;
	case CU_MEMORYTYPE_DEVICE:
	case CU_MEMORYTYPE_UNIFIED:
		printf(" %s %s", type == CU_MEMORYTYPE_DEVICE ? "device" : "unified", address(device));
		break;
	case CU_MEMORYTYPE_ARRAY:
		printf(" array %s", handle('A', (uintptr_t)array));
		break;
	}
	if (x || y || z)
		printf(" at %zu,%zu,%zu", x, y, z);
}

/* One node; its size, 0: malformed. */
static size_t node(const char *at, size_t len, unsigned depth)
{
	const struct krt_node_rec *n = (const void *)at;
	const char *p = at + sizeof *n;
	const uint64_t *w = (const void *)p;
	size_t left;

	if (len < sizeof *n || n->size < sizeof *n || n->size > len || n->size % 8) {
		bad = 1;
		printf("MALFORMED NODE\n");
		return 0;
	}
	left = n->size - sizeof *n;
	if (making && depth > 1)
		fresh('N', n->node);
	indent(depth);
	printf("%s %s%s%s%s", handle('N', n->node), n->type < 14 ? types[n->type] : "UNKNOWN",
	       n->flags & KRT_NODE_UNREAD ? " UNREAD" : "", n->flags & KRT_NODE_STACK ? " STACK" : "",
	       n->ctx ? " ctx" : "");
	if (n->flags & KRT_NODE_UNREAD) {
		bad |= left != 0;
		printf("\n");
		return n->size;
	}
	switch (n->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL: {
		const struct krt_node_kernel *k = (const void *)p;

		printf(" %u,%u,%u x %u,%u,%u shared %u%s", k->grid[0], k->grid[1], k->grid[2], k->block[0],
		       k->block[1], k->block[2], k->shared, k->coop ? " coop" : "");
		params(k + 1, left - sizeof *k);
		break;
	}
	case CU_GRAPH_NODE_TYPE_MEMCPY: {
		const CUDA_MEMCPY3D *m = (const void *)p;

		bad |= left != sizeof *m;
		printf(" %zux%zux%zu", m->WidthInBytes, m->Height, m->Depth);
		side(m->srcMemoryType, m->srcHost, m->srcDevice, m->srcArray, m->srcXInBytes, m->srcY, m->srcZ);
		printf(" ->");
		side(m->dstMemoryType, m->dstHost, m->dstDevice, m->dstArray, m->dstXInBytes, m->dstY, m->dstZ);
		break;
	}
	case CU_GRAPH_NODE_TYPE_MEMSET: {
		const CUDA_MEMSET_NODE_PARAMS *m = (const void *)p;

		bad |= left != sizeof *m;
		printf(" %s = %u, %u x %zux%zu", address(m->dst), m->value, m->elementSize, m->width, m->height);
		break;
	}
	case CU_GRAPH_NODE_TYPE_HOST:
		bad |= left != 16 || !w[0];
		printf(" data %s", address(w[1]));
		break;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		printf("\n");
		if (graph(p, left, depth + 1) != left)
			bad = 1;
		return n->size;
	case CU_GRAPH_NODE_TYPE_EMPTY:
		bad |= left != 0;
		break;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		bad |= left != 8;
		printf(" %s", handle('E', w[0]));
		break;
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
		bad |= left != 8 + w[0] * 8;
		for (uint64_t i = 0; i < w[0]; i++)
			printf(" %s", handle('X', w[1 + i]));
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		bad |= left != 16;
		printf(" %s %" PRIu64 " bytes", handle('M', w[0]), w[1]);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		bad |= left != 8;
		printf(" %s", handle('M', w[0]));
		break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		bad |= left != 8 + w[0] * sizeof(CUstreamBatchMemOpParams);
		for (uint64_t i = 0; i < w[0]; i++) {
			const CUstreamBatchMemOpParams *o = (const void *)(w + 1);

			printf(" %u:%s", o[i].operation, address(o[i].waitValue.address));
		}
		break;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL: {
		const uint32_t *kind = (const void *)(w + 1);
		size_t used = 16;

		printf(" kind %u, %u bodies\n", kind[0], kind[1]);
		for (uint32_t i = 0; i < kind[1]; i++)
			used += graph(p + used, left - used, depth + 1);
		bad |= used != left;
		return n->size;
	}
	}
	printf("\n");
	return n->size;
}

static size_t graph(const char *at, size_t len, unsigned depth)
{
	const struct krt_graph_rec *g = (const void *)at;
	size_t used = sizeof *g;
	uint64_t *list;

	if (len < sizeof *g || g->size > len || g->size < sizeof *g) {
		bad = 1;
		printf("MALFORMED GRAPH\n");
		return 0;
	}
	if (making && depth > 1)
		fresh('G', g->graph);
	indent(depth);
	printf("%s: %u nodes%s%s\n", handle('G', g->graph), g->nodes, g->flags & KRT_GRAPH_UNREAD ? " UNREAD" : "",
	       g->flags & KRT_GRAPH_REMEMBERED ? " REMEMBERED" : "");
	list = calloc(g->nodes + 1, sizeof *list);
	for (uint32_t i = 0; i < g->nodes; i++) {
		const struct krt_node_rec *n = (const void *)(at + used);
		size_t size;

		list[i] = n->node;
		size = g->nodes > 50 ? n->size : node(at + used, g->size - used, depth + 1);
		if (!size)
			break;
		used += size;
	}
	if (used + g->edges * sizeof(struct krt_edge_rec) != g->size) {
		bad = 1;
		printf("MALFORMED EDGES\n");
	} else if (g->nodes <= 50 && g->edges) {
		const struct krt_edge_rec *e = (const void *)(at + used);

		indent(depth + 1);
		for (uint32_t i = 0; i < g->edges; i++) {
			if (e[i].from >= g->nodes || e[i].to >= g->nodes) {
				bad = 1;
				continue;
			}
			printf("%s%s>%s", i ? " " : "", handle('N', list[e[i].from]), handle('N', list[e[i].to]));
			if (e[i].from_port || e[i].type)
				printf("(port %u type %u)", e[i].from_port, e[i].type);
		}
		printf("\n");
	} else if (g->edges) {
		indent(depth + 1);
		printf("%u edges\n", g->edges);
	}
	free(list);
	return g->size;
}

static void call(const struct krt_call *c)
{
	const struct krt_api *a = c->api;

	if (c->op == KRT_OP_NOTE_NAME && nnamed < 256) {
		named[nnamed].at = c->addr;
		named[nnamed].len = c->bytes;
		snprintf(named[nnamed].name, sizeof named[nnamed].name, "%.*s", (int)c->string.len,
			 (const char *)c->string.data);
		if (!strcmp(named[nnamed].name, "--"))
			printf("--- %s\n", "");
		else
			nnamed++;
		return;
	}
	if (c->op == KRT_OP_HEAP_END) {
		printf("%s %s\n", a->symbol, address(c->rec->args[0]));
		return;
	}
	if (c->op == KRT_OP_GRAPH_NODE_ADD && ++added > 20) {
		if (!c->node_rec.data)
			bad = 1;
		return;
	}
	if (!c->capture && !c->node_rec.data && !c->graph_rec.data && !c->frame && strncmp(a->symbol, "cuGraph", 7) &&
	    !strstr(a->symbol, "Capture"))
		return;
	making = c->ok && (c->op == KRT_OP_GRAPH_NODE_ADD || c->op == KRT_OP_GRAPH_CLONE ||
			   (c->capture && c->node_rec.data));
	if (c->ok && c->op == KRT_OP_GRAPH_NODE_ADD)
		fresh('N', c->out_handle);
	if (c->ok && (c->op == KRT_OP_GRAPH_CREATE || c->op == KRT_OP_GRAPH_CLONE))
		fresh('G', c->out_handle);
	if (c->ok && c->op == KRT_OP_CAPTURE_BEGIN && c->capture && !c->graph)
		fresh('G', c->capture->graph);
	if (c->ok && c->op == KRT_OP_GRAPH_INSTANTIATE)
		fresh('X', c->out_handle);
	if (c->capture && c->node_rec.data)
		fresh('N', c->capture->node);
	printf("%s", a->base);
	if (c->rec->result)
		printf(" = %d", c->rec->result);
	if (krt_has(c, KRT_ROLE_EXEC))
		printf(" %s", handle('X', c->exec));
	if (krt_has(c, KRT_ROLE_GRAPH))
		printf(" %s", handle('G', c->graph));
	if (krt_has(c, KRT_ROLE_NODE))
		printf(" %s", handle('N', c->node));
	if (c->op == KRT_OP_GRAPH_INSTANTIATE && c->ok)
		printf(" -> %s", handle('X', c->out_handle));
	else if ((c->op == KRT_OP_GRAPH_CREATE || c->op == KRT_OP_GRAPH_CLONE || c->op == KRT_OP_CAPTURE_END) && c->ok)
		printf(" -> %s", handle('G', c->out_handle));
	else if (c->op == KRT_OP_GRAPH_NODE_ADD && c->ok)
		printf(" -> %s", handle('N', c->out_handle));
	if (c->op == KRT_OP_GRAPH_NODE_ENABLE)
		printf(" %" PRIu64, c->value);
	if (c->in.data && c->op != KRT_OP_GRAPH_NODE_ADD) /* of an add it is the node, told below */
		printf(" flags %" PRIu64, krt_u64_at(&c->in, 0));
	if (c->capture)
		printf(" [%s %s status %u node %s]", handle('C', c->capture->id), handle('G', c->capture->graph),
		       c->capture->status, handle('N', c->capture->node));
	if (c->frame)
		printf(" frame %s", !c->frame->high ? "unknown" :
		       c->frame->low <= c->frame->sp && c->frame->sp < c->frame->high ? "sound" : "WRONG");
	printf("\n");
	if (c->node_rec.data && node(c->node_rec.data, c->node_rec.len, 1) != c->node_rec.len)
		bad = 1;
	if (c->graph_rec.data && graph(c->graph_rec.data, c->graph_rec.len, 1) != c->graph_rec.len)
		bad = 1;
}

static void kernel(const struct krt_rec_kernel *r)
{
	struct kernel *k = &kernels[nkernels < 64 ? nkernels++ : 63];

	k->id = r->id;
	k->n = r->nparams == KRT_PARAMS_UNKNOWN ? 0 : r->nparams;
	for (uint32_t i = 0; i < k->n && i < 16; i++)
		k->param[i] = r->param[i];
	snprintf(k->name, sizeof k->name, "%.*s", (int)r->name_len, (const char *)(r->param + k->n));
}

int main(int argc, char **argv)
{
	char err[256] = "";
	struct krt_reader *r = argc > 1 ? krt_reader_open(argv[1], false, err, sizeof err) : NULL;
	struct krt_proc_reader *p;
	const struct krt_rec *rec;
	struct krt_call c;
	unsigned lane;
	size_t len;

	if (!r || krt_reader_scan(r) < 1) {
		printf("no trace: %s\n", err);
		return 1;
	}
	p = krt_reader_process(r, 0);
	while (krt_proc_next(p, &rec, &len, &lane) == 1) {
		if (rec->kind == KRT_REC_KERNEL)
			kernel((const void *)rec);
		if (rec->kind != KRT_REC_CALL)
			continue;
		if (!krt_decode(rec, len, lane, &c))
			printf("MALFORMED CALL\n");
		else if (argc < 3)
			call(&c);
		else if (c.op == KRT_OP_GRAPH_LAUNCH)
			printf("%u\n", c.rec->took_ns);
	}
	if (krt_proc_dropped(p))
		printf("%" PRIu64 " DROPPED\n", krt_proc_dropped(p));
	if (bad)
		printf("MALFORMED\n");
	krt_reader_close(r);
	return bad;
}
