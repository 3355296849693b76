#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
What krtsan costs, as ratios to native within one run.

  suite.py [--gpu] [--build=DIR] [--seconds=N] [--torch-seconds=N] [--write]

On the simulated driver (make bench), or on a card (testcases/gpu/bench) with the rows
of PyTorch and with the tools that people would use instead: compute-sanitizer and
TORCH_CUDA_SANITIZER=1.  Each mode is a process of its own that stays; they are asked
for short rounds in turn, in another order each time, on one core, krtsan's front ends
on others.  A ratio is one round's, to the mean of `native` and `native again` in it,
two processes of the same program: what these differ by is the noise, so their rows stand
beside.  Printed are the median, least and greatest ratio, and the median of what was added.
The tools are asked by themselves afterwards, beside natives of their own: they take long
and keep the machine busy.  The ways to find the CPU's own accesses (host=) have programs
that give them work: pinned buffers that are filled and uploaded over and over.
--write puts the tables into RESULTS.md of testcases/gpu or of testcases.  What the
processes say on stderr goes to the folder $OUT, where that is set.
"""
import argparse
import glob
import json
import os
import queue
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BEGIN, END = "<!-- cost: written by %s -->", "<!-- end of cost -->"
SLOW = 1.5  # seconds: a round that takes so long gets smaller
LEAST = 15  # rounds, where the time allows
NATIVE = ("native", "again")


class Mode:
    def __init__(self, name, text, prefix=(), env=None, scale=1.0):
        self.name, self.text, self.prefix, self.env, self.scale = name, text, prefix, env or {}, scale


def natives():
    return [Mode("native", "native"), Mode("again", "native again")]


def online(build, work, name, *options):
    """krtsan run, whose report is read when all is over."""
    return [os.path.join(build, "krtsan"), "run", *options, "--fail-on=never", "--log-path=/dev/null",
            "--report=json:%s/%s.json" % (work, name), "--"]


def modes(build, work):
    return natives() + [
        Mode("hooks", "hooks only", env={"LD_PRELOAD": os.path.join(build, "libkrtsan-nop.so")}),
        Mode("record", "record", [os.path.join(build, "krtsan"), "record", "--stacks=none", "-o", work + "/run.krt",
                                  "--"]),
        *(Mode(stacks, text, online(build, work, stacks, "--stacks=" + stacks)) for stacks, text in (
            ("none", "online"), ("leaf", "online, leaf"), ("full", "online, full stacks"))),
    ]


def host_modes(build, work):
    return natives() + [Mode("host=" + how, "host=" + how, online(build, work, "host=" + how, "--host=" + how))
                        for how in ("api", "checksum", "guard")]


def tools(torch):
    """What people would use instead; compute-sanitizer's racecheck has not begun with PyTorch in two minutes."""
    sanitizer = shutil.which("compute-sanitizer") or next(iter(glob.glob("/usr/local/cuda*/bin/compute-sanitizer")), None)
    found = []
    if sanitizer:
        found.append(Mode("memcheck", "compute-sanitizer", [sanitizer], scale=0.1))
        if not torch:
            found.append(Mode("racecheck", "its racecheck", [sanitizer, "--tool=racecheck"], scale=0.1))
    if torch:
        found.append(Mode("csan", "TORCH_CUDA_SANITIZER", env={"TORCH_CUDA_SANITIZER": "1"}, scale=0.1))
    return natives() + found if found else []


class Server:
    """One process that answers rounds."""

    def __init__(self, mode, command, env, cpus, log):
        self.mode, self.scale, self.ready, self.words = mode, mode.scale, False, []
        self.log = open(log, "w")
        self.p = subprocess.Popen([*mode.prefix, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=self.log, text=True, env={**env, **mode.env},
                                  preexec_fn=lambda: os.sched_setaffinity(0, cpus))
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.p.stdout:
            if line.startswith("@ "):
                self.lines.put(line.split()[1:])
        self.lines.put(None)

    def wait_ready(self, seconds):
        try:
            self.words = self.lines.get(timeout=max(0.0, seconds))
            self.ready = self.words is not None
        except queue.Empty:
            pass
        return self.ready

    def round(self, number):
        """Figures by row; {} when it ended."""
        figures, begin = {}, time.monotonic()
        try:
            self.p.stdin.write("%g %d\n" % (self.scale, number))
            self.p.stdin.flush()
            while True:
                words = self.lines.get(timeout=60)
                if not words:
                    self.ready = False
                    return {}
                if words[0] == "end":
                    break
                figures[words[0]] = float(words[1])
        except (OSError, queue.Empty):
            self.ready = False
            return {}
        if time.monotonic() - begin > SLOW:
            self.scale = max(0.02, self.scale / 4)
        return figures

    def end(self):
        try:
            self.p.stdin.close()
            self.p.wait(30 if self.ready else 1)
        except (OSError, subprocess.TimeoutExpired):
            self.p.kill()
            self.p.wait()
        self.log.close()


def cpus():
    """The core to measure on, and those for everything else."""
    all_ = sorted(os.sched_getaffinity(0))
    core = all_[1 if len(all_) > 2 else 0]
    beside = {core}
    try:
        with open("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list" % core) as f:
            for part in f.read().strip().split(","):
                lo, _, hi = part.partition("-")
                beside |= set(range(int(lo), int(hi or lo) + 1))
    except (OSError, ValueError):
        pass
    return core, set(all_) - beside or set(all_)


def reports(which, work, note):
    for m in which:
        if "run" not in m.prefix:
            continue
        try:
            with open("%s/%s.json" % (work, m.name)) as f:
                r = json.load(f)
            note.append("%s: verdict %s, %s" % (m.text, r["verdict"], "complete" if r["coverage"]["complete"]
                                                else "; ".join(map(str, r["coverage"]["reasons"]))))
        except (OSError, ValueError, KeyError):
            note.append("%s: no report" % m.text)


def measure(which, command, env, work, seconds, patience, note):
    """Rounds of all modes in turn: {row: {mode: {round: figure}}}, how many, and what the native one said."""
    core, others = cpus()
    servers = [Server(m, command(core), env, others, "%s/%s.log" % (work, m.name)) for m in which]
    begin = time.monotonic()
    for s in servers:
        if not s.wait_ready(begin + patience - time.monotonic()):
            note.append("%s: %s" % (s.mode.text, "ended early" if s.p.poll() is not None else
                                    "not ready after %.0f s" % (time.monotonic() - begin)))
            s.end()
    if not servers[0].ready:
        print("bench: native did not begin:\n" + open(servers[0].log.name).read(), file=sys.stderr)
    words = servers[0].words or ["?"]
    servers = [s for s in servers if s.ready]
    rows, begin, rounds = {}, time.monotonic(), 0
    # a slow machine gets twice the time for the least number
    while time.monotonic() - begin < seconds * (2 if rounds < LEAST else 1):
        order = [s for s in servers if s.ready]
        random.shuffle(order)
        for s in order:
            for row, value in s.round(rounds).items():
                rows.setdefault(row, {}).setdefault(s.mode.name, {})[rounds] = value
        rounds += 1
    for s in servers:
        if not s.ready:
            note.append("%s: ended early" % s.mode.text)
        s.end()
    for m in which:
        if "OUT" in os.environ:
            shutil.copy("%s/%s.log" % (work, m.name),
                        "%s/%s-%s.log" % (os.environ["OUT"], command(core)[-2], m.name))
    reports(which, work, note)
    shutil.rmtree(work + "/run.krt", ignore_errors=True)
    return rows, rounds, words


def base(rows, row):
    """What native took, by round: the mean of the two."""
    both = [rows[row].get(m, {}) for m in NATIVE]
    return {n: (both[0][n] + both[1][n]) / 2 for n in both[0] if n in both[1]}


def compare(rows, row, mode):
    """Ratios and differences to native, one a round in which all were asked."""
    native, values = base(rows, row), rows[row].get(mode, {})
    if mode == "again":  # against the other one
        native = rows[row].get("native", {})
    pairs = [(v, native[n]) for n, v in values.items() if n in native]
    return [v / b for v, b in pairs], [v - b for v, b in pairs]


def short(ratio):
    return "%.2f" % ratio if ratio < 10 else "%.0f" % ratio


def table(rows, which, unit, rounds):
    used = [m for m in which if any(m.name in by for by in rows.values())]
    out = ["| %s, %d rounds | %s |" % (unit, rounds, " | ".join(m.text for m in used)),
           "|---" * (len(used) + 1) + "|"]
    for row, by in rows.items():
        cells = []
        for m in used:
            if m.name == "native":
                v = list(by["native"].values())
                cells.append("%.0f (%.0f..%.0f)" % (statistics.median(v), min(v), max(v)))
                continue
            ratio, more = compare(rows, row, m.name)
            cells.append("%s (%s..%s) %+.0f" % (*map(short, (statistics.median(ratio), min(ratio), max(ratio))),
                                                statistics.median(more)) if ratio else "-")
        out.append("| %s | %s |" % (row, " | ".join(cells)))
    return out


def graph_launches(build, work, env, rounds):
    """What a recorded launch of a graph takes beside the driver: median ns by number of nodes."""
    session = os.path.join(work, "session")
    os.mkdir(session, 0o700)
    env = {**env, "KRTSAN_SESSION": session, "KRTSAN_OPTIONS": "",
           "LD_PRELOAD": os.path.join(build, "libkrtsan.so")}
    wall = subprocess.run([os.path.join(build, "bench/calls"), "graphs", str(rounds)], env=env, check=True,
                          stdout=subprocess.PIPE, text=True).stdout.split()
    took = subprocess.run([os.path.join(build, "inter/graphs_dump"), session, "took"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.split()
    if len(wall) != len(took):
        sys.exit("bench: %d launches, %d records" % (len(wall), len(took)))
    added = [float(w) - float(t) for w, t in zip(wall, took)]
    return {n: statistics.median(added[i::3]) for i, n in enumerate((10, 1000, 10000))}


def targets(calls, torch, graphs):
    out = ["| target | measured | met |", "|---|---|---|"]

    def line(text, value, limit, form):
        out.append("| %s | %s | %s |" % (text, form % value, "yes" if value <= limit else "no"))
    for mode, limit in (("none", 150), ("leaf", 400), ("full", 400)):
        if "launch" in calls and compare(calls, "launch", mode)[1]:
            line("empty launch, stacks=%s: at most +%d ns" % (mode, limit),
                 statistics.median(compare(calls, "launch", mode)[1]), limit, "%+.0f ns")
    for n, ns in graphs.items():
        line("launch of a graph of %d nodes: at most +1000 ns" % n, ns, 1000, "%+.0f ns")
    for row, mode, limit in (("step", "leaf", 1.03), ("step", "full", 1.08), ("eager_op", "leaf", 1.05),
                             ("eager_op", "full", 1.05)):
        if row in torch and compare(torch, row, mode)[0]:
            line("PyTorch %s, stacks=%s: at most %.2f" % (row, mode, limit),
                 statistics.median(compare(torch, row, mode)[0]), limit, "%.3f")
    return out


def machine(gpu):
    if gpu:
        out = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                             stdout=subprocess.PIPE, text=True).stdout.splitlines()
        what = "%s, driver %s" % tuple(out[0].split(", ")) if out else "no nvidia-smi"
    else:
        what = "simulated driver"
    cpu = "a processor of unknown name"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                cpu = line.split(":", 1)[1].strip()
                break
    return "%s; %d cores of %s" % (what, os.cpu_count(), cpu)


def write(path, tool, text):
    try:
        with open(path) as f:
            page = f.read()
    except FileNotFoundError:
        page = "# What was measured\n"
    begin = BEGIN % tool
    block = "\n".join([begin, *text, END]) + "\n"
    if begin in page and END in page[page.index(begin):]:
        head, rest = page.split(begin, 1)
        page = head + block + rest.split(END, 1)[1].lstrip("\n")
    else:  # the newest first
        at = page.find("\n## ")
        at = len(page) if at < 0 else at + 1
        page = page[:at] + ("" if page[:at].endswith("\n\n") else "\n") + block + ("\n" if page[at:] else "") + page[at:]
    with open(path, "w") as f:
        f.write(page)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--gpu", action="store_true")
    ap.add_argument("--build", default=os.path.join(TOP, "build"))
    ap.add_argument("--seconds", type=float, default=25, help="for the table of calls; the others take parts of it")
    ap.add_argument("--torch-seconds", type=float, default=40)
    ap.add_argument("--write", action="store_true")
    o = ap.parse_args()
    build, work = os.path.abspath(o.build), tempfile.mkdtemp(prefix="krtsan-bench.")
    tool = "testcases/gpu/bench" if o.gpu else "make bench"
    env = {k: v for k, v in os.environ.items() if k not in ("KRTSAN_OPTIONS", "KRTSAN_SESSION", "LD_PRELOAD")}
    if not o.gpu:
        env["LD_LIBRARY_PATH"] = os.path.join(build, "sim")
        env["KRTSAN_SIM_REAL_TIME"] = "1"  # the simulated driver's own clock is a virtual one
    note, tables, torch = [], [], {}

    def run(which, kind, unit, seconds, patience):
        if kind in ("step", "pinned"):
            command = [sys.executable, os.path.join(TOP, "testcases/bench/bench_torch.py"), kind]
        else:
            command = [os.path.join(build, "bench/calls"), kind]
        rows, rounds, words = measure(which, lambda core: [*command, str(core)], env, work, seconds, patience, note)
        if all(m in by for by in rows.values() for m in NATIVE):
            tables.extend([*table(rows, which, unit % words[-1] if "%" in unit else unit, rounds), ""])
            print("\n".join(tables[-len(rows) - 3:]), file=sys.stderr, flush=True)
        return rows

    try:
        graphs = graph_launches(build, work, env, 100 if o.gpu else 15)
        calls = run(modes(build, work), "serve", "ns per call", o.seconds, 40)
        run(host_modes(build, work), "prefetch", "us per filled and uploaded pinned buffer", o.seconds / 2, 40)
        if o.gpu and tools(False):
            run(tools(False), "serve", "ns per call", o.seconds / 3, 30)
        if o.gpu and not subprocess.run([sys.executable, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode:
            unit = "us, PyTorch %s"
            torch = run(modes(build, work), "step", unit, o.torch_seconds, 60)
            run(host_modes(build, work), "pinned", unit, o.torch_seconds / 2, 60)
            run(tools(True), "step", unit, o.torch_seconds / 3, 60)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    text = ["## %s, cost" % time.strftime("%Y-%m-%d"), "", "    %s%s" % (tool, " --write" if o.gpu else ""), "",
            machine(o.gpu) + ".", ""]
    if o.gpu:  # a simulated driver's calls take as long as they take
        text += [*targets(calls, torch, graphs), ""]
    text += ["Median (least..greatest) over rounds: native in full, else ratios to the mean of both natives of the"
             " same round (native again: to native), then what is added.", "", *tables,
             "Of the runs under krtsan: %s." % "; ".join(note)]
    print("\n".join(text))
    if o.write:
        write(os.path.join(TOP, "testcases/gpu" if o.gpu else "testcases", "RESULTS.md"), tool, text)


main()
