#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
What krtsan costs, as ratios to native within one run.

  suite.py [--gpu] [--build=DIR] [--seconds=N] [--torch-seconds=N] [--write]

On the simulated driver (make bench), or on a card (testcases/gpu/bench) with the rows
of PyTorch and with the tools that people would use instead: compute-sanitizer and
TORCH_CUDA_SANITIZER=1.  Each mode is a process of its own that stays; they are asked
for short rounds in turn, in another order each time, on one core, krtsan's front ends
on others.  A ratio is one round's; printed are their median, least and greatest, and
the median of what was added.  `again` is native against native: the noise.
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
SLOW = 3.0  # a round that takes so long gets smaller


class Mode:
    def __init__(self, name, text, prefix=(), env=None, gpu=False, torch=False):
        self.name, self.text, self.prefix, self.env, self.gpu, self.torch = name, text, prefix, env or {}, gpu, torch


def modes(build, work):
    krtsan = os.path.join(build, "krtsan")

    def online(stacks):
        return [krtsan, "run", "--stacks=" + stacks, "--fail-on=never", "--log-path=/dev/null",
                "--report=json:%s/%s.json" % (work, stacks), "--"]
    return [
        Mode("native", "native"),
        Mode("again", "native again"),
        Mode("hooks", "hooks only", env={"LD_PRELOAD": os.path.join(build, "libkrtsan-nop.so")}),
        Mode("record", "record", [krtsan, "record", "--stacks=none", "-o", work + "/run.krt", "--"]),
        Mode("none", "online", online("none")),
        Mode("leaf", "online, leaf", online("leaf")),
        Mode("full", "online, full stacks", online("full")),
        Mode("memcheck", "compute-sanitizer", ["compute-sanitizer"], gpu=True),
        Mode("racecheck", "its racecheck", ["compute-sanitizer", "--tool=racecheck"], gpu=True),
        Mode("csan", "TORCH_CUDA_SANITIZER", env={"TORCH_CUDA_SANITIZER": "1"}, gpu=True, torch=True),
    ]


class Server:
    """One process that answers rounds."""

    def __init__(self, mode, command, env, cpus, log):
        self.mode, self.scale, self.ready, self.spent, self.words = mode, 1.0, False, 0.0, []
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
        took = time.monotonic() - begin
        self.spent += took
        if took > SLOW:
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


def measure(which, command, env, work, seconds, patience, note):
    """Rounds of all modes in turn: {row: {mode: [figure, ...]}}, and what the native one said."""
    core, others = cpus()
    servers = [Server(m, command(core), env, others, "%s/%s.log" % (work, m.name)) for m in which]
    begin = time.monotonic()
    for s in servers:
        if not s.wait_ready(begin + patience - time.monotonic()) and s.mode.name == "native":
            sys.exit("bench: native did not begin:\n" + open(s.log.name).read())
    words = servers[0].words
    rows, end, rounds = {}, time.monotonic() + seconds, 0
    while time.monotonic() < end or rounds < 3:
        order = [s for s in servers if s.ready or s.wait_ready(0)]
        # what takes its time may use up a third of it
        order = [s for s in order if rounds < 2 or s.spent < seconds / 3 or s.scale == 1.0]
        random.shuffle(order)
        for s in order:
            for row, value in s.round(rounds).items():
                rows.setdefault(row, {}).setdefault(s.mode.name, [[], []])[0].append(value)
                rows[row][s.mode.name][1].append(rounds)
        rounds += 1
    for s in servers:
        if not s.ready:
            note.append("%s: %s" % (s.mode.text, "ended early" if s.p.poll() is not None else
                                    "not ready after %.0f s" % (time.monotonic() - begin)))
    for s in servers:
        s.end()
        if "OUT" in os.environ:
            shutil.copy(s.log.name, "%s/%s-%s.log" % (os.environ["OUT"], os.path.basename(command(core)[0]), s.mode.name))
    for stacks in ("none", "leaf", "full"):
        try:
            with open("%s/%s.json" % (work, stacks)) as f:
                r = json.load(f)
            note.append("stacks=%s: verdict %s, %s" % (stacks, r["verdict"], "complete" if r["coverage"]["complete"]
                                                        else "; ".join(map(str, r["coverage"]["reasons"]))))
        except (OSError, ValueError, KeyError):
            note.append("stacks=%s: no report" % stacks)
    shutil.rmtree(work + "/run.krt", ignore_errors=True)
    return rows, rounds, words


def compare(rows, row, mode):
    """Ratios and differences to native, one a round in which both were asked."""
    base = dict(zip(rows[row]["native"][1], rows[row]["native"][0]))
    pairs = [(v, base[n]) for v, n in zip(*rows[row].get(mode, ([], []))) if n in base]
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
                v = by["native"][0]
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
    # the simulated driver's own clock is a virtual one
    env = {**env, "KRTSAN_SIM_REAL_TIME": "1", "KRTSAN_SESSION": session, "KRTSAN_OPTIONS": "",
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
        line("empty launch, stacks=%s: at most +%d ns" % (mode, limit),
             statistics.median(compare(calls, "launch", mode)[1]), limit, "%+.0f ns")
    for n, ns in graphs.items():
        line("launch of a graph of %d nodes: at most +1000 ns" % n, ns, 1000, "%+.0f ns")
    for row, mode, limit in (("step", "leaf", 1.03), ("step", "full", 1.08), ("eager_op", "leaf", 1.05),
                             ("eager_op", "full", 1.05)):
        if row in torch and torch[row].get(mode):
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
    ap.add_argument("--seconds", type=float, default=30)
    ap.add_argument("--torch-seconds", type=float, default=75)
    ap.add_argument("--write", action="store_true")
    o = ap.parse_args()
    build, work = os.path.abspath(o.build), tempfile.mkdtemp(prefix="krtsan-bench.")
    tool = "testcases/gpu/bench" if o.gpu else "make bench"
    env = {k: v for k, v in os.environ.items() if k not in ("KRTSAN_OPTIONS", "KRTSAN_SESSION", "LD_PRELOAD")}
    if not o.gpu:
        env["LD_LIBRARY_PATH"] = os.path.join(build, "sim")
    sanitizer = shutil.which("compute-sanitizer") or next(iter(glob.glob("/usr/local/cuda*/bin/compute-sanitizer")), None)
    which = [m for m in modes(build, work) if o.gpu or not m.gpu]
    for m in which:
        if "compute-sanitizer" in m.prefix and sanitizer:
            m.prefix = [sanitizer, *m.prefix[1:]]
    which = [m for m in which if "compute-sanitizer" not in m.prefix]
    note, torch, torch_words = [], {}, None
    text = ["## %s, cost" % time.strftime("%Y-%m-%d"), "", "    %s%s" % (tool, " --write" if o.gpu else ""), "",
            machine(o.gpu) + ".", ""]
    try:
        graphs = graph_launches(build, work, env, 100 if o.gpu else 15)
        calls, rounds, _ = measure([m for m in which if not m.torch],
                                   lambda core: [os.path.join(build, "bench/calls"), "serve", str(core)],
                                   env, work, o.seconds, 40, note)
        tables = ["Median (least..greatest) over rounds: native in ns, else ratios to native of the same round,"
                  " then what is added.", "", *table(calls, which, "ns per call", rounds), ""]
        if o.gpu and not subprocess.run([sys.executable, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode:
            torch, rounds, torch_words = measure(
                which, lambda core: [sys.executable, os.path.join(TOP, "testcases/bench/bench_torch.py"), str(core)],
                env, work, o.torch_seconds, 75, note)
            tables += [*table(torch, which, "us, PyTorch %s" % torch_words[-1], rounds), ""]
    finally:
        shutil.rmtree(work, ignore_errors=True)
    text += [*targets(calls, torch, graphs), "", *tables, "Of the runs under krtsan: %s." % "; ".join(note)]
    print("\n".join(text))
    if o.write:
        write(os.path.join(TOP, "testcases/gpu" if o.gpu else "testcases", "RESULTS.md"), tool, text)


main()
