#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What recording adds to a launch of a graph of 10 and of 10,000 nodes, on the
# simulated driver or (--gpu) on the one there is, as a ratio within one run:
#   graph_launch.sh [--gpu] OUT [ROUNDS]
set -u
sim=1
if [ "$1" = --gpu ]; then sim=; shift; fi
out=$(cd "$1" && pwd)
rounds=${2:-15} # the simulated device takes its time
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir -m 700 "$work/s"
[ -z "$sim" ] || export LD_LIBRARY_PATH="$out/sim"
KRTSAN_SIM_REAL_TIME=1 KRTSAN_SESSION=$work/s KRTSAN_OPTIONS="" LD_PRELOAD="$out/libkrtsan.so" "$out/bench/graph" "$rounds" >"$work/wall" || exit 1
"$out/inter/graphs_dump" "$work/s" took >"$work/took" || exit 1
[ "$(wc -l <"$work/wall")" -eq "$(wc -l <"$work/took")" ] || { echo "not as many launches as records"; exit 1; }
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
few=$(paste "$work/wall" "$work/took" | awk 'NR % 2 == 1 { print $1 - $2 }' | median)
many=$(paste "$work/wall" "$work/took" | awk 'NR % 2 == 0 { print $1 - $2 }' | median)
echo "added to a launch: 10 nodes $few ns, 10,000 nodes $many ns, ratio $(awk "BEGIN { printf \"%.2f\", $many / $few }")"
[ "$many" -le $((2 * few)) ]
