"""Tensors in the form that calls of tutti need."""

from __future__ import annotations

import bisect
from typing import Any, Callable, Optional, Sequence

import torch
from torch import Tensor

from ..communicator import Communicator
from ..errors import ArgumentError
from .errors import of_dist

_IN_PLACE = frozenset({"all_reduce", "reduce", "broadcast"})


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
        raise ArgumentError("a list of tensors is empty")
    first = tensors[0]
    address = first.data_ptr()
    if address == 0:  # empty, or around other tensors
        return None
    for x in tensors:
        if not x.is_contiguous() or x.dtype != first.dtype or x.data_ptr() != address:
            return None
        if storage_of(x).data_ptr() != storage_of(first).data_ptr() or not is_plain(x):
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
        _store(source[first : first + x.numel()].view(x.shape), x.detach())
        first += x.numel()


def _store(source: Tensor, x: Tensor) -> None:
    """Copies elements. Elements of an expanded tensor that share a place must have got one value."""
    whole = source
    for axis in range(x.dim()):
        if x.stride(axis) == 0 and x.size(axis) > 1:
            x, source = x.narrow(axis, 0, 1), source.narrow(axis, 0, 1)
    if source is not whole and not bool(((whole == source) | (whole != whole)).all()):
        raise of_dist(ArgumentError("elements of an expanded tensor that lie at one place got different values"))
    x.copy_(source)


def is_plain(x: Tensor) -> bool:
    """Whether memory has the elements themselves, not negated or conjugated ones."""
    return not (x.is_neg() or x.is_conj())


def _bounds_of(x: Tensor) -> tuple[int, int]:
    """The addresses of the first byte, and behind the last."""
    start = x.data_ptr()
    if x.numel() == 0:
        return start, start
    return start, start + (1 + sum((n - 1) * step for n, step in zip(x.shape, x.stride()))) * x.element_size()


def shared(outputs: Sequence[Tensor], inputs: Sequence[Tensor] = ()) -> tuple[list[bool], list[bool]]:
    """For each output, whether it may share memory with another one; for each input, whether it may share memory with
    an output. Gaps between elements count as memory."""
    bounds = sorted((*_bounds_of(x), i) for i, x in enumerate(outputs))
    are_apart = [False] * len(outputs)
    pieces: list[list[int]] = []  # memory of outputs, joined where it overlaps
    last = -1
    for start, end, i in bounds:
        if pieces and start < pieces[-1][1]:
            are_apart[i] = are_apart[last] = True
            pieces[-1][1] = max(pieces[-1][1], end)
        else:
            pieces.append([start, end])
        last = i
    are_copied = []
    for x in inputs:
        start, end = _bounds_of(x)
        place = bisect.bisect_left(pieces, [end])  # of the first piece that begins behind it
        are_copied.append(place > 0 and start < pieces[place - 1][1])
    return are_apart, are_copied


def row_counts(size: int, x: Tensor, splits: Sequence[int] | None) -> list[int]:
    """The elements of each rank's rows. splits: the rows of each rank, if they differ."""
    rows = len(x) if x.dim() else 0
    width = x.numel() // rows if rows else 0
    return [rows // size * width] * size if not splits else [n * width for n in splits]


Finish = Optional[Callable[[], None]]


def plain_arrays(name: str, x: Tensor | None, out: Tensor | None, finish: Finish) -> tuple[Any, Any, Finish] | None:
    """Arrays in place of those that a call has rejected, and a function for its end: copies of elements that memory
    has negated or conjugated, and of an input that shares memory with the output. None: no copies are needed.

    name: of the call. out: None also where results go into x.
    """
    if x is not None:
        if not is_plain(x):
            array = x.resolve_conj().resolve_neg()
            target = x if out is None and name in _IN_PLACE else None
            return array, out, finish if target is None else _stored(array, target, finish)
        if out is not None and any(shared([out], [x])[1]):
            return x.clone(), out, finish
    if out is not None and not is_plain(out):
        array = torch.empty(out.shape, dtype=out.dtype, device=out.device)
        return x, array, _stored(array, out, finish)
    return None


def _stored(array: Tensor, x: Tensor, finish: Finish) -> Finish:
    def store() -> None:
        x.copy_(array)
        if finish is not None:
            finish()

    return store


def read(x: Tensor) -> Tensor:
    """The elements of an input, contiguous, copied if necessary."""
    check_has_elements(x)
    x = x.detach() if x.requires_grad else x
    return x if x.is_contiguous() else x.contiguous()


def read_together(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of several inputs, contiguous, copied if necessary."""
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
    the results there. is_read: whether a call also reads the elements. is_apart: whether they always lie elsewhere."""

    def __init__(self, tensors: Sequence[Tensor], is_read: bool = False, is_apart: bool = False) -> None:
        self.finish: Finish = None
        for x in tensors:
            check_has_elements(x)
        if len(tensors) == 1 and tensors[0].is_contiguous() and not is_apart:
            self.array = tensors[0].detach() if tensors[0].requires_grad else tensors[0]
            return
        together = None if is_apart else joined(tensors)
        if together is not None:
            self.array = together
            return
        x = tensors[0]
        if is_read:
            array = copied_together(tensors)
            array = array.clone() if is_apart else array
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
