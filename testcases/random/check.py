# SPDX-License-Identifier: Apache-2.0
"""What krtsan found of random pairs against what launches.c says of them:
check.py OUTPUT REPORT.  Wrong are an error or warning where the two do not meet, an
error where data decides, silence where they meet, and where they surely do also
less than certainty.  Prints what is wrong; last, how many meet and what is wrong."""
import json
import sys

what, said = {}, {}
for l in open(sys.argv[1]):
    w = l.split(None, 2)
    if len(w) == 3 and w[0] in ("meet", "touch", "maybe", "apart"):
        what[w[1].rstrip(":")] = w[0]
        said[w[1].rstrip(":")] = w[2].strip()
found = {}
for f in json.load(open(sys.argv[2]))["findings"]:
    if f["level"] != "note":
        found.setdefault((f["buffer"] or {}).get("name"), []).append((f["confidence"], f["rule"]))
bad = 0
for name in sorted(set(what) | set(found), key=str):
    have = [c for c, r in found.get(name, ())]
    want = {"meet": "certain" in have, "touch": bool(have), "maybe": "certain" not in have,
            "apart": not have}.get(what.get(name), False)
    if not want:
        bad += 1
        print("  | %s: %s, found: %s: %s" % (name, what.get(name), found.get(name), said.get(name)))
meet = sum(w in ("meet", "touch") for w in what.values())
print(meet, len(what), bad)
