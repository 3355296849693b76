# SPDX-License-Identifier: Apache-2.0
"""As much of PyTorch as the feeds of krtsan touch, over the driver API by ctypes:
for tests without PyTorch and without a GPU.  Names and shapes are PyTorch's; what
is behind them is as small as it can be."""
import ctypes
import os
from types import SimpleNamespace

__version__ = "2.11.0+fake"
version = SimpleNamespace(cuda="13.0")
_driver = ctypes.CDLL("libcuda.so.1")
_c10 = ctypes.CDLL(os.environ["FAKETORCH"] + "/libc10_cuda.so", mode=ctypes.RTLD_GLOBAL)
_c10.fake_trace.argtypes = [ctypes.c_int] + 4 * [ctypes.c_uint64]
ctypes.CDLL(os.environ["FAKETORCH"] + "/libtorch_cuda.so")
u64, ref = ctypes.c_uint64, ctypes.byref


def _ok(result):
    if result:
        raise RuntimeError("CUDA error %d" % result)


class OutOfMemoryError(RuntimeError):
    pass


class _Native:
    """The caching allocator: segments of 2 MiB a stream, blocks of 512 bytes and more, first fit."""

    def __init__(self):
        self.free, self.live, self.segments = {}, {}, []
        self.stat = {k: dict(current=0, peak=0, allocated=0, freed=0) for k in ("allocation", "allocated_bytes")}

    def count(self, key, n):
        s = self.stat[key]
        s["current"] += n
        s["peak"] = max(s["peak"], s["current"])
        s["allocated" if n > 0 else "freed"] += abs(n)

    def pool(self, stream):
        if cuda._eager_pool is not None:
            return cuda._eager_pool
        return cuda._capture_pool if cuda._capture_pool is not None and stream == cuda._capture_stream else "default"

    def trace(self, action, at, size, key):
        """Told with the pool, under the allocator's lock in the real one."""
        _c10.fake_trace(action, at, size, key[1] or 0, key[0] if isinstance(key[0], int) else 0)

    def malloc(self, size, stream):
        asked, size = size, max(512, (size + 511) // 512 * 512)
        pool = self.pool(stream)
        key = pool, stream
        for i, (at, room) in enumerate(self.free.setdefault(key, [])):
            if room >= size:
                break
        else:
            room, out, i = max(2 << 20, size), u64(), 0
            mode = ctypes.c_int(2)
            _driver.cuThreadExchangeStreamCaptureMode(ref(mode))
            _ok(_driver.cuMemAlloc_v2(ref(out), ctypes.c_size_t(room)))
            _driver.cuThreadExchangeStreamCaptureMode(ref(mode))
            at = out.value
            self.segments.append((at, room, stream))
            self.free[key].insert(0, (at, room))
        del self.free[key][i]
        if room > size:
            self.free[key].insert(i, (at + size, room - size))
        self.live[at] = size, key, asked
        self.count("allocation", 1)
        self.count("allocated_bytes", size)
        self.trace(0, at, asked, key)
        return at

    def delete(self, at):
        size, key, asked = self.live.pop(at)
        self.trace(1, at, asked, key)
        self.count("allocation", -1)
        self.count("allocated_bytes", -size)
        self.free[key].insert(0, (at, size))

    def record_stream(self, at, stream):
        pass

    def empty_cache(self):
        pass


class _Pluggable:
    def __init__(self, alloc, free):
        self.alloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)(alloc)
        self.free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)(free)
        self.sizes = {}

    def set_record_stream_fn(self, fn):
        self.on_use = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(fn)

    def set_reset_fn(self, fn):
        self.empty_cache = ctypes.CFUNCTYPE(None)(fn)

    def set_base_alloc_fn(self, fn):
        self.base = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(fn)

    def set_begin_allocate_to_pool(self, fn):
        self.begin = ctypes.CFUNCTYPE(None, ctypes.c_int, u64, u64, ctypes.c_void_p)(fn)

    def set_end_allocate_to_pool_fn(self, fn):
        self.end = ctypes.CFUNCTYPE(None, ctypes.c_int, u64, u64)(fn)

    def set_release_pool(self, fn):
        self.release = ctypes.CFUNCTYPE(None, ctypes.c_int, u64, u64)(fn)

    def malloc(self, size, stream):
        at = self.alloc(size, 0, stream)
        self.sizes[at] = size, stream
        return at

    def delete(self, at):
        size, stream = self.sizes.pop(at)
        self.free(at, size, 0, stream)

    def record_stream(self, at, stream):
        self.on_use(at, stream)


_allocator = _Native()


def _change(allocator):
    global _allocator
    if cuda.is_initialized():
        raise RuntimeError("Can't swap an already initialized allocator")
    _allocator = allocator


def _stats(device):
    if not isinstance(_allocator, _Native):
        raise RuntimeError("CUDAPluggableAllocator does not yet support getDeviceStats")
    return {k: {p: dict(v) for p in ("all", "small_pool", "large_pool")} for k, v in _allocator.stat.items()}


def _reset(device, peak):
    _stats(device)
    for s in _allocator.stat.values():
        s.update(peak=s["current"]) if peak else s.update(allocated=0, freed=0)


_C = SimpleNamespace(
    _cuda_getAllocatorBackend=lambda: "native" if isinstance(_allocator, _Native) else "pluggable",
    _cuda_getDevice=lambda: 0,
    _cuda_memoryStats=_stats,
    _cuda_memorySnapshot=lambda pool=None: {},
    _cuda_resetPeakMemoryStats=lambda device: _reset(device, True),
    _cuda_resetAccumulatedMemoryStats=lambda device: _reset(device, False),
    _cuda_customAllocator=_Pluggable,
    _cuda_changeCurrentAllocator=_change,
    _cuda_cudaCachingAllocator_raw_alloc=lambda size, stream: _allocator.malloc(size, stream),
    _cuda_getCheckpointState=lambda device, pool: None,
    _set_cudnn_benchmark=lambda on: None,
)


class _Property:
    def __init__(self, setter):
        self.setter = setter

    def __get__(self, obj, kind):
        return False

    def __set__(self, obj, value):
        self.setter(value)


class _Cudnn:
    benchmark = _Property(_C._set_cudnn_benchmark)


backends = SimpleNamespace(cudnn=_Cudnn())


def compile(model, mode=None, options=None):
    return model


class Tensor:
    """Bytes on the device."""

    def __init__(self, n):
        cuda._lazy_init()
        self.n, self.at = n, _allocator.malloc(n, cuda._current)

    def __del__(self):
        if cuda and getattr(self, "at", None):
            _allocator.delete(self.at)

    def data_ptr(self):
        return self.at

    def copy_(self, other):
        _ok(_driver.cuMemcpyDtoDAsync_v2(u64(self.at), u64(other.at), ctypes.c_size_t(min(self.n, other.n)),
                                         ctypes.c_void_p(cuda._current)))
        return self

    def fill_(self, byte):
        _ok(_driver.cuMemsetD8Async(u64(self.at), ctypes.c_ubyte(byte), ctypes.c_size_t(self.n),
                                    ctypes.c_void_p(cuda._current)))
        return self

    def first(self):
        out = ctypes.create_string_buffer(1)
        cuda.synchronize()
        _ok(_driver.cuMemcpyDtoH_v2(out, u64(self.at), ctypes.c_size_t(1)))
        return out.raw[0]

    def record_stream(self, stream):
        _allocator.record_stream(self.at, stream.handle)


def empty(n, device=None):
    return Tensor(n)


from . import cuda  # noqa: E402
