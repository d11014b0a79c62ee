"""Trains a small model with PyTorch, alone or on many ranks, and synchronises gradients in one of five ways.

    python examples/python/train.py                                       one process, nothing to synchronise
    tutti run -n 2 python examples/python/train.py --sync attach          two processes of this host
    torchrun --nproc-per-node 2 examples/python/train.py --sync hook      two processes, started by torchrun
    srun python examples/python/train.py --sync backend                   several hosts; see docs/starting.md

none: each rank trains alone. gloo: DistributedDataParallel over Gloo. hook: the same with tutti's hook.
backend: DistributedDataParallel over tutti. attach: tutti without DistributedDataParallel.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

import tutti
import tutti.torch


def model() -> nn.Module:
    torch.manual_seed(1)  # equal weights on all ranks
    return nn.Sequential(nn.Linear(64, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 10))


def batch(step: int, rank: int, size: int, samples: int) -> tuple[torch.Tensor, torch.Tensor]:
    """This rank's part of a step's samples, which do not depend on the number of ranks."""
    random = torch.Generator().manual_seed(step)
    x = torch.randn(samples, 64, generator=random)
    y = x[:, :10].argmax(dim=1)
    return x[rank::size], y[rank::size]


def join_group(sync: str) -> tuple[int, int]:
    """This rank, and the number of ranks."""
    if sync in ("none", "attach"):
        return tutti.world().rank, tutti.world().size
    dist.init_process_group("tutti" if sync == "backend" else "gloo", init_method="tutti://")
    return dist.get_rank(), dist.get_world_size()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sync", choices=["none", "gloo", "hook", "backend", "attach"], default="none")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--samples", type=int, default=64, help="of all ranks together, in a step")
    options = parser.parse_args()

    rank, size = join_group(options.sync)
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    synced: Any = net
    if options.sync == "attach":
        tutti.torch.attach(net, optimizer)
    elif options.sync != "none":
        synced = DDP(net, gradient_as_bucket_view=True)
    if options.sync == "hook":
        tutti.torch.ddp_hook(synced)

    begin = time.perf_counter()
    for step in range(options.steps):
        x, y = batch(step, rank, size, options.samples)
        optimizer.zero_grad(set_to_none=False)  # gradients stay where other ranks see them
        loss = nn.functional.cross_entropy(synced(x), y)
        loss.backward()
        optimizer.step()
    took = (time.perf_counter() - begin) / options.steps

    weights = sum(float(each.detach().double().sum()) for each in net.parameters())
    if rank == 0:
        print(f"{size} ranks, {options.sync}: {1e3 * took:.1f} ms a step, loss {loss:.4f}, sum of weights {weights:.6f}")
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
