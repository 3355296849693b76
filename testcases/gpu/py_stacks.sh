#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# PyTorch with a missing wait_stream, on a real GPU: findings lead with the
# script's own lines, for both operations; with the wait they are gone.  Then
# what call stacks cost.
#
#   testcases/gpu/py_stacks.sh [findings] [cost]
#
# Needs build/ (make) and python3 with PyTorch.  Logs go to $OUT.
set -u
cd "$(dirname "$0")/../.."
B=$PWD/build
OUT=${OUT:-$(mktemp -d)}
prog=$PWD/testcases/gpu/py_stacks.py
fails=0
line() { grep -n "# $1\$" "$prog" | cut -d: -f1; }

findings() {
	python3 -c 'import sys, torch; print("CPython", sys.version.split()[0], "PyTorch", torch.__version__)'
	for what in copy module zero; do
		for fixed in "" fixed; do
			r=$OUT/$what$fixed
			timeout 120 "$B/krtsan" run --report=json:"$r.json" -- python3 "$prog" $what $fixed >"$r.out" 2>"$r.err"
			code=$?
			if [ -n "$fixed" ]; then
				[ $code = 0 ] && verdict=ok || verdict=FAIL
				echo "$verdict py_stacks $what fixed: exit $code"
			else
				python3 testcases/python/show.py "$r.json" >"$r.frames"
				verdict=ok
				[ $code = 66 ] || verdict=FAIL
				grep -q "^current py_stacks.py:$(line $what):use " "$r.frames" || verdict=FAIL
				grep -q "^previous py_stacks.py:$(line first):prefetch " "$r.frames" || verdict=FAIL
				grep -q "SUMMARY: .*py_stacks.py:$(line $what)" "$r.err" || verdict=FAIL
				echo "$verdict py_stacks $what: exit $code"
				grep '^==.*\( at \|+ \|fix:\|SUMMARY\)' "$r.err" | head -n 12
			fi
			[ $verdict = ok ] || { fails=$((fails + 1)); tail -n 5 "$r.err" "$r.frames" 2>/dev/null; }
		done
	done
}

for part in ${*:-findings cost}; do
	case $part in
	findings) findings ;;
	cost)
		timeout 20 testcases/bench/cost.sh --rounds=2 "ns per call" "$B/testcases/gpu-bench" 300 10
		timeout 75 python3 testcases/gpu/py_stacks_cost.py "$B" "${SECONDS_FOR_STEPS:-50}"
		;;
	esac
done
echo "py_stacks: $fails failed (logs in $OUT)"
exit $((fails > 0))
