#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What krtsan prints about the example of every rule, word for word: a change of
# wording shows as a difference.  run.sh BUILD [--update]: testcases/golden/RULE.txt
# is what testcases/explain/RULE printed, without what differs from run to run.  The
# example that `krtsan explain` prints has to be that program's own lines.
# One line a rule, `ok` or `not ok` and the difference; the last line is
# `N passed, N failed`.
set -u

build=$(cd "$1" && pwd) || exit 125
update=${2-}
cd "$(dirname "$0")/../.." || exit 125
work=$(mktemp -d) || exit 125
trap 'rm -rf "$work"' EXIT
unset KRTSAN_SESSION LD_PRELOAD
KRTSAN_OPTIONS=session_dir=$work
export KRTSAN_OPTIONS NO_COLOR=1
passed=0
failed=0

# pids, addresses and handles, line numbers of the programs' common headers
same() {
	sed -E -e 's/^==[0-9]+==/==PID==/' -e 's/0x[0-9a-f]{6,}/0xADDRESS/g' \
		-e 's/([a-z_]+\.h):[0-9]+/\1:LINE/g' "$1"
}

for source in testcases/explain/*.c; do
	rule=$(basename "$source" .c)
	golden=testcases/golden/$rule.txt
	options=$(sed -n 's/^ \* OPTIONS: //p' "$source")
	KRTSAN_OPTIONS=$KRTSAN_OPTIONS${options:+:$options} "$build/krtsan" run --sim --fail-on=never \
		--log-path="$work/text" -- "$build/testcases/explain/$rule" >/dev/null 2>"$work/err"
	code=$?
	if [ $code != 0 ]; then
		failed=$((failed + 1))
		echo "not ok $rule: exit code $code"
		cat "$work/err"
		continue
	fi
	same "$work/text" >"$work/same"
	[ -z "$update" ] || cp "$work/same" "$golden"
	expand "$source" | sed 's/^        //' >"$work/source"
	if "$build/krtsan" explain "$rule" | sed -n '/^Bad:/,$p' | sed -n 's/^    //p' |
			grep -vxFf "$work/source" >"$work/other" || [ ! -s "$work/source" ]; then
		failed=$((failed + 1))
		echo "not ok $rule: explain prints what is not in the program"
		sed 's/^/  /' "$work/other"
	elif ! grep -q "SUMMARY: krtsan: [a-z]* $rule " "$work/same"; then
		failed=$((failed + 1))
		echo "not ok $rule: no such finding"
	elif ! diff -u "$golden" "$work/same" >"$work/diff"; then
		failed=$((failed + 1))
		echo "not ok $rule"
		sed 's/^/  /' "$work/diff"
	else
		passed=$((passed + 1))
		echo "ok $rule"
	fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
