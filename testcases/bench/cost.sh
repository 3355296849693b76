#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What krtsan costs the host, as ratios to native within one run: native, hooks
# only (libkrtsan-nop.so), and the full online analysis with stacks=none, leaf
# and full, taken in turns so that all meet the same machine.
#
#   cost.sh [--sim] [--rounds=N] NAME COMMAND...
#
# COMMAND prints lines "FIGURE NUMBER"; smaller is better.  Printed per figure:
# minimum and median over all rounds, and the ratio of the minima to native.
set -eu
B=${O:-build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
rounds=3 sim=
while :; do
	case ${1:-} in
	--sim) sim=--sim; shift ;;
	--rounds=*) rounds=${1#*=}; shift ;;
	*) break ;;
	esac
done
name=$1
shift
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
[ -z "$sim" ] || export LD_LIBRARY_PATH="$B/sim${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
for _ in $(seq "$rounds"); do
	"$@" >>"$tmp/native"
	LD_PRELOAD=$B/libkrtsan-nop.so "$@" >>"$tmp/hooks"
	for s in none leaf full; do
		"$B/krtsan" run --stacks=$s --log-path=/dev/null -- "$@" >>"$tmp/$s"
	done
done
for mode in native hooks none leaf full; do
	sed "s/^/$mode /" "$tmp/$mode"
done | awk -v name="$name" '
	NF == 3 && $3 + 0 > 0 { n[$1, $2]++; v[$1, $2, n[$1, $2]] = $3; if (!seen[$2]++) fig[++nf] = $2 }
	function sorted(m, f,   i, j, t, c) {
		c = n[m, f]
		for (i = 1; i <= c; i++) s[i] = v[m, f, i]
		for (i = 2; i <= c; i++) { t = s[i]; for (j = i - 1; j >= 1 && s[j] > t; j--) s[j + 1] = s[j]; s[j + 1] = t }
		return c
	}
	END {
		split("native hooks none leaf full", mode, " ")
		printf "| %s | mode | min | median | ratio | difference |\n|---|---|---|---|---|---|\n", name
		for (k = 1; k <= nf; k++)
			for (i = 1; i <= 5; i++) {
				c = sorted(mode[i], fig[k])
				if (!c) continue
				if (i == 1) base = s[1]
				printf "| %s | %s | %.1f | %.1f | %.3f | %+.1f |\n", fig[k], mode[i], s[1], s[int((c + 1) / 2)], s[1] / base, s[1] - base
			}
	}'
