"""Runs a function on every rank of a group of torch.distributed; and its tensors."""

from __future__ import annotations

import gc
import os
import tempfile
from typing import Any, Callable

import torch
import torch.distributed as dist

import ranks
import tutti.torch  # registers the backend


def full(value: float, count: int = 4) -> torch.Tensor:
    return torch.full((count,), float(value))


def in_group(world: Any, backend: str, path: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    dist.init_process_group(backend, init_method=f"file://{path}", rank=world.rank, world_size=world.size)
    try:
        return function(world.rank, world.size, *arguments)
    finally:
        dist.destroy_process_group()
        gc.collect()  # older versions of PyTorch leave the end of a group to Python


def run(size: int, function: Callable[..., Any], *arguments: Any, backend: str = "tutti") -> list[Any]:
    """The results of function(rank, size, *arguments)."""
    assert tutti.torch
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "store")
        return ranks.run(size, in_group, backend, path, function, arguments, timeout=120)


def monitored_barrier(**arguments: Any) -> None:
    """dist.monitored_barrier, which before PyTorch 2.14 rejects all backends but Gloo; their groups have the call."""
    try:
        dist.monitored_barrier(**arguments)
    except (RuntimeError, ValueError) as error:
        if "only implemented for GLOO" not in str(error):
            raise
        dist.group.WORLD.monitored_barrier(**arguments)
