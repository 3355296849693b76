#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs make targets that are test suites (all.sh TARGET...), passes their output
# on, and closes with one line for all of them: `N passed, N failed`.  What a suite
# needs is built by as many jobs as there are processors, unless make was told a number.
#
# A suite's own last line `N passed, N failed` is its count; one without such a
# line is counted by its `ok NAME` and `not ok NAME` lines.  A suite that ran
# nothing, or that ends with an error yet reports no failure, is a failure.
set -u

make=${MAKE:-make}
log=$(mktemp) || exit 125
trap 'rm -f "$log" "$log.rc"' EXIT
passed=0
failed=0
[ $# -gt 0 ] || { echo 'all.sh: no suites' >&2; exit 1; }
case ${MAKEFLAGS-} in
*-j*) jobs= ;;
*) jobs=-j$(nproc) ;;
esac

for suite; do
	printf '== %s\n' "$suite"
	began=$(date +%s)
	# shellcheck disable=SC2086
	{ $make --no-print-directory $jobs ${O:+O="$O"} "$suite" 2>&1; echo $? >"$log.rc"; } | tee "$log"
	rc=$(cat "$log.rc")
	sum=$(sed -n 's/^\([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed$/\1 \2/p' "$log" | tail -n 1)
	if [ -n "$sum" ]; then
		p=${sum% *}
		f=${sum#* }
	else
		p=$(grep -c '^ok ' "$log")
		f=$(grep -c '^not ok ' "$log")
	fi
	if [ "$f" -eq 0 ]; then
		if [ "$rc" -ne 0 ]; then
			echo "not ok $suite: exit code $rc"
			f=1
		elif [ "$p" -eq 0 ]; then
			echo "not ok $suite: nothing ran"
			f=1
		fi
	fi
	printf -- '-- %s: %s s\n' "$suite" $(($(date +%s) - began))
	[ "$f" -eq 0 ] || bad="${bad:+$bad }$suite"
	passed=$((passed + p))
	failed=$((failed + f))
done
[ -z "${bad-}" ] || printf '== suites with failures: %s\n' "$bad"
printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
