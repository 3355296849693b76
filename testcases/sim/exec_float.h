/* SPDX-License-Identifier: Apache-2.0 */
/* Floating point part of the interpreter's decoder. */
#ifndef SIM_EXEC_FLOAT_H
#define SIM_EXEC_FLOAT_H

#include "exec_impl.h"

enum float_op { FLOAT_ADD, FLOAT_SUB, FLOAT_MUL, FLOAT_DIV, FLOAT_MIN, FLOAT_MAX };

/* f16, bf16, their pairs, f32, f64: what the interpreter computes with. */
bool exec_float_type(enum ptx_type t);
bool exec_float_binary(struct decoder *d, const struct ptx_inst *in, enum float_op op);
bool exec_float_fma(struct decoder *d, const struct ptx_inst *in);
bool exec_float_sign(struct decoder *d, const struct ptx_inst *in);
bool exec_packed_int(struct decoder *d, const struct ptx_inst *in);

/* Subnormal to zero of the same sign. */
static inline float exec_flush(float f)
{
	uint32_t b = (uint32_t)float_bits(f);

	return b & 0x7f800000 ? f : bits_float(b & 0x80000000);
}

#endif
