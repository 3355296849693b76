# SPDX-License-Identifier: Apache-2.0
# Deep Python stacks, threads and ctypes callbacks, each ending in os.getppid().
import ctypes
import functools
import os
import threading


def deep(n):
    return os.getppid() if n == 0 else deep(n - 1)


def through_c(n):
    return sorted([2, 1], key=functools.cmp_to_key(lambda a, b: deep(n) * 0 + a - b))


for i in range(30):
    deep(i)
    through_c(i)
    list(map(deep, [i % 5]))

threads = [threading.Thread(target=lambda: [deep(i) for i in range(40)]) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()

libc = ctypes.CDLL(None)
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


@COMPARE
def compare(a, b):
    deep(3)
    return a[0] - b[0]


values = (ctypes.c_int * 10)(*[7, 3, 9, 1, 5, 2, 8, 4, 6, 0])
libc.qsort(values, 10, ctypes.sizeof(ctypes.c_int), compare)
print(list(values))
