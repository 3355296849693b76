#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Inputs for the fuzzer to begin from (seeds.sh BUILD PROGRAM...): BUILD/fuzz/seeds/TARGET.
# Those of traces are recorded from the test programs named, on the simulated driver.
set -eu
O=$1
shift
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/seeds" "$tmp/traces"

for p; do
	# what a program of hazards ends with is its own affair
	"$O/krtsan" record --sim --stacks=leaf --pystacks=off -o "$tmp/traces/${p##*/}" -- "$O/testcases/$p" \
		>/dev/null 2>&1 </dev/null || :
	[ -n "$(find "$tmp/traces/${p##*/}" -type f -name '[1-9]*')" ] || { echo "seeds.sh: $p: no trace" >&2; exit 1; }
done
for t in $("$O/fuzz/fuzz" --list); do
	FUZZ_TRACES=$tmp/traces "$O/fuzz/fuzz" --target="$t" --seeds="$tmp/seeds/$t"
done
rm -rf "$O/fuzz/seeds"
mv "$tmp/seeds" "$O/fuzz/seeds"
