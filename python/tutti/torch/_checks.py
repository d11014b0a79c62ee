"""The checks of calls of torch.distributed, as in Gloo, since data would otherwise land at wrong places."""

from __future__ import annotations

from typing import Sequence

from torch import Tensor

from ..errors import ArgumentError
from ._monitored import TAG


def check_blocks(name: str, size: int, tensors: Sequence[Tensor], count: int | None = None) -> None:
    """Raises ArgumentError unless there is a tensor for each rank. count: the elements of each, if they are equal."""
    if len(tensors) != size:
        raise ArgumentError(f"{name}: a list has {len(tensors)} tensors, and must have {size}, one for each rank")
    for i, x in enumerate(tensors):
        if count is not None and x.numel() != count:
            raise ArgumentError(f"{name}: tensor {i} of a list has {x.numel()} elements, and must have {count}")


def check_lengths(name: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
    """Raises ArgumentError unless each input has an output."""
    if len(inputs) != len(outputs):
        raise ArgumentError(f"{name}: {len(inputs)} inputs have {len(outputs)} outputs, and must have as many")


def check_rows(size: int, x: Tensor, splits: Sequence[int] | None) -> None:
    """Raises ArgumentError if ranks cannot get equally many rows of a tensor. splits: rows of each rank, if given."""
    if not splits and x.dim() and len(x) % size:
        raise ArgumentError(
            f"all_to_all_single: a tensor has {len(x)} rows, which cannot be divided equally among {size} ranks: "
            "pass the sizes of its splits"
        )


def check_tag(tag: int) -> None:
    """Raises ArgumentError for a tag that programs must not use."""
    if not 0 <= tag < TAG:
        raise ArgumentError(f"a tag is {tag}, and must be within 0 .. {TAG - 1}")
