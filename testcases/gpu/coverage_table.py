# SPDX-License-Identifier: Apache-2.0
"""Driver calls as CUPTI counts them against those in krtsan's trace.

coverage_table.py NAME OURS ALONE BOTH

OURS is `krtsan analyze --calls=all`; ALONE and BOTH are prefixes of the files that
count_calls.so wrote, of a run by itself and of the recorded one.  One row for each
documented name (variants and per-thread forms added up) whose effect krtsan has to
know: ours is what the trace has.

  same     the recorded run made as many as the trace has
  own      it made more, but the program by itself no more than the trace has: krtsan's own
  MISSING  CUPTI saw more, with krtsan and without
Names that api.def does not know are always MISSING.  Those that it knows to be
without effect (class pass) are not wrapped and not counted: their names end the table.
Exit code: 1 if anything is missing.
"""
import glob
import re
import sys

name, ours_file, alone_prefix, both_prefix = sys.argv[1:5]


def read_ours(path):
    rows = {}
    for line in open(path):
        n, cls, symbol, base = line.split()
        rows[symbol] = (int(n), cls, base)
    return rows


def read_counts(prefix):
    counts = {}
    for path in glob.glob(glob.escape(prefix) + ".*"):
        for line in open(path):
            n, symbol = line.split()
            counts[symbol] = counts.get(symbol, 0) + int(n)
    return counts


def known(symbol):
    """A symbol of api.def; CUPTI may name the form without its suffix."""
    for form in (symbol, re.sub(r"_pt(sz|ds)$", "", symbol), re.sub(r"(_v\d+)?(_pt(sz|ds))?$", "", symbol)):
        if form in rows:
            return form
    return None


rows = read_ours(ours_file)
alone, both = read_counts(alone_prefix), read_counts(both_prefix)
table, passed, unknown = {}, {}, {}
for which, counts in (("alone", alone), ("both", both)):
    for symbol, n in counts.items():
        form = known(symbol)
        if not form:
            unknown.setdefault(symbol, {"alone": 0, "both": 0})[which] += n
        elif rows[form][1] == "pass":
            passed[rows[form][2]] = passed.get(rows[form][2], 0) + n
        else:
            table.setdefault(rows[form][2], {"alone": 0, "both": 0, "ours": 0, "class": rows[form][1]})[which] += n
for symbol, (n, cls, base) in rows.items():
    if n and symbol.startswith("cu"):
        table.setdefault(base, {"alone": 0, "both": 0, "ours": 0, "class": cls})["ours"] += n

missing = own = 0
print("%s: %d driver calls by CUPTI (%d with krtsan), %d in the trace" % (
    name, sum(alone.values()), sum(both.values()), sum(t["ours"] for t in table.values())))
if not alone or not both:
    print("  CUPTI counted nothing")
    sys.exit(1)
print("  %-34s %-12s %8s %8s %8s" % ("call", "class", "alone", "recorded", "trace"))
for base in sorted(table):
    t = table[base]
    verdict = "same"
    if t["ours"] < t["both"]:
        verdict = "own" if t["ours"] >= t["alone"] else "MISSING"
    elif t["ours"] > t["both"]:
        verdict = "MORE"  # no harm, but it should not be
    own += verdict == "own"
    missing += verdict == "MISSING"
    print("  %-34s %-12s %8d %8d %8d %s" % (base, t["class"], t["alone"], t["both"], t["ours"],
                                            "" if verdict == "same" else verdict))
for symbol in sorted(unknown):
    missing += 1
    print("  %-34s %-12s %8d %8d %8s MISSING" % (symbol, "unknown", unknown[symbol]["alone"],
                                                 unknown[symbol]["both"], "-"))
if passed:
    print("  class pass: " + ", ".join(sorted(passed)))
print("  %d names, %d missing, %d with calls of krtsan's own" % (len(table) + len(unknown), missing, own))
sys.exit(missing > 0)
