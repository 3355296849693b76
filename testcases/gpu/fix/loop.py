# SPDX-License-Identifier: Apache-2.0
# A forgotten wait_stream in each round of a loop; the way back is ordered.
import torch


class Loader:
    def __init__(self):
        self.side = torch.cuda.Stream()
        self.batch = torch.zeros(1 << 16, device="cuda")

    def load(self, value):
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            self.batch.copy_(value, non_blocking=True)  # earlier
        return self.batch


def main():
    loader = Loader()
    side = loader.side
    value = torch.ones(1 << 16).pin_memory()
    total = torch.zeros(1 << 16, device="cuda")
    torch.cuda.synchronize()
    for _ in range(10):
        batch = loader.load(value)
        total += batch  # later
    torch.cuda.synchronize()
    print("rounds", 10)


main()
