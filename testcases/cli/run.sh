#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The krtsan command as users meet it: exit codes, trees of processes, traces,
# bad input.  run.sh BUILD; needs BUILD/krtsan, libkrtsan.so, sim/ and cli/tree.
# One line a test, `ok` or `not ok`; the last line is `N passed, N failed`.
set -u

build=$(cd "$1" && pwd) || exit 125
here=$(cd "$(dirname "$0")" && pwd) || exit 125
krtsan=$build/krtsan
tree=$build/testcases/tree
work=$(mktemp -d) || exit 125
trap 'umount "$work/disk" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 125
mkdir sessions
unset KRTSAN_SESSION LD_PRELOAD
KRTSAN_OPTIONS=session_dir=$work/sessions
export KRTSAN_OPTIONS
passed=0
failed=0

# t NAME CODE COMMAND...: runs it, out and err hold what it printed; then checks with the functions below.
name=
trouble=
finish() {
	[ -n "$name" ] || return 0
	if [ -n "$(ls -A sessions)" ]; then
		trouble="$trouble
  a session folder is left: $(ls sessions)"
		rm -rf sessions/*
	fi
	if [ -z "$trouble" ]; then
		passed=$((passed + 1))
		echo "ok $name"
	else
		failed=$((failed + 1))
		echo "not ok $name$trouble"
		sed 's/^/  | /' err
	fi
	name=
}
t() {
	finish
	name=$1
	want=$2
	trouble=
	shift 2
	"$@" >out 2>err </dev/null
	rc=$?
	[ "$rc" = "$want" ] || trouble="
  exit code $rc, expected $want: $*"
}
complain() { trouble="$trouble
  $*"; }
says() { grep -q -e "$1" err || complain "stderr lacks: $1"; }
silent() { [ -s err ] && complain "stderr is not empty: $(head -c 200 err)"; [ -s out ] && complain "stdout is not empty"; }
prints() { grep -q -e "$1" out || complain "stdout lacks: $1"; }
stdout_is() { printf -- "$1" | cmp -s - out || complain "stdout is not $1"; }
holds() { grep -q -e "$2" "$1" 2>/dev/null || complain "$1 lacks: $2"; }
count() { n=$(grep -c -e "$2" "$1"); [ "$n" = "$3" ] || complain "$1 has $n times $2, expected $3"; }
# What two runs of one program must agree in.
essence() { grep -E '^      "(fingerprint|rule|level|confidence|view|count)":' "$1"; }
same_findings() {
	essence "$1" >e1
	essence "$2" >e2
	cmp -s e1 e2 || complain "findings of $1 and $2 differ: $(diff e1 e2 | head -5)"
}

run() { "$krtsan" run "$@"; }
sim() { "$krtsan" run --sim "$@"; }
bare() { LD_LIBRARY_PATH=$build/sim LD_PRELOAD=$build/libkrtsan.so "$@"; }

# --- usage -----------------------------------------------------------------------
t 'no command' 125 "$krtsan"; says 'usage: krtsan'
t 'unknown command' 125 "$krtsan" frobnicate; says 'frobnicate: no such command; `krtsan help` lists them$'; count err . 1
t 'unknown command: near' 125 "$krtsan" rnu; says 'rnu: no such command; did you mean run?$'; count err . 1
t 'unknown command: near, with _' 125 "$krtsan" explain_kernal; says 'did you mean explain-kernel?$'
for help in --help -h help; do t "help: $help" 0 "$krtsan" $help; prints 'usage: krtsan COMMAND'; done
for c in run record analyze ci report diff suppress explain explain-kernel doctor options version; do
	t "$c --help" 0 "$krtsan" $c --help; prints "usage: krtsan $c"
	t "$c: unknown option" 125 "$krtsan" $c --frobnicate; says "$c: --frobnicate: unknown option"
done
t 'version' 0 "$krtsan" version; prints '^krtsan [0-9]'
t 'version --json' 0 "$krtsan" version --json; prints '"version"'
t 'explain' 0 "$krtsan" explain KRT-RACE-RAW; prints 'KRT-RACE-RAW (error)'
sed -n '/^Bad:/,/^Good:/p' out >bad
sed -n '/^Good:/,$p' out >good
holds bad 'cuMemcpyHtoDAsync'; count bad 'cuStreamWaitEvent' 0; count good 'cuStreamWaitEvent' 1
t 'explain: short' 0 "$krtsan" explain race-war; prints 'KRT-RACE-WAR (error)'
t 'explain: list' 0 "$krtsan" explain; prints 'KRT-PERF-SYNC-HOT'
t 'explain: any way to write it' 0 "$krtsan" explain RACE_RAW krt_race_war; prints 'KRT-RACE-RAW (error)'; prints 'KRT-RACE-WAR (error)'
t 'explain: unknown rule' 125 "$krtsan" explain KRT-NONE; says 'KRT-NONE: no such rule; `krtsan explain` lists them$'; count err . 1
t 'explain: near' 125 "$krtsan" explain rase-war; says 'rase-war: no such rule; did you mean KRT-RACE-WAR?$'; count err . 1
t 'explain: a word of rules' 125 "$krtsan" explain race; says 'did you mean KRT-RACE-RAW, KRT-RACE-WAR, KRT-RACE-WAW, .*?$'; count err . 1
for r in '' K KRT KRT- "$(printf '%0500d' 0)"; do t "explain: no rule: $(printf %.9s "$r")" 125 "$krtsan" explain "$r"; says 'no such rule; `krtsan explain` lists'; done
t 'options' 0 "$krtsan" options --show=possible; prints '^show=possible'
prints '^show=possible    \[command line\]$'; prints '^session_dir=.*    \[KRTSAN_OPTIONS\]$'; prints '^exitcode=66$'
t 'options: nothing but options' 125 "$krtsan" options show; says 'options: show: only --name=value'
t 'options: each name is one of KRTSAN_OPTIONS' 0 sh -c 'for o in $("$1" options | sed -n "s/^\([a-z_]*=[^ ]*\).*/\1/p" |
	grep -v "=$"); do KRTSAN_OPTIONS=$o "$1" options >/dev/null && "$1" options "--$o" >/dev/null &&
	"$1" options "--$(echo "$o" | tr _ -)" >/dev/null || exit; done' - "$krtsan"
silent
t 'options: names of other tools' 0 env KRTSAN_OPTIONS=error_exitcode=9 "$krtsan" options --log-file=x --strip-path-prefix=/a
prints '^exitcode=9 '; prints '^log_path=x '; prints '^source_root=/a '
t 'help COMMAND' 0 "$krtsan" help analyze; prints '^usage: krtsan analyze'
t 'help: unknown command' 125 "$krtsan" help nosuch; says 'help: nosuch: no such command'
t 'options --json' 0 "$krtsan" options --json; prints '"name": "fail_on"'
t 'doctor' 0 "$krtsan" doctor; prints '^ok *preload'; prints '^ok *models .*libcublas.so 2'; prints '^ok *session'
t 'doctor --json' 0 "$krtsan" doctor --json; prints '"what": "library"'
mkdir alone && cp "$krtsan" alone/
t 'doctor without a library' 0 alone/krtsan doctor; prints '^bad *library'
t 'run without a library' 125 alone/krtsan run -- true; says 'libkrtsan.so: not found'
t 'run: hint' 125 run --fail-onn=error -- true; says 'did you mean --fail-on?'
t 'run: no hint' 125 run --nosuch -- true; says '`krtsan run --help` lists them'
t 'run: bad value' 125 run --fail-on=fatal -- true; says 'run: --fail-on=fatal: wants error|warning|note|never'
t 'run: no program' 125 run --sim; says 'no program given'
t 'run: unknown format' 125 run --report=pdf:x -- true; says 'unknown format, known are: text json'
formats=$(sed -n 's/.*known are: //p' err)
t 'run --help: all formats' 0 run --help
for f in $formats; do prints "^  --report=.*[(, ]$f[,;]"; done
t 'run: bad %' 125 run --report=json:%x -- true; says 'only %p'
t 'run: help=1' 0 env KRTSAN_OPTIONS="$KRTSAN_OPTIONS:help=1" "$krtsan" run --sim -- "$tree" init clean
says '^krtsan: exitcode=66  exit code'; count err '^krtsan: sim_seed=1 ' 1; says 'clean; analysis complete'
t 'run: a hint for KRTSAN_OPTIONS' 125 env KRTSAN_OPTIONS=fail-onn=note "$krtsan" run -- true
says 'KRTSAN_OPTIONS: fail-onn: unknown option; did you mean fail_on?'
t 'run: a value with quotes' 125 run --kernels="it's a \"file\"" -- true; says 'holds both kinds of quotes'
t 'run: bad KRTSAN_OPTIONS' 125 env KRTSAN_OPTIONS=bogus=1 "$krtsan" run -- true; says 'KRTSAN_OPTIONS: bogus: unknown'
printf 'kernel x: arg 0 read\n' >good.kernels
printf 'kernel x: arg 0 frobs\n' >bad.kernels
t 'run: kernels file' 0 run --kernels=good.kernels -- true; says 'good.kernels:1: fits no kernel'
t 'run: bad kernels file' 125 run --kernels=bad.kernels -- true; says 'kernels: bad.kernels:1: '
t 'run: no kernels file' 125 run --kernels=no.kernels -- true; says 'kernels: no.kernels: '
t 'run: no folder of PTX' 125 run --ptx-path=no.folder -- true; says 'ptx_path: no.folder: cannot be opened: No such file'
t 'run: a file as folder of PTX' 125 run --ptx-path=good.kernels -- true; says 'ptx_path: good.kernels: cannot be opened: Not a dir'
t 'run: folder of PTX' 0 run --ptx-path=. -- true; count err ptx_path 0
t 'run: options end at the first word' 0 run echo --report=pdf:x; stdout_is '--report=pdf:x\n'

# --- programs without CUDA ---------------------------------------------------------
t 'no CUDA: 0' 0 run -- true; says 'inconclusive; analysis incomplete: no CUDA call seen'; count err . 1
t 'no CUDA: own code' 7 run -- sh -c 'exit 7'; says 'no CUDA call seen'
t 'no CUDA: signal' 137 run -- sh -c 'kill -9 $$'
t 'no CUDA: complete required' 67 run --require=complete -- true
t 'no CUDA: failure before 67' 3 run --require=complete -- sh -c 'exit 3'
t 'not found' 127 run -- ./nowhere; says 'nowhere'
t 'not found in PATH' 127 run -- no-such-program-here; says 'not found'
echo text >plain
t 'not executable' 126 run -- ./plain; says 'Permission denied'
t 'a folder' 126 run -- ./sessions
t 'stdout is the program'"'"'s' 0 run -- printf 'a\0b\n'; stdout_is 'a\0b\n'
t 'stdin is the program'"'"'s' 0 sh -c 'echo hello | "$1" run -- cat' - "$krtsan"; stdout_is 'hello\n'
t 'preload of others stays first' 0 env LD_PRELOAD=libm.so.6 "$krtsan" run -- sh -c 'echo $LD_PRELOAD'
prints "^libm.so.6:$build/libkrtsan.so$"
cp "$build/libkrtsan.so" alone/
t 'another copy of the library gives way' 0 env LD_PRELOAD="$work/alone/libkrtsan.so: libm.so.6 libkrtsan.so:./notlibkrtsan.so:" \
	"$krtsan" run -- sh -c 'echo $LD_PRELOAD'
prints "^libm.so.6:./notlibkrtsan.so:$build/libkrtsan.so$"
rm alone/libkrtsan.so
t 'a closed stderr' 0 sh -c '"$1" run -- true 2>&-' - "$krtsan"
t 'a file limit below the report' 125 sh -c 'ulimit -f 1; exec "$1" run --report=json:long.json -- true' - "$krtsan"
says 'report: long.json: cannot be written: File too large'
for f in $formats; do
	t "a full disk for the report: $f" 125 run --report=$f:/dev/full -- true
	says 'report: /dev/full: cannot be written: No space'
done
# Found out before the program starts, and without a trace.
echo old >old.json
for p in no/where.json no/where.%p.json plain/x.json sessions . new/; do
	t "an unwritable report: $p" 125 run --report=json:$p -- echo started
	says 'report: .*: cannot be written: '; [ -s out ] && complain 'the program ran'
	t "an unwritable log: $p" 125 run --report=json:old.json --report=json:new.json --log-path=$p -- echo started
	says 'report: log_path: .*: cannot be written: '; [ -s out ] && complain 'the program ran'
	[ "$(cat old.json)" = old ] && ! [ -e new.json ] || complain 'a report was touched'
done
t 'an unwritable log: empty' 125 run --log-path= -- echo started; says 'log_path: : cannot be written: No such file'
t 'ci: an unwritable report' 125 "$krtsan" ci --report=json:no/where.json -- echo started; [ -s out ] && complain 'the program ran'
mkdir made%
t 'a report in a folder with a %' 0 run --report=json:made%%/x.%p.json -- true; [ -n "$(ls made%)" ] || complain 'no report'
rm -r made%
t 'a report in a folder of the pid' 125 run --report=json:%p/x.json -- echo started; says 'cannot be written'; prints started
t 'bare /bin/sh' 0 bare /bin/sh -c 'exit 0'; silent
t 'bare, own code' 5 bare /bin/sh -c 'exit 5'; silent
# The loader's own 127, as of a program that is linked with the driver.
if ! ldconfig -p 2>/dev/null | grep -q libcuda.so.1; then
	t 'no driver' 127 run -- "$tree" init clean; says 'no libcuda.so.1: --sim runs'; says 'error while loading shared libraries: libcuda.so.1'
	t 'no driver: record' 127 "$krtsan" record -o n.krt -- "$tree" init clean; says 'no libcuda.so.1: --sim runs'; rm -rf n.krt
	t 'another 127, with the simulator' 127 sim -- sh -c 'exit 127'; count err 'no libcuda' 0
fi
t 'bare, no libcuda at all' 1 env LD_PRELOAD="$build/libkrtsan.so" "$build/testcases/dlopener" libnone.so.7; silent
t 'run, no libcuda at all' 1 run -- "$build/testcases/dlopener" libnone.so.7; says 'no CUDA call seen'
t 'static program' 0 run -- "$build/testcases/static"; says 'statically linked'; says 'no CUDA call seen'
if [ "$(id -u)" = 0 ]; then
	cp /bin/true setgid && chgrp nogroup setgid && chmod g+s setgid
	t 'set-group-ID program' 0 run -- ./setgid; says 'ignores LD_PRELOAD'
fi

# --- one CUDA process ----------------------------------------------------------------
t 'clean' 0 sim -- "$tree" init clean; says 'clean; analysis complete'; count err . 1
t 'race' 66 sim --report=json:race.json -- "$tree" init race; says 'krtsan: error KRT-RACE-WAW (certain)'
says 'SUMMARY: krtsan: error KRT-RACE-WAW tree.c:'; says '1 error, 0 warnings, 0 notes; findings; analysis complete'
says 'at .*tree.c:[0-9]* race <- .*tree.c:[0-9]* act'; holds race.json '"verdict": "findings"'
mkdir -p repo/.git repo/src repo/out && cp "$here/tree.c" repo/src &&
	(cd repo/out && ${CC:-gcc} -g -I"$here/../../interposer" ../src/tree.c -o tree -L"$build/sim" -l:libcuda.so.1)
in_folder() { (cd "$1" && shift && sim "$@"); }
t 'sarif: from the root of the repository' 66 in_folder repo/out --report=sarif:s.sarif -- ./tree init race
says 'SUMMARY: krtsan: error KRT-RACE-WAW tree.c:'; holds repo/out/s.sarif '"uri": "src/tree.c", "uriBaseId": "SRCROOT"'
holds repo/out/s.sarif "\"uri\": \"file://$work/repo/\""
t 'sarif: from source_root' 66 in_folder repo/out --source-root="$work/repo/src" --report=sarif:s.sarif -- ./tree init race
holds repo/out/s.sarif '"uri": "tree.c", "uriBaseId": "SRCROOT"'
rm -rf repo/.git
t 'sarif: no repository' 66 in_folder repo/out --report=sarif:s.sarif -- ./tree init race
holds repo/out/s.sarif "\"uri\": \"file://$work/repo/src/tree.c\""
t 'declared read' 66 sim -- "$build/testcases/hazard/event_sync_too_early"
says 'SUMMARY: krtsan: error KRT-HOST-READ-RACE event_sync_too_early.c:[0-9]* in main'
t 'library call' 66 sim -- "$build/testcases/hazard/lib_gemm_fetched"
says '(in cublasSgemm_v2) writes'
says '(library-model: '
t 'libs=0' 0 sim --libs=0 -- "$build/testcases/hazard/lib_gemm_fetched"
t 'thread' 66 sim -- "$build/testcases/hazard/capture_other_thread"
says 'sync  *at .*capture_other_thread.c:[0-9]* other$'
t 'race: little address space' 66 sh -c 'ulimit -v 400000; exec "$1" run --sim -- "$2" init race' - "$krtsan" "$tree"
t 'race: other exit code' 42 sim --exitcode=42 -- "$tree" init race
t 'race: --error-exitcode' 43 sim --error-exitcode=43 -- "$tree" init race
t 'race: never' 0 sim --fail-on=never -- "$tree" init race; says KRT-RACE-WAW
t 'race: the program'"'"'s failure counts' 5 sim -- "$tree" init race exit 5; says KRT-RACE-WAW
t 'race: _exit' 66 sim -- "$tree" init race _exit 0; says KRT-RACE-WAW
t 'race: killed' 137 sim -- "$tree" init race kill 9; says KRT-RACE-WAW; says 'a process of the tree was lost'
t 'clean: killed' 143 sim -- "$tree" init clean kill 15; says 'inconclusive'
t 'clean: complete' 0 sim --require=complete -- "$tree" init clean
t 'output is not disturbed' 66 sim -- "$tree" init race print done; stdout_is 'done\n'
t 'bare clean' 0 bare "$tree" init clean; says 'clean; analysis complete'
t 'bare race' 66 bare "$tree" init race print done; says KRT-RACE-WAW; stdout_is 'done\n'
t 'bare race: _exit' 66 bare "$tree" init race _exit 0; says KRT-RACE-WAW
t 'bare race: lowered limits' 66 bare "$tree" init race limits; says KRT-RACE-WAW
t 'bare race: a mistake in the options' 66 env KRTSAN_OPTIONS="$KRTSAN_OPTIONS:bogus=1" LD_LIBRARY_PATH="$build/sim" \
	LD_PRELOAD="$build/libkrtsan.so" "$tree" init race; says KRT-RACE-WAW; count err bogus 1
t 'bare race: a typing error in the options' 66 env KRTSAN_OPTIONS="$KRTSAN_OPTIONS:fail_onn=note" LD_LIBRARY_PATH="$build/sim" \
	LD_PRELOAD="$build/libkrtsan.so" "$tree" init race
says KRT-RACE-WAW; says '^krtsan: KRTSAN_OPTIONS: fail_onn: unknown option; did you mean fail_on? (1 mistake; the rest is in force)$'
t 'bare race: help=1' 66 env KRTSAN_OPTIONS="$KRTSAN_OPTIONS:help=1" LD_LIBRARY_PATH="$build/sim" \
	LD_PRELOAD="$build/libkrtsan.so" "$tree" init race
says KRT-RACE-WAW; count err '^krtsan: exitcode=66  exit code' 1
t 'bare race: an unwritable report' 66 env KRTSAN_OPTIONS="$KRTSAN_OPTIONS:report='json:no/where.json'" \
	LD_LIBRARY_PATH="$build/sim" LD_PRELOAD="$build/libkrtsan.so" "$tree" init race
says KRT-RACE-WAW; says 'no/where.json: cannot be written'
# Nobody reads what we say: the program must not be killed for it, and no folder stays.
unread() { # COMMAND...: stderr is a pipe without a reader
	python3 -c 'import os, signal, subprocess, sys
r, w = os.pipe()
os.close(r)
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
sys.exit(subprocess.run(sys.argv[1:], stderr=w, restore_signals=False).returncode & 255)' "$@"
}
bare_unread() { unread env KRTSAN_OPTIONS="$KRTSAN_OPTIONS:help=1" LD_LIBRARY_PATH="$build/sim" LD_PRELOAD="$build/libkrtsan.so" "$@"; }
t 'bare race: nobody reads stderr' 66 bare_unread "$tree" init race print done; stdout_is 'done\n'
t 'bare clean: nobody reads stderr' 0 bare_unread "$tree" init clean
t 'bare clean: an unwritable report' 0 env KRTSAN_OPTIONS="$KRTSAN_OPTIONS:report='json:no/where.json':log_path=no/where.log" \
	LD_LIBRARY_PATH="$build/sim" LD_PRELOAD="$build/libkrtsan.so" "$tree" init clean
says 'no/where.json: cannot be written'; says 'no/where.log: cannot be written'; says 'clean; analysis complete'
# A log that fails at the end only: the findings are not lost.
t 'race: a full disk for the log' 66 sim --log-path=/dev/full -- "$tree" init race
says KRT-RACE-WAW; says 'report: /dev/full: cannot be written'
t 'bare race: own failure' 4 bare "$tree" init race exit 4; says KRT-RACE-WAW
t 'bare race: json' 66 env KRTSAN_OPTIONS="$KRTSAN_OPTIONS:report='json:bare.json'" LD_LIBRARY_PATH="$build/sim" \
	LD_PRELOAD="$build/libkrtsan.so" "$tree" init race
same_findings race.json bare.json
# a JSON report read back; several reports of one run
t 'two reports' 66 sim --report=json:j1 --report=text:t1 --report=json:j2 -- "$tree" init race
cmp -s j1 j2 || complain 'two JSON reports of one run differ'; holds t1 'krtsan: error KRT-RACE-WAW'
t 'report' 0 "$krtsan" report j1; cmp -s out t1 || complain 'another text than that of the run'
t 'report: standard input' 0 sh -c '"$1" report - --to=json <j1' - "$krtsan"; cmp -s out j1 || complain 'another JSON'
t 'report: several' 0 "$krtsan" report --to=json:j3 j1 --to=text:- --to=text:t3; cmp -s j1 j3 || complain 'another JSON'
cmp -s out t1 || complain 'another text on stdout'; cmp -s t3 t1 || complain 'another text in the file'
t 'report: colours' 0 "$krtsan" report --color=always j1; prints "$(printf '\033')"
t 'report: no report' 125 "$krtsan" report; says 'no report given'
t 'report: two' 125 "$krtsan" report j1 j2; says 'one report at a time'
t 'report: unknown format' 125 "$krtsan" report j1 --to=pdf; says 'pdf: unknown format, known are: text json'
t 'report: not there' 125 "$krtsan" report none.json; says 'report: none.json: cannot be opened: No such file'
head -c 300 j1 >cut.json
t 'report: cut' 125 "$krtsan" report cut.json; says 'report: cut.json:[0-9]*:[0-9]*: '
sed 's/"schema_version": 1/"schema_version": 9/' j1 >new.json
t 'report: newer' 125 "$krtsan" report new.json; says 'new.json: schema_version: 9 is another version'
t 'report: suppressions' 0 "$krtsan" suppress j1; cp out race.supp
t 'report: suppressed' 0 "$krtsan" report j1 --suppressions=race.supp; prints '(1 suppressed); clean'
t 'report: bad suppressions' 125 "$krtsan" report j1 --suppressions=none.supp; says 'none.supp: cannot be read'
t 'report: unwritable' 125 "$krtsan" report j1 --to=text:no/where; says 'no/where: cannot be written'
# suppressions and baseline; krtsan suppress, diff and ci
t 'suppress' 0 "$krtsan" suppress j1; prints '^# cuMemsetD8Async'; prints '^KRT-RACE-WAW:func=^race\$,.*other_func=^race\$,'; cp out race.supp
t 'suppressions' 0 sim --suppressions=race.supp --report=json:s.json -- "$tree" init race
says '0 errors, 0 warnings, 0 notes (1 suppressed); clean'; count err KRT-RACE-WAW 0
holds s.json '"line": "race.supp:2"'; holds s.json '"verdict": "clean"'
launcher=$build/testcases/hazard/shared_launcher
t 'one launcher: its callers lead' 66 sim --report=json:l1 --report=sarif:l.sarif --report=junit:l.xml -- "$launcher"
count err "SUMMARY: .*KRT-RACE-WAW shared_launcher.c:37 in forward" 1; count err "SUMMARY: .*KRT-RACE-WAW shared_launcher.c:48 in backward" 1
says 'write at .*shared_launcher.c:37 forward <- .* main, through .*shared_launcher.c:21 set$'
for line in 32 37 43 48 54 59; do holds l.sarif "\"startLine\": $line"; done
holds l.xml 'shared_launcher.c:37 in forward'
t 'one launcher: a line for each caller' 0 "$krtsan" suppress l1; cp out l.supp
prints '^KRT-RACE-WAW:func=^forward\$,.*other_func=^forward\$'; prints '^KRT-RACE-WAW:func=^backward\$,.*other_func=^backward\$'
prints '^KRT-RACE-WAW:func=^direct\$,.*other_func=^direct\$'
grep ^KRT.*forward l.supp >forward.supp
t 'one launcher: one caller suppressed' 66 sim --suppressions=forward.supp -- "$launcher"
says 'shared_launcher.c:48 in backward'; says '1 suppressed'; count err SUMMARY 2
t 'one launcher: diff' 0 "$krtsan" diff l1 l1; prints 'shared_launcher.c:37 in forward'
t 'suppressions: another program'"'"'s' 66 sim --suppressions=race.supp -- "$build/testcases/hazard/event_sync_too_early"
says KRT-HOST-READ-RACE
t 'print_suppressions' 0 sim --suppressions=race.supp --print-suppressions -- "$tree" init race
says 'suppressions: race.supp:2: fits 1 finding: KRT-RACE-WAW:'
t 'print_suppressions: unused' 0 sim --suppressions=race.supp --print-suppressions -- "$tree" init clean
says 'suppressions: race.supp:2: unused: KRT-RACE-WAW:'
echo 'race:race,expires=2001-02-03' >old.supp
t 'suppressions: expired' 66 sim --suppressions=old.supp -- "$tree" init race
says 'old.supp:1: EXPIRED on 2001-02-03'; says 'krtsan: error KRT-RACE-WAW'
t 'suppressions: two files' 0 sim --suppressions=old.supp --suppressions=race.supp -- "$tree" init race
echo 'rase:x' >bad.supp
t 'suppressions: bad' 125 sim --suppressions=bad.supp -- "$tree" init print started
says 'suppressions: bad.supp:1: rase: no such rule; known are \*, words of ids'; [ -s out ] && complain 'the program ran'
t 'suppressions: not there' 125 sim --suppressions=none.supp -- "$tree" init print started
says 'none.supp: cannot be read: No such file'; [ -s out ] && complain 'the program ran'
mkdir folder && cp "$tree" folder/prog && cp race.supp folder/beside.supp
t 'suppressions: beside the program' 0 sim --suppressions=beside.supp -- folder/prog init race; says '1 suppressed'
t 'suppressions: bare' 0 env KRTSAN_OPTIONS="$KRTSAN_OPTIONS:suppressions=race.supp" LD_LIBRARY_PATH="$build/sim" \
	LD_PRELOAD="$build/libkrtsan.so" "$tree" init race; says '1 suppressed'
t 'suppressions: bare, beside' 0 env KRTSAN_OPTIONS="$KRTSAN_OPTIONS:suppressions=beside.supp" LD_LIBRARY_PATH="$build/sim" \
	LD_PRELOAD="$build/libkrtsan.so" folder/prog init race; says '1 suppressed'
t 'suppressions: bare, bad' 66 env KRTSAN_OPTIONS="$KRTSAN_OPTIONS:suppressions=bad.supp" LD_LIBRARY_PATH="$build/sim" \
	LD_PRELOAD="$build/libkrtsan.so" "$tree" init race; count err 'bad.supp:1: rase: .*NOTHING is suppressed' 1
says 'krtsan: error KRT-RACE-WAW'
t 'suppressions: one verdict for a tree' 0 sim --suppressions=race.supp --report=json:%p.json -- "$tree" init race 'exec{' init race '}' wait
says '(2 suppressed); clean'; [ "$(grep -l '"line": "race.supp:2"' [0-9]*.json | wc -l)" = 2 ] || complain 'not one in each report'
rm -f [0-9]*.json
t 'baseline: one verdict for a tree' 0 sim --baseline=j1 --report=json:%p.json -- "$tree" init race 'exec{' init race '}' wait
says '2 findings known, 0 new'; [ "$(grep -l '"baseline": "known"' [0-9]*.json | wc -l)" = 2 ] || complain 'not one in each report'
rm -f [0-9]*.json
t 'suppress: unknown id' 125 "$krtsan" suppress j1 0123456789abcdef; says '0123456789abcdef: no such finding in j1'
t 'suppress: no report' 125 "$krtsan" suppress; says 'no report given'
t 'baseline: known' 0 sim --baseline=j1 --report=json:b.json -- "$tree" init race
says 'baseline: j1: 1 finding known, 0 new, 0 gone'; says 'krtsan: error KRT-RACE-WAW'; holds b.json '"baseline": "known"'
t 'baseline: new' 66 sim --baseline=j1 --report=json:b.json -- "$build/testcases/hazard/event_sync_too_early"
says 'baseline: j1: 0 findings known, 1 new, 1 gone'; holds b.json '"baseline": "new"'
t 'baseline: not there' 125 sim --baseline=none.json -- "$tree" init print started
says 'baseline: report: none.json: cannot be opened'; [ -s out ] && complain 'the program ran'
t 'baseline: standard input' 125 sim --baseline=- -- "$tree" init clean; says 'baseline: -: standard input is the program'
t 'baseline: damaged' 125 sim --baseline=cut.json -- "$tree" init print started
says 'baseline: report: cut.json:[0-9]*:[0-9]*: '; [ -s out ] && complain 'the program ran'
t 'baseline: inconclusive still is' 67 sim --baseline=j1 --require=complete -- "$tree" init race 'exec{' init clean kill 9 '}' wait
t 'diff: the same' 0 "$krtsan" diff j1 j1; prints '^unchanged *error *KRT-RACE-WAW'; prints '^krtsan: 0 new, 0 fixed, 0 suppressed, 1 unchanged'
t 'clean report' 0 sim --report=json:clean.json -- "$tree" init clean
t 'diff: new' 66 "$krtsan" diff clean.json j1; prints '^new *error *KRT-RACE-WAW .*tree.c:[0-9]* in race'
t 'diff: new, never' 0 "$krtsan" diff clean.json j1 --fail-on=never; prints '^krtsan: 1 new'
t 'diff: fixed' 0 "$krtsan" diff j1 clean.json; prints '^fixed *error *KRT-RACE-WAW'; prints '^krtsan: 0 new, 1 fixed'
t 'diff: suppressed' 0 "$krtsan" diff j1 s.json; prints '^suppressed *error *KRT-RACE-WAW'
t 'diff: json' 66 "$krtsan" diff --json clean.json j1; prints '"new": \['; prints '"rule": "KRT-RACE-WAW"'; python3 -m json.tool <out >/dev/null || complain 'no JSON'
t 'diff: unreadable' 125 "$krtsan" diff j1 cut.json; says 'cut.json:'
t 'diff: one' 125 "$krtsan" diff j1; says 'wants two reports'
t 'ci: clean' 0 "$krtsan" ci --sim -- "$tree" init clean; for f in krtsan.json krtsan.sarif krtsan-junit.xml krtsan.html; do
	[ -s krtsan-report/$f ] || complain "no krtsan-report/$f"
done
t 'ci: race' 66 "$krtsan" ci --sim --output=100%p -- "$tree" init race; holds 100%p/krtsan.json '"verdict": "findings"'
holds 100%p/krtsan-junit.xml '<failure'; holds 100%p/krtsan.sarif '"ruleId": "KRT-RACE-WAW"'
t 'ci: suppressed' 0 "$krtsan" ci --sim --suppressions=race.supp -- "$tree" init race; says 'race.supp:2: fits 1'
t 'ci: inconclusive' 67 "$krtsan" ci -- true; holds krtsan-report/krtsan.json '"verdict": "inconclusive"'
t 'ci: inconclusive allowed' 0 "$krtsan" ci --require=none -- true
t 'ci: nothing stale' 127 "$krtsan" ci -- ./nowhere; [ -e krtsan-report/krtsan.json ] && complain 'an old report is left'
t 'ci: no program' 125 "$krtsan" ci; says 'no program given'
echo x >occupied
t 'ci: no folder' 125 "$krtsan" ci --output=occupied -- true; says 'ci: occupied'
t 'log_path' 66 sim --log-path=log.txt -- "$tree" init race; silent; holds log.txt KRT-RACE-WAW
t 'NO_COLOR and files have no colours' 66 sim --log-path=log.txt -- "$tree" init race
grep -q "$(printf '\033')" log.txt && complain 'colours in a file'
t 'colours when asked' 66 sim --color=always -- "$tree" init race; says "$(printf '\033')"
t 'many records' 0 sim -- "$tree" init many 50000; says '50,0[0-9]* calls, 0 dropped'
t 'dropped records are told' 0 sim --bound=1 --on-full=drop -- "$tree" init clean
says 'inconclusive; analysis incomplete: records were dropped'
t 'signals reach the program' 143 sh -c '
	"$1" run -- sh -c "echo ready; exec sleep 60" >ready & p=$!
	while ! [ -s ready ]; do :; done
	kill -TERM $p; wait $p' - "$krtsan"

# --- trees ---------------------------------------------------------------------------
t 'tree: fork and exec' 66 sim --report=json:j -- "$tree" 'exec{' init race '}' wait
says KRT-RACE-WAW; count j '"exe": ' 1
t 'tree: two CUDA processes' 66 sim --report=json:j -- "$tree" init clean 'exec{' init race '}' wait
count j '"exe": ' 2; says '1 error'
t 'tree: both race' 66 sim --report=json:j -- "$tree" init race 'exec{' init race '}' wait
count j '"exe": ' 2; says '2 errors'
t 'tree: one killed' 0 sim --report=json:j -- "$tree" init clean 'exec{' init clean kill 9 '}' wait
says 'inconclusive; analysis incomplete: a process of the tree was lost'; count j '"exe": ' 2
t 'tree: one killed, complete required' 67 sim --require=complete -- "$tree" init clean 'exec{' init clean kill 9 '}' wait
t 'tree: a race in the one killed' 66 sim -- "$tree" init clean 'exec{' init race kill 9 '}' wait; says KRT-RACE-WAW
t 'tree: one exits 1' 0 sim --report=json:j -- "$tree" init clean 'exec{' init clean exit 1 '}' wait
says 'clean; analysis complete'; holds j '"exit_code": 1'
t 'tree: one exits 1 after a race' 66 sim -- "$tree" init clean 'exec{' init race exit 1 '}' wait
t 'tree: a fork child without CUDA' 0 sim --report=json:j -- "$tree" init clean 'fork{' print x '}' wait
says 'clean; analysis complete'; count j '"exe": ' 1; stdout_is 'x\n'
t 'tree: a fork child with CUDA of its own' 66 sim --report=json:j -- "$tree" 'fork{' init race '}' wait init clean
says KRT-RACE-WAW; count j '"exe": ' 2
t 'tree: exec without fork' 66 sim --report=json:j -- "$tree" init clean 'become{' init race '}'
says KRT-RACE-WAW; count j '"exe": ' 2; says 'analysis complete'
t 'tree: exec of a program without CUDA' 0 sim -- "$tree" init clean 'become{' print x '}'; says 'analysis complete'
t 'tree: an orphan is waited for' 66 sim -- "$tree" 'exec{' init orphan race '}'; says KRT-RACE-WAW
t 'tree: one that stays is told' 0 sim -- "$tree" 'exec{' init clean linger 15 '}' linger 1
says 'lost: process [0-9]* still ran'
t 'tree: a report a process' 66 sim --report=json:r.%p.json --log-path=l.%p.txt -- \
	"$tree" init clean 'exec{' init race '}' wait
[ "$(ls r.*.json | wc -l)" = 2 ] || complain "reports: $(ls r.*)"
[ "$(ls l.*.txt | wc -l)" = 2 ] || complain "texts: $(ls l.*)"
[ "$(cat r.*.json | grep -c '"verdict": "clean"')" = 1 ] || complain 'not one clean report'
[ "$(cat r.*.json | grep -c '"orders_tried": 0')" = 2 ] || complain 'orders of all processes in the report of one'
t 'tree: bare, two processes' 66 bare "$tree" init race 'exec{' init race '}' wait
count err 'SUMMARY: krtsan: error' 2
t 'tree: bare, only the child races' 0 bare "$tree" init clean 'exec{' init race '}' wait
count err 'SUMMARY: krtsan: error' 1
rm -f two.json*
t 'tree: bare, a report each' 66 env KRTSAN_OPTIONS="$KRTSAN_OPTIONS:report='json:two.json'" LD_LIBRARY_PATH="$build/sim" \
	LD_PRELOAD="$build/libkrtsan.so" setsid -w "$tree" init race 'exec{' init race '}' wait
[ "$(ls two.json* | wc -l)" = 2 ] || complain "reports: $(ls two.json*)"
says "report: two.json is another process's: written to two.json.[0-9]"
t 'tree: a run inside a run' 66 sim -- "$krtsan" run --sim -- "$tree" init race; says KRT-RACE-WAW

# --- traces ---------------------------------------------------------------------------
t 'record' 0 "$krtsan" record --sim -o race.krt -- "$tree" init race; says 'MiB, 1 process; krtsan analyze race.krt'
t 'analyze' 66 "$krtsan" analyze --report=json:again.json race.krt; says KRT-RACE-WAW; same_findings race.json again.json
t 'analyze: an unwritable report' 125 "$krtsan" analyze --report=json:no/where.json race.krt; says 'no/where.json: cannot'; count err . 1
t 'analyze: --fail-on' 0 "$krtsan" analyze --fail-on=never race.krt
t 'record: own code' 6 "$krtsan" record --sim -o race.krt -- "$tree" init race exit 6
t 'record: over an old trace' 0 "$krtsan" record --sim -o race.krt -- "$tree" init race
t 'record: a tree' 0 "$krtsan" record --sim -o t.krt -- "$tree" init race 'exec{' init race kill 9 '}' wait
says '2 processes'
t 'analyze: a tree' 66 "$krtsan" analyze t.krt; says '2 errors'; says 'a process of the tree was lost'
t 'record: a bound of yours' 0 "$krtsan" record --sim --bound=1 --on-full=drop -o t.krt -- "$tree" init race
says 't.krt: the trace is INCOMPLETE: the bound was reached: [1-9][0-9]* records lost'
# A front end that does not come to read: what does not fit is dropped whole, and said.
stalled() { "$krtsan" record --sim --bound=1M "$@" -o t.krt -- sh -c 'kill -STOP $PPID; "$0" init many 50000; kill -CONT $PPID' "$tree"; }
t 'record: a slow disk, drop' 0 stalled --on-full=drop; says 't.krt: the trace is INCOMPLETE: the bound was reached: [1-9][0-9]* records lost'
t 'analyze: of a slow disk' 0 "$krtsan" analyze --report=json:slow.json t.krt; says 'inconclusive; .*records were dropped: [1-9][0-9]* records'
python3 - slow.json <<'END' || complain "slow.json: $(cat out)"
import json, sys
c = json.load(open("slow.json"))["coverage"]
sys.exit(not (c["calls"] > 1000 and c["dropped"] > 1000 and not c["complete"]))
END
t 'record: a slow disk, wait' 0 stalled --on-full=wait; says 't.krt: the trace is INCOMPLETE: the bound was reached: [1-9][0-9]* records lost'
# A front end that is killed: what it wrote is read.
killed() { # the parent of the shell, once it has written something
	code=0
	"$krtsan" record --sim -o t.krt -- sh -c '"$0" init race many 1000 linger 60 & 
		while ! [ "$(stat -c %s t.krt/*.packed 2>/dev/null || echo 0)" -gt 1000 ]; do sleep 0.1; done
		kill -KILL $PPID; kill $!' "$tree" || code=$?
	rm -rf sessions/* # nobody is left to do it
	return $code
}
t 'record: killed' 137 killed
t 'analyze: of a killed one' 125 "$krtsan" analyze t.krt; says KRT-RACE-WAW; says 'packed: at byte [0-9]*: the recording was cut off: its end is not there'
# A full disk, where we may mount one.
mkdir disk
disk() { mount -t tmpfs -o size=$1 none disk 2>/dev/null || { echo '# a full disk: skipped, no right to mount'; return 1; }; }
noise() { "$krtsan" record --sim -o disk/run.krt -- "$tree" init noise 600000 clean "$@"; }
if disk 256k; then
	t 'record: a full disk' 125 noise
	says 'disk/run.krt: the trace is INCOMPLETE: no space for the records: the rest was not recorded'
	t 'analyze: of a full disk' 0 "$krtsan" analyze disk/run.krt; says 'recording stopped after the loss of .*: no space for the records'
	t 'record: a full disk, the program'"'"'s own code' 7 noise exit 7
	says 'INCOMPLETE: no space'
	finish; umount disk; disk 64k
	mkdir disk/run.krt; head -c 1000000 /dev/zero >disk/full 2>/dev/null
	t 'record: no room to begin' 125 "$krtsan" record --sim -o disk/run.krt -- "$tree" init clean; says 'INCOMPLETE: no space for the records'
	t 'analyze: no room to begin' 125 "$krtsan" analyze disk/run.krt; says 'packed: at byte 0: the recording was cut off'; count err 'no CUDA call seen' 0
	rm -r disk/run.krt disk/full
	t 'run: no room to begin' 0 sim --session-dir=disk -- "$tree" init clean; count err 'no CUDA call seen' 0
	says 'process [0-9]* could not begin to record: no space for the records'; says '/disk/krtsan.*: no space for the records; --session-dir=DIR'
	t 'run: no room to begin, complete required' 67 sim --session-dir=disk --require=complete -- "$tree" init clean
	[ -z "$(ls disk)" ] || complain "left: $(ls disk)"
	t 'bare: no room to begin' 0 env KRTSAN_OPTIONS=session_dir=disk LD_LIBRARY_PATH="$build/sim" LD_PRELOAD="$build/libkrtsan.so" \
		"$tree" init clean; says 'session: .*: no space: nothing is recorded'
	finish; umount disk; disk 128k
	t 'run: no room to go on' 0 sim --session-dir=disk --on-full=drop -- "$tree" init clean; says 'inconclusive; .*: no space for the records'
	says '/disk/krtsan.*: no space for the records; --session-dir=DIR'
	finish; umount disk
fi
mkdir mine && touch mine/file
t 'record: not over a folder of yours' 125 "$krtsan" record -o mine -- true; says 'exists and is no trace'
[ -f mine/file ] || complain 'and it is gone'
t 'record: no program' 125 "$krtsan" record; says 'no program given'
t 'record: not found' 127 "$krtsan" record -o n.krt -- ./nowhere
[ -e n.krt ] && complain 'n.krt is left'
t 'record: no CUDA' 0 "$krtsan" record -o empty.krt -- true; says 'no CUDA call seen'
t 'analyze: no CUDA' 0 "$krtsan" analyze empty.krt; says 'inconclusive; analysis incomplete: no CUDA call seen'
t 'analyze: missing' 125 "$krtsan" analyze nothing.krt; says 'trace: nothing.krt: No such file'
t 'analyze: a file' 125 "$krtsan" analyze plain; says 'a trace is a folder'
mkdir nothing
t 'analyze: an empty folder' 125 "$krtsan" analyze nothing; says 'not a trace'
t 'analyze: no trace' 125 "$krtsan" analyze mine; says 'not a trace'
t 'analyze: nothing given' 125 "$krtsan" analyze; says 'no trace given'
t 'analyze: two given' 125 "$krtsan" analyze race.krt t.krt; says 'one trace at a time'


# --- what is known of kernels ---------------------------------------------------------
kernels=$build/testcases/hazard/nvcc_kernels
explain() { "$krtsan" explain-kernel "$@"; }
t 'record: kernels' 0 "$krtsan" record --sim -o kernels.krt -- "$kernels" templates
t 'explain-kernel: list' 0 explain kernels.krt
prints '^       1      0  ptx-range         void apply<float, 1>(float const\*, float\*, int)$'; count out '^  *[0-9]' 2
t 'explain-kernel: by name' 0 explain apply kernels.krt; count out '^kernel void apply' 2
prints '^  name  *_Z5applyIfLi0EEvPKT_PS0_i$'; prints '^  parameters  *3, 20 bytes: 8 at 0, 8 at 8, 4 at 16$'
prints '^  code  *PTX, made for sm_75, of '; prints '^  *arg 0: read$'; prints '^  *arg 1: write$'
prints '^  name says  *arg 0: pointer to const data: read$'
prints '^  launch #[0-9]* on stream "s0", grid 64x1x1, block 64x1x1: known by ptx-range$'
prints '^    arg 0  *read  *every byte of \[+0, +16384) of device buffer "a" .*16384 bytes  (ptx-range)$'
prints '^    arg 1  *write  *every byte of \[+0, +16384) of device buffer "b" '
for n in _Z5applyIfLi0EEvPKT_PS0_i 'apply<float, 0>' 'void apply<float, 0>(float const*, float*, int)' '*Li0*' '*<float, 0>*'; do
	t "explain-kernel: $n" 0 explain "$n" kernels.krt; count out '^kernel void apply<float, 0>' 1; count out '^kernel' 1
done
t 'explain-kernel: two names' 0 explain 'apply<float, 0>' '*Li1*' kernels.krt; count out '^kernel' 2
t 'explain-kernel: a list of some' 0 explain --list '*Li1*' kernels.krt; count out 'apply<float, 1>' 1; count out 'apply<float, 0>' 0
t 'explain-kernel: help has what it obeys' 0 explain --help
count out '^  --[a-z-]*= ' 5; prints '^  --kernels= '; count out '^  --report=' 0
t 'analyze: help has the report too' 0 "$krtsan" analyze --help; prints '^  --report= '
t 'explain-kernel: near' 125 explain aply kernels.krt; says 'aply: no such kernel was launched; did you mean:'
says '^  void apply<float, 0>('
t 'explain-kernel: nothing near' 125 explain frobnicate kernels.krt; says '`krtsan explain-kernel TRACE` lists them'
t 'explain-kernel: no trace' 125 explain; says 'no trace given'
t 'explain-kernel: missing' 125 explain apply missing.krt; says 'trace: missing.krt: No such file'
t 'explain-kernel: not a trace' 125 explain apply mine; says 'not a trace'
t 'explain-kernel: no CUDA' 0 explain empty.krt; count out '^  *[0-9]' 0
t 'explain-kernel: bad number' 125 explain --launches=x apply kernels.krt; says '\--launches=x: wants a number'
t 'explain-kernel: no launches' 0 explain --launches=0 'apply<float, 0>' kernels.krt; count out '^  launch #' 0
prints '^  1 more with other parameters or sizes$'
echo 'kernel *Li0*: arg 0 read [0, 4)' >line.kernels
t 'explain-kernel: a line of a kernels file' 0 explain --kernels=line.kernels 'apply<float, 0>' kernels.krt
prints '^  kernels file  line.kernels:1$'; prints 'known by kernels-file$'
prints '^    arg 0  *read  *every byte of \[+0, +4) of device buffer "a" .*(kernels-file)$'
t 'analyze: launches by what told of them' 0 "$krtsan" analyze --fail-on=never kernels.krt; says 'ptx-range [0-9]* (100 % exactly)'
echo 'kernel *: arg 0 read, arg 1 write' >line.kernels
t 'analyze: roles without their bytes' 0 "$krtsan" analyze --fail-on=never --kernels=line.kernels kernels.krt
says 'kernels-file [0-9]* (0 % exactly)'
count err 'says nothing of' 0
for l in 'arg 9 read: the kernel has fewer parameters' 'arg 0 read [100, 4): a range ends before it begins' \
	'arg 0 read, arg 2 write: the parameter is no pointer'; do
	echo "kernel *Li0*: ${l%%: *}" >line.kernels
	t "analyze: a line that makes no sense: $l" 0 "$krtsan" analyze --fail-on=never --kernels=line.kernels kernels.krt
	says "krtsan: kernels: line.kernels:1: says nothing of [1-9][0-9]* launch.*: ${l#*: }\$"
	count err 'fits no kernel' 0
done
echo 'kernel *Li0*: arg 0 may read, arg 1 may write [0, 64)' >line.kernels
t 'explain-kernel: what may be accessed' 0 explain --kernels=line.kernels 'apply<float, 0>' kernels.krt
prints '^    arg 0  *read  *nothing outside \[+0, +16384) of device buffer "a" '
prints '^    arg 1  *write  *some bytes of \[+0, +64) of device buffer "b" '
echo 'kernel *Li0*: arg 0 read [0, 4) each d in 0..1 (4 by 256)' >line.kernels
t 'explain-kernel: pieces' 0 explain --kernels=line.kernels 'apply<float, 0>' kernels.krt
prints '^    arg 0  *read  *every byte of pieces of 4 bytes, 256 apart, in \[+0, +772) of device buffer "a" '
t 'analyze: no folder of PTX' 125 "$krtsan" analyze --ptx-path=no.folder kernels.krt; says 'ptx_path: no.folder: cannot'
t 'explain-kernel: no folder of PTX' 125 explain --ptx-path=no.folder apply kernels.krt; says 'ptx_path: no.folder: cannot'
damaged() { rm -rf d.krt; cp -r kernels.krt d.krt; }
damaged; truncate -s 100 d.krt/*.packed
t 'explain-kernel: a damaged trace' 125 explain apply d.krt; says 'at byte 0: the recording was cut off in the middle of a frame'; count err . 1
t 'record: kernels in a graph' 0 "$krtsan" record --sim -o graph.krt -- "$kernels" in_a_graph fixed
t 'explain-kernel: nodes' 0 explain 'apply<float, 0>' graph.krt
prints '^  launches  *0$'; prints '^  graph nodes  *[1-9][0-9]*, known by ptx-range$'
prints '^  node of a graph, grid 64x1x1, block 64x1x1: known by ptx-range'
prints '^    arg 1  *write  *every byte of \[+0, +16384) of device buffer "b" '
t 'record: a struct and a variable' 0 "$krtsan" record --sim -o kernels.krt -- "$kernels" structs
t 'explain-kernel: words of a struct' 0 explain work kernels.krt; prints '^  *arg 0.16: write$'
prints '^    arg 0.16  *write  *every byte of \[+0, +16384) of device buffer "b" '
t 'record: a table' 0 "$krtsan" record --sim -o kernels.krt -- "$kernels" tables
t 'explain-kernel: behind a table' 0 explain '*' kernels.krt
prints '^    arg 0  *write  *from +0 on of device buffer "c" .*, by a pointer that lies in memory  (ptx-role)$'
t 'record: a variable' 0 "$krtsan" record --sim -o kernels.krt -- "$kernels" variables
t 'explain-kernel: a variable' 0 explain set_table kernels.krt; prints '^  *variable table, 16384 bytes: write$'
prints '^  *write  *every byte of \[+0, +4096) of variable "table"'
rm -f line.kernels

# Lanes as the library leaves them.
mkdir plain.krt
t 'a folder of lanes' 0 env KRTSAN_SESSION="$work/plain.krt" LD_LIBRARY_PATH="$build/sim" LD_PRELOAD="$build/libkrtsan.so" "$tree" init race
t 'analyze: a folder of lanes' 66 "$krtsan" analyze plain.krt; says KRT-RACE-WAW
damaged() { rm -rf d.krt; cp -r plain.krt d.krt; }
damaged; truncate -s 300 d.krt/*.1
t 'damaged: truncated' 125 "$krtsan" analyze d.krt; says 'ends at byte 300 of'; says 'inconclusive'
damaged; rm d.krt/*.1
t 'damaged: a lane is missing' 125 "$krtsan" analyze d.krt; says 'trace: .*\.1: cannot be opened'; says 'inconclusive'
damaged; truncate -s 100 d.krt/*.proc
t 'damaged: header' 125 "$krtsan" analyze d.krt; says 'too short'
damaged; printf 'XXXXXXXX' | dd of="$(echo d.krt/*.proc)" conv=notrunc 2>/dev/null
t 'damaged: no header' 125 "$krtsan" analyze d.krt; says 'not a krtsan trace'
damaged; printf '\143' | dd of="$(echo d.krt/*.proc)" bs=1 seek=8 conv=notrunc 2>/dev/null
t 'another version' 125 "$krtsan" analyze d.krt; says 'trace version 99'
damaged; printf '\001\002' | dd of="$(echo d.krt/*.proc)" bs=1 seek=16 conv=notrunc 2>/dev/null
t 'another table' 125 "$krtsan" analyze d.krt; says 'another entry-point table'
damaged; printf '\377\377\377' | dd of="$(echo d.krt/*.1)" bs=1 seek=32 conv=notrunc 2>/dev/null
t 'damaged: in the middle' 125 "$krtsan" analyze d.krt; says 'damaged at byte'; says 'inconclusive'
t 'damaged: everywhere, a trace with kernels' 0 "$build/testcases/flip" graph.krt 13
prints 'analysed, [1-9][0-9]* known to be damaged'
t 'record: pointers in memory' 0 "$krtsan" record --sim -o tables.krt -- "$kernels" tables fixed
t 'damaged: everywhere, a trace with tables of pointers' 0 "$build/testcases/flip" tables.krt 17
t 'damaged: everywhere' 0 "$build/testcases/flip" t.krt 29; prints 'analysed, [1-9][0-9]* known to be damaged'
finish

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
