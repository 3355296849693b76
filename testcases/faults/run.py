#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults: the program under test is never harmed, and the verdict says what was lost.

run.py BUILD [--long] [PART...]: without a part all of them.  --long tries every
call that can fail, not one of each place, and more programs and seeds.

Of every faulty run
* the program's output and exit code are those that it has without krtsan;
* a report that calls itself complete holds what it holds without the fault, and
  one that does not holds no finding that is not there without it;
* nobody crashes, nobody hangs, and nothing stays in the session folder, in TMPDIR
  or in /dev/shm.
Prints `ok NAME` and `not ok NAME`, at the end `N passed, N failed`.
"""
import bisect
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile

words = [w for w in sys.argv[1:] if not w.startswith("--")]
build = os.path.abspath(words[0])
long = "--long" in sys.argv
work = tempfile.mkdtemp(prefix="faults-")
krtsan, lib, inject = f"{build}/krtsan", f"{build}/libkrtsan.so", f"{build}/faults/libinject.so"
LIMIT = 30  # seconds for a run that takes none: beyond it hangs
passed = failed = 0


def check(name, trouble):
    """trouble: a list of what is wrong, [] for nothing"""
    global passed, failed
    if trouble:
        failed += 1
        print(f"not ok {name}")
        for line in trouble[:12]:
            print(f"  {line}")
    else:
        passed += 1
        print(f"ok {name}")
    sys.stdout.flush()


def each(jobs, fn):
    """fn of each job, two at a time; the troubles of all"""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return [t for ts in pool.map(fn, jobs) for t in ts]


class Place:
    """A folder of its own for one run: sessions, TMPDIR, report."""

    def __init__(self):
        self.path = tempfile.mkdtemp(dir=work)
        self.sessions, self.tmp, self.report = (f"{self.path}/{n}" for n in ("sessions", "tmp", "r.json"))
        os.mkdir(self.sessions)
        os.mkdir(self.tmp)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("KRTSAN_", "LD_", "FAULT_"))}
        self.env.update(TMPDIR=self.tmp, KRTSAN_OPTIONS=f"session_dir='{self.sessions}'")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def run(self, argv, **env):
        """rc (negative: the signal), stdout, stderr; rc None: it hung"""
        p = subprocess.Popen(argv, env={**self.env, **env}, stdin=subprocess.DEVNULL, cwd=self.path,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = p.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, 9)
            out, err = p.communicate()
            return None, out, err.decode(errors="replace")
        return p.returncode, out, err.decode(errors="replace")

    def left(self):
        """What stayed behind."""
        return [f"left: {f}" for d in (self.sessions, self.tmp) for f in os.listdir(d)]

    def read(self):
        """The report: (complete, findings as a set, reasons), None where there is none."""
        try:
            with open(self.report) as f:
                r = json.load(f)
        except (OSError, ValueError):
            return None
        # not by fingerprint: without memory for it a call stack is missing; possible ones are merged by stacks;
        # of advice there is less where calls are missing
        found = {(x["rule"], x["level"], x["confidence"], x["current"]["operation"], x["previous"] and x["previous"]["operation"])
                 for x in r["findings"] if x["confidence"] != "possible" and x["level"] != "note"}
        return r["coverage"]["complete"], found, r["verdict"], json.dumps(r["coverage"]["reasons"])


class Program:
    """A program of the tests, how it ends without krtsan and what is found without a fault."""

    def __init__(self, *argv, options=()):
        self.argv = [f"{build}/{argv[0]}", *argv[1:]]
        self.name = " ".join([os.path.basename(argv[0]), *argv[1:], *options])
        self.options = list(options)
        with Place() as p:
            self.rc, self.out, _ = p.run(self.argv, LD_LIBRARY_PATH=f"{build}/sim")
        with Place() as p:
            rc, out, err = p.run(self.command(p))
            self.want = p.read()
            self.trouble = [] if self.want and self.want[0] else [f"not complete without a fault: {err[-300:]}"]
            self.trouble += self.harm(out, rc, self.want) + p.left()

    def command(self, place, *more):
        return [krtsan, "run", "--sim", f"--report=json:{place.report}", *self.options, *more, "--", *self.argv]

    def harm(self, out, rc, got):
        """What a run did to the program, and whether its exit code is the report's."""
        bad = []
        if out != self.out:
            bad.append(f"output {out[-200:]!r}, without krtsan {self.out[-200:]!r}")
        want = self.rc or (66 if got and any(f[1] == "error" for f in got[1]) else 0)
        if rc is None:
            bad.append("hung")
        elif rc != want:
            bad.append(f"exit code {rc}, expected {want}")
        return bad

    def judge(self, got):
        """What a report says wrongly."""
        if got is None:
            return ["no report"]
        if got[0]:
            return [] if got[1] == self.want[1] else [f"called complete, and findings are {got[1] ^ self.want[1]} off"]
        more = {f for f in got[1] - self.want[1] if f[1] == "error"}
        return [f"findings that are none: {more}"] if more else []


def calls(place, argv, log, env, every):
    """Numbers and names of the calls that can fail: all, or one of each place in the code."""
    place.run(argv, FAULT_LOG=log, **env)
    with open(log) as f:
        lines = [line.split() for line in f]
    os.unlink(log)
    return [(int(n), name) for n, name, _, new in lines if every or new == "1"]


# ---- every call of the library that can fail does so, once and from then on ----

def programs():
    yield Program("testcases/hazard/s01_side_stream_copy")
    yield Program("testcases/clean/warm_up_then_graph")
    yield Program("testcases/clean/lib_layers")
    yield Program("testcases/clean/variables_of_modules")
    yield Program("inter/nvtx", "heap")
    if long:
        for p in ("tables", "callback_in_order", "pool_split_merge", "many_contexts", "graph_memory_lives",
                  "kernels_pointer_table", "vmm_growing", "threads_recycle"):
            yield Program(f"testcases/clean/{p}")
        yield Program("testcases/clean/pipeline", options=["--timing=cupti"])
        for p in ("pool_split_reused", "graph_static_input", "event_destroyed_recreated", "s33_stack_source"):
            yield Program(f"testcases/hazard/{p}")


def library_calls():
    for p in programs():
        env = {"LD_PRELOAD": inject, "FAULT_IN": "libkrtsan.so", "FAULT_WHAT": "any"}
        with Place() as place:
            found = calls(place, p.command(place), f"{place.path}/log", env, long)
        check(f"library, {p.name}: without a fault", p.trouble + ([] if found else ["no call counted"]))

        def one(job):
            (n, name), how, errno = job
            with Place() as place:
                rc, out, err = place.run(p.command(place, "--verify=0"), FAULT_AT=str(n), FAULT_FOR=how,
                                         **({"FAULT_ERRNO": str(errno)} if errno else {}), **env)
                got = place.read()
                bad = p.harm(out, rc, got) + p.judge(got) + place.left()
                if "damaged" in err:
                    bad.append(err.splitlines()[-1])
                return [f"call {n}, {name} ({how} {errno}): {b}" for b in bad]

        jobs = [(c, "fail", 0) for c in found] + [(c, "stick", 0) for c in found[:: 1 if long else 3]]
        if long:
            jobs += [(c, "fail", e) for c in found for e in (4, 5, 11, 23, 24, 28, 30, 122)]
        check(f"library, {p.name}: {len(jobs)} calls that fail", each(jobs, one))


def elfutils(log):
    """Did the call that failed, by its log, come from a library that is linked in?"""
    global symbols
    if not symbols:
        text = subprocess.run(["nm", "-n", "--defined-only", krtsan], stdout=subprocess.PIPE, text=True).stdout
        rows = [line.split() for line in text.splitlines()]
        symbols = [int(r[0], 16) for r in rows if r[1] in "tT"], [r[2] for r in rows if r[1] in "tT"]
    with open(log) as f:
        frames = [int(x, 16) for line in f if line.startswith("hit ") for x in line.split()[2:]]
    names = [symbols[1][bisect.bisect(symbols[0], x) - 1] for x in frames if x < symbols[0][-1]]
    return any(n.startswith(("dwarf_", "dwfl_", "elf_", "gelf_", "ebl_", "__lib")) for n in names[:6])


symbols = None

# ---- every allocation of the analyzer and of the front end fails once ----

def analyzer():
    env = {"LD_PRELOAD": inject, "FAULT_IN": "krtsan", "FAULT_ALL": "1", "FAULT_WHAT": "any"}
    for p in [Program("testcases/hazard/s01_side_stream_copy")] + ([Program("testcases/tree", "init", "race", "exec{",
              "init", "race", "}", "wait"), Program("testcases/clean/lib_layers")] if long else []):
        trace = f"{work}/{p.name.split()[0]}.krt"
        with Place() as place:
            place.run([krtsan, "record", "--sim", "-o", trace, "--", *p.argv])

        def analyze(place, **more):
            argv = [krtsan, "analyze", f"--report=json:{place.report}", trace]
            rc, _, err = place.run(argv, FAULT_LIVE=f"{place.path}/live", **env, **more)
            live = int(open(f"{place.path}/live").read().split()[0]) if os.path.exists(f"{place.path}/live") else None
            return rc, err, place.read(), live

        with Place() as place:
            found = calls(place, [krtsan, "analyze", trace], f"{place.path}/log", env, long)
        with Place() as place:
            rc, err, got, live = analyze(place, FAULT_LOG=f"{place.path}/log", FAULT_AT="1000000000")
        check(f"analyzer, {p.name}: without a fault", p.judge(got) + ([] if found else ["no call counted"]))

        def one(job):
            n, name = job
            with Place() as place:
                rc, err, got, now = analyze(place, FAULT_AT=str(n), FAULT_LOG=f"{place.path}/log")
                bad = place.left()
                if rc is None or rc < 0 or rc > 125:
                    bad.append(f"ended with {rc}: {err[-300:]}")
                elif rc != 125:
                    bad += p.judge(got)
                    if got and rc != (66 if any(f[1] == "error" for f in got[1]) else 0):
                        bad.append(f"exit code {rc}")
                if rc == 125 and "no report" in err and now is None:
                    pass  # the guard's end
                elif (now is None or now > live) and not elfutils(f"{place.path}/log"):
                    bad.append(f"{now} blocks are not freed, {live} without a fault")
                return [f"call {n}, {name}: {b}" for b in bad]

        jobs = found if long else found[::4]
        check(f"analyzer, {p.name}: {len(jobs)} calls that fail", each(jobs, one))

        def front(job):
            n, name = job
            with Place() as place:
                rc, out, err = place.run(p.command(place), FAULT_AT=str(n), **env)
                got = place.read()
                bad = place.left()
                if rc == 125 or "r.json: cannot be written" in err:
                    bad += ["output"] if out and out != p.out else []
                    bad += [f"exit code {rc}"] if rc not in (66, 125) else []
                else:
                    bad += p.harm(out, rc, got) + p.judge(got)
                return [f"call {n}, {name}: {b}: {err[-300:]}" for b in bad]

        with Place() as place:
            found = calls(place, p.command(place), f"{place.path}/log", env, long)
        jobs = found if long else found[1::8]
        check(f"front end, {p.name}: {len(jobs)} calls that fail", each(jobs, front))


# ---- programs that do what they like ----

COMPLETE = """plain many threads small_stacks forks exec_thread exit_hostfn exit_atexit exit_twice
    _exit quick_exit main_ends unloads profiled alarms mends closes""".split()
LOST = "crowd abort trap few_files no_memory no_room jailed filtered".split()


def alive(sid):
    """Processes of this session, zombies left out."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                rest = f.read().rsplit(")", 1)[1].split()
            if int(rest[3]) == sid and rest[0] not in "ZX":
                found.append(pid)
        except OSError:
            pass
    return found


class Life(Program):
    """A mode of life.c, with a race before it, so that a report that is complete names it."""

    def __init__(self, mode, sim="sim", race=True):
        self.argv = [f"{build}/faults/life", mode]
        self.name, self.options = mode, []
        self.more = {"RACE": "1"} if race else {}
        self.lib = {"LD_LIBRARY_PATH": f"{build}/{sim}"}
        with Place() as p:
            self.rc, self.out, _ = p.run(self.argv, **self.lib, **self.more)
            self.rc = 128 - self.rc if self.rc < 0 else self.rc
        self.want = (True, {("KRT-RACE-WAW", "error", "certain", "cuMemsetD8Async", "cuMemsetD8Async")}, "findings", "")


def lives():
    def one(mode):
        p = Life(mode)
        with Place() as place:
            rc, out, err = place.run(p.command(place, "--verify=0"), **p.more)
            got = place.read()
            bad = p.harm(out, rc, got) + p.judge(got) + place.left()
            if got and got[1] != p.want[1]:
                bad.append(f"found {got[1]}")
            if got and got[0] != (mode in COMPLETE):
                bad.append(f"complete is {got[0]}: {got[3]}")
            bad = [f"run: {b}: {err[-400:]}" for b in bad]
        with Place() as place:
            rc, out, err = place.run(p.argv, LD_PRELOAD=lib, **p.lib, **p.more)
            stays = place.left()
            b = [] if out == p.out else [f"output {out!r}"]
            if rc is None or (128 - rc if rc < 0 else rc) not in (p.rc, p.rc or 66):
                b.append(f"exit code {rc}, expected {p.rc} or the verdict's")
            if stays and not (rc and rc < 0) and "the records stay" not in err:
                b += stays
            elif stays:
                rc, _, err = place.run([krtsan, "analyze", f"{place.sessions}/{stays[0].split()[1]}"])
                if rc != 66:
                    b.append(f"analysed with {rc}")
            bad += [f"bare: {x}: {err[-400:]}" for x in b]
        return [f"{mode}: {b}" for b in bad]

    check(f"lives: {len(COMPLETE)} that are seen whole", each(COMPLETE, one))
    check(f"lives: {len(LOST)} that are not", each(LOST, one))
    p = Life("daemon")
    with Place() as place:
        rc, out, err = place.run(p.command(place, "--verify=0"), **p.more)
        check("lives: a daemon", ([] if out == p.out and rc in (0, 66) else [f"{rc} {out!r} {err[-300:]}"]) +
              p.judge(place.read()) + place.left())
    p = Life("jumps", "abi/fake", race=False)
    with Place() as place:
        rc, out, err = place.run([krtsan, "run", f"--report=json:{place.report}", "--", *p.argv], **p.lib)
        got = place.read()
        check("lives: jumps out of handlers", [] if (rc, out) == (p.rc, p.out) and got and not place.left()
              else [f"{rc} {out!r} {got} {err[-300:]}"])


# ---- killed at any moment ----

def kills():
    p = Life("many")
    more = {"MANY": "3000", **p.more}
    env = {"LD_PRELOAD": inject, "FAULT_IN": "libkrtsan.so", "FAULT_WHAT": "any", "FAULT_FOR": "kill", **more}
    with Place() as place:
        found = calls(place, p.command(place), f"{place.path}/log", env, True)

    def program(job):
        n, name = job
        bad = []
        with Place() as place:
            rc, out, err = place.run(p.command(place, "--verify=0"), FAULT_AT=str(n), **env)
            got = place.read()
            bad += [f"run: {b}" for b in p.judge(got) + place.left()]
            bad += [] if rc == 137 and got and not got[0] else [f"run: ended with {rc}: {err[-300:]}"]
        with Place() as place:
            trace = f"{place.path}/t.krt"
            rc, out, err = place.run([krtsan, "record", "--sim", "-o", trace, "--", *p.argv], FAULT_AT=str(n), **env)
            bad += [] if rc == 137 else [f"record: ended with {rc}: {err[-300:]}"]
            rc, out, err = place.run([krtsan, "analyze", f"--report=json:{place.report}", trace])
            got = place.read()
            bad += [f"analyze: {b}" for b in (p.judge(got) if got else []) + place.left()]
            # killed before its first record it leaves a header that nobody can read
            bad += [] if rc in (0, 66, 125) and not (got and got[0]) else [f"analyze: {rc} {got}: {err[-300:]}"]
        return [f"call {n}, {name}: {b}" for b in bad]

    jobs = found if long else found[::5]
    check(f"kills: the program, at {len(jobs)} calls of the library", each(jobs, program))

    env = {"LD_PRELOAD": inject, "FAULT_IN": "krtsan", "FAULT_ALL": "1", "FAULT_WHAT": "any", "FAULT_FOR": "kill", **more}
    with Place() as place:
        found = [j for j in calls(place, p.command(place), f"{place.path}/log", env, True)]

    def front(job):
        n, name = job
        bad = []
        with Place() as place:
            # one set of its counters goes on in the child, up to exec
            rc, out, err = place.run(p.command(place), FAULT_AT=str(n), **env)
            if out not in (b"", p.out):
                bad.append(f"output {out!r}")
            if rc == -9 and place.left():
                place.run([krtsan, "run", "--", "true"])
                for f in place.left():
                    inside = os.listdir(f"{place.sessions}/{f.split()[1]}")
                    bad += [f"{f}: {inside}"] if any(x.endswith(".proc") for x in inside) else []
        return [f"call {n}, {name}: {b}: {err[-200:]}" for b in bad]

    jobs = found[:: max(1, len(found) // (400 if long else 24))]
    check(f"kills: the front end, at {len(jobs)} moments", each(jobs, front))
    # with a program that is there after it
    for mode in ("run", "record"):
        with Place() as place:
            argv = [krtsan, mode, "--sim", *(["-o", "t.krt"] if mode == "record" else []), "--", "sh", "-c",
                    f"kill -9 $PPID; exec {p.argv[0]} {p.argv[1]}"]
            rc, out, err = place.run(argv, **more)
            bad = [] if rc == -9 and out == p.out else [f"{rc} {out!r} {err[-300:]}"]
            if mode == "record":
                # it had recorded nothing yet
                rc, _, err = place.run([krtsan, "analyze", "t.krt"])
                bad += [] if rc == 125 and "no process in it" in err else [f"analyze: {rc} {err[-300:]}"]
            else:
                place.run([krtsan, "run", "--", "true"])
                bad += place.left()
            check(f"kills: the front end of {mode}, and the program goes on", bad)
    with Place() as place:  # the analysis of a bare run
        shutil.copy(lib, place.path)
        with open(f"{place.path}/krtsan", "w") as f:
            f.write("#!/bin/sh\nkill -9 $$\n")
        os.chmod(f"{place.path}/krtsan", 0o755)
        rc, out, err = place.run(p.argv, LD_PRELOAD=f"{place.path}/libkrtsan.so", **p.lib, **more)
        bad = [] if rc == 0 and out == p.out and "the records stay" in err else [f"{rc} {out!r} {err[-300:]}"]
        rc, _, err = place.run([krtsan, "analyze", f"{place.sessions}/{os.listdir(place.sessions)[0]}"])
        check("kills: the analysis of a bare run", bad + ([] if rc == 66 else [f"analyze: {rc} {err[-300:]}"]))


# ---- no room ----

def disks():
    p = Life("many")
    env = {"LD_PRELOAD": inject, "FAULT_IN": "libkrtsan.so", "FAULT_WHAT": "files", **p.more}
    with Place() as place:
        found = [n for n, name in calls(place, p.command(place), f"{place.path}/log", env, True) if name == "openat"]

    def one(job):
        n, how, errno = job
        with Place() as place:
            rc, out, err = place.run(p.command(place, "--verify=0"), FAULT_AT=str(n), FAULT_FOR=how, FAULT_ERRNO=str(errno),
                                     FAULT_LIVE=f"{place.path}/live", FAULT_PATH=place.sessions, **env)
            got = place.read()
            bad = p.harm(out, rc, got) + p.judge(got) + place.left()
            with open(f"{place.path}/live") as f:
                tries = int(f.read().split()[1])
            if tries > 4000:
                bad.append(f"{tries} tries for 20,000 calls")
            return [f"call {n} {how} {errno}: {b}: {err[-300:]}" for b in bad]

    # ENOSPC, EDQUOT, EIO, EROFS, EACCES, ENOENT, EMFILE
    jobs = [(n, "stick", e) for n in found[::1 if long else 2] for e in (28, 122, 5, 30, 13, 2, 24)]
    check(f"disk: {len(jobs)} ways to have no room from then on", each(jobs, one))

    def gone(n):
        with Place() as place:
            argv = ["sh", "-c", f'FAULT_PATH=$KRTSAN_SESSION exec {p.argv[0]} {p.argv[1]}']
            rc, out, err = place.run(p.command(place)[:-2] + argv, FAULT_AT=str(n), FAULT_FOR="remove", **env)
            bad = [] if out == p.out and rc in (0, 66, 125) and not (place.read() or [False])[0] else [f"{rc} {out!r}"]
            return [f"call {n}: {b}: {err[-300:]}" for b in bad + place.left()]

    check(f"disk: the folder goes at {len(found)} calls", each(found[1:], gone))


# ---- clocks that jump ----

def clocks():
    for p in [Life("many"), Life("threads")]:
        for jump in ("back", "ahead", "stuck", "negative"):
            with Place() as place:
                rc, out, err = place.run(p.command(place), LD_PRELOAD=inject, FAULT_CLOCK=jump, KRTSAN_SIM_REAL_TIME="1", **p.more)
                got = place.read()
                bad = p.harm(out, rc, got) + p.judge(got) + place.left()
                if jump != "negative" and got and not got[0] and "still ran" not in got[3]:
                    bad.append(f"not complete: {got[3]}")
                check(f"clock, {p.name}: {jump}", [f"{b}: {err[-300:]}" for b in bad])


def namespaces():
    p = Life("many")
    for shift in ("100000", "-5000"):
        inside = ["unshare", "-T", "--monotonic", shift]
        if subprocess.run([*inside, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
            print("# clock, a time namespace: skipped, no right to make one")
            return
        with Place() as place:
            rc, out, err = place.run(p.command(place)[:-2] + inside + p.argv, **p.more)
            got = place.read()
            bad = p.harm(out, rc, got) + p.judge(got) + place.left() + ([] if got and got[0] else ["not complete"])
            check(f"clock, a time namespace: {shift} s", [f"{b}: {err[-300:]}" for b in bad])


# ---- who may preload ----

def privileges():
    p = Life("plain")
    if os.getuid():
        print("# privileges: skipped, not root")
        return
    with Place() as place:
        os.chmod(work, 0o755)
        os.chmod(place.path, 0o777)
        for folder in (place.sessions, place.tmp):
            os.chmod(folder, 0o777)
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        reach = subprocess.run([*user, "test", "-x", p.argv[0]], check=False).returncode == 0
        setuid = f"{place.path}/setuid"
        shutil.copy(p.argv[0], setuid)
        os.chown(setuid, 65534, 65534)
        os.chmod(setuid, 0o4755)
        ways = [("set-user-ID", [], [setuid, "plain"], "ignores LD_PRELOAD", False)]
        if reach:
            able = f"{place.path}/able"
            shutil.copy(p.argv[0], able)
            if subprocess.run(["setcap", "cap_net_raw+ep", able], check=False, stderr=subprocess.DEVNULL).returncode == 0:
                ways.append(("file capabilities", user, [able, "plain"], "ignores LD_PRELOAD", False))
            ways.append(("another user", user, p.argv, "", True))
        else:
            print("# privileges: as another user: skipped, the build is not reachable for it")
        ways.append(("no new privileges", ["setpriv", "--no-new-privs"], p.argv, "", True))
        ways.append(("no capabilities", ["capsh", "--drop=all", "--", "-c", 'exec "$0" "$@"'], p.argv, "", True))
        for name, before, argv, words, whole in ways:
            report = f"{place.tmp}/r.json"
            rc, out, err = place.run([*before, krtsan, "run", "--sim", f"--report=json:{report}", "--", *argv], **p.more,
                                     **({} if whole else p.lib))
            got = None
            try:
                with open(report) as f:
                    got = json.load(f)
            except OSError:
                pass
            bad = [] if got and got["coverage"]["complete"] == whole and words in err else [f"report {bool(got)}"]
            # a secure program ignores LD_LIBRARY_PATH as well: it finds no driver
            bad += [] if not whole or (rc == 66 and out == p.out) else [f"{rc} {out!r}"]
            bad += [f"left: {f}" for f in os.listdir(place.sessions)]
            if got:
                os.unlink(report)
            check(f"privileges: {name}", [f"{b}: {err[-300:]}" for b in bad])


# ---- a hundred hours of the simulated driver's clock ----

def hours():
    few, many = ("20000", "400000") if long else ("4000", "24000")
    grown = {}
    for n in (few, many):
        with Place() as place:
            step = 100 * 3600 * 10**9 // (6 * int(n))  # six calls a round
            argv = [krtsan, "run", "--sim", f"--sim-submit-ns={step}", f"--report=json:{place.report}", "--verify=0", "--",
                    f"{build}/faults/life", "serve"]
            env = {**place.env, "MANY": n, "RACE": "1"}
            child = subprocess.Popen(argv, env=env, cwd=place.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            out, err = child.stdout.read(), child.stderr.read().decode()
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = status
            got = place.read()
            own = [int(line.split()[1]) for line in err.splitlines() if line.startswith("resident ")]
            bad = [] if os.waitstatus_to_exitcode(status) == 66 and out == b"served\n" else [f"{status} {out!r} {err[-300:]}"]
            if not got or not got[0] or {f[0] for f in got[1]} != {"KRT-RACE-WAW"}:
                bad.append(f"{got}")
            if not any(line.startswith("hours ") and int(line.split()[1]) >= 100 for line in err.splitlines()):
                bad.append(f"no hundred hours: {err[-300:]}")
            if len(own) != 2 or own[1] - own[0] > 4096:
                bad.append(f"the program grows: {own} KiB")
            grown[n] = used.ru_maxrss
            check(f"hours: a hundred, {n} rounds", bad + place.left())
    check("hours: the front end does not grow", [] if grown[many] - grown[few] < 16384 else [f"{grown} KiB"])


def planted():
    """Harm is seen: here a fault of the driver's own, which changes what the program puts out."""
    p = Program("testcases/clean/warm_up_then_graph")
    with Place() as place:
        rc, out, _ = place.run(p.command(place), LD_PRELOAD=inject, FAULT_IN="libcuda.so.1", FAULT_AT="1")
        check("planted: harm is seen", [] if p.harm(out, rc, place.read()) else ["not seen"])


PARTS = {"planted": planted, "library": library_calls, "analyzer": analyzer, "lives": lives, "kills": kills, "disks": disks,
         "clocks": clocks, "namespaces": namespaces, "privileges": privileges, "hours": hours}

try:
    for name, part in PARTS.items():
        if not words[1:] or name in words[1:]:
            part()
finally:
    shutil.rmtree(work, ignore_errors=True)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
