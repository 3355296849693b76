# SPDX-License-Identifier: Apache-2.0
"""
show.py REPORT [all]: the Python frames of each operation of each finding, innermost first;
without `all` the user's own alone.
"""
import json
import os
import sys


def shown(f):
    file = f["file"] or ""
    return f["python"] and (sys.argv[2:] == ["all"] or not ("/site-packages/" in file or "/lib/python3" in file))


def frames(stack):
    return " ".join("%s:%s:%s" % (os.path.basename(f["file"] or "?"), f["line"], (f["function"] or "?").split(".")[-1])
                    for f in stack or [] if shown(f))


for f in json.load(open(sys.argv[1]))["findings"]:
    print(f["rule"])
    for side in "current", "previous":
        if f[side]:
            print(side, frames(f[side]["stack"]))
    if f["buffer"] and f["buffer"]["allocated"]:
        print("allocated", frames(f["buffer"]["allocated"]["stack"]))
