# SPDX-License-Identifier: Apache-2.0
"""A side stream still reads a tensor when its block is handed on."""
import torch

N = 1 << 16
side, main = torch.cuda.Stream(), torch.cuda.Stream()
with torch.cuda.stream(main):
    tensor = torch.empty(N, device="cuda").fill_(1)
    y = torch.empty(N, device="cuda").fill_(2)
    w = torch.empty(N, device="cuda").fill_(7)
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        y.copy_(tensor)
    del tensor
    z = torch.empty(N, device="cuda")
    z.copy_(w)
    torch.cuda.synchronize()
