/* SPDX-License-Identifier: Apache-2.0 */
/* The tables themselves, for the parser; see table.c. */
#ifndef KRT_PTX_TABLE_H
#define KRT_PTX_TABLE_H

#include "ptx.h"

struct ptx_op_row {
	const char *text;
	uint8_t dsts, mem;
};
struct ptx_mod_row {
	const char *text;
	uint8_t type, space; /* enum ptx_type, enum ptx_space, or 0 */
};
struct ptx_sreg_row {
	const char *text;
	uint8_t type;
	bool dims;
};

extern const struct ptx_op_row ptx_ops[PTX_OP_COUNT];
extern const struct ptx_mod_row ptx_mods[PTX_M_COUNT];
extern const struct ptx_sreg_row ptx_sregs[PTX_SREG_COUNT];

#endif
