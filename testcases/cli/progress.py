#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Progress of long commands: a line on a terminal, rewritten and erased; nothing
# in a pipe; nothing for short work.  progress.py BUILD; needs BUILD/krtsan,
# libkrtsan.so, sim/ and testcases/tree.
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

build = os.path.abspath(sys.argv[1])
krtsan = build + "/krtsan"
passed = failed = 0


def check(name, good, why=""):
    global passed, failed
    if good:
        passed += 1
        print("ok", name)
    else:
        failed += 1
        print("not ok", name, why)


def on_terminal(argv, columns=80, env=None):
    """Exit code, stdout and what a terminal on stderr got."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    p = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=slave, env=env)
    os.close(slave)
    got = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the last writer has closed it
            break
        if not piece:
            break
        got += piece
    os.close(master)
    return p.wait(), p.stdout.read(), got


def lines(got):
    """The states of the line: what stands after each erasure."""
    return [s.decode() for s in got.split(b"\r\x1b[K")]


def screen(got):
    """What is left on the screen: an erased line holds what came after the last erasure."""
    return b"".join(re.sub(rb".*\r\x1b\[K", b"", line) + b"\n" for line in got.replace(b"\r\n", b"\n").split(b"\n"))


def words(text):
    """The report's words, which a terminal gets in shorter lines."""
    return re.sub(rb"(?m)^==\d+==", b"", text).split()


def record(name, *actions):
    subprocess.run([krtsan, "record", "--sim", "-o", name, "--", build + "/testcases/tree", *actions],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    os.environ.pop("KRTSAN_OPTIONS", None)
    os.environ["TERM"] = "xterm"
    record("long.krt", "init", "race", "many", "50000")
    record("short.krt", "init", "race")
    long = [krtsan, "analyze", "--color=never", "long.krt"]

    code, out, got = on_terminal(long)
    piped = subprocess.run(long, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    seen = lines(got)
    check("terminal: exit code", code == piped.returncode == 66, f"{code} {piped.returncode}")
    check("terminal: a line with share and records",
          any(re.match(r"krtsan: analyze: \d+ %, [\d,]+ records", s) for s in seen), repr(got[:300]))
    check("terminal: fixes are tried", any(re.match(r"krtsan: analyze: (trying fixes, [\d,]+ records|making the report)", s)
                                           for s in seen), repr(got[:300]))
    check("terminal: the share never falls",
          (lambda n: n and n == sorted(n))([int(m[1]) for m in re.finditer(r"(\d+) %,", got.decode())]), repr(got[:300]))
    check("terminal: the line is erased before the report",
          b"\r\x1b[K" in got and words(screen(got)) == words(piped.stderr),
          repr(screen(got)[:200]))
    check("terminal: stdout has nothing of it", out == piped.stdout == b"", repr(out[:100]))
    check("pipe: nothing", b"\r" not in piped.stderr and b"\x1b" not in piped.stderr, repr(piped.stderr[:200]))

    code, out, got = on_terminal(long, columns=20)
    check("narrow terminal: the line never wraps", seen and all(len(s.split("\r\n")[0]) < 20 for s in lines(got)[1:-1]) and
          len(lines(got)) > 2, repr(got[:300]))
    code, out, got = on_terminal(long, env={**os.environ, "TERM": "dumb"})
    check("dumb terminal: nothing", b"\x1b" not in got, repr(got[:200]))
    code, out, got = on_terminal([krtsan, "explain-kernel", "long.krt"])
    check("explain-kernel: the line and its end", code == 0 and screen(got).strip() == b"" and
          any(s.startswith("krtsan: explain-kernel: ") for s in lines(got)), f"{code} {got[:300]!r}")
    subprocess.run([krtsan, "analyze", "--timeline=200000", "--report=json:long.json", "long.krt"],
                   stderr=subprocess.DEVNULL)
    code, out, got = on_terminal([krtsan, "report", "--to=text", "long.json"])
    piped = subprocess.run([krtsan, "report", "--to=text", "long.json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check("report: the line and its end", code == piped.returncode == 0 and screen(got).strip() == b"" and
          out == piped.stdout and any(re.match(r"krtsan: report: \d+ %, \d+ MiB", s) for s in lines(got)), f"{code} {got[:300]!r}")
    check("report: nothing in a pipe", piped.stderr == b"", repr(piped.stderr[:200]))
    code, out, got = on_terminal([krtsan, "analyze", "--color=never", "short.krt"])
    check("short trace: nothing", code == 66 and b"\x1b" not in got, f"{code} {got[:200]!r}")

print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
