#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What host=guard promises a program: each case of promises.c ends as it does without
# krtsan, by the same signal or with the same exit code and output, while pages are
# guarded; Python's faulthandler speaks as ever.
#
#   promises.py BUILD [--gpu] [CASE...]
import json
import os
import subprocess
import sys
import tempfile

args = [a for a in sys.argv[1:] if not a.startswith("--")]
build = os.path.abspath(args[0])
sim = [] if "--gpu" in sys.argv else ["--sim"]
plain = dict(os.environ)
if sim:
    plain["LD_LIBRARY_PATH"] = f"{build}/sim"
passed = failed = 0
UNGUARDED = {"nothing", "read-only"}  # too little is in flight for an account


def run(cmd, env=None):
    return subprocess.run(cmd, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)


def guarded(cmd):
    with tempfile.TemporaryDirectory() as tmp:
        r = run([f"{build}/krtsan", "run", *sim, "--host=guard", "--fail-on=never", "--verify=0",
                 f"--report=json:{tmp}/r", f"--log-path={tmp}/log", "--", *cmd])
        with open(f"{tmp}/r") as f:
            report = json.load(f)
            return r, report["coverage"]["host"], json.dumps(report["verdict"])


def tell(name, why):
    global passed, failed
    passed, failed = passed + (not why), failed + bool(why)
    print(f"{'not ok' if why else 'ok'} promise: {name}" + (f"\n  {why}" if why else ""), flush=True)


def case(name):
    program = f"{build}/host/promises"
    alone = run([program, name], plain)
    if alone.returncode == 77:
        return tell(f"{name} # SKIP", None)
    # a death by signal N is the shell's 128 + N
    code = alone.returncode if alone.returncode >= 0 else 128 - alone.returncode
    if code == 3:
        return tell(name, f"without krtsan: {alone.stderr.decode()}")
    r, host, verdict = guarded([program, name])
    if (r.returncode, r.stdout) != (code, alone.stdout):
        return tell(name, f"ends with {r.returncode}, expected {code}: {r.stderr.decode(errors='replace')[-300:]}")
    if name == "refused":
        said = host["mode"] == "api" and "inconclusive" in verdict
        return tell(name, None if said else f"not said: {host}, {verdict}")
    if host["mode"] != "guard" or (name not in UNGUARDED and not host["watched"]):
        return tell(name, f"nothing was guarded: {host}")
    tell(name, None)


def faulthandler():
    cmd = [sys.executable, f"{os.path.dirname(os.path.abspath(__file__))}/faulthandler_enabled.py"]
    alone = run(cmd, plain)
    r, host, _ = guarded(cmd)
    said, wanted = ([line for line in e.split(b"\n") if line.startswith(b"  File")] for e in (r.stderr, alone.stderr))
    if not wanted or said != wanted or r.returncode != 128 - alone.returncode or not host["watched"]:
        return tell("faulthandler", f"exit code {r.returncode}, {said}, expected {wanted}; {host}")
    tell("faulthandler", None)


if not args[1:]:
    faulthandler()
for c in args[1:] or run([f"{build}/host/promises"], plain).stdout.decode().split():
    case(c)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
