/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.def as a table, and what can be said of a row without asking anybody.
 * See library.h.
 */
#include "library.h"
#include "api.h"

const struct krt_lib_fn krt_lib_fn[KRT_NR_LIB_FNS] = {
#define L(role) KRT_LR_##role,
#define KRT_LIB(sym, lib, kn, ty, fl, n, ...)                                               \
	[KRT_LIB_FN_##sym] = { .symbol = #sym, .library = KRT_LIBRARY_##lib,                \
			       .kind = KRT_LIB_##kn, .type = (ty), .flags = (fl),           \
			       .argc = (n), .role = { __VA_ARGS__ } },
#include "library.def"
#undef KRT_LIB
#undef L
};

static uint64_t fnv(uint64_t h, const void *p, size_t n)
{
	const unsigned char *c = p;

	while (n--)
		h = (h ^ *c++) * 0x100000001b3ull;
	return h;
}

uint64_t krt_tables_hash(void)
{
	uint64_t h = krt_api_hash();

	for (unsigned i = 0; i < KRT_NR_LIB_FNS; i++) {
		const struct krt_lib_fn *f = &krt_lib_fn[i];

		for (const char *s = f->symbol; *s; s++)
			h = fnv(h, s, 1);
		h = fnv(h, &f->library, sizeof *f - offsetof(struct krt_lib_fn, library));
	}
	return h;
}

unsigned krt_lib_type_bits(uint64_t type)
{
	static const uint8_t bits[] = {
		32, 64, 16, 8,  64, 128, 32, 16, 8,  16,     /* R_32F .. C_8U */
		32, 64, 32, 64, 16, 32,  4,  8,  4,  8,      /* R_32I .. C_4U */
		16, 32, 16, 32, 64, 128, 64, 128,            /* R_16I .. C_64U */
		/* R_8F_E4M3 .. R_4F_E2M1; how 6 bits are packed is not known */
		8,  8,  8,  0,  0,  4,
	};

	return type < sizeof bits ? bits[type] : 0;
}

unsigned krt_nccl_type_bits(uint64_t type)
{
	/* int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, fp8 */
	static const uint8_t bits[] = { 8, 8, 32, 32, 64, 64, 16, 32, 64, 16, 8, 8 };

	return type < sizeof bits ? bits[type] : 0;
}

uint64_t krt_lib_arg(const struct krt_lib_fn *f, const uint64_t *args, enum krt_lib_role role,
		     uint64_t absent)
{
	static const uint8_t width[] = {
#define X(name, bytes) bytes,
		KRT_LIB_ROLES(X)
#undef X
	};

	for (unsigned i = 0; i < f->argc; i++) {
		if (f->role[i] != role)
			continue;
		if (width[role] == 4 || (!width[role] && !(f->flags & KRT_LIB_64)))
			return (uint64_t)(int64_t)(int32_t)args[i];
		return args[i];
	}
	return absent;
}

int krt_lib_type_complex(uint64_t type)
{
	return (type >= 4 && type <= 7) || (type >= 8 && type <= 27 && type & 1);
}

unsigned krt_lib_scalar_bytes(const struct krt_lib_fn *f, const uint64_t *args)
{
	uint64_t compute = krt_lib_arg(f, args, KRT_LR_COMPUTE, UINT64_MAX);
	uint64_t type = krt_lib_arg(f, args, KRT_LR_TYPES, f->type);
	unsigned bytes;

	if (compute != UINT64_MAX && compute >= 64) { /* cublasComputeType_t */
		switch (compute) {
		case 64: case 65: /* 16F */
			bytes = 2;
			break;
		case 70: case 71: case 79: /* 64F */
			bytes = 8;
			break;
		case 68: case 69: case 72: case 73: case 74: case 75: /* 32F, 32I */
		case 77: case 78:
			bytes = 4;
			break;
		default:
			return 0;
		}
		if (krt_lib_type_complex(krt_lib_arg(f, args, KRT_LR_TYPEC, f->type)))
			bytes *= 2;
		return bytes;
	}
	if (compute != UINT64_MAX) /* of old callers: the type itself */
		type = compute;
	bytes = krt_lib_type_bits(type) / 8;
	return f->flags & KRT_LIB_REAL ? bytes / 2 : bytes;
}

unsigned krt_lib_words(const struct krt_lib_fn *f)
{
	static const uint8_t words[] = {
		[KRT_LIBRARY_CUBLAS] = KRT_NR_BLAS_WORDS,
		[KRT_LIBRARY_CUBLASLT] = KRT_NR_LT_WORDS,
		[KRT_LIBRARY_NCCL] = KRT_NR_NCCL_WORDS,
		[KRT_LIBRARY_CUFFT] = KRT_NR_FFT_WORDS,
	};

	return words[f->library];
}
