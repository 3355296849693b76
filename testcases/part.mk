# SPDX-License-Identifier: Apache-2.0

# --- GPU: built here, run where there is a card (testcases/gpu/run.sh) ---
ALL += $(O)/testcases/gpu-peers $(O)/testcases/gpu-unload $(O)/testcases/gpu-graph_answers
$(O)/testcases/gpu-%: testcases/gpu/%.c interposer/cuabi.h $(O)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -MMD -MP -o $@ $< -L$(O)/sim -l:libcuda.so.1

ALL += $(O)/testcases/gpu-count_calls.so
$(O)/testcases/gpu-count_calls.so: testcases/gpu/count_calls.c
	@mkdir -p $(@D)
	$(call msg,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -fPIC -shared -fvisibility=hidden -o $@ $<

ALL += $(O)/testcases/capture-queries
$(O)/testcases/capture-queries: testcases/gpu/capture_queries.c testcases/common/prog.h interposer/cuabi.h $(O)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) -Itestcases/common $(CFLAGS_ALL) $(CFLAGS) -MMD -MP -o $@ $< -L$(O)/sim -l:libcuda.so.1 -lpthread

# --- unit tests: testcases/unit/test_NAME.c -> $(O)/unit/NAME ------------------
# One Criterion binary a file, linked with libkrtcore.a.  What a test needs
# besides goes into UNIT_EXTRA_NAME (objects and archives, built first),
# UNIT_CFLAGS_NAME and UNIT_LIBS_NAME, set in any part.mk.
.SECONDEXPANSION:
UNIT_NAMES := $(patsubst testcases/unit/test_%.c,%,$(wildcard testcases/unit/test_*.c))
UNIT_BINS  := $(UNIT_NAMES:%=$(O)/unit/%)
# Criterion's macros shadow nothing of ours, but its tests have no prototypes.
UNIT_CFLAGS = $(CFLAGS_ALL) $(CFLAGS) -Wno-missing-prototypes -Itestcases/unit -I.
TESTS += unit unit-valgrind
.PHONY: unit unit-valgrind
.PRECIOUS: $(O)/unit/test_%.o

$(O)/unit/test_%.o: testcases/unit/test_%.c
	$(call msg,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNIT_CFLAGS) $(UNIT_CFLAGS_$*) -MMD -MP -c -o $@ $<

$(UNIT_BINS): $(O)/unit/%: $(O)/unit/test_%.o $$(UNIT_EXTRA_$$*) $(O)/libkrtcore.a
	$(call msg,LD,$@)
	$(Q)$(CC) $(OPT) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) -lcriterion $(UNIT_LIBS_$*) -l:libstdc++.a

# The planted leak and the planted error show that the valgrind check can fail.
UNIT_PLANTED := $(O)/unit/planted/leak $(O)/unit/planted/error
$(UNIT_PLANTED): $(O)/unit/planted/%: testcases/unit/planted_%.c
	$(call msg,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNIT_CFLAGS) $(LDFLAGS) -o $@ $< -lcriterion

unit: $(UNIT_BINS)
	$(Q)testcases/unit/run.sh $(UNIT_BINS)

unit-valgrind: $(UNIT_BINS) $(UNIT_PLANTED)
	$(Q)testcases/unit/run.sh --valgrind $(O)/unit/logs --planted $(UNIT_PLANTED) --tests $(UNIT_BINS)
# --- end of unit tests ---------------------------------------------------------

# --- unit tests of reader, symbols and reports -----------------------------------
UNIT_CFLAGS_json = -DKRT_SCHEMA='"$(CURDIR)/reports/schema/krtsan-report-1.json"'
UNIT_LIBS_json = -lcjson
UNIT_LIBS_perfetto = -lcjson -lm
UNIT_LIBS_report_read = $(REPORT_LIBS)
UNIT_LIBS_suppress = $(REPORT_LIBS)
UNIT_LIBS_symbols = $(DW_LIBS)
UNIT_LIBS_session = $(DW_LIBS) $(IMAGE_LIBS)
UNIT_CFLAGS_shipped = -DLAUNCHES='"$(CURDIR)/testcases/launches"'
UNIT_CFLAGS_image = -DIMAGES='"$(CURDIR)/testcases/images"' -DCORPUS='"$(CURDIR)/testcases/kernels"'
UNIT_LIBS_image = $(IMAGE_LIBS)
UNIT_CFLAGS_image_store = $(UNIT_CFLAGS_image)
UNIT_LIBS_image_store = $(IMAGE_LIBS)
UNIT_LIBS_reader = $(IMAGE_LIBS)
UNIT_LIBS_packed = $(IMAGE_LIBS)
# --- end of unit tests of reader, symbols and reports ----------------------------
# --- unwinder, module map, heap hooks -------------------------------------------
# testcases/unwind: the unwinder in a library of its own against libgcc's.
UNWIND_OBJ := $(addprefix $(O)/interposer/,unwinder.c.o modules.c.o next.c.o)
UNWIND_CFLAGS = $(CFLAGS_ALL) -D_GNU_SOURCE -Itestcases/unwind
UNWIND_CHAINS := O0 O2 fp Os bare bare_fp
UNWIND_PLUGS := $(addprefix $(O)/unwind/,plug1.so plug2.so plug3.so plug4.so plain1.so plain2.so)
UNWIND_CHAIN_O0 := -O0
UNWIND_CHAIN_O2 := -O2 -fomit-frame-pointer
UNWIND_CHAIN_fp := -O2 -fno-omit-frame-pointer
UNWIND_CHAIN_Os := -Os
UNWIND_CHAIN_bare := -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer
UNWIND_CHAIN_bare_fp := -O1 -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-omit-frame-pointer \
	-fno-optimize-sibling-calls
CXX ?= g++
TESTS += unwind
.PHONY: unwind bench-unwind

$(O)/unwind/chain_%.o: testcases/unwind/chain.c
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNWIND_CFLAGS) $(UNWIND_CHAIN_$*) -DNAME=$* -MMD -MP -c -o $@ $<

$(O)/unwind/chain_cxx.o: testcases/unwind/chain_cxx.cc
	$(call msg,CXX,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -O2 -g -MMD -MP -c -o $@ $<

$(O)/unwind/stub.o: testcases/unwind/stub.c
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNWIND_CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

$(O)/unwind/plug%.so: testcases/unwind/plugin.c
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -O1 -g -fPIC -shared -Wl,--build-id -DPAD=$**32 -o $@ $<

$(O)/unwind/plain%.so: testcases/unwind/plugin.c
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -O1 -g -fPIC -shared -Wl,--build-id=none -DPAD=$**32 -o $@ $<

$(O)/unwind/libkrtunwind.so: testcases/unwind/check.c $(O)/unwind/stub.o $(UNWIND_OBJ)
	$(call msg,LD,$@)
	$(Q)$(CC) $(UNWIND_CFLAGS) -fPIC -fvisibility=hidden -shared -Wl,-Bsymbolic -Wl,-soname,libkrtunwind.so \
		-Wl,--build-id -o $@ $^

# -z now: no frames of the lazy binder, which only a debugger could follow
$(O)/unwind/torture: testcases/unwind/torture.c $(UNWIND_CHAINS:%=$(O)/unwind/chain_%.o) \
		$(O)/unwind/chain_cxx.o $(O)/unwind/libkrtunwind.so
	$(call msg,LD,$@)
	$(Q)$(CC) $(UNWIND_CFLAGS) -O1 -MMD -MP -o $@ $(filter %.c %.o,$^) -L$(O)/unwind -Wl,-z,now \
		-Wl,-rpath,'$$ORIGIN' -lkrtunwind -lpthread -ldl -lstdc++

$(O)/unwind/bench: testcases/bench/bench_unwind.c $(O)/unwind/chain_O2.o $(O)/unwind/stub.o $(UNWIND_OBJ)
	$(call msg,LD,$@)
	$(Q)$(CC) $(UNWIND_CFLAGS) -O2 -MMD -MP -o $@ $(filter %.c %.o,$^) -ldl

# with everything exported, for the program to drive; no builtins: the compiler knows that free has no effects
$(O)/unwind/libkrtheap.so: $(addprefix interposer/,heap.c unwinder.c modules.c next.c) testcases/unwind/stub.c
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNWIND_CFLAGS) -fPIC -ftls-model=initial-exec -shared -Wl,-soname,libkrtheap.so \
		-Wl,--build-id -o $@ $^

$(O)/unwind/heap_torture: testcases/unwind/heap_torture.c $(O)/unwind/libkrtheap.so
	$(call msg,LD,$@)
	$(Q)$(CC) $(UNWIND_CFLAGS) -fno-builtin -MMD -MP -o $@ $< -L$(O)/unwind -Wl,-rpath,'$$ORIGIN' -lkrtheap -lpthread

unwind: $(O)/unwind/torture $(O)/unwind/heap_torture $(UNWIND_PLUGS)
	$(Q)testcases/unwind/run.sh $(O)/unwind

$(O)/unwind/bench_heap: testcases/bench/bench_heap.c $(O)/unwind/libkrtheap.so
	$(call msg,LD,$@)
	$(Q)$(CC) $(UNWIND_CFLAGS) -O2 -fno-builtin -MMD -MP -o $@ $< -L$(O)/unwind -Wl,-rpath,'$$ORIGIN' -lkrtheap

bench-unwind: $(O)/unwind/bench $(O)/unwind/bench_heap
	$(Q)$(O)/unwind/bench
	$(Q)$(O)/unwind/bench_heap

UNIT_EXTRA_unwind := $(addprefix $(O)/interposer/,modules.c.o next.c.o) $(O)/unwind/stub.o
UNIT_CFLAGS_unwind := -D_GNU_SOURCE -Itestcases/unwind
UNIT_EXTRA_heap := $(UNWIND_OBJ) $(O)/unwind/stub.o
UNIT_CFLAGS_heap := -D_GNU_SOURCE -Itestcases/unwind
UNIT_EXTRA_modules := $(UNWIND_OBJ) $(O)/unwind/stub.o $(UNWIND_PLUGS)
UNIT_CFLAGS_modules := -D_GNU_SOURCE -Itestcases/unwind -DPLUGIN_DIR='"$(abspath $(O))/unwind"'
UNIT_EXTRA_clock := $(O)/interposer/clock.c.o
UNIT_CFLAGS_clock := -D_GNU_SOURCE
UNIT_EXTRA_pointers := $(O)/interposer/pointers.c.o
UNIT_CFLAGS_pointers := -D_GNU_SOURCE
# --- end of unwinder, module map, heap hooks -------------------------------------

# --- PTX interpreter of the simulated driver, and its front end -------------------
SIM_EXEC_SRC := $(wildcard testcases/sim/exec*.c analyzer/ptx/*.c)
UNIT_EXTRA_exec := $(patsubst %.c,$(O)/simobj/%.o,$(wildcard testcases/sim/exec*.c))
UNIT_CFLAGS_exec := -DPTX_DIR='"$(CURDIR)/testcases/ptx"'
UNIT_LIBS_exec := -lm
UNIT_CFLAGS_ptx := $(UNIT_CFLAGS_exec)
UNIT_EXTRA_flow := $(UNIT_EXTRA_exec)
UNIT_CFLAGS_flow := $(UNIT_CFLAGS_exec)
UNIT_LIBS_flow := -lm
# The same single instructions through the driver API: here on the simulator, on a GPU by gpu/run.sh ptx.
ALL += $(O)/testcases/ptx-rows
TESTS += ptx-rows
.PHONY: ptx-rows
$(O)/testcases/ptx-rows: testcases/gpu/ptx_rows.c | $(O)/sim/libcuda.so
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -MMD -MP -o $@ $< -L$(O)/sim -lcuda

ptx-rows: $(O)/testcases/ptx-rows
	$(Q)out=$$(LD_LIBRARY_PATH=$(O)/sim $<) && echo "ok ptx-rows: $$out" || { echo "FAILED ptx-rows: $$out"; exit 1; }

# Kernels as nvcc makes them, run on the interpreter and held against what is known of them.
ALL += $(O)/kernels/oracle
TESTS += kernels
.PHONY: kernels
ORACLE_FLOW := $(if $(wildcard analyzer/ptx/flow.c),-DKRT_HAVE_FLOW)
$(O)/kernels/oracle: $(wildcard testcases/kernels/*.c testcases/kernels/*.h) $(UNIT_EXTRA_exec) $(O)/libkrtcore.a
	@mkdir -p $(@D)
	$(call msg,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) $(ORACLE_FLOW) -o $@ $(filter %.c %.o %.a,$^) $(LDFLAGS) -lm

kernels: $(O)/kernels/oracle
	$(Q)testcases/kernels/check.sh $(O)
# --- end of the PTX interpreter ---------------------------------------------------

# --- the engine against a brute-force judge -----------------------------------------
# `make oracle N=programs SEED=first [FEATURES=name,name...]`; in `make test` a fixed row of them,
# and those that once told the two apart (found/).
ORACLE_SRC := $(wildcard testcases/oracle/*.c)
TESTS += oracle
.PHONY: oracle
$(O)/oracle/oracle: $(ORACLE_SRC) $(wildcard testcases/oracle/*.h) testcases/unit/rec_build.h $(O)/libkrtcore.a
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -I. -o $@ $(filter %.c %.a,$^) $(LDFLAGS) -l:libstdc++.a
oracle: $(O)/oracle/oracle
	$(Q)$< replay $(wildcard testcases/oracle/found/*.txt)
	$(Q)$< $(or $(N),20000) $(or $(SEED),1) $(FEATURES)

# --- every schedule of small programs on the simulated driver, against the engine -----
# `make schedules N=programs SEED=first [FEATURES=mask]`.  The memory is there: its cells are small.
ORACLE_LIB := $(filter-out testcases/oracle/main.c,$(ORACLE_SRC))
TESTS += schedules
.PHONY: schedules
$(O)/schedules/schedules: $(wildcard testcases/schedules/*.[ch] testcases/oracle/*.h) $(ORACLE_LIB) testcases/unit/rec_build.h \
		testcases/sim/schedule.h $(O)/libkrtcore.a $(O)/sim/libcuda.so.1
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -DCELL=1024u -I. -o $@ $(filter %.c %.a,$^) $(LDFLAGS) -L$(O)/sim -l:libcuda.so.1 \
		-Wl,-rpath,'$$ORIGIN/../sim' -l:libstdc++.a -pthread
schedules: $(O)/schedules/schedules
	$(Q)$< $(or $(N),4000) $(or $(SEED),1) $(FEATURES)

# --- clean programs without one of their waits: the engine against the judge ----------
ORACLE_JUDGE := $(filter-out $(addprefix testcases/oracle/,main.c generate.c text.c) $(wildcard testcases/oracle/feed*.c),$(ORACLE_SRC))
TESTS += drop
.PHONY: drop
$(O)/drop/drop: $(wildcard testcases/drop/*.[ch] testcases/oracle/*.h) $(ORACLE_JUDGE) $(O)/libkrtcore.a
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -DKRT_ORACLE_RECORDED -I. -Ianalyzer -o $@ $(filter %.c %.a,$^) $(LDFLAGS) \
		$(IMAGE_LIBS) -l:libstdc++.a
drop: $(O)/drop/drop $(PROG_CLEAN) $(PROG_TWINS) $(O)/krtsan $(O)/libkrtsan.so $(O)/sim/libcuda.so.1
	$(Q)testcases/drop/run.sh $(O)
# --- end of the brute-force judge -----------------------------------------------------

# --- everything once more with clang, ASan and UBSan: $(O)/asan ------------------------
# Its objects count edges too, so that the fuzzer is linked with the same.  The runtime
# is a library, which comes before ours in LD_PRELOAD.
CLANG ?= clang
ASAN_O := $(O)/asan
ASAN_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined
ASAN_LIB = $(shell $(CLANG) -print-file-name=libclang_rt.asan-x86_64.so)
ASAN_MAKE = +$(Q)$(MAKE) --no-print-directory O='$(ASAN_O)' CC='$(CLANG)' OPT='-O1 -gline-tables-only' INTER_REST=-O1 \
	CFLAGS='$(ASAN_FLAGS) -fsanitize=fuzzer-no-link -fno-omit-frame-pointer' \
	LDFLAGS='$(ASAN_FLAGS) -shared-libasan -Wl,-rpath,$(dir $(ASAN_LIB))'
DEPS += clang libclang-rt-14-dev
.PHONY: asan-force
$(ASAN_O)/libkrtcore.a: asan-force
	$(ASAN_MAKE) $@
# --- end of the sanitized build ---------------------------------------------------------

# --- fuzzing of what programs and users bring along -----------------------------------
# `make fuzz` (in `make test`): what ended badly once, the corpus, and a fixed number of
# inputs from a fixed seed for each target; `make fuzz-long MINUTES= JOBS=` goes on for
# so long and prints a row of a table for each.  $(O)/fuzz is all that this needs on
# another machine: `fuzz/run.sh long MINUTES JOBS OUT`.
FUZZ_SRC := $(wildcard testcases/fuzz/*.c)
FUZZ_TRACES := hazard/kernel_then_copy hazard/graph_kernels_no_edge hazard/block_after_return hazard/host_function \
	hazard/capture_merge hazard/batch_overlap hazard/variable_upload hazard/vmm_alias hazard/managed_host_read \
	hazard/lib_gemm_fetched hazard/event_failed hazard/s05_free_async_elsewhere hazard/write_value_early \
	hazard/tensor_map_refilled hazard/graph_update_too_little clean/graph_driver_calls clean/copies_without_order \
	clean/external_semaphores clean/pool_callback_returns clean/launch_forms
MINUTES ?= 10
JOBS ?= 2
TESTS += fuzz
.PHONY: fuzz fuzz-build fuzz-long
$(O)/fuzz/fuzz: $(FUZZ_SRC) testcases/fuzz/fuzz.h $(wildcard testcases/unit/*.h) $(ASAN_O)/libkrtcore.a
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(CFLAGS_ALL) -O1 -gline-tables-only -I. $(ASAN_FLAGS) -fsanitize=fuzzer -nostdlib++ -static-libgcc \
		-o $@ $(filter %.c %.a,$^) $(DW_LIBS) $(IMAGE_LIBS) $(REPORT_LIBS) -lm
$(O)/fuzz/seeds: $(O)/fuzz/fuzz testcases/fuzz/seeds.sh $(FUZZ_TRACES:%=$(O)/testcases/%) $(O)/krtsan $(O)/libkrtsan.so $(FAKE_LIBS)
	$(call msg,GEN,$@)
	$(Q)testcases/fuzz/seeds.sh $(O) $(FUZZ_TRACES)
fuzz-build: $(O)/fuzz/seeds
	$(Q)rm -rf $(O)/fuzz/corpus $(O)/fuzz/found
	$(Q)cp -R testcases/fuzz/run.sh testcases/fuzz/corpus testcases/fuzz/found $(O)/fuzz
fuzz: fuzz-build
	$(Q)$(O)/fuzz/run.sh short
fuzz-long: fuzz-build
	$(Q)$(O)/fuzz/run.sh long $(MINUTES) $(JOBS) $(O)/fuzz/out
# --- end of fuzzing -------------------------------------------------------------------

# --- simulated driver: $(O)/sim/libcuda.so.1 ------------------------------------
SIM_SRC := $(wildcard testcases/sim/*.c)
SIM_SRC := $(filter-out testcases/sim/test_%.c testcases/sim/exec%.c,$(SIM_SRC)) $(SIM_EXEC_SRC)
SIM_OBJ := $(SIM_SRC:%.c=$(O)/simobj/%.o)
ALL += $(O)/sim/libcuda.so.1 $(O)/sim/libcuda.so $(O)/sim/libcupti.so.13

$(SIM_OBJ): $(O)/simobj/%.o: %.c
	$(call msg,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

# It never calls its own exported names through a preload library: -Bsymbolic.
# Once loaded it stays: its threads run its code.
$(O)/sim/libcuda.so.1: $(SIM_OBJ)
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(OPT) $(LDFLAGS) -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -Wl,-z,nodelete -Wl,-z,defs \
		-o $@ $(SIM_OBJ) -pthread -ldl -lm

$(O)/sim/libcupti.so.13: testcases/sim/cupti/cupti.c
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -fPIC -fvisibility=hidden -MMD -MP $(LDFLAGS) -shared \
		-Wl,-soname,libcupti.so.13 -Wl,-z,nodelete -o $@ $< -pthread -ldl

$(O)/sim/libcuda.so: $(O)/sim/libcuda.so.1
	$(Q)ln -sf libcuda.so.1 $@

# Its tests: plain programs, each prints "ok NAME" lines.
SIM_TESTS := $(patsubst testcases/sim/test_%.c,$(O)/sim/test_%,$(wildcard testcases/sim/test_*.c))
TESTS += sim-tests
.PHONY: sim-tests

$(SIM_TESTS): $(O)/sim/test_%: testcases/sim/test_%.c $(O)/sim/libcuda.so
	$(call msg,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -MMD -MP -o $@ $< -L$(O)/sim -lcuda -pthread

sim-tests: $(SIM_TESTS)
	$(Q)for t in $(SIM_TESTS); do LD_LIBRARY_PATH=$(O)/sim $$t || exit 1; done
# --- end of the simulated driver ------------------------------------------------

# --- stand-ins for NVIDIA's libraries, on the simulated driver: beside it ---------
# With the symbol versions of the real ones.
FAKE_LIBS := $(addprefix $(O)/sim/,libcublasLt.so.13 libcublas.so.13 libnccl.so.2 libcufft.so.12)
FAKE_CC = $(CC) $(CFLAGS_ALL) $(CFLAGS) -Iinterposer -fPIC -fvisibility=hidden -shared -Wl,-Bsymbolic \
	-Wl,-soname,$(@F) -Wl,-rpath,'$$ORIGIN' -Wl,-z,defs
ALL += $(FAKE_LIBS) $(O)/testcases/libs/caller.so

$(O)/sim/versions/%.map:
	@mkdir -p $(@D)
	$(Q)echo '$* { global: cu*; local: *; };' >$@.tmp && mv $@.tmp $@
$(O)/sim/libcublasLt.so.13: testcases/libs/cublaslt.c
$(O)/sim/libcublas.so.13: testcases/libs/cublas.c $(O)/sim/libcublasLt.so.13
$(O)/sim/libcufft.so.12: testcases/libs/cufft.c
$(O)/sim/libnccl.so.2: testcases/libs/nccl.c
$(O)/sim/libcublasLt.so.13 $(O)/sim/libcublas.so.13 $(O)/sim/libcufft.so.12: $(O)/sim/%: $(O)/sim/versions/%.map
$(FAKE_LIBS): testcases/libs/fake.h testcases/libs/image.S testcases/libs/kernels.ptx | $(O)/sim/libcuda.so.1
	$(call msg,LD,$@)
	$(Q)$(FAKE_CC) -o $@ $(filter %.c %.S %.so.13,$^) $(patsubst %,-Xlinker --version-script=%,$(filter %.map,$^)) \
		$(LDFLAGS) -L$(O)/sim -l:libcuda.so.1

# Linked with them, and opened by programs: as a framework's library is.
$(O)/testcases/libs/caller.so: testcases/libs/caller.c $(O)/sim/libcublas.so.13
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -fPIC -shared -o $@ $< $(LDFLAGS) -L$(O)/sim -l:libcublas.so.13
# --- end of the stand-ins ---------------------------------------------------------

# --- test programs: hazard/NAME.c, its twin NAME.fixed, clean/NAME.c; explain/RULE.c: as hazards
# They are linked with the simulated driver and need not be made anew when it
# changes.  A twin is built where the head comment has an EXPECT-FIXED line.
PROG_HAZARDS := $(patsubst testcases/%.c,$(O)/testcases/%,$(wildcard testcases/hazard/*.c))
PROG_EXPLAIN := $(patsubst testcases/%.c,$(O)/testcases/%,$(wildcard testcases/explain/*.c))
PROG_TWINS   := $(patsubst testcases/%.c,$(O)/testcases/%.fixed,$(sort \
	$(shell grep -ls '^ \* EXPECT-FIXED:' testcases/hazard/*.c testcases/explain/*.c testcases/clean/*.c)))
PROG_CLEAN   := $(patsubst testcases/%.c,$(O)/testcases/%,$(wildcard testcases/clean/*.c))
PROG_DEMO    := $(O)/testcases/demo/demo
PROG_PLANTED := $(patsubst testcases/%.c,$(O)/testcases/%,$(wildcard testcases/planted/*.c))
PROGS := $(PROG_HAZARDS) $(PROG_EXPLAIN) $(PROG_CLEAN) $(PROG_DEMO) $(PROG_PLANTED)
# Exported names, so that stacks name functions without debug information.
PROG_CC = $(CC) -Itestcases/common $(CFLAGS_ALL) $(CFLAGS) -rdynamic -pthread -MMD -MP
ALL   += $(PROGS) $(PROG_TWINS) $(O)/testcases/runner
TESTS += programs harness
.PHONY: programs harness

$(PROGS): $(O)/testcases/%: testcases/%.c | $(O)/sim/libcuda.so.1
	$(call msg,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(PROG_CC) -MF $@.d -o $@ $< $(LDFLAGS) -L$(O)/sim -l:libcuda.so.1

$(PROG_TWINS): $(O)/testcases/%.fixed: testcases/%.c | $(O)/sim/libcuda.so.1
	$(call msg,CC,$< (fixed))
	@mkdir -p $(@D)
	$(Q)$(PROG_CC) -DFIXED -MF $@.d -o $@ $< $(LDFLAGS) -L$(O)/sim -l:libcuda.so.1

$(O)/testcases/runner: testcases/harness/runner.c testcases/harness/json.c testcases/harness/json.h
	$(call msg,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -D_GNU_SOURCE -o $@ $(filter %.c,$^) $(LDFLAGS)

# The model of hazard/serving_loop: a library that it opens.
SERVING_MODEL := $(O)/testcases/serving/model.so
ALL += $(SERVING_MODEL)
$(SERVING_MODEL): testcases/serving/model.c testcases/serving/model.h | $(O)/sim/libcuda.so.1
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -fPIC -fvisibility=hidden -shared -o $@ $< $(LDFLAGS) -L$(O)/sim \
		-l:libcuda.so.1
$(O)/testcases/hazard/serving_loop: | $(SERVING_MODEL)

programs: $(PROGS) $(PROG_TWINS) $(O)/testcases/runner $(O)/krtsan $(O)/libkrtsan.so $(O)/sim/libcuda.so.1 \
		$(FAKE_LIBS) $(O)/testcases/libs/caller.so
	$(Q)$(O)/testcases/runner --build=$(O)

# --- the CPU's side: programs without their notes, under host=guard and host=checksum
HOST_NOTED := $(shell grep -ls 'krtsan_host_[rw]' testcases/hazard/*.c testcases/clean/*.c)
HOST_PROGS := $(patsubst testcases/%.c,$(O)/host/%,$(HOST_NOTED))
HOST_TWINS := $(patsubst testcases/%.c,$(O)/host/%.fixed,$(shell grep -ls '^ \* EXPECT-FIXED:' $(HOST_NOTED)))
HOST_CC     = $(PROG_CC) -include testcases/host/unannotated.h
TESTS += host
.PHONY: host
$(HOST_PROGS): $(O)/host/%: testcases/%.c testcases/host/unannotated.h | $(O)/sim/libcuda.so.1
	$(call msg,CC,$< (without notes))
	@mkdir -p $(@D)
	$(Q)$(HOST_CC) -MF $@.d -o $@ $< $(LDFLAGS) -L$(O)/sim -l:libcuda.so.1
$(HOST_TWINS): $(O)/host/%.fixed: testcases/%.c testcases/host/unannotated.h | $(O)/sim/libcuda.so.1
	$(call msg,CC,$< (without notes, fixed))
	@mkdir -p $(@D)
	$(Q)$(HOST_CC) -DFIXED -MF $@.d -o $@ $< $(LDFLAGS) -L$(O)/sim -l:libcuda.so.1
$(O)/host/serving/model.so: $(SERVING_MODEL)
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(O)/host/hazard/serving_loop $(O)/host/hazard/serving_loop.fixed: | $(O)/host/serving/model.so
$(O)/host/matrix $(O)/host/promises $(O)/host/torture: $(O)/host/%: testcases/host/%.c testcases/common/prog.h | $(O)/sim/libcuda.so.1
	$(call msg,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(PROG_CC) -MF $@.d -o $@ $< $(LDFLAGS) -L$(O)/sim -l:libcuda.so.1
host: $(O)/host/matrix $(O)/host/promises $(O)/host/torture $(O)/host/serving/model.so $(HOST_PROGS) $(HOST_TWINS) $(PROG_CLEAN) $(O)/krtsan $(O)/libkrtsan.so $(O)/sim/libcuda.so.1
	$(Q)testcases/host/matrix.py $(O)
	$(Q)testcases/host/programs.py $(O)
	$(Q)testcases/host/promises.py $(O)
	$(Q)testcases/host/torture.py $(O)
# --- end of the CPU's side ---------------------------------------------------------

# Launches, copies and sets drawn at random, against what they surely touch.
ALL   += $(O)/random/launches
TESTS += random
.PHONY: random
$(O)/random/launches: testcases/random/launches.c testcases/common/nvcc_kernels.h | $(O)/sim/libcuda.so.1
	$(call msg,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(PROG_CC) -o $@ $< $(LDFLAGS) -L$(O)/sim -l:libcuda.so.1

random: $(O)/random/launches $(O)/krtsan $(O)/libkrtsan.so
	$(Q)testcases/random/run.sh $(O)

# What krtsan prints of every rule's example, word for word.
TESTS += golden
.PHONY: golden golden-update
golden golden-update: $(PROG_EXPLAIN) $(O)/krtsan $(O)/libkrtsan.so $(O)/sim/libcuda.so.1
	$(Q)testcases/golden/run.sh $(O) $(if $(findstring update,$@),--update)

# The README's first steps, typed in.
TESTS += readme
.PHONY: readme readme-update
readme readme-update: all
	$(Q)testcases/readme/run.sh $(O) $(if $(findstring update,$@),--update)

# The runner and the aggregator themselves.
harness: $(PROG_PLANTED) $(O)/testcases/runner $(O)/krtsan $(O)/libkrtsan.so $(O)/sim/libcuda.so.1
	$(Q)O=$(O) testcases/harness/selftest.sh
# --- end of test programs ------------------------------------------------------

# --- sanitized: programs, the engine, the recorder ---------------------------------------
# In `make test` what the fuzzer and valgrind do not see: programs with the instrumented
# library and front end, and the random tests of the engine; `make sanitize` is all of it.
ASAN_PROGS := kernel_then_copy host_function graph_update_too_little graph_memory_after_free capture_merge \
	pool_split_reused s05_free_async_elsewhere lib_gemm_fetched launch_ex kernels_pointer_table \
	worker_threads external_semaphores tensor_map_refilled variable_upload
# What ends memory of libc's is the sanitizer's to see there, not ours.
ASAN_NOT := heap_realloc heap_munmap
ASAN_UNITS := engine session pool verify
ASAN_ENV = ASAN_OPTIONS=detect_leaks=$(1):detect_stack_use_after_return=0 UBSAN_OPTIONS=print_stacktrace=1
TESTS += asan
.PHONY: asan asan-build sanitize
asan-build: asan-force
	$(ASAN_MAKE) asan-subset UNIT_BINS='$(ASAN_UNITS:%=$(ASAN_O)/unit/%)' ASAN_WANTED='$(ASAN_PROGS)'
.PHONY: asan-subset
asan-subset: $(UNIT_BINS) $(O)/krtsan $(O)/libkrtsan.so $(O)/sim/libcuda.so.1 $(FAKE_LIBS) $(O)/testcases/runner \
		$(foreach p,$(ASAN_WANTED),$(filter %/$p %/$p.fixed,$(PROGS) $(PROG_TWINS)))
asan: asan-build
	$(Q)$(call ASAN_ENV,1) testcases/unit/run.sh $(ASAN_UNITS:%=$(ASAN_O)/unit/%)
	$(Q)$(call ASAN_ENV,0) $(ASAN_O)/testcases/runner --build=$(ASAN_O) --first=$(ASAN_LIB) $(ASAN_PROGS)
sanitize: asan-force tsan
	$(ASAN_MAKE) asan-subset ASAN_WANTED='%'
	$(Q)$(call ASAN_ENV,1) testcases/unit/run.sh $(UNIT_NAMES:%=$(ASAN_O)/unit/%)
	$(Q)$(call ASAN_ENV,0) $(ASAN_O)/testcases/runner --build=$(ASAN_O) --first=$(ASAN_LIB) \
		$(filter-out $(ASAN_NOT),$(notdir $(PROG_HAZARDS) $(PROG_EXPLAIN) $(PROG_CLEAN)))

# The recorder with a sanitizer of threads; with one planted race it must fail.
TSAN_SRC := testcases/tsan/recorder.c interposer/record.c interposer/util.c
TESTS += tsan
.PHONY: tsan
$(O)/tsan/recorder: $(TSAN_SRC) $(wildcard interposer/*.h) $(O)/libkrtcore.a
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(CFLAGS_ALL) -O1 -g -fsanitize=thread -D_GNU_SOURCE= -o $@ $(filter %.c %.a,$^) $(IMAGE_LIBS) -lpthread
tsan: $(O)/tsan/recorder
	$(Q)TSAN_OPTIONS=die_after_fork=0:halt_on_error=1 $<
	$(Q)if TSAN_OPTIONS=die_after_fork=0:halt_on_error=1 $< --planted >/dev/null 2>&1; then \
		echo 'not ok recorder: a planted race is not seen'; exit 1; else echo 'ok recorder: a planted race is seen'; fi
# --- end of sanitized --------------------------------------------------------------------

# --- lint: clang-tidy, cppcheck; every source by clang -----------------------------------
TESTS += lint-tools
DEPS += clang-tidy cppcheck
.PHONY: lint lint-tools look-all
LOOK_O := $(O)/look
lint-tools: $(O)/rules/explain.inc $(O)/rules/examples.inc $(O)/rules/kernels.inc $(O)/reports/html.inc
	$(Q)testcases/lint/lint.sh $(O)
look-all: $(filter-out $(MAN_PAGES) $(COMPLETION) $(TORCH_FILES),$(ALL)) $(UNIT_BINS)
lint: lint-tools
	+$(Q)$(MAKE) --no-print-directory -k O='$(LOOK_O)' CC='$(CURDIR)/testcases/lint/look.sh clang' AR=true look-all >$(O)/look.log 2>&1 \
		&& echo 'ok lint: clang has nothing to say' || { grep -v '^  [A-Z]' $(O)/look.log; echo 'not ok lint: clang'; exit 1; }
# --- end of lint -------------------------------------------------------------------------
# --- abi: resolver hooks and wrappers on fake drivers; the table against cuda.h --------
ABI_OUT := $(O)/abi
ABI_CFLAGS = $(CSTD) $(WARN) -Wno-missing-prototypes -Wno-strict-prototypes -g $(WERROR) -Iinterposer -fPIC
ABI_BINS := $(addprefix $(ABI_OUT)/,resolve-O0 resolve-O2 linked weak override libdeep.so)
ABI_FAKES := $(addprefix $(ABI_OUT)/,fake/libcuda.so.1 old/libcuda.so.1 second/libcuda.so.1)
TESTS += abi
.PHONY: abi
.SECONDARY: $(ABI_OUT)/libthird-O0.so $(ABI_OUT)/libthird-O2.so

$(ABI_FAKES): ABI_DEF = $(if $(findstring /old/,$@),-DFAKE_OLD) $(if $(findstring /second/,$@),-DFAKE_SECOND)
$(ABI_FAKES): testcases/abi/fake.c interposer/api.c interposer/api.def testcases/abi/fake.h
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ABI_CFLAGS) -O1 -fvisibility=hidden $(ABI_DEF) -shared -o $@ \
		testcases/abi/fake.c interposer/api.c -Wl,-soname,libcuda.so.1,-Bsymbolic-functions -lpthread -ldl
	$(Q)ln -sf libcuda.so.1 $(@D)/libcuda.so

$(ABI_OUT)/libthird-%.so: testcases/abi/third.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ABI_CFLAGS) -$* -shared -o $@ $< -ldl
$(ABI_OUT)/liblast.so: testcases/abi/third.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ABI_CFLAGS) -O2 -DLAST -shared -o $@ $< -ldl
$(ABI_OUT)/libdeep.so: testcases/abi/third.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ABI_CFLAGS) -O2 -shared -o $@ $< -ldl
$(ABI_OUT)/resolve-%: testcases/abi/resolve.c interposer/api.c interposer/api.def $(ABI_OUT)/libthird-%.so $(ABI_OUT)/liblast.so
	$(call msg,LD,$@)
	$(Q)$(CC) $(ABI_CFLAGS) -$* -o $@ testcases/abi/resolve.c interposer/api.c -Wl,-rpath,'$$ORIGIN',--no-as-needed \
		-L$(ABI_OUT) -lthird-$* -llast -ldl
$(ABI_OUT)/linked: testcases/abi/linked.c $(ABI_OUT)/fake/libcuda.so.1
	$(Q)$(CC) $(ABI_CFLAGS) -O1 -DLINKED -o $@ $< -L$(ABI_OUT)/fake -lcuda -ldl -Wl,-z,lazy
$(ABI_OUT)/weak: testcases/abi/linked.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ABI_CFLAGS) -O1 -DWEAK -pie -o $@ $< -ldl
$(ABI_OUT)/override: testcases/abi/linked.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ABI_CFLAGS) -O1 -DOVERRIDE -rdynamic -o $@ $< -ldl

# Two copies of a wrapped library, a caller linked with each.
ABI_CALLER := -DCALLER -Wl,-rpath,'$$ORIGIN/one:$$ORIGIN/two'
ABI_LIBS := $(addprefix $(ABI_OUT)/libs/,one/libcublas.so.13 two/libcublas.so.12 caller1.so caller2.so)
$(ABI_OUT)/libs/one/libcublas.so.13: ABI_COPY = -DANSWER=31
$(ABI_OUT)/libs/two/libcublas.so.12: ABI_COPY = -DANSWER=32
$(ABI_OUT)/libs/caller1.so: $(ABI_OUT)/libs/one/libcublas.so.13
$(ABI_OUT)/libs/caller2.so: $(ABI_OUT)/libs/two/libcublas.so.12
$(ABI_LIBS): testcases/abi/library.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ABI_CFLAGS) -O1 $(or $(ABI_COPY),$(ABI_CALLER)) -shared \
		-Wl,-soname,$(@F) -o $@ $< $(filter-out $<,$^)
$(ABI_OUT)/libs/program: testcases/abi/library.c $(ABI_OUT)/libs/one/libcublas.so.13
	$(Q)$(CC) $(ABI_CFLAGS) -O1 -DPROGRAM -Wl,-rpath,'$$ORIGIN/one' -o $@ $^
$(ABI_OUT)/libs/tool.so: testcases/abi/library.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ABI_CFLAGS) -O1 -DTOOL -shared -o $@ $< -ldl
$(ABI_OUT)/libraries: testcases/abi/libraries.c $(ABI_LIBS) $(ABI_OUT)/libs/program $(ABI_OUT)/libs/tool.so
	$(Q)$(CC) $(ABI_CFLAGS) -O1 -o $@ $< -ldl

abi: $(ABI_BINS) $(ABI_OUT)/libraries $(ABI_FAKES) $(O)/libkrtsan.so $(O)/libkrtsan-nop.so
	$(Q)testcases/abi/table.sh $(O)
	$(Q)testcases/abi/library_table.sh $(ABI_OUT)/libtable
	$(Q)testcases/abi/run.sh $(O) $(O)/libkrtsan-nop.so $(O)/libkrtsan.so
# --- end of abi --------------------------------------------------------------------------
# --- the command line -------------------------------------------------------------
TESTS += cli
.PHONY: cli
CLI_PROGS := $(O)/testcases/tree $(O)/testcases/dlopener $(O)/testcases/static $(O)/testcases/flip
ALL += $(CLI_PROGS)
# Not optimised: equal ends of two functions would become one call site.
$(O)/testcases/tree: testcases/cli/tree.c interposer/cuabi.h $(O)/sim/libcuda.so
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -O0 -o $@ $< -L$(O)/sim -lcuda

$(O)/testcases/dlopener: testcases/cli/dlopener.c
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $<

$(O)/testcases/static: testcases/cli/static.c
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -static -o $@ $<

$(O)/testcases/flip: testcases/cli/flip.c $(O)/libkrtcore.a
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(DW_LIBS) $(IMAGE_LIBS)

cli: $(O)/krtsan $(O)/libkrtsan.so $(CLI_PROGS) $(O)/testcases/hazard/event_sync_too_early \
     $(O)/testcases/hazard/capture_other_thread $(O)/testcases/hazard/nvcc_kernels \
     $(O)/testcases/hazard/lib_gemm_fetched $(O)/testcases/hazard/shared_launcher $(FAKE_LIBS)
	$(Q)testcases/cli/run.sh $(O)

# Names of frames and fingerprints, over ways to build, strip, move and run a program.
TESTS += names
DEPS += binutils dwz util-linux
.PHONY: names
names: $(O)/krtsan $(O)/libkrtsan.so $(O)/sim/libcuda.so.1 $(O)/testcases/hazard/kernels_file \
       $(O)/testcases/demo/demo
	$(Q)python3 testcases/names/run.py $(O)

# What users copy into their CI, and what the README says of it.
TESTS += ci
DEPS += python3-yaml
.PHONY: ci
ci: $(O)/krtsan $(O)/libkrtsan.so $(O)/testcases/tree $(O)/sim/libcuda.so.1
	$(Q)python3 testcases/cli/ci.py $(O)

# Progress on a terminal.
TESTS += progress
.PHONY: progress
progress: $(O)/krtsan $(O)/libkrtsan.so $(O)/testcases/tree
	$(Q)python3 testcases/cli/progress.py $(O)

# What a driver does against the table, the simulated one in both views; the table of counted calls.
TESTS += probe
.PHONY: probe
probe: $(O)/krtsan $(O)/sim/libcuda.so
	$(Q)testcases/cli/probe.sh $(O)
# Installation: layouts, man pages, the Debian package; and the completion.
TESTS += completion installation
DEPS += bash pkg-config man-db mandoc dpkg-dev lintian binutils
.PHONY: completion installation
completion: $(O)/krtsan $(COMPLETION)
	$(Q)testcases/cli/completion.sh $(O)
installation: $(O)/krtsan $(O)/libkrtsan.so $(O)/libkrtsan-nop.so $(O)/testcases/tree $(MAN_PAGES) $(COMPLETION)
	$(Q)testcases/cli/install.sh $(O)
# --- end of the command line --------------------------------------------------------

# --- the PyTorch feeds, on a fake PyTorch ----------------------------------------------
TESTS += torch
.PHONY: torch
TORCH_PROGS := $(addprefix $(O)/testcases/,torch_alloc torch_notes faketorch/libc10_cuda.so faketorch/libtorch_cuda.so)
ALL += $(TORCH_PROGS)
$(O)/testcases/torch_alloc: testcases/cli/torch_alloc.c $(O)/sim/libcuda.so
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) -Itestcases/common $(CFLAGS_ALL) -pthread -MMD -MP -o $@ $< -L$(O)/sim -lcuda -ldl
$(O)/testcases/torch_notes: testcases/cli/torch_notes.c $(O)/libkrtcore.a
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -MMD -MP -o $@ $< $(O)/libkrtcore.a $(LDFLAGS) $(IMAGE_LIBS) -l:libstdc++.a
$(O)/testcases/faketorch/lib%_cuda.so: testcases/cli/faketorch/c10.cc
	@mkdir -p $(@D)
	$(call msg,CXX,$@)
	$(Q)$(CXX) -std=c++17 -O1 -Wall -Wextra -fPIC -fvisibility=hidden -shared $(if $(filter c10,$*),-DNATIVE) \
		-Wl,-soname,$(@F) -o $@ $<
torch: $(O)/krtsan $(O)/libkrtsan.so $(TORCH_FILES) $(TORCH_PROGS)
	$(Q)testcases/cli/torch.sh $(O)
# --- end of the PyTorch feeds ------------------------------------------------------------

# --- Python frames in call stacks ---------------------------------------------------------
TESTS += python
.PHONY: python
ALL += $(O)/python/churn.so $(O)/python/notpython
$(O)/python/notpython: testcases/python/notpython.c interposer/cuabi.h $(O)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call msg,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -rdynamic -o $@ $< -L$(O)/sim -l:libcuda.so.1 -lpthread
$(O)/python/churn.so: testcases/python/churn.c interposer/cuabi.h $(O)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call msg,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -fPIC -shared -o $@ $< -L$(O)/sim -l:libcuda.so.1
python: $(O)/krtsan $(O)/libkrtsan.so $(O)/sim/libcuda.so.1 $(O)/python/churn.so $(O)/python/notpython \
		$(O)/testcases/flip
	$(Q)testcases/python/run.sh $(O)
.PHONY: bench-python
bench-python: $(O)/krtsan $(O)/libkrtsan.so $(O)/sim/libcuda.so.1 $(O)/python/churn.so
	$(Q)testcases/bench/python_cost.sh $(O)
# --- end of Python frames -----------------------------------------------------------------

# --- inter: the recorder, on the fake driver ---------------------------------------------
INTER_OUT := $(O)/inter
TESTS += inter
.PHONY: inter
$(INTER_OUT)/prog: testcases/inter/prog.c testcases/abi/fake.h interposer/include/krtsan.h $(ABI_OUT)/fake/libcuda.so.1
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -Wno-shadow -o $@ $< -L$(ABI_OUT)/fake -lcuda -lpthread -ldl
$(INTER_OUT)/verify: testcases/inter/verify.c $(O)/libkrtcore.a
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -o $@ $< $(O)/libkrtcore.a $(IMAGE_LIBS) -l:libstdc++.a
$(INTER_OUT)/bare-cxx: testcases/inter/bare.cc $(ABI_OUT)/fake/libcuda.so.1
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -O1 -Wall -Wextra -o $@ $< -L$(ABI_OUT)/fake -lcuda
# captures and graphs, on the simulated driver; on a GPU by gpu/run.sh queries
ALL += $(INTER_OUT)/graphs $(INTER_OUT)/graphs_dump
$(INTER_OUT)/graphs: testcases/inter/graphs.c testcases/common/prog.h $(O)/sim/libcuda.so.1
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -Itestcases/common $(CFLAGS_ALL) $(CFLAGS) -o $@ $< -L$(O)/sim -l:libcuda.so.1 -lpthread
$(INTER_OUT)/graphs_dump: testcases/inter/graphs_dump.c $(O)/libkrtcore.a
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -Ianalyzer -o $@ $< $(O)/libkrtcore.a $(IMAGE_LIBS) -l:libstdc++.a
# module images
$(INTER_OUT)/images: testcases/inter/images.c testcases/common/prog.h $(O)/sim/libcuda.so.1
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -Itestcases/common $(CFLAGS_ALL) $(CFLAGS) -o $@ $< -L$(O)/sim -l:libcuda.so.1 -lpthread
$(INTER_OUT)/images_dump: testcases/inter/images_dump.c $(O)/libkrtcore.a
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -D_GNU_SOURCE -Ianalyzer -o $@ $< $(O)/libkrtcore.a $(IMAGE_LIBS) -l:libstdc++.a
ALL += $(INTER_OUT)/kernel_texts $(INTER_OUT)/launches_dump
$(INTER_OUT)/launches_dump: testcases/inter/launches_dump.c $(O)/libkrtcore.a
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -Ianalyzer -o $@ $< $(O)/libkrtcore.a $(IMAGE_LIBS) -l:libstdc++.a
$(INTER_OUT)/kernel_texts: testcases/inter/kernel_texts.c $(O)/libkrtcore.a
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -Ianalyzer -o $@ $< $(O)/libkrtcore.a $(IMAGE_LIBS) -l:libstdc++.a
inter: $(INTER_OUT)/prog $(INTER_OUT)/verify $(INTER_OUT)/bare-cxx $(INTER_OUT)/graphs $(INTER_OUT)/graphs_dump \
		$(INTER_OUT)/images $(INTER_OUT)/images_dump $(INTER_OUT)/kernel_texts $(O)/libkrtsan.so $(O)/krtsan
	$(Q)testcases/inter/run.sh $(O)
# NVTX: a client of our own, and one with NVIDIA's headers where a toolkit has them
NVTX_HEADERS := $(firstword $(wildcard $(addsuffix /include/nvtx3/nvToolsExtMem.h,$(CUDA_HOME) /usr/local/cuda /usr/local/cuda-13.0 \
	/usr/local/cuda-12.9)))
NVTX_PROGS := $(INTER_OUT)/nvtx $(if $(NVTX_HEADERS),$(INTER_OUT)/nvtx-headers)
ALL += $(NVTX_PROGS) $(INTER_OUT)/libnvtxnext.so
TESTS += nvtx
.PHONY: nvtx
$(INTER_OUT)/nvtx: testcases/inter/nvtx.c testcases/inter/nvtx_client.h $(O)/sim/libcuda.so
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -o $@ $< -L$(O)/sim -lcuda -ldl
$(INTER_OUT)/nvtx-headers: testcases/inter/nvtx.c $(O)/sim/libcuda.so
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CSTD) -w -O1 -g -DNVTX_HEADERS -include stdbool.h -I$(patsubst %/nvtx3/nvToolsExtMem.h,%,$(NVTX_HEADERS)) \
		-o $@ $< -L$(O)/sim -lcuda -ldl
$(INTER_OUT)/libnvtxnext.so: testcases/inter/nvtx_next.c
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -fPIC -shared -o $@ $<
nvtx: $(NVTX_PROGS) $(INTER_OUT)/libnvtxnext.so $(O)/libkrtsan.so $(O)/krtsan $(O)/sim/libcuda.so.1
	$(Q)testcases/inter/nvtx.sh $(O) $(NVTX_PROGS)
# --- end of inter ------------------------------------------------------------------------

# --- pitfalls: what breaks preload tools, on the fake driver ------------------------------
PIT_OUT := $(O)/pitfalls
PIT_CFLAGS = $(CFLAGS_ALL) -Wno-missing-prototypes -Wno-strict-prototypes -Wno-shadow
PIT_LIBS := $(addprefix $(PIT_OUT)/,libother.so libhook.so liballoc.so)
TESTS += pitfalls
.PHONY: pitfalls
$(PIT_LIBS): $(PIT_OUT)/lib%.so: testcases/pitfalls/%.c
	@mkdir -p $(@D)
	$(call msg,LD,$@)
	$(Q)$(CC) $(PIT_CFLAGS) -fno-builtin -fPIC -shared -o $@ $< -ldl
$(PIT_OUT)/pit: testcases/pitfalls/pit.c testcases/abi/fake.h interposer/api.c $(ABI_OUT)/fake/libcuda.so.1
	@mkdir -p $(@D)
	$(call msg,LD,$@)
	$(Q)$(CC) $(PIT_CFLAGS) -fno-builtin -MMD -MP -o $@ $(filter %.c,$^) -L$(ABI_OUT)/fake -lcuda -lpthread -ldl
# a program with a sanitizer of its own
$(PIT_OUT)/pit-asan: testcases/pitfalls/pit.c testcases/abi/fake.h interposer/api.c $(ABI_OUT)/fake/libcuda.so.1
	@mkdir -p $(@D)
	$(call msg,LD,$@)
	$(Q)$(CC) $(PIT_CFLAGS) -fno-builtin -fsanitize=address -o $@ $(filter %.c,$^) -L$(ABI_OUT)/fake -lcuda -lpthread -ldl
$(PIT_OUT)/except: testcases/pitfalls/except.cc testcases/abi/fake.h $(ABI_OUT)/fake/libcuda.so.1
	@mkdir -p $(@D)
	$(call msg,LD,$@)
	$(Q)$(CXX) -O1 -g -o $@ $< -L$(ABI_OUT)/fake -lcuda
$(PIT_OUT)/plug1.so: PIT_PLUG = -DNAME=first_plug -DPAD=64
$(PIT_OUT)/plug2.so: PIT_PLUG = -DNAME=second_plug -DPAD=96
$(PIT_OUT)/plug1.so $(PIT_OUT)/plug2.so: testcases/pitfalls/plug.c
	@mkdir -p $(@D)
	$(call msg,LD,$@)
	$(Q)$(CC) $(PIT_CFLAGS) $(PIT_PLUG) -fPIC -shared -Wl,--build-id -o $@ $<
pitfalls: $(PIT_LIBS) $(PIT_OUT)/plug1.so $(PIT_OUT)/plug2.so $(PIT_OUT)/pit $(PIT_OUT)/pit-asan $(PIT_OUT)/except $(O)/krtsan $(O)/libkrtsan.so
	$(Q)testcases/pitfalls/run.sh $(O)
# --- end of pitfalls ----------------------------------------------------------------------
# --- faults: no memory, no disk, kills, clocks, and programs that do what they like -----
# `make faults [PARTS=...]` is a sample of all; `make faults-long` tries every call that can fail.
TESTS += faults
DEPS += util-linux libcap2-bin binutils
.PHONY: faults faults-long
ALL += $(O)/faults/libinject.so $(O)/faults/life
$(O)/faults/life: testcases/faults/life.c interposer/cuabi.h
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -O1 -o $@ $< -pthread -ldl
$(O)/faults/libinject.so: testcases/faults/inject.c
	@mkdir -p $(@D)
	$(call msg,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -Wno-missing-prototypes -fno-builtin -fPIC -shared -o $@ $<
FAULTS_NEED := $(O)/krtsan $(O)/libkrtsan.so $(O)/sim/libcuda.so.1 $(ABI_OUT)/fake/libcuda.so.1 $(O)/faults/libinject.so $(O)/faults/life $(O)/testcases/tree $(INTER_OUT)/nvtx \
	$(addprefix $(O)/testcases/,hazard/s01_side_stream_copy clean/warm_up_then_graph clean/lib_layers clean/variables_of_modules) \
	$(FAKE_LIBS)
faults: $(FAULTS_NEED)
	$(Q)python3 testcases/faults/run.py $(O) $(PARTS)
faults-long: all $(FAULTS_NEED)
	$(Q)python3 testcases/faults/run.py $(O) --long $(PARTS)
# --- end of faults ----------------------------------------------------------------------

# --- cost of the ordering module: make bench-order -----------------------------
.PHONY: bench-order
$(O)/bench/order: testcases/bench/bench_order.c $(O)/libkrtcore.a
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(O)/libkrtcore.a -l:libstdc++.a

bench-order: $(O)/bench/order
	$(Q)$<
# --- end of the cost of the ordering module ------------------------------------

# --- rate, memory and growth of the analysis: make bench-offline ---
.PHONY: bench-offline
$(O)/bench/offline: testcases/bench/bench_offline.c testcases/unit/rec_build.h testcases/unit/trace_writer.h $(O)/libkrtcore.a
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -I. -Itestcases/unit $(LDFLAGS) -MMD -MP -o $@ $< $(O)/libkrtcore.a $(IMAGE_LIBS) -l:libstdc++.a
TESTS += growth
.PHONY: growth
growth: $(O)/bench/offline
	$(Q)testcases/bench/growth.sh $(O)
bench-offline: $(O)/bench/offline
	$(Q)$< - testcases/launches/pytorch-2.11-training.txt
# --- end of the rate of the analysis --------------------------------------------

# --- cost of the analysis of kernels: make bench-flow ---
.PHONY: bench-flow
$(O)/bench/flow: testcases/bench/bench_flow.c $(O)/libkrtcore.a
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(O)/libkrtcore.a -l:libstdc++.a
bench-flow: $(O)/bench/flow
	$(Q)$< testcases/kernels

# --- what krtsan costs: make bench; on a card testcases/gpu/bench ---
ALL += $(O)/bench/calls
$(O)/bench/calls: testcases/bench/bench_calls.c interposer/cuabi.h $(O)/sim/libcuda.so.1
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -o $@ $< -L$(O)/sim -l:libcuda.so.1
.PHONY: bench
bench: all
	$(Q)testcases/bench/suite.py --build=$(O) $(if $(WRITE),--write)

# --- schema: reports against the schemas of their formats -----------------------
# The schemas of others and a validator come from npm, by make deps.
TESTS += schema
DEPS += nodejs libxml2-utils
.PHONY: schema deps-schema
deps: deps-schema
deps-schema:
	$(Q)testcases/schema/deps.sh
$(O)/schema/documents: testcases/schema/documents.c $(O)/libkrtcore.a
	@mkdir -p $(@D)
	$(call msg,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -I. $(LDFLAGS) -MMD -MP -o $@ $< $(O)/libkrtcore.a -l:libstdc++.a
schema: $(O)/schema/documents $(O)/krtsan $(O)/libkrtsan.so
	$(Q)python3 testcases/schema/check.py $(O)
# --- end of schema ----------------------------------------------------------------

# --- HTML reports in headless Chromium ---------------------------------------------
DEPS += chromium chromium-driver fonts-dejavu-core
TESTS += html
.PHONY: html
$(O)/html/many: testcases/html/many.c testcases/common/prog.h interposer/cuabi.h $(O)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call msg,LD,$@)
	$(Q)$(CC) -Itestcases/common $(CFLAGS_ALL) $(CFLAGS) -g -o $@ $< -L$(O)/sim -l:libcuda.so.1 -lpthread
html: $(O)/html/many $(O)/schema/documents $(O)/krtsan $(O)/libkrtsan.so $(O)/testcases/demo/demo \
		$(addprefix $(O)/testcases/,clean/fork_join hazard/copy_bounds hazard/sync_hot)
	$(Q)python3 testcases/html/check.py $(O)
# --- end of HTML reports -----------------------------------------------------------
