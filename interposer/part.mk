# SPDX-License-Identifier: Apache-2.0

# --- the preload libraries -----------------------------------------------------
# libkrtsan.so records, libkrtsan-nop.so has the same hooks and only forwards.
# The dlsym hook and what it needs run before constructors and inside malloc:
# never sanitized or profiled, whatever CFLAGS says; the rest is neither, unless a
# build for tests empties INTER_REST.
INTER_COMMON := api.c util.c next.c elf_object.c resolve.c wrap.c library_table.c library_find.c library_wrap.c dlsym.S
INTER_NOP_SRC := $(INTER_COMMON) nop.c
INTER_SRC := $(INTER_COMMON) $(filter-out $(INTER_COMMON) nop.c,$(notdir $(wildcard interposer/*.c)))
# The engine's ordering module runs in the program, too (flight.c).
INTER_SRC += order.c semantics.c
INTER_OBJ := $(addprefix $(O)/interposer/,$(addsuffix .o,$(INTER_SRC)))
INTER_NOP_OBJ := $(addprefix $(O)/interposer-nop/,$(addsuffix .o,$(INTER_NOP_SRC)))
INTER_CFLAGS = -D_GNU_SOURCE -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-semantic-interposition \
	-fno-strict-aliasing -fexceptions -fasynchronous-unwind-tables
INTER_PLAIN := -O2 -fno-sanitize=all -fno-profile-arcs -fno-test-coverage $(if $(findstring clang,$(CC)),,-fno-instrument-functions) \
	-fno-stack-protector
INTER_REST ?= $(INTER_PLAIN)
INTER_CODE = $(if $(filter $(INTER_COMMON) heap.c,$*),$(INTER_PLAIN),$(INTER_REST))
INTER_LDFLAGS = -shared -Wl,-Bsymbolic,-z,now,-z,relro,-z,nodelete,--no-undefined \
	-Wl,--build-id -ldl -lpthread

ALL += $(O)/libkrtsan.so $(O)/libkrtsan-nop.so

$(O)/interposer/%.o: interposer/%
	$(call msg,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) $(INTER_CFLAGS) $(INTER_PLAIN) -MMD -MP -c -o $@ $<

$(O)/interposer/%.o: analyzer/%
	$(call msg,CC,$< (library))
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) $(INTER_CFLAGS) $(INTER_CODE) -MMD -MP -c -o $@ $<

$(O)/interposer-nop/%.o: interposer/%
	$(call msg,CC,$< (nop))
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS) $(INTER_CFLAGS) $(INTER_PLAIN) -DKRT_NOP -MMD -MP -c -o $@ $<

$(O)/interposer/exports.map: interposer/exports.map.in interposer/api.def interposer/library.def interposer/syscalls.def
	@mkdir -p $(@D)
	$(Q)$(CC) -E -P -undef -x c -Iinterposer -o $@ $<

$(O)/interposer-nop/exports.map: interposer/exports.map.in interposer/api.def interposer/library.def
	@mkdir -p $(@D)
	$(Q)$(CC) -E -P -undef -x c -DKRT_NOP -Iinterposer -o $@ $<

$(O)/libkrtsan.so: $(INTER_OBJ) $(O)/interposer/exports.map
	$(call msg,LD,$@)
	$(Q)$(CC) $(OPT) $(LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--version-script=$(O)/interposer/exports.map \
		-Wl,-soname,libkrtsan.so $(INTER_LDFLAGS)

$(O)/libkrtsan-nop.so: $(INTER_NOP_OBJ) $(O)/interposer-nop/exports.map
	$(call msg,LD,$@)
	$(Q)$(CC) $(OPT) $(LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--version-script=$(O)/interposer-nop/exports.map \
		-Wl,-soname,libkrtsan-nop.so $(INTER_LDFLAGS)

# The PyTorch feeds: a folder for PYTHONPATH, found beside krtsan.
TORCH_FILES := $(patsubst interposer/python/%,$(O)/torch/%,$(wildcard interposer/python/*.py))
ALL += $(TORCH_FILES)
$(TORCH_FILES): $(O)/torch/%: interposer/python/%
	@mkdir -p $(@D)
	$(Q)cp --remove-destination $< $@
# --- end of the preload libraries ----------------------------------------------
