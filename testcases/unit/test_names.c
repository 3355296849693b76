/* SPDX-License-Identifier: Apache-2.0 */
/* Mangled names: what they say of parameters, and that in doubt they say nothing. */
#include "names.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One letter a parameter; "-": nothing known. */
static const char *says(const char *name)
{
	static char text[80];
	static const char letters[] = "?vscpto";
	struct krt_name_param p[64];
	int n = krt_names_params(name, p, 64);

	if (n < 0)
		return "-";
	for (int i = 0; i < n; i++)
		text[i] = letters[p[i].type];
	text[n] = 0;
	return text;
}

static const struct {
	const char *name, *want; /* v scalar, s class, c const pointer, p pointer, t table, o other */
} rows[] = {
	{"_Z1kv", ""},
	{"_Z5saxpyifPKfPf", "vvcp"},
	{"_Z5saxpyIfEviT_PKS0_PS0_", "vvcp"},
	{"_Z1kIKfEvPT_", "c"},                     /* T is const float */
	{"_Z1kIPfEvPKT_S2_", "tp"},                /* float *const *, and its S */
	{"_Z1kPKvPvPVKiPKKi", "cpcc"},
	{"_Z1kPPfPKPfPPKfPKPKf", "tttt"},
	{"_Z1kPA4_KfPA4_f", "cp"},
	{"_Z1kPFvPfE", "o"},
	{"_Z1kM1SiM1SFvvE", "oo"},
	{"_Z1kDhDF16_DF16bP6__halfPK13__nv_bfloat16", "vvvpc"},
	{"_ZN2ns4kernE4ViewPKNS_4DataEPS0_", "scp"},
	{"_ZL4kernPKiPi", "cp"},
	{"_ZN43_GLOBAL__N__d8cb9bb5_4_a_cu_6b4f4d3d_123454kernEPKfPfm", "cpv"},
	{"__nv_static_51__d8cb9bb5_8_a_cu_6b4f4d3d_1_Z4kernPKiPi", "-"},
	{"__nv_static_39__00000000_7_a_cpp1_ii_f3b1__Z4kernPKiPi", "cp"},
	/* functors and lambdas, packs */
	{"_Z5applyIZ4mainEUlfE_EvPKfPfT_", "cps"},
	{"_Z5applyIZ4mainEUlfE0_EvPfiT_", "pvs"},
	{"_Z1kIJPKfPfiEEvDpT_", "cpv"},
	{"_Z1kIJfdEEvDpPKT_", "cc"},
	{"_Z1kIJEEviDpT_", "v"},
	{"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
	 "vss"},
	{"_Z10vectorizedILi3EEvi5ArrayIXT_EPcE", "vs"},
	{"_Z1kI11__nv_dl_tagIPFvvEXadL_Z4mainEELj1EEEvT_Pf", "sp"},
	{"_Z1kSt4pairIPKfiES1_St6vectorIiSaIiEE", "scs"},
	/* nothing is sure */
	{"saxpy", "-"},
	{"triton_poi_fused_add_0", "-"},
	{"_Z", "-"},
	{"_Z5saxpy", "-"},
	{"_Z5saxpyifPKfPf.part.0", "-"},
	{"_Z1kPKfS5_", "-"},
	{"_Z1kT_", "-"},
	{"_Z1kIfEvDTfp_E", "-"},
	{"_ZN1AIfE1kIiEEvT_", "-"},
	{"_ZTV1A", "-"},
	{"_Z1kz", "-"},
	{"_Z10fill_typedIdEvPTs", "-"},
	{"_Z1kP", "-"},
};

Test(names, table)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_str_eq(says(rows[i].name), rows[i].want, "%s: %s, not %s", rows[i].name,
				 says(rows[i].name), rows[i].want);
}

Test(names, details)
{
	static const uint32_t right[] = {4, 4, 8, 8}, wrong[] = {4, 8, 8, 8};
	struct krt_name_param p[8];

	cr_assert_eq(krt_names_checked("_Z5saxpyifPKfPf", right, 4, p), 4);
	cr_assert(p[0].size == 4 && p[2].size == 8 && !p[2].class_data);
	cr_assert_eq(krt_names_checked("_Z5saxpyifPKfPf", wrong, 4, p), -1);
	cr_assert_eq(krt_names_checked("_Z5saxpyifPKfPf", right, 3, p), -1);
	cr_assert_eq(krt_names_checked("_Z5saxpyifPKfPf", wrong, 0, p), -1);
	cr_assert_eq(krt_names_checked("_Z1kv", NULL, 0, p), 0);
	cr_assert_eq(krt_names_params("_Z1kPPKfPPfPK1S", p, 8), 3);
	cr_assert(p[0].table_const && !p[1].table_const && p[2].class_data);
	cr_assert_eq(krt_names_params(NULL, p, 8), -1);
	cr_assert_eq(krt_names_params("_Z1kffffffffffff", p, 8), -1);
}

Test(names, any_text)
{
	char buf[400];

	srand(3);
	for (unsigned i = 0; i < 200000; i++) {
		const char *s = rows[(unsigned)rand() % (sizeof(rows) / sizeof(rows[0]))].name;
		size_t n = strlen(s);
		struct krt_name_param p[64];
		int r;

		memcpy(buf, s, n + 1);
		for (unsigned k = 0; k < 1 + i % 4; k++) {
			static const char alphabet[] = "_ZNIEJLSTPKRFADXUltn0123456789fiv";

			buf[(unsigned)rand() % n] = alphabet[(unsigned)rand() % (sizeof(alphabet) - 1)];
		}
		if (i % 7 == 0)
			buf[(unsigned)rand() % n] = 0;
		r = krt_names_params(buf, p, 64);
		cr_assert(r >= -1 && r <= 64);
	}
	/* deep and long */
	char *deep = malloc(70000);

	memset(deep, 'P', 69999);
	deep[69999] = 0;
	memcpy(deep, "_Z1k", 4);
	cr_assert_str_eq(says(deep), "-");
	deep[3000] = 0;
	cr_assert_str_eq(says(deep), "-");
	for (unsigned i = 4; i + 2 < 3000; i += 2)
		memcpy(deep + i, "1I", 2);
	cr_assert_str_eq(says(deep), "-");
	free(deep);
}
