"""Tensors of PyTorch in memory that the other ranks of the host see."""

from __future__ import annotations

import ctypes
import os
from typing import Any, NamedTuple

from torch import Tensor

from .._handles import Handle, Turn, run_apart
from .._library import library
from ..communicator import Communicator
from ..errors import TransportError, check
from ..memory import Pages

_FOLDER = "/dev/shm"  # where PyTorch makes shared memory


class Shared(NamedTuple):
    """A tensor's memory that is visible, as long as this lives."""

    pages: Pages
    tensor: Tensor


def share(world: Communicator, x: Tensor) -> Shared | None:
    """Moves the storage of a tensor to memory that the other ranks see, with all its views. Collective.
    Returns None where that is not possible: calls then copy.
    """
    function: Any = getattr(library, "tutti_memory_import", None)
    storage = x.untyped_storage()
    is_possible = function is not None and x.storage_offset() == 0 and _has_room(storage.nbytes())
    if not world.all_reduce(int(is_possible), op="min"):
        return None
    file, bytes = storage._share_fd_cpu_()  # the file belongs to the storage
    made = ctypes.c_void_p()
    address = storage.data_ptr()

    def make() -> None:
        check(function(world._handle.pointer, file, 0, address, bytes, ctypes.byref(made)))

    try:
        with world._handle.turn:
            run_apart(make)
    except TransportError:
        return None
    assert made.value is not None
    handle = Handle(made.value, library.tutti_memory_free, "memory", Turn())
    is_visible = bool(library.tutti_memory_is_visible(handle.pointer))
    return Shared(Pages(handle, address, bytes, is_visible), x) if is_visible else None


def _has_room(bytes: int) -> bool:
    """Whether shared memory has room: PyTorch does not reserve it, and a write beyond it ends the process."""
    try:
        status = os.statvfs(_FOLDER)
    except OSError:
        return False
    return status.f_bavail * status.f_frsize > 2 * bytes + (1 << 20)
