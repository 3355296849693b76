#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the kernels files that come with krtsan claim, held against every operator of
# torch_ops.py on this machine's card and PyTorch, and against a training step:
#
#	testcases/gpu/kernel_claims.sh BUILD [OUT]
#
# No finding under krtsan, no claim outside the operators' tensors; prints the share of
# launches that are known.  OUT keeps trace, tensors and launches (testcases/launches is
# made from them).  Needs python3 with torch.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?BUILD}" && pwd)
out=${2:-$(mktemp -d)}
mkdir -p "$out"
export PYTHONDONTWRITEBYTECODE=1
fail=0

run() { # NAME SCRIPT ARGS: recorded, and analysed with and without the files
	local name=$1
	shift
	rm -rf "$out/$name.krt"
	"$build/krtsan" record -o "$out/$name.krt" -- python3 "$@" >"$out/$name.log" 2>&1 ||
		{ echo "not ok $name: record"; tail -3 "$out/$name.log"; fail=1; return; }
	for files in 1 0; do
		"$build/krtsan" analyze --shipped-kernels=$files --report=json:"$out/$name.$files.json" \
			"$out/$name.krt" >"$out/$name.$files.txt" 2>&1
		case $? in
		0) echo "ok $name: no finding, shipped_kernels=$files" ;;
		*) echo "not ok $name: shipped_kernels=$files, see $out/$name.$files.txt"; fail=1 ;;
		esac
		grep -h 'launches known by' "$out/$name.$files.txt"
	done
}

run operators "$top/testcases/gpu/torch_ops.py" "$out/tensors.json"
run training "$top/testcases/gpu/train.py"
python3 "$top/testcases/gpu/launches.py" "$build/inter/launches_dump" "$out/operators.krt" \
	"$out/tensors.json" >"$out/pytorch-2.11-operators.txt" || fail=1
python3 "$top/testcases/gpu/launches.py" "$build/inter/launches_dump" "$out/training.krt" \
	>"$out/pytorch-2.11-training.txt" || fail=1
grep -h '"error"' "$out/tensors.json" | sed 's/^/not run: /'
if KRT_LAUNCHES=$out "$build/unit/shipped" --filter 'shipped/[ot]*' >"$out/claims.txt" 2>&1; then
	echo "ok claims"
else
	echo "not ok claims: see $out/claims.txt"
	fail=1
fi
grep -h 'known for certain' "$out/claims.txt"
echo "kernel_claims: $([ $fail = 0 ] && echo passed || echo failed)"
exit $fail
