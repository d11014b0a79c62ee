"""Trains a model with Accelerate on the ranks of torchrun, and prints its weights. The argument names the backend."""

from __future__ import annotations

import sys

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

import tutti.torch  # registers the backend; not needed from PyTorch 2.14 on, where tutti is installed


def main() -> None:
    assert tutti.torch
    torch.distributed.init_process_group(sys.argv[1])  # on CPUs, Accelerate itself makes groups of Gloo or MPI only
    accelerator = Accelerator(cpu=True)
    set_seed(0)
    x = torch.linspace(-1, 1, 64).view(-1, 1)
    data = DataLoader(TensorDataset(x, 3 * x - 1), batch_size=8, shuffle=True)
    line = torch.nn.Linear(1, 1)
    line, optimizer, data = accelerator.prepare(line, torch.optim.SGD(line.parameters(), lr=0.1), data)
    for _ in range(20):
        for a, b in data:
            with accelerator.accumulate(line):
                optimizer.zero_grad()
                loss = torch.nn.functional.mse_loss(line(a), b)
                accelerator.backward(loss)
                optimizer.step()
    losses = accelerator.gather(loss.detach().view(1))
    assert len(losses) == accelerator.num_processes and losses.max() < 0.1
    names = accelerator.gather_for_metrics([f"rank {accelerator.process_index}"], use_gather_object=True)
    assert names == [f"rank {i}" for i in range(accelerator.num_processes)]
    used = torch.distributed.get_backend()
    weights = [x for p in line.parameters() for x in p.detach().flatten().tolist()]
    sys.stdout.write(f"rank {accelerator.process_index} {used} " + " ".join(f"{x:.5f}" for x in weights) + "\n")
    accelerator.end_training()


if __name__ == "__main__":
    main()
