"""A full /dev/shm does not matter, since tutti's shared memory has no names."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from typing import Any

import ranks
import small_shm
import tutti
from tutti.memory import import_file

BYTES = 40 << 20


def share(world: tutti.Communicator) -> None:
    memory = world.empty(BYTES // 4)
    assert memory.is_visible
    x = memory.view()
    x[0] = x[-1] = 1.0
    world.all_reduce(memory)
    assert x[0] == x[-1] == world.size
    objects = world.objects.all_gather(bytes([world.rank]) * BYTES)
    assert [(one[0], len(one)) for one in objects] == [(rank, BYTES) for rank in range(world.size)]
    file = os.memfd_create("test")
    os.ftruncate(file, BYTES)
    mapped = mmap.mmap(file, BYTES)
    address = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
    assert import_file(world._handle, file, address, BYTES).is_visible


def in_a_full_folder() -> None:
    small_shm.fill(0)
    assert small_shm.left() == 0
    ranks.run(4, share)
    results: Any = tutti.spawn(share, 2)
    assert results == [None] * 2


def test_a_full_folder() -> None:
    small_shm.run(__file__, "in_a_full_folder")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
