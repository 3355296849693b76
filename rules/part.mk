# SPDX-License-Identifier: Apache-2.0

# --- rules: the explanations become strings of the rule table --------------------
RULE_TEXTS := $(sort $(wildcard rules/explain/*.txt))
$(O)/rules/explain.inc: rules/embed.awk $(RULE_TEXTS)
	$(call msg,GEN,$@)
	@mkdir -p $(@D)
	$(Q)awk -f rules/embed.awk $(RULE_TEXTS) >$@
$(O)/core/rules/rules.o: $(O)/rules/explain.inc
$(O)/core/rules/rules.o: CFLAGS_ALL += -I$(O)/rules
# --- end of rules ----------------------------------------------------------------
