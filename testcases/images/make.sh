#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The images that unit tests read, made anew with nvcc 13.0: make.sh OUT
set -eu
src=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" && cd "$1"
fat="-fatbin -gencode arch=compute_90,code=[sm_90,compute_90]"
for mode in none balance speed size; do
	nvcc $fat --compress-mode=$mode -o $mode.fatbin "$src/tiny.cu"
done
nvcc -fatbin -gencode arch=compute_75,code=compute_75 -gencode arch=compute_90,code=compute_90 \
	--compress-mode=size -o two.fatbin "$src/tiny.cu"
nvcc -fatbin -lineinfo -gencode arch=compute_90,code=sm_90 --compress-mode=size -o lineinfo.fatbin "$src/tiny.cu"
for arch in 75 90 100; do
	nvcc -cubin -lineinfo -arch=sm_$arch -o lineinfo$arch.cubin "$src/tiny.cu"
done
nvcc -cubin -arch=sm_90 -o plain.cubin "$src/tiny.cu"
nvcc -cubin -arch=sm_90 -o big.cubin "$src/big.cu"
ptxas -arch=sm_90 -o flags.cubin "$src/flags.ptx"
