#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Every case of matrix.c under host=guard: loud and silent as the documented and the
# observed order say.  matrix.py BUILD [--gpu] [--jobs=N]
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import product

build = os.path.abspath(sys.argv[1])
gpu = "--gpu" in sys.argv
jobs = next((int(a[7:]) for a in sys.argv if a.startswith("--jobs=")), os.cpu_count() or 1)
SYNCS = ["none", "stream", "event", "context", "query", "barrier", "null", "free"]


def expected(memory, stream, sync, access):
    if memory == "upload" and access == "read":
        return "silent"  # both read
    if sync in ("stream", "event", "context", "query"):
        return "silent"
    if sync == "barrier":  # the default-stream rule is documented
        return "error" if stream == "nonblocking" else "silent"
    if sync == "null":
        return {"legacy": "silent", "nonblocking": "error"}.get(stream, "warning")
    return "warning" if sync == "free" else "error"  # a free waits in practice


def attempt(case):
    memory, stream, sync, access = case
    with tempfile.TemporaryDirectory() as tmp:
        out = f"{tmp}/r.json"
        r = subprocess.run(
            [f"{build}/krtsan", "run", *([] if gpu else ["--sim"]), "--host=guard", "--fail-on=never",
             "--verify=0", f"--report=json:{out}", "--log-path=/dev/null", "--",
             f"{build}/host/matrix", *case],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        if r.returncode or r.stdout != b"done\n":
            return f"exit code {r.returncode}, {r.stdout!r} {r.stderr[-200:]!r}"
        with open(out) as f:
            report = json.load(f)
    rule = "KRT-HOST-READ-RACE" if access == "read" else "KRT-HOST-WRITE-RACE"
    found = [(f["rule"], f["level"]) for f in report["findings"] if f["level"] != "note"]
    want = expected(*case)
    if found != ([] if want == "silent" else [(rule, want)]):
        return f"found {found}, expected {want}"
    if found and not report["findings"][0]["current"]["stack"][0]["file"].endswith("matrix.c"):
        return "its stack does not lead with the line that touched the memory"
    return None


todo = list(product(["managed", "download", "upload"],
                    ["legacy", "blocking", "nonblocking", "thread"], SYNCS, ["read", "write"]))
if not gpu:  # a part of them in the suite
    todo = [c for i, c in enumerate(todo) if "--all" in sys.argv or i % 4 == (i // 16) % 4]
failed = 0
with ThreadPoolExecutor(jobs) as pool:
    for case, why in zip(todo, pool.map(attempt, todo)):
        print(f"{'not ok' if why else 'ok'} matrix {' '.join(case)}" + (f"\n  {why}" if why else ""))
        failed += bool(why)
print(f"{len(todo) - failed} passed, {failed} failed")
sys.exit(failed > 0)
