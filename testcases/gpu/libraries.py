# SPDX-License-Identifier: Apache-2.0
"""Calls of cuBLAS, cublasLt, cuFFT and NCCL that PyTorch makes, on several streams:
libraries.py CASE race|wait.  The first function's call is a library's; the second
is a copy of what it reads or writes.  Nothing depends on time."""
import sys

import torch

dev = torch.device("cuda")


def pair(first, second, order):
    """first() on one stream, second() on another; ordered or not."""
    first(), second()  # what is loaded or allocated once is so by now
    torch.cuda.synchronize()
    a, b = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(a):
        first()
    if order == "wait":
        b.wait_stream(a)
    with torch.cuda.stream(b):
        second()
    torch.cuda.synchronize()
    print("done", order)


def host(t):
    return torch.zeros(t.shape, dtype=t.dtype).pin_memory()


def written(order, kind):
    """The result is fetched."""
    dtype = torch.bfloat16 if kind.endswith("_bf16") else torch.float64 if kind.endswith("_f64") else torch.float32
    a, b, c = (torch.randn(8, 256, 256, device=dev).to(dtype) for _ in range(3))
    v = torch.randn(256, device=dev).to(dtype)
    spectrum = torch.empty(8, 256, 256, device=dev, dtype=torch.complex64)
    out = {
        "mm": c[0], "bmm": c, "addmm": c[0], "mv": c[0, 0], "ger": c[0], "baddbmm": c, "fft": spectrum, "linear": c[0],
    }[kind.split("_")[0]]
    calls = {
        "mm": lambda: torch.mm(a[0], b[0].t(), out=out),
        "bmm": lambda: torch.bmm(a, b.transpose(1, 2), out=out),
        "baddbmm": lambda: torch.baddbmm(c, a, b, beta=0.5, out=out),
        "addmm": lambda: torch.addmm(v, a[0], b[0], out=out),
        "mv": lambda: torch.mv(a[0], v, out=out),
        "fft": lambda: torch.fft.fft2(spectrum_in, out=spectrum),
        "linear": lambda: torch._C._nn.linear(a[0], b[0], v, out=out),
        "ger": lambda: torch.outer(v, v, out=out),
    }
    spectrum_in = torch.randn(8, 256, 256, device=dev, dtype=torch.complex64)
    h = host(out)
    pair(calls[kind.split("_")[0]], lambda: h.copy_(out, non_blocking=True), order)


def read(order, kind):
    """What it reads is uploaded anew."""
    a, b, c = (torch.randn(256, 256, device=dev) for _ in range(3))
    v, x = torch.randn(256, device=dev), torch.randn(256, 256, device=dev, dtype=torch.complex64)
    y = torch.empty_like(x)
    calls = {
        "first": (lambda: torch.mm(a, b, out=c), a),
        "second": (lambda: torch.mm(a, b, out=c), b),
        "bias": (lambda: torch.addmm(v, a, b, out=c), v),
        "old": (lambda: c.addmm_(a, b), c),
        "rows": (lambda: torch.mm(a[::2], b, out=c[::2]), a),
        "signal": (lambda: torch.fft.fft(x, out=y), x),
    }
    first, what = calls[kind]
    h = host(what)
    pair(first, lambda: what.copy_(h, non_blocking=True), order)


def apart(_, kind):
    """Calls at once that touch other bytes, or only read the same."""
    a, b = torch.randn(512, 512, device=dev), torch.randn(512, 512, device=dev)
    c, x = torch.empty(512, 1024, device=dev), torch.randn(16, 256, device=dev, dtype=torch.complex64)
    y, h = torch.empty_like(x), host(torch.empty(512, 512))
    calls = {
        "columns": (lambda: torch.mm(a, b, out=c[:, :512]), lambda: torch.mm(a, b, out=c[:, 512:])),
        "rows": (lambda: torch.mm(a[:256], b, out=c[:256, :512]), lambda: torch.mm(a[256:], b, out=c[256:, :512])),
        "factors": (lambda: torch.mm(a, b, out=c[:, :512]), lambda: h.copy_(a, non_blocking=True)),
        "signals": (lambda: torch.fft.fft(x[:8], out=y[:8]), lambda: torch.fft.fft(x[8:], out=y[8:])),
    }
    pair(*calls[kind], "race")


def captured(order, _):
    """A graph of products; its result is fetched."""
    a, b, c = (torch.randn(256, 256, device=dev) for _ in range(3))
    g, h = torch.cuda.CUDAGraph(), host(c)
    torch.mm(a, b, out=c)
    torch.cuda.synchronize()
    with torch.cuda.graph(g):
        torch.mm(a, b, out=c)
        torch.mm(c, b, out=a)
    pair(g.replay, lambda: h.copy_(a, non_blocking=True), order)


def nccl(order, _):
    """One process, two devices: gradients are summed in one group."""
    if torch.cuda.device_count() < 2:
        print("skipped: one device")
        sys.exit(77)
    import torch.cuda.nccl as nccl
    t = [torch.ones(1 << 20, device="cuda:%d" % i) for i in range(2)]
    h = host(t[0])
    nccl.all_reduce(t)
    for i in range(2):
        torch.cuda.synchronize(i)
    s = [torch.cuda.Stream(i) for i in range(2)]
    other = torch.cuda.Stream(0)
    nccl.all_reduce(t, streams=s)
    if order == "wait":
        other.wait_stream(s[0])
    with torch.cuda.stream(other):
        h.copy_(t[0], non_blocking=True)
    for i in range(2):
        torch.cuda.synchronize(i)
    print("done", order)


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "")
