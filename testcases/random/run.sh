#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Random operations on three streams: run.sh BUILD [FIRST LAST ROUNDS], a process a seed;
# with GPU=1 in the environment on a card, else on the simulated driver.
# Not one false alarm, not one meeting missed, and each is gone with the order that it lacks.
set -u
build=$(cd "$1" && pwd) || exit 125
here=$(cd "$(dirname "$0")" && pwd)
first=${2:-1} last=${3:-12} rounds=${4:-30}
work=$(mktemp -d) || exit 125
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 sim=--sim
[ -n "${GPU:-}" ] && sim=
for seed in $(seq "$first" "$last"); do
	"$build/krtsan" run $sim --stacks=full --depth=64 --fail-on=never --log-path=/dev/null --report=json:"$work/r.json" -- \
		"$build/random/launches" "$seed" "$rounds" >"$work/out" 2>"$work/err"
	rc=$?
	what=$(python3 "$here/check.py" "$work/out" "$work/r.json" 2>&1)
	set -- $(printf '%s\n' "$what" | tail -n 1)
	grep -q '"verified": "removes"' "$work/r.json" && ! grep -q '"verified": "[kc]' "$work/r.json"
	mended=$?
	if [ "$rc" = 0 ] && [ "${3:-1}" = 0 ] && [ "$mended" = 0 ]; then
		passed=$((passed + 1))
		echo "ok random launches, seed $seed: $1 meet of $2"
	else
		failed=$((failed + 1))
		echo "not ok random launches, seed $seed, exit $rc"
		printf '%s\n' "$what"
		grep -A1 '"verified": "[kc]' "$work/r.json" | head -n 6
		head -n 5 "$work/err"
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
