# SPDX-License-Identifier: Apache-2.0
"""
Cost of PyTorch programs, for suite.py: bench_torch.py CPU answers each line
"SCALE ROUND" on stdin with a short round: lines "@ ROW us", the least of some batches,
and "@ end".

  step      a training step of an MLP: forward, loss, backward, AdamW
  eager_op  two elementwise operators on small tensors, some 10 us
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


ROWS = (("step", step, 10, 4), ("eager_op", eager_op, 300, 4))


def batch(call, n):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(n):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / n * 1e6


for name, call, calls, batches in ROWS:
    batch(call, 3)
os.sched_setaffinity(0, {int(sys.argv[1])})  # this thread alone: those of autograd are there already
print("@ ready", torch.__version__, flush=True)
for line in sys.stdin:
    scale = float(line.split()[0])
    for name, call, calls, batches in ROWS:
        n = max(1, int(calls * scale))
        batch(call, max(1, n // 4))
        print("@ %s %.2f" % (name, min(batch(call, n) for _ in range(max(1, int(batches * scale))))))
    print("@ end", flush=True)
