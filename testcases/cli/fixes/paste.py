# SPDX-License-Identifier: Apache-2.0
"""Pastes the lines of a report's first finding where it says: paste.py REPORT.json PROGRAM.py
prints the program with them.  1: there is no such line, or it is for another file."""
import json
import os
import re
import sys

report, program = sys.argv[1:]
lines = open(program).read().splitlines()
finding = json.load(open(report))["findings"][0]
for code in finding["edge"]["code"].splitlines():
    m = re.match(r"([^#]+?) *# (before|after) ([^:]+):(\d+)", code)
    if not m:
        continue
    text, where, file, line = m[1], m[2], m[3], int(m[4])
    if file != os.path.basename(program):
        sys.exit("for %s: %s" % (file, code))
    indent = re.match(r" *", lines[line - 1])[0]
    lines.insert(line - 1 + (where == "after"), indent + text)
    print("\n".join(lines))
    sys.exit(0)
sys.exit("no line to paste: %s" % finding["edge"]["code"])
