#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# krtsan run --torch without PyTorch and without a GPU: torch.sh BUILD.  A fake
# PyTorch (faketorch/) on the simulated driver stands for the real one; what the
# real one does is tried by testcases/gpu/torch_feeds.sh.
# One line a test, `ok` or `not ok`; the last line is `N passed, N failed`.
set -u

build=$(cd "$1" && pwd) || exit 125
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 125
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 125
unset KRTSAN_SESSION KRTSAN_OPTIONS LD_PRELOAD
# Not by a version manager's wrapper, which is a shell script.
python=$(python3 -c 'import sys; print(sys.executable)')
prog=$here/faketorch/prog.py
export PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH="$here/faketorch"
export FAKETORCH="$build/testcases/faketorch"
passed=0
failed=0

ok() { passed=$((passed + 1)); echo "ok $1"; }
not_ok() { failed=$((failed + 1)); echo "not ok $1"; shift; for l; do echo "  $l"; done; }
# check NAME TROUBLE
check() { if [ -z "$2" ]; then ok "$1"; else not_ok "$1" "$2" "$(head -c 600 err)"; fi; }
native() { LD_LIBRARY_PATH="$build/sim" "$python" "$@" >native.out 2>native.err </dev/null; want=$?; }
feed() { f=$1; shift; timeout 60 "$build/krtsan" run --sim --torch="$f" --report=json:r.json -- "$@" >out 2>err </dev/null; rc=$?; }
has() { grep -q -e "$1" err; }

# As without krtsan: what it prints and how it ends; and the verdict.
for f in watch replace; do
	for c in 'stats clean 0' 'exits clean 3' 'child clean 0' 'threads clean 0' \
		'handed_over:wait clean 0' 'handed_over:record_stream clean 0' 'handed_over:forgotten findings 66 KRT-REUSE-RACE' 'graph:freed findings 66 KRT-GRAPH-STALE-ADDR' \
		'handed_over_in_graph:wait clean 0' 'handed_over_in_graph:forgotten findings 66 KRT-GRAPH-UNORDERED-NODES' \
		'graph:kept clean 0' 'two_graphs clean 0' 'seen inconclusive 0'; do
		set -- $c
		args=$(echo "$1" | tr : ' ')
		native "$prog" $args
		feed $f "$python" "$prog" $args
		bad=
		cmp -s native.out out || bad="prints: $(diff native.out out | head -n 3 | tr '\n' ' ')"
		[ $rc = "$3" ] || bad="$bad exit code $rc, expected $3;"
		grep -q "\"verdict\": \"$2\"" r.json || bad="$bad $(grep '"verdict"' r.json), expected $2"
		[ -z "${4-}" ] || grep -q "\"rule\": \"$4\"" r.json || bad="$bad no $4;"
		[ $rc = 66 ] || [ "$want" = $rc ] || bad="$bad exit code $rc, without krtsan $want"
		check "torch $f: $1" "$bad"
	done
done

# What the watch feed tells: every block with its size and stream, in order.
timeout 60 "$build/krtsan" record --sim --torch -o told -- "$python" "$prog" sizes >out 2>err
"$build/testcases/torch_notes" told >notes
check "torch watch: sizes, streams, captures, private pools" "$(diff out notes 2>&1 | head -n 5)"
feed watch "$python" "$prog" nonsense
check "torch watch: entries laid out otherwise" "$([ $rc = 0 ] && grep -q '"verdict": "inconclusive"' r.json && grep -q 'goes on' out || echo "exit code $rc")"
sed 's/size_t size_;/int32_t size_;/; s/  size_t addr_/  int other_;\n  size_t addr_/' \
	"$here/faketorch/torch/include/c10/cuda/CUDACachingAllocator.h" >header
cp -r "$here/faketorch" otherwise && mv header otherwise/torch/include/c10/cuda/CUDACachingAllocator.h
PYTHONPATH=$work/otherwise
feed watch "$python" "$work/otherwise/prog.py" stats
check "torch watch: a header that says otherwise" "$([ $rc = 0 ] && has 'cannot be watched: its trace entries are laid out' || echo "exit code $rc")"
PYTHONPATH=$here/faketorch

# Refused by name of the other feed.
for c in benchmark compiled worker; do
	feed watch "$python" "$prog" $c
	bad=
	[ $rc = 0 ] || bad="refused by watch, exit code $rc"
	feed replace "$python" "$prog" $c
	{ [ $rc = 1 ] && has '--torch=watch'; } || bad="$bad not refused by replace, exit code $rc"
	check "torch refusal: $c" "$bad"
done

# The program's own sitecustomize runs, fails, or is missing as before.
mkdir hidden broken
echo 'import sys; print("hidden runs as", __name__, __file__, sys.modules["sitecustomize"].__file__); import os' >hidden/sitecustomize.py
echo 'raise ValueError("from the hidden one")' >broken/sitecustomize.py
for d in hidden broken; do
	PYTHONPATH="$work/$d:$here/faketorch"
	native "$prog" stats
	feed watch "$python" "$prog" stats
	bad=
	cmp -s native.out out || bad="prints: $(diff native.out out | head -n 3 | tr '\n' ' ')"
	grep -v '^==' err | cmp -s - native.err || bad="$bad stderr: $(grep -v '^==' err | diff native.err - | head -n 3 | tr '\n' ' ')"
	[ $rc = $want ] || bad="$bad exit code $rc, without krtsan $want"
	check "torch sitecustomize: $d" "$bad"
done
PYTHONPATH=$here/faketorch

# With a failing or a missing torch, and without Python.
mkdir -p bad/torch && echo 'raise ImportError("no torch today")' >bad/torch/__init__.py
cat >twice.py <<'PY'
import sys
try:
    import torch
except ImportError as e:
    print(e)
sys.path.append(sys.argv[1])
sys.path[:] = [p for p in sys.path if not p.endswith("/bad")]
import torch
print(torch.__version__, torch.empty(100).fill_(5).first())
PY
PYTHONPATH=$work/bad
native twice.py "$here/faketorch"
feed watch "$python" twice.py "$here/faketorch"
check "torch import that fails at first" "$(diff native.out out)"
PYTHONPATH=
feed watch "$python" -c 'import torch'
if [ $rc = 1 ] && has "ModuleNotFoundError: No module named 'torch'"; then ok "torch is not there"; else not_ok "torch is not there" "exit code $rc" "$(cat err)"; fi
unset PYTHONPATH
feed watch sh -c 'echo "$PYTHONPATH"'
check "torch PYTHONPATH was not set" "$([ "$(cat out)" = "$build/torch" ] || cat out)"
export PYTHONPATH="$here/faketorch"
feed off sh -c 'echo "$PYTHONPATH"'
check "torch off leaves PYTHONPATH alone" "$([ "$(cat out)" = "$PYTHONPATH" ] || cat out)"

# Interpreters that pass it over.
for flag in -I -S -E '-uI' '-W ignore -S' '-X dev -E'; do
	feed watch "$python" $flag -c pass
	check "torch told of: $flag" "$(has 'will not load the PyTorch feed' || echo 'not told')"
done
for rest in '-m this -I' '-c pass -I' '-W -I' '-u -c pass' '-X -S'; do
	feed watch "$python" $rest
	check "torch not told of: $rest" "$(has 'will not load the PyTorch feed' && echo told)"
done
printf '#!%s -I\nprint(1)\n' "$python" >script
chmod +x script
feed watch ./script
check "torch told of a script's first line" "$(has 'will not load the PyTorch feed' || echo 'not told')"
feed watch sh -c "exec \"$python\" -S \"$prog\" stats"
check "torch feed that did not report" "$(has 'its feed did not report' || echo 'not told')"
feed watch "$python" "$prog" stats
check "torch feed that did" "$(has 'its feed did not report' && echo 'told that it did not')"
feed replace "$python" "$prog" stats
check "torch feed replace that did" "$(has 'its feed did not report' && echo 'told that it did not')"
"$build/krtsan" run --torch=nonsense -- true >out 2>err
check "torch=nonsense" "$([ $? = 125 ] && has 'off|watch|replace' || echo 'not refused')"

# Without the library the feed does nothing.
PYTHONPATH=$build/torch:$here/faketorch
native "$prog" stats
[ ! -s native.err ] && [ $want = 0 ] && ok "torch feed without the library" || not_ok "torch feed without the library" "$(cat native.err)"
# Bare, by KRTSAN_OPTIONS.
LD_LIBRARY_PATH="$build/sim" LD_PRELOAD="$build/libkrtsan.so" KRTSAN_OPTIONS=torch=replace "$python" "$prog" compiled >out 2>err
check "torch bare" "$(has '--torch=watch' || echo 'no feed')"
PYTHONPATH=$here/faketorch

# The line that a finding proposes, pasted where it says: the finding is gone.
mkdir site-packages && cp -r "$here/faketorch/torch" site-packages && cp "$here"/fixes/*.py .
PYTHONPATH=$work/site-packages
for c in wait_stream:RACE-RAW record_stream:REUSE-RACE; do
	f=watch
	[ $c = wait_stream:RACE-RAW ] || f=replace # whose allocator hears of record_stream
	feed $f "$python" "${c%:*}.py"
	bad=
	[ $rc = 66 ] && grep -q "\"rule\": \"KRT-${c#*:}\"" r.json && grep -q '"verified": "removes"' r.json ||
		bad="exit code $rc, expected 66 and KRT-${c#*:}, removed;"
	grep -q "${c%:*}.py:[0-9]* in <module>" err || bad="$bad no line of the program;"
	grep -q "\"code\": \".*${c%:*}(side)" r.json || bad="$bad no ${c%:*}(side)"
	"$python" paste.py r.json "${c%:*}.py" >mended.py 2>>err || bad="$bad cannot be pasted;"
	feed $f "$python" mended.py
	[ $rc = 0 ] && grep -q '"verdict": "clean"' r.json || bad="$bad pasted in: exit code $rc"
	check "torch fix: ${c%:*}" "$bad"
done
PYTHONPATH=$here/faketorch

# The recipes of the README, as they stand there, with modules that call them as CuPy and RMM do.
mkdir recipes
awk -v dir=recipes/ '/^```$/ { out = "" } out { print >out } /^# krtsan_[a-z]*\.py:/ { out = dir substr($2, 1, length($2) - 1) }' \
	"$here/../../README.md"
cat >recipe.py <<'PY'
import sys
from types import SimpleNamespace as N
sys.path.insert(0, "recipes")
import krtsan_cupy, krtsan_rmm
import torch
torch.cuda._lazy_init()
class Hook:
    def __enter__(self):
        hooks.append(self)
hooks = []
cuda = N(MemoryHook=Hook, get_current_stream=lambda: N(ptr=0x70), runtime=N(free=lambda p: None))
krtsan_cupy.install(N(cuda=cuda))
hooks[0].malloc_postprocess(device_id=0, size=1000, mem_size=1024, mem_ptr=0x7e0000001000, pmem_id=5)
hooks[0].malloc_postprocess(device_id=0, size=1000, mem_size=1024, mem_ptr=0, pmem_id=0)
hooks[0].free_preprocess(device_id=0, mem_size=1024, mem_ptr=0x7e0000001000, pmem_id=5)
upstream = N(allocate=lambda size, stream: 0x7e0000002000, deallocate=lambda ptr, size, stream: freed.append(ptr))
freed, set_ = [], []
rmm = N(mr=N(CallbackMemoryResource=lambda a, d: (a, d), set_current_device_resource=set_.append))
krtsan_rmm.install(rmm, upstream)
stream = type("Stream", (), {"__cuda_stream__": lambda self: (0, 0x80)})()
allocate, deallocate = set_[0]
ptr = allocate(300, stream)
deallocate(ptr, 300, stream)
assert freed == [ptr]
PY
cat >recipe.want <<'EOT'
pool 1 CuPy
alloc 0x7e0000001000 1024 0x70
free 0x7e0000001000
pool 1 RMM
alloc 0x7e0000002000 300 0x80
free 0x7e0000002000
EOT
timeout 60 "$build/krtsan" record --sim -o told -- "$python" recipe.py >out 2>err
rc=$?
"$build/testcases/torch_notes" told >notes
check "recipes of the README" "$([ $rc = 0 ] || echo "exit code $rc"; diff recipe.want notes 2>&1 | head -n 5)"
native recipe.py
check "recipes without krtsan" "$([ $want = 1 ] && grep -q 'IndexError' native.err || cat native.err)"

# The allocator of the replace feed by itself.
for c in caching other_streams capture threads exhausted forked; do
	timeout 120 "$build/krtsan" run --sim --report=json:r.json -- "$build/testcases/torch_alloc" $c >out 2>err
	rc=$?
	bad=
	[ $rc = 0 ] || bad="exit code $rc"
	grep -q '"verdict": "clean"' r.json || bad="$bad $(grep '"verdict"' r.json)"
	check "torch allocator: $c" "$bad"
done

echo "$passed passed, $failed failed"
[ $failed = 0 ]
