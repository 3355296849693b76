#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs Criterion binaries: run.sh BIN...
# Under valgrind:          run.sh --valgrind LOGDIR --planted BIN... --tests BIN...
# (--one LOGDIR BIN: one of those, alone)
#
# Criterion runs each test in a child and drops the child's exit code, so
# valgrind's --error-exitcode proves nothing: every process writes a log of its
# own and any log that is not clean fails.  The planted binaries must fail; if
# one does not, the check itself is broken.
set -u

fails=0
passes=0

good() { passes=$((passes + 1)); printf '  ok      %s\n' "$1"; }
bad() { fails=$((fails + 1)); printf '  FAILED  %s\n' "$1"; }

plain() {
	out=$("$1" --color=never 2>&1) && rc=0 || rc=$?
	sum=$(printf '%s\n' "$out" | sed -n 's/.*Tested: \([0-9]*\) | Passing: \([0-9]*\) .*/\2 of \1 tests/p')
	case "$rc,$sum" in
	0,"0 of 0 tests" | 0,) bad "$1: no tests ran"; printf '%s\n' "$out" ;;
	0,*) good "$1: $sum" ;;
	*) bad "$1: exit code $rc, ${sum:-no summary}"; printf '%s\n' "$out" ;;
	esac
}

# Clean: every log ends in a summary of 0 errors.  Sets why.
under_valgrind() {
	dir=$logs/$(basename "$1")
	rm -rf "$dir"
	mkdir -p "$dir" || exit 125
	out=$(valgrind --suppressions="$(dirname "$0")/valgrind.supp" --trace-children=yes --leak-check=full --show-leak-kinds=definite \
		--errors-for-leak-kinds=definite --child-silent-after-fork=no \
		--log-file="$dir/%p.log" "$1" --color=never --jobs=1 --timeout=600 2>&1) && rc=0 || rc=$?
	why=
	[ "$rc" = 0 ] || why="exit code $rc"
	n=0
	for log in "$dir"/*.log; do
		[ -f "$log" ] || continue
		n=$((n + 1))
		if ! grep -q 'ERROR SUMMARY: 0 errors' "$log"; then
			why="${why:+$why, }unclean: $log"
		fi
	done
	# The runner and at least one test process.
	[ "$n" -ge 2 ] || why="${why:+$why, }only $n logs"
}

judged() {
	under_valgrind "$1"
	if [ -z "$why" ]; then
		good "$1: clean in $n processes"
		return
	fi
	bad "$1: $why"
	printf '%s\n' "$out"
	for log in "$dir"/*.log; do
		grep -q 'ERROR SUMMARY: 0 errors' "$log" || sed -n 1,60p "$log"
	done
}

if [ "${1-}" = --one ]; then
	logs=$2
	judged "$3"
	exit 0
elif [ "${1-}" != --valgrind ]; then
	for bin; do plain "$bin"; done
else
	logs=$2
	shift 2
	[ "$1" = --planted ] && shift
	while [ "$1" != --tests ]; do
		under_valgrind "$1"
		case "$why" in
		"unclean: "*) good "$1: refused, as it must be" ;;
		*) bad "$1: not refused for its planted fault (${why:-clean})" ;;
		esac
		shift
	done
	shift
	# One process a binary at a time, as many as there are processors.
	mkdir -p "$logs"
	printf '%s\n' "$@" | xargs -P "$(nproc)" -I BIN sh "$0" --one "$logs" BIN >"$logs/out"
	cat "$logs/out"
	passes=$((passes + $(grep -c '^  ok' "$logs/out")))
	fails=$((fails + $(grep -c '^  FAILED' "$logs/out")))
	[ "$(grep -cE '^  (ok|FAILED)' "$logs/out")" -eq $# ] || bad "a binary without a verdict"
fi
printf '%s passed, %s failed\n' "$passes" "$fails"
[ "$fails" = 0 ]
