/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a row of library.def means: which library, what sort of call, what each
 * argument is; and the words that a call's record carries behind its arguments.
 *
 * Used by the interposer (wrappers, what is looked up for a record) and by the
 * analyzer (which bytes a call reads and writes).  Constant data only; no locking.
 * Numbers of NVIDIA's enumerations are theirs and fixed.
 */
#ifndef KRT_LIBRARY_H
#define KRT_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

/* Beginning of the file name, what a call answers when its library is not there. */
#define KRT_LIBRARIES(X)             \
	X(CUBLAS, "libcublas.so", 1) /* CUBLAS_STATUS_NOT_INITIALIZED */ \
	X(CUBLASLT, "libcublasLt.so", 1) \
	X(NCCL, "libnccl.so", 3) /* ncclInternalError: it has none of that meaning */ \
	X(CUFFT, "libcufft.so", 5) /* CUFFT_INTERNAL_ERROR: nor this one */

enum krt_library_id {
#define X(name, file, missing) KRT_LIBRARY_##name,
	KRT_LIBRARIES(X)
#undef X
	KRT_NR_LIBRARIES
};

/* What a call does. */
enum krt_lib_kind {
	KRT_LIB_GEMM,  /* C = alpha op(A) op(B) + beta C */
	KRT_LIB_GEMV,  /* y (C) = alpha op(A) x (B) + beta y */
	KRT_LIB_GER,   /* A (C) += alpha x (A) y (B)' */
	KRT_LIB_AXPY,  /* y (C) += alpha x (A) */
	KRT_LIB_SCAL,  /* x (C) *= alpha */
	KRT_LIB_DOT,   /* result of x (A) and y (B) */
	KRT_LIB_NORM,  /* result of x (A) */
	KRT_LIB_COPY,  /* y (C) = x (A) */
	KRT_LIB_SWAP,  /* x (A) and y (C) */
	KRT_LIB_SYRK,  /* triangle of C = alpha op(A) op(A)' + beta C */
	KRT_LIB_SYR2K, /* the same of A and B */
	KRT_LIB_SYMM,  /* C = alpha A B + beta C, A (or B) one triangle */
	KRT_LIB_TRSM,  /* B (C) = alpha inverse(op(A)) B, A a triangle */
	KRT_LIB_GEAM,  /* C = alpha op(A) + beta op(B) */
	KRT_LIB_DGMM,  /* C = A times a diagonal (B) */
	KRT_LIB_LT_MATMUL,
	KRT_LIB_ALL_REDUCE,
	KRT_LIB_ALL_GATHER,
	KRT_LIB_REDUCE_SCATTER,
	KRT_LIB_BROADCAST,
	KRT_LIB_REDUCE,
	KRT_LIB_SEND,
	KRT_LIB_RECV,
	KRT_LIB_ALL_TO_ALL,
	KRT_LIB_GATHER,
	KRT_LIB_SCATTER,
	KRT_LIB_GROUP_START, /* not recorded: its calls tell which group they are of */
	KRT_LIB_GROUP_END,   /* the outermost one launches */
	KRT_LIB_FFT_EXEC,
	KRT_LIB_FFT_PLAN,    /* a plan's sizes; recorded after success */
	KRT_LIB_FFT_AREA,    /* the same: its work area */
	KRT_LIB_FFT_BLIND,   /* the same: it does more than can be told (callbacks) */
	KRT_LIB_FFT_FORGET,  /* the same: it is gone */
	KRT_LIB_WORKSPACE,   /* of a cuBLAS handle; not recorded, kept for its calls */
	KRT_LIB_NO_WORKSPACE, /* its workspace is the library's own again */
	KRT_LIB_ASK,         /* never wrapped: the recorder asks */
};

/* Arguments.  Bits beyond their width are garbage. */
#define KRT_LIB_ROLES(X)                                                                    \
	X(OTHER, 8) X(HANDLE, 8)                                                            \
	/* I32, or I64 in the _64 form */                                                   \
	X(M, 0) X(N, 0) X(K, 0) X(LDA, 0) X(LDB, 0) X(LDC, 0) X(INCA, 0) X(INCB, 0)         \
	X(INCC, 0) X(BATCH, 0)                                                              \
	X(TRANSA, 4) X(TRANSB, 4) X(SIDE, 4) X(UPLO, 4) X(DIAG, 4)                          \
	X(TYPEA, 4) X(TYPEB, 4) X(TYPEC, 4) X(TYPER, 4) X(TYPES, 4) X(COMPUTE, 4)           \
	X(STRIDEA, 8) X(STRIDEB, 8) X(STRIDEC, 8)                                           \
	/* operands on the device; tables of their addresses on the device */               \
	X(A, 8) X(B, 8) X(C, 8) X(TABLEA, 8) X(TABLEB, 8) X(TABLEC, 8)                      \
	/* on the host or on the device: the handle's pointer mode */                       \
	X(ALPHA, 8) X(BETA, 8) X(RESULT, 8)                                                 \
	/* cublasLt */                                                                      \
	X(D, 8) X(DESC, 8) X(LAYOUTA, 8) X(LAYOUTB, 8) X(LAYOUTC, 8) X(LAYOUTD, 8)          \
	X(WORKSPACE, 8) X(WORKBYTES, 8) X(STREAM, 8)                                        \
	/* NCCL */                                                                          \
	X(SEND, 8) X(RECV, 8) X(COUNT, 8) X(NTYPE, 4) X(ROOT, 4) X(COMM, 8)                 \
	/* cuFFT */                                                                         \
	X(PLAN, 4) X(PLAN_OUT, 8) X(IN, 8) X(OUT, 8) X(RANK, 4) X(NX, 4) X(NY, 4) X(NZ, 4)  \
	X(NS, 8) X(INEMBED, 8) X(ONEMBED, 8) X(FTYPE, 4) X(FBATCH, 0) X(ISTRIDE, 0)         \
	X(IDIST, 0) X(OSTRIDE, 0) X(ODIST, 0) X(ITYPE, 4) X(OTYPE, 4)

enum krt_lib_role {
#define X(name, width) KRT_LR_##name,
	KRT_LIB_ROLES(X)
#undef X
	KRT_NR_LIB_ROLES
};

enum krt_lib_flags {
	KRT_LIB_64 = 1 << 0,    /* integers, and arrays of them, are of 64 bits */
	KRT_LIB_REAL = 1 << 1,  /* scalars are real where the matrices are complex */
};

/* cudaDataType */
enum krt_lib_type {
	KRT_R_32F = 0,
	KRT_R_64F = 1,
	KRT_R_16F = 2,
	KRT_C_32F = 4,
	KRT_C_64F = 5,
	KRT_C_16F = 6,
	KRT_R_32I = 10,
	KRT_R_16BF = 14,
	KRT_C_16BF = 15,
};

#define KRT_LIB_MAX_ARGS 24

struct krt_lib_fn {
	const char *symbol;
	uint8_t library; /* enum krt_library_id */
	uint8_t kind;    /* enum krt_lib_kind */
	uint8_t type;    /* of all operands where no argument says it */
	uint8_t flags;   /* enum krt_lib_flags */
	uint8_t argc;
	uint8_t role[KRT_LIB_MAX_ARGS]; /* enum krt_lib_role */
};

enum krt_lib_fn_id {
#define KRT_LIB(sym, library, kind, type, flags, argc, ...) KRT_LIB_FN_##sym,
#include "library.def"
#undef KRT_LIB
	KRT_NR_LIB_FNS
};

/* Indexed by enum krt_lib_fn_id (library_table.c). */
extern const struct krt_lib_fn krt_lib_fn[KRT_NR_LIB_FNS];

/* Of every row here and in api.def, written to trace headers: readers refuse other tables. */
uint64_t krt_tables_hash(void);

/* Bits of an element of a cudaDataType, of an ncclDataType_t; 0: not known. */
unsigned krt_lib_type_bits(uint64_t type);
int krt_lib_type_complex(uint64_t type);
unsigned krt_nccl_type_bits(uint64_t type);
/* Bytes of alpha and beta: the scale type that belongs to a compute type; 0: not known. */
unsigned krt_lib_scalar_bytes(const struct krt_lib_fn *f, const uint64_t *args);
/* The argument of a role, cut to its width and sign-extended; absent: the alternative. */
uint64_t krt_lib_arg(const struct krt_lib_fn *f, const uint64_t *args, enum krt_lib_role role,
		     uint64_t absent);

/*
 * A record: the arguments as they were passed, the group (NCCL: which group of
 * the thread the call is of, 0: none), then by library the words below.  Zeros at
 * the end are left out.
 */
enum krt_lib_blas_word {
	KRT_LIB_GROUP,
	KRT_BLAS_MODE,      /* enum krt_blas_mode */
	KRT_BLAS_ALPHA,     /* 16 bytes, as far as alpha goes, where it lies on the host */
	KRT_BLAS_BETA = KRT_BLAS_ALPHA + 2,
	KRT_BLAS_WORKSPACE = KRT_BLAS_BETA + 2, /* of the handle, 0: the library's own */
	KRT_BLAS_WORKBYTES,
	KRT_NR_BLAS_WORDS,
};
/* Bits: which scalars were read. */
enum krt_blas_mode {
	KRT_BLAS_ALPHA_HOST = 1 << 0,
	KRT_BLAS_BETA_HOST = 1 << 1,
	KRT_BLAS_DEVICE = 1 << 2,     /* scalars and results lie on the device */
	KRT_BLAS_ALPHA_VECTOR = 1 << 3, /* so does alpha, one for each row of D */
	KRT_BLAS_BETA_VECTOR = 1 << 4,
	KRT_BLAS_BETA_ZERO = 1 << 5,
};

/*
 * What a matrix layout and a matmul descriptor of cublasLt are asked: name, number,
 * bytes, and when (enum krt_lt_when; later ones depend on the answers to earlier ones).
 */
#define KRT_LT_LAYOUT(X)                                                                    \
	X(TYPE, 0, 4, ALWAYS) X(ORDER, 1, 4, ALWAYS) X(ROWS, 2, 8, ALWAYS)                  \
	X(COLS, 3, 8, ALWAYS) X(LD, 4, 8, ALWAYS) X(BATCH, 5, 4, ALWAYS)                    \
	X(STRIDE, 6, 8, BATCH) X(PLANE, 7, 8, COMPLEX) X(BATCH_MODE, 8, 4, ALWAYS)
#define KRT_LT_DESC(X)                                                                      \
	X(SCALE_TYPE, 1, 4, ALWAYS) X(POINTER_MODE, 2, 4, ALWAYS) X(EPILOGUE, 7, 4, ALWAYS) \
	X(BIAS, 8, 8, BIAS) X(BIAS_STRIDE, 10, 8, BIAS) X(BIAS_TYPE, 26, 4, BIAS)           \
	X(AUX, 11, 8, AUX) X(AUX_LD, 12, 8, AUX) X(AUX_STRIDE, 13, 8, AUX)                  \
	X(AUX_TYPE, 22, 4, AUX) X(AUX_SCALE, 23, 8, AUX) X(AMAX_AUX, 24, 8, AUX)            \
	X(ALPHA_STRIDE, 14, 8, VECTOR)                                                      \
	X(A_SCALE, 17, 8, NARROW) X(B_SCALE, 18, 8, NARROW) X(C_SCALE, 19, 8, NARROW)       \
	X(D_SCALE, 20, 8, NARROW) X(AMAX_D, 21, 8, NARROW) X(A_SCALE_MODE, 31, 4, NARROW)   \
	X(B_SCALE_MODE, 32, 4, NARROW) X(C_SCALE_MODE, 33, 4, NARROW)                       \
	X(D_SCALE_MODE, 34, 4, NARROW) X(D_OUT_SCALE, 36, 8, NARROW)
enum krt_lt_when {
	KRT_LT_IF_ALWAYS = 1 << 0,
	KRT_LT_IF_BATCH = 1 << 1,   /* there are several matrices */
	KRT_LT_IF_COMPLEX = 1 << 2, /* its parts may lie in planes */
	KRT_LT_IF_BIAS = 1 << 3,    /* the epilogue has one, or its gradient */
	KRT_LT_IF_AUX = 1 << 4,     /* the epilogue has a matrix of its own */
	KRT_LT_IF_VECTOR = 1 << 5,  /* alpha is one */
	KRT_LT_IF_NARROW = 1 << 6,  /* some elements have 8 bits at most: such have scales */
};
/* cublasLtEpilogue_t is made of bits. */
enum krt_lt_epilogue {
	KRT_EPI_RELU = 2,
	KRT_EPI_BIAS = 4,
	KRT_EPI_DRELU = 8,
	KRT_EPI_BGRAD = 16,
	KRT_EPI_GELU = 32,
	KRT_EPI_DGELU = 64,
	KRT_EPI_AUX = 128,
	KRT_EPI_BGRADA = 256,
	KRT_EPI_BGRADB = 512,
};
enum krt_lt_layout_word {
#define X(name, number, bytes, when) KRT_LT_##name,
	KRT_LT_LAYOUT(X)
#undef X
	KRT_NR_LT_LAYOUT
};
enum krt_lt_desc_word {
#define X(name, number, bytes, when) KRT_LD_##name,
	KRT_LT_DESC(X)
#undef X
	KRT_NR_LT_DESC
};
#define KRT_LT_UNSAID UINT64_MAX /* the library does not know the attribute; 0: it was not asked */
/* Behind the words of cuBLAS: layouts of A, B, C, D, then the descriptor. */
#define KRT_LT_WORD(operand, name)                                                          \
	(KRT_NR_BLAS_WORDS + (operand) * KRT_NR_LT_LAYOUT + KRT_LT_##name)
#define KRT_LD_WORD(name)          (KRT_NR_BLAS_WORDS + 4 * KRT_NR_LT_LAYOUT + KRT_LD_##name)
#define KRT_NR_LT_WORDS            (KRT_NR_BLAS_WORDS + 4 * KRT_NR_LT_LAYOUT + KRT_NR_LT_DESC)

enum krt_lib_nccl_word {
	KRT_NCCL_RANKS = KRT_LIB_GROUP + 1, /* of the communicator, 0: not told */
	KRT_NCCL_RANK,                      /* UINT64_MAX: not told */
	KRT_NR_NCCL_WORDS,
};

enum krt_lib_fft_word {
	KRT_FFT_PLAN = KRT_LIB_GROUP + 1, /* the handle */
	KRT_FFT_AREA_BYTES,
	KRT_FFT_NS,                       /* three each; what is behind the rank is 0 */
	KRT_FFT_INEMBED = KRT_FFT_NS + 3, /* all 0: the basic layout */
	KRT_FFT_ONEMBED = KRT_FFT_INEMBED + 3,
	KRT_NR_FFT_WORDS = KRT_FFT_ONEMBED + 3,
};

#define KRT_LIB_MAX_WORDS (KRT_LIB_MAX_ARGS + KRT_NR_LT_WORDS)
/* How many words the record of f has behind its arguments. */
unsigned krt_lib_words(const struct krt_lib_fn *f);

#endif
