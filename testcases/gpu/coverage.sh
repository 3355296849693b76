#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Does krtsan see every driver call that CUPTI sees?  Each program runs by itself
# and recorded, with count_calls.so injected into both; coverage_table.py holds the
# counts against the trace's.
#
#   testcases/gpu/coverage.sh [runtime] [torch] [cupy] [jax] [triton] [cublas] [cufft]
#
# Needs build/ (make), CUPTI, nvcc for runtime, cublas and cufft.  Logs go to $OUT
# (default: a temporary folder).
set -u
cd "$(dirname "$0")/../.."
B=$PWD/build
G=$PWD/testcases/gpu
OUT=${OUT:-$(mktemp -d)}/coverage
CUDA=${CUDA_HOME:-/usr/local/cuda}
PATH=$PATH:$CUDA/bin
what=${*:-runtime torch cupy jax triton cublas cufft}
fails=0
mkdir -p "$OUT"
# PyTorch's own CUPTI where there is no toolkit
wheel=$(python3 -c 'import nvidia, glob; print(":".join(glob.glob(list(nvidia.__path__)[0] + "/*/lib")))' 2>/dev/null)
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}:$CUDA/extras/CUPTI/lib64:$CUDA/lib64${wheel:+:$wheel}

bad() { echo "FAIL $*"; fails=$((fails + 1)); }
program() { # name, command...
	local name=$1 code
	shift
	rm -rf "$OUT/$name".*
	CUDA_INJECTION64_PATH=$B/testcases/gpu-count_calls.so KRTSAN_COUNTS=$OUT/$name.alone \
		timeout 150 "$@" >"$OUT/$name.out" 2>"$OUT/$name.err"
	code=$?
	if [ $code = 77 ]; then echo "$name: $(tail -n 1 "$OUT/$name.out")"; return; fi
	[ $code = 0 ] || { bad "$name: exit $code: $(tail -n 2 "$OUT/$name.err" | tr '\n' ' ')"; return; }
	CUDA_INJECTION64_PATH=$B/testcases/gpu-count_calls.so KRTSAN_COUNTS=$OUT/$name.both \
		timeout 200 "$B/krtsan" record -o "$OUT/$name.krt" -- "$@" >"$OUT/$name.rec.out" 2>"$OUT/$name.rec.err"
	code=$?
	[ $code = 0 ] || { bad "$name recorded: exit $code: $(tail -n 2 "$OUT/$name.rec.err" | tr '\n' ' ')"; return; }
	"$B/krtsan" analyze --calls=all "$OUT/$name.krt" >"$OUT/$name.ours" || { bad "$name: no counts"; return; }
	python3 "$G/coverage_table.py" "$name" "$OUT/$name.ours" "$OUT/$name.alone" "$OUT/$name.both" || bad "$name"
}
built() { # name, source, nvcc's arguments
	nvcc -std=c++17 -gencode arch=compute_90,code=sm_90 -o "$OUT/$1" "$G/$2" "${@:3}" >"$OUT/$1.nvcc" 2>&1 && return
	bad "$1: not built: $(tail -n 1 "$OUT/$1.nvcc")"
	return 1
}

for w in $what; do
	case $w in
	runtime)
		for m in static shared; do
			built "runtime-$m" coverage.cu -cudart $m && program "runtime-$m" "$OUT/runtime-$m"
		done
		;;
	cublas) built cublas-c coverage_libs.cu -DBLAS -cudart shared -lcublas && program cublas "$OUT/cublas-c" ;;
	cufft) built cufft-c coverage_libs.cu -cudart shared -lcufft && program cufft "$OUT/cufft-c" ;;
	*) program "$w" python3 "$G/coverage.py" "$w" ;;
	esac
done
echo "coverage: $fails failed (logs in $OUT)"
exit $((fails > 0))
