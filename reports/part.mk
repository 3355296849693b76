# SPDX-License-Identifier: Apache-2.0

# --- the page of HTML reports: its parts become strings of the writer -------------
HTML_SCRIPTS := $(addprefix reports/html/,base.js findings.js details.js timeline.js view.js page.js)
HTML_PARTS := $(addprefix reports/html/,page.html style.css) $(O)/reports/script.js
$(O)/reports/script.js: $(HTML_SCRIPTS) reports/part.mk
	@mkdir -p $(@D)
	$(Q)(echo '"use strict";'; echo '(() => {'; cat $(HTML_SCRIPTS); echo '})();') >$@.tmp && mv $@.tmp $@
$(O)/reports/html.inc: rules/embed.awk reports/html/hash.awk $(HTML_PARTS)
	$(call msg,GEN,$@)
	@mkdir -p $(@D)
	$(Q)awk -v prefix=KRT_HTML_ -f rules/embed.awk $(HTML_PARTS) >$@.tmp
	$(Q)sha256sum $(filter-out %.html,$(HTML_PARTS)) | awk -f reports/html/hash.awk >>$@.tmp && mv $@.tmp $@
$(O)/core/reports/report_html.o: $(O)/reports/html.inc
$(O)/core/reports/report_html.o: CFLAGS_ALL += -I$(O)/reports
# --- end of the page of HTML reports ----------------------------------------------
