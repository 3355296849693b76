#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The CPU's own accesses on a GPU: host=guard and host=checksum on PyTorch scripts and
# on a program of the runtime API, loud and silent, and their output.
#   host.py BUILD OUT     (nvcc and torch; what is missing is skipped and said)
import json
import os
import re
import shutil
import subprocess
import sys

build, out = os.path.abspath(sys.argv[1]), sys.argv[2]
os.makedirs(out, exist_ok=True)
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "host")
passed = failed = 0


def line_of(path):
    return next(n for n, l in enumerate(open(path), 1) if "HERE" in l)


def say(name, why):
    global passed, failed
    passed, failed = passed + (not why), failed + bool(why)
    print(f"{'not ok' if why else 'ok'} {name}" + (f"\n  {why}" if why else ""), flush=True)


def run(name, mode, cmd, rule, source, python):
    """rule None: silent, and the output as without krtsan."""
    file = f"{out}/{name.replace(' ', '-')}-{mode}.json"
    r = subprocess.run([f"{build}/krtsan", "run", f"--host={mode}", "--fail-on=never", f"--report=json:{file}",
                        f"--log-path={file[:-5]}.txt", "--", *cmd],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=200)
    if r.returncode:
        return f"exit code {r.returncode}: {r.stderr.decode(errors='replace')[-400:]}"
    report = json.load(open(file))
    if report["coverage"]["host"]["mode"] != mode:
        return f"mode {report['coverage']['host']['mode']}"
    found = [f for f in report["findings"] if f["level"] != "note"]
    if rule is None:
        alone = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=200)
        if alone.stdout != r.stdout:
            return f"output {r.stdout!r}, without krtsan {alone.stdout!r}"
        return f"found {[f['rule'] for f in found]}" if found else None
    if {f["rule"] for f in found} != {rule}: # several threads may have written
        return f"found {[f['rule'] for f in found]}, expected {rule}"
    if mode != "guard":
        return None
    led = [(c["stack"][c["site"]] if isinstance(c["site"], int) else c["stack"][0])
           for c in (f["current"] for f in found)]
    at = next((a for a in led if a["line"] == line_of(source)), led[0])
    if os.path.basename(at["file"] or "") != os.path.basename(source) or at["line"] != line_of(source):
        return f"{at['file']}:{at['line']} leads, expected line {line_of(source)}"
    return None


try:
    import importlib.util
    torch = importlib.util.find_spec("torch") is not None
except ImportError:
    torch = False
if torch:
    for script, rule in (("overwrite", "KRT-HOST-WRITE-RACE"), ("early", "KRT-HOST-READ-RACE")):
        path = f"{here}/{script}.py"
        for mode in ("guard", "checksum"):
            want = rule if mode == "guard" or script == "overwrite" else None
            if want or script != "early":
                say(f"{script} {mode}", run(script, mode, [sys.executable, path], want, path, True))
            say(f"{script} fixed {mode}", run(f"{script} fixed", mode, [sys.executable, path, "fixed"], None, path, True))
    for mode in ("guard", "checksum"):
        say(f"loader {mode}", run("loader", mode, [sys.executable, f"{here}/loader.py"], None, None, True))
else:
    print("skipped: torch is not there")
if shutil.which("nvcc"):
    binary = f"{out}/host-cu"
    r = subprocess.run(["nvcc", "-g", "-O1", "-o", binary, f"{here}/host.cu"], stderr=subprocess.PIPE)
    if r.returncode:
        say("host.cu", r.stderr.decode()[-300:])
    else:
        for what in ("pinned", "registered", "managed"):
            for mode in ("guard", "checksum"):
                rule = "KRT-HOST-WRITE-RACE" if mode == "guard" or what != "managed" else None
                if rule:
                    say(f"cu {what} {mode}", run(f"cu {what}", mode, [binary, what], rule, f"{here}/host.cu", False))
                say(f"cu {what} fixed {mode}", run(f"cu {what} fixed", mode, [binary, what, "fixed"], None, None, False))
        os.unlink(binary)
else:
    print("skipped: nvcc is not there")
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
