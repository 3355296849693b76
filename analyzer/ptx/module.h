/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the PTX front end: the module and its string table. */
#ifndef KRT_PTX_MODULE_H
#define KRT_PTX_MODULE_H

#include "arena.h"
#include "ptx.h"

struct ptx_symbol;

/* An interned string and what it means at this point of the parse. */
struct ptx_name {
	struct ptx_name *next;
	uint32_t hash, len;
	struct ptx_symbol *sym;         /* innermost meaning */
	struct ptx_mnemonic *mnemonic;
	char text[];
};

struct ptx_body {                       /* where an unparsed body lies */
	const char *at;                 /* just after its brace */
	size_t len;
	uint32_t line;
	uint32_t ends; /* semicolons in it: at least as many as instructions */
};

struct ptx_module {
	struct ptx_arena arena;
	struct ptx_name **names;        /* hash table, calloc'd */
	uint32_t nnames, names_mask;
	const char **other_mods;        /* arena; ids from PTX_M_COUNT */
	uint32_t nother_mods, cap_other_mods;
	struct ptx_func **funcs;        /* malloc'd, grows */
	struct ptx_body *bodies;        /* per function, lazy modules only */
	uint32_t nfuncs, cap_funcs;
	struct ptx_var **vars;
	uint32_t nvars, cap_vars;
	const char *text, *end;         /* lazy modules: the text */
	unsigned version, sm, address_size;
	const char *target;
	bool lazy;
};

#endif
