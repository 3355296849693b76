#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# NVTX as a feed, on the simulated driver or on a GPU: nvtx.sh [--gpu] OUT PROGRAM...
set -u
sim=--sim
[ "$1" = --gpu ] && sim= && shift
out=$(cd "$1" && pwd)
shift
work=$out/inter/nvtx-work
lib=$out/libkrtsan.so
next=$out/inter/libnvtxnext.so
bad=0
unset KRTSAN_SESSION KRTSAN_OPTIONS NVTX_INJECTION64_PATH KRTSAN_NVTX_NEXT
path=${sim:+$out/sim:}${LD_LIBRARY_PATH-}
mkdir -p "$work"

ok() { echo "ok $1"; }
not_ok() { echo "not ok $1"; bad=1; }

# says NAME TEXT...: the last report has each of them
says() {
	name=$1
	shift
	for text; do
		grep -q -e "$text" "$work/report" && ok "$name: $text" ||
			{ not_ok "$name: no $text"; head -30 "$work/report"; }
	done
}

# run PROGRAM MODE [OPTION]: exit code in $code
run() {
	"$out/krtsan" run $sim ${3-} -- "$1" "$2" >"$work/report" 2>&1
	code=$?
}

for prog; do
	p=$(basename "$prog")
	for mode in race told handles resize reset; do
		run "$prog" $mode
		[ $code -eq 66 ] && ok "$p $mode: found" || not_ok "$p $mode: exit code $code"
		says "$p $mode" 'error KRT-REUSE-RACE (certain)' '1 error, 0 warnings'
	done
	run "$prog" race
	says "$p names" 'stream "producer"' 'stream "nächster"' 'pool "arena"' 'buffer "second"' \
		'#[0-9]* on stream "nächster" in range "overwrite"' '#[0-9]* on stream "producer" in range "gather"'
	run "$prog" names --report=json:"$work/names.json"
	says "$p every way" '0 errors, 6 warnings'
	for way in A W rA rW R rR; do
		says "$p every way" "waits for event \"e$way\", which had not been recorded" "on stream \"s$way\""
		grep -q '"stream": "stream \\"s'$way'\\""' "$work/names.json" && ok "$p every way: s$way in the JSON" ||
			not_ok "$p every way: s$way in the JSON"
	done
	run "$prog" told
	says "$p told" 'the pool was told'
	run "$prog" reset
	says "$p reset" 'pool destroy'
	for mode in fixed layout; do
		run "$prog" $mode
		[ $code -eq 0 ] && ok "$p $mode: silent" || { not_ok "$p $mode: exit code $code"; cat "$work/report"; }
		says "$p $mode" '0 errors, 0 warnings' 'analysis complete'
	done
	run "$prog" race --nvtx=0
	says "$p nvtx=0" 'KRT-RACE-WAR'
	grep -q 'producer' "$work/report" && not_ok "$p nvtx=0: names" || ok "$p nvtx=0: no names"

	# bare
	(LD_PRELOAD=$lib LD_LIBRARY_PATH=$path exec "$prog" race) >"$work/report" 2>&1
	[ $? -eq 66 ] && ok "$p bare: found" || not_ok "$p bare"
	says "$p bare" KRT-REUSE-RACE

	# somebody else's library was named
	export NVTX_INJECTION64_PATH="$next" NVTX_NEXT_LOG="$work/log"
	rm -f "$work/log"
	run "$prog" handles
	says "$p chained" KRT-REUSE-RACE 'stream "producer"' 'pool "arena"'
	printf '%s\n' comes 'stream producer' 'extension 1' heap 'region in 0x4ea1' 'region 0x5000 ends' \
		'region in 0x4ea1' 'heap 0x4ea1 ends' | cmp -s - "$work/log" && ok "$p chained: the other heard all" ||
		{ not_ok "$p chained: the other heard"; cat "$work/log"; }
	rm -f "$work/log"
	NVTX_NEXT_FAILS=1 run "$prog" handles
	says "$p chained to one that fails" KRT-REUSE-RACE 'pool "arena"'
	rm -f "$work/log"
	run "$prog" race --nvtx=0
	says "$p chained, nvtx=0" 'KRT-RACE-WAR'
	grep -q '^heap$' "$work/log" && ok "$p chained, nvtx=0: left alone" || not_ok "$p chained, nvtx=0"

	# a child that is not preloaded inherits the names: ours passes on
	rm -f "$work/log"
	NVTX_INJECTION64_PATH=$lib KRTSAN_NVTX_NEXT=$next LD_LIBRARY_PATH=$path "$prog" race >"$work/report" 2>&1
	[ $? -eq 0 ] && grep -q '^heap$' "$work/log" && [ ! -s "$work/report" ] && ok "$p unwatched: passed on" ||
		{ not_ok "$p unwatched"; cat "$work/log" "$work/report"; }
	unset NVTX_INJECTION64_PATH
	for who in "$lib" "$out/inter/no-such-library.so"; do
		NVTX_INJECTION64_PATH=$lib KRTSAN_NVTX_NEXT=$who LD_LIBRARY_PATH=$path "$prog" race
		[ $? -eq 0 ] && ok "$p unwatched, next $(basename "$who")" || not_ok "$p unwatched, next $who"
	done
	NVTX_INJECTION64_PATH=$out/inter/no-such-library.so run "$prog" race
	says "$p next is missing" KRT-REUSE-RACE
done

# What the program finds in its environment.
set -- "$out/krtsan" run -- env
"$@" 2>/dev/null | grep -c '^NVTX_INJECTION64_PATH='"$lib" | grep -qx 1 && ok "environment: named once" ||
	not_ok "environment"
"$out/krtsan" run --nvtx=0 -- env 2>/dev/null | grep -q '^NVTX_INJECTION\|^KRTSAN_NVTX' && not_ok "environment, nvtx=0" ||
	ok "environment, nvtx=0: left alone"
NVTX_INJECTION64_PATH=/a/b KRTSAN_OPTIONS= LD_PRELOAD=$lib env 2>/dev/null | grep -q '^KRTSAN_NVTX_NEXT=/a/b$' &&
	ok "environment: the other is kept" || not_ok "environment: the other"
exit $bad
