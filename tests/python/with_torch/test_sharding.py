"""DTensor and FSDP2 over the backend "tutti"."""

from __future__ import annotations

import pytest
import torch

import groups


def shard_tensors(rank: int, size: int) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    mesh = init_device_mesh("cpu", (size,))
    x = torch.arange(12.0).view(6, 2)
    tensor = distribute_tensor(x, mesh, [Shard(0)])
    assert torch.equal(tensor.redistribute(mesh, [Replicate()]).to_local(), x)
    assert torch.equal(tensor.sum().full_tensor(), x.sum())


def test_sharded_tensors() -> None:
    try:
        from torch.distributed.tensor import distribute_tensor
    except (ImportError, ValueError):  # the second from PyTorch 1.13 in Python 3.11
        pytest.skip("this PyTorch has no distributed tensors")
    assert distribute_tensor
    groups.run(2, shard_tensors)


def shard_model(rank: int, size: int) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (size,))
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Linear(6, 2))
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model(torch.full((2, 4), rank + 1.0)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def test_sharded_models() -> None:
    try:
        from torch.distributed.fsdp import fully_shard
    except (ImportError, ValueError):
        pytest.skip("this PyTorch has no FSDP2")
    assert fully_shard
    if not hasattr(torch.cpu.current_stream(), "record_event"):
        pytest.skip("this PyTorch has no FSDP2 on CPUs")
    groups.run(2, shard_model)
