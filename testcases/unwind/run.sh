#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh DIR: the torture test of the unwinder, and the same comparison inside a
# Python interpreter, where there is one.
set -u
dir=$1
fails=0

"$dir/torture" "$dir" || fails=$((fails + 1))

python=$(command -v python3 || true)
if [ -n "$python" ]; then
	# the interpreter itself: a version manager puts shell scripts in its place
	python=$("$python" -c 'import sys; print(sys.executable)')
	out=$(mktemp) || exit 125
	: >"$out"
	text=$(KRT_CHECK_OUT=$out LD_PRELOAD=$dir/libkrtunwind.so "$python" testcases/unwind/interp.py) || text="failed: $text"
	sum=$(tail -n 1 "$out")
	rm -f "$out"
	case "$text/$sum" in
	"[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]/2"[0-9][0-9]" checked, 0 wrong") echo "ok inside python3: $sum" ;;
	*)
		echo "not ok inside python3: $sum, $text"
		fails=$((fails + 1))
		;;
	esac
fi
[ "$fails" -eq 0 ]
