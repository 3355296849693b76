/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel takes its buffers from a table in constant memory, of which it is
 * given the place to begin; one of them is copied out on another stream at once.
 * The entry that the kernel does not use may be.
 * EXPECT: KRT-RACE-RAW warning likely both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { ENTRIES = 5, USED = 4, N = 64 };

/* clang-format off */
static const char ptx[] =
	".version 7.0\n.target sm_50\n.address_size 64\n"
	".visible .const .align 8 .b8 table[40];\n"
	PTX_HEAD("from_table", ".param .u32 v")
	"	ld.param.u32 %r7, [v];\n"
	"	mul.wide.u32 %rd4, %r1, 8;\n"
	"	mov.u64 %rd5, table;\n"
	"	add.s64 %rd6, %rd5, %rd4;\n"
	"	ld.const.u64 %rd7, [%rd6];\n"
	"	mul.wide.u32 %rd8, %r3, 4;\n"
	"	add.s64 %rd9, %rd7, %rd8;\n"
	"	st.global.u32 [%rd9], %r7;\n"
	"	ret;\n}\n";
/* clang-format on */

int main(void)
{
	prog_start();
	CUstream s = stream_nb("batch"), fetch = stream_nb("fetch");
	CUdeviceptr entry[ENTRIES], table, out = device_u32("out", N);
	uint64_t cycles = SLOW;
	uint32_t v = 7;
	CUevent done = event();
	CUmodule module;
	CUfunction f;
	size_t size;

	CU(cuModuleLoadData(&module, ptx));
	f = prog_kernel(module, "from_table");
	CU(cuModuleGetGlobal(&table, &size, module, "table"));
	MUST(size == sizeof(entry));
	for (unsigned i = 0; i < ENTRIES; i++)
		entry[i] = device_u32("entry", N);
	CU(cuMemcpyHtoD(table, entry, sizeof(entry)));
	CU(cuCtxSynchronize());
	LAUNCH(f, USED, s, &v, &cycles);
	CU(cuMemcpyDtoDAsync(out, entry[USED], 4 * N, fetch));
#ifdef FIXED
	CU(cuEventRecord(done, s));
	CU(cuStreamWaitEvent(fetch, done, 0));
#endif
	CU(cuMemcpyDtoDAsync(out, entry[3], 4 * N, fetch));
	MUST(get_u32(entry[0], N - 1) == 7);
	CU(cuModuleUnload(module));
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
