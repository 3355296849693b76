#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# torture.c under host=guard: every race that the program says it commits is named, by
# rule and line, nothing else is; without its races nothing at all.
#
#   torture.py BUILD [--gpu] [ARGUMENT...]
import json
import os
import subprocess
import sys
import tempfile

args = [a for a in sys.argv[1:] if not a.startswith("--")]
build = os.path.abspath(args[0])
sim = [] if "--gpu" in sys.argv else ["--sim"]
size = (args[1:] + ["1000", "262144", "1"][len(args) - 1:])[:3]
failed = 0


def run(title, arguments, races):
    global failed
    with tempfile.TemporaryDirectory() as tmp:
        out = f"{tmp}/r.json"
        r = subprocess.run(
            [f"{build}/krtsan", "run", *sim, "--host=guard", "--fail-on=never", "--verify=0",
             f"--report=json:{out}", f"--log-path={tmp}/log", "--", f"{build}/host/torture", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=580)
        why = []
        if r.returncode == 77:
            print(f"ok {title} # SKIP")
            return
        if r.returncode or not r.stdout.endswith(b"done\n"):
            why.append(f"exit code {r.returncode}: {r.stderr.decode(errors='replace')[-400:]}")
        try:
            with open(out) as f:
                report = json.load(f)
        except OSError as e:
            report = {"findings": [], "coverage": {"host": {}}}
            why.append(str(e))
    host = report["coverage"]["host"]
    if host.get("mode") != "guard" or not host.get("watched"):
        why.append(f"coverage.host is {host}")
    if report.get("run", {}).get("incomplete"):
        why.append(f"incomplete: {report['run']['incomplete']}")
    found = {(f["rule"], f["current"]["stack"][0]["line"]) for f in report["findings"] if f["level"] != "note"}
    want = {(w[1], int(w[2])) for w in map(str.split, r.stdout.decode().splitlines()) if w[0] == "RACE"}
    if len(want) != races:
        why.append(f"{len(want)} races told, expected {races}")
    if want - found:
        why.append(f"missing: {sorted(want - found)}")
    if found - want:
        why.append(f"false: {sorted(found - want)}")
    failed += bool(why)
    print(f"{'not ok' if why else 'ok'} {title}")
    for w in why:
        print(f"  {w}")


run("torture, 16 races", size, 16)
run("torture, none", [*size, "plain"], 0)
print(f"{2 - failed} passed, {failed} failed")
sys.exit(failed > 0)
