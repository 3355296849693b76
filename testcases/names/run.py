#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of frames, and fingerprints, over ways to build, strip, move and run one program.

run.py BUILD: builds the program of this folder in a scratch folder, runs it on the
simulated driver and looks at the JSON report and the text.
"""
import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios

here = os.path.dirname(os.path.abspath(__file__))
top = os.path.dirname(os.path.dirname(here))
build = os.path.abspath(sys.argv[1])
work = os.path.realpath(tempfile.mkdtemp(prefix="krtsan-names-"))
passed = failed = 0
env = {k: v for k, v in os.environ.items() if not k.startswith("KRTSAN_") and k != "LD_PRELOAD"}
env["KRTSAN_OPTIONS"] = "session_dir=" + work


def sh(*command, cwd=None):
    subprocess.run(command, check=True, cwd=cwd, stdout=subprocess.DEVNULL)


def compile_all(where, source=here, flags=("-g", "-O0"), link=()):
    """app, libfetch.so and plugin.so of one folder of sources."""
    os.makedirs(where)
    common = [*flags, "-fPIC", "-Wl,--build-id", "-I" + os.path.join(top, "interposer"), "-I" + source]
    cuda = ["-L" + os.path.join(build, "sim"), "-l:libcuda.so.1"]
    plain = [f for f in common if f not in ("-g", "-flto")]
    sh("gcc", *plain, "-c", "-o", where + "/cudart.o", source + "/cudart.c")
    sh("g++", *common, "-shared", "-o", where + "/libfetch.so", source + "/fetch.cc", where + "/cudart.o", *cuda)
    sh("gcc", *common, "-shared", "-o", where + "/plugin.so", source + "/plugin.c", *cuda)
    sh("gcc", *[f for f in common if f != "-fPIC" or not link], *link, "-o", where + "/app", source + "/app.c",
       "-L" + where, "-lfetch", "-Wl,-rpath,$ORIGIN", "-ldl", *cuda)
    os.remove(where + "/cudart.o")
    return where


class Run:
    def __init__(self, where, *options, before=(), trace=False, then=None):
        report = os.path.join(work, "report.json")
        if os.path.exists(report):
            os.remove(report)
        last = [f"--report=json:{report}", *options]
        app = [*before, where + "/app", where + "/plugin.so"]
        krtsan = os.path.join(build, "krtsan")
        if trace:
            kept = os.path.join(work, "kept.krt")
            shutil.rmtree(kept, ignore_errors=True)
            if os.path.exists(kept):
                os.remove(kept)
            subprocess.run([krtsan, "record", "--sim", "-o", kept, "--", *app], env=env, cwd=work, capture_output=True)
            if then:
                then()
            command = [krtsan, "analyze", *last, kept]
        else:
            command = [krtsan, "run", "--sim", *last, "--", *app]
        p = subprocess.run(command, env=env, cwd=work, capture_output=True, text=True)
        self.code, self.text = p.returncode, p.stderr
        with open(report) as f:
            self.json = json.load(f)
        found = [f for f in self.json["findings"] if f["rule"] == "KRT-RACE-RAW"]
        if len(self.json["findings"]) != 1 or not found:
            raise AssertionError(f"findings: {[f['rule'] for f in self.json['findings']]}\n{self.text}")
        self.finding = found[0]
        self.id = self.finding["fingerprint"]

    def frames(self, side):
        return [f for f in self.finding[side]["stack"] if not f["internal"]]

    def functions(self, side):
        return [f["function"] for f in self.frames(side)]

    def lead(self, side="current"):
        """FILE:LINE FUNCTION of the first frame in the text."""
        m = re.search(r"==   (?:after )?%s at (.*)" % {"current": "read", "previous": "write"}[side], self.text)
        return m.group(1) if m else ""


def check(name):
    def run(body):
        global passed, failed
        try:
            body()
            passed += 1
            print("ok names:", name, flush=True)
        except Exception as e:  # whatever went wrong, the others run
            failed += 1
            print("not ok names:", name, flush=True)
            print("  |", str(e).replace("\n", "\n  | "))
    return run


def want(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(w) for w in what))


def line_of(source, text):
    with open(os.path.join(here, source)) as f:
        return 1 + next(i for i, l in enumerate(f) if text in l)


POP = f"fetch.cc:{line_of('fetch.cc', 'cudaMemcpyAsync')}"
STAGE = f"plugin.c:{line_of('plugin.c', 'cuMemcpyHtoDAsync')}"
GROW = f"app.c:{line_of('app.c', 'return cuMemAlloc')}"


def all_named(r):
    """Both operations and the allocation, by the user's lines, through every module."""
    want(r.lead().split()[0].endswith(POP), "read:", r.lead(), r.text)
    want(r.lead("previous").split()[0].endswith(STAGE), "write:", r.lead("previous"), r.text)
    want(f"device buffer allocated at {GROW} in grow (cuMemAlloc #" in r.finding["message"], r.finding["message"])
    want(re.search(r"allocated by cuMemAlloc #\d+ at \S*" + re.escape(GROW) + " grow <- ", r.text), r.text)
    want(f"SUMMARY: krtsan: error KRT-RACE-RAW {POP} in store::ring<char, 4096>::pop" in r.text, r.text)
    want("symbols:" not in r.text, r.text)


plain = compile_all(work + "/plain")


@check("functions, lines, C++, a plugin that was closed")
def _():
    r = Run(plain)
    all_named(r)
    names = r.functions("current")
    want(names[:2] == ["store::ring<char, 4096>::pop(unsigned long long, CUstream_st*)",
                       "void store::drain<store::ring<char, 4096> >(store::ring<char, 4096>, unsigned long long, "
                       "CUstream_st*)"], names)
    want("main" in names and "fetch" in names, names)
    want(any(n and "std::function" in n for n in names), "frames of headers stay in the JSON:", names)
    want("std::" not in r.lead() and "<- ... <-" in r.lead(), "and not in the text:", r.lead())
    want("start_main" not in r.lead() and "start_call_main" not in r.lead(), r.lead())
    inner = [f["function"] for f in r.finding["current"]["stack"] if f["internal"]]
    want("cudaMemcpyAsync" in inner and "__cudart1234" in inner, "a runtime linked statically is no user:", inner)
    edge = r.finding["edge"]
    want(edge["api"] == "runtime" and "cudaStreamWaitEvent(" in edge["code"], "its API is spoken in the fix:", edge)
    want(edge["verified"] == "removes", edge)


@check("a stream is named with its handle once")
def _():
    r = Run(plain)
    handle = re.search(r"\((0x[0-9a-f]+)\)", r.finding["current"]["stream"]).group(1)
    lines = [l for l in r.text.split("\n") if "==     + " not in l]  # what to paste says which is which
    want("\n".join(lines).count(handle) == 1, r.text)
    want(re.search(r"on stream \d+ reads", r.finding["message"]), r.finding["message"])


@check("inlined")
def _():
    r = Run(compile_all(work + "/inlined", flags=("-g", "-O2")))
    all_named(r)
    want(r.functions("previous")[:2] == ["stage", "upload"], r.functions("previous"))
    bare = [f for f in r.finding["current"]["stack"] if f["function"] in ("_start", "cudaMemcpyAsync", "__cudart1234")]
    want(len(bare) == 3 and not any(f["file"] for f in bare), "lines of the code beside it:", bare)
    want(r.frames("previous")[0]["pc"] == r.frames("previous")[1]["pc"], "one address")
    want(r.functions("current")[0].startswith("store::ring<char, 4096>::pop"), r.functions("current"))


def job(flags):
    """The program of several units, all at once."""
    where = work + "/job" + "".join(flags)
    os.makedirs(where)
    sh("gcc", "-g", *flags, "-I" + os.path.join(top, "interposer"), "-o", where + "/app",
       *(os.path.join(here, unit) for unit in ("job_main.c", "job_begin.c", "job_end.c")),
       "-L" + os.path.join(build, "sim"), "-l:libcuda.so.1")
    return Run(where)


def link_time():
    """Can the compiler optimise when it links?"""
    p = subprocess.run(["gcc", "-flto", "-shared", "-xc", "-", "-o", work + "/link_time.so"], input=b"",
                       capture_output=True)
    return not p.returncode


@check("inlined within and across units: the same callers, the same id, however it is built")
def _():
    lto = [(), ("-flto",)] if link_time() else [()]
    if len(lto) == 1:
        print("# skipped: -flto, which this compiler lacks")
    ids = set()
    for level in ("-O0", "-Og", "-O1", "-O2", "-O3"):
        for extra in lto:
            r = job((level, *extra))
            for side, first, unit, call in (("current", "take", "job_end", "cuMemcpyDtoHAsync"),
                                            ("previous", "put", "job_begin", "cuMemcpyHtoDAsync")):
                got = [(f["function"], os.path.basename(f["file"] or ""), f["line"]) for f in r.frames(side)[:4]]
                unit_c = unit + ".c"
                want(got == [(first, unit_c, line_of(unit_c, call)), (unit, unit_c, line_of(unit_c, f"\t{first}(")),
                             ("run", "job_main.c", line_of("job_main.c", f"\t{unit}(")),
                             ("main", "job_main.c", line_of("job_main.c", "\trun("))], level, *extra, side, got)
            ids.add(r.id)
    want(len(ids) == 1, ids)


@check("inlined by the linker, C++")
def _():
    if not link_time():
        return print("# skipped: no -flto")
    r = Run(compile_all(work + "/link-time", flags=("-g", "-O2", "-flto")))
    all_named(r)
    want(r.functions("previous")[:2] == ["stage", "upload"], r.functions("previous"))


@check("code without debug information has no lines")
def _():
    report = os.path.join(work, "demo.json")
    subprocess.run([build + "/krtsan", "run", "--sim", "--report=json:" + report, "--", build + "/testcases/demo/demo"],
                   env=env, capture_output=True)
    with open(report) as f:
        frames = [f for x in json.load(f)["findings"] for f in x["current"]["stack"]]
    start = [f for f in frames if f["function"] == "_start"]
    want(start and not any(f["file"] for f in start), "those of the code before it:", start)


@check("not position-independent")
def _():
    all_named(Run(compile_all(work + "/fixed", link=("-no-pie", "-fno-pie"))))


def split(where, how):
    """Debug information out of each module: how(module, debug file)."""
    for m in ("app", "libfetch.so", "plugin.so"):
        path = os.path.join(where, m)
        sh("objcopy", "--only-keep-debug", path, path + ".debug")
        sh("objcopy", "--strip-unneeded", path)
        how(path)


def build_id(path):
    out = subprocess.run(["readelf", "-n", path], check=True, capture_output=True, text=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", out).group(1)


@check("stripped, a debug file beside it")
def _():
    def link(path):
        sh("objcopy", "--add-gnu-debuglink=" + path + ".debug", path)

    where = shutil.copytree(plain, work + "/beside")
    split(where, link)
    all_named(Run(where))


@check("stripped, debug files in .debug/")
def _():
    def link(path):
        sh("objcopy", "--add-gnu-debuglink=" + path + ".debug", path)
        folder = os.path.join(os.path.dirname(path), ".debug")
        os.makedirs(folder, exist_ok=True)
        os.rename(path + ".debug", os.path.join(folder, os.path.basename(path) + ".debug"))

    where = shutil.copytree(plain, work + "/below")
    split(where, link)
    all_named(Run(where))


def by_id(path, to=None):
    ident = build_id(path)
    folder = os.path.join(to or work + "/ids", ".build-id", ident[:2])
    os.makedirs(folder, exist_ok=True)
    os.rename(path + ".debug", os.path.join(folder, ident[2:] + ".debug"))


stripped = shutil.copytree(plain, work + "/stripped")
split(stripped, by_id)


@check("stripped, debug files by build-id")
def _():
    all_named(Run(stripped, "--debug-path=" + work + "/ids"))


@check("stripped, no debug files")
def _():
    r = Run(stripped)
    want(r.lead().startswith("store::drain<store::ring<char, 4096> > (libfetch.so+0x"), "its exported name:", r.lead())
    want(r.lead("previous").startswith("upload (plugin.so+0x"), r.lead("previous"))
    want("symbols:" not in r.text, "nothing is missing that was there:", r.text)
    want(r.id == Run(stripped).id, "another id the second time")


@check("debug information shared between modules (dwz)")
def _():
    if not shutil.which("dwz"):
        return print("# skipped: no dwz")
    where = shutil.copytree(plain, work + "/shared")
    modules = [os.path.join(where, m) for m in ("app", "libfetch.so", "plugin.so")]
    sh("dwz", "-q", "-m", where + "/common.debug", "-M", "common.debug", *modules)
    sections = subprocess.run(["readelf", "-SW", modules[0]], check=True, capture_output=True, text=True).stdout
    want(".gnu_debugaltlink" in sections and os.path.exists(where + "/common.debug"), "dwz found nothing to share")
    all_named(Run(where))


@check("a file that was replaced is told of and not believed")
def _():
    where = shutil.copytree(plain, work + "/replaced")

    def replace():
        os.remove(where + "/plugin.so")
        shutil.copy(where + "/libfetch.so", where + "/plugin.so")

    r = Run(where, trace=True, then=replace)
    want(f"symbols: {where}/plugin.so: is not the file that ran" in r.text, r.text)
    want(r.lead("previous").startswith("plugin.so+0x"), r.lead("previous"))
    want(r.lead().split()[0].endswith(POP), "the others keep their names:", r.lead())


@check("a file that is gone is told of; its debug file serves")
def _():
    where = shutil.copytree(plain, work + "/gone")
    r = Run(where, trace=True, then=lambda: os.remove(where + "/plugin.so"))
    want(f"symbols: {where}/plugin.so: is not there any more" in r.text, r.text)
    want(r.lead("previous").startswith("plugin.so+0x"), r.lead("previous"))
    shutil.copy(plain + "/plugin.so", where + "/plugin.so")
    r = Run(where, "--debug-path=/nonexistent:" + work + "/ids", trace=True,
            then=lambda: os.remove(where + "/plugin.so"))
    all_named(r)


@check("paths relative to the root of the sources")
def _():
    r = Run(plain, "--source-root=" + os.path.dirname(here))
    want(r.lead().startswith("names/" + POP + " "), r.lead())
    want(os.path.isabs(r.frames("current")[0]["file"]), "JSON has the whole path")
    r = Run(plain, "--source-root=" + here + "/")
    want(r.lead().startswith(POP + " "), r.lead())


@check("a kernel that a kernels file declares: by the line of the file")
def _():
    declared = os.path.join(top, "testcases/harness/kernels.txt")
    report = os.path.join(work, "declared.json")
    p = subprocess.run([build + "/krtsan", "run", "--sim", "--kernels=" + declared, "--report=json:" + report, "--",
                        build + "/testcases/hazard/kernels_file"], env=env, capture_output=True, text=True)
    with open(report) as f:
        finding, = json.load(f)["findings"]
    lines = {}
    for side in ("current", "previous"):
        o = finding[side]
        if o["knowledge"] == "kernels-file":
            path, line = o["declared_at"].rsplit(":", 1)
            want(path == declared, path)
            with open(path) as f:
                lines[o["kernel"]] = f.read().split("\n")[int(line) - 1]
            want(f"(kernels-file: {o['declared_at']})" in p.stderr, p.stderr)
        else:
            want(o["declared_at"] is None, o)
    want(lines and all(k in l for k, l in lines.items()), lines)


# --- on a terminal -----------------------------------------------------------------


def terminal(*options, columns=100, **variables):
    """What the text report is on a terminal of so many columns."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    p = subprocess.Popen([build + "/krtsan", "run", "--sim", *options, "--", plain + "/app", plain + "/plugin.so"],
                         env={**env, "TERM": "xterm", **variables}, stdin=other, stdout=other, stderr=other)
    os.close(other)
    text = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.close(main)
    p.wait()
    return text.decode().replace("\r", "")


@check("a terminal has colours, and lines that fit")
def _():
    text = terminal()
    want("\x1b[1;31mkrtsan: error KRT-RACE-RAW\x1b[0m" in text, text)
    lines = [re.sub("\x1b\\[[0-9;]*m", "", l) for l in text.split("\n") if l.startswith("==")]
    want(max(map(len, lines)) <= 100, text)
    finding = lines[:next(i for i, l in enumerate(lines) if "SUMMARY" in l) + 1]
    want(len(finding) <= 30, "one screen:", len(finding), text)
    want(any(len(l) > 100 for l in Run(plain).text.split("\n")), "a pipe has them whole")


@check("colours: NO_COLOR, color=never, color=always")
def _():
    for text in (terminal(NO_COLOR="1"), terminal("--color=never"), terminal(TERM="dumb"), Run(plain).text,
                 Run(plain, "--color=auto").text):
        want("\x1b" not in text and "KRT-RACE-RAW" in text, text)
    want("\x1b[1;31m" in Run(plain, "--color=always").text, "asked for in a pipe")
    want("\x1b[1;31m" in terminal("--color=always", NO_COLOR="1"), "the option comes first")
    want("\x1b[1;31m" in terminal(NO_COLOR=""), "an empty NO_COLOR is none")


# --- fingerprints ------------------------------------------------------------------

base = Run(plain).id


def same(r):
    want(r.id == base, r.id, "is not", base, r.text)


@check("id: a second run")
def _():
    same(Run(plain))


@check("id: with and without random addresses")
def _():
    if subprocess.run(["setarch", "-R", "true"], capture_output=True).returncode:
        return print("# skipped: setarch -R is not allowed here")
    fixed = Run(plain, before=("setarch", "-R"))
    same(fixed)


@check("id: 20 lines more above, built elsewhere")
def _():
    moved = work + "/sources"
    os.makedirs(moved)
    for name in os.listdir(here):
        if name.endswith((".c", ".cc", ".h")):
            with open(os.path.join(here, name)) as f:
                text = f.read()
            with open(os.path.join(moved, name), "w") as f:
                f.write("\n" * 20 + text)
    r = Run(compile_all(work + "/moved", source=moved))
    line = int(POP.split(":")[1]) + 20
    want(f"fetch.cc:{line} " in r.lead(), r.lead())
    same(r)


@check("id: in another root, under another working directory")
def _():
    same(Run(shutil.copytree(plain, work + "/opt/app-2.1/lib")))


@check("id: debug information elsewhere")
def _():
    same(Run(stripped, "--debug-path=" + work + "/ids"))


@check("id: by way of a trace, its addresses those of another process")
def _():
    same(Run(plain, trace=True))


@check("id: another function, another id")
def _():
    changed = work + "/changed"
    shutil.copytree(here, changed)
    with open(changed + "/fetch.cc") as f:
        text = f.read()
    with open(changed + "/fetch.cc", "w") as f:
        f.write(text.replace("drain(", "empty("))
    r = Run(compile_all(work + "/other", source=changed))
    want(r.id != base, "the same id")


shutil.rmtree(work)
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
