# SPDX-License-Identifier: Apache-2.0
"""python_cost.py CHURN.SO THREAD: nanoseconds of a recorded call by Python depth; run by python_cost.sh."""
import ctypes
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import cu

lib = ctypes.CDLL(sys.argv[1])
lib.cost.restype = ctypes.c_double


def at(depth, s):
    return at(depth - 1, s) if depth > 1 else lib.cost(s)


def run():
    cu.call("cuCtxSetCurrent", context)
    s = cu.stream()
    print(" ".join("%d:%.0f" % (d, at(d, s)) for d in (1, 10, 30)), flush=True)


cu.start()
context = ctypes.c_void_p()
cu.call("cuCtxGetCurrent", ctypes.byref(context))
if sys.argv[2] == "main":
    run()
elif sys.argv[2] == "foreign":
    lib.cost_foreign.restype = ctypes.c_double
    print("0:%.0f" % lib.cost_foreign(context))
else:
    t = threading.Thread(target=run)
    t.start()
    t.join()
