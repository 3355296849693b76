#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Programs that say nothing of what the CPU reads and writes, under host=guard and
# host=checksum: those of testcases/{hazard,clean} that have notes, built without
# them, and all others of testcases/clean that have host memory in flight.
#
#   programs.py BUILD [--gpu] [NAME...]
#
# Expected under guard are the rules of the program's EXPECT lines, or of its GUARD
# line; under checksum no others than these, and those of its CHECKSUM line for sure:
#
#   GUARD: RULE... | none        CHECKSUM: RULE... | none
#   GUARD-LINE: text             a source line's text that leads the finding
#
#   HOST-SKIP: why the program is left out
#
# Fixed twins and clean programs: what EXPECT-FIXED and EXPECT say, the same output
# and the same exit code as without krtsan.
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

args = [a for a in sys.argv[1:] if not a.startswith("--")]
build, names = os.path.abspath(args[0]), set(args[1:])
gpu = "--gpu" in sys.argv
HOST = re.compile(r"pinned|managed|Managed|HostAlloc|HostRegister|blocks_open_host")
NOTE = re.compile(r"krtsan_host_(read|write)\(")


def head(text, key):
    return re.findall(rf"^ \* {key}: *(.*)$", text, re.M)


def runs(text):
    """The arguments of each run and the head lines that are about it."""
    parts = re.split(r"^ \* ARGS: *(.*)$", text[: text.find("*/\n#include")], flags=re.M)
    return [("", parts[0])] + list(zip(parts[1::2], parts[2::2]))


def rules_of(lines):
    return {r for line in lines for r in line.split()[:1] if r != "none"}


def words(lines):
    return {w for line in lines if not line.startswith("none") for w in line.split()}


def run(cmd, env):
    return subprocess.run(cmd, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240)


def case(kind, source, binary, text, whole, arguments, fixed, mode):
    """None: as wanted; else what is not."""
    env = dict(os.environ)
    options = ":".join(head(whole, "OPTIONS"))
    if options:
        env["KRTSAN_OPTIONS"] = options
    sim = [] if gpu else ["--sim"]
    plain = dict(env)
    if not gpu:
        plain["LD_LIBRARY_PATH"] = f"{build}/sim"
    with tempfile.TemporaryDirectory() as tmp:
        out = f"{tmp}/r.json"
        r = run([f"{build}/krtsan", "run", *sim, f"--host={mode}", "--fail-on=never", "--verify=0",
                 f"--report=json:{out}", "--log-path=/dev/null", "--", binary, *arguments], env)
        if r.returncode == 77:
            return None
        if r.returncode:
            return f"exit code {r.returncode}: {r.stderr.decode(errors='replace')[-300:]}"
        with open(out) as f:
            report = json.load(f)
    if report["coverage"]["host"]["mode"] != mode:
        return f"the mode in force is {report['coverage']['host']['mode']}"
    found = {f["rule"] for f in report["findings"] if f["level"] != "note"}
    expect = rules_of(x for line in head(text, "EXPECT-FIXED" if fixed else "EXPECT")
                      for x in line.split("\n") if "note" not in line.split()[1:2])
    # alternatives A|B
    allowed = {a for e in expect for a in e.split("|")}
    if mode == "guard":
        must = words(head(text, "GUARD")) if head(text, "GUARD") and not fixed else expect
        allowed |= must
    else:
        must = words(head(text, "CHECKSUM")) if not fixed else set()
    allowed |= must
    # a card's driver puts small buffers side by side: a page of several is not guarded, and said
    shared = gpu and mode == "guard" and report["coverage"]["host"]["shared_page"]
    for m in must:
        if not found & set(m.split("|")) and not shared:
            return f"{m} is missing, found {sorted(found)}"
    if found - {a for m in allowed for a in m.split("|")}:
        return f"found {sorted(found)}, expected {sorted(allowed)}"
    for want in head(text, "GUARD-LINE") if mode == "guard" and not fixed else []:
        lines = open(source).read().split("\n")
        at = [n + 1 for n, l in enumerate(lines) if want in l and "GUARD-LINE" not in l]
        leads = [f["current"]["stack"][0]["line"] for f in report["findings"] if f["level"] != "note"]
        if not set(at) & set(leads):
            return f"lines {leads} lead, expected one of {at}"
    if not found and not must:
        alone = run([binary, *arguments], plain)
        if (alone.returncode, alone.stdout) != (r.returncode, r.stdout) and not head(whole, "UNSTABLE"):
            return "its output differs from that without krtsan"
    return None


def cases():
    for kind in ("hazard", "clean"):
        for file in sorted(os.listdir(f"testcases/{kind}")):
            name, ext = os.path.splitext(file)
            if ext != ".c" or (names and name not in names):
                continue
            source = f"testcases/{kind}/{file}"
            text = open(source).read()
            if (gpu and head(text, "SIM-ONLY")) or head(text, "HOST-SKIP"):
                continue
            noted = bool(NOTE.search(text))
            if not noted and (kind != "clean" or not HOST.search(text)):
                continue
            base = f"{build}/host/{kind}/{name}" if noted else f"{build}/testcases/{kind}/{name}"
            for fixed in (False, True):
                binary = base + (".fixed" if fixed else "")
                if os.path.exists(binary) and not (fixed and not head(text, "EXPECT-FIXED")):
                    for arguments, part in runs(text)[: 1 if fixed else None]:
                        for mode in ("guard", "checksum"):
                            title = f"{name} {arguments}".rstrip() + (" (fixed)" if fixed else "")
                            yield f"{kind}/{title} {mode}", (
                                kind, source, binary, part, text, arguments.split(), fixed, mode)


def attempt(c):
    try:
        return case(*c[1])
    except Exception as e:  # noqa: BLE001: a case that breaks has failed
        return repr(e)


passed = failed = 0
todo = list(cases())
with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
    for (name, _), why in zip(todo, pool.map(attempt, todo)):
        print(f"{'not ok' if why else 'ok'} {name}" + (f"\n  {why}" if why else ""), flush=True)
        passed, failed = passed + (not why), failed + bool(why)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
