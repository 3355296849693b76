# SPDX-License-Identifier: Apache-2.0
"""Does a finding lead with the script's own lines, and does what it proposes mend the script?

paste.py REPORT.json SCRIPT.py FIXED.py: the lines that the script marks as earlier
and later must be where the finding's operations are; FIXED.py becomes the script
with the proposed lines put where they say (stream placeholders are the script's
`side`).
"""
import json
import re
import sys


def marked(lines, word):
    return 1 + next(i for i, line in enumerate(lines) if line.rstrip().endswith("# " + word))


def site(operation, script):
    """The script's innermost line."""
    for frame in operation["stack"]:
        if frame["python"] and frame["file"] and frame["file"].endswith(script):
            return frame["line"]
    return None


report, script, fixed = sys.argv[1:]
lines = open(script).read().split("\n")
name = script.rsplit("/", 1)[-1]
findings = [f for f in json.load(open(report))["findings"] if f["level"] != "note" and f["edge"]]
if not findings:
    sys.exit("no finding with a missing edge")
f = findings[0]
got = site(f["previous"], name), site(f["current"], name)
want = marked(lines, "earlier"), marked(lines, "later")
if got != want:
    sys.exit("lines %s and %s, wanted %s and %s" % (got + want))
edge = f["edge"]
if edge["api"] != "torch":
    sys.exit("proposed in the words of " + edge["api"])
if edge["verified"] != "removes":
    sys.exit("not verified: %s %s" % (edge["verified"], edge["why"]))
put = {}
for line in edge["code"].strip().split("\n"):
    m = re.match(r"(.*?)  # (.*?)(before|after) \S*?([^/\s]+):(\d+)", line)
    if m and m[4] == name:
        code = re.sub(r"\bstream\d*\b(?=[).])", "side", m[1])
        put.setdefault((int(m[5]), m[3]), []).append(code)
if not put:
    sys.exit("no line to paste in: " + edge["code"])
out = []
for n, line in enumerate(lines, 1):
    indent = line[:len(line) - len(line.lstrip())]
    out += [indent + code for code in put.get((n, "before"), [])]
    out.append(line)
    out += [indent + code for code in put.get((n, "after"), [])]
open(fixed, "w").write("\n".join(out))
print("%s at %s:%d after %d, x%d; pasted in: %s" % (f["rule"], name, want[1], want[0], f["count"],
      "; ".join(code for codes in put.values() for code in codes)))
