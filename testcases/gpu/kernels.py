# SPDX-License-Identifier: Apache-2.0
"""Kernels of PyTorch and Triton on several streams: kernels.py CASE [ARG...].

Planted races miss one wait (`race`), their twins have it (`wait`).  Nothing
depends on time: both orders of the streams are legal where the wait is missing,
and what is printed is only what is right in both."""
import sys
import torch
import triton
import triton.language as tl

torch.manual_seed(1)
dev = torch.device("cuda")
N = 1 << 20


def streams(n=2):
    torch.cuda.synchronize()
    return [torch.cuda.Stream() for _ in range(n)]


def pair(first, second, order):
    """first() on one stream, second() on another; ordered or not."""
    first(), second()  # what is loaded or allocated once is so by now
    a, b = streams()
    with torch.cuda.stream(a):
        first()
    if order == "wait":
        b.wait_stream(a)
    with torch.cuda.stream(b):
        second()
    torch.cuda.synchronize()
    print("done", order)


# --- Triton ------------------------------------------------------------------------

@triton.jit
def add_kernel(x, y, out, n, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def softmax_kernel(x, out, stride, n, block: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, block)
    v = tl.load(x + row * stride + i, mask=i < n, other=-float("inf"))
    v = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * stride + i, v / tl.sum(v, 0), mask=i < n)


@triton.jit
def matmul_kernel(a, b, c, m, n, k, bm: tl.constexpr, bn: tl.constexpr, bk: tl.constexpr):
    i = tl.program_id(0) * bm + tl.arange(0, bm)
    j = tl.program_id(1) * bn + tl.arange(0, bn)
    l = tl.arange(0, bk)
    acc = tl.zeros((bm, bn), dtype=tl.float32)
    for at in range(0, k, bk):
        x = tl.load(a + i[:, None] * k + (at + l)[None, :],
                    mask=(i[:, None] < m) & ((at + l)[None, :] < k), other=0.0)
        y = tl.load(b + (at + l)[:, None] * n + j[None, :],
                    mask=((at + l)[:, None] < k) & (j[None, :] < n), other=0.0)
        acc += tl.dot(x, y)
    tl.store(c + i[:, None] * n + j[None, :], acc, mask=(i[:, None] < m) & (j[None, :] < n))


def run_add(x, y, out):
    add_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), block=1024)


def run_softmax(x, out):
    softmax_kernel[(x.shape[0],)](x, out, x.stride(0), x.shape[1], block=triton.next_power_of_2(x.shape[1]))


def run_matmul(a, b, c):
    m, k, n = a.shape[0], a.shape[1], b.shape[1]
    matmul_kernel[(triton.cdiv(m, 64), triton.cdiv(n, 64))](a, b, c, m, n, k, bm=64, bn=64, bk=32)


def triton_all():
    x, y, out = (torch.randn(N - 3, device=dev) for _ in range(3))
    run_add(x, y, out)
    r, s = torch.randn(200, 1000, device=dev), torch.empty(200, 1000, device=dev)
    run_softmax(r, s)
    a, b = torch.randn(300, 200, device=dev), torch.randn(200, 250, device=dev)
    c = torch.empty(300, 250, device=dev)
    run_matmul(a, b, c)
    print("add", torch.allclose(out, x + y), "softmax", torch.allclose(s, r.softmax(1), atol=1e-5),
          "matmul", torch.allclose(c, a @ b, atol=0.5))


def compiled():
    def f(x, w, b):
        h = torch.nn.functional.gelu(x @ w + b)
        h = torch.nn.functional.layer_norm(h, (h.shape[-1],))
        return (h.sin() + h.cos() * 2).softmax(-1).sum(0)

    fast = torch.compile(f)
    args = [torch.randn(256, 512, device=dev), torch.randn(512, 256, device=dev, requires_grad=True),
            torch.randn(256, device=dev, requires_grad=True)]
    for _ in range(3):
        fast(*args).square().sum().backward()
    torch.cuda.synchronize()
    print("compiled", torch.allclose(fast(*args), f(*args), atol=1e-2))


def triton_pair(order, second="add"):
    """A kernel writes what another one reads, or writes, on another stream."""
    x, y, mid, out = (torch.ones(1024, 1024, device=dev) for _ in range(4))
    seconds = {
        "add": lambda: run_add(mid, y, out),     # read after write
        "same": lambda: run_add(y, x, mid),      # write after write
        "softmax": lambda: run_softmax(mid, out),
        "torch": lambda: torch.mul(mid, 2, out=out),  # against a kernel of PyTorch's own
    }
    pair(lambda: run_add(x, y, mid), seconds[second], order)


def triton_halves():
    """Two halves of one buffer, written by two streams; the same input for both."""
    x, out = torch.ones(N, device=dev), torch.zeros(N, device=dev)
    pair(lambda: run_add(x[: N // 2], x[N // 2:], out[: N // 2]),
         lambda: run_add(x[: N // 2], x[N // 2:], out[N // 2:]), "race")
    print(float(out.sum()))


# --- eager -------------------------------------------------------------------------

def eager(order):
    a, b, c = (torch.ones(N, device=dev) for _ in range(3))
    pair(lambda: torch.mul(a, 2, out=b), lambda: torch.add(b, 1, out=c), order)
    if order == "wait":
        print(float(c.sum()))


def eager_write(order):
    a, b = torch.ones(N, device=dev), torch.zeros(N, device=dev)
    pair(lambda: torch.mul(a, 2, out=b), lambda: b.add_(1), order)
    if order == "wait":
        print(float(b.sum()))


def matmul(order, kind="mm"):
    """What a library's call writes is read on another stream."""
    a, b = torch.randn(8, 256, 256, device=dev), torch.randn(8, 256, 256, device=dev)
    c, d = torch.empty_like(a), torch.empty_like(a)
    bias, wide = torch.randn(256, device=dev), torch.empty(256, 256, device=dev)
    firsts = {
        "mm": lambda: torch.mm(a[0], b[0], out=c[0]),
        "bmm": lambda: torch.bmm(a, b, out=c),
        "addmm": lambda: torch.addmm(bias, a[0], b[0], out=c[0]),
    }
    pair(firsts[kind], lambda: torch.mul(c[0], 2, out=d[0]), order)


def weights(kind):
    """Four streams read the same weights at once and write outputs of their own."""
    w = torch.randn(512, 512, device=dev)
    x = [torch.randn(512, 512, device=dev) for _ in range(4)]
    out = [torch.empty(512, 512, device=dev) for _ in range(4)]

    def step(i):
        if kind == "triton":
            run_add(w, x[i], out[i])
        elif kind == "matmul":
            torch.mm(x[i], w, out=out[i])
        else:
            torch.mul(x[i], w, out=out[i])

    for i in range(4):
        step(i)
    s = streams(4)
    for _ in range(3):
        for i in range(4):
            with torch.cuda.stream(s[i]):
                step(i)
    torch.cuda.synchronize()
    print("done", kind)


def halves():
    x, out = torch.ones(N, device=dev), torch.zeros(N, device=dev)
    lo, hi = out[: N // 2], out[N // 2:]
    pair(lambda: torch.mul(x[: N // 2], 2, out=lo), lambda: torch.add(x[N // 2:], 2, out=hi), "race")
    print(float(out.sum()))


def handed_over(how):
    """A block is used on a side stream, dropped, and written by the main stream as a new tensor."""
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()
    out = torch.zeros(N, device=dev)
    torch.cuda.synchronize()
    for _ in range(3):
        t = torch.full((N,), 3.0, device=dev)
        side.wait_stream(main)
        with torch.cuda.stream(side):
            torch.mul(t, 2, out=out)
        if how == "record_stream":
            t.record_stream(side)
        del t
        u = torch.empty(N, device=dev)
        u.fill_(5)
        del u
        main.wait_stream(side)
    torch.cuda.synchronize()
    print("done", how)


# --- many operators, each as the writer of what another stream reads ----------------

def table():
    r = lambda *shape, **kw: torch.randn(*shape, device=dev, **kw)
    f = torch.nn.functional
    a, b, w = r(512, 1024), r(512, 1024), r(1024)
    i = torch.randint(0, 512, (64,), device=dev)
    h = r(512, 1024, dtype=torch.bfloat16)
    q, k, v = (r(2, 4, 128, 64, dtype=torch.bfloat16) for _ in range(3))
    ps = [r(64, 64) for _ in range(4)]
    return {
        "add": lambda: torch.add(a, b), "mul_scalar": lambda: torch.mul(a, 3.0),
        "add_broadcast": lambda: a + w, "gelu": lambda: f.gelu(a), "relu bf16": lambda: torch.relu(h),
        "where": lambda: torch.where(a > 0, a, b), "to bf16": lambda: a.to(torch.bfloat16),
        "transposed copy": lambda: a.t().contiguous(), "fill": lambda: torch.full((512, 1024), 2.0, device=dev),
        "sum": lambda: a.sum(), "sum of rows": lambda: a.sum(1), "max of columns": lambda: a.amax(0),
        "softmax": lambda: a.softmax(-1), "log_softmax": lambda: a.log_softmax(-1),
        "layer_norm": lambda: f.layer_norm(a, (1024,), w, w),
        "dropout": lambda: f.dropout(a, 0.5, training=True), "cat": lambda: torch.cat([a, b]),
        "index": lambda: a[i], "index_select": lambda: a.index_select(0, i), "embedding": lambda: f.embedding(i, a),
        "randn": lambda: r(512, 1024), "cumsum": lambda: a.cumsum(1), "foreach_mul": lambda: torch._foreach_mul(ps, 2.0),
        "mm": lambda: a @ b.t(), "mm bf16": lambda: h @ h.t(), "linear": lambda: f.linear(a, b, r(512)),
        "sdpa": lambda: f.scaled_dot_product_attention(q, k, v, is_causal=True),
        "conv2d": lambda: f.conv2d(a.view(2, 4, 256, 256), w.view(16, 4, 4, 4)),
    }


def operators(order):
    """Each operator within an NVTX range of its name; its output is read on another stream."""
    nvtx = torch.cuda.nvtx
    cases = table()
    keep = []
    for name, first in cases.items():
        first()
    for name, first in cases.items():
        a, b = streams()
        with torch.cuda.stream(a):
            nvtx.range_push(name)
            out = first()
            nvtx.range_pop()
        keep.append(out)  # its memory stays its own
        if order == "wait":
            b.wait_stream(a)
        with torch.cuda.stream(b):
            keep.append((out[0] if isinstance(out, (list, tuple)) else out) + 1)
        torch.cuda.synchronize()
    print("operators", " ".join(n.replace(" ", "_") for n in cases))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
