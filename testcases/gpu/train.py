# SPDX-License-Identifier: Apache-2.0
"""A PyTorch training loop as people write it: forward, backward, optimizer, a
side stream joined properly, a pinned prefetch.  Deterministic algorithms are
on, so that the losses printed (as hexadecimal floats, with a checksum of the
weights) must be equal to the last bit with and without krtsan."""
import os
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import sys
import torch

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
torch.manual_seed(7)
torch.use_deterministic_algorithms(True)
dev = torch.device("cuda")
model = torch.nn.Sequential(
    torch.nn.Linear(512, 1024), torch.nn.GELU(), torch.nn.LayerNorm(1024),
    torch.nn.Linear(1024, 1024), torch.nn.GELU(), torch.nn.LayerNorm(1024),
    torch.nn.Linear(1024, 1024), torch.nn.GELU(), torch.nn.Dropout(0.1),
    torch.nn.Linear(1024, 10)).to(dev)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
loss_fn = torch.nn.CrossEntropyLoss()
copy = torch.cuda.Stream()
side = torch.cuda.Stream()
main = torch.cuda.current_stream()
gen = torch.Generator().manual_seed(11)


def batch():
    x = torch.randn(256, 512, generator=gen).pin_memory()
    y = torch.randint(0, 10, (256,), generator=gen).pin_memory()
    with torch.cuda.stream(copy):
        dx = x.to(dev, non_blocking=True)
        dy = y.to(dev, non_blocking=True)
    return x, y, dx, dy


ema = [p.detach().clone() for p in model.parameters()]
losses = []
ready = batch()
for step in range(steps):
    x, y, dx, dy = ready
    main.wait_stream(copy)
    dx.record_stream(main)
    dy.record_stream(main)
    ready = batch()
    out = model(dx)
    loss = loss_fn(out, dy)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    side.wait_stream(main)
    with torch.cuda.stream(side):
        for e, p in zip(ema, model.parameters()):
            e.lerp_(p.detach(), 0.01)
    main.wait_stream(side)
    losses.append(loss.detach())
torch.cuda.synchronize()
sums = [torch.stack([t.double().sum() for t in ts]).sum() for ts in (list(model.parameters()), ema)]
for i, l in enumerate(torch.stack(losses).tolist()):
    print(i, l.hex())
print("weights", *(s.hex() for s in torch.stack(sums).tolist()))
