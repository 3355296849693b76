#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files that users copy into their CI, and what the README says of it.

ci.py BUILD: each file of reports/ci is YAML of the shape that its system wants and
is in the README word for word; its commands run as they stand, in a folder with a
Makefile and a program, on the simulated driver: 0 for a clean program, 66 for
one with a race, and what the file uploads is there both times.  The README's
commands of that section run, in order.  Prints `ok NAME` and `not ok NAME`.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

import yaml

build = os.path.abspath(sys.argv[1])
passed = failed = 0


def check(name, trouble):
    global passed, failed
    if trouble:
        failed += 1
        print(f"not ok {name}")
        for line in trouble if isinstance(trouble, list) else [trouble]:
            print(f"  {line}")
    else:
        passed += 1
        print(f"ok {name}")


class Place:
    """A checkout with a program of one file, krtsan in PATH, the simulator for a GPU."""

    def __init__(self, *acts):
        self.folder = tempfile.TemporaryDirectory()
        self.bin = tempfile.TemporaryDirectory()
        os.symlink(f"{build}/krtsan", f"{self.bin.name}/krtsan")
        self.write("Makefile", "app: app.sh\n\tcp app.sh app && chmod +x app\n")
        self.write("app.sh", f"#!/bin/sh\nexec {build}/testcases/tree {' '.join(acts)}\n")
        self.env = {k: v for k, v in os.environ.items() if k not in ("KRTSAN_OPTIONS", "LD_PRELOAD")}
        self.env["PATH"] = f"{self.bin.name}:{self.env['PATH']}"
        self.env["LD_LIBRARY_PATH"] = f"{build}/sim"

    def write(self, name, text):
        with open(f"{self.folder.name}/{name}", "w") as f:
            f.write(text)

    def run(self, command):
        return subprocess.run(
            ["bash", "-e", "-c", command], cwd=self.folder.name, env=self.env, text=True,
            stdin=subprocess.DEVNULL, capture_output=True)

    def has(self, path):
        path = f"{self.folder.name}/{path}"
        return os.path.isdir(path) and bool(os.listdir(path)) or os.path.isfile(path) and os.path.getsize(path) > 0


def run_job(system, commands, uploads):
    """uploads: paths that the file names."""
    for what, acts, code in (("clean", ["init", "clean"], 0), ("race", ["init", "race"], 66)):
        place = Place(*acts)
        trouble = []
        for i, command in enumerate(commands):
            r = place.run(command)
            want = code if i == len(commands) - 1 else 0
            if r.returncode != want:
                trouble.append(f"{command}: exit code {r.returncode}, expected {want}: {r.stderr[-500:]}")
        trouble += [f"{p} is not there" for p in uploads if not place.has(p)]
        check(f"{system}: {what}", trouble)


def github(y):
    trouble = []
    # YAML 1.1 takes the key `on` for a truth
    if not {"push", "pull_request"} <= set(y.get("on", y.get(True, {}))):
        trouble.append("it runs on nothing")
    if y.get("permissions", {}).get("security-events") != "write":
        trouble.append("it may not upload SARIF")
    if y.get("permissions", {}).get("contents") != "read":
        trouble.append("it may not check out")
    steps = y["jobs"]["krtsan"]["steps"]
    for s in steps:
        if ("run" in s) == ("uses" in s):
            trouble.append(f"neither or both of run and uses: {s}")
        if "uses" in s and not re.fullmatch(r"[\w-]+/[\w/-]+@v\d+", s["uses"]):
            trouble.append(f"no version of an action: {s['uses']}")
        if "upload" in s.get("uses", "") and "cancelled()" not in s.get("if", ""):
            trouble.append(f"not after a failure: {s['uses']}")
    sarif = [s["with"]["sarif_file"] for s in steps if "upload-sarif" in s.get("uses", "")]
    paths = [s["with"]["path"] for s in steps if "upload-artifact" in s.get("uses", "")]
    if len(sarif) != 1 or len(paths) != 1:
        trouble.append("it uploads no SARIF or no reports")
    check("github: shape", trouble)
    run_job("github", [s["run"] for s in steps if "run" in s], sarif + paths)


def gitlab(y):
    job = y["krtsan"]
    a = job["artifacts"]
    trouble = [] if a["when"] == "always" else ["no artifacts after a failure"]
    check("gitlab: shape", trouble)
    run_job("gitlab", job["script"], a["paths"] + [a["reports"]["junit"]])


def section(readme):
    m = re.search(r"^## In CI\n(.*?)^## ", readme, re.S | re.M)
    return m.group(1) if m else ""


def main():
    with open("README.md") as f:
        text = section(f.read())
    fenced = re.findall(r"^```yaml\n(.*?)^```", text, re.S | re.M)
    for system, shape in (("github", github), ("gitlab", gitlab)):
        with open(f"reports/ci/{system}.yml") as f:
            whole = f.read()
        body = re.sub(r"\A(#.*\n)*", "", whole)
        check(f"{system}: in the README", None if body in fenced else "the README has another text")
        shape(yaml.safe_load(whole))

    # the section's own commands, one after the other, on a program with a race
    place = Place("init", "race")
    place.run("make")
    trouble = []
    commands = re.findall(r"^    (krtsan .*|cp .*)$", text, re.M)
    for c in commands:
        bare = shlex.split(c, comments=True)
        want = int(m.group(1)) if (m := re.search(r"# exit code (\d+)", c)) else 0
        r = place.run(c)
        if r.returncode != want:
            trouble.append(f"{' '.join(bare)}: exit code {r.returncode}, expected {want}: {r.stderr[-500:]}")
    if len(commands) < 5:
        trouble.append(f"only {len(commands)} commands found")
    check("README: the commands of the section", trouble)
    lines = re.findall(r"^    ((?:\*|[\w-]+):\S.*)$", text, re.M)
    place.write("readme.supp", "\n".join(lines) + "\n")
    r = place.run("krtsan run --suppressions=readme.supp --print-suppressions -- true")
    unused = r.stderr.count(": unused: ")
    check("README: the suppressions of the section",
          None if r.returncode == 0 and unused == len(lines) >= 4 else f"{len(lines)} lines: {r.stderr}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
