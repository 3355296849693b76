/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of types, spaces, opcodes and special registers, and questions about them. */
#include "ptx.h"
#include "table.h"

static const struct {
	const char *text;
	uint8_t bits, kind;
} types[PTX_TYPE_COUNT] = {
#define PTX_TYPE(ID, TEXT, BITS, KIND) [PTX_##ID] = { TEXT, BITS, PTX_KIND_##KIND },
#include "mod.def"
};

static const char *const spaces[PTX_SPACE_COUNT] = {
#define PTX_SPACE(ID, TEXT) [PTX_SPACE_##ID] = TEXT,
#include "mod.def"
};

const struct ptx_op_row ptx_ops[PTX_OP_COUNT] = {
	[PTX_OP_UNKNOWN] = { "", 0, PTX_MEM_ANY },
#define PTX_OP(ID, TEXT, DST, MEM, EXEC) [PTX_OP_##ID] = { TEXT, DST, PTX_MEM_##MEM },
#include "op.def"
};

const struct ptx_mod_row ptx_mods[PTX_M_COUNT] = {
	[PTX_M_NONE] = { "", 0, 0 },
#define PTX_TYPE(ID, TEXT, BITS, KIND) [PTX_M_##ID] = { TEXT, PTX_##ID, 0 },
#define PTX_SPACE(ID, TEXT) [PTX_M_SPACE_##ID] = { TEXT, 0, PTX_SPACE_##ID },
#define PTX_MOD(ID, TEXT) [PTX_M_##ID] = { TEXT, 0, 0 },
#include "mod.def"
};

const struct ptx_sreg_row ptx_sregs[PTX_SREG_COUNT] = {
	[PTX_SREG_OTHER] = { "", PTX_NONE, false },
#define PTX_SREG(ID, TEXT, TYPE, DIMS) [PTX_SREG_##ID] = { TEXT, PTX_##TYPE, DIMS },
#include "sreg.def"
};

unsigned ptx_type_bits(enum ptx_type t)
{
	return t < PTX_TYPE_COUNT ? types[t].bits : 0;
}

enum ptx_kind ptx_type_kind(enum ptx_type t)
{
	return t < PTX_TYPE_COUNT ? (enum ptx_kind)types[t].kind : PTX_KIND_BITS;
}

const char *ptx_type_text(enum ptx_type t)
{
	return t && t < PTX_TYPE_COUNT ? types[t].text : "";
}

const char *ptx_space_text(enum ptx_space s)
{
	return s && s < PTX_SPACE_COUNT ? spaces[s] : "";
}

const char *ptx_op_text(enum ptx_op op)
{
	return op < PTX_OP_COUNT ? ptx_ops[op].text : "";
}

unsigned ptx_op_dsts(enum ptx_op op)
{
	return op < PTX_OP_COUNT ? ptx_ops[op].dsts : 0;
}

enum ptx_mem ptx_op_mem(enum ptx_op op)
{
	return op < PTX_OP_COUNT ? (enum ptx_mem)ptx_ops[op].mem : PTX_MEM_ANY;
}

const char *ptx_sreg_text(enum ptx_sreg s)
{
	return s < PTX_SREG_COUNT ? ptx_sregs[s].text : "";
}

enum ptx_space ptx_space_base(enum ptx_space s)
{
	switch (s) {
	case PTX_SPACE_SHARED_CTA:
	case PTX_SPACE_SHARED_CLUSTER:
		return PTX_SPACE_SHARED;
	case PTX_SPACE_PARAM_ENTRY:
	case PTX_SPACE_PARAM_FUNC:
		return PTX_SPACE_PARAM;
	default:
		return s;
	}
}

bool ptx_inst_has(const struct ptx_inst *in, enum ptx_mod mod)
{
	for (unsigned i = 0; i < in->nmods; i++)
		if (in->mods[i] == mod)
			return true;
	return false;
}
