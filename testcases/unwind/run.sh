#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh DIR: the torture test of the unwinder, the same comparison inside a
# Python interpreter, where there is one, and the free family under load.
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
heap() { # NAME PRELOAD
	if LD_PRELOAD=$2 timeout 120 "$dir/heap_torture"; then
		echo "ok heap under load, $1"
	else
		echo "not ok heap under load, $1"
		fails=$((fails + 1))
	fi
}
heap "libc's malloc" "$dir/libkrtheap.so"
for lib in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
	# only where the loader finds it
	if [ -z "$(LD_PRELOAD=$lib /bin/true 2>&1)" ]; then
		heap "$lib behind" "$dir/libkrtheap.so $lib"
	fi
done
[ "$fails" -eq 0 ]
