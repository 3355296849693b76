# SPDX-License-Identifier: Apache-2.0
"""
A buffer is filled on a side stream and used on the main one, with the wait
that is missing in most such programs, or (fixed) with it.

  py_stacks.py copy|module|zero [fixed]
"""
import sys

import torch

side = torch.cuda.Stream()
host = torch.ones(1 << 20).pin_memory()
buf = torch.empty(1 << 20, device="cuda")
out = torch.empty_like(buf)
model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU()).cuda()
model(buf.view(1024, 1024))  # cuBLAS is ready
torch.cuda.synchronize()


def prefetch():
    with torch.cuda.stream(side):
        buf.copy_(host, non_blocking=True)  # first


def use(what):
    if "fixed" in sys.argv:
        torch.cuda.current_stream().wait_stream(side)
    if what == "copy":
        out.copy_(buf)  # copy
    elif what == "module":
        model(buf.view(1024, 1024))  # module
    else:
        buf.zero_()  # zero


prefetch()
use(sys.argv[1])
torch.cuda.synchronize()
