#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# PyTorch scripts with a forgotten wait, on a GPU: the finding has to lead with the
# script's own lines and to propose the line that mends it; pasted in, the finding
# has to be gone and the output the same.
#
#   testcases/gpu/fix.sh [NAME...]      scripts of testcases/gpu/fix
#
# Needs build/ (make) and python3 with PyTorch.  Logs go to $OUT.
set -u
cd "$(dirname "$0")/../.."
B=$PWD/build
OUT=${OUT:-$(mktemp -d)}
fails=0
for name in ${*:-wait loop record}; do
	script=testcases/gpu/fix/$name.py
	feed=$(sed -n 's/^# krtsan: //p' "$script")
	run() { # script report
		timeout 200 "$B/krtsan" run $feed --report=json:"$2.json" --log-path="$2.txt" -- python3 "$1" >"$2.out" 2>"$2.err"
	}
	run "$script" "$OUT/$name"
	code=$?
	fixed=$OUT/$name-fixed.py
	if ! said=$(python3 testcases/gpu/fix/paste.py "$OUT/$name.json" "$script" "$fixed" 2>&1); then
		said="FAIL exit $code: $(echo "$said" | tail -n 1)"
	else
		run "$fixed" "$OUT/$name-fixed"
		code=$?
		if [ $code != 0 ]; then
			said="FAIL exit $code after: $said"
		elif ! grep -q '0 errors, 0 warnings' "$OUT/$name-fixed.txt"; then
			said="FAIL findings left after: $said"
		elif ! cmp -s "$OUT/$name.out" "$OUT/$name-fixed.out"; then
			said="FAIL prints other things: $said"
		fi
	fi
	case "$said" in FAIL*) fails=$((fails + 1)) ;; *) said="ok $said" ;; esac
	printf '%-10s %s\n' "$name" "$said"
done
echo "fix: $fails failed (logs in OUT)"
exit $((fails > 0))
