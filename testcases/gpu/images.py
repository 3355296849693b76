# SPDX-License-Identifier: Apache-2.0
"""Kernels of every origin that PyTorch has: eager, a library's, compiled, written in Triton."""
import torch

x = torch.randn(1 << 16, device="cuda")
y = (x * 2 + 1).relu().sum()
z = torch.randn(256, 256, device="cuda") @ torch.randn(256, 256, device="cuda")
print("eager", float(y), float(z.sum()))

try:
    import triton
    import triton.language as tl

    @triton.jit
    def scale(src, dst, n, block: tl.constexpr):
        i = tl.program_id(0) * block + tl.arange(0, block)
        tl.store(dst + i, tl.load(src + i, mask=i < n) * 3, mask=i < n)

    out = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), block=1024)
    print("triton", float((out - 3 * x).abs().max()))
except Exception as e:  # no Triton, or no compiler for its launcher
    print("triton: not run:", e)

try:
    f = torch.compile(lambda a: (a.sin() + a.cos() * 2).softmax(-1))
    print("compiled", float(f(x.view(256, 256)).sum()))
except Exception as e:
    print("compiled: not run:", e)
