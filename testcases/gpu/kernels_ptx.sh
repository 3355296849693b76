#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Makes testcases/common/nvcc_kernels.h, the PTX of kernels.cu as a string, with nvcc.
set -eu
cd "$(dirname "$0")/../.."
ptx=$(mktemp)
trap 'rm -f "$ptx"' EXIT
nvcc -std=c++17 -DKERNELS_ONLY -arch=compute_75 -ptx -o "$ptx" testcases/gpu/kernels.cu
{
	echo '/* SPDX-License-Identifier: Apache-2.0 */'
	echo '/* The kernels of gpu/kernels.cu, made from it by gpu/kernels_ptx.sh: do not edit. */'
	echo '#ifndef NVCC_KERNELS_H'
	echo '#define NVCC_KERNELS_H'
	echo
	echo 'static const char nvcc_kernels_ptx[] ='
	# no comments of the compiler, no empty lines
	sed -e 's,//.*$,,' -e '/^[[:space:]]*$/d' -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/\t/\\t/g' -e 's/^.*$/\t"&\\n"/' "$ptx"
	echo '	"";'
	echo
	echo '#endif'
} >testcases/common/nvcc_kernels.h
