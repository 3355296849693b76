# SPDX-License-Identifier: Apache-2.0
"""
What call stacks cost a PyTorch step, as ratios to native within one run:
stacks=none, leaf and full, and full without Python frames, in turns.

  stacks_cost.py BUILD SECONDS

PyTorch is imported twice, with and without krtsan; each figure is that of a
child made by fork, whose options are in force when it initialises CUDA.
"""
import json
import os
import statistics
import subprocess
import sys
import time

MODES = {"native": None, "none": "stacks=none", "leaf": "stacks=leaf", "full, no Python": "stacks=full:pystacks=off",
         "full": "stacks=full"}
STEPS = 60


def measure():
    import torch
    torch.manual_seed(7)
    model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.LayerNorm(256))
                                  for _ in range(8)]).cuda()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
    x = torch.randn(64, 256, device="cuda")
    times = []
    for _ in range(STEPS):
        begin = time.perf_counter()
        loss = model(x).square().mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        times.append((time.perf_counter() - begin) * 1e6)  # what the host takes to submit it
        torch.cuda.synchronize()
    return min(times[10:]), statistics.median(times[10:])


def serve():
    import torch  # noqa: F401  without CUDA: children initialise it
    for mode in iter(sys.stdin.readline, ""):
        sys.stdout.flush()
        child = os.fork()
        if not child:
            if MODES[mode.strip()]:
                os.environ["KRTSAN_OPTIONS"] = MODES[mode.strip()]
            print(json.dumps(measure()), flush=True)
            os._exit(0)
        os.waitpid(child, 0)


def main(build, seconds):
    run = [sys.executable, os.path.abspath(__file__), "serve"]
    servers = [subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
               for cmd in (run, [os.path.join(build, "krtsan"), "run", "--log-path=/dev/null", "--fail-on=never", "--"] + run)]
    figures = {mode: [] for mode in MODES}
    end, took = time.monotonic() + seconds, 0
    while time.monotonic() + took < end or not figures["full"]:
        begin = time.monotonic()
        for mode in MODES:
            s = servers[mode != "native"]
            s.stdin.write(mode + "\n")
            s.stdin.flush()
            figures[mode].append(json.loads(s.stdout.readline()))
        took = time.monotonic() - begin
    for s in servers:
        s.stdin.close()
        s.wait()
    print("| us to submit a step, %d rounds | min | median | ratio of minima | of medians |\n|---|---|---|---|---|"
          % len(figures["full"]))
    base = [min(f[i] for f in figures["native"]) for i in (0, 1)]
    for mode, f in figures.items():
        low = [min(v[i] for v in f) for i in (0, 1)]
        print("| %s | %.0f | %.0f | %.3f | %.3f |" % (mode, *low, low[0] / base[0], low[1] / base[1]))


if sys.argv[1] == "serve":
    serve()
else:
    main(sys.argv[1], float(sys.argv[2]))
