#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What krtsan knows of kernels on a real GPU, one line a case: programs of nvcc, Triton,
# torch.compile and PyTorch's eager operators with planted races and their fixed twins,
# operators alone, and by what launches of training steps are known.
#
#   testcases/gpu/kernels.sh [part of a name]
#
# Needs build/ (make), nvcc, and python3 with PyTorch and Triton.  $JOBS cases (14) run at
# a time.  The lines go to $OUT/kernels.txt too, all logs to $OUT/kernels-logs.tar.gz.
set -u
cd "$(dirname "$0")/../.."
B=$PWD/build
K=$B/krtsan
OUT=${OUT:-$(mktemp -d)}
W=$(mktemp -d)
G=$PWD/testcases/gpu
PY="python3 $G/kernels.py"
only=${1:-}
n=0
: >"$W/bad"
export TRITON_CACHE_DIR=$W/triton TORCHINDUCTOR_CACHE_DIR=$W/inductor

line() { # name, ok or FAIL, the rest
	printf '%-46s %-5s %s\n' "$1" "$2" "$3"
	[ "$2" = FAIL ] && echo "$1" >>"$W/bad"
	return 0
}
chosen() { case "$1" in *"$only"*) n=$((n + 1)) ;; *) return 1 ;; esac; }
# Runs a case behind the others; its lines come in order at the end.
later() {
	while [ "$(jobs -pr | wc -l)" -ge "${JOBS:-14}" ]; do wait -n; done
	"$@" >"$W/$n.line" 2>&1 &
}
# t NAME WANTED [--option...] -- COMMAND...: the findings (summary.py), and the program's exit code
t() { chosen "$1" && later t_now "$@"; }
t_now() {
	local name=$1 want=$2 opt=() out=$W/$n code v
	shift 2
	while [ "$1" != -- ]; do opt+=("$1"); shift; done
	shift
	timeout 280 "$K" run --fail-on=never --report=json:"$out.json" --log-path="$out.report" "${opt[@]}" \
		-- "$@" >"$out.out" 2>"$out.err"
	code=$?
	v=$(python3 "$G/summary.py" "$out.json" "$want")
	[ $code = 0 ] || v="FAIL exit $code: $(grep -av '^ *$' "$out.err" | tail -n 1 | cut -c 1-200) | $v"
	line "$name" "${v%% *}" "${v#* }"
	grep -a '^krtsan: ' "$out.err" | head -n 2 | sed 's/^/      /'
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null
S=silent

# --- nvcc ----------------------------------------------------------------------------
P=$W/nvcc-kernels
nvcc -std=c++17 --extended-lambda -lineinfo -g -gencode arch=compute_90,code=[sm_90,compute_90] -o "$P" \
	"$G/kernels.cu" >"$W/nvcc.txt" 2>&1 || line "nvcc" FAIL "$(tail -n 1 "$W/nvcc.txt")"
race() { # case, what the race is
	t "nvcc: $1, race" "$2" -- "$P" "$1" race
	t "nvcc: $1, fixed" $S -- "$P" "$1" fixed
}
race waw KRT-RACE-WAW/error/certain
race raw KRT-RACE-RAW/error/certain
race war KRT-RACE-WAR/error/certain
race stride KRT-RACE-RAW/error/certain
race copy KRT-RACE-RAW/error/certain
race set KRT-RACE-WAR/error/certain
race halves_meet KRT-RACE-WAW/error/certain
race even_even KRT-RACE-WAW/error/certain
race structs KRT-RACE-RAW/error/certain
race templates KRT-RACE-RAW/error/certain
race lambdas KRT-RACE-RAW/error/certain
race functors KRT-RACE-RAW/error/certain
race variables KRT-RACE-RAW/error/certain
race symbol_copy KRT-RACE-WAR/error/certain
race managed KRT-RACE-WAW/error/certain
race textures KRT-RACE-WAR/warning/likely
race surfaces KRT-RACE-RAW/warning/likely
race tables KRT-RACE-WAW
race freed KRT-FREE-IN-USE/error/certain
for c in weights weights_struct halves halves_guarded even_odd halves_copied tables_apart atomics nothing \
	never_touched never_touched_freed variables_read textures_read; do
	t "nvcc: $c" $S -- "$P" $c
done

random() {
	GPU=1 testcases/random/run.sh "$B" 1 10 40 >"$W/$n.out" 2>&1
	local code=$?
	if [ $code = 0 ]; then line "random launches" ok "$(tail -n 1 "$W/$n.out")"
	else line "random launches" FAIL "$(tail -n 1 "$W/$n.out")"; grep '  |' "$W/$n.out" | head -n 10; fi
}
chosen "random launches" && later random

# --- Triton, eager, libraries --------------------------------------------------------------
pair() { # name, wanted, case and arguments around the order
	local name=$1 want=$2 case=$3
	shift 3
	t "$name, race" "$want" -- $PY "$case" race "$@"
	t "$name, wait_stream" $S -- $PY "$case" wait "$@"
}
pair "Triton: read of what another wrote" KRT-RACE-RAW/error/certain triton_pair add
pair "Triton: two writers" KRT-RACE-WAW/error/certain triton_pair same
pair "Triton: softmax of what another wrote" KRT-RACE-RAW/error triton_pair softmax
pair "Triton: eager read of it" KRT-RACE-RAW/error/certain triton_pair torch
t "Triton: halves" $S -- $PY triton_halves
pair "eager: read of what another wrote" KRT-RACE-RAW/error/certain eager
pair "eager: two writers" "KRT-RACE-WAW/error/certain|KRT-RACE-RAW/error/certain" eager_write
t "eager: halves" $S -- $PY halves
for m in mm bmm addmm; do
	pair "eager: read of what $m wrote" KRT-RACE-RAW/error/certain matmul $m
done
for k in eager triton matmul; do
	t "weights, four streams: $k" $S -- $PY weights $k
done
t "one model on four streams" $S -- $PY replicas
t "one model on four streams, --torch" $S --torch -- $PY replicas
t "two stages on two streams" $S -- $PY pipeline
t "forgotten record_stream" KRT-REUSE-RACE/error/certain --torch -- $PY handed_over forgotten
t "record_stream" $S --torch -- $PY handed_over record_stream
t "every operator alone" $S -- python3 "$G/torch_ops.py" /dev/null
t "every operator alone, --torch" $S --torch -- python3 "$G/torch_ops.py" /dev/null

# --- each operator as the writer of what another stream reads; pairs that touch other bytes ----------------------------------
operators() {
	local out=$W/$n
	timeout 280 "$K" record --torch -o "$out.krt" -- $PY $2 >"$out.out" 2>"$out.err"
	"$K" analyze --fail-on=never --report=json:"$out.json" --log-path="$out.report" "$out.krt" 2>>"$out.err"
	"$K" explain-kernel --launches=1 '*' "$out.krt" >"$out.explained" 2>>"$out.err"
	rm -rf "$out.krt"
	python3 - "$out.json" "$out.out" "$1" <<'PY' || echo "operators, $1" >>"$W/bad"
import json, sys
try:
    fs = json.load(open(sys.argv[1]))["findings"]
    cases = [w for l in open(sys.argv[2]) if l.startswith("operators") for w in l.split()[1:]]
except Exception as e:
    sys.exit("operators: FAIL no report: %s" % e)
found = {}
for f in fs:
    name = (f["previous"] or {}).get("nvtx_range") if f["previous"] else None
    name = name or f["current"].get("nvtx_range") or "(no operator)"
    found.setdefault(name.replace(" ", "_"), set()).add((f["level"], f["rule"]))
loud = {k: [l for l, r in v if l != "note"] for k, v in found.items()}
certain = [c for c in cases if any(l == "error" for l, r in found.get(c, ()))]
likely = [c for c in cases if c not in certain and loud.get(c)]
rest = [c for c in cases if c not in certain and c not in likely]
print("operators, %-36s %s" % (sys.argv[3], "errors %d, warnings %d, silent %d of %d" % (
    len(certain), len(likely), len(rest), len(cases))))
must = [] if sys.argv[3] != "race" else ["add", "mul_scalar", "gelu", "softmax", "layer_norm", "mm", "mm_bf16"]
bad = [c for c in must if c not in certain]
if sys.argv[3] != "race":
    bad = [k for k in loud if loud[k]]
else:
    print("      warnings:", *likely)
    print("      silent:", *rest)
for l in open(sys.argv[2]):
    if l.startswith("not run:"):
        print("      ", l.strip())
if bad or not cases:
    print("      FAIL:", *["%s (%s)" % (k, "; ".join(sorted("/".join(x) for x in found.get(k, ())))) for k in bad])
    sys.exit(1)
PY
}
chosen "operators, race" && later operators race "operators race"
chosen "operators, wait" && later operators wait "operators wait"
chosen "operators, apart" && later operators apart apart

# --- by what launches are known ------------------------------------------------------------------
# tiers NAME LEAST -- COMMAND...: shares of launches by tier; at least LEAST per cent certain
tiers() { chosen "$1" && later tiers_now "$@"; }
tiers_now() {
	local name=$1 least=$2 opt=() out=$W/$n code
	shift 2
	while [ "$1" != -- ]; do opt+=("$1"); shift; done
	shift
	timeout 100 "$@" >"$out.native" 2>/dev/null
	timeout 280 "$K" record -o "$out.krt" "${opt[@]}" -- "$@" >"$out.out" 2>"$out.err"
	code=$?
	"$K" analyze --fail-on=never --report=json:"$out.json" --log-path="$out.report" "$out.krt" 2>>"$out.err"
	"$K" explain-kernel --list "$out.krt" >"$out.kernels" 2>>"$out.err"
	"$K" explain-kernel --launches=1 '*' "$out.krt" >"$out.explained" 2>>"$out.err"
	python3 "$G/tiers.py" "$name" "$least" "$out.json" "$out.kernels" || echo "$name" >>"$W/bad"
	[ $code = 0 ] || line "$name: exit code" FAIL "$code: $(tail -n 1 "$out.err")"
	cmp -s "$out.native" "$out.out" || line "$name: prints the same" FAIL "$(diff "$out.native" "$out.out" | head -n 2 | tr '\n' ' ')"
	rm -rf "$out.krt"
}
tiers "training step: MLP" 80 -- python3 "$G/train.py" 20
tiers "training step: MLP, --torch" 80 --torch -- python3 "$G/train.py" 20
tiers "training step: transformer" 80 -- python3 "$G/train_transformer.py" 20
tiers "training step: transformer, --torch" 80 --torch -- python3 "$G/train_transformer.py" 20

# ptx NAME PATTERN -- COMMAND...: every kernel with such a name is known by its PTX
ptx() { chosen "$1" && later ptx_now "$@"; }
ptx_now() {
	local name=$1 pattern=$2 out=$W/$n bad
	shift 3
	timeout 280 "$K" record -o "$out.krt" -- "$@" >"$out.out" 2>"$out.err"
	"$K" explain-kernel --list "$pattern" "$out.krt" 2>>"$out.err" | grep '^ *[0-9]' >"$out.own"
	"$K" explain-kernel "$pattern" "$out.krt" >"$out.explained" 2>>"$out.err"
	bad=$(grep -vc ' ptx-' "$out.own")
	if [ -s "$out.own" ] && [ "$bad" = 0 ]; then line "$name" ok "$(wc -l <"$out.own") kernels; $(tail -n 1 "$out.out")"
	else line "$name" FAIL "$bad of $(wc -l <"$out.own") kernels without; $(tail -n 1 "$out.err")"; fi
	sed 's/^/      /' "$out.own" | cut -c 1-150 | head -n 20
	rm -rf "$out.krt"
}
ptx "Triton: knowledge of its kernels" '*_kernel' -- $PY triton_all
ptx "torch.compile: knowledge of its kernels" 'triton_*' -- $PY compiled

wait
for i in $(seq $n); do cat "$W/$i.line"; done | tee "$OUT/kernels.txt"
# What failures looked like, if SHOW says how many.
for f in $(for i in $(seq $n); do grep -lqs FAIL "$W/$i.line" && echo "$W/$i.report"; done | head -n "${SHOW:-0}"); do
	echo "--- $f"
	head -c 3500 "$f"
done
rm -rf "$W/triton" "$W/inductor" "$P"
tar czf "$OUT/kernels-logs.tar.gz" -C "$W" .
echo "kernels: $(wc -l <"$W/bad") failed of $n (logs in OUT/kernels-logs.tar.gz)"
bad=$(wc -l <"$W/bad")
rm -rf "$W"
[ "$bad" = 0 ]
