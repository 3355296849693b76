#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fixes that findings propose, pasted in, on a real GPU: one line a case.
#
#   testcases/gpu/fixes.sh
#
# Needs build/ (make) and python3 with PyTorch.  Of each program in testcases/cli/fixes:
# the first finding names the program's own line, proposes a call of PyTorch's API, and
# was tried out; with that line pasted in the program is clean.  Reports go to $OUT.
set -u
cd "$(dirname "$0")/../.."
B=$PWD/build
OUT=${OUT:-$(mktemp -d)}
cp testcases/cli/fixes/*.py "$OUT"
cd "$OUT" || exit 125
fails=0

run() { # program, report
	timeout 300 "$B/krtsan" run --torch=watch --report=json:"$2.json" --log-path="$2.txt" -- python3 "$1" >"$2.out" 2>"$2.err"
}
for c in wait_stream:RACE record_stream:REUSE-RACE; do
	p=${c%:*}
	bad=
	run "$p.py" "$p"
	code=$?
	[ $code = 66 ] || bad="$bad exit code $code, expected 66;"
	grep -q "\"rule\": \"KRT-${c#*:}" "$p.json" || bad="$bad no KRT-${c#*:};"
	grep -q '"verified": "removes"' "$p.json" || bad="$bad not tried, or in vain;"
	grep -q "SUMMARY.*$p.py:[0-9]" "$p.txt" || bad="$bad no line of the program;"
	python3 paste.py "$p.json" "$p.py" >"$p.mended.py" 2>"$p.paste" || bad="$bad $(tail -n 1 "$p.paste");"
	run "$p.mended.py" "$p.mended"
	code=$?
	[ $code = 0 ] || bad="$bad pasted in: exit code $code;"
	grep -q '"findings": \[\]' "$p.mended.json" || bad="$bad pasted in: findings;"
	printf '%-20s %-5s %s\n' "$p" "$([ -z "$bad" ] && echo ok || echo FAIL)" "$bad$(grep -o 'torch.*wait_stream(side)\|tensor.record_stream(side)' "$p.mended.py" | head -n 1)"
	[ -z "$bad" ] || fails=1
done
echo "reports: $OUT"
exit $fails
