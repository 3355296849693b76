#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the kernels to PTX: compile.sh [--first] OUT [FILE.cu...], with nvcc
# from $CUDA_HOME, the path or the usual place.  Exit code 77: there is none.
#
# The head of a file says what is made of it ("// variants: 90 75 90-lineinfo 90-O0":
# NAME.90.ptx and so on; --first: the first alone) and with which flags.  The
# PTX beside the kernels comes from `compile.sh .` in this folder.  What is
# newer than its source stays.
set -u

first=
[ "$1" = --first ] && first=1 && shift
out=$1
shift
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 1
cd "$(dirname "$0")" || exit 1

nvcc=
for n in "${CUDA_HOME:+$CUDA_HOME/bin/nvcc}" "$(command -v nvcc)" /usr/local/cuda/bin/nvcc; do
	[ -n "$n" ] && [ -x "$n" ] && nvcc=$n && break
done
[ -n "$nvcc" ] || exit 77

[ $# -gt 0 ] || set -- *.cu
for f in "$@"; do
	name=${f%.cu}
	flags=$(sed -n 's,^// flags: ,,p' "$name.cu")
	for v in $(sed -n 's,^// variants: ,,p' "$name.cu"); do
		to=$out/$name.$v.ptx
		more=
		case $v in
		*-lineinfo) more=-lineinfo ;;
		*-O0) more="-Xcicc -O0" ;;
		esac
		# The folder of the sources is no business of the PTX.
		[ "$to" -nt "$name.cu" ] && [ "$to" -nt compile.sh ] ||
			echo "$nvcc -ptx -O3 -w -arch=compute_${v%%-*} $more $flags -o $to.new $name.cu &&" \
				"sed -i '/[.]file/s,\".*/,\",' $to.new && mv $to.new $to"
		[ -n "$first" ] && break
	done
done | tr '\n' '\0' | xargs -0 -P 2 -I '{}' sh -c '{}'
