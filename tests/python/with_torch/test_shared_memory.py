"""ddp_hook and attach where /dev/shm, in which PyTorch makes shared memory, is small."""

from __future__ import annotations

import re
import sys
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import groups
import small_shm
import tutti.torch

STEPS = 3


def train(rank: int, size: int, sizes: list[int], bucket_mb: int) -> int:
    """Trains layers of these sizes, compares gradients, and returns the number of buckets that peers see."""
    model = nn.ParameterList(nn.Parameter(torch.zeros(count)) for count in sizes)

    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = model

        def forward(self, x: float) -> Any:
            return sum((layer * x).sum() for layer in self.layers)

    ddp = DistributedDataParallel(Sum(), bucket_cap_mb=bucket_mb, gradient_as_bucket_view=True)
    hook = tutti.torch.ddp_hook(ddp)
    for step in range(STEPS):
        ddp.zero_grad()
        ddp(float(rank + step)).backward()
        mean = (size - 1) / 2 + step
        for layer in model:
            assert layer.grad.min() == layer.grad.max() == mean, (step, layer.grad, mean)
    found = re.search(r"(\d+) seen by peers", hook.explain())
    assert found
    return int(found[1])


def attached(rank: int, size: int) -> None:
    model = nn.Linear(3000, 3000, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    tutti.torch.attach(model, optimizer)
    before = model.weight.detach().clone()
    model(torch.full((1, 3000), float(rank))).sum().backward()
    optimizer.step()
    assert torch.allclose(model.weight, before - (size - 1) / 2)


def buckets_of_four_ranks() -> None:
    ranks = 4
    seen = groups.run(ranks, train, [1 << 20], 10, backend="gloo")
    assert seen == [1] * ranks, "all fit"
    seen = groups.run(ranks, train, [6 << 20], 25, backend="gloo")
    assert seen == [0] * ranks, "each rank's bucket fits, all together do not"
    seen = groups.run(ranks, train, [5 << 19] * 3, 10, backend="gloo")
    assert seen == [seen[0]] * ranks and 0 < seen[0] < 3, "the first buckets fit"
    small_shm.fill(8 << 20)
    seen = groups.run(ranks, train, [5 << 19] * 2, 10, backend="gloo")
    assert seen == [0] * ranks, "none fits, and nothing is written beyond the end"
    small_shm.fill(0)
    groups.run(ranks, attached)  # tutti's own memory of gradients does not lie there


def test_ranks_share_buckets_that_fit_and_copy_others() -> None:
    small_shm.run(__file__, "buckets_of_four_ranks")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
