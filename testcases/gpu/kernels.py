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


def pairs():
    """Two operators that touch other bytes of the same tensors, or only read what they share."""
    r = lambda *shape, **kw: torch.randn(*shape, device=dev, **kw)
    f = torch.nn.functional
    x, y, z = r(1024, 1024), r(1024, 1024), r(2048, 1024)
    h, big, col = r(1024, 1024).half(), r(2048), r(1024, 2)
    a, b, c = r(512, 256), r(256, 512), r(512, 1024)
    ba, bb, bc = r(8, 64, 32), r(8, 32, 64), r(16, 64, 64)
    flat, grads = r(1 << 18), r(1 << 18)
    ps, gs = flat.split(1000), grads.split(1000)
    even, odd = torch.arange(0, 1024, 2, device=dev), torch.arange(1, 1024, 2, device=dev)
    image, kernel = r(4, 8, 64, 64), r(8, 8, 3, 3)
    q, k, v = (r(2, 4, 128, 64).half() for _ in range(3))
    index = torch.randint(0, 1024, (64,), device=dev)

    def halves(fn):
        return lambda: fn(slice(0, 512)), lambda: fn(slice(512, 1024))

    def step(lists, opt):
        params = [torch.nn.Parameter(p) for p in lists]
        for p, g in zip(params, gs):
            p.grad = g[: p.numel()]
        o = opt(params)
        return lambda: o.step()

    adam = lambda p: torch.optim.AdamW(p, lr=1e-3)
    fused = lambda p: torch.optim.AdamW(p, lr=1e-3, fused=True)
    single = lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9, foreach=False)
    return {
        "halves of columns": halves(lambda s: torch.mul(x[:, s], 2, out=y[:, s])),
        "halves of rows": halves(lambda s: torch.add(x[s], y[s], out=y[s])),
        "even and odd columns": (lambda: torch.mul(x[:, ::2], 2, out=y[:, ::2]), lambda: torch.mul(x[:, ::2], 2, out=y[:, 1::2])),
        "even and odd rows": (lambda: torch.mul(x[::2], 2, out=y[::2]), lambda: torch.mul(x[::2], 2, out=y[1::2])),
        "quadrants": (lambda: torch.mul(x[:512, :512], 2, out=y[:512, :512]), lambda: torch.mul(x[512:, :512], 2, out=y[512:, 512:])),
        "diagonal quadrants": (lambda: y[:512, 512:].add_(1), lambda: y[512:, :512].add_(1)),
        "transposed": halves(lambda s: torch.mul(x[s], 2, out=y.t()[s])),
        "in place": halves(lambda s: y[:, s].add_(1)),
        "gelu of columns": halves(lambda s: y[:, s].copy_(f.gelu(x[:, s]))),
        "copies of columns": (lambda: y[:, :500].copy_(x[:, :500]), lambda: y[:, 500:].copy_(x[:, 500:])),
        "copies to half precision": halves(lambda s: h[:, s].copy_(x[:, s])),
        "copies of single columns": (lambda: y[:, 3].copy_(x[:, 0]), lambda: y[:, 4].copy_(x[:, 0])),
        "transposing copies": halves(lambda s: y[:, s].copy_(x.t()[:, s])),
        "fill": (lambda: y[:, ::2].fill_(1), lambda: y[:, 1::2].fill_(2)),
        "zero": halves(lambda s: y[:, s].zero_()),
        "broadcast": halves(lambda s: torch.add(x[0], x[s], out=y[s])),
        "sums": (lambda: torch.sum(x, 1, out=big[:1024]), lambda: torch.sum(x, 1, out=big[1024:])),
        "sums into columns": (lambda: torch.sum(x, 1, out=col[:, 0]), lambda: torch.sum(x, 0, out=col[:, 1])),
        "sums of columns": halves(lambda s: torch.sum(x[:, s], 0, out=big[s])),
        "maxima": (lambda: torch.amax(x, 1, out=col[:, 0]), lambda: torch.amax(x, 1, out=col[:, 1])),
        "softmax": (lambda: torch.softmax(x, -1, out=z[:1024]), lambda: torch.softmax(x, -1, out=z[1024:])),
        "log_softmax of columns": halves(lambda s: y[:, s].copy_(x[:, s].log_softmax(-1))),
        "layer_norm": halves(lambda s: y[s].copy_(f.layer_norm(x[s], (1024,)))),
        "cumsum": (lambda: torch.cumsum(x, 1, out=z[:1024]), lambda: torch.cumsum(x, 1, out=z[1024:])),
        "index_select": (lambda: torch.index_select(x, 0, index, out=z[:64]), lambda: torch.index_select(x, 0, index, out=z[64:128])),
        "gather": (lambda: torch.gather(x, 1, even.expand(1024, 512), out=z[:1024, :512]), lambda: torch.gather(x, 1, odd.expand(1024, 512), out=z[:1024, 512:])),
        "rows by index": (lambda: y.index_copy_(0, even, x[::2]), lambda: y.index_copy_(0, odd, x[1::2])),
        "index_put": (lambda: y.index_put_((even,), x[::2]), lambda: y.index_put_((odd,), x[1::2])),
        "index_add": (lambda: y.index_add_(0, even, x[::2]), lambda: y.index_add_(0, odd, x[1::2])),
        "scatter": (lambda: y.scatter_(1, even.expand(1024, 512), x[:, :512]), lambda: y.scatter_(1, odd.expand(1024, 512), x[:, 512:])),
        "embedding": (lambda: f.embedding(index, x), lambda: f.embedding(index, x)),
        "cat": (lambda: torch.cat([x, x]), lambda: torch.cat([x, y], 1)),
        "tril": (lambda: torch.tril(x, out=z[:1024]), lambda: torch.triu(x, out=z[1024:])),
        "random": halves(lambda s: y[s].normal_()),
        "random columns": halves(lambda s: y[:, s].uniform_()),
        "dropout": (lambda: f.dropout(x, 0.5), lambda: f.dropout(x, 0.5)),
        "mm into columns": (lambda: torch.mm(a, b, out=c[:, :512]), lambda: torch.mm(a, b, out=c[:, 512:])),
        "mm into rows": (lambda: torch.mm(a[:256], b, out=y[:256, :512]), lambda: torch.mm(a[256:], b, out=y[256:512, :512])),
        "mm of columns": (lambda: x[:, :256] @ b, lambda: x[:, 256:512] @ b),
        "addmm": (lambda: c[:, :512].addmm_(a, b), lambda: c[:, 512:].addmm_(a, b)),
        "bmm": (lambda: torch.bmm(ba, bb, out=bc[:8]), lambda: torch.bmm(ba, bb, out=bc[8:])),
        "bmm of every second": (lambda: torch.bmm(ba, bb, out=bc[::2]), lambda: torch.bmm(ba, bb, out=bc[1::2])),
        "linear": (lambda: f.linear(x, y), lambda: f.linear(x, y, big[:1024])),
        "mv": (lambda: torch.mv(x, big[:1024]), lambda: torch.mv(x.t(), big[:1024])),
        "conv2d": (lambda: f.conv2d(image, kernel, padding=1), lambda: f.conv2d(image, kernel)),
        "sdpa": (lambda: f.scaled_dot_product_attention(q, k, v), lambda: f.scaled_dot_product_attention(q, k, v, is_causal=True)),
        "foreach of a flat buffer": (lambda: torch._foreach_add_(ps[::2], 1), lambda: torch._foreach_mul_(ps[1::2], 2.0)),
        "foreach copies": (lambda: torch._foreach_copy_(ps[::2], gs[::2]), lambda: torch._foreach_copy_(ps[1::2], gs[1::2])),
        "AdamW": (step(ps[:20], adam), step(ps[20:40], adam)),
        "AdamW, fused": (step(ps[40:60], fused), step(ps[60:80], fused)),
        "SGD": (step(ps[80:100], single), step(ps[100:120], single)),
    }


def apart():
    """Nothing orders the two, and nothing need."""
    nvtx = torch.cuda.nvtx
    keep, done = [], []
    for name, both in pairs().items():
        try:
            for fn in both:
                keep.append(fn())
        except Exception as e:  # an operator that takes no such tensors
            print("not run:", name, str(e)[:100])
            continue
        for s, fn in zip(streams(), both):
            with torch.cuda.stream(s):
                nvtx.range_push(name)
                keep.append(fn())
                nvtx.range_pop()
        torch.cuda.synchronize()
        done.append(name.replace(" ", "_"))
    print("operators", *done)


def replicas():
    """Four streams run one model on inputs of their own; the main stream gathers."""
    f = torch.nn.functional
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.LayerNorm(512),
                                torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 64)).to(dev)
    main = torch.cuda.current_stream()
    s = streams(4)
    with torch.no_grad():
        for step in range(4):
            xs = [torch.randn(64, 256, device=dev) for _ in range(4)]
            outs = []
            for i in range(4):
                s[i].wait_stream(main)
                with torch.cuda.stream(s[i]):
                    xs[i].record_stream(s[i])
                    outs.append(f.softmax(model(xs[i]), -1))
            for i in range(4):
                main.wait_stream(s[i])
                outs[i].record_stream(main)
            total = torch.cat(outs).sum()
    print("sum %.1f" % float(total))


def pipeline():
    """Two stages on two streams, buffers taken in turn, ordered by events."""
    w1, w2 = torch.randn(512, 512, device=dev) / 23, torch.randn(512, 512, device=dev) / 23
    host = [torch.randn(128, 512).pin_memory() for _ in range(2)]
    x = [torch.empty(128, 512, device=dev) for _ in range(2)]
    mid = [torch.empty(128, 512, device=dev) for _ in range(2)]
    out = [torch.empty(128, 512, device=dev) for _ in range(2)]
    back = [torch.empty(128, 512).pin_memory() for _ in range(2)]
    a, b = streams()
    ready = [torch.cuda.Event() for _ in range(2)]
    free = [torch.cuda.Event() for _ in range(2)]
    for step in range(8):
        i = step % 2
        with torch.cuda.stream(a):
            a.wait_event(free[i])
            x[i].copy_(host[i], non_blocking=True)
            torch.mm(x[i], w1, out=mid[i])
            mid[i].relu_()
            ready[i].record(a)
        with torch.cuda.stream(b):
            b.wait_event(ready[i])
            torch.mm(mid[i], w2, out=out[i])
            torch.softmax(out[i], -1, out=out[i])
            back[i].copy_(out[i], non_blocking=True)
            free[i].record(b)
    torch.cuda.synchronize()
    print("sum %.1f" % float(back[0].sum()))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
