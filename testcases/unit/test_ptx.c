/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PTX front end: what it makes of the syntax, what it says of text that is
 * none, and that no text makes it crash or hang.
 */
#define _GNU_SOURCE
#include "../ptx/same.h"
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD ".version 8.3\n.target sm_90a, debug\n.address_size 64\n"

static struct ptx_module *parse(const char *text)
{
	struct ptx_error e;
	struct ptx_module *m = ptx_parse(text, strlen(text), &e);

	cr_assert(m, "line %u: %s", e.line, e.what);
	cr_assert_eq(e.line, 0);
	return m;
}

static char *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "r");
	char *text = malloc(1 << 20);

	cr_assert(f && text, "%s", path);
	*len = fread(text, 1, 1 << 20, f);
	fclose(f);
	return text;
}

Test(ptx, header)
{
	struct ptx_module *m = parse(HEAD);

	cr_assert_eq(ptx_version(m), 83);
	cr_assert_str_eq(ptx_target(m), "sm_90a");
	cr_assert_eq(ptx_target_sm(m), 90);
	cr_assert_eq(ptx_address_size(m), 64);
	cr_assert_eq(ptx_module_funcs(m), 0);
	cr_assert_null(ptx_find_func(m, "x"));
	cr_assert_gt(ptx_memory(m), 0);
	ptx_free(m);
	ptx_free(NULL);
	cr_assert(ptx_is_text("\0\0 // c\n/* d */ .version 8.0", 29));
	cr_assert_not(ptx_is_text("\177ELF.version 8.0", 16));
	cr_assert_not(ptx_is_text("", 0));
}

Test(ptx, parameters)
{
	struct ptx_module *m =
		parse(HEAD ".visible .entry k(.param .u32 a, .param .u64 .ptr .global .align 16 p, "
			   ".param .align 8 .b8 s[24],\n"
			   ".param .u8 c, .param .f64 d, .param .v4 .f32 v, .param .u16 h)\n"
			   ".maxntid 256, 2 .minnctapersm 3 .maxnreg 64 .pragma \"nounroll\"; "
			   ".future_thing 1, 2 { ret; }\n"
			   ".entry none .reqntid 32 { }\n.entry none2() .explicitcluster "
			   ".reqnctapercluster 2, 1, 4 { }\n"
			   ".func (.param .b32 r, .param .b64 q) f(.param .b64 x) .noreturn;\n"
			   ".weak .func f2(.reg .u32 a, .reg .pred p) .abi_preserve 8 { ret; }");
	const struct ptx_func *f = ptx_find_func(m, "k");
	static const struct { const char *name; uint64_t off, size; unsigned align;
	} want[] = {
		{"a", 0, 4, 4},	 {"p", 8, 8, 8},    {"s", 16, 24, 8}, {"c", 40, 1, 1},
		{"d", 48, 8, 8}, {"v", 64, 16, 16}, {"h", 80, 2, 2},
	};

	cr_assert(f && f->entry && f->body && f->parsed);
	cr_assert_eq(f->linkage, PTX_LINK_VISIBLE);
	cr_assert_eq(f->nparams, 7);
	cr_assert_eq(f->param_bytes, 82);
	for (unsigned i = 0; i < 7; i++) {
		cr_assert_str_eq(f->params[i]->name, want[i].name);
		cr_assert_eq(f->params[i]->offset, want[i].off);
		cr_assert_eq(f->params[i]->size, want[i].size);
		cr_assert_eq(f->params[i]->align, want[i].align);
		cr_assert_eq(f->params[i]->func, f);
	}
	cr_assert(f->params[1]->is_ptr && f->params[1]->ptr_space == PTX_SPACE_GLOBAL &&
		  f->params[1]->ptr_align == 16);
	cr_assert_not(f->params[0]->is_ptr);
	cr_assert(f->params[2]->array && f->params[2]->type == PTX_B8);
	cr_assert(f->maxntid[0] == 256 && f->maxntid[1] == 2 && f->maxntid[2] == 1);
	cr_assert(f->minnctapersm == 3 && f->maxnreg == 64 && !f->reqntid[0]);
	f = ptx_find_func(m, "none");
	cr_assert(f->nparams == 0 && f->reqntid[0] == 32 && f->reqntid[2] == 1);
	f = ptx_find_func(m, "none2");
	cr_assert(f->explicitcluster && f->reqcluster[0] == 2 && f->reqcluster[2] == 4);
	f = ptx_find_func(m, "f");
	cr_assert(!f->entry && !f->body && f->noreturn && f->nrets == 2 && f->rets[1]->size == 8);
	f = ptx_find_func(m, "f2");
	cr_assert(f->linkage == PTX_LINK_WEAK && f->params[1]->space == PTX_SPACE_REG);
	cr_assert_eq(f->reg_types[f->params[1]->reg], PTX_PRED);
	ptx_free(m);
}

Test(ptx, variables)
{
	struct ptx_module *m = parse(
		HEAD ".global .u32 plain;\n.const .align 16 .f32 f[3] = {1.0, 0f40000000, 3};\n"
		     ".visible .global .align 4 .b8 bytes[2][3] = {{1, 2}, {4}};\n"
		     ".global .s16 neg = -2;\n.global .u64 ptrs[] = {generic(plain), later+8, fn, "
		     "0xff};\n"
		     ".extern .shared .align 16 .b8 dyn[];\n.global .attribute(.managed) .align 8 "
		     ".u64 man;\n"
		     ".global .v4 .f32 vec = {1.0, 2.0, 3.0, 4.0};\n.global .f64 d = "
		     "0d3FF0000000000000;\n"
		     ".global .align 4 .b8 later[12] = {0xFF(plain), 0xFF00(plain), "
		     "0xFF0000(plain), 7};\n"
		     ".global .u32 expr[2] = {(1 << 4) + 2 * 3 - 1, 7 > 3 ? 0x10 : 1};\n.global "
		     ".f16 half = 1.5;\n"
		     ".extern .global .u32 ext;\n.visible .global .u32 ext = 5;\n.common .global "
		     ".u32 com;\n"
		     ".global .texref t;\n.global .samplerref s = { addr_mode_0 = wrap, "
		     "filter_mode = linear };\n"
		     ".func fn() { ret; }\n");
	const struct ptx_var *v = ptx_find_var(m, "plain");
	float x;

	cr_assert(v && v->space == PTX_SPACE_GLOBAL && v->size == 4 && v->align == 4 &&
		  !v->init_len);
	v = ptx_find_var(m, "f");
	cr_assert(v->space == PTX_SPACE_CONST && v->size == 12 && v->align == 16 &&
		  v->init_len == 12);
	for (unsigned i = 0; i < 3; i++) {
		memcpy(&x, v->init + 4 * i, 4);
		cr_assert_eq(x, (float)(i + 1));
	}
	v = ptx_find_var(m, "bytes");
	cr_assert(v->linkage == PTX_LINK_VISIBLE && v->size == 6 && v->init_len == 4);
	cr_assert_arr_eq(v->init, "\1\2\0\4", 4);
	v = ptx_find_var(m, "neg");
	cr_assert_arr_eq(v->init, "\xfe\xff", 2);
	v = ptx_find_var(m, "ptrs");
	cr_assert(v->size == 32 && !v->unsized && v->nrelocs == 3);
	cr_assert(v->relocs[0].generic && v->relocs[0].var == ptx_find_var(m, "plain") &&
		  v->relocs[0].size == 8);
	cr_assert(v->relocs[1].var == ptx_find_var(m, "later") && v->relocs[1].addend == 8 &&
		  v->relocs[1].offset == 8);
	cr_assert(v->relocs[2].func == ptx_find_func(m, "fn"));
	cr_assert_eq(v->init[24], 0xff);
	v = ptx_find_var(m, "dyn");
	cr_assert(v->unsized && v->size == 0 && v->linkage == PTX_LINK_EXTERN &&
		  v->space == PTX_SPACE_SHARED);
	cr_assert(ptx_find_var(m, "man")->managed);
	v = ptx_find_var(m, "vec");
	cr_assert(v->size == 16 && v->align == 16 && v->init_len == 16);
	memcpy(&x, v->init + 12, 4);
	cr_assert_eq(x, 4);
	cr_assert_eq(ptx_find_var(m, "d")->init[7], 0x3f);
	v = ptx_find_var(m, "later");
	cr_assert(v->nrelocs == 3 && v->relocs[1].shift == 8 && v->relocs[2].shift == 16 &&
		  v->relocs[2].size == 1);
	cr_assert_eq(v->init[3], 7);
	v = ptx_find_var(m, "expr");
	cr_assert(v->init[0] == 21 && v->init[4] == 16);
	cr_assert_arr_eq(ptx_find_var(m, "half")->init, "\x00\x3e", 2);
	v = ptx_find_var(m, "ext");
	cr_assert(v->linkage == PTX_LINK_VISIBLE && v->init[0] == 5);
	cr_assert_eq(ptx_find_var(m, "com")->linkage, PTX_LINK_COMMON);
	cr_assert_eq(ptx_find_var(m, "t")->type, PTX_TEXREF);
	for (uint32_t i = 0; i < ptx_module_vars(m); i++)
		cr_assert_eq(ptx_module_var(m, i)->index, i);
	cr_assert_null(ptx_module_var(m, ptx_module_vars(m)));
	ptx_free(m);
}

static const struct ptx_inst *inst(const struct ptx_func *f, unsigned i)
{
	cr_assert_lt(i, f->ninsts);
	return &f->insts[i];
}

static const char *reg_name(const struct ptx_func *f, uint32_t reg)
{
	static char buf[32];

	ptx_reg_name(f, reg, buf, sizeof(buf));
	return buf;
}

Test(ptx, operands)
{
	struct ptx_module *m = parse(
		HEAD
		".global .align 8 .u64 g[4];\n.func fn() { ret; }\n.entry k(.param .u64 p) {\n"
		".reg .b64 %rd<4>; .reg .b32 %r<20>, single; .reg .pred %p<3>; .reg .v2 .f32 %v; "
		".reg .b32 %r1_<3>;\n"
		"ld.global.v4.u32 {%r1, %r2, _, %r12}, [%rd1+-16];\n"
		"@!%p1 st.global.u64 [g+8], %rd2;\n"
		"mov.u64 %rd3, g+16;\nld.global.u64 %rd3, g[2];\nld.global.u64 %rd3, g[%r3];\n"
		"mov.u64 %rd3, fn;\nmov.u32 %r1_2, %ctaid.y;\nmov.f32 %v.y, 0f40490fdb;\n"
		"setp.lt.or.u32 %p1|%p2, %r1, 0xFFFFFFFF, !%p0;\n"
		"vmad.s32.u32.s32.shr7 %r1, %r2.b3, %r3.h1, -%r4;\n"
		"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
		"[%r1], [%rd1, {%r2, %r3}],\n"
		"  [%r4];\nmov.b64 {%r1, %r2}, 18446744073709551615;\nld.param.u64 %rd1, [p];\n"
		"add .u32 single , single,\n -3;\nadd.u32 %r1, %r2, %r3;ret;}\n");
	const struct ptx_func *f = ptx_find_func(m, "k");
	const struct ptx_inst *in = inst(f, 0);
	const struct ptx_operand *o;

	cr_assert(in->op == PTX_OP_LD && in->vec == 4 && in->mn->ntypes == 1 &&
		  in->mn->types[0] == PTX_U32);
	cr_assert(ptx_inst_space(in) == PTX_SPACE_GLOBAL && in->nops == 2 &&
		  in->pred == PTX_NO_REG);
	cr_assert_str_eq(in->mn->text, "ld.global.v4.u32");
	cr_assert(in->mn->nmods == 3 && ptx_inst_has(in, PTX_M_V4) &&
		  ptx_inst_has(in, PTX_M_SPACE_GLOBAL));
	cr_assert_str_eq(ptx_mod_text(m, in->mn->mods[0]), "global");
	o = in->ops;
	cr_assert(o->kind == PTX_O_VEC && o->n == 4 && o->elem[2].kind == PTX_O_SINK);
	cr_assert_str_eq(reg_name(f, o->elem[3].reg), "%r12");
	cr_assert_eq(f->reg_types[o->elem[3].reg], PTX_B32);
	o = &in->ops[1];
	cr_assert(o->kind == PTX_O_ADDR && o->n == 1 && o->imm == -16 &&
		  o->elem[0].kind == PTX_O_REG);
	cr_assert_str_eq(reg_name(f, o->elem[0].reg), "%rd1");

	in = inst(f, 1);
	cr_assert(in->pred != PTX_NO_REG && in->pred_not);
	cr_assert_str_eq(reg_name(f, in->pred), "%p1");
	cr_assert(in->ops[0].elem[0].kind == PTX_O_VAR && in->ops[0].imm == 8);
	cr_assert_eq(in->ops[0].elem[0].var, ptx_find_var(m, "g"));
	o = &inst(f, 2)->ops[1];
	cr_assert(o->kind == PTX_O_VAR && o->imm == 16);
	o = &inst(f, 3)->ops[1];
	cr_assert(o->kind == PTX_O_ADDR && o->elem[0].kind == PTX_O_VAR && o->imm == 16 &&
		  !(o->flags & PTX_OF_SCALED));
	o = &inst(f, 4)->ops[1];
	cr_assert(o->kind == PTX_O_ADDR && o->n == 2 && o->flags & PTX_OF_SCALED &&
		  o->elem[1].kind == PTX_O_REG);
	o = &inst(f, 5)->ops[1];
	cr_assert(o->kind == PTX_O_FUNC && o->func == ptx_find_func(m, "fn"));
	in = inst(f, 6);
	cr_assert_str_eq(reg_name(f, in->ops[0].reg), "%r1_2");
	cr_assert(in->ops[1].kind == PTX_O_SREG && in->ops[1].reg == PTX_SREG_CTAID &&
		  in->ops[1].sel == PTX_SEL_Y);
	in = inst(f, 7);
	cr_assert_str_eq(reg_name(f, in->ops[0].reg), "%v.y");
	cr_assert(in->ops[1].kind == PTX_O_F32 && in->ops[1].imm == 0x40490fdb);
	in = inst(f, 8);
	cr_assert(in->ops[0].kind == PTX_O_PAIR && in->ops[2].imm == 0xffffffff &&
		  in->ops[3].flags & PTX_OF_NOT);
	in = inst(f, 9);
	cr_assert(in->ops[1].sel == PTX_SEL_B3 && in->ops[2].sel == PTX_SEL_H1 &&
		  in->ops[3].flags & PTX_OF_NEG);
	in = inst(f, 10);
	cr_assert(in->op == PTX_OP_CP_BULK_TENSOR && in->mn->nspaces == 2 &&
		  in->mn->spaces[1] == PTX_SPACE_GLOBAL);
	cr_assert_eq(ptx_space_base(in->mn->spaces[0]), PTX_SPACE_SHARED);
	cr_assert_eq(ptx_op_mem(in->op), PTX_MEM_COPY);
	cr_assert(in->ops[1].n == 2 && in->ops[1].elem[1].kind == PTX_O_VEC &&
		  in->ops[1].elem[1].n == 2);
	in = inst(f, 11);
	cr_assert(in->ops[1].kind == PTX_O_INT && in->ops[1].flags & PTX_OF_UNSIGNED &&
		  in->ops[1].imm == -1);
	o = &inst(f, 12)->ops[1];
	cr_assert(o->elem[0].kind == PTX_O_VAR && o->elem[0].var == f->params[0]);
	in = inst(f, 13);
	cr_assert(in->op == PTX_OP_ADD && in->mn->types[0] == PTX_U32 && in->ops[2].imm == -3);
	cr_assert_eq(in->line, 22);
	cr_assert_str_eq(in->mn->text, "add.u32");
	cr_assert_eq(inst(f, 15)->op, PTX_OP_RET);
	cr_assert_eq(f->ninsts, 16);
	ptx_free(m);
}

Test(ptx, scopes_and_labels)
{
	struct ptx_module *m = parse(
		HEAD ".entry k() { .reg .u32 %r<4>; .reg .u64 %rd1; .reg .u32 x;\n"
		     "bra DONE;\n{ .reg .u64 x; .reg .u64 %r<2>; mov.u64 x, 1; mov.u64 %r1, 2; bra "
		     "IN; IN: bra IN; }\n"
		     "{ .reg .f64 %r2; mov.f64 %r2, 0d0000000000000000; IN: bra DONE; bra IN; }\n"
		     "mov.u32 x, 3; mov.u32 %r1, 4; mov.u64 %rd1, 5;\n"
		     "T: .branchtargets A, DONE, B;\nbrx.idx %r1, T;\nA: B:\nbra LATE; {{{ bra "
		     "LATE; }}}\nDONE: LATE: }\n");
	const struct ptx_func *f = ptx_find_func(m, "k");

	cr_assert_eq(f->reg_types[inst(f, 1)->ops[0].reg], PTX_U64);
	cr_assert_eq(f->reg_types[inst(f, 2)->ops[0].reg], PTX_U64);
	cr_assert_eq(f->labels[inst(f, 3)->ops[0].reg].inst, 4);
	cr_assert_eq(f->labels[inst(f, 4)->ops[0].reg].inst, 4);
	cr_assert_eq(f->reg_types[inst(f, 5)->ops[0].reg], PTX_F64);
	cr_assert_eq(f->labels[inst(f, 7)->ops[0].reg].inst, 6);
	cr_assert_eq(f->reg_types[inst(f, 8)->ops[0].reg], PTX_U32);
	cr_assert_eq(f->reg_types[inst(f, 9)->ops[0].reg], PTX_U32);
	cr_assert_eq(inst(f, 11)->op, PTX_OP_BRX);
	const struct ptx_table *t = &f->tables[inst(f, 11)->ops[1].reg];

	cr_assert(t->kind == PTX_TABLE_BRANCH && t->n == 3);
	cr_assert_eq(f->labels[t->labels[0]].inst, 12);
	cr_assert_eq(f->labels[t->labels[1]].inst, f->ninsts);
	cr_assert_eq(f->labels[t->labels[2]].inst, 12);
	cr_assert_eq(f->labels[inst(f, 0)->ops[0].reg].inst, f->ninsts);
	cr_assert_eq(f->labels[inst(f, 13)->ops[0].reg].inst, f->ninsts);
	ptx_free(m);
}

Test(ptx, calls)
{
	struct ptx_module *m =
		parse(HEAD ".extern .func (.param .b32 r) ext(.param .b64 a, .param .align 4 .b8 "
			   "s[12]);\n.func nothing();\n"
			   ".func (.param .b32 r) ext2(.param .b64 a);\n.alias other, nothing;\n"
			   ".entry k() { .reg .b64 %f; .reg .b32 %r;\n"
			   "{ .param .b64 a; .param .align 4 .b8 s[12]; .param .b32 r; call.uni "
			   "(r), ext, (a, s); }\n"
			   "call nothing;\ncall (%r), %f, (%f), P;\n"
			   "P: .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;\nC: "
			   ".calltargets nothing, other;\n"
			   "call %f, C; call (%r), %f, (%f), ext2; }\n.func nothing() { }\n");
	const struct ptx_func *f = ptx_find_func(m, "k");
	const struct ptx_inst *in = inst(f, 0);

	cr_assert(in->op == PTX_OP_CALL && in->nops == 4 && ptx_inst_has(in, PTX_M_UNI));
	cr_assert(in->ops[0].kind == PTX_O_LIST && in->ops[0].n == 1 &&
		  in->ops[0].elem[0].kind == PTX_O_VAR);
	cr_assert(in->ops[1].kind == PTX_O_FUNC && in->ops[1].func == ptx_find_func(m, "ext"));
	cr_assert(in->ops[2].n == 2 && in->ops[2].elem[1].var->size == 12 &&
		  in->ops[3].kind == PTX_O_NONE);
	in = inst(f, 1);
	cr_assert(in->ops[0].kind == PTX_O_NONE && in->ops[2].kind == PTX_O_NONE &&
		  in->ops[1].func->body);
	in = inst(f, 2);
	cr_assert(in->ops[1].kind == PTX_O_REG && in->ops[3].kind == PTX_O_TABLE);
	const struct ptx_table *t = &f->tables[in->ops[3].reg];

	cr_assert(t->kind == PTX_TABLE_PROTOTYPE && t->nrets == 1 && t->nparams == 1 &&
		  t->params[0]->size == 8);
	t = &f->tables[inst(f, 3)->ops[3].reg];
	cr_assert(t->kind == PTX_TABLE_CALL && t->n == 2 &&
		  t->funcs[1] == ptx_find_func(m, "other"));
	cr_assert_eq(t->funcs[1]->alias, ptx_find_func(m, "nothing"));
	cr_assert_eq(inst(f, 4)->ops[3].func, ptx_find_func(m, "ext2"));
	ptx_free(m);
}

/* What the table does not know is kept: text, and the operands where they can be read. */
Test(ptx, unknown)
{
	struct ptx_module *m =
		parse(HEAD ".entry k() { .reg .b64 %rd<3>; .reg .b32 %r<3>; .reg .pred %p;\n"
			   "@%p teleport.global.v2.u32 {%r1, %r2}, [%rd1+4];\n"
			   "quux.zz.b <weird $ syntax {nested ; is not}> , \"x;y\";\n"
			   "add.u32.brandnew %r1, %r2, 1;\nmov.u32 %r1, "
			   "%unheard_of;\nmma.sync.aligned.m123n8k77.f32 %r1, %r2;\n"
			   "frob;\n}\n");
	const struct ptx_func *f = ptx_find_func(m, "k");
	const struct ptx_inst *in = inst(f, 0);

	cr_assert(in->op == PTX_OP_UNKNOWN && in->pred != PTX_NO_REG && in->vec == 2 &&
		  in->mn->types[0] == PTX_U32);
	cr_assert_eq(ptx_op_mem(in->op), PTX_MEM_ANY);
	cr_assert_str_eq(in->mn->text, "teleport.global.v2.u32 {%r1, %r2}, [%rd1+4]");
	cr_assert(in->nops == 2 && in->ops[0].kind == PTX_O_VEC && in->ops[1].kind == PTX_O_ADDR);
	in = inst(f, 1);
	cr_assert(in->op == PTX_OP_UNKNOWN && in->nops == 1 && in->ops[0].kind == PTX_O_TEXT);
	cr_assert(in->odd);
	/* The statement ended at its first semicolon; the rest was one more. */
	in = inst(f, 2);
	cr_assert_eq(in->op, PTX_OP_UNKNOWN);
	in = inst(f, 3);
	cr_assert(in->op == PTX_OP_ADD && in->odd && in->nops == 3);
	cr_assert_str_eq(ptx_mod_text(m, in->mn->mods[1]), "brandnew");
	in = inst(f, 4);
	cr_assert(in->ops[1].kind == PTX_O_SREG && in->ops[1].reg == PTX_SREG_OTHER);
	cr_assert_str_eq(in->ops[1].text, "%unheard_of");
	cr_assert(inst(f, 5)->op == PTX_OP_MMA && !inst(f, 5)->odd);
	cr_assert(inst(f, 6)->op == PTX_OP_UNKNOWN && inst(f, 6)->nops == 0);
	ptx_free(m);
}

Test(ptx, debug_information)
{
	struct ptx_module *m =
		parse("//\n// Generated\n//\n" HEAD
		      "\t.file\t1 \"/a b/x.cu\"\n.file 2 \"y.h\", 1700000000, 123\n"
		      ".entry k() { .reg .u32 %r<3>;\n.loc\t1 5 3\n$L__func_begin0:\n.loc 2 7 0, "
		      "function_name $L__info_string0+4, inlined_at 1 5 3\n"
		      "mov.u32 %r1, 1;\n.loc 1 6 1\n.pragma \"nounroll\", "
		      "\"x\";\nret;\n$L__func_end0:\n}\n"
		      ".section\t.debug_abbrev\n{\n.b8 1, 17\n.b8 \"}\"\nlabel:\n.b32 "
		      ".debug_info+5\n/* } */\n}\n"
		      "\t.section\t.debug_str\n\t{\n$L__info_string0:\n.b8 0\n\t}\n@@DWARF "
		      ".section .debug_x { not closed\n"
		      ".pragma \"y\";\n");
	const struct ptx_func *f = ptx_find_func(m, "k");

	cr_assert_eq(f->ninsts, 2);
	cr_assert_eq(inst(f, 0)->line, 13);
	ptx_free(m);
	/* Embedded text: NULs for newlines, comments blanked. */
	static const char embedded[] = "\0\0.version 7.8\0.target sm_80\0.address_size "
				       "64\0\0.entry k()\0{\0.loc 1 2 3\0ret;\0}\0\0";
	struct ptx_error e;

	m = ptx_parse(embedded, sizeof(embedded) - 1, &e);
	cr_assert(m, "%u: %s", e.line, e.what);
	cr_assert_eq(ptx_find_func(m, "k")->insts[0].line, 10);
	ptx_free(m);
}

/* Each form of the ISA: nothing in it is unknown. */
Test(ptx, isa)
{
	static const char *const files[] = {PTX_DIR "/syntax.ptx", PTX_DIR "/basic.ptx",
					    PTX_DIR "/warp.ptx"};
	unsigned total = 0, ops = 0;
	bool seen[PTX_OP_COUNT] = { false };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		size_t len;
		char *text = slurp(files[i], &len);
		struct ptx_error e;
		struct ptx_module *m = ptx_parse(text, len, &e);

		free(text);
		cr_assert(m, "%s:%u: %s", files[i], e.line, e.what);
		for (uint32_t k = 0; k < ptx_module_funcs(m); k++) {
			const struct ptx_func *f = ptx_module_func(m, k);

			for (uint32_t j = 0; j < f->ninsts; j++) {
				const struct ptx_inst *in = &f->insts[j];

				cr_expect(in->op != PTX_OP_UNKNOWN && !in->odd, "%s:%u: %s",
					  files[i], in->line, in->mn->text);
				seen[in->op] = true;
				total++;
			}
		}
		ptx_free(m);
	}
	for (unsigned i = 1; i < PTX_OP_COUNT; i++)
		ops += seen[i];
	cr_assert_gt(total, 2500);
	cr_assert_gt(ops, 150, "only %u opcodes are in the corpus", ops);
}

/* The short way through usual instructions gives what the tokens give. */
Test(ptx, both_ways)
{
	unsigned texts = 0;
	glob_t g;

	cr_assert_eq(glob(PTX_DIR "/*.ptx", 0, NULL, &g), 0);
	cr_assert_eq(glob(PTX_DIR "/../kernels/*.ptx", GLOB_APPEND, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		size_t len, n = 0;
		char *text = slurp(g.gl_pathv[i], &len), *slow = ptx_commented(text, len, &n);
		struct ptx_module *a = ptx_parse(text, len, NULL),
				  *b = slow ? ptx_parse(slow, n, NULL) : NULL;

		cr_assert(a);
		if (slow) {
			uint32_t line;

			cr_assert(b, "%s", g.gl_pathv[i]);
			line = ptx_differ(a, b);
			cr_expect_eq(line, 0, "%s:%u", g.gl_pathv[i], line);
			texts++;
		}
		ptx_free(a);
		ptx_free(b);
		free(text);
		free(slow);
	}
	globfree(&g);
	cr_assert_gt(texts, 50);
}

/* Forms on the border of the short way. */
Test(ptx, nearly_usual)
{
	static const char *const lines[] = {
		"add.s32 %r1, %r01, 5;",
		"add.s32 %r1,%r2,0x1fffffffffffffff;",
		"add.s32 %r1, %r2, 017;",
		"add.s32 %r1, %r2, -0x10;",
		"add.s32 %r1, %r2, - 3;",
		"add.s32 %r1, %r2, 3U;",
		"add.s32 %r1, %r2, 1 + 2;",
		"add.s32 %r1, %r9, 1;",
		"add.s32 %r1, %r2, %r3",
		"add .s32 %r1, %r2, 4;",
		"add.s32 %r1 , %r2 , 4 ;",
		"@%p1 add.s32 %r1, %r2, 4;",
		"@ !%p1 add.s32 %r1, %r2, 4;",
		"@!%p1 bra L;",
		"ld.global.u32 %r1, [%rd1+-4];",
		"ld.global.u32 %r1, [%rd1 + 4];",
		"ld.global.u32 %r1, [%rd1-4];",
		"ld.global.u32 %r1, [ %rd1 ];",
		"ld.global.v2.u32 {%r1, %r2}, [%rd1];",
		"ld.global.v2.u32 {%r1,_}, [%rd1];",
		"mov.f32 %f1, 0f3F800000;",
		"mov.f32 %f1, 0f3F80000;",
		"mov.f64 %d1, 0D3FF0000000000000;",
		"mov.f32 %f1, -0f3F800000;",
		"mov.f32 %f1, 1.5;",
		"selp.b32 %r1, 1, 2, %p1;",
		"setp.lt.s32 %p1|%p1, %r1, %r2;",
		"bra.uni L;",
		"bra L ;",
		"bra N;",
		"ret;",
		"nosuch.u32 %r1, %r2;",
		"add.s32.nosuch %r1, %r2, 3;",
		"mov.u32 %r1, %tid.x;",
		"add.s32 %r1, %r2, %x2;",
		"add.s32 %r1, %r2, 9223372036854775808;",
		"add.s32 %r1, %r2, 0x;",
		"add.s32 %r1, %r2, 12L;",
		"L: add.s32 %r1, %r2, 3;",
		"M:: add.s32 %r1, %r2, 3;",
		"M:M2:bra M;",
		"add.s32: bra L;",
		"add..s32 %r1, %r2, 3;",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char text[600];
		size_t n = (size_t)snprintf(
			       text, sizeof(text),
			       HEAD ".entry k() {\n.reg .b32 %%r<5>;\n.reg .b64 %%rd<3>;\n"
				    ".reg .pred %%p<2>;\n.reg .f32 %%f<2>;\n"
				    ".reg .f64 %%d<2>;\n.reg .v2 .b32 %%x<3>;\n"
				    "add.s32 %%r1, %%r2, 3;\n%s\nL:\nadd.s32 %%r2, %%r1, 3;\n}\n",
			       lines[i]),
		       m = 0;
		char *slow = ptx_commented(text, n, &m);
		struct ptx_error ea, eb;
		struct ptx_module *a = ptx_parse(text, n, &ea), *b = ptx_parse(slow, m, &eb);

		cr_expect_eq(!a, !b, "%s: %s, %s", lines[i], ea.what, eb.what);
		cr_expect_eq(ea.line, eb.line, "%s", lines[i]);
		if (a && b)
			cr_expect_eq(ptx_differ(a, b), 0, "%s", lines[i]);
		ptx_free(a);
		ptx_free(b);
		free(slow);
	}
}

Test(ptx, lazy)
{
	size_t len;
	char *text = slurp(PTX_DIR "/warp.ptx", &len);
	struct ptx_module *eager = ptx_parse(text, len, NULL),
			  *lazy = ptx_parse_lazy(text, len, NULL);
	struct ptx_error e;

	cr_assert(eager && lazy);
	cr_assert_eq(ptx_module_funcs(eager), ptx_module_funcs(lazy));
	for (uint32_t i = ptx_module_funcs(lazy); i-- > 0;) {
		const struct ptx_func *a = ptx_module_func(eager, i);
		struct ptx_func *b = ptx_module_func(lazy, i);

		cr_assert_str_eq(a->name, b->name);
		cr_assert_eq(a->nparams, b->nparams);
		cr_assert(a->body == b->body && !b->parsed);
		cr_assert_eq(ptx_func_parse(lazy, b, &e), 0, "%u: %s", e.line, e.what);
		cr_assert_eq(ptx_func_parse(lazy, b, NULL), 0);
		cr_assert(a->ninsts == b->ninsts && a->nregs == b->nregs &&
			  a->nlabels == b->nlabels);
		for (uint32_t k = 0; k < a->ninsts; k++) {
			cr_assert_str_eq(a->insts[k].mn->text, b->insts[k].mn->text);
			cr_assert_eq(a->insts[k].line, b->insts[k].line);
		}
	}
	ptx_free(eager);
	ptx_free(lazy);
	free(text);
	/* A bad body is bad on its own, again and again. */
	static const char bad[] = HEAD ".entry good() { ret; }\n.entry bad() {\n{ .reg .u32 x; "
				       "add.u32 x, y, 1; } }\n.func more() { }";

	lazy = ptx_parse_lazy(bad, sizeof(bad) - 1, &e);
	cr_assert(lazy, "%s", e.what);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(ptx_func_parse(lazy, ptx_find_func(lazy, "bad"), &e), -1);
		cr_assert_eq(e.line, 6);
		cr_assert_str_eq(e.what, "name is not declared: 'y'");
		cr_assert_eq(ptx_func_parse(lazy, ptx_find_func(lazy, "good"), &e), 0);
	}
	ptx_free(lazy);
}

Test(ptx, errors)
{
	static const struct {
		const char *text;
		uint32_t line;
		const char *what;
	} rows[] = {
		{"", 1, "PTX starts with .version, not with: 'end of text'"},
		{"int main(void) {}", 1, "PTX starts with .version, not with: 'int'"},
		{".version x", 1, "expected a version such as 8.0 but found: 'x'"},
		{HEAD ".frobnicate", 4, "unknown directive: 'frobnicate'"},
		{HEAD "hello", 4, "expected a directive but found: 'hello'"},
		{HEAD ".entry k() {\nret\n}", 6, "expected an operand but found: '}'"},
		{HEAD ".entry k() {\nret;\n", 6, "function without an end: 'end of text'"},
		{HEAD ".entry k() { add.u32 %r1, 1, 2; }", 4, "register is not declared: '%r1'"},
		{HEAD ".entry k() { .reg .u32 %r<2>; add.u32 %r2, 1, 2; }", 4,
		 "register is not declared: '%r2'"},
		{HEAD ".entry k() { .reg .u32 %r<2>; add.u32 %r01, 1, 2; }", 4,
		 "register is not declared: '%r01'"},
		{HEAD ".entry k() {\n\nbra NOWHERE; }", 6, "label is not defined: 'NOWHERE'"},
		{HEAD ".entry k() { { L: } bra L; }", 4, "label is not defined: 'L'"},
		{HEAD ".entry k() { L: L: }", 4, "declared twice: 'L'"},
		{HEAD ".entry k() { .reg .u32 a, a; }", 4, "declared twice: 'a'"},
		{HEAD ".entry k() { }\n.entry k() { }", 5, "function defined twice: 'k'"},
		{HEAD ".func f(.param .b32 a);\n.func f() { }", 5,
		 "declared with other parameters before: 'f'"},
		{HEAD ".entry k() { call f; }", 4, "name is not declared: 'f'"},
		{HEAD ".entry k() { .reg .b64 %a; call %a, P; }", 4,
		 "target list or prototype is not defined: 'P'"},
		{HEAD ".entry k() { @p ret; }", 4, "expected a predicate register but found: 'p'"},
		{HEAD ".global .u32 x[2] = {1, 2, 3};", 4,
		 "more initial values than elements, at: '3'"},
		{HEAD ".global .u32 x[];", 4, "array without a size: 'x'"},
		{HEAD ".global .u32 x[-1];", 4, "array size out of range"},
		{HEAD ".global .u32 x[9999999999999];", 4, "array size out of range"},
		{HEAD ".global .u64 x[1000000][1000000];", 4, "variable too large: ']'"},
		{HEAD ".global .u32 x = 1 / 0;", 4, "division by zero in a constant: ';'"},
		{HEAD ".global .u64 x = nothing;", 4,
		 "initial value names what is not declared: 'nothing'"},
		{HEAD ".global .u32 x = 99999999999999999999;", 4,
		 "integer literal does not fit 64 bits"},
		{HEAD ".global .f32 x = 0f12;", 4, "floating point literal with too few digits"},
		{HEAD ".global .u32 x = 12abc;", 4, "letters right after a number"},
		{HEAD ".global .align 3 .u32 x;", 4,
		 "alignment is not a power of two up to 1048576"},
		{HEAD ".global x;", 4, "expected a type but found: 'x'"},
		{HEAD ".global .u32 .f32 x;", 4, "second type: 'f32'"},
		{HEAD "/* no end", 4, "comment without an end"},
		{HEAD ".section .x {", 4, "brace without an end"},
		{HEAD ".entry k() { .reg .u32 %r<9999999>; }", 4, "count out of range"},
		{HEAD ".entry k() { .reg .u32 %r<1000000>, %q<1000000>; }", 4,
		 "too many registers in a function, at: ';'"},
		{HEAD ".entry k() { .target sm_90 }", 4,
		 "directive that has no place in a function: 'target'"},
		{HEAD ".entry k() { frob \x01; }", 4, "character that has no place in PTX"},
		{HEAD ".entry k(.param .b8 x[2000000]) { }", 4, "parameters too large, at: ')'"},
		{".version 8.0\n.target sm_80\n.address_size 48", 3,
		 "address size is neither 32 nor 64, before: 'end of text'"},
		{HEAD ".alias a, b;", 4, "alias of a function that is not declared: 'b'"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ptx_error e;
		struct ptx_module *m = ptx_parse(rows[i].text, strlen(rows[i].text), &e);

		cr_expect_null(m, "row %zu parsed: %s", i, rows[i].text);
		ptx_free(m);
		cr_expect_eq(e.line, rows[i].line, "row %zu: line %u instead of %u: %s", i, e.line,
			     rows[i].line, e.what);
		cr_expect_str_eq(e.what, rows[i].what, "row %zu: %s instead of %s", i, e.what,
				 rows[i].what);
	}
}

/* Deep nesting and sheer size end in an error or a module, soon. */
Test(ptx, bounds)
{
	static const struct {
		const char *head, *unit, *tail;
	} rows[] = {
		{ HEAD ".entry k() { ", "{", "" },
		{ HEAD ".global .u32 x = ", "(", "1;" },
		{ HEAD ".global .u32 x = ", "-", "1;" },
		{ HEAD ".global .u32 x = 1", "?1:1", ";" },
		{ HEAD ".global .u32 x[5] = ", "{", "}" },
		{ HEAD ".entry k() { .reg .u32 r; mov.u32 ", "{", "r; }" },
		{ HEAD ".entry k() { .reg .u32 r; mov.u32 ", "[", "r; }" },
		{ HEAD ".entry k() { .reg .u32 r; mov.u32 r", "|r", "; }" },
		{ HEAD ".entry k() { .reg .u32 r; mov.u32 r", ", r", "; }" },
		{ HEAD ".entry k() { add", ".u32", "; }" },
		{ HEAD ".entry k() { ", "bra X; ", "X: }" },
		{ HEAD ".entry k() { ", "{ bra X; } ", "X: }" },
		{ HEAD ".entry k() { ", "{ bra X; ", "X: }" },
		{ HEAD, ";", "" },
		{ HEAD, "\n", "." },
		{ HEAD ".global .b8 x[] = {", "1,", "2};" },
		{ HEAD ".entry k(", ".param .u32 a, ", ".param .u32 b) { }" },
		{ HEAD ".entry k() ", ".maxntid 1 ", "{ }" },
		{ HEAD ".entry k() { unheard ", "\"", ";}" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = 20000, unit = strlen(rows[i].unit), head = strlen(rows[i].head),
		       tail = strlen(rows[i].tail);
		char *text = malloc(head + n * unit + tail);
		struct ptx_error e;
		struct ptx_module *m;

		cr_assert(text);
		memcpy(text, rows[i].head, head);
		for (size_t k = 0; k < n; k++)
			memcpy(text + head + k * unit, rows[i].unit, unit);
		memcpy(text + head + n * unit, rows[i].tail, tail);
		m = ptx_parse(text, head + n * unit + tail, &e);
		cr_expect(m || e.what[0], "row %zu: no module and no reason", i);
		ptx_free(m);
		free(text);
	}
}

/* ---- random damage ---- */

static uint64_t seed = 12345;

static uint32_t rnd(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % n;
}

static size_t damage(char *text, size_t len, size_t cap)
{
	static const char *const bits[] = {"{",
					   "}",
					   "(",
					   ")",
					   "[",
					   "]",
					   ";",
					   ",",
					   ":",
					   "@",
					   "|",
					   "<",
					   ">",
					   "+",
					   "-",
					   ".",
					   "\"",
					   "/*",
					   "*/",
					   "//",
					   "\n",
					   "%r1",
					   ".reg .b32 %r<9>;",
					   ".param",
					   ".u32",
					   ".v4",
					   "0x",
					   "0f",
					   "1.e",
					   "_",
					   "call",
					   "bra",
					   "ret",
					   ".entry",
					   ".func",
					   ".branchtargets",
					   "18446744073709551616",
					   "\xff",
					   "="};

	for (uint32_t n = 1 + rnd(6); n; n--) {
		uint32_t at = rnd((uint32_t)len), k = rnd(5);

		if (k == 0) {
			text[at] = (char)rnd(256);
		} else if (k == 1) {
			size_t cut = 1 + rnd(40);

			if (at + cut > len)
				cut = len - at;
			memmove(text + at, text + at + cut, len - at - cut);
			len -= cut;
			if (len < 8)
				return len;
		} else if (k == 2) {
			const char *s = bits[rnd(sizeof(bits) / sizeof(bits[0]))];
			size_t l = strlen(s);

			if (len + l <= cap) {
				memmove(text + at + l, text + at, len - at);
				memcpy(text + at, s, l);
				len += l;
			}
		} else if (k == 3) {
			uint32_t from = rnd((uint32_t)len), l = 1 + rnd(60);

			if (from + l <= len && at + l <= len)
				memmove(text + at, text + from, l);
		} else if (rnd(8) == 0) {
			len = at > 8 ? at : 8;
		}
	}
	return len;
}

Test(ptx, fuzz, .timeout = 240)
{
	static const char *const files[] = {PTX_DIR "/syntax.ptx", PTX_DIR "/warp.ptx",
					    PTX_DIR "/small.ptx"};
	const char *preload = getenv("LD_PRELOAD"), *env = getenv("KRT_PTX_FUZZ");
	unsigned rounds = env					   ? (unsigned)atoi(env)
			  : preload && strstr(preload, "valgrind") ? 60
								   : 600,
		 good = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		size_t len, n;
		char *text = slurp(files[i], &len), *copy;

		for (unsigned r = 0; r < rounds; r++) {
			struct ptx_error e;
			struct ptx_module *m;

			copy = malloc(len + 4096);
			cr_assert(copy);
			memcpy(copy, text, len);
			n = damage(copy, len, len + 4096);
			/* The end of the block is the end of the text: a read beyond it shows. */
			copy = realloc(copy, n ? n : 1);
			m = ptx_parse(copy, n, &e);
			cr_assert(m || e.what[0]);
			good += m != NULL;
			ptx_free(m);
			m = ptx_parse_lazy(copy, n, NULL);
			for (uint32_t k = 0; m && k < ptx_module_funcs(m); k++)
				(void)ptx_func_parse(m, ptx_module_func(m, k), NULL);
			ptx_free(m);
			free(copy);
		}
		free(text);
	}
	cr_assert_gt(good, 0, "the damage leaves nothing whole");
}
