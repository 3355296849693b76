#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Python frames in call stacks, on the simulated driver, with each CPython that is
# here: run.sh BUILD.  One line a test, `ok` or `not ok`; the last line is
# `N passed, N failed`.
set -u

build=$(cd "$1" && pwd) || exit 125
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 125
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 125
unset KRTSAN_SESSION KRTSAN_OPTIONS LD_PRELOAD
export PYTHONDONTWRITEBYTECODE=1
# what talks to the driver is an installed package, the programs are the user's
mkdir site-packages && cp "$here/cu.py" site-packages && cp "$here"/*.py . && rm cu.py || exit 125
export PYTHONPATH="$work/site-packages"
passed=0
failed=0

ok() { passed=$((passed + 1)); echo "ok $1"; }
not_ok() { failed=$((failed + 1)); echo "not ok $1"; shift; for l; do echo "  $l"; done; }
# check NAME TROUBLE
check() { if [ -z "$2" ]; then ok "$1"; else not_ok "$1" "$2" "$(tail -n 12 err)"; fi; }
# krtsan OPTIONS... -- COMMAND
krtsan() { timeout 60 "$build/krtsan" run --sim --report=json:r.json "$@" >out 2>err </dev/null; rc=$?; }
show() { python3 show.py r.json | tr '\n' ';'; }
# compare N: what differs, or is missing, of N stacks
compare() { python3 compare.py r.json out >differs; grep -q "^$1 equal" differs && [ "$(wc -l <differs)" = 1 ] || tail -n 5 differs; }
# line PROGRAM WORD: where it says so
line() { grep -n "# $2\$" "$1.py" | cut -d: -f1; }

"$here/interpreters.sh" >interpreters
for v in 3.8 3.9 3.10 3.11 3.12 3.13; do
	grep -q "^$v\." interpreters || echo "python $v: not here, left out"
done

while read -r version python; do
	krtsan -- "$python" race.py
	main=$(line race main)
	want="KRT-RACE-WAW;current race.py:$(line race second):run race.py:$main:<module>;"
	want="${want}previous race.py:$(line race first):first race.py:$((main - 3)):<module>;"
	want="${want}allocated race.py:$(line race alloc):<module>;"
	bad=
	[ $rc = 66 ] || bad="exit code $rc;"
	[ "$(show)" = "$want" ] || bad="$bad $(show), expected $want"
	grep -q "^==[0-9]*== SUMMARY: .* race.py:$(line race second) in" err || bad="$bad no summary of that line;"
	check "$version: a race leads with the program's own lines" "$bad"

	krtsan -- "$python" race.py fixed
	check "$version: with the wait it is silent" "$([ $rc = 0 ] && ! grep -q 'error\b.*(certain)' err || echo "exit code $rc")"

	krtsan -- "$python" cases.py
	check "$version: frames of every kind, as Python itself tells them" "$(compare 150)"

	krtsan -- "$python" cases.py forked through_generator in_thread
	check "$version: in a child made by fork" "$(compare 4)"

	krtsan --stacks=leaf -- "$python" race.py
	check "$version: stacks=leaf has the innermost alone" "$(python3 show.py r.json all | grep -v '^KRT\|^[a-z]* cu.py:[0-9]*:call$')"

	krtsan -- "$python" ending.py "$build/python/churn.so"
	check "$version: goes on while the interpreter ends" "$([ $rc = 0 ] && [ "$(cat out)" = ends ] || echo "exit code $rc, $(cat out)")"
done <interpreters

krtsan --pystacks=off -- python3 race.py
check "pystacks=off: none" "$([ $rc = 66 ] || echo "exit code $rc"; python3 show.py r.json all | grep '\.py')"

timeout 60 "$build/krtsan" record --sim -o t.krt -- python3 race.py >out 2>err
timeout 300 "$build/testcases/flip" t.krt 151 >out 2>err
rc=$?
check "damaged: everywhere, a trace with Python frames" "$([ $rc = 0 ] || echo "exit code $rc")"

# None of those that are known: a word of why, once, and the report is as without.
for c in 'later 3\.14: this version' 'wild 3\.11: its frames' 'other 3\.11: its frames' 'cycle 3\.11: its frames' 'quiet -' 'loading -'; do
	krtsan -- "$build/python/notpython" "${c%% *}"
	bad=
	[ $rc = 66 ] || bad="exit code $rc;"
	n=$(grep -c "no Python frames in call stacks" err)
	if [ "${c#* }" = - ]; then
		[ "$n" = 0 ] || bad="$bad says something;"
	else
		[ "$n" = 1 ] && grep -q "no Python frames in call stacks: ${c#* }" err || bad="$bad $n notices;"
	fi
	check "not Python: ${c%% *}" "$bad"
done
KRTSAN_OPTIONS= LD_LIBRARY_PATH="$build/sim" LD_PRELOAD="$build/libkrtsan.so" timeout 60 "$build/python/notpython" later >out 2>err
rc=$?
check "not Python: bare" "$([ $rc = 66 ] && [ "$(grep -c '^krtsan: python: no Python frames' err)" = 1 ] || echo "exit code $rc")"

echo "$passed passed, $failed failed"
[ $failed = 0 ]
