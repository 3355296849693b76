# SPDX-License-Identifier: Apache-2.0
"""Small programs of the frameworks, for coverage.sh: coverage.py torch|cupy|jax|triton.

Exit code 77: the framework is not there.
"""
import sys


def torch():
    import torch
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
    opt = torch.optim.Adam(model.parameters())
    side = torch.cuda.Stream()
    for step in range(5):
        host = torch.randn(64, 256).pin_memory()
        with torch.cuda.stream(side):
            x = host.cuda(non_blocking=True)
        torch.cuda.current_stream().wait_stream(side)
        x.record_stream(torch.cuda.current_stream())
        loss = model(x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        done = torch.cuda.Event(enable_timing=True)
        done.record()
        done.synchronize()
    print(loss.item())
    conv = torch.nn.Conv2d(3, 8, 3).cuda()
    print(conv(torch.ones(2, 3, 32, 32, device="cuda")).sum().item())
    static = torch.zeros(64, 256, device="cuda")
    graph = torch.cuda.CUDAGraph()
    warm = torch.cuda.Stream()
    with torch.cuda.stream(warm), torch.no_grad():
        model(static)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph), torch.no_grad():
        out = model(static)
    for _ in range(5):
        graph.replay()
    torch.cuda.synchronize()
    print(torch.fft.fft(out.float()).abs().sum().item() >= 0)
    torch.cuda.empty_cache()


def cupy():
    import cupy
    import numpy
    kernel = cupy.RawKernel('extern "C" __global__ void twice(float *p, int n)'
                            '{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] *= 2; }', "twice")
    stream = cupy.cuda.Stream(non_blocking=True)
    for _ in range(3):
        with stream:
            x = cupy.asarray(numpy.ones(1 << 16, dtype=numpy.float32))
            kernel((256,), (256,), (x, numpy.int32(1 << 16)))
            y = cupy.dot(x.reshape(256, 256), x.reshape(256, 256))
            event = cupy.cuda.Event()
            event.record(stream)
        stream.wait_event(event)
        event.synchronize()
        stream.synchronize()
        print(float(y.sum()), float(abs(cupy.fft.fft(x)).sum()) > 0)
    cupy.get_default_memory_pool().free_all_blocks()
    with cupy.cuda.using_allocator(cupy.cuda.MemoryAsyncPool().malloc):
        z = cupy.zeros(1000)
        del z
    with stream:
        stream.begin_capture()
        kernel((256,), (256,), (x, numpy.int32(1 << 16)))
        graph = stream.end_capture()
    for _ in range(3):
        graph.launch(stream)
    stream.synchronize()


def jax():
    import os
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp

    @jax.jit
    def step(w, x):
        return w - 0.1 * jax.grad(lambda v: jnp.tanh(x @ v).mean())(w)

    assert jax.devices()[0].platform == "gpu"
    w = jnp.ones((256, 256))
    x = jax.random.normal(jax.random.key(0), (64, 256))
    for _ in range(5):
        w = step(w, x)
    print(float(w.sum()), float(jnp.abs(jnp.fft.fft(x)).sum()) > 0)


def triton():
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def add(a, b, n, block: tl.constexpr):
        at = tl.program_id(0) * block + tl.arange(0, block)
        tl.store(a + at, tl.load(a + at, at < n) + tl.load(b + at, at < n), at < n)

    a = torch.ones(10000, device="cuda")
    b = torch.ones(10000, device="cuda")
    for _ in range(5):
        add[(triton.cdiv(10000, 1024),)](a, b, 10000, block=1024)
    print(a.sum().item())


try:
    {"torch": torch, "cupy": cupy, "jax": jax, "triton": triton}[sys.argv[1]]()
except ImportError as e:
    print("no", sys.argv[1], e)
    sys.exit(77)
