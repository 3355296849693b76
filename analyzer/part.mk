# SPDX-License-Identifier: Apache-2.0

# --- libkrtcore.a: all that is no command --------------------------------------
# The engine, the PTX front end, rules and report writers in one archive, which
# the command line, the unit tests and the fuzzers link.  A part that generates
# sources adds its objects with a rule of its own: $(O)/libkrtcore.a: FILE.o
CORE_SRC := $(filter-out analyzer/main.c analyzer/cmd_%.c,$(wildcard analyzer/*.c)) \
	$(wildcard analyzer/ptx/*.c rules/*.c reports/*.c) \
	$(wildcard interposer/api.c interposer/image_format.c interposer/library_table.c interposer/options.c)
CORE_OBJ := $(CORE_SRC:%.c=$(O)/core/%.o)
ALL += $(O)/libkrtcore.a

$(CORE_OBJ): $(O)/core/%.o: %.c
	$(call msg,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -MMD -MP -c -o $@ $<

$(O)/libkrtcore.a: $(CORE_OBJ)
	$(call msg,AR,$@)
	@mkdir -p $(@D) && rm -f $@
	$(Q)$(AR) rcsD $@ $(filter %.o,$^)
# --- end of libkrtcore.a -------------------------------------------------------

# --- krtsan: the command line ----------------------------------------------------
# Runs on any machine with libc: elfutils, its decompressors, those of module images, jansson
# and the C++ demangler go in statically.
CLI_SRC := analyzer/main.c $(wildcard analyzer/cmd_*.c)
CLI_OBJ := $(CLI_SRC:%.c=$(O)/core/%.o)
DW_LIBS := -l:libdw.a -l:libelf.a -l:libz.a -l:liblzma.a -l:libbz2.a -l:libstdc++.a
IMAGE_LIBS := -l:liblz4.a -l:libzstd.a
REPORT_LIBS := -l:libjansson.a
ALL += $(O)/krtsan
BUILD_DEPS += libstdc++-12-dev liblz4-dev libjansson-dev

$(CLI_OBJ): $(O)/core/%.o: %.c
	$(call msg,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) -MMD -MP -c -o $@ $<

$(O)/krtsan: $(CLI_OBJ) $(O)/libkrtcore.a
	$(call msg,LD,$@)
	$(Q)$(CC) $(OPT) -pie $(LDFLAGS) -Wl,--gc-sections -Wl,-z,relro,-z,now -o $@ $^ $(DW_LIBS) $(IMAGE_LIBS) $(REPORT_LIBS)
# --- end of krtsan ---------------------------------------------------------------
