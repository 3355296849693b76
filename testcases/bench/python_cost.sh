#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What Python frames add to a recorded call, by Python depth, on the simulated
# driver with each CPython that is here: python_cost.sh BUILD.  "main" runs in the
# first thread, "thread" in another that has let go of the GIL, "foreign" in one of
# C's that is in no Python function.
build=$(cd "$1" && pwd) || exit 125
here=$(cd "$(dirname "$0")" && pwd)
export PYTHONDONTWRITEBYTECODE=1
"$here/../python/interpreters.sh" | while read -r version python; do
	for thread in main thread foreign; do
		for stacks in off auto; do
			echo "$version $thread pystacks=$stacks, ns per call at depth: $("$build/krtsan" run --sim --pystacks=$stacks -- \
				"$python" "$here/python_cost.py" "$build/python/churn.so" $thread 2>/dev/null)"
		done
	done
done
