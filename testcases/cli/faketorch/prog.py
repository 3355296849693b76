# SPDX-License-Identifier: Apache-2.0
"""Programs on the fake PyTorch: prog.py CASE."""
import sys

import torch

case = sys.argv[1]
N = 1 << 16


def handed_over(how):
    side, main = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(main):
        x, y, w = torch.empty(N).fill_(1), torch.empty(N).fill_(2), torch.empty(N).fill_(7)
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            y.copy_(x)
        if how == "record_stream":
            x.record_stream(side)
            torch.cuda.synchronize()
        elif how == "wait":
            main.wait_stream(side)
        at = x.data_ptr()
        del x
        z = torch.empty(N)
        z.copy_(w)
        if how != "record_stream":
            print("same memory:", z.data_ptr() == at)
        torch.cuda.synchronize()


def graph(freed):
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        static, out, w = torch.empty(N).fill_(1), torch.empty(N).fill_(2), torch.empty(N).fill_(7)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g, s):
        t = torch.empty(N)
        t.copy_(static)
        u = torch.empty(N)
        u.copy_(t)
        del t
        v = torch.empty(N)
        v.copy_(u)
        out.copy_(v)
    del u, v
    with torch.cuda.stream(s):
        g.replay()
        torch.cuda.synchronize()
        print(out.first())
        if freed:
            at = static.data_ptr()
            del static
            other = torch.empty(N).copy_(w)
            print("same memory:", other.data_ptr() == at)
        g.replay()
        torch.cuda.synchronize()
        print(out.first())
        g.reset()
        torch.cuda.empty_cache()


def handed_over_in_graph(how):
    s, side = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(s):
        a, b = torch.empty(N).fill_(1), torch.empty(N).fill_(7)
        y, out = torch.empty(N).fill_(0), torch.empty(N).fill_(0)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g, s):
        t = torch.empty(N).copy_(a)
        at = t.data_ptr()
        side.wait_stream(s)
        with torch.cuda.stream(side):
            y.copy_(t)
        if how == "wait":
            s.wait_stream(side)
        del t
        u = torch.empty(N).copy_(b)
        print("same memory:", u.data_ptr() == at)
        out.copy_(u)
        s.wait_stream(side)
    with torch.cuda.stream(s):
        g.replay()
        g.replay()
        torch.cuda.synchronize()


def two_graphs():
    """They share a pool, and the second takes the first one's temporaries and outputs over."""
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        a, b, out = torch.empty(N).fill_(1), torch.empty(N).fill_(2), torch.empty(N).fill_(3)
    g1 = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g1, s):
        t = torch.empty(N).copy_(a)
        h = torch.empty(N).copy_(t)
        del t
        out.copy_(h)
    del h
    g2 = torch.cuda.CUDAGraph(pool=g1.number)
    with torch.cuda.graph(g2, s):
        t = torch.empty(N).copy_(b)
        u = torch.empty(N).copy_(t)
        v = torch.empty(N).copy_(u)
        out.copy_(v)
    with torch.cuda.stream(s):
        for _ in range(3):
            g1.replay()
            torch.cuda.synchronize()
            first = out.first()
            g2.replay()
            torch.cuda.synchronize()
            print(first, out.first())


def stats():
    a, b = torch.empty(1000), torch.empty(100000)
    print(torch.cuda.memory_allocated())
    del a
    print(torch.cuda.memory_allocated())
    torch._C._cuda_resetPeakMemoryStats(0)
    torch.cuda.empty_cache()
    print(torch.cuda.memory_allocated(), b.fill_(3).first())


def worker():
    """Started with the parent's sys.path for its PYTHONPATH, as some pools of workers are."""
    import os
    import subprocess
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    subprocess.run([sys.executable, __file__, "compiled"], env=env, check=True)


def exits():
    torch.empty(1000)
    print("going")
    sys.exit(3)


def child():
    import subprocess
    print(subprocess.run([sys.executable, __file__, "stats"], capture_output=True, text=True).stdout, end="")


def benchmark():
    torch.backends.cudnn.benchmark = True


def compiled():
    torch.compile(None, mode="reduce-overhead")


def sizes():
    """Prints what the feed must have told."""
    told = []

    def tell(t, stream=0):
        told.append("alloc %#x %d 0x%x" % (t, torch._allocator.live[t][0], stream))
        return t

    first = [torch.empty(n) for n in (1, 512, 513, 100000, 3 << 20)]
    [tell(t.data_ptr()) for t in first]
    [tell(t.data_ptr()) for t in [torch.empty(600)]]
    told.append("free %s" % told[-1].split()[1])
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        x = torch.empty(9000)
        tell(x.data_ptr(), s.handle)
    tell(torch._C._cuda_cudaCachingAllocator_raw_alloc(2000, s.handle), s.handle)
    # In a capture: frees belong to the graph; those that come later are not told.
    with torch.cuda.graph(torch.cuda.CUDAGraph(), s):
        t = torch.empty(1000)
        tell(t.data_ptr(), s.handle)
        told.append("free %#x" % t.data_ptr())
        del t
        u = torch.empty(800)
        tell(u.data_ptr(), s.handle)
        told.append("free %#x" % x.data_ptr())  # not the graph's
        del x
    with torch.cuda.graph(torch.cuda.CUDAGraph(), s):
        del u  # of another capture
        w = torch.empty(1200)
        tell(w.data_ptr(), s.handle)
    del w
    with torch.cuda.stream(s):
        v = torch.empty(800)
        tell(v.data_ptr(), s.handle)
    # Eager allocations in a private pool.
    torch.cuda._eager_pool = 9
    quiet = torch.empty(2200)
    torch.cuda._eager_pool = None
    del quiet
    told.append("free %#x" % v.data_ptr())
    del v
    print("pool 1 PyTorch, device 0")
    print("\n".join(told))
    sys.stdout.flush()
    import os
    os.kill(os.getpid(), 9)


def nonsense():
    """An entry that is laid out otherwise stops the feed, and nothing else."""
    torch.empty(1000)
    torch._c10.fake_trace(0, 0x123, 100, 0, 0)
    torch.empty(1000)
    print("goes on")


def threads():
    """Blocks come and go on four threads, each with a stream."""
    import threading

    def work():
        cuda_current()
        s = torch.cuda.Stream()
        for i in range(50):
            at = torch._C._cuda_cudaCachingAllocator_raw_alloc(1000 + i, s.handle)
            torch._allocator.delete(at)

    def cuda_current():
        import ctypes
        ctx = ctypes.c_void_p()
        torch._ok(torch._driver.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0))
        torch._ok(torch._driver.cuCtxSetCurrent(ctx))

    torch.cuda._lazy_init()
    ts = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    print("done")


def seen():
    """What the program can see of the feed."""
    import os
    print([f for f in sys.meta_path if "sitecustomize" in type(f).__module__],
          "exec_module" in vars(torch.__loader__), sys.modules.get("sitecustomize"))


if __name__ == "__main__":
    if case == "graph":
        graph(sys.argv[2] == "freed")
    elif case.startswith("handed_over"):
        globals()[case](sys.argv[2])
    else:
        globals()[case]()
