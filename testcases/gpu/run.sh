#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What krtsan shows on a real GPU, as a short table: nvcc-built programs with
# planted races (static cudart, shared cudart, libcuda linked directly), every
# test program, a PyTorch training loop, and the cost of it all.
#
#   testcases/gpu/run.sh [smoke] [race] [programs] [ptx] [peers] [unload] [queries] [answers] [images] [nvtx] [torch] [timing] [kernels] [libraries] [bench] [fix] [probe] [coverage]
#
# Needs build/ (make), nvcc for `race`, PyTorch for `torch` and for some rows of `bench`.
# Logs go to $OUT (default: a temporary folder).
set -u
cd "$(dirname "$0")/../.."
B=$PWD/build
OUT=${OUT:-$(mktemp -d)}
LIB=$B/libkrtsan.so
K=$B/krtsan
what=${*:-smoke race programs ptx peers unload queries answers images nvtx torch timing kernels libraries bench fix probe coverage}
fails=0
row() { printf '%-34s %-10s %s\n' "$1" "$2" "$3"; }
verdict() { # json file -> verdict and findings
	python3 - "$1" <<'PY'
import json, sys
try:
    r = json.load(open(sys.argv[1]))
except Exception as e:
    print("no report:", e); sys.exit()
fs = ["%s/%s/%s x%d" % (f["rule"], f["level"], f["confidence"], f["count"]) for f in r["findings"]
      if f["confidence"] != "possible"]
print(r["verdict"], "; ".join(fs), "" if r["coverage"]["complete"] else r["coverage"]["reasons"])
PY
}
want() { # got wanted name detail
	if [ "$1" = "$2" ]; then row "$3" ok "exit $1 $4"; else row "$3" FAIL "exit $1, wanted $2 $4"; fails=$((fails + 1)); fi
}

for w in $what; do
case $w in
smoke)
	nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null
	"$K" version; "$K" doctor 2>&1 | head -40
	;;
peers)
	"$B/testcases/gpu-peers"
	;;
unload)
	# does unloading code wait for the device?
	timeout 120 "$B/testcases/gpu-unload"
	;;
answers)
	# what the driver answers about graphs, where the simulated one answers otherwise
	timeout 300 "$B/testcases/gpu-graph_answers" >"$OUT/answers.txt" 2>&1
	LD_LIBRARY_PATH=$B/sim timeout 300 "$B/testcases/gpu-graph_answers" >"$OUT/answers-sim.txt" 2>&1
	diff "$OUT/answers-sim.txt" "$OUT/answers.txt" && echo "all answers are the same"
	;;
images)
	# which kernels' texts a trace leads to; every kernel of the program's own must have one
	for m in static shared; do
		nvcc -cudart $m -gencode arch=compute_90,code=[sm_90,compute_90] -o "$OUT/images-$m" testcases/gpu/race.cu || continue
		"$K" record -o "$OUT/images-$m.krt" -- "$OUT/images-$m" fixed copy >/dev/null 2>&1
		"$B/inter/kernel_texts" --all "$OUT/images-$m.krt" >"$OUT/images-$m.txt"
		row "images, cudart $m" "" "$(grep 'kernels:' "$OUT/images-$m.txt" | tr '\n' ';')"
		grep -q '^ .*kernels: PTX' "$OUT/images-$m.txt"; want $? 0 "images, cudart $m: text" ""
	done
	if python3 -c 'import torch' 2>/dev/null; then
		for lib in 0 1; do
			KRTSAN_OPTIONS=lib_ptx=$lib "$K" record -o "$OUT/images-torch.krt" -- python3 testcases/gpu/images.py \
				>"$OUT/images-torch-$lib.out" 2>&1
			cat "$OUT/images-torch-$lib.out" | head -n 20
			"$B/inter/kernel_texts" --all "$OUT/images-torch.krt" >"$OUT/images-torch-$lib.txt"
			echo "lib_ptx=$lib"; grep -v '^[^ ]' "$OUT/images-torch-$lib.txt"; grep '^triton\|^scale' "$OUT/images-torch-$lib.txt"
		done
	fi
	;;
nvtx)
	programs=
	for p in nvtx nvtx-headers; do [ -x "$B/inter/$p" ] && programs="$programs $B/inter/$p"; done
	testcases/inter/nvtx.sh --gpu "$B" $programs >"$OUT/nvtx.txt" 2>&1
	want $? 0 "NVTX as a feed" "$(grep -c '^ok' "$OUT/nvtx.txt") cases"
	grep '^not ok' "$OUT/nvtx.txt" | head -n 20
	;;
race)
	for m in static shared; do
		nvcc -cudart $m -arch=sm_90 -lineinfo -g -o "$OUT/race-$m" testcases/gpu/race.cu || continue
		for k in copy kernel free; do
			LD_PRELOAD=$LIB "$OUT/race-$m" race $k >"$OUT/r.out" 2>"$OUT/r-$m-$k.txt"
			want $? 66 "$m $k race bare" "$(tail -n 1 "$OUT/r.out")"
			"$K" run --report=json:"$OUT/r.json" -- "$OUT/race-$m" race $k >/dev/null 2>"$OUT/run-$m-$k.txt"
			want $? 66 "$m $k race run" "$(verdict "$OUT/r.json")"
			LD_PRELOAD=$LIB "$OUT/race-$m" fixed $k >"$OUT/r.out" 2>"$OUT/f-$m-$k.txt"
			want $? 0 "$m $k fixed bare" "$(tail -n 1 "$OUT/r.out")"
			"$K" run --report=json:"$OUT/r.json" -- "$OUT/race-$m" fixed $k >/dev/null 2>&1
			want $? 0 "$m $k fixed run" "$(verdict "$OUT/r.json")"
		done
	done
	;;
programs)
	"$B/testcases/runner" --gpu -j 8 >"$OUT/programs.txt" 2>&1
	code=$?
	grep -v '^ok' "$OUT/programs.txt" | tail -n 60
	want $code 0 "test programs" ""
	;;
ptx)
	"$B/testcases/ptx-rows" >"$OUT/ptx.txt" 2>&1
	want $? 0 "PTX instructions as the interpreter has them" "$(tail -n 1 "$OUT/ptx.txt")"
	head -n 40 "$OUT/ptx.txt"
	;;
queries)
	timeout 300 "$B/testcases/capture-queries" >"$OUT/queries.txt" 2>&1
	want $? 0 "queries that captures allow" ""
	head -n 60 "$OUT/queries.txt"
	for m in capture to_graph modes explicit more conditional heap stack fails big threads; do
		timeout 60 "$B/inter/graphs" $m >"$OUT/graphs-plain.txt" 2>&1
		code=$?
		rm -rf "$OUT/graphs" && mkdir -m 700 "$OUT/graphs"
		KRTSAN_SESSION=$OUT/graphs KRTSAN_OPTIONS= LD_PRELOAD=$LIB timeout 60 "$B/inter/graphs" $m \
			>"$OUT/graphs-recorded.txt" 2>&1
		want $? $code "graphs $m recorded" ""
		cmp "$OUT/graphs-plain.txt" "$OUT/graphs-recorded.txt"; want $? 0 "graphs $m prints the same" ""
		"$B/inter/graphs_dump" "$OUT/graphs" >"$OUT/graphs-$m.txt"
		want $? 0 "graphs $m reads" "$(grep -c UNREAD "$OUT/graphs-$m.txt") unread"
		[ -f "testcases/inter/graphs/$m.txt" ] && diff "testcases/inter/graphs/$m.txt" "$OUT/graphs-$m.txt" | head -n 30
	done
	;;
torch)
	python3 testcases/gpu/train.py 20 >"$OUT/native.out" 2>"$OUT/native.err"
	want $? 0 "torch native" "$(tail -n 1 "$OUT/native.out")"
	"$K" run --report=json:"$OUT/torch.json" -- python3 testcases/gpu/train.py 20 \
		>"$OUT/run.out" 2>"$OUT/run.err"
	want $? 0 "torch under krtsan run" "$(verdict "$OUT/torch.json")"
	cmp "$OUT/native.out" "$OUT/run.out"; want $? 0 "torch losses equal to the last bit" ""
	LD_PRELOAD=$LIB python3 testcases/gpu/train.py 20 >"$OUT/bare.out" 2>"$OUT/bare.err"
	want $? 0 "torch bare" "$(tail -n 1 "$OUT/bare.err")"
	cmp "$OUT/native.out" "$OUT/bare.out"; want $? 0 "torch bare losses equal" ""
	python3 -c "
import json; r=json.load(open('$OUT/torch.json')); c=r['coverage']; print(json.dumps(c)[:900]); print(json.dumps(r['stats'])[:600])"
	;;
timing)
	# device times: of how many operations, and what the notes make of them
	[ -x "$OUT/race-static" ] || nvcc -cudart static -arch=sm_90 -o "$OUT/race-static" testcases/gpu/race.cu
	for p in "hazard/launch_bound" "hazard/launch_bound.fixed" "hazard/inner_launch_loop" "hazard/s39_value_every_step" \
		"clean/pipeline" "clean/worker_threads" "clean/cupti_subscriber" "$OUT/race-static"; do
		case $p in
		/*) set -- "$p" fixed kernel ;;
		*) set -- "$B/testcases/$p" ;;
		esac
		"$@" >"$OUT/native.out" 2>&1
		KRTSAN_OPTIONS=timing=cupti "$K" run --fail-on=never --report=json:"$OUT/timing.json" -- "$@" \
			>"$OUT/timing.out" 2>"$OUT/timing.err"
		want $? 0 "timing $p" "$(verdict "$OUT/timing.json")"
		cmp "$OUT/native.out" "$OUT/timing.out"
		python3 - "$OUT/timing.json" <<'PY'
import json, sys
r = json.load(open(sys.argv[1])); c = r["coverage"]
print("   %s: %d device times for %d launches, %d copies, %d sets, %d graph launches" % (
    c["timing"], c["device_times"], c["launches"], c["copies"], c["sets"], c["graph_launches"]))
for f in r["findings"]:
    if f["cost"]: print("  ", f["rule"], f["cost"], f["message"][:160])
PY
	done
	;;
kernels)
	OUT=$OUT testcases/gpu/kernels.sh; want $? 0 "kernels" ""
	;;
libraries)
	mkdir -p "$OUT/libraries"
	OUT=$OUT/libraries testcases/gpu/libraries.sh; want $? 0 "library calls" ""
	;;
bench)
	testcases/gpu/bench
	want $? 0 "cost" ""
	;;
probe)
	# the table of what calls order against this driver; exit 66: it claims what is not given
	timeout 400 "$K" doctor --probe --write="$OUT/probe.semantics" >"$OUT/probe.txt" 2>&1
	code=$?
	cat "$OUT/probe.txt"
	want $code 0 "semantics as the table has them" ""
	;;
coverage)
	OUT=$OUT testcases/gpu/coverage.sh >"$OUT/coverage.txt" 2>&1
	code=$?
	grep -E 'by CUPTI|names,|MISSING|FAIL' "$OUT/coverage.txt"
	want $code 0 "driver calls as CUPTI counts them" ""
	;;
fix)
	OUT=$OUT testcases/gpu/fix.sh
	want $? 0 "PyTorch's fixes, pasted in" ""
	;;
esac
done
echo "gpu: $fails failed (logs in OUT)"
exit $((fails > 0))
