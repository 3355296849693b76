#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# clang-tidy and cppcheck over the sources of what is shipped (lint.sh BUILD): no word of
# theirs is left.  .clang-tidy and cppcheck.supp say what is not asked, and why.  A
# planted fault shows that each of them can fail.
set -u
O=$1
here=testcases/lint
work=$O/lint
bad=0
flags="-std=gnu11 -D_GNU_SOURCE= -DKRT_MULTIARCH=\"\" -Iinterposer -Iinterposer/include -Ianalyzer -Irules -Ireports -I. -I$O/rules -I$O/reports"
mkdir -p "$work"
export flags

tidy() { # file...
	# shellcheck disable=SC2016
	printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 sh -c 'clang-tidy --quiet "$0" -- $flags 2>/dev/null'
}
check() { # file or folder...
	cppcheck -q -j "$(nproc)" --std=c11 --enable=warning,portability --max-configs=1 --error-exitcode=1 \
		--suppressions-list="$here/cppcheck.supp" --library="$here/macros.cfg" -D__x86_64__=1 -D__GNUC__=12 \
		-Iinterposer -Iinterposer/include -Ianalyzer -Irules -Ireports "$@" 2>&1
}
said() { # name, status, output
	if [ "$2" = 0 ]; then
		echo "ok lint: $1"
	else
		cat "$3"
		echo "not ok lint: $1"
		bad=1
	fi
}

for tool in tidy check; do
	$tool $here/planted.c >"$work/planted" 2>&1
	[ $? != 0 ]
	said "$tool: a planted fault is seen" $? "$work/planted"
done
# shellcheck disable=SC2046
tidy $(find analyzer interposer rules reports -name '*.c') >"$work/tidy" 2>&1
said 'clang-tidy has nothing to say' $? "$work/tidy"
check analyzer interposer rules reports >"$work/check" 2>&1
said 'cppcheck has nothing to say' $? "$work/check"
exit $bad
