# SPDX-License-Identifier: Apache-2.0
# Training from a DataLoader with pinned memory: right as it stands.
import torch
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(1)
    data = TensorDataset(torch.randn(2048, 256), torch.randn(2048, 16))
    loader = DataLoader(data, batch_size=64, pin_memory=True, num_workers=2)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 16)).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(2):
        total = torch.zeros((), device="cuda")
        for x, y in loader:
            x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            loss = torch.nn.functional.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.detach()
        print(epoch, total.item().hex())


if __name__ == "__main__":
    main()
