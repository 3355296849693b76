# SPDX-License-Identifier: Apache-2.0
import contextlib
import ctypes

import torch

_initialized = False
_queued = []
_current = 0
_capture_pool = None
_capture_stream = 0
_eager_pool = None
_pools = 0


def is_initialized():
    return _initialized


def _lazy_call(fn):
    fn() if _initialized else _queued.append(fn)


def _lazy_init():
    global _initialized
    if _initialized:
        return
    d, ctx = torch._driver, ctypes.c_void_p()
    torch._ok(d.cuInit(0))
    torch._ok(d.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0))
    torch._ok(d.cuCtxSetCurrent(ctx))
    _initialized = True
    for fn in _queued:
        fn()


def synchronize():
    torch._ok(torch._driver.cuCtxSynchronize())


class Stream:
    def __init__(self):
        _lazy_init()
        self.handle = ctypes.c_void_p()
        torch._ok(torch._driver.cuStreamCreate(ctypes.byref(self.handle), 1))
        self.handle = self.handle.value

    def wait_stream(self, other):
        e, d = ctypes.c_void_p(), torch._driver
        torch._ok(d.cuEventCreate(ctypes.byref(e), 2))
        torch._ok(d.cuEventRecord(e, ctypes.c_void_p(getattr(other, "handle", other))))
        torch._ok(d.cuStreamWaitEvent(ctypes.c_void_p(self.handle), e, 0))
        torch._ok(d.cuEventDestroy_v2(e))

    def synchronize(self):
        torch._ok(torch._driver.cuStreamSynchronize(ctypes.c_void_p(self.handle)))


def current_stream():
    s = Stream.__new__(Stream)
    s.handle = _current
    return s


@contextlib.contextmanager
def stream(s):
    global _current
    before, _current = _current, s.handle
    try:
        yield
    finally:
        _current = before


def memory_allocated():
    return torch._C._cuda_memoryStats(0)["allocated_bytes"]["all"]["current"]


def empty_cache():
    torch._allocator.empty_cache()


class CUDAGraph:
    def __init__(self, pool=None):
        global _pools
        _lazy_init()
        _pools += 1
        self.number = pool or _pools

    def capture_begin(self):
        """As PyTorch does: the capture first, then its pool."""
        global _capture_pool, _capture_stream
        torch._ok(torch._driver.cuStreamBeginCapture_v2(ctypes.c_void_p(_current), 0))
        _capture_pool, _capture_stream = self.number, _current
        if hasattr(torch._allocator, "begin"):
            torch._allocator.begin(0, 0, self.number, None)

    def capture_end(self):
        global _capture_pool
        graph = ctypes.c_void_p()
        if hasattr(torch._allocator, "end"):
            torch._allocator.end(0, 0, self.number)
        _capture_pool = None
        torch._ok(torch._driver.cuStreamEndCapture(ctypes.c_void_p(_current), ctypes.byref(graph)))
        self.exec = ctypes.c_void_p()
        torch._ok(torch._driver.cuGraphInstantiateWithFlags(ctypes.byref(self.exec), graph, ctypes.c_uint64(0)))
        torch._ok(torch._driver.cuGraphDestroy(graph))

    def replay(self):
        torch._ok(torch._driver.cuGraphLaunch(self.exec, ctypes.c_void_p(_current)))

    def reset(self):
        torch._ok(torch._driver.cuGraphExecDestroy(self.exec))
        if hasattr(torch._allocator, "release"):
            torch._allocator.release(0, 0, self.number)


@contextlib.contextmanager
def graph(g, s):
    synchronize()
    with stream(s):
        g.capture_begin()
        yield
        g.capture_end()
