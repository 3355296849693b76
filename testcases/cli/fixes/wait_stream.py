# SPDX-License-Identifier: Apache-2.0
"""What a side stream copies is read by the current one, which does not wait for it."""
import torch

N = 1 << 16
side = torch.cuda.Stream()
x = torch.empty(N, device="cuda").fill_(1)
y = torch.empty(N, device="cuda").fill_(2)
z = torch.empty(N, device="cuda").fill_(3)
torch.cuda.synchronize()
with torch.cuda.stream(side):
    y.copy_(x)
z.copy_(y)
torch.cuda.synchronize()
