# SPDX-License-Identifier: Apache-2.0
"""By what the launches of a run are known, as a line and a table: tiers.py NAME LEAST REPORT KERNELS.

LEAST: per cent of the launches of which it must be certain what they access.
KERNELS: what `krtsan explain-kernel --list` says of the same trace; the kernels
with most launches that are not certain are printed from it."""
import json
import sys

name, least, report, kernels = sys.argv[1:]
RANGES = ("annotation", "kernels-file", "library-model", "ptx-range")
try:
    r = json.load(open(report))
except Exception as e:
    sys.exit("%-46s FAIL  no report: %s" % (name, e))
tiers = r["coverage"]["kernels"]
total = sum(tiers.values())
share = 100 * r["coverage"]["kernels_certain"] / max(total, 1)
loud = [f for f in r["findings"] if f["level"] != "note"]
ok = total > 0 and share >= float(least) and not loud
print("%-46s %-5s certain for %.1f %% of %d launches; %s" % (
    name, "ok" if ok else "FAIL", share, total,
    "; ".join("%s/%s/%s x%d" % (f["rule"], f["level"], f["confidence"], f["count"]) for f in loud) or "no findings"))
for t, n in tiers.items():
    if n:
        print("      %-16s %6d  %5.1f %%" % (t, n, 100 * n / total))
rest = []
for l in open(kernels):
    w = l.split(None, 3)  # launches, nodes, tiers, name
    if len(w) == 4 and w[0].isdigit() and not all(t.split(":")[0] in RANGES for t in w[2].split(",")):
        rest.append((int(w[0]), w[2], w[3].strip()))
for n, t, k in sorted(rest, reverse=True)[:12]:
    print("      %6d %-12s %s" % (n, t, k[:150]))
sys.exit(0 if ok else 1)
