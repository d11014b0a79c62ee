"""Tensors as the calls of tutti take them."""

from __future__ import annotations

from typing import Sequence

import torch
from torch import Tensor

from ..communicator import Communicator


def in_one_piece(x: Tensor) -> Tensor | None:
    """The elements of a tensor in the order of memory, without a copy, or None if there are gaps between
    them. Equal shapes and strides give equal shapes."""
    if x.is_contiguous():
        return x
    order = sorted(range(x.dim()), key=lambda axis: (x.stride(axis), x.size(axis)), reverse=True)
    permuted = x.permute(order)
    return permuted if permuted.is_contiguous() else None


def joined(tensors: Sequence[Tensor]) -> Tensor | None:
    """One array of the elements of several tensors, without a copy, or None if they do not follow each
    other in memory."""
    first = tensors[0]
    address = first.data_ptr()
    for x in tensors:
        if not x.is_contiguous() or x.dtype != first.dtype or x.data_ptr() != address:
            return None
        if x.untyped_storage().data_ptr() != first.untyped_storage().data_ptr():
            return None
        address += x.numel() * x.element_size()
    count = sum(x.numel() for x in tensors)
    return first.detach().as_strided((count,), (1,))


def copied_together(tensors: Sequence[Tensor]) -> Tensor:
    """One array with copies of the elements of several tensors, one after the other."""
    if len(tensors) == 1:
        return tensors[0].detach().contiguous().view(-1)
    return torch.cat([x.detach().reshape(-1) for x in tensors])


def copy_apart(source: Tensor, tensors: Sequence[Tensor]) -> None:
    """Copies one array into several tensors, one after the other."""
    first = 0
    for x in tensors:
        x.detach().copy_(source[first : first + x.numel()].view(x.shape))
        first += x.numel()


def broadcast(world: Communicator, tensors: Sequence[Tensor], root: int = 0) -> None:
    """Makes tensors equal to those of the root. Collective."""
    pieces = []
    copies = []
    for x in tensors:
        piece = in_one_piece(x.detach())
        if piece is None:
            piece = x.detach().contiguous()
            copies.append((x, piece))
        pieces.append(piece)
    for request in [world.start.broadcast(piece, root=root) for piece in pieces]:
        request.wait()
    for x, piece in copies:
        x.detach().copy_(piece)
