# SPDX-License-Identifier: Apache-2.0
# krtsan.  `make help` lists the targets; V=1 shows commands; O=dir builds elsewhere.
O      ?= build
V      ?= 0
CC     ?= gcc
CSTD    = -std=gnu11
WARN    = -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wno-missing-field-initializers -Wno-gnu-variable-sized-type-not-at-end -Wno-format-zero-length
OPT    ?= -O2 -g
CFLAGS_ALL = $(CSTD) $(WARN) $(OPT) $(WERROR) -Iinterposer -Iinterposer/include -Ianalyzer -Irules -Ireports
WERROR ?= -Werror
Q       = $(if $(filter 1,$(V)),,@)
msg     = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' '$(1)' '$(2)')

.SUFFIXES:
.DELETE_ON_ERROR:
.PHONY: all help deps deps-build test demo bench clean

all:

# Each folder describes its own products; a part adds to
#   ALL    files that `make` builds
#   TESTS  make targets that `make test` runs one after another, each of which prints
#          `ok NAME` and `not ok NAME` lines, or closes with `N passed, N failed`
#   BUILD_DEPS  Debian packages that `make` and `make install` need
#   DEPS   those that the tests need as well
ALL   :=
TESTS :=
BUILD_DEPS := gcc g++ make libc6-dev uthash-dev libxxhash-dev libdw-dev libelf-dev liblzma-dev libbz2-dev zlib1g-dev libzstd-dev
DEPS  := python3 libcriterion-dev valgrind libcjson-dev
include interposer/part.mk
include analyzer/part.mk
include rules/part.mk
include reports/part.mk
include analyzer/install/part.mk
include testcases/part.mk

all: $(ALL)

help:
	@echo 'make            build/krtsan, build/libkrtsan.so, build/libkrtsan-nop.so, build/sim/libcuda.so.1'
	@echo 'make deps       install the Debian packages that are missing, for the tests too; make deps-build: for make install'
	@echo 'make test       every test; ends with "N passed, N failed"'
	@echo 'make install    DESTDIR= PREFIX=/usr/local LIBDIR= MANDIR= BASHCOMPDIR=; make uninstall takes it away'
	@echo 'make deb        a Debian package, build/krtsan_VERSION_ARCH.deb'
	@echo 'make demo       a program with planted hazards under the library'
	@echo 'make golden-update readme-update  write anew what krtsan prints of each rule, and in the README'
	@echo 'make fuzz-long  MINUTES=10 JOBS=2: damaged input of every kind under sanitizers, at length; a table'
	@echo 'make oracle     N=programs SEED=first: random programs, the engine against a brute-force judge'
	@echo 'make faults PARTS="library kills ..."   calls that fail, kills, clocks, odd programs; make faults-long: all of them'
	@echo 'make bench      cost on the simulated driver, as ratios'
	@echo 'make sanitize   everything by clang with ASan and UBSan, tested; the recorder with TSan'
	@echo 'make lint       clang-tidy and cppcheck, and every source by clang with -Wall -Wextra -Werror'
	@echo 'make clean'

deps:
	$(Q)testcases/harness/deps.sh $(BUILD_DEPS) $(DEPS)

deps-build:
	$(Q)testcases/harness/deps.sh $(BUILD_DEPS)

# A machine that builds every commit types no -j.
test:
	+$(Q)$(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc)) all
	+$(Q)MAKE='$(MAKE)' O='$(O)' testcases/harness/all.sh $(TESTS)

demo: all
	$(Q)O='$(O)' testcases/demo/demo.sh

clean:
	$(Q)rm -rf $(O)

-include $(shell find $(O) -name '*.d' 2>/dev/null)
