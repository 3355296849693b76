# SPDX-License-Identifier: Apache-2.0
"""The two feeds that tell krtsan PyTorch's blocks (the pool interface of krtsan.h).

watch    PyTorch's own allocator stays; the callbacks that its CUDA sanitizer uses
         report each block, on the thread and at the moment of the call.
replace  libkrtsan.so allocates instead (interposer/torch.c).

A callback may run on any thread, with or without Python above it; the GIL is
held.  It calls nothing that allocates on the device, and never raises."""
import ctypes
import os
import sys
import threading

UNIT = 512  # PyTorch's smallest block, and the unit of all


def _say(text):
    sys.stderr.write("krtsan: torch: %s\n" % text)


def _library():
    """The process as ctypes sees it, if libkrtsan.so is in it."""
    lib = ctypes.CDLL(None)
    try:
        lib.krtsan_impl_block_alloc
    except AttributeError:
        return None
    word = ctypes.c_uint64
    for name, argc in (("pool_create", 3), ("block_alloc", 4), ("block_free", 1)):
        fn = getattr(lib, "krtsan_impl_" + name)
        fn.restype = None
        fn.argtypes = [word] * argc
    lib.krtsan_impl_pool_create.argtypes = [word, ctypes.c_uint32, ctypes.c_char_p]
    return lib


def install(torch):
    lib = _library()
    if lib is None or not hasattr(torch, "_C") or torch.version.cuda is None:
        return
    feed = lib.krtsan_torch_feed() if hasattr(lib, "krtsan_torch_feed") else 1
    if feed == 1:
        Watch(torch, lib).install()
    elif feed == 2:
        Replace(torch, lib).install()


def _not_compiled(torch, *functions):
    """torch.compile leaves our callbacks alone wherever they run."""
    try:
        from torch._C._dynamo import eval_frame
        skip = eval_frame._FrameAction.SKIP
        strategy = eval_frame._FrameExecStrategy(skip, skip)
        for f in functions:
            eval_frame.set_code_exec_strategy(f.__code__, strategy)
    except (ImportError, AttributeError, TypeError):
        pass


def _replace(torch, name, make):
    """Puts make(function) in the place of a function of torch._C, also where it was imported by name."""
    real = getattr(torch._C, name, None)
    if real is None:
        return
    fake = make(real)
    setattr(torch._C, name, fake)
    memory = getattr(torch.cuda, "memory", None)
    if getattr(memory, name, None) is real:
        setattr(memory, name, fake)


_pools = {}


def _pool(lib, device):
    """The address that names PyTorch's blocks on a device; told once."""
    word = _pools.get(device)
    if word is None:
        word = _pools[device] = ctypes.create_string_buffer(16)
        lib.krtsan_impl_pool_create(ctypes.addressof(word), 1, b"PyTorch, device %d" % device)
    return ctypes.addressof(word)


def _told(torch, lib):
    """Says that there is a feed in this process, as soon as something listens: when CUDA is initialised."""
    def tell():
        try:
            _pool(lib, torch._C._cuda_getDevice())
        except Exception:
            pass
    try:
        torch.cuda._lazy_call(tell)
    except Exception:
        pass


# Memory of private pools, outside of captures: nothing is told of it.
_PRIVATE = -1


class Watch:
    """Blocks as PyTorch's allocator hands them out.

    What a capture allocates, and frees before it ends, is told while it goes on and
    so belongs to the graph.  After that the memory is the pool's, which hands it to
    nobody but other graphs (and their warm-up runs) of the same pool, and PyTorch
    answers for their order: frees and allocations there are not told."""

    def __init__(self, torch, lib):
        self.torch, self.C, self.lib = torch, torch._C, lib
        self.note_alloc = lib.krtsan_impl_block_alloc
        self.note_free = lib.krtsan_impl_block_free
        self.seen = {}      # device -> (allocations, bytes) that the statistics had told
        self.captured = {}  # block of a private pool -> number of its capture, or _PRIVATE
        self.capture = 0    # number of the capture under way, or of the last one
        self.routed = []    # (pool, thread or None) whose allocations go to a private pool, eagerly
        self.stream = {}    # thread -> stream given to caching_allocator_alloc

    def install(self):
        torch, C = self.torch, self.C
        _told(torch, self.lib)
        settings = os.environ.get("PYTORCH_ALLOC_CONF", "") + os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")
        if os.environ.get("PYTORCH_NO_CUDA_MEMORY_CACHING") or "cudaMallocAsync" in settings:
            return  # each tensor is an allocation of the driver's, which krtsan sees
        try:
            from importlib import import_module
            trace = import_module("torch.cuda._gpu_trace")
            on_alloc = trace.register_callback_for_memory_allocation
            on_free = trace.register_callback_for_memory_deallocation
            activate, self.stats = C._activate_gpu_trace, C._cuda_memoryStats
            self.raw_stream, self.device = C._cuda_getCurrentRawStream, C._cuda_getDevice
            self.in_capture = C._cuda_isCurrentStreamCapturing
        except (ImportError, AttributeError) as error:
            _say("PyTorch %s has no allocation callbacks (%s); --torch=replace may do" %
                 (torch.__version__, error))
            return
        _not_compiled(torch, Watch.on_alloc, Watch.on_free, Watch.size, Watch.block_of, Watch.is_private, _pool)
        self.follow_captures()
        self.follow_pools()
        self.follow_checkpoints()
        self.follow_streams()
        on_alloc(self.on_alloc)
        on_free(self.on_free)
        activate()

    # -- what changes without callbacks --

    def follow_captures(self):
        """Two captures in a row are two."""
        graph = getattr(self.torch.cuda, "CUDAGraph", None)
        real = getattr(graph, "capture_begin", None)
        if not real:
            return
        from functools import wraps
        feed = self

        @wraps(real)
        def capture_begin(self, *args, **kwargs):
            feed.capture += 1
            return real(self, *args, **kwargs)

        graph.capture_begin = capture_begin

    def follow_pools(self):
        def begin(real, everyone):
            def begin_allocate(device, pool, *args):
                result = real(device, pool, *args)
                self.routed.append((tuple(pool), None if everyone else threading.get_ident()))
                return result
            return begin_allocate

        def end(real):
            def end_allocate(device, *args):
                for i in reversed(range(len(self.routed))):
                    if not args or self.routed[i][0] == tuple(args[0]):
                        del self.routed[i]
                        break
                return real(device, *args)
            return end_allocate

        _replace(self.torch, "_cuda_beginAllocateToPool", lambda real: begin(real, True))
        _replace(self.torch, "_cuda_beginAllocateCurrentThreadToPool", lambda real: begin(real, False))
        _replace(self.torch, "_cuda_beginAllocateCurrentStreamToPool", lambda real: begin(real, False))
        _replace(self.torch, "_cuda_endAllocateToPool", end)
        _replace(self.torch, "_cuda_endAllocateCurrentStreamToPool", end)

    def follow_checkpoints(self):
        """Cudagraph trees set a pool back to what it was."""
        def follow(real):
            def set_state(device, *args):
                result = real(device, *args)
                self.seen.pop(device, None)
                try:
                    for s in self.segments():
                        if s["device"] == device and tuple(s.get("segment_pool_id", (0, 0))) != (0, 0):
                            at = s["address"]
                            for b in s["blocks"]:
                                if b["state"] == "active_allocated":
                                    self.captured.setdefault(at, _PRIVATE)
                                at += b["size"]
                except Exception:
                    pass
                return result
            return set_state

        _replace(self.torch, "_cuda_setCheckpointPoolState", follow)

    def follow_streams(self):
        """The stream of an allocation that names one."""
        def follow(real):
            def raw_alloc(size, stream):
                thread = threading.get_ident()
                self.stream[thread] = stream
                try:
                    return real(size, stream)
                finally:
                    self.stream.pop(thread, None)
            return raw_alloc

        _replace(self.torch, "_cuda_cudaCachingAllocator_raw_alloc", follow)

    # -- the callbacks --

    def segments(self):
        snapshot = self.C._cuda_memorySnapshot
        try:
            return snapshot(None)["segments"]
        except TypeError:
            return snapshot()["segments"]

    def block_of(self, ptr, device):
        for s in self.segments():
            if s["device"] == device and s["address"] <= ptr < s["address"] + s["total_size"]:
                at = s["address"]
                for b in s["blocks"]:
                    if at == ptr:
                        return b["size"]
                    at += b["size"]
        return 0

    def size(self, ptr, device):
        """The statistics tell it if they grew by one allocation since we looked, else the snapshot."""
        s = self.stats(device)
        now = s["allocation"]["all"]["allocated"], s["allocated_bytes"]["all"]["allocated"]
        last = self.seen.get(device)
        self.seen[device] = now
        if last and now[0] - last[0] == 1 and now[1] > last[1]:
            return now[1] - last[1]
        return self.block_of(ptr, device) or UNIT

    def is_private(self):
        thread = threading.get_ident()
        for _, owner in self.routed:
            if owner is None or owner == thread:
                return True
        return False

    def on_alloc(self, ptr):
        try:
            device = self.device()
            stream = self.stream.get(threading.get_ident()) if self.stream else None
            if stream is None:
                stream = self.raw_stream(device)
            size = self.size(ptr, device)
            if self.in_capture():
                self.captured[ptr] = self.capture
            elif self.routed and self.is_private():
                self.captured[ptr] = _PRIVATE
                return
            elif self.captured:
                self.captured.pop(ptr, None)
            self.note_alloc(_pool(self.lib, device), ptr, size, stream)
        except Exception:
            pass

    def on_free(self, ptr):
        try:
            number = self.captured.get(ptr)
            if number is not None:
                if number != self.capture or not self.in_capture():
                    return
                del self.captured[ptr]
            self.note_free(ptr)
        except Exception:
            pass


class Replace:
    """libkrtsan.so in the place of PyTorch's allocator, as a CUDAPluggableAllocator."""

    STATS = ("allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes",
             "active_bytes", "inactive_split_bytes", "requested_bytes")
    POOLS = ("all", "small_pool", "large_pool")
    FIGURES = ("current", "peak", "allocated", "freed")
    COUNTS = ("num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free")

    def __init__(self, torch, lib):
        self.torch, self.C, self.lib = torch, torch._C, lib

    def address(self, name):
        return ctypes.cast(getattr(self.lib, "krtsan_torch_" + name), ctypes.c_void_p).value

    def install(self):
        torch, C, lib = self.torch, self.C, self.lib
        if torch.cuda.is_initialized():
            _say("CUDA was initialised before the feed: PyTorch's own allocator stays, its blocks are not seen")
            return
        try:
            allocator = C._cuda_customAllocator(self.address("alloc"), self.address("free"))
            allocator.set_record_stream_fn(self.address("record_stream"))
            allocator.set_reset_fn(self.address("empty_cache"))
            allocator.set_base_alloc_fn(self.address("base"))
            allocator.set_begin_allocate_to_pool(self.address("pool_begin"))
            allocator.set_end_allocate_to_pool_fn(self.address("pool_end"))
            allocator.set_release_pool(self.address("pool_release"))
            self.follow_errors()
            C._cuda_changeCurrentAllocator(allocator)
        except (AttributeError, RuntimeError, TypeError) as error:
            _say("PyTorch %s does not take another allocator (%s); --torch=watch may do" %
                 (torch.__version__, error))
            return
        self.allocator = allocator
        self.answer()
        self.refuse()
        _told(torch, lib)

    def follow_errors(self):
        """An allocation that fails must throw: PyTorch has the function that does."""
        try:
            throw = ctypes.CDLL("libc10.so")._ZN3c106detail14torchCheckFailEPKcS2_jS2_
        except (OSError, AttributeError):
            return
        self.lib.krtsan_torch_thrower.argtypes = [ctypes.c_void_p]
        self.lib.krtsan_torch_thrower(ctypes.cast(throw, ctypes.c_void_p))

    # -- what PyTorch refuses with such an allocator, and we can tell --

    def answer(self):
        C, lib = self.C, self.lib
        n = len(self.STATS) * 3 * 4 + len(self.COUNTS)
        lib.krtsan_torch_reset.restype = None
        lib.krtsan_torch_stats.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint]

        def memory_stats(device):
            room = (ctypes.c_int64 * n)()
            lib.krtsan_torch_stats(device, room, n)
            figures = iter(room)
            result = {}
            for name in self.STATS:
                result[name] = {p: {f: next(figures) for f in self.FIGURES} for p in self.POOLS}
            for name in self.COUNTS:
                result[name] = next(figures)
            result["max_split_size"] = -1
            for name in ("oversize_allocations", "oversize_segments"):
                result[name] = dict.fromkeys(self.FIGURES, 0)
            return result

        C._cuda_memoryStats = memory_stats
        C._cuda_resetPeakMemoryStats = lambda device: lib.krtsan_torch_reset(device, 1)
        C._cuda_resetAccumulatedMemoryStats = lambda device: lib.krtsan_torch_reset(device, 0)
        # Eager allocations stay in the one pool that there is; captures call the allocator itself.
        for name in ("_cuda_beginAllocateToPool", "_cuda_beginAllocateCurrentThreadToPool",
                     "_cuda_beginAllocateCurrentStreamToPool", "_cuda_endAllocateToPool",
                     "_cuda_endAllocateCurrentStreamToPool", "_cuda_releasePool"):
            _replace(self.torch, name, lambda real: lambda *args: None)

    # -- what cannot work --

    def refuse(self):
        torch, C = self.torch, self.C

        def refusal(what):
            return RuntimeError("krtsan: torch: %s cannot go with another allocator in PyTorch's place: use "
                                "`krtsan run --torch=watch` instead of --torch=replace" % what)

        def refusing(what):
            def refused(*args, **kwargs):
                raise refusal(what)
            return refused

        for name, what in (("_cuda_memorySnapshot", "a memory snapshot"),
                           ("_cuda_record_memory_history", "a memory history"),
                           ("_cuda_changeCurrentAllocator", "an allocator of the program's own"),
                           ("_cuda_getCheckpointState", "reduce-overhead (cudagraph trees)"),
                           ("_cuda_setCheckpointPoolState", "reduce-overhead (cudagraph trees)")):
            _replace(torch, name, lambda real, what=what: refusing(what))
        real = getattr(C, "_set_cudnn_benchmark", None)
        if real:
            def set_benchmark(on):
                if on:
                    raise refusal("cudnn.benchmark")
                return real(on)
            C._set_cudnn_benchmark = set_benchmark
            prop = vars(type(torch.backends.cudnn)).get("benchmark")
            if hasattr(prop, "setter"):
                prop.setter = set_benchmark
        compile_ = getattr(torch, "compile", None)
        if compile_:
            from functools import wraps

            @wraps(compile_)
            def compile(*args, **kwargs):
                options = kwargs.get("options") or {}
                if kwargs.get("mode") in ("reduce-overhead", "max-autotune") or options.get("triton.cudagraphs"):
                    raise refusal("torch.compile(mode=%r)" % (kwargs.get("mode") or "triton.cudagraphs"))
                return compile_(*args, **kwargs)
            torch.compile = compile
