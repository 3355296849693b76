# SPDX-License-Identifier: Apache-2.0
"""The two feeds that tell krtsan PyTorch's blocks (the pool interface of krtsan.h).

watch    PyTorch's own allocator stays, and tells libkrtsan.so what it does.
replace  libkrtsan.so allocates instead.

Both are C (interposer/torch.c): nothing of Python runs when memory is allocated,
since a callback that waits for the GIL with a lock of PyTorch's held would hang."""
import ctypes
import os
import sys


def _say(text):
    sys.stderr.write("krtsan: torch: %s\n" % text)


def _library():
    """The process as ctypes sees it, if libkrtsan.so is in it."""
    lib = ctypes.CDLL(None)
    return lib if hasattr(lib, "krtsan_torch_feed") else None


def install(torch):
    lib = _library()
    if lib is None or not hasattr(torch, "_C") or torch.version.cuda is None:
        return
    feed = lib.krtsan_torch_feed()
    if feed == 1:
        Watch(torch, lib).install()
    elif feed == 2:
        Replace(torch, lib).install()


def _loaded(name):
    """A library of the process."""
    return ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_NOW)


class _Info(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p),
                ("name", ctypes.c_char_p), ("at", ctypes.c_void_p)]


def _symbol(address):
    """Name and address of the symbol at or before an address, and the file that it lies in."""
    info = _Info()
    dladdr = ctypes.CDLL(None).dladdr
    dladdr.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    if not address or not dladdr(address, ctypes.byref(info)):
        return b"", 0, b""
    return info.name or b"", info.at or 0, info.file or b""


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


def _told(torch, lib):
    """Says that there is a feed in this process, as soon as something listens: when CUDA is initialised."""
    def tell():
        try:
            lib.krtsan_torch_told(torch._C._cuda_getDevice())
        except Exception:
            pass
    try:
        torch.cuda._lazy_call(tell)
    except Exception:
        pass


class Watch:
    """PyTorch's own allocator, which tells libkrtsan.so each of its actions.

    It does so through a virtual function that takes a tracker.  Where that lies in
    the table, PyTorch's other allocator says, whose functions have names."""

    MEMBERS = "action_ device_ addr_ context_ stream_ size_ mempool_".split()
    TABLE = "_ZTVN5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocatorE"
    ALLOCATOR = "_ZN3c104cuda20CUDACachingAllocator9allocatorE"
    FUNCTION = b"27attachAllocatorTraceTracker"

    def __init__(self, torch, lib):
        self.torch, self.C, self.lib = torch, torch._C, lib

    def install(self):
        _told(self.torch, self.lib)
        # The allocator takes trackers once it is there: when CUDA has been initialised.
        self.torch.cuda._lazy_call(self.attach)

    def attach(self):
        try:
            if self.C._cuda_getAllocatorBackend() != "native":
                return  # each tensor is an allocation of the driver's, or of the program's own allocator
            self.compare()
            allocator = ctypes.c_void_p.in_dll(_loaded("libc10_cuda.so"), self.ALLOCATOR).value
            self.lib.krtsan_torch_watch.argtypes = [ctypes.c_void_p, ctypes.c_uint]
            self.lib.krtsan_torch_watch.restype = None
            self.lib.krtsan_torch_watch(allocator, self.slot(allocator))
        except Exception as error:
            _say("PyTorch %s cannot be watched: %s; --torch=replace may do" % (self.torch.__version__, error))

    def slot(self, allocator):
        table = ctypes.addressof(ctypes.c_void_p.in_dll(_loaded("libtorch_cuda.so"), self.TABLE)) + 16
        native = ctypes.c_void_p.from_address(allocator).value
        for i in range(100):
            function = ctypes.c_void_p.from_address(table + 8 * i).value
            name, at, _ = _symbol(function)
            if at == function and self.FUNCTION in name and name.startswith(b"_ZN5torch4cuda22CUDAPluggable"):
                if b"St8function" not in name:
                    break
                _, _, file = _symbol(ctypes.c_void_p.from_address(native + 8 * i).value)
                if not file.endswith(b"/libc10_cuda.so"):
                    break
                return i
        raise LookupError("its allocator has no trace trackers")

    def compare(self):
        """The members of TraceEntry that we look at lie where we think."""
        import re
        folder = os.path.join(os.path.dirname(self.torch.__file__), "include", "c10")
        for name in ("cuda/CUDACachingAllocator.h", "core/CachingDeviceAllocator.h"):
            try:
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
                    text = f.read()
            except OSError:
                continue
            entry = re.search(r"struct TraceEntry\w* \{(.*?)\n\};", text, re.S)
            if not entry:
                continue
            members = re.findall(r"^\s+[\w:<>\s*]+?\b(\w+_)(?:\{\})?;", entry.group(1), re.M)
            actions = re.search(r"enum Action\w*\s*\{(.*?)\}", entry.group(1), re.S)
            actions = re.findall(r"^\s+(\w+)", re.sub(r"//.*", "", actions.group(1)), re.M) if actions else []
            if members[:len(self.MEMBERS)] != self.MEMBERS or actions[:2] not in ([], ["ALLOC", "FREE_REQUESTED"]):
                raise LookupError("its trace entries are laid out otherwise: %s" % " ".join(members + actions[:3]))
            return
        if not self.torch.__version__.startswith("2.11."):
            raise LookupError("its trace entries are not known")


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
