# SPDX-License-Identifier: Apache-2.0

# --- rules: the explanations become strings of the rule table --------------------
RULE_TEXTS := $(sort $(wildcard rules/explain/*.txt))
$(O)/rules/explain.inc: rules/embed.awk $(RULE_TEXTS)
	$(call msg,GEN,$@)
	@mkdir -p $(@D)
	$(Q)awk -v prefix=KRT_EXPLAIN_ -f rules/embed.awk $(RULE_TEXTS) >$@.tmp && mv $@.tmp $@
$(O)/core/rules/rules.o: $(O)/rules/explain.inc $(O)/rules/examples.inc
$(O)/core/rules/rules.o: CFLAGS_ALL += -I$(O)/rules

# Their examples are parts of programs that the tests run.
RULE_EXAMPLES := $(sort $(wildcard testcases/explain/*.c))
$(O)/rules/examples.inc: rules/example.awk $(RULE_EXAMPLES)
	$(call msg,GEN,$@)
	@mkdir -p $(@D)
	$(Q)for f in $(RULE_EXAMPLES); do expand $$f | awk -v file=$$f -f rules/example.awk; done >$@.tmp && mv $@.tmp $@

# What kernels of common libraries read and write: strings of the kernels file.
KERNEL_TEXTS := $(sort $(wildcard rules/kernels/*.kernels))
$(O)/rules/kernels.inc: rules/embed.awk $(KERNEL_TEXTS)
	$(call msg,GEN,$@)
	@mkdir -p $(@D)
	$(Q)awk -v prefix=KRT_KERNELS_ -f rules/embed.awk $(KERNEL_TEXTS) >$@.tmp && mv $@.tmp $@
$(O)/core/analyzer/kernels.o: $(O)/rules/kernels.inc
$(O)/core/analyzer/kernels.o: CFLAGS_ALL += -I$(O)/rules
# --- end of rules ----------------------------------------------------------------
