#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The resolver hooks and wrappers, on fake drivers: run.sh OUT LIBRARY...
# (OUT is the build folder; each LIBRARY is preloaded in turn).
set -u
out=$(cd "$1" && pwd)
shift
abi=$out/abi
bad=0
rm -rf "$abi/sessions" && mkdir -p "$abi/sessions"
trap 'rm -rf "$abi/sessions"' EXIT

run() { # NAME, environment and command
	what=$1
	shift
	env -u KRTSAN_SESSION KRTSAN_OPTIONS="session_dir='$abi/sessions'" "$@" >"$abi/log" 2>&1
	rc=$?
	sed -e "s,^ok ,ok $what: ," -e "s,^not ok ,not ok $what: ," "$abi/log"
	if [ $rc -ne 0 ]; then
		bad=1
		grep -q '^not ok' "$abi/log" || echo "not ok $what: exit code $rc"
	fi
}

for lib; do
	name=$(basename "$lib" .so)
	lib=$(cd "$(dirname "$lib")" && pwd)/$(basename "$lib")
	for prog in resolve-O0 resolve-O2; do
		for mode in handle forwarding getproc closing deep; do
			run "$name $prog" /usr/bin/env LD_PRELOAD="$lib" LD_LIBRARY_PATH="$abi/fake" \
				FAKE_DEEP="$abi/libdeep.so" "$abi/$prog" $mode
		done
		run "$name $prog" /usr/bin/env LD_PRELOAD="$lib" LD_LIBRARY_PATH="$abi/fake" "$abi/$prog" third
		run "$name $prog" /usr/bin/env LD_PRELOAD="$lib" LD_LIBRARY_PATH="$abi/old" "$abi/$prog" old
		run "$name $prog" /usr/bin/env LD_PRELOAD="$lib" LD_LIBRARY_PATH="$abi/fake" \
			FAKE_SECOND="$abi/second/libcuda.so.1" "$abi/$prog" second
	done
	run "$name" /usr/bin/env LD_PRELOAD="$lib" LD_LIBRARY_PATH="$abi/fake" "$abi/linked" new
	run "$name old driver" /usr/bin/env LD_PRELOAD="$lib" LD_LIBRARY_PATH="$abi/old" "$abi/linked" old
	run "$name" /usr/bin/env LD_PRELOAD="$lib" "$abi/libraries" "$abi/libs"
	run "$name" /usr/bin/env LD_PRELOAD="$lib" "$abi/libs/program" 31 "linked at the start"
	run "$name" /usr/bin/env LD_PRELOAD="$lib $abi/libs/tool.so" "$abi/libs/program" 131 "another tool behind"
	run "$name" /usr/bin/env LD_PRELOAD="$abi/libs/tool.so $lib" "$abi/libs/program" 131 "another tool in front"
	run "$name weak" /usr/bin/env LD_PRELOAD="$lib" "$abi/weak" watched
	run "$name override" /usr/bin/env LD_PRELOAD="$lib" LD_LIBRARY_PATH="$abi/fake" "$abi/override"
	run "$name sh" /usr/bin/env LD_PRELOAD="$lib" /bin/sh -c '[ "$(echo hello | /bin/cat)" = hello ] && echo ok preload into sh'
done
run "plain" "$abi/libraries" "$abi/libs"
run "plain weak" "$abi/weak" plain
exit $bad
