# SPDX-License-Identifier: Apache-2.0

# --- what is made for installation: man pages, bash completion ---------------------
# From the tables that krtsan itself is made of; it tells them (`krtsan help --roff`,
# analyzer/help.c) and sed puts them into the texts of this folder.
KRT_VERSION := $(shell sed -n 's/^.define KRT_VERSION "\(.*\)"/\1/p' reports/report.h)
# When: of the last commit, or of the tree where there is no git.
ifndef SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y reports/report.h)
endif
export SOURCE_DATE_EPOCH
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
$(O)/core/analyzer/cli.o: CFLAGS_ALL += -DKRT_MULTIARCH='"$(MULTIARCH)"'

MAN_PAGES := $(addprefix $(O)/man/,krtsan.1 krtsan-options.7 krtsan-trace.5)
COMPLETION := $(O)/man/krtsan.bash
ALL += $(MAN_PAGES) $(COMPLETION)
.PHONY: man
man: $(MAN_PAGES) $(COMPLETION)

MAN_TOPICS := roff roff-options roff-options-library roff-rules bash
$(O)/man/.tables: $(O)/krtsan
	@mkdir -p $(@D)
	$(Q)set -e; for t in $(MAN_TOPICS); do $(O)/krtsan help --$$t >$(@D)/$$t.tmp; mv $(@D)/$$t.tmp $(@D)/$$t.inc; done; touch $@
$(O)/man/trace.inc: interposer/TRACE.md analyzer/install/markdown.awk
	@mkdir -p $(@D)
	$(Q)awk -f analyzer/install/markdown.awk $< >$@.tmp && mv $@.tmp $@

# A line @NAME@ is replaced by NAME.inc.
MAN_FILL = sed $(foreach t,$(MAN_TOPICS) trace,-e '/^@$(t)@$$/{r $(O)/man/$(t).inc' -e 'd;}') \
	-e "s/@VERSION@/$(KRT_VERSION)/;s/@DATE@/$$(date -u -d @$(SOURCE_DATE_EPOCH) +%F)/"
$(MAN_PAGES) $(COMPLETION): $(O)/man/%: analyzer/install/%.in $(O)/man/.tables $(O)/man/trace.inc reports/report.h
	$(call msg,GEN,$@)
	$(Q)$(MAN_FILL) $< >$@.tmp && mv $@.tmp $@

# --- make install, make uninstall ---------------------------------------------------
# The libraries lie in LIBDIR itself, so that LD_PRELOAD=libkrtsan.so finds them by
# name; what nobody else is to find lies in LIBDIR/krtsan, with a link to krtsan for
# the library (find_krtsan in interposer/process.c).
PREFIX	     ?= /usr/local
BINDIR	     ?= $(PREFIX)/bin
# Debian's folders for an architecture are for what lies in /usr.
LIBDIR	     ?= $(PREFIX)/lib$(if $(filter /usr,$(abspath $(PREFIX))),$(MULTIARCH:%=/%))
INCLUDEDIR   ?= $(PREFIX)/include
DATADIR	     ?= $(PREFIX)/share
MANDIR	     ?= $(DATADIR)/man
BASHCOMPDIR  ?= $(DATADIR)/bash-completion/completions
PKGCONFIGDIR ?= $(LIBDIR)/pkgconfig
DOCDIR	     ?= $(DATADIR)/doc/krtsan
LDCONFIG     ?= /sbin/ldconfig
PRIVATEDIR    = $(LIBDIR)/krtsan

# Mode, file, place.
INSTALL_FILES = \
	755 $(O)/krtsan $(BINDIR)/krtsan \
	644 $(O)/libkrtsan.so $(LIBDIR)/libkrtsan.so \
	644 $(O)/libkrtsan-nop.so $(LIBDIR)/libkrtsan-nop.so \
	644 $(O)/sim/libcuda.so.1 $(PRIVATEDIR)/sim/libcuda.so.1 \
	644 $(O)/sim/libcupti.so.13 $(PRIVATEDIR)/sim/libcupti.so.13 \
	$(foreach f,$(TORCH_FILES),644 $f $(PRIVATEDIR)/torch/$(notdir $f)) \
	644 interposer/include/krtsan.h $(INCLUDEDIR)/krtsan.h \
	644 interposer/cuabi.h $(INCLUDEDIR)/krtsan/cuabi.h \
	$(foreach f,$(wildcard reports/schema/*),644 $f $(DATADIR)/krtsan/schema/$(notdir $f)) \
	$(foreach f,$(KERNEL_TEXTS),644 $f $(DATADIR)/krtsan/kernels/$(notdir $f)) \
	$(foreach f,$(MAN_PAGES),644 $f $(MANDIR)/man$(patsubst .%,%,$(suffix $f))/$(notdir $f)) \
	644 $(COMPLETION) $(BASHCOMPDIR)/krtsan \
	644 README.md $(DOCDIR)/README.md \
	644 LICENSE $(DOCDIR)/LICENSE
# Place, what the link leads to.
INSTALL_LINKS = \
	$(PRIVATEDIR)/sim/libcuda.so $(PRIVATEDIR)/sim/libcuda.so.1 \
	$(PRIVATEDIR)/krtsan $(BINDIR)/krtsan \
	$(INSTALL_BRIDGE)
# krtsan looks in ../lib/MULTIARCH, ../lib and ../lib64 of its folder; where LIBDIR is
# none of them, ../lib/krtsan leads there.
INSTALL_NEAR = $(abspath $(BINDIR)/../lib)
INSTALL_BRIDGE = $(if $(filter $(abspath $(LIBDIR)),$(INSTALL_NEAR) $(INSTALL_NEAR)64 $(MULTIARCH:%=$(INSTALL_NEAR)/%)),, \
	$(INSTALL_NEAR)/krtsan $(PRIVATEDIR))
INSTALL_OWN = $(PRIVATEDIR)/sim $(PRIVATEDIR)/torch $(PRIVATEDIR) $(INCLUDEDIR)/krtsan \
	$(DATADIR)/krtsan/schema $(DATADIR)/krtsan/kernels $(DATADIR)/krtsan $(DOCDIR)

.PHONY: install uninstall deb
install: $(O)/krtsan $(O)/libkrtsan.so $(O)/libkrtsan-nop.so $(O)/sim/libcuda.so.1 $(O)/sim/libcupti.so.13 \
		$(TORCH_FILES) $(MAN_PAGES) $(COMPLETION)
	$(call msg,INSTALL,$(DESTDIR)$(PREFIX))
	$(Q)set -e; set -- $(INSTALL_FILES); while [ $$# -gt 0 ]; do \
		install -D -m $$1 "$$2" "$(DESTDIR)$$3"; shift 3; done
	$(Q)set -e; set -- $(INSTALL_LINKS); while [ $$# -gt 0 ]; do mkdir -p "$(DESTDIR)$${1%/*}"; \
		ln -sfnT "$$(realpath -ms --relative-to="$${1%/*}" "$$2")" "$(DESTDIR)$$1"; shift 2; done
	$(Q)mkdir -p "$(DESTDIR)$(PKGCONFIGDIR)"
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|;s|@LIBDIR@|$(LIBDIR)|;s|@INCLUDEDIR@|$(INCLUDEDIR)|' \
		-e 's|@VERSION@|$(KRT_VERSION)|' analyzer/install/krtsan.pc.in >"$(DESTDIR)$(PKGCONFIGDIR)/krtsan.pc"
	$(Q)[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || $(LDCONFIG)

uninstall:
	$(call msg,REMOVE,$(DESTDIR)$(PREFIX))
	$(Q)set -- $(INSTALL_FILES); while [ $$# -gt 0 ]; do rm -f "$(DESTDIR)$$3"; shift 3; done
	$(Q)set -- $(INSTALL_LINKS); while [ $$# -gt 0 ]; do rm -f "$(DESTDIR)$$1"; shift 2; done
	$(Q)rm -f "$(DESTDIR)$(PKGCONFIGDIR)/krtsan.pc"
	$(Q)for d in $(INSTALL_OWN); do rmdir "$(DESTDIR)$$d" 2>/dev/null || :; done
	$(Q)[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || $(LDCONFIG)

# A Debian package: make install in a folder, packed by dpkg-deb.
DEB_ARCH = $(shell dpkg --print-architecture 2>/dev/null)
DEB = $(O)/krtsan_$(KRT_VERSION)_$(DEB_ARCH).deb
deb:
	$(Q)rm -rf $(O)/deb
	+$(Q)$(MAKE) --no-print-directory install DESTDIR='$(abspath $(O))/deb/root' PREFIX=/usr BINDIR=/usr/bin \
		LIBDIR=/usr/lib$(MULTIARCH:%=/%) >/dev/null
	$(Q)analyzer/install/deb.sh $(O)/deb $(KRT_VERSION) $(DEB_ARCH) $(DEB)
	$(call msg,DEB,$(DEB))
# --- end of installation --------------------------------------------------------------
