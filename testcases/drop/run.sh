#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Records the clean programs and the fixed twins of hazards, and asks drop about them.
# Then some of the calls are left out in fact: the simulated driver ignores them and overlaps all
# that it may; a wrong value is one that the engine tells of.
# usage: [V=1] [KEEP=1] [SILENT=N] [TOLD=N] run.sh BUILD [NAME...]
# V: one line a program; KEEP: the traces stay
set -u
build=$1; shift
work=$(mktemp -d) || exit 1
[ -n "${KEEP-}" ] && echo "# $work" >&2 || trap 'rm -rf "$work"' EXIT
silent=${SILENT:-60} told=${TOLD:-30} # calls left out in fact: of which the engine says nothing, and others

# NAME BINARY OPTIONS
record()
{
	KRTSAN_OPTIONS=$3 "$build/krtsan" record --sim -o "$work/$1" -- "$2" >/dev/null 2>"$work/$1.err" ||
		{ echo "# $1: not recorded: $(tail -1 "$work/$1.err")" >&2; return; }
	printf '%s\t%s\t%s\n' "$1" "$3" "$work/$1"
}

for source in testcases/clean/*.c testcases/hazard/*.c; do
	base=$(basename "$source" .c) kind=$(basename "$(dirname "$source")")
	[ $# = 0 ] || [[ " $* " == *" $base "* ]] || continue
	binary=$build/testcases/$kind/$base
	if [ "$kind" = hazard ]; then
		binary=$binary.fixed
		[ -x "$binary" ] || continue
		base=$base.fixed
	fi
	printf '%s\0%s\0%s\0' "$base" "$binary" "$(sed -n 's/^ \* OPTIONS: *//p' "$source")"
done >"$work/programs"
export -f record
export build work
xargs -0 -n 3 -P 2 bash -c 'record "$@"' record <"$work/programs" | sort >"$work/list"
"$build/drop/drop" ${V:+-v} -o "$work/verdicts" <"$work/list" >"$work/out"
status=$?
grep -v ' passed, ' "$work/out"
counts=($(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$work/out"))
passed=${counts[0]:-0} failed=${counts[1]:-1}

# NAME NUMBER FINDINGS
in_fact()
{
	local binary

	binary=$(tr '\0' '\n' <"$work/programs" | grep -A1 -x -F "$1" | tail -1)
	LD_LIBRARY_PATH=$build/sim KRTSAN_OPTIONS=sim_drop=$2:sim_view=documented timeout 60 "$binary" 2>&1 |
		grep -q WRONG && echo "wrong $*" || echo "right $*"
}
export -f in_fact
# spread evenly over all of them
sample()
{
	awk -F '\t' -v max="$1" '{ line[NR] = $0 } END { step = NR / max; if (step < 1) step = 1
		for (i = 1; i <= NR; i += step) print line[int(i)] }'
}
{ awk -F '\t' '!$3' "$work/verdicts" | sample $silent; awk -F '\t' '$3' "$work/verdicts" | sample $told; } |
	tr '\t\n' '\0\0' | xargs -0 -r -n 3 -P 2 bash -c 'in_fact "$@"' in_fact >"$work/facts"
bad=$(grep '^wrong .* 0$' "$work/facts" | sed 's/^wrong/not ok in fact, nothing is told:/')
[ -z "$bad" ] || { echo "$bad"; failed=$((failed + $(wc -l <<<"$bad"))); }
wrong=$(grep -c '^wrong' "$work/facts")
[ $# != 0 ] || [ "$wrong" -gt 0 ] || { echo "not ok: no call left out in fact makes a wrong value"; failed=$((failed + 1)); }
echo "$(wc -l <"$work/facts") calls left out in fact, $wrong of them with a wrong value"
echo "$passed passed, $failed failed"
[ $status = 0 ] && [ "$failed" = 0 ]
