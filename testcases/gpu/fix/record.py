# SPDX-License-Identifier: Apache-2.0
# A forgotten record_stream: a tensor's memory is handed on while a side stream reads it.
# krtsan: --torch
import torch


def send(tensor, host, side):
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        host.copy_(tensor, non_blocking=True)  # earlier


def main():
    side = torch.cuda.Stream()
    host = torch.empty(1 << 20).pin_memory()
    tensor = torch.ones(1 << 20, device="cuda")
    torch.cuda.synchronize()
    send(tensor, host, side)
    del tensor
    other = torch.empty(1 << 20, device="cuda")
    other.fill_(2.0)  # later
    torch.cuda.synchronize()
    print("other", float(other[0]))


main()
