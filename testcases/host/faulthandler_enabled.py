# SPDX-License-Identifier: Apache-2.0
# A page in flight is met, then an address that nobody has: faulthandler tells of the latter alone.
import ctypes
import faulthandler
import sys

faulthandler.enable()
cu = ctypes.CDLL("libcuda.so.1")


def must(r):
    if r:
        sys.exit(3)


context, stream, device, host = (ctypes.c_void_p() for _ in range(4))
must(cu.cuInit(0))
must(cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
must(cu.cuCtxSetCurrent(context))
must(cu.cuStreamCreate(ctypes.byref(stream), 1))
must(cu.cuMemAlloc_v2(ctypes.byref(device), 65536))
must(cu.cuMemHostAlloc(ctypes.byref(host), 65536, 0))
must(cu.cuMemcpyDtoHAsync_v2(host, device, ctypes.c_size_t(65536), stream))
ctypes.memset(host.value + 8192, 1, 4096)
ctypes.string_at(1)
