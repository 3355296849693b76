# SPDX-License-Identifier: Apache-2.0
"""A small language model trained as people do it: embedding, causal attention
(SDPA), layer norm, bf16 autocast, clipped gradients, AdamW (foreach).  Prints
whether it learns; argument: the number of steps."""
import sys
import torch
import torch.nn.functional as F

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
torch.manual_seed(3)
dev = torch.device("cuda")
WORDS, WIDTH, HEADS, LENGTH, BATCH = 1000, 256, 4, 128, 8


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)
        self.drop = torch.nn.Dropout(0.1)

    def forward(self, x):
        b, n, w = x.shape
        q, k, v = (t.view(b, n, HEADS, w // HEADS).transpose(1, 2) for t in self.qkv(self.norm1(x)).split(w, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.out(y.transpose(1, 2).reshape(b, n, w)))
        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(WORDS, WIDTH), torch.nn.Embedding(LENGTH, WIDTH)
        self.blocks = torch.nn.Sequential(*(Block() for _ in range(3)))
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.head = torch.nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, t):
        x = self.words(t) + self.places(torch.arange(t.shape[1], device=t.device))
        return self.head(self.norm(self.blocks(x)))


model = Model().to(dev)
opt = torch.optim.AdamW(model.parameters(), lr=3e-4, foreach=True)
rate = torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps)
gen = torch.Generator().manual_seed(5)
losses = []
for step in range(steps):
    words = torch.randint(0, WORDS, (BATCH, LENGTH + 1), generator=gen).pin_memory().to(dev, non_blocking=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        out = model(words[:, :-1])
        loss = F.cross_entropy(out.flatten(0, 1).float(), words[:, 1:].flatten())
    opt.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    rate.step()
    losses.append(loss.detach())
losses = torch.stack(losses).tolist()
print(steps, "steps; the loss falls:", losses[-1] < losses[0])
