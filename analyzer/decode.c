/* SPDX-License-Identifier: Apache-2.0 */
/* Call records by role.  See decode.h. */
#include "decode.h"

#include <string.h>

_Static_assert(KRT_NR_ROLES <= 128, "roles must fit the mask");

static uint64_t masked(uint64_t v, unsigned width)
{
	return width && width < 8 ? v & ((1ull << width * 8) - 1) : v;
}

static uint64_t load(const struct krt_bytes *b)
{
	uint64_t v = 0;

	if (b->data)
		memcpy(&v, b->data, b->len < 8 ? b->len : 8);
	return v;
}

static void set_plain(struct krt_call *c, enum krt_role role, uint64_t v)
{
	switch (role) {
	case KRT_ROLE_U32:
	case KRT_ROLE_U64:
	case KRT_ROLE_PTR:
		if (c->numbers < 4)
			c->number[c->numbers++] = v;
		break;
	case KRT_ROLE_FLAGS:
		c->flags = v;
		break;
	case KRT_ROLE_VALUE:
		c->value = v;
		break;
	case KRT_ROLE_BYTES:
		c->bytes = v;
		break;
	case KRT_ROLE_COUNT:
		c->count = v;
		break;
	case KRT_ROLE_OFFSET:
		c->offset = v;
		break;
	case KRT_ROLE_PITCH:
		c->pitch = v;
		break;
	case KRT_ROLE_WIDTH:
		c->width = v;
		break;
	case KRT_ROLE_HEIGHT:
		c->height = v;
		break;
	case KRT_ROLE_GRID:
		if (c->ngrid < 3)
			c->grid[c->ngrid++] = v;
		break;
	case KRT_ROLE_BLOCK:
		if (c->nblock < 3)
			c->block[c->nblock++] = v;
		break;
	case KRT_ROLE_SHARED:
		c->shared = v;
		break;
	case KRT_ROLE_TOKEN:
		c->token = v;
		break;
	case KRT_ROLE_DST:
		c->dst = v;
		break;
	case KRT_ROLE_SRC:
		c->src = v;
		break;
	case KRT_ROLE_ADDR:
		c->addr = v;
		break;
	case KRT_ROLE_DST_ARRAY:
		c->dst_array = v;
		break;
	case KRT_ROLE_SRC_ARRAY:
		c->src_array = v;
		break;
	case KRT_ROLE_DST_OFF:
		c->dst_off = v;
		break;
	case KRT_ROLE_SRC_OFF:
		c->src_off = v;
		break;
	case KRT_ROLE_DST_CTX:
		c->dst_ctx = v;
		break;
	case KRT_ROLE_SRC_CTX:
		c->src_ctx = v;
		break;
	case KRT_ROLE_STREAM:
		c->stream = v;
		break;
	case KRT_ROLE_EVENT:
		if (krt_has(c, KRT_ROLE_EVENT))
			c->event2 = v;
		else
			c->event = v;
		break;
	case KRT_ROLE_CTX:
		c->ctx = v;
		break;
	case KRT_ROLE_DEVICE:
		c->device = v;
		break;
	case KRT_ROLE_FUNC:
		c->func = v;
		break;
	case KRT_ROLE_MODULE:
	case KRT_ROLE_LIBRARY:
		c->module = v;
		break;
	case KRT_ROLE_POOL:
		c->pool = v;
		break;
	case KRT_ROLE_GRAPH:
		c->graph = v;
		break;
	case KRT_ROLE_EXEC:
		c->exec = v;
		break;
	case KRT_ROLE_NODE:
		c->node = v;
		break;
	case KRT_ROLE_ARRAY:
		c->array = v;
		break;
	case KRT_ROLE_HANDLE:
		c->handle = v;
		break;
	case KRT_ROLE_IMAGE:
		c->image = v;
		break;
	/* the value is a pointer; what is behind it comes as a blob, or is of no use */
	case KRT_ROLE_NATTRS:
	case KRT_ROLE_FN:
	case KRT_ROLE_USERDATA:
	case KRT_ROLE_OUT_ADDR:
	case KRT_ROLE_OUT_HANDLE:
	case KRT_ROLE_OUT_SIZE:
	case KRT_ROLE_OUT_STRUCT:
	case KRT_ROLE_IN_STRING:
	case KRT_ROLE_IN_STRUCT:
	case KRT_ROLE_IN_COPY2D:
	case KRT_ROLE_IN_COPY2D_V1:
	case KRT_ROLE_IN_COPY3D:
	case KRT_ROLE_IN_COPY3D_V1:
	case KRT_ROLE_IN_COPY3D_PEER:
	case KRT_ROLE_IN_ARRAY:
	case KRT_ROLE_IN_ARRAY3D:
	case KRT_ROLE_IN_DSTS:
	case KRT_ROLE_IN_SRCS:
	case KRT_ROLE_IN_SIZES:
	case KRT_ROLE_IN_ATTRS:
	case KRT_ROLE_IN_ATTR_IDX:
	case KRT_ROLE_IN_OPS3D:
	case KRT_ROLE_IN_MEMOPS:
	case KRT_ROLE_IN_HANDLES:
	case KRT_ROLE_IN_DIMS:
	case KRT_ROLE_IN_STRIDES:
	case KRT_ROLE_INOUT_STRUCT:
	case KRT_ROLE_IN_SEMS:
	case KRT_ROLE_IN_ACCESS:
	case KRT_ROLE_IN_LAUNCH:
	case KRT_ROLE_IN_LAUNCH_LIST:
	case KRT_ROLE_PARAMS:
	case KRT_ROLE_EXTRA:
	case KRT_ROLE_BYVAL:
	case KRT_NR_ROLES:
		break;
	}
}

static void set_blob(struct krt_call *c, enum krt_role role, uint8_t kind, struct krt_bytes b)
{
	switch (role) {
	case KRT_ROLE_OUT_ADDR:
		c->out_addr = load(&b);
		break;
	case KRT_ROLE_OUT_HANDLE:
		c->out_handle = load(&b);
		break;
	case KRT_ROLE_OUT_SIZE:
		c->out_size = load(&b);
		break;
	case KRT_ROLE_IN_STRING:
		c->string = b;
		break;
	case KRT_ROLE_IN_COPY2D:
	case KRT_ROLE_IN_COPY3D:
	case KRT_ROLE_IN_COPY3D_PEER:
		c->copy = b;
		break;
	case KRT_ROLE_IN_ARRAY:
	case KRT_ROLE_IN_ARRAY3D:
		c->array_desc = b;
		break;
	case KRT_ROLE_IN_DSTS:
		c->dsts = b;
		break;
	case KRT_ROLE_IN_SRCS:
		c->srcs = b;
		break;
	case KRT_ROLE_IN_SIZES:
		c->sizes = b;
		break;
	case KRT_ROLE_IN_ATTRS:
		c->attrs = b;
		break;
	case KRT_ROLE_IN_ATTR_IDX:
		c->attr_idx = b;
		break;
	case KRT_ROLE_IN_OPS3D:
		c->ops3d = b;
		break;
	case KRT_ROLE_IN_MEMOPS:
		c->memops = b;
		break;
	case KRT_ROLE_IN_HANDLES:
		c->handles = b;
		break;
	case KRT_ROLE_IN_DIMS:
		c->dims = b;
		break;
	case KRT_ROLE_IN_STRIDES:
		c->strides = b;
		break;
	case KRT_ROLE_INOUT_STRUCT:
		*(c->in.data ? &c->out : &c->in) = b;
		break;
	case KRT_ROLE_OUT_STRUCT:
		c->out = b;
		break;
	case KRT_ROLE_IN_SEMS:
		c->sems = b;
		break;
	case KRT_ROLE_IN_LAUNCH:
		c->launch = b;
		break;
	case KRT_ROLE_IN_LAUNCH_LIST:
		c->launch_list = b;
		break;
	case KRT_ROLE_PARAMS:
	case KRT_ROLE_EXTRA:
		c->params = b;
		c->params_kind = kind;
		break;
	case KRT_ROLE_IN_STRUCT:
	case KRT_ROLE_IN_ACCESS:
	case KRT_ROLE_BYVAL:
		c->in = b;
		break;
	default: /* a look-up result: not needed */
		break;
	}
}

/* Of the call, not of one of its arguments.  False: it is such a blob and too short. */
static bool call_blob(struct krt_call *c, uint8_t kind, struct krt_bytes b, bool *mine)
{
	*mine = true;
	switch ((enum krt_blob_kind)kind) {
	case KRT_BLOB_CAPTURE:
		c->capture = b.data;
		return b.len >= sizeof(*c->capture);
	case KRT_BLOB_FRAME:
		c->frame = b.data;
		return b.len >= sizeof(*c->frame);
	case KRT_BLOB_NODE:
		c->node_rec = b;
		return b.len >= sizeof(struct krt_node_rec);
	case KRT_BLOB_GRAPH:
		c->graph_rec = b;
		return b.len >= sizeof(struct krt_graph_rec);
	case KRT_BLOB_IMAGE:
		c->images = b;
		return true;
	case KRT_BLOB_POINTERS:
		c->pointers = b;
		return true;
	default:
		*mine = false;
		return true;
	}
}

bool krt_decode(const struct krt_rec *rec, size_t len, unsigned lane, struct krt_call *c)
{
	const struct krt_rec_call *r = (const void *)rec;
	size_t at;

	memset(c, 0, sizeof(*c));
	if (len < sizeof(*r) || rec->kind != KRT_REC_CALL || r->api >= KRT_NR_APIS)
		return false;
	c->rec = r;
	c->api = &krt_api[r->api];
	c->op = c->api->op;
	c->lane = lane;
	c->ok = r->result == 0;
	c->not_ready =
		r->result == 600 && (c->op == KRT_OP_STREAM_QUERY || c->op == KRT_OP_EVENT_QUERY ||
				     c->op == KRT_OP_EVENT_ELAPSED);
	at = sizeof(*r) + (size_t)r->argc * 8;
	if (r->argc != c->api->argc || r->argc > KRT_MAX_ARGS || at > len)
		return false;
	for (unsigned i = 0; i < r->argc; i++) {
		const struct krt_arg *a = &c->api->arg[i];

		set_plain(c, a->role, masked(r->args[i], a->width));
		c->have[a->role / 64] |= 1ull << a->role % 64;
	}
	while (at + sizeof(struct krt_blob) <= len) {
		const struct krt_blob *b = (const void *)((const char *)rec + at);
		struct krt_bytes data = {.data = b + 1, .len = b->len};
		bool mine;

		at += sizeof(*b);
		if (b->len > len - at || !call_blob(c, b->kind, data, &mine) ||
		    (!mine && b->arg >= r->argc))
			return false;
		if (!mine)
			set_blob(c, c->api->arg[b->arg].role, b->kind, data);
		at += ((size_t)b->len + 7) & ~(size_t)7;
	}
	return true;
}

uint64_t krt_u64_at(const struct krt_bytes *b, uint64_t i)
{
	uint64_t v = 0;

	if (b->data && i < b->len / 8)
		memcpy(&v, (const char *)b->data + i * 8, 8);
	return v;
}

unsigned krt_elem_size(const struct krt_api *api)
{
	if (api->flags & KRT_F_ELEM2)
		return 2;
	if (api->flags & KRT_F_ELEM4)
		return 4;
	return api->flags & KRT_F_ELEM8 ? 8 : 1;
}
