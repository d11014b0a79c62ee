"""Tensors as the calls of tutti take them."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import torch
from torch import Tensor

from ..communicator import Communicator
from ..errors import ArgumentError
from .errors import of_dist


def storage_of(x: Tensor) -> Any:
    """The memory of a tensor, without a type."""
    storage: Any = getattr(x, "untyped_storage", None) or getattr(x, "_storage")  # PyTorch 1.13 has only the second
    return storage()


def check_has_elements(x: Tensor) -> None:
    """Raises DistError unless the memory of a tensor is its elements."""
    if x.layout is not torch.strided:
        raise of_dist(ArgumentError(f"a tensor has the layout {x.layout}: pass .to_dense()"))
    if x.is_quantized:
        raise of_dist(ArgumentError("a tensor is quantized: pass .dequantize(), or .int_repr() and its scale"))


def as_real(x: Tensor) -> Tensor:
    """The same memory as real numbers: two for each complex one, in a dimension of their own."""
    return torch.view_as_real(x) if x.is_complex() else x


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
    if not tensors:
        raise of_dist(ArgumentError("a list of tensors is empty"))
    first = tensors[0]
    address = first.data_ptr()
    for x in tensors:
        if not x.is_contiguous() or x.dtype != first.dtype or x.data_ptr() != address:
            return None
        if storage_of(x).data_ptr() != storage_of(first).data_ptr():
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


def read(x: Tensor) -> Tensor:
    """The elements of an input in one piece, copied if need be."""
    check_has_elements(x)
    x = x.detach() if x.requires_grad else x
    return x if x.is_contiguous() else x.contiguous()


def read_together(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of several inputs in one piece, copied if need be."""
    for x in tensors:
        check_has_elements(x)
    together = joined(tensors)
    return copied_together(tensors) if together is None else together


def counts_of(tensors: Sequence[Tensor]) -> list[int] | None:
    """The number of elements of each tensor, if they differ."""
    counts = [x.numel() for x in tensors]
    return counts if len(set(counts)) > 1 else None


class Output:
    """One contiguous array for the elements of one tensor or several. If they lie elsewhere, finish copies
    the results there. is_read: whether a call reads the elements, too."""

    def __init__(self, tensors: Sequence[Tensor], is_read: bool = False) -> None:
        self.finish: Callable[[], None] | None = None
        for x in tensors:
            check_has_elements(x)
        if len(tensors) == 1 and tensors[0].is_contiguous():
            self.array = tensors[0].detach() if tensors[0].requires_grad else tensors[0]
            return
        together = joined(tensors)
        if together is not None:
            self.array = together
            return
        x = tensors[0]
        if is_read:
            array = copied_together(tensors)
        else:
            array = torch.empty(sum(x.numel() for x in tensors), dtype=x.dtype, device=x.device)
        self.array = array
        self.finish = lambda: copy_apart(array.view(-1), tensors)


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
