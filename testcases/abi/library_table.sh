#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# library.def against NVIDIA's headers, where a toolkit has them: every function
# exists and has as many arguments.  usage: library_table.sh OUT
set -u

out=$1
cd "$(dirname "$0")/../.." || exit 1
mkdir -p "$out" || exit 1
inc=
for d in "${CUDA_HOME:+$CUDA_HOME/include}" /usr/local/cuda/include /usr/local/cuda-13.0/include; do
	[ -n "$d" ] && [ -f "$d/cublasLt.h" ] && [ -f "$d/cufftXt.h" ] && [ -f "$d/nccl.h" ] && inc=$d && break
done
[ -n "$inc" ] || { echo "ok library table: skipped, no headers of cuBLAS, cuFFT and NCCL"; exit 0; }

printf '#define KRT_LIB(sym, lib, kind, type, flags, argc, ...) ROW sym argc\n#include "library.def"\n' |
	${CC:-cc} -E -P -Iinterposer - | grep -o 'ROW [A-Za-z0-9_]* [0-9]*' >"$out/rows.txt"
# prototypes, one a line, without comments
for h in cublas_api.h cublasLt.h nccl.h cufft.h cufftXt.h; do
	sed 's,//.*,,' "$inc/$h" | tr '\n\t' '  ' | sed 's,/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/,,g' | tr ';' '\n'
done | grep -o '\(cublas\|nccl\|cufft\)[A-Za-z0-9_]* *([^()]*)' >"$out/prototypes.txt"

awk -v bad=0 '
NR == FNR {
	name = $0; sub(/ *\(.*/, "", name)
	args = $0; sub(/^[^(]*\(/, "", args); sub(/\).*/, "", args); gsub(/ /, "", args)
	n[name] = args == "" || args == "void" ? 0 : gsub(/,/, ",", args) + 1
	next
}
!($2 in n) { print "not ok library table: no " $2 " in the headers"; bad = 1; next }
n[$2] != $3 { print "not ok library table: " $2 " has " n[$2] " arguments, not " $3; bad = 1 }
{ rows++ }
END { if (!bad) print "ok library table: " rows " rows"; exit bad || rows < 200 }
' "$out/prototypes.txt" "$out/rows.txt"
