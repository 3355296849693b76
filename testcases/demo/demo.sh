#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# make demo: a program with planted hazards, alone and then under krtsan; on the
# GPU where a driver works, else on the simulated driver.
set -eu
cd "$(dirname "$0")/../.."
O=${O:-build}
demo=$O/testcases/demo/demo

if "$demo" probe 2>/dev/null; then
	sim= where="the GPU's driver" lib=
else
	sim=--sim where="the simulated driver (no GPU driver works here)" lib=$O/sim
fi

printf '\n== The program alone, on %s\n\n' "$where"
LD_LIBRARY_PATH=$lib${lib:+${LD_LIBRARY_PATH:+:}}${LD_LIBRARY_PATH:-} "$demo"
printf '\nIt exits with 0, and nothing told it that the answer is wrong.\n'

printf '\n== The same program: krtsan run %s-- %s\n\n' "${sim:+$sim }" "$demo"
code=0
"$O/krtsan" run $sim -- "$demo" || code=$?
printf '\nExit code %s' "$code"
case $code in
66) printf ': findings. Each names the two operations, the order that exists and the one that is missing.\n' ;;
*)
	printf ', expected 66: something is wrong with this build.\n'
	exit 1
	;;
esac

cat <<EOF

== Your own program

    $O/krtsan run -- ./app args           # on the GPU, unmodified
    LD_PRELOAD=$PWD/$O/libkrtsan.so ./app args    # the same without the front end
    $O/krtsan run --sim -- ./app args     # a driver-API program with PTX kernels, without a GPU
    $O/krtsan explain KRT-RACE-RAW        # what a rule means
    $O/krtsan doctor                      # what krtsan sees on this machine
EOF
