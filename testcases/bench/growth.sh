#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# No step of the engine grows faster than the logarithm of what there is: instructions
# (callgrind's, not time) of the same steps at sizes 10 apart, sweeps among them.
# growth.sh BUILD
set -u
offline=$1/bench/offline
passed=0 failed=0

count() {
	valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=measured "$offline" steps "$1" "$2" 2>&1 |
		sed -n 's/.*Collected *: *\([0-9]*\).*/\1/p'
}
# WHAT SIZE...: ten times the size, at most 1.3 times the instructions
grows() {
	what=$1 before=0
	shift
	for size; do
		now=$(count "$what" "$size")
		if [ "${now:-0}" -gt 1000000 ] && { [ $before = 0 ] || [ $((now * 10)) -le $((before * 13)) ]; }; then
			passed=$((passed + 1))
			echo "ok growth: $what, $size: $now instructions"
		else
			failed=$((failed + 1))
			echo "not ok growth: $what, $size: ${now:-no} instructions, $before before"
		fi
		before=${now:-0}
	done
}
grows streams 100 1000 10000
grows allocations 1000 10000 100000
grows ranges 1000 10000
grows blocks 1000 10000
echo "$passed passed, $failed failed"
[ $failed = 0 ]
