# SPDX-License-Identifier: Apache-2.0
# A download into a pinned tensor is read before it has landed; "fixed" waits first.
import sys

import torch

d = torch.ones(1 << 20, device="cuda")
h = torch.zeros(1 << 20).pin_memory()
torch.cuda.synchronize()
torch.cuda._sleep(200_000_000)
h.copy_(d, non_blocking=True)
if sys.argv[1:] == ["fixed"]:
    torch.cuda.current_stream().synchronize()
value = h[0].item()  # HERE
torch.cuda.synchronize()
print("done" if value in (0, 1) else "odd")
