# SPDX-License-Identifier: Apache-2.0
"""Two streams write one buffer; with `fixed` the host waits in between."""
import sys

import cu


def first(buf, s):
    cu.fill(buf, s, 1)  # first


class Second:
    def run(self, buf, s):
        for _ in [0]:
            cu.fill(buf, s, 2)  # second


cu.start()
buf = cu.alloc()  # alloc
a, b = cu.stream(), cu.stream()
first(buf, a)
if "fixed" in sys.argv:
    cu.sync()
Second().run(buf, b)  # main
cu.sync()
