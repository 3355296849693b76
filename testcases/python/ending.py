# SPDX-License-Identifier: Apache-2.0
"""Driver calls while the interpreter shuts down: from exit handlers, from objects that end, and from daemon threads."""
import atexit
import ctypes
import sys
import threading
import time

import cu


class Ended:
    """Ends when threads have lost their state, and takes its time."""

    def __init__(self, seconds=0):
        self.buf, self.s = cu.alloc(), cu.stream()
        self.fill, self.sleep, self.seconds = cu.fill, time.sleep, seconds

    def __del__(self):
        self.fill(self.buf, self.s)
        self.sleep(self.seconds)


def daemon(context):
    cu.call("cuCtxSetCurrent", context)
    lib.churn(cu.alloc(), cu.stream())


cu.start()
context = ctypes.c_void_p()
cu.call("cuCtxGetCurrent", ctypes.byref(context))
lib = ctypes.CDLL(sys.argv[1])
for _ in range(3):
    threading.Thread(target=daemon, args=(context,), daemon=True).start()
sys.kept = Ended(0.1)
cycle = [Ended()]
cycle.append(cycle)
atexit.register(lambda: cu.fill(cu.alloc(), cu.stream()))
time.sleep(0.05)
print("ends")
