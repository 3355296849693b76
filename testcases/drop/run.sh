#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Records the clean programs and the fixed twins of hazards, and asks drop about them.
# usage: run.sh BUILD [NAME...]
set -u
build=$1; shift
work=$(mktemp -d) || exit 1
[ -n "${KEEP-}" ] && echo "# $work" >&2 || trap 'rm -rf "$work"' EXIT

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
"$build/drop/drop" ${V:+-v} <"$work/list"
