# SPDX-License-Identifier: Apache-2.0
# A forgotten wait_stream: a model on the current stream reads what a side stream makes.
import torch


def prepare(side, batch):
    with torch.cuda.stream(side):
        batch.fill_(3.0)  # earlier


def step(model, batch, side):
    return model(batch).sum()  # later


def main():
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU()).cuda()
    batch = torch.zeros(64, 256, device="cuda")
    side = torch.cuda.Stream()
    with torch.no_grad():
        model(batch).sum().item()
        torch.cuda.synchronize()
        prepare(side, batch)
        loss = step(model, batch, side)
        torch.cuda.synchronize()
    print("finite", bool(torch.isfinite(loss)))


main()
