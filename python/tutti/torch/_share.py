"""Tensors of PyTorch in memory that the other ranks of the host see."""

from __future__ import annotations

import os
from typing import NamedTuple

from torch import Tensor

from ..communicator import Communicator
from ..errors import TransportError
from ..memory import Pages, import_file
from ._tensors import storage_of

_FOLDER = "/dev/shm"  # where PyTorch makes shared memory


class Shared(NamedTuple):
    """A tensor's memory that is visible, as long as this lives."""

    pages: Pages
    tensor: Tensor


def share(world: Communicator, x: Tensor) -> Shared | None:
    """Moves the storage of a tensor to memory that the other ranks see, with all its views. Collective.
    Returns None where that is not possible: calls then copy.
    """
    storage = storage_of(x)
    is_possible = x.storage_offset() == 0 and _has_room(storage.nbytes())
    if not world.all_reduce(int(is_possible), op="min"):
        return None
    file, bytes = storage._share_fd_cpu_()  # the file belongs to the storage
    try:
        pages = import_file(world._handle, file, storage.data_ptr(), bytes)
    except TransportError:
        return None
    return Shared(pages, x) if pages.is_visible else None


def _has_room(bytes: int) -> bool:
    """Whether shared memory has room: PyTorch does not reserve it, and a write beyond it ends the process."""
    try:
        status = os.statvfs(_FOLDER)
    except OSError:
        return False
    return status.f_bavail * status.f_frsize > 2 * bytes + (1 << 20)
