#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The recorder under programs of all kinds, on the fake driver: run.sh OUT
set -u
out=$(cd "$1" && pwd)
here=$out/inter
work=$here/work
lib=$out/libkrtsan.so
bad=0
unset KRTSAN_SESSION KRTSAN_OPTIONS
export LD_LIBRARY_PATH="$out/abi/fake"

ok() { echo "ok $1"; }
not_ok() { echo "not ok $1"; bad=1; }

fresh() { rm -rf "$work" && mkdir -m 700 -p "$work/s" "$work/bare"; }

# session NAME CODE OPTIONS MODE [ARG]: under a session folder, then checked record by record
session() {
	name=$1 want=$2 options=$3
	shift 3
	fresh
	(KRTSAN_SESSION=$work/s KRTSAN_OPTIONS="$options" LD_PRELOAD=$lib exec "$here/prog" "$@") \
		>"$work/out" 2>"$work/err"
	got=$?
	[ $got -eq "$want" ] && [ ! -s "$work/err" ] && [ ! -s "$work/out" ] && ok "$name: runs undisturbed" ||
		{ not_ok "$name: exit code $got, expected $want, or output"; head -3 "$work/err" "$work/out"; }
	"$here/verify" "$name" "$work/s" >"$work/log" || bad=1
	grep -v "^ok .* tickets: \|^ok .* stacks: \|^ok .*one driver record" "$work/log"
}

session basic 0 "" basic
session basic 0 "stacks=leaf" basic
session many 0 "" many
session reuse 0 "" reuse
session forks 0 "" forks
session forks-init 0 "" forks init
session forks-before 0 "" forks before
session vforks 0 "" vforks
session execs 3 "" execs
session killed 137 "" killed
session big 0 "" big
session hosts 0 "" hosts
session hosts-thread 0 "" hosts thread
session hostexit 5 "" hostexit
session threadexit 0 "" threadexit
session jumps 0 "" jumps
session intern 0 "" intern
session full 0 "bound=1M:on_full=drop" full
session notes 0 "" notes
session descriptors 0 "" descriptors
session filelimit 0 "" filelimit
session late 0 "" late
session sigexit 0 "" sigexit
session fails 0 "" fails
session inner 0 "" inner
session tensors 0 "" tensors

# Windows that the front end has read are used again.
fresh
"$out/krtsan" run --session-dir="$work/bare" -- "$here/prog" again >"$work/out" 2>"$work/err"
[ $? -eq 0 ] && tr -d , <"$work/err" | grep -q "complete ($(($(cut -d' ' -f1 "$work/out") + 1)) calls 0 dropped)" && ok "windows used again" ||
	{ not_ok "windows used again"; cat "$work/out" "$work/err"; }

# graphs MODE: the same output with the recorder and without, and the trace as it should be
graphs() {
	fresh
	export LD_LIBRARY_PATH="$out/sim"
	timeout 60 "$here/graphs" "$1" >"$work/plain" 2>&1
	want=$?
	(KRTSAN_SESSION=$work/s KRTSAN_OPTIONS="" LD_PRELOAD=$lib exec timeout 60 "$here/graphs" "$1") >"$work/out" 2>&1
	got=$?
	export LD_LIBRARY_PATH="$out/abi/fake"
	[ $want -eq 0 ] && [ $got -eq 0 ] && cmp -s "$work/plain" "$work/out" && ok "graphs $1: runs undisturbed" ||
		{ not_ok "graphs $1: $want, $got recorded"; diff "$work/plain" "$work/out"; }
	# threads in any order: no malformed record, and none lost
	[ -f "$source/graphs/$1.txt" ] || { "$here/graphs_dump" "$work/s" >"$work/dump" && ! grep -q 'DROPPED\|UNREAD' "$work/dump" &&
		ok "graphs $1: trace" || not_ok "graphs $1: trace"; return; }
	"$here/graphs_dump" "$work/s" >"$work/dump" && cmp -s "$work/dump" "$source/graphs/$1.txt" &&
		ok "graphs $1: trace" || { not_ok "graphs $1: trace"; diff "$source/graphs/$1.txt" "$work/dump" | head -20; }
}
source=$(cd "$(dirname "$0")" && pwd)
for mode in capture to_graph modes explicit more conditional heap stack fails big threads; do
	graphs $mode
done
# from the kernels of the last one to their texts
"$here/kernel_texts" "$work/s" >"$work/dump"
[ "$(sed -n 's/^ *[0-9]* kernels: //p' "$work/dump")" = PTX ] && ok "texts of kernels" ||
	{ not_ok "texts of kernels"; cat "$work/dump"; }

# Module images through every route; then with room for hardly any copy.
images() {
	fresh
	mkdir "$work/f"
	(LD_LIBRARY_PATH="$out/sim" KRTSAN_SESSION=$work/s KRTSAN_OPTIONS="$2" LD_PRELOAD=$lib \
		exec timeout 60 "$here/images" "$work/f" ${3-}) >"$work/out" 2>&1
	got=$?
	# the simulated driver says what it refuses
	[ $got -eq 0 ] && ! grep -q -v '^sim: ' "$work/out" && ok "$1: runs undisturbed" ||
		{ not_ok "$1: exit code $got"; cat "$work/out"; }
	"$here/images_dump" "$work/s" in_rodata in_data edge fat linked_1 linked_2 small large linked_text huge >"$work/dump" && cmp -s "$work/dump" "$source/$1.txt" && ok "$1: trace" ||
		{ not_ok "$1: trace"; diff "$source/$1.txt" "$work/dump" | head -20; }
}
images images ""
images images_few "images=300"
images images_no_readv "" no_readv
images images_huge "" huge

# What nvcc makes of two files that are linked on the device: a wrapper of version 2.
PATH=$PATH:/usr/local/cuda/bin
if command -v nvcc >/dev/null 2>&1; then
	fresh
	rdc="nvcc -rdc=true -gencode arch=compute_90,code=[sm_90,compute_90]"
	(cd "$work" && $rdc -c "$source/images_rdc_a.cu" "$source/images_rdc_b.cu" &&
		$rdc -dlink -o link.o images_rdc_a.o images_rdc_b.o &&
		${CC:-gcc} -I"$source/../../interposer" -c "$source/images_rdc.c" &&
		g++ -o rdc images_rdc.o images_rdc_a.o images_rdc_b.o link.o -L"$out/sim" -l:libcuda.so.1) \
		>"$work/log" 2>&1 || { not_ok "images of nvcc: it cannot be built"; cat "$work/log"; }
	(LD_LIBRARY_PATH="$out/sim" KRTSAN_SESSION=$work/s LD_PRELOAD=$lib exec "$work/rdc") >"$work/out" 2>&1
	"$here/images_dump" --all "$work/s" ka kb >"$work/dump"
	[ "$(grep -c 'file rdc build-id .* file rdc build-id .* file rdc build-id' "$work/dump")" = 1 ] &&
		[ "$(grep -c 'k[ab]: PTX in the fat binary, sm_90, read from its file' "$work/dump")" = 2 ] &&
		ok "images of nvcc: found in the objects that were linked" ||
		{ not_ok "images of nvcc"; cat "$work/dump"; }
else
	echo "# images of nvcc: skipped, no nvcc"
fi

# The header under the compilers' strictest.
header=$(dirname "$0")/../../interposer/include
for how in "c c99" "c gnu17" "c++ c++11" "c++ c++20"; do
	echo '#include "krtsan.h"' | ${CC:-gcc} -x ${how% *} -std=${how#* } -pedantic -Wall -Wextra -Werror \
		-Wno-unused-function -I"$header" -fsyntax-only - && ok "header: $how" || not_ok "header: $how"
done

# A disk that is too small: no SIGBUS, no failure, recording stops.
fresh
if mount -t tmpfs -o size=2m none "$work/s" 2>/dev/null; then
	(KRTSAN_SESSION=$work/s KRTSAN_OPTIONS="" LD_PRELOAD=$lib exec "$here/prog" full) >"$work/out" 2>"$work/err"
	[ $? -eq 0 ] && [ ! -s "$work/err" ] && ok "smalldisk: runs undisturbed" || not_ok "smalldisk"
	"$here/verify" smalldisk "$work/s" || bad=1
	umount "$work/s"
else
	echo "# smalldisk: skipped, no right to mount"
fi

# Bare runs, with a krtsan of our own beside a copy of the library.
mkdir -p "$here/bin"
cp "$lib" "$here/bin/libkrtsan.so"
cat >"$here/bin/krtsan" <<'EOS'
#!/bin/sh
# what the library must not pass on, and the verdict
for fd in 3 4 5 6 7 8 9; do
	(true <&"$fd") 2>/dev/null && echo "descriptor $fd" >&2
done
[ -z "${LD_PRELOAD-}" ] || echo "preloaded" >&2
[ "$1 $2" = "analyze --bare" ] || echo "arguments $*" >&2
ls "$3" | grep -q '\.proc$' || echo "no records" >&2
echo "code $KRTSAN_TEST_VERDICT" >"$3/verdict"
exit 66
EOS
chmod +x "$here/bin/krtsan"

# bare NAME CODE VERDICT OUTPUT MODE ARG: exit code, standard output, silence on stderr, nothing left behind
bare() {
	name=$1 want=$2 verdict=$3 text=$4
	shift 4
	fresh
	(KRTSAN_OPTIONS="session_dir='$work/bare'" KRTSAN_TEST_VERDICT=$verdict LD_PRELOAD=$here/bin/libkrtsan.so \
		exec "$here/prog" "$@") >"$work/out" 2>"$work/err"
	got=$?
	[ $got -eq "$want" ] && ok "bare $name: exit code $got" || not_ok "bare $name: exit code $got, expected $want"
	[ "$(cat "$work/out")" = "$text" ] && [ ! -s "$work/err" ] && ok "bare $name: its output alone" ||
		{ not_ok "bare $name: output"; cat "$work/out" "$work/err"; }
	[ -z "$(ls "$work/bare")" ] && ok "bare $name: nothing left" || not_ok "bare $name: files left"
}

bare "return 0" 66 66 "handler ran" ends "return 0"
bare "return 0, clean" 0 0 "handler ran" ends "return 0"
bare "return 3" 3 66 "handler ran" ends "return 3"
bare "exit 0" 66 66 "handler ran" ends "exit 0"
bare "exit 4" 4 66 "handler ran" ends "exit 4"
bare "_exit 0" 67 67 "" ends "_exit 0"
bare "_exit 9" 9 66 "" ends "_exit 9"
bare "quick_exit 0" 66 66 "handler ran" ends "quick 0"
bare "quick_exit 2" 2 66 "handler ran" ends "quick 2"
bare "exec" 0 66 "" ends "exec 0"
bare "parent and child" 66 66 "handler ran
handler ran" ends "child 0"
bare "no CUDA" 11 66 "" nothing 11
bare "no device" 0 66 "" fails

fresh
(KRTSAN_OPTIONS="session_dir='$work/bare':no_such=1" KRTSAN_TEST_VERDICT=0 LD_PRELOAD=$here/bin/libkrtsan.so \
	exec "$here/prog" one) >"$work/out" 2>"$work/err"
[ $? -eq 0 ] && [ "$(grep -c no_such "$work/err")" -eq 1 ] && [ "$(wc -l <"$work/err")" -eq 1 ] &&
	ok "an unknown option is one warning" || not_ok "an unknown option"

fresh
(KRTSAN_OPTIONS="session_dir='$work/none'" LD_PRELOAD=$here/bin/libkrtsan.so exec "$here/prog" one three) \
	>"$work/out" 2>"$work/err"
[ $? -eq 3 ] && grep -q 'nothing is recorded' "$work/err" && ok "no folder: said, code kept" || not_ok "no folder"

mkdir -p "$here/lib/alone" && cp "$lib" "$here/lib/alone/"
fresh
(PATH=/nowhere KRTSAN_OPTIONS="session_dir='$work/bare'" LD_PRELOAD=$here/lib/alone/libkrtsan.so exec "$here/prog" one) \
	>"$work/out" 2>"$work/err"
[ $? -eq 0 ] && grep -q 'krtsan analyze ' "$work/err" && [ -n "$(ls "$work/bare")" ] &&
	ok "no krtsan: files stay, and stderr says how to analyse them" || not_ok "no krtsan"

# A bare run that outgrows its bound gets the real reader while it runs, and is none the wiser.
fresh
(KRTSAN_OPTIONS="session_dir='$work/bare':bound=4M" LD_PRELOAD=$lib exec "$here/prog" outgrow) >"$work/out" 2>"$work/err"
got=$?
[ $got -eq 0 ] && [ "$(cat "$work/out")" = "handler ran" ] && [ -z "$(ls "$work/bare")" ] &&
	grep -q '(60,00[0-9] calls, 0 dropped)' "$work/err" && ok "outgrown: read while it runs" ||
	{ not_ok "outgrown: $got"; cat "$work/out" "$work/err"; ls "$work/bare"; }
fresh
(KRTSAN_OPTIONS="session_dir='$work/bare':bound=4M:log_path='$work/report'" LD_PRELOAD=$lib exec "$here/prog" outgrow kill) \
	>"$work/out" 2>"$work/err"
got=$?
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	[ -z "$(ls "$work/bare")" ] && break
	sleep 0.5
done
[ $got -eq 137 ] && [ -z "$(ls "$work/bare")" ] && grep -q '60,00[0-9] calls' "$work/report" &&
	ok "outgrown and killed: reported, folder gone" || { not_ok "outgrown and killed: $got"; cat "$work/report"; ls "$work/bare"; }
# without a reader in time it stops
fresh
(KRTSAN_OPTIONS="session_dir='$work/bare':bound=1M" PATH=/nowhere LD_PRELOAD=$here/lib/alone/libkrtsan.so \
	exec "$here/prog" full) >"$work/out" 2>"$work/err"
got=$?
mv "$work"/bare/krtsan-* "$work/t" 2>/dev/null
[ $got -eq 0 ] && "$here/verify" bound "$work/t" || { not_ok "outgrown without krtsan: $got"; cat "$work/err"; }

# Python and C++ keep their own exit work.
if command -v python3 >/dev/null 2>&1; then
	cat >"$here/bare.py" <<'EOS'
import atexit, ctypes, sys
atexit.register(lambda: print("atexit ran", flush=True))
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0 and cuda.cuMemFree_v2(ctypes.c_uint64(1)) == 0
if len(sys.argv) > 1:
    sys.exit(int(sys.argv[1]))
EOS
	for code in "" 0 7; do
		fresh
		want=${code:-66}
		[ "$want" = 0 ] && want=66
		(KRTSAN_OPTIONS="session_dir='$work/bare'" KRTSAN_TEST_VERDICT=66 LD_PRELOAD=$here/bin/libkrtsan.so \
			exec python3 "$here/bare.py" $code) >"$work/out" 2>"$work/err"
		got=$?
		[ $got -eq "$want" ] && [ "$(cat "$work/out")" = "atexit ran" ] && [ ! -s "$work/err" ] &&
			ok "bare python, exit ${code:-none}: $got" || { not_ok "bare python ${code:-none}: $got"; cat "$work/err"; }
	done
fi
if [ -x "$here/bare-cxx" ]; then
	fresh
	(KRTSAN_OPTIONS="session_dir='$work/bare'" KRTSAN_TEST_VERDICT=66 LD_PRELOAD=$here/bin/libkrtsan.so \
		exec "$here/bare-cxx") >"$work/out" 2>"$work/err"
	got=$?
	[ $got -eq 66 ] && [ "$(cat "$work/out")" = "main returns
thread_local destroyed
static destroyed" ] && [ ! -s "$work/err" ] && ok "bare C++: destructors run, exit code 66" ||
		{ not_ok "bare C++: $got"; cat "$work/out" "$work/err"; }
fi

rm -rf "$work"
exit $bad
