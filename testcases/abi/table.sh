#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The entry-point table and cuabi.h against a CUDA toolkit, where there is one:
# table.sh OUT [TOOLKIT]
set -u
mkdir -p "$1/abi"
out=$(cd "$1/abi" && pwd)
cd "$(dirname "$0")/../.." || exit 1
toolkit=${2:-/usr/local/cuda}
[ -f "$toolkit/include/cuda.h" ] || for d in /usr/local/cuda-*; do toolkit=$d; done
if [ ! -f "$toolkit/include/cuda.h" ]; then
	echo "# table: no CUDA toolkit here, table and ABI are not compared"
	echo "ok table (skipped: no toolkit)"
	exit 0
fi
: "${CC:=gcc}" "${CXX:=g++}"
bad=0
ok() { echo "ok $1"; }
not_ok() { echo "not ok $1"; bad=1; }
version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$toolkit/include/cuda.h")
echo "# $toolkit, CUDA_VERSION $version"

printf '#include <cuda.h>\n#include <cudaProfiler.h>\n' |
	$CC -E -P -D__CUDA_API_VERSION_INTERNAL -I"$toolkit/include" -x c - | tr '\n' ' ' |
	grep -o 'CUresult cu[A-Za-z0-9_]* *([^;]*);' | sed 's/^CUresult \(cu[A-Za-z0-9_]*\).*/\1/' | sort -u >"$out/declared"
sed -n 's/^KRT_\(CALL\|PASS\)(\(cu[A-Za-z0-9_]*\),.*/\2/p' interposer/api.def | sort >"$out/table"
missing=$(comm -23 "$out/declared" "$out/table")
[ -s "$out/declared" ] && [ -z "$missing" ] && ok "table: every function that cuda.h declares is classed ($(wc -l <"$out/declared"))" ||
	not_ok "table: not classed: $missing"
if [ "$version" = 13000 ]; then
	more=$(comm -13 "$out/declared" "$out/table")
	[ -z "$more" ] && ok "table: nothing that cuda.h does not declare" || not_ok "table: unknown to cuda.h: $more"
fi
[ -z "$(uniq -d "$out/table")" ] && ok "table: each once" || not_ok "table: twice: $(uniq -d "$out/table")"

stub=$toolkit/lib64/stubs/libcuda.so
if [ -f "$stub" ]; then
	nm -D --defined-only "$stub" | sed -n 's/.* [TW] \(cu[A-Z][A-Za-z0-9_]*\)$/\1/p' | sort -u >"$out/exports"
	missing=$(comm -23 "$out/exports" "$out/table")
	[ -z "$missing" ] && ok "table: every export of the stub library is classed ($(wc -l <"$out/exports"))" ||
		not_ok "table: exports not classed: $missing"
fi

if [ "$version" != 13000 ]; then
	echo "# another version than the table's: signatures are not compared"
	exit $bad
fi
if command -v "$CXX" >/dev/null 2>&1; then
	if $CXX -std=c++17 -w -I"$toolkit/include" -Iinterposer -o "$out/table-check" testcases/abi/table.cc; then
		"$out/table-check" || bad=1
	else
		not_ok "table: signatures do not compile"
	fi
fi

grep -o '\bCU[A-Z0-9_]* *= *[-0-9(]' interposer/cuabi.h | grep -o '^CU[A-Z0-9_]*' | sort -u |
	sed 's/.*/CONSTANT(&)/' >"$out/names.h"
values() {
	$CC -w "$@" -DNAMES="\"$out/names.h\"" -o "$out/values" testcases/abi/values.c && "$out/values"
}
if values -DFROM_CUABI -Iinterposer >"$out/ours" && values -I"$toolkit/include" >"$out/theirs"; then
	if diff "$out/ours" "$out/theirs" >"$out/diff"; then
		ok "cuabi: $(wc -l <"$out/ours") sizes, offsets and values"
	else
		not_ok "cuabi: differs from cuda.h"
		cat "$out/diff"
	fi
else
	not_ok "cuabi: does not compile"
fi
if [ -f "$toolkit/include/cupti.h" ]; then
	if $CC -w -I"$toolkit/include" -Iinterposer -o "$out/cupti" testcases/abi/cupti.c && "$out/cupti"; then
		ok "cuptiabi: values and places of members"
	else
		not_ok "cuptiabi: differs from cupti.h"
	fi
fi
exit $bad
