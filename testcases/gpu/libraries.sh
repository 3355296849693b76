#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What krtsan knows of library calls on a real GPU, one line a case: those that
# PyTorch makes (libraries.py), then the test programs that open the libraries
# themselves, with PyTorch's copies of them.
#
#   testcases/gpu/libraries.sh [part of a name]
#
# Needs build/ (make) and python3 with PyTorch.  $JOBS cases (8) run at a time;
# logs go to $OUT (default: a temporary folder).
set -u
cd "$(dirname "$0")/../.."
B=$PWD/build
K=$B/krtsan
G=$PWD/testcases/gpu
OUT=${OUT:-$(mktemp -d)}
only=${1:-}
n=0
: >"$OUT/bad"

t() { # name, wanted, case and arguments
	case "$1" in *"$only"*) ;; *) return ;; esac
	n=$((n + 1))
	while [ "$(jobs -pr | wc -l)" -ge "${JOBS:-8}" ]; do wait -n; done
	t_now "$@" >"$OUT/$n.line" 2>&1 &
}
t_now() {
	local name=$1 want=$2 out=$OUT/$n code v
	shift 2
	timeout 200 "$K" run --fail-on=never --report=json:"$out.json" --log-path="$out.report" \
		-- python3 "$G/libraries.py" "$@" >"$out.out" 2>"$out.err"
	code=$?
	if [ $code = 77 ]; then
		printf '%-46s %s\n' "$name" "$(tail -n 1 "$out.out")"
		return
	fi
	v=$(python3 "$G/summary.py" "$out.json" "$want")
	[ $code = 0 ] || v="FAIL exit $code: $(grep -av '^ *$' "$out.err" | tail -n 1 | cut -c 1-200) | $v"
	printf '%-46s %-5s %s\n' "$name" "${v%% *}" "${v#* }"
	[ "${v%% *}" = ok ] || echo "$name" >>"$OUT/bad"
}
pair() { # wanted, what, kind
	t "$2 $3, race" "$1" "$2" race "$3"
	t "$2 $3, wait" silent "$2" wait "$3"
}

for k in mm bmm baddbmm addmm mv linear fft mm_bf16 bmm_bf16 mm_f64 linear_bf16; do
	pair KRT-RACE-RAW/error/certain written $k
done
for k in first second bias old rows signal; do
	pair "KRT-RACE-WAR/error/certain|KRT-RACE-WAW/error/certain" read $k
done
for k in columns rows factors signals; do t "apart: $k" silent apart - $k; done
pair "KRT-GRAPH-EXEC-OVERLAP/error/certain|KRT-RACE-RAW/error/certain" captured graph
pair KRT-RACE-RAW/error/certain nccl all_reduce
wait
for i in $(seq "$n"); do cat "$OUT/$i.line"; done

# the test programs, with the libraries that PyTorch brought
case "test programs" in *"$only"*)
	dirs=$(python3 - <<'PY'
import glob, os, sys
d = set()
for p in sys.path:
    for f in glob.glob(os.path.join(p, "nvidia", "*", "lib", "lib*.so*")) + glob.glob(os.path.join(p, "torch", "lib", "lib*.so*")):
        if os.path.basename(f).split(".")[0] in ("libcublas", "libcublasLt", "libnccl", "libcufft"):
            d.add(os.path.dirname(f))
print(":".join(sorted(d)))
PY
)
	LD_LIBRARY_PATH=$dirs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$B/testcases/runner" --gpu --build="$B" \
		$(ls testcases/hazard/lib_*.c testcases/clean/lib_*.c | xargs -n 1 basename | sed 's/\.c$//') >"$OUT/programs.txt" 2>&1
	grep -v '^ok' "$OUT/programs.txt"
	grep -q ', 0 failed$' "$OUT/programs.txt" || echo "test programs" >>"$OUT/bad"
	grep -c 'skipped' "$OUT/programs.txt" | sed 's/$/ test programs were skipped/'
	;;
esac
bad=$(wc -l <"$OUT/bad")
echo "$n cases, $bad not as wanted; logs in $OUT"
[ "$bad" = 0 ]
