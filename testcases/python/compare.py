# SPDX-License-Identifier: Apache-2.0
"""
compare.py REPORT STACKS: do the operations of all findings have the Python
frames that Python itself told of (cu.told)?  Each buffer was written twice, so
each has a finding.  Prints what differs; at the end how many stacks were equal.
"""
import json
import sys

DEPTH = 40  # of the 48 that are recorded: those of this file's callees come first

told = {}
for line in open(sys.argv[2], errors="replace"):
    if line.startswith("{"):
        t = json.loads(line)
        told.setdefault((t["pid"], t["buffer"]), []).append([tuple(f) for f in t["stack"]][:DEPTH])


def frames(stack):
    own = [(f["file"], f["line"], f["function"]) for f in stack if f["python"]]
    while own and (own[0][0] or "").endswith("/cu.py"):
        del own[0]
    return own[:DEPTH]


equal = 0
for f in json.load(open(sys.argv[1]))["findings"]:
    if not f["buffer"] or not f["previous"]:
        continue
    want = told.pop((f["pid"], int(f["buffer"]["base"], 16)), None)
    if not want:
        continue
    for side, expected in zip(("previous", "current"), want):
        got = frames(f[side]["stack"])
        if got == expected:
            equal += 1
        else:
            print("%s: %s\n  expected %s" % (side, got[:6], expected[:6]))
for _, stacks in told.items():
    print("no finding for %s" % (stacks[0][:3],))
print("%d equal" % equal)
