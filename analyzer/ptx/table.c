/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of types, spaces, opcodes and special registers; narrow floats. */
#include "ptx.h"
#include "table.h"
#include <string.h>

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
	for (unsigned i = 0; i < in->mn->nmods; i++)
		if (in->mn->mods[i] == mod)
			return true;
	return false;
}

uint16_t ptx_narrow_float(double d, unsigned ebits, unsigned mbits)
{
	uint64_t b, sign, man;
	int exp, bias = (1 << (ebits - 1)) - 1, e;
	unsigned shift = 52 - mbits;
	uint64_t inf = ((UINT64_C(1) << ebits) - 1) << mbits, half, rest;

	memcpy(&b, &d, sizeof(b));
	sign = b >> 63 << (ebits + mbits);
	exp = (int)(b >> 52 & 0x7ff) - 1023;
	man = (b & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
	if (exp == 1024)
		return (uint16_t)(man & ((UINT64_C(1) << 52) - 1) ? 0x7fff : sign | inf);
	if (exp == -1023)
		return (uint16_t)sign; /* a double's subnormals are far below */
	e = exp + bias;
	if (e <= 0) {
		if (shift + 1u - (unsigned)e > 60)
			return (uint16_t)sign;
		shift += 1u - (unsigned)e;
		e = 0;
	} else {
		man &= (UINT64_C(1) << 52) - 1;
	}
	rest = man & ((UINT64_C(1) << shift) - 1);
	half = UINT64_C(1) << (shift - 1);
	man >>= shift;
	if (rest > half || (rest == half && man & 1))
		man++;
	man += (uint64_t)e << mbits; /* a carry goes into the exponent, as it should */
	if (man >= inf)
		man = inf;
	return (uint16_t)(sign | man);
}
