"""Sums of sparse tensors: all ranks' indices and values, coalesced."""

from __future__ import annotations

from typing import Any, Sequence

import torch
from torch import Tensor

from ..communicator import Communicator


def all_reduce_sparse(world: Communicator, x: Tensor, op: str, factor: Any = None) -> None:
    """Makes a tensor the sum of all ranks', each multiplied by its factor, or their average. op: "sum" or "average"."""
    own = x.detach().coalesce()
    counts = world.all_gather(int(own._nnz()))
    indices = _gather_rows(world, own.indices().t().contiguous(), counts)
    values = own.values() if factor is None else own.values() * factor
    total = torch.sparse_coo_tensor(indices.t(), _gather_rows(world, values.contiguous(), counts), x.shape).coalesce()
    x.copy_((total / world.size).coalesce() if op == "average" else total)


def _gather_rows(world: Communicator, rows: Tensor, counts: Sequence[int]) -> Tensor:
    out = rows.new_empty((sum(counts), *rows.shape[1:]))
    width = rows[0].numel() if len(rows) else out[:1].numel() or 1
    world.all_gather(rows, out, counts=[count * width for count in counts])
    return out
