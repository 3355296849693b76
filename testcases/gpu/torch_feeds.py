# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs for the two feeds of `krtsan run --torch`; torch_feeds.sh runs
them.  torch_feeds.py CASE; what is printed must not depend on krtsan."""
import sys
import threading
import time

import torch

case = sys.argv[1]
N = 1 << 20
dev = torch.device("cuda")


def mlp():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.LayerNorm(512),
                               torch.nn.Linear(512, 64)).to(dev)


def busy():
    torch.cuda._sleep(40_000_000)


def handed_over(how, kernels):
    """A tensor of the main stream is used on a side stream and dropped while that runs."""
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()
    x, y = torch.ones(N, device=dev), torch.zeros(N, device=dev)
    w = torch.full((N,), 7.0, device=dev)
    torch.cuda.synchronize()
    address = x.data_ptr()
    with torch.cuda.stream(side):
        busy()
        if kernels:
            torch.mul(x, 2, out=y)
        else:
            y.copy_(x)
    if how == "record_stream":
        x.record_stream(side)
    elif how == "wait":
        main.wait_stream(side)
    del x
    z = torch.empty(N, device=dev)
    if kernels:
        torch.add(w, 1, out=z)
    else:
        z.copy_(w)
    if how != "record_stream":  # there it depends on how fast the side stream is
        print("same memory:", z.data_ptr() == address)
    torch.cuda.synchronize()
    if how != "forgotten":
        print("sums", float(y.sum()), float(z.sum()))


def handed_over_in_graph(how, kernels):
    side = torch.cuda.Stream()
    a, b = torch.ones(N, device=dev), torch.full((N,), 7.0, device=dev)
    y, out = torch.zeros(N, device=dev), torch.zeros(N, device=dev)
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        main = torch.cuda.current_stream()
        t = torch.empty(N, device=dev)
        t.copy_(a)
        address = t.data_ptr()
        side.wait_stream(main)
        with torch.cuda.stream(side):
            torch.mul(t, 2, out=y) if kernels else y.copy_(t)
        if how == "wait":
            main.wait_stream(side)
        elif how == "record_stream":
            t.record_stream(side)
        del t
        u = torch.empty(N, device=dev)
        same = u.data_ptr() == address
        torch.add(b, 1, out=u) if kernels else u.copy_(b)
        out.copy_(u)
        del u
        main.wait_stream(side)
    for _ in range(3):
        g.replay()
    torch.cuda.synchronize()
    print("same memory:", same)
    if how != "forgotten":
        print("sums", float(y.sum()), float(out.sum()))


def graph_mlp():
    model, opt_in = mlp(), torch.zeros(32, 256, device=dev)
    s = torch.cuda.Stream()
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s), torch.no_grad():
        for _ in range(3):
            model(opt_in)
    torch.cuda.current_stream().wait_stream(s)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g), torch.no_grad():
        out = model(opt_in)
    gen = torch.Generator(device="cpu").manual_seed(5)
    for _ in range(20):
        opt_in.copy_(torch.randn(32, 256, generator=gen))
        g.replay()
        print(float(out.sum()).hex())
    del out
    g.replay()
    torch.cuda.synchronize()


def graph_train():
    """A whole training step in a graph, as the documentation has it."""
    model = mlp()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(32, 256, device=dev), torch.randn(32, 64, device=dev)
    s = torch.cuda.Stream()
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        for _ in range(3):
            opt.zero_grad(set_to_none=True)
            torch.nn.functional.mse_loss(model(x), y).backward()
            opt.step()
    torch.cuda.current_stream().wait_stream(s)
    g = torch.cuda.CUDAGraph()
    opt.zero_grad(set_to_none=True)
    with torch.cuda.graph(g):
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        opt.step()
    for i in range(10):
        x.fill_(i * 0.1)
        g.replay()
        print(float(loss).hex())


def graph_two_pools():
    """Two graphs that share a pool, replayed in the order of their capture."""
    model, x = mlp(), torch.ones(32, 256, device=dev)
    with torch.no_grad():
        model(x)
        torch.cuda.synchronize()
        g1, g2 = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(g1):
            h = model(x)
        with torch.cuda.graph(g2, pool=g1.pool()):
            out = torch.softmax(h, 1) @ h.t()
    for _ in range(5):
        g1.replay()
        g2.replay()
    print(float(out.sum()).hex())


def graph_stale(freed, kernels):
    static = torch.ones(N, device=dev)
    out, w = torch.zeros(N, device=dev), torch.full((N,), 7.0, device=dev)
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        torch.mul(static, 2, out=out) if kernels else out.copy_(static)
    g.replay()
    torch.cuda.synchronize()
    other = None
    if freed:
        address = static.data_ptr()
        del static
        other = torch.empty(N, device=dev)
        other.copy_(w)
        print("same memory:", other.data_ptr() == address)
    g.replay()
    torch.cuda.synchronize()
    print(float(out.sum()))


def compiled(train):
    model = mlp()
    fast = torch.compile(model, mode="reduce-overhead")
    gen = torch.Generator().manual_seed(5)
    for i in range(12):
        x = torch.randn(32, 256, generator=gen).to(dev)
        if train:
            torch.compiler.cudagraph_mark_step_begin()
            loss = fast(x).square().mean()
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.01 * p.grad
                    p.grad = None
            print("%.3f" % float(loss))
        else:
            with torch.no_grad():
                print("%.3f" % float(fast(x).sum()))


def compiled_shapes():
    """Two shapes and a graph break: several graphs in one tree, paths taken in turn."""
    def f(x):
        y = torch.sin(x) @ x.t()
        torch._dynamo.graph_break()
        return torch.cos(y) + y

    fast = torch.compile(f, mode="reduce-overhead", dynamic=False)
    for i in range(12):
        n = 64 if i % 2 else 32
        torch.compiler.cudagraph_mark_step_begin()
        out = fast(torch.full((n, n), 0.01 * i, device=dev))
        print("%.3f" % float(out.sum()))


def stats():
    a = torch.empty(3 << 20, device=dev)
    b = torch.empty(1000, device=dev)
    print(torch.cuda.memory_allocated(), torch.cuda.memory_reserved())
    del a
    print(torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated())
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    print(torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), torch.cuda.max_memory_allocated())
    c = torch.zeros(5 << 20, device=dev)
    print(torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
    s = torch.cuda.memory_stats()
    for key in ("allocation.all.current", "allocated_bytes.all.current", "num_alloc_retries", "num_ooms"):
        print(key, s[key])
    torch.cuda.reset_accumulated_memory_stats()
    print(torch.cuda.memory_stats()["allocation.all.allocated"])
    print(float(b.fill_(1).sum() + c.sum()))
    print(len(torch.cuda.memory_summary()) > 1000)


def out_of_memory():
    try:
        torch.empty(1 << 50, dtype=torch.uint8, device=dev)
    except RuntimeError as e:  # of which OutOfMemoryError is one kind
        print("CUDA out of memory" in str(e))
    print(float(torch.ones(10, device=dev).sum()))


def threads():
    """Each thread on a stream of its own, with blocks coming and going."""
    sums = {}

    def work(k):
        s = torch.cuda.Stream()
        with torch.cuda.stream(s):
            x = torch.full((1000 * (k + 1),), float(k), device=dev)
            for i in range(200):
                x = x + torch.ones(1000 * (k + 1), device=dev) * 0.5
            s.synchronize()
            sums[k] = float(x.sum())

    ts = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    print(sorted(sums.items()))


def loader():
    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 64

        def __getitem__(self, i):
            return torch.full((1000,), float(i))

    total = 0.0
    copy = torch.cuda.Stream()
    for x in torch.utils.data.DataLoader(Data(), batch_size=8, num_workers=2, pin_memory=True):
        with torch.cuda.stream(copy):
            d = x.to(dev, non_blocking=True)
        torch.cuda.current_stream().wait_stream(copy)
        d.record_stream(torch.cuda.current_stream())
        total += float(d.sum())
    print(total)


def children():
    import subprocess
    print(subprocess.run([sys.executable, __file__, "small"], capture_output=True, text=True).stdout.strip())
    torch.multiprocessing.spawn(small, nprocs=2)


def small(rank=0):
    print("small", float((torch.ones(1000, device=dev) * 2).sum()), flush=True)


def benchmark():
    """cudnn.benchmark with a convolution: refused by the replace feed."""
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(1)
    conv = torch.nn.Conv2d(3, 8, 3).to(dev)
    print(conv(torch.ones(2, 3, 32, 32, device=dev)).shape)


def cost():
    """Microseconds of an allocation with its free, and of a training step."""
    def per(n, f):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(n):
            f()
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) / n * 1e6

    model = mlp()
    opt = torch.optim.AdamW(model.parameters())
    x, y = torch.randn(32, 256, device=dev), torch.randn(32, 64, device=dev)

    def step():
        opt.zero_grad(set_to_none=True)
        torch.nn.functional.mse_loss(model(x), y).backward()
        opt.step()

    per(20, step)
    sys.stderr.write("cost: alloc %.1f us, step %.1f us\n" %
                     (per(2000, lambda: torch.empty(1000, device=dev)), per(100, step)))


def cupy_pool():
    """The recipe of the README: CuPy's pool told to krtsan."""
    import cupy
    import krtsan_cupy
    krtsan_cupy.install(cupy)
    s1, s2 = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    with s1:
        x = cupy.ones(N, dtype="f4")
        w = cupy.ones(N, dtype="f4")
    y = cupy.empty(N, dtype="f4")
    cupy.cuda.runtime.deviceSynchronize()
    address = x.data.ptr
    torch.cuda.synchronize()
    cupy.cuda.runtime.memcpyAsync(y.data.ptr, x.data.ptr, 4 * N, 3, s2.ptr)
    if sys.argv[2] == "fixed":
        s2.synchronize()
    del x
    with s1:
        z = cupy.empty(N, dtype="f4")
        cupy.cuda.runtime.memcpyAsync(z.data.ptr, w.data.ptr, 4 * N, 3, s1.ptr)
    print("same memory:", z.data.ptr == address)
    cupy.cuda.runtime.deviceSynchronize()


def busy_threads():
    """Backward passes on threads with streams of their own, blocks handed between streams."""
    results = {}

    def work(k):
        torch.manual_seed(k)
        model, s, side = mlp(), torch.cuda.Stream(), torch.cuda.Stream()
        total = 0.0
        with torch.cuda.stream(s):
            s.wait_stream(torch.cuda.default_stream())
            for i in range(60):
                x = torch.full((32, 256), 0.01 * (i + k), device=dev)
                model(x).square().mean().backward()
                side.wait_stream(s)
                with torch.cuda.stream(side):
                    y = x * 2
                x.record_stream(side)
                s.wait_stream(side)
                y.record_stream(s)
                del x
                z = y + 1
            s.synchronize()
            total = float(z.sum())
        results[k] = total

    ts = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    print(["%.2f" % results[k] for k in sorted(results)])


def probe():
    """What this PyTorch offers to the feeds."""
    import importlib.util
    import os
    C = torch._C
    print("torch", torch.__version__, "cuda", torch.version.cuda, "python", sys.version.split()[0])
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/torch/krtsan_torch.py")
    spec = importlib.util.spec_from_file_location("feed", folder)
    feed = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(feed)
    torch.cuda.init()
    watch = feed.Watch(torch, None)
    import ctypes
    try:
        allocator = ctypes.c_void_p.in_dll(feed._loaded("libc10_cuda.so"), watch.ALLOCATOR).value
        print("  backend %s, tracker at place %d of the table" % (C._cuda_getAllocatorBackend(), watch.slot(allocator)))
    except Exception as e:
        print("  no tracker:", type(e).__name__, e)
    try:
        print("  trace entries as known:", watch.compare() is None)
    except Exception as e:
        print("  trace entries:", e)
    nop = ctypes.cast(ctypes.CFUNCTYPE(None)(lambda: None), ctypes.c_void_p).value
    print("  allocator object:", [n for n in dir(C._cuda_customAllocator(nop, nop)) if n.startswith("set_")])
    for m in ("triton", "cupy", "rmm"):
        try:
            print("  %s %s" % (m, __import__(m).__version__))
        except ImportError:
            print("  no", m)


def main():
    how = sys.argv[2] if len(sys.argv) > 2 else ""
    kernels = "kernels" in sys.argv
    if case == "handed_over":
        handed_over(how, kernels)
    elif case == "handed_over_in_graph":
        handed_over_in_graph(how, kernels)
    elif case == "graph_stale":
        graph_stale(how == "freed", kernels)
    elif case == "compiled":
        compiled(how == "train")
    else:
        globals()[case]()


if __name__ == "__main__":
    main()
