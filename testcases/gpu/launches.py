# SPDX-License-Identifier: Apache-2.0
"""Launches of a trace, with the tensors of each operator, as testcases/unit/test_shipped.c
reads them (testcases/launches): what the kernels files claim is held against them.

    krtsan record -o run.krt -- python3 testcases/gpu/torch_ops.py tensors.json
    launches.py build/inter/launches_dump run.krt [tensors.json] > FILE

With tensors: the launches of every operator.  Without: all launches, equal ones counted.
Lines: K ID NAME OFFSET:SIZE,...   O OPERATOR   T SORT STORAGE BYTES POINTER BYTES
L ID GRID,BLOCK LENGTH OFF=WORD...   N TIMES ID GRID,BLOCK LENGTH OFF=WORD...
Device addresses are moved to one place, host addresses (rests on the stack) become 0."""
import collections
import json
import subprocess
import sys

dump, trace = sys.argv[1:3]
tensors = collections.defaultdict(list)
if len(sys.argv) > 3:
    for line in open(sys.argv[3]):
        j = json.loads(line)
        if "ptr" in j:
            tensors[j["op"]].append(j)
lines = subprocess.run([dump, trace], check=True, text=True, capture_output=True).stdout.splitlines()
kernels = {l.split()[1]: l.split()[2] for l in lines if l.startswith("K ")}


def words(launch):
    return [w.split("=") for w in launch[5:]]


# where device memory lies: all tensors, or the first pointers of fills and copies
device = {t["ptr"] >> 36 for ts in tensors.values() for t in ts}
if not device:
    for line in lines:
        a = line.split()
        if a[0] == "L" and "vectorized_elementwise_kernel" in kernels[a[1]]:
            device |= {int(v, 16) >> 36 for _, v in words(a) if int(v, 16) >> 40}
            break
base = min(device) << 36


def moved(v):
    if v >> 36 in device:
        return v - base + (1 << 40)
    return 0 if v >> 40 in (0x7f, 0x55, 0x56) else v


def launch(a):
    w = [(o, moved(int(v, 16))) for o, v in words(a)]
    return " ".join([a[1], a[3], a[4]] + ["%s=%x" % x for x in w if x[1]])


def tensors_of(op):
    out = []
    for of in ([op[:-4]] if op.endswith("_bwd") else []) + [op]:
        seen = set()
        for t in tensors.get(of, []):
            # what the forward pass gave is an input of the backward pass
            sort = "fwd" if t["sort"] == "out" and of != op else t["sort"]
            if (sort, t["ptr"]) not in seen:
                seen.add((sort, t["ptr"]))
                out.append("T %s %x %d %x %d" % (sort, moved(t["storage"][0]), t["storage"][1],
                                                 moved(t["ptr"]), t["bytes"]))
    return out


counted = collections.OrderedDict()
told = set()
last = None


def kernel(i):
    if i not in told:
        told.add(i)
        print(next(l for l in lines if l.startswith("K %s " % i)))


for line in lines:
    a = line.split()
    if a[0] == "K":
        continue
    if a[2].endswith("_bwd_bwd"):  # the thread that waits for autograd's had a range by then
        a[2] = a[2][:-4]
    if not tensors:
        kernel(a[1])
        counted[launch(a)] = counted.get(launch(a), 0) + 1
    elif a[2] in tensors or a[2].startswith("cub::"):
        if a[2] != last:
            last = a[2]
            print("O " + a[2])
            print("\n".join(tensors_of(a[2])) or "# no tensors")
        kernel(a[1])
        print("L " + launch(a))
for text, n in counted.items():
    print("N %d %s" % (n, text))
