"""The backend "tutti" with tensors whose elements it cannot add up, or that have none in one piece."""

from __future__ import annotations

import warnings
from typing import Any, Callable

import pytest
import torch
import torch.distributed as dist

import groups
import tutti.torch

FLOATS = [name for name in ("float8_e4m3fn", "float8_e5m2") if hasattr(torch, name)]


def copy(rank: int, size: int, name: str) -> None:
    dtype = getattr(torch, name)

    def full(value: float) -> torch.Tensor:
        return torch.full((4,), value).to(dtype)

    def expect(x: torch.Tensor, value: float) -> None:
        assert x.dtype == dtype and x.float().tolist() == [value] * 4

    x = full(rank + 1)
    dist.broadcast(x, src=1)
    expect(x, 2)
    parts = [full(0) for _ in range(size)]
    dist.all_gather(parts, full(rank))
    for i, part in enumerate(parts):
        expect(part, i)
    whole = torch.zeros(4 * size).to(dtype)
    dist.all_gather_into_tensor(whole, full(rank))
    assert whole.float().tolist() == [float(i // 4) for i in range(4 * size)]
    dist.all_to_all(parts, [full(rank + 2 * i) for i in range(size)])
    for i, part in enumerate(parts):
        expect(part, i + 2 * rank)
    if rank == 0:
        dist.send(full(3), 1)
    else:
        received = full(0)
        dist.recv(received, 0)
        expect(received, 3)
    dist.scatter(x, [full(i) for i in range(size)] if rank == 0 else None)
    expect(x, rank)
    with pytest.raises(tutti.ArgumentError, match=f"{name}, which can be copied only: convert it"):
        dist.all_reduce(x)
    dist.barrier()


@pytest.mark.parametrize("name", FLOATS)
def test_copies_of_bytes(name: str) -> None:
    groups.run(2, copy, name)


def reject(rank: int, size: int) -> None:
    warnings.simplefilter("ignore")  # PyTorch warns of quantized and of CSR tensors
    x = torch.eye(3)
    others = {
        r"torch.sparse_coo: pass .to_dense\(\)": x.to_sparse(),
        r"torch.sparse_csr: pass .to_dense\(\)": x.to_sparse_csr(),
        r"quantized: pass .dequantize\(\)": torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
    }
    calls: list[Callable[[Any], Any]] = [
        lambda x: dist.broadcast(x, src=0),
        lambda x: dist.all_gather([x] * size, x),
        lambda x: dist.gather(x, [x] * size if rank == 0 else None),
        lambda x: dist.send(x, 1 - rank),
        lambda x: dist.recv(x, 1 - rank),
        lambda x: dist.reduce(x, dst=0),
    ]
    for text, other in others.items():
        for call in calls:
            with pytest.raises(tutti.ArgumentError, match=text):
                call(other)
        if other.layout is not torch.sparse_coo:
            with pytest.raises(tutti.ArgumentError, match=text):
                dist.all_reduce(other)
    dist.all_reduce(x)
    assert torch.equal(x, size * torch.eye(3))


def test_tensors_without_plain_memory_are_errors() -> None:
    groups.run(2, reject)
