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


def stats():
    a, b = torch.empty(1000), torch.empty(100000)
    print(torch.cuda.memory_allocated())
    del a
    print(torch.cuda.memory_allocated())
    torch._C._cuda_resetPeakMemoryStats(0)
    torch.cuda.empty_cache()
    print(torch.cuda.memory_allocated(), b.fill_(3).first())


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


def seen():
    """What the program can see of the feed."""
    import os
    print([p for p in sys.path if p.endswith("/torch")], [f for f in sys.meta_path if "krtsan" in repr(f)],
          "exec_module" in vars(torch.__loader__), sys.modules.get("sitecustomize"))


if __name__ == "__main__":
    if case in ("handed_over", "graph"):
        globals()[case](sys.argv[2] if case == "handed_over" else sys.argv[2] == "freed")
    else:
        globals()[case]()
