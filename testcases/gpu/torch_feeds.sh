#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# PyTorch under `krtsan run --torch`, both feeds, on a real GPU: one line a case.
#
#   testcases/gpu/torch_feeds.sh [part of a name]
#
# Needs build/ (make) and python3 with PyTorch.  $JOBS cases (12) run at a time, the
# costs at the end and alone.  Logs go to $OUT.
set -u
cd "$(dirname "$0")/../.."
B=$PWD/build
OUT=${OUT:-$(mktemp -d)}
PY="python3 $PWD/testcases/gpu/torch_feeds.py"
only=${1:-}
n=0
: >"$OUT/bad"
# The recipes are the README's own text.
mkdir -p "$OUT/recipes"
awk -v dir="$OUT/recipes/" '/^```$/ { out = "" } out { print >out } /^# krtsan_[a-z]*\.py:/ { out = dir substr($2, 1, length($2) - 1) }' README.md
export PYTHONPATH=$OUT/recipes${PYTHONPATH:+:$PYTHONPATH}

line() { # name, ok or FAIL, the rest
	printf '%-46s %-5s %s\n' "$1" "$2" "$3"
	[ "$2" = FAIL ] && echo "$1" >>"$OUT/bad"
}
chosen() { case "$1" in *"$only"*) n=$((n + 1)) ;; *) return 1 ;; esac; }
# Runs a case behind the others; its lines come in order at the end.
later() {
	while [ "$(jobs -pr | wc -l)" -ge "${JOBS:-12}" ]; do wait -n; done
	"$@" >"$OUT/$n.line" 2>&1 &
}
summary() { python3 testcases/gpu/summary.py "$1" "$2"; } # report, wanted
# t NAME FEED WANTED [VAR=VALUE...] -- ARGS: the exit code and what is printed must be as without krtsan
t() { chosen "$1 ($2)" && later t_now "$@"; }
t_now() {
	local name=$1 feed=$2 want=$3 env=() out code verdict
	shift 3
	while [ "$1" != -- ]; do env+=("$1"); shift; done
	shift
	env "${env[@]}" timeout 240 $PY "$@" >"$OUT/$n.native" 2>"$OUT/$n.native.err"
	local native=$?
	out=$OUT/$n
	env "${env[@]}" timeout 300 "$B/krtsan" run --torch=$feed --report=json:"$out.json" --log-path="$out.report" \
		--show=possible --fail-on=never -- $PY "$@" >"$out.out" 2>"$out.err"
	code=$?
	verdict=$(summary "$out.json" "$want")
	if [ "$native" != 0 ]; then
		verdict="FAIL the program itself: exit $native: $(tail -n 1 "$out.native.err" | cut -c 1-150)"
	elif [ $code != 0 ]; then
		verdict="FAIL exit $code: $(grep -v '^ *$' "$out.err" | tail -n 1 | cut -c 1-200) | $verdict"
	elif ! cmp -s "$out.native" "$out.out"; then
		verdict="FAIL prints other things: $(diff "$out.native" "$out.out" | head -n 3 | tr '\n' ' ' | cut -c 1-200) | $verdict"
	fi
	line "$name ($feed)" "${verdict%% *}" "${verdict#* }"
	grep -a '^krtsan: ' "$out.err" | head -n 2 | sed 's/^/      /'
}
both() { local name=$1; shift; t "$name" watch "$@"; t "$name" replace "$@"; }
# A case that the replace feed refuses with a message that names the other feed.
refused() { chosen "$1 (replace)" && later refused_now "$@"; }
refused_now() {
	local name=$1
	shift
	timeout 240 "$B/krtsan" run --torch=replace --log-path="$OUT/$n.report" --fail-on=never -- $PY "$@" \
		>"$OUT/$n.out" 2>"$OUT/$n.err"
	local code=$?
	if [ $code != 0 ] && grep -qa -e '--torch=watch' "$OUT/$n.err"; then
		line "$name (replace)" ok "refused: $(grep -a -e '--torch=watch' "$OUT/$n.err" | tail -n 1 | cut -c 1-120)"
	else
		line "$name (replace)" FAIL "exit $code, not refused: $(tail -n 1 "$OUT/$n.err" | cut -c 1-150)"
	fi
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null
[ -z "$only" ] && { $PY probe 2>&1 | tail -n 40; }

S=silent
both "forgotten record_stream, copies" KRT-REUSE-RACE/error -- handed_over forgotten
both "forgotten record_stream, kernels" "KRT-REUSE-RACE" -- handed_over forgotten kernels
both "record_stream, copies" $S -- handed_over record_stream
both "record_stream, kernels" $S -- handed_over record_stream kernels
both "wait before the free, kernels" $S -- handed_over wait kernels
both "forgotten in a graph, copies" "KRT-REUSE-RACE|KRT-GRAPH-UNORDERED-NODES" -- handed_over_in_graph forgotten
both "forgotten in a graph, kernels" "KRT-REUSE-RACE|KRT-GRAPH-UNORDERED-NODES" -- handed_over_in_graph forgotten kernels
both "record_stream in a graph" $S -- handed_over_in_graph record_stream
both "wait in a graph" $S -- handed_over_in_graph wait kernels
both "graph of an MLP" $S -- graph_mlp
both "graph of a training step" $S -- graph_train
both "graphs that share a pool" $S -- graph_two_pools
both "captured input recycled, copy" KRT-GRAPH-STALE-ADDR/error -- graph_stale freed
both "captured input recycled, kernel" KRT-GRAPH-STALE-ADDR -- graph_stale freed kernels
both "captured input kept, copy" $S -- graph_stale kept
both "captured input kept, kernel" $S -- graph_stale kept kernels
t "reduce-overhead" watch $S -- compiled
t "reduce-overhead, training" watch $S -- compiled train
t "reduce-overhead, shapes in turn" watch $S -- compiled_shapes
refused "reduce-overhead" compiled
both "memory statistics" $S -- stats
both "out of memory" $S -- out_of_memory
both "threads" $S -- threads
t "threads, again" watch $S -- threads
t "threads, once more" watch $S -- threads
both "busy threads" $S -- busy_threads
both "DataLoader workers" $S -- loader
both "child processes" $S -- children
t "cudnn.benchmark" watch $S -- benchmark
refused "cudnn.benchmark" benchmark
t "expandable segments, graph" watch $S PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True -- graph_mlp
t "expandable segments, forgotten" watch KRT-REUSE-RACE/error PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True -- handed_over forgotten
t "cudaMallocAsync" watch $S PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync -- graph_mlp
# A cudaFree waits, though nobody promises it.
t "without caching" watch KRT-FREE-IN-USE/warning PYTORCH_NO_CUDA_MEMORY_CACHING=1 -- threads
if python3 -c 'import cupy' 2>/dev/null; then
	t "CuPy recipe, forgotten" off KRT-REUSE-RACE/error -- cupy_pool forgotten
	t "CuPy recipe, fixed" off $S -- cupy_pool fixed
fi

train() {
	local feed=$1 f=$OUT/train.$1
	python3 testcases/gpu/train.py 20 >"$f.native" 2>"$f.err"
	"$B/krtsan" run --torch=$feed --report=json:"$f.json" --log-path="$f.report" --fail-on=never -- \
		python3 testcases/gpu/train.py 20 >"$f.out" 2>"$f.err"
	local v
	v=$(summary "$f.json" silent)
	cmp -s "$f.native" "$f.out" || v="FAIL losses differ | $v"
	line "training loop, equal to the last bit ($feed)" "${v%% *}" "${v#* }"
}
hidden() {
	echo 'exec python3 -I "$@"' >"$OUT/hidden.sh"
	"$B/krtsan" run --torch --log-path=/dev/null -- sh "$OUT/hidden.sh" "$PWD/testcases/gpu/torch_feeds.py" small \
		>/dev/null 2>"$OUT/hidden.err"
	if grep -qa 'feed did not report' "$OUT/hidden.err"; then line "-I behind a shell is told" ok ""
	else line "-I behind a shell is told" FAIL "$(tail -n 1 "$OUT/hidden.err")"; fi
}
launcher() {
	"$B/krtsan" run --torch --report=json:"$OUT/run.json" --log-path=/dev/null -- torchrun --nproc-per-node=2 \
		"$PWD/testcases/gpu/torch_feeds.py" small >"$OUT/run.out" 2>"$OUT/run.err"
	local code=$? v
	v=$(summary "$OUT/run.json" silent)
	[ $code = 0 ] || v="FAIL exit $code $(tail -n 1 "$OUT/run.err" | cut -c 1-120) | $v"
	line "torchrun (watch)" "${v%% *}" "${v#* }"
	grep -a '^krtsan: ' "$OUT/run.err" | head -n 2 | sed 's/^/      /'
}
chosen "training loop (watch)" && later train watch
chosen "training loop (replace)" && later train replace
chosen "-I behind a shell" && later hidden
command -v torchrun >/dev/null && chosen "torchrun" && later launcher
wait
for i in $(seq $n); do cat "$OUT/$i.line"; done
chosen "cost" && for feed in none off watch replace; do
	if [ $feed = none ]; then c=$($PY cost 2>&1 | tail -n 1)
	else c=$("$B/krtsan" run --torch=$feed --log-path=/dev/null -- $PY cost 2>&1 | grep -a '^cost'); fi
	printf '%-46s %s\n' "cost ($feed)" "$c"
done
# What failures looked like, if SHOW says how many.
for f in $(grep -lE '^==[0-9]+== krtsan: (error|warning)' "$OUT"/*.report 2>/dev/null | head -n ${SHOW:-0}); do
	echo "--- $f"
	head -c 3500 "$f"
done
echo "torch feeds: $(wc -l <"$OUT/bad") failed of $n (logs in $OUT)"
[ ! -s "$OUT/bad" ]
