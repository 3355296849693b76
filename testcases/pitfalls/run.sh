#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What breaks preload tools, one program a pitfall: run.sh OUT.  The library is
# under a session folder, so that every run also leaves records to be read.
set -u
out=$(cd "$1" && pwd)
here=$out/pitfalls
work=$here/work
lib=$out/libkrtsan.so
bad=0
unset KRTSAN_SESSION KRTSAN_OPTIONS
export LD_LIBRARY_PATH="$out/abi/fake" PIT_OTHER="$here/libother.so" PIT_KRTSAN="$lib"

ok() { echo "ok $1"; }
not_ok() { echo "not ok $1"; bad=1; }

# run NAME PRELOAD PROGRAM [ARG]: exit code 0, nothing on stderr, and a trace that is whole
run() {
	name=$1 preload=$2
	shift 2
	rm -rf "$work" && mkdir -m 700 -p "$work"
	(KRTSAN_SESSION=$work LD_PRELOAD="$preload" exec timeout 120 "$@") >"$here/out" 2>"$here/err"
	rc=$?
	sed -e "s/^ok /ok $name: /" -e "s/^not ok /not ok $name: /" "$here/out"
	grep -q '^not ok' "$here/out" && bad=1
	[ $rc -eq 0 ] || not_ok "$name: exit code $rc"
	[ ! -s "$here/err" ] || { not_ok "$name: output on stderr"; head -3 "$here/err"; }
}

# whole NAME PATTERN: the analysis of what was recorded names no trouble that matches
whole() {
	(unset LD_LIBRARY_PATH; "$out/krtsan" analyze "$work") >"$here/report" 2>&1
	if grep -E "$2" "$here/report"; then
		not_ok "$1: records"
	else
		ok "$1: records are whole"
	fi
}
damage='records were dropped|failure of ours|malformed|was lost|corrupt|truncated'

run "1, 2" "$lib" "$here/pit" names
[ "$(uname -m)" != x86_64 ] || run 6 "$lib" "$here/pit" oldlink
# its runtime asks for its functions while it starts: nothing of it works yet
asan=$(${CC:-gcc} -print-file-name=libasan.so)
ASAN_OPTIONS=detect_leaks=0 run "asan" "$asan $lib" "$here/pit-asan" names
whole asan "$damage"
run 12 "$lib" "$here/pit" nulls
run 15 "$lib" "$here/pit" namespaces
run 19 "$lib" "$here/pit" forks
whole 19 "$damage"
run 19 "$lib" "$here/pit" clones
whole 19 "$damage"
run 18 "$lib" "$here/pit" idle
[ -z "$(ls "$work")" ] && ok "18: nothing is written" || not_ok "18: files of a program without CUDA"
# stacks are kept by address: what lies there later must not take them over
PIT_PLUG1=$here/plug1.so PIT_PLUG2=$here/plug2.so run "3.2" "$lib" "$here/pit" plugins
(unset LD_LIBRARY_PATH; "$out/krtsan" analyze "$work") >"$here/report" 2>&1
grep -q first_plug "$here/report" && grep -q second_plug "$here/report" &&
	ok "3.2: each stack names its own plug-in" || { not_ok "3.2: plug-ins"; cat "$here/report"; }
run 21 "$lib" "$here/pit" exits
whole 21 "$damage"
run 22 "$lib" "$here/pit" nodelete
run 24 "$lib" "$here/pit" patches
# tools ask for the next dlsym by version, and find libc's: that they hide us must be said
run_hidden() {
	rm -rf "$work" && mkdir -m 700 -p "$work"
	(PIT_HIDDEN=1 KRTSAN_SESSION=$work LD_PRELOAD="$here/libhook.so $lib" exec "$here/pit" hooks) \
		>"$here/out" 2>"$here/err" && ok "25, other tool first: undisturbed" || not_ok "25, other tool first"
	[ ! -s "$here/err" ] || not_ok "25, other tool first: the library speaks under a front end"
	(unset LD_LIBRARY_PATH; "$out/krtsan" analyze "$work") >"$here/report" 2>&1
	grep -q 'not through it' "$here/report" && ok "25, other tool first: not clean" ||
		{ not_ok "25, other tool first: not clean"; cat "$here/report"; }
	rm -rf "$work" && mkdir -m 700 -p "$work"
	(PIT_HIDDEN=1 KRTSAN_OPTIONS="session_dir='$work'" LD_PRELOAD="$here/libhook.so $lib" exec "$here/pit" hooks) \
		>"$here/out" 2>"$here/err"
	grep -q 'libhook.so defines dlsym in front of libkrtsan.so' "$here/err" &&
		ok "25, other tool first: said when bare" || { not_ok "25, other tool first: said when bare"; cat "$here/err"; }
}
run_hidden
run "25, other tool last" "$lib $here/libhook.so" "$here/pit" hooks
run 28 "$lib" "$here/pit" captures
run "35, allocator first" "$here/liballoc.so $lib" "$here/pit" allocator
run "35, allocator last" "$lib $here/liballoc.so" "$here/pit" allocator
run "35, shell" "$lib $here/liballoc.so" /bin/sh -c 'x=$(echo yes | cat); [ "$x" = yes ] && echo ok a shell'
run 36 "" "$here/pit" passive
run 39 "$lib" "$here/pit" cancels
whole 39 "$damage"
run 39 "$lib" "$here/except"
whole 39 "$damage"

# ---- the file itself ----

has() { # NAME COMMAND...: finds nothing
	name=$1
	shift
	found=$("$@")
	[ -z "$found" ] && ok "$name" || { not_ok "$name"; echo "$found"; }
}
needed() { readelf -dW "$lib" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' | grep -vE '^(libc\.so\.6|ld-linux.*|libdl\.so\.2|libpthread\.so\.0)$'; }
# calls of the C library that are given memory or masks: the tables say which
given=$(sed -n 's/^KRT_\(GIVEN\|HANDED\)([^,]*, \([a-z_0-9]*\),.*/\2/p' interposer/syscalls.def | tr '\n' '|')
exported() { nm -D --defined-only "$lib" | awk '{ print $3 }' | grep -vxE "${given}sigaction|(|bsd_|s|sysv_|__sysv_)signal|sigset|sigblock|sigsetmask|sighold|sigrelse|pthread_attr_setsigmask_np|sigprocmask|pthread_sigmask|sigsuspend|ppoll|pselect|epoll_pwait2?" |
	grep -vE '^(cu[A-Z].*|(cublas|cufft|nccl)[A-Z].*|krtsan_impl_[a-z_]+|krtsan_torch_[a-z_]+|dlsym|dlclose|_exit|_Exit|quick_exit|exec[lv][a-z]*|fexecve|execveat|free|realloc|reallocarray|munmap|mremap|InitializeInjectionNvtx(2|Extension))$'; }
private() { nm -D "$lib" | grep -E 'GLIBC_PRIVATE|_dl_sym|_Unwind_|backtrace|__libc_'; }
tls() {
	size=$(readelf -lW "$lib" | awk '$1 == "TLS" { print $6 }')
	[ $((size)) -le 64 ] || echo "TLS of $size bytes"
}
# a patch takes up to 14 bytes: each begins a block of 16
short() { readelf -sW --dyn-syms "$lib" | awk '$4 == "FUNC" && $7 != "UND" && $8 ~ /^(cu|cublas|cufft|nccl)[A-Z]/ && $2 !~ /0$/'; }
keeps() { readelf -dW "$lib" | grep -q 'FLAGS_1.*NODELETE' || echo "not marked nodelete"; }
has "1.3: needs libc alone" needed
has "17: exports nothing else" exported
has "5: no private names of libc, nobody's unwinder" private
has "36: at most 64 bytes of TLS" tls
has "24: no wrapper is too short to be patched" short
has "22: marked nodelete" keeps

rm -rf "$work"
exit $bad
