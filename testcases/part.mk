# SPDX-License-Identifier: Apache-2.0

# --- GPU: built here, run where there is a card (testcases/gpu/run.sh) ---
ALL += $(O)/testcases/gpu-bench
$(O)/testcases/gpu-bench: testcases/gpu/bench.c interposer/cuabi.h $(O)/sim/libcuda.so.1
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -MMD -MP -o $@ $< -L$(O)/sim -l:libcuda.so.1

# --- unit tests: testcases/unit/test_NAME.c -> $(O)/unit/NAME ------------------
# One Criterion binary a file, linked with libkrtcore.a.  What a test needs
# besides goes into UNIT_EXTRA_NAME (objects and archives, built first),
# UNIT_CFLAGS_NAME and UNIT_LIBS_NAME, set in any part.mk.
.SECONDEXPANSION:
UNIT_NAMES := $(patsubst testcases/unit/test_%.c,%,$(wildcard testcases/unit/test_*.c))
UNIT_BINS  := $(UNIT_NAMES:%=$(O)/unit/%)
# Criterion's macros shadow nothing of ours, but its tests have no prototypes.
UNIT_CFLAGS = $(CFLAGS_ALL) $(CFLAGS) -Wno-missing-prototypes -Itestcases/unit -I.
TESTS += unit
.PHONY: unit unit-valgrind
.PRECIOUS: $(O)/unit/test_%.o

$(O)/unit/test_%.o: testcases/unit/test_%.c
	$(call msg,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNIT_CFLAGS) $(UNIT_CFLAGS_$*) -MMD -MP -c -o $@ $<

$(UNIT_BINS): $(O)/unit/%: $(O)/unit/test_%.o $$(UNIT_EXTRA_$$*) $(O)/libkrtcore.a
	$(call msg,LD,$@)
	$(Q)$(CC) $(OPT) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) -lcriterion $(UNIT_LIBS_$*)

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
# --- end of unit tests of reader, symbols and reports ----------------------------
