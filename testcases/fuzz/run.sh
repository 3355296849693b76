#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the fuzzer that lies beside this file (build/fuzz: fuzz, seeds, corpus, found).
#
#   run.sh short                          in `make test`: for each target what ended badly
#                                         once, then RUNS inputs from a fixed seed
#   run.sh long MINUTES JOBS OUT [TARGET...]  each target so long in two processes, JOBS
#                                         processes at a time; a table on stdout and in
#                                         OUT/fuzz.md, in OUT/found.tar.gz what ended badly,
#                                         in OUT/grown.tar.gz inputs that came to something new
#
# Needs bash, coreutils, tar and libc alone.
set -u
here=$(cd "$(dirname "$0")" && pwd)
fuzz=$here/fuzz
tmp=$(mktemp -d "${TMPDIR:-/dev/shm}/fuzz.XXXXXX") || exit 125
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
export TMPDIR=$tmp
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:handle_abort=1:detect_stack_use_after_return=0
export UBSAN_OPTIONS=print_stacktrace=1
# A minute for one input: far from what any takes, so that a busy machine is no hang.
flags="-timeout=60 -rss_limit_mb=3000 -malloc_limit_mb=2000 -entropic=0 -reload=0 -print_final_stats=1"

# In `make test`: inputs of each target, for about the same time.
runs() {
	case $1 in
	trace) echo 500 ;;
	ptx) echo 900 ;;
	report | baseline) echo 2000 ;;
	store | options | command) echo 4000 ;;
	suppressions | kernels) echo 12000 ;;
	name) echo 30000 ;;
	*) echo 60000 ;;
	esac
}

list_of() { # a file with the inputs of a target, in one order everywhere
	find "$here/corpus/$1" "$here/seeds/$1" -type f 2>/dev/null | LC_ALL=C sort | paste -sd, >"$tmp/$1.list"
}

short_one() { # target
	local t=$1 log=$tmp/$1.log out bad=0 n
	out=$tmp/$t.out
	mkdir -p "$out"
	list_of "$t"
	for f in "$here/found/$t"/*; do
		[ -e "$f" ] || continue
		"$fuzz" --target="$t" $flags "$f" >>"$log" 2>&1 || { echo "not ok fuzz/$t: $f"; bad=1; }
	done
	n=$(tr , '\n' <"$tmp/$t.list" | wc -l)
	"$fuzz" --target="$t" $flags -seed=1 -runs=$(($(runs "$t") + n)) -seed_inputs=@"$tmp/$t.list" \
		-artifact_prefix="$here/bad-$t-" "$out" >>"$log" 2>&1 || bad=1
	if [ $bad = 0 ]; then
		echo "ok fuzz/$t: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1) inputs"
	else
		tail -n 40 "$log"
		echo "not ok fuzz/$t: what ended badly is $here/bad-$t-*"
	fi
	return $bad
}

short() {
	local fails=0 t
	rm -f "$here"/bad-*
	for t in $("$fuzz" --list); do
		while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n || fails=1; done
		short_one "$t" >"$tmp/$t.told" &
	done
	while [ -n "$(jobs -p)" ]; do wait -n || fails=1; jobs >/dev/null; done
	cat "$tmp"/*.told
	return $fails
}

long_one() { # target, number, seconds
	local dir=$tmp/work/$1 end=$((SECONDS + $3)) n=0 left
	# what ends badly ends the process: the next goes on from what was found so far
	while left=$((end - SECONDS)) && [ $left -gt 0 ]; do
		n=$((n + 1))
		"$fuzz" --target="$1" ${flags/-reload=0/-reload=1} -max_total_time=$left -artifact_prefix="$dir/bad/" \
			"$dir/grown" "$here/corpus/$1" "$here/seeds/$1" >"$dir/log/$2.$n" 2>&1 && break
		[ $n -lt 50 ] || break
	done
}

sum_of() { # pattern, logs
	local pattern=$1
	shift
	sed -n "s/^stat::$pattern: *//p" "$@" | awk '{ s += $1 } END { printf "%d", s }'
}

row() { # target
	local dir=$tmp/work/$1 log=$tmp/work/$1/cover
	"$fuzz" --target="$1" $flags -runs=0 "$dir/grown" "$here/corpus/$1" "$here/seeds/$1" >"$log" 2>&1
	printf '| %s | %d | %s | %d | %d | %d |\n' "$1" "$(sum_of number_of_executed_units "$dir"/log/*)" \
		"$(sed -n 's/.*INITED cov: \([0-9]*\) ft: \([0-9]*\).*/\1 | \2/p' "$log" | tail -n 1)" \
		"$(find "$dir/bad" -name 'crash-*' -o -name 'oom-*' | wc -l)" \
		"$(find "$dir/bad" -name 'timeout-*' -o -name 'slow-unit-*' | wc -l)" \
		"$(find "$dir/bad" -name 'leak-*' | wc -l)"
}

long() {
	local minutes=$1 jobs=$2 out=$3 t k
	shift 3
	mkdir -p "$out"
	[ $# -gt 0 ] || set -- $("$fuzz" --list)
	for t; do
		mkdir -p "$tmp/work/$t/grown" "$tmp/work/$t/bad" "$tmp/work/$t/log" "$here/corpus/$t" "$here/seeds/$t"
	done
	for k in 1 2; do
		for t; do
			while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
			long_one "$t" $k $(awk "BEGIN { printf \"%d\", $minutes * 60 }") &
		done
	done
	wait
	{
		echo "$minutes minutes a target, each in two processes, $jobs processes at a time."
		echo
		echo '| target | executions | edges | features | crashes | hangs | leaks |'
		echo '|---|---|---|---|---|---|---|'
		for t; do row "$t"; done
	} | tee "$out/fuzz.md"
	for t; do # what each says of what ended badly
		[ -z "$(ls "$tmp/work/$t/bad")" ] || tail -n 60 "$tmp/work/$t"/log/* >"$tmp/work/$t/bad/log.txt"
	done
	tar -C "$tmp/work" -czf "$out/found.tar.gz" $(for t; do echo "$t/bad"; done)
	tar -C "$tmp/work" -czf "$out/grown.tar.gz" $(for t; do echo "$t/grown"; done)
}

case ${1-} in
short) short ;;
long) shift; long "$@" ;;
*) sed -n 's/^# \{0,1\}//; 4,14p' "$0" >&2; exit 2 ;;
esac
