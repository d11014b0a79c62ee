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
_MARGIN = 1 << 20  # bytes that are left to other programs


class Shared(NamedTuple):
    """A tensor's memory that is visible, as long as this lives."""

    pages: Pages
    tensor: Tensor


def share(world: Communicator, x: Tensor) -> Shared | None:
    """Moves the storage of a tensor to memory that the other ranks see, with all its views. Collective.
    Returns None on all ranks where that is not possible on one of them: calls then copy.
    """
    storage = storage_of(x)
    room = _reserve(storage.nbytes()) if x.storage_offset() == 0 else None
    all_have_room = _agree(world, room is not None)
    if room is not None:
        os.close(room)  # PyTorch cannot use it, and makes a file of its own
    if not all_have_room:
        return None
    try:
        shared = storage._share_fd_cpu_()  # the file belongs to the storage
    except RuntimeError:  # another program has taken the room since then
        shared = None
    if not _agree(world, shared is not None):
        return None
    assert shared is not None
    file, bytes = shared
    try:
        pages = import_file(world._handle, file, storage.data_ptr(), bytes)
    except TransportError:
        return None
    return Shared(pages, x) if pages.is_visible else None


def _agree(world: Communicator, is_possible: bool) -> bool:
    """Whether it is possible on all ranks."""
    return bool(world.all_reduce(int(is_possible), op="min"))


def _reserve(bytes: int) -> int | None:
    """Reserves some more than `bytes` of shared memory, until the returned file is closed; None if there is no
    room. Ranks of a host that do this together find out whether all of them have room. Old versions of PyTorch
    reserve nothing, and a write to memory that is not there would end the process.
    """
    try:
        file = os.open(_FOLDER, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        os.posix_fallocate(file, 0, bytes + _MARGIN)
    except OSError:
        os.close(file)
        return None
    return file
