#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What call stacks cost on a real GPU (none, leaf, full), as ratios to native within
# one run: calls one by one, then PyTorch steps.
#
#   testcases/gpu/stacks_cost.sh
#
# Needs build/ (make) and python3 with PyTorch.  $SECONDS_FOR_STEPS (50): for the steps.
set -u
cd "$(dirname "$0")/../.."
B=$PWD/build
"$B/testcases/gpu-bench" >/dev/null # clocks up
testcases/bench/cost.sh --rounds=6 "ns per call" "$B/testcases/gpu-bench" 500 20 || exit 1
python3 testcases/gpu/stacks_cost.py "$B" "${SECONDS_FOR_STEPS:-50}"
