# SPDX-License-Identifier: Apache-2.0
"""
Prints a row of testcases/unit/pyline_tables.h: the line table that this Python
gives SOURCE, and what it says of each instruction itself.  An instruction
without a line counts for the one before it in the table.
"""
import dis
import sys

SOURCE = "\n\n\ndef f(a, b):\n    x = [\n        a,\n        b(\n            1)]\n" + "\n" * 300 + """    try:
        with a as c:
            for i in x: c(i); b()
    except KeyError as e:
        b(e,
          x)
    finally:
        b()
    while b():
        x = (yield
             )
        if x: continue
    return lambda: (
        x)
"""

scope = {}
exec(compile(SOURCE, "lines.py", "exec"), scope)
code = scope["f"].__code__
size = len(code.co_code)
lines = [0] * (size // 2)
if hasattr(code, "co_lines"):
    table, last = code.co_linetable, code.co_firstlineno
    for start, end, line in code.co_lines():
        last = last if line is None else line
        for i in range(start, min(end, size), 2):
            lines[i // 2] = last
    kind = "LOCATIONS" if sys.version_info >= (3, 11) else "TABLE"
else:
    table, kind = code.co_lnotab, "LNOTAB"
    starts = list(dis.findlinestarts(code)) + [(size, 0)]
    for (start, line), (end, _) in zip(starts, starts[1:]):
        for i in range(start, end, 2):
            lines[i // 2] = line
print("\t/* CPython %d.%d.%d */" % sys.version_info[:3])
print("\t{KRT_LINES_%s, %d, %d, %d,\n\t {%s},\n\t {%s}}," % (
    kind, code.co_firstlineno, len(table), len(lines), ", ".join(map(str, table)), ", ".join(map(str, lines))))
