# SPDX-License-Identifier: Apache-2.0
"""
Cost of PyTorch programs, for suite.py: bench_torch.py KIND CPU answers each line
"SCALE ROUND" on stdin with a short round: lines "@ ROW us", the least of some batches,
and "@ end".  KIND step has the rows

  step         a training step of an MLP: forward, loss, backward, AdamW
  eager_op     two elementwise operators on small tensors, some 10 us

and KIND pinned

  step_pinned  the step on a batch that the CPU writes into one of two pinned buffers and
               uploads with non_blocking=True, once the upload from it before is over
"""
import os
import sys
import time

import torch

torch.manual_seed(7)
model = torch.nn.Sequential(
    torch.nn.Linear(512, 1024), torch.nn.GELU(), torch.nn.LayerNorm(1024),
    torch.nn.Linear(1024, 1024), torch.nn.GELU(), torch.nn.LayerNorm(1024),
    torch.nn.Linear(1024, 1024), torch.nn.GELU(), torch.nn.Dropout(0.1),
    torch.nn.Linear(1024, 10)).cuda()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
loss_fn = torch.nn.CrossEntropyLoss()
x = torch.randn(256, 512, device="cuda")
y = torch.randint(0, 10, (256,), device="cuda")
small = torch.randn(1024, device="cuda")


def step():
    loss = loss_fn(model(x), y)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()


def eager_op():
    torch.add(torch.mul(small, 1.5), small)


class Feed:
    """The batches of step_pinned."""

    def __init__(self):
        self.at = 0
        self.host = [torch.empty(256, 512).pin_memory() for _ in range(2)]
        self.uploaded = [torch.cuda.Event() for _ in range(2)]

    def next(self):
        self.at ^= 1
        host, uploaded = self.host[self.at], self.uploaded[self.at]
        uploaded.synchronize()
        host.fill_(0.5)
        batch = host.to("cuda", non_blocking=True)
        uploaded.record()
        return batch


feed = Feed()


def step_pinned():
    global x
    x = feed.next()
    step()


ROWS = {
    "step": (("step", step, 5, 3), ("eager_op", eager_op, 200, 3)),
    "pinned": (("step_pinned", step_pinned, 5, 3),),
}[sys.argv[1]]


def batch(call, n):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(n):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / n * 1e6


for name, call, calls, batches in ROWS:
    batch(call, 3)
os.sched_setaffinity(0, {int(sys.argv[2])})  # this thread alone: those of autograd are there already
print("@ ready", torch.__version__, flush=True)
for line in sys.stdin:
    scale = float(line.split()[0])
    for name, call, calls, batches in ROWS:
        n = max(1, int(calls * scale))
        batch(call, 1)
        print("@ %s %.2f" % (name, min(batch(call, n) for _ in range(max(1, int(batches * scale))))))
    print("@ end", flush=True)
