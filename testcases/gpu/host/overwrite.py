# SPDX-License-Identifier: Apache-2.0
# A pinned tensor is filled again while its upload is on the way; "fixed" waits first.
import sys

import torch

h = torch.ones(1 << 20).pin_memory()
d = torch.zeros(1 << 20, device="cuda")
side = torch.cuda.Stream()
torch.cuda.synchronize()
with torch.cuda.stream(side):
    torch.cuda._sleep(200_000_000)
    d.copy_(h, non_blocking=True)
if sys.argv[1:] == ["fixed"]:
    side.synchronize()
h.fill_(2)  # HERE
torch.cuda.synchronize()
print("sum", d.sum().item())
