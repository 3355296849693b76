# SPDX-License-Identifier: Apache-2.0
"""A report against what is wanted of it, in a line: summary.py REPORT WANTED.

WANTED: `silent` (no error, no warning), or rules that must be there and beside
which nothing louder than a note may be: RULE[/LEVEL[/CONFIDENCE]], joined by |."""
import json
import sys

try:
    r = json.load(open(sys.argv[1]))
except Exception as e:
    print("FAIL no report: %s" % e)
    sys.exit()
fs = r["findings"]


def key(f):
    return "%s/%s/%s" % (f["rule"], f["level"], f["confidence"])


def known(f):
    sides = [f[s].get("knowledge") or "-" for s in ("current", "previous") if f.get(s)]
    return "" if set(sides) <= {"api", "-"} else " (%s)" % " against ".join(sides)


loud = [f for f in fs if f["level"] != "note"]
quiet = {}
for f in fs:
    if f["level"] == "note":
        k = f["rule"] + "/" + f["confidence"]
        quiet[k] = quiet.get(k, 0) + 1
want = sys.argv[2].split("|")
if want == ["silent"]:
    ok = not loud
else:
    ok = any(key(f).startswith(w) for w in want for f in fs) and \
        all(any(key(f).startswith(w) for w in want) for f in loud)
print("ok" if ok else "FAIL", r["verdict"],
      "; ".join("%s x%d%s" % (key(f), f["count"], known(f)) for f in loud) or "-",
      "notes %s" % quiet if quiet else "", "" if r["coverage"]["complete"] else r["coverage"]["reasons"])
