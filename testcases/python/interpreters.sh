#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The CPythons of this machine that krtsan knows (3.8 to 3.13), one of each version
# and build, as "VERSION PATH": on PATH by their usual names, and those of pyenv.
root=${PYENV_ROOT-$(pyenv root 2>/dev/null)}
root=${root:-$HOME/.pyenv}
for p in python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 /usr/bin/python3 "$root"/versions/*/bin/python3; do
	"$p" -c '
import os, platform, sys, sysconfig
if platform.python_implementation() == "CPython" and (3, 8) <= sys.version_info[:2] <= (3, 13):
    print("%d.%d.%d%s %s" % (sys.version_info[:3] + (sys.abiflags, os.path.realpath(sys.executable))))' 2>/dev/null
done | sort -u -k 2 | sort -V
