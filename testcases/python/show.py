# SPDX-License-Identifier: Apache-2.0
"""show.py REPORT: the user's own Python frames of each operation of each finding, innermost first."""
import json
import os
import sys


def frames(stack):
    return " ".join("%s:%s:%s" % (os.path.basename(f["file"] or "?"), f["line"], (f["function"] or "?").split(".")[-1])
                    for f in stack or [] if f["python"] and "/site-packages/" not in (f["file"] or "")
                    and "/lib/python3" not in (f["file"] or "") and not (f["file"] or "").startswith("<frozen"))


for f in json.load(open(sys.argv[1]))["findings"]:
    print(f["rule"])
    for side in "current", "previous":
        if f[side]:
            print(side, frames(f[side]["stack"]))
    if f["buffer"] and f["buffer"]["allocated"]:
        print("allocated", frames(f["buffer"]["allocated"]["stack"]))
