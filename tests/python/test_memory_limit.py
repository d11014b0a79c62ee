"""Too little memory of the host or of the control group is an Error of calls, and kills no rank."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from typing import Any, Iterator

import numpy as np
import pytest

import ranks
import tutti

LIMIT = 1 << 30
WANTED = 700 << 20  # one rank may have them, two may not
SHORTAGE = r"(\d+) bytes are wanted, and this host or its control group has (\d+) bytes available"
MOUNT = pathlib.Path("/sys/fs/cgroup")


def _folders() -> Iterator[tuple[pathlib.Path, str]]:
    """The folder for control groups within the own one, and the file of their limit."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            yield MOUNT / "memory" / path.lstrip("/"), "memory.limit_in_bytes"
        elif not controllers:
            yield MOUNT / path.lstrip("/"), "memory.max"


@pytest.fixture
def group() -> Iterator[pathlib.Path]:
    """A control group that has little memory."""
    complaints = []
    for folder, file in _folders():
        try:
            made = pathlib.Path(tempfile.mkdtemp(prefix="tutti-test-", dir=folder))
        except OSError as error:
            complaints.append(str(error))
            continue
        try:
            if not (made / file).exists():
                raise OSError(f"{made} has no {file}")
            (made / file).write_text(str(LIMIT))
        except OSError as error:
            complaints.append(str(error))
            made.rmdir()
            continue
        yield made
        end = time.monotonic() + ranks.AMPLE
        while (made / "cgroup.procs").read_text() and time.monotonic() < end:
            time.sleep(0.01)  # a process that was killed leaves it a little later
        made.rmdir()
        return
    pytest.skip(f"no control group can be made here: {'; '.join(complaints)}")


def run_in(group: pathlib.Path, name: str, *arguments: str) -> None:
    """Runs a function of this file in a process of a control group."""

    def join() -> None:
        (group / "cgroup.procs").write_text(str(os.getpid()))

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    words = [sys.executable, "-B", __file__, name, *arguments]
    assert subprocess.run(words, env=environment, preexec_fn=join, timeout=300).returncode == 0


def shortage_of(error: tutti.Error) -> tuple[int, int]:
    """The bytes wanted, and those available."""
    found = re.search(SHORTAGE, str(error))
    assert found, error
    return int(found[1]), int(found[2])


def allocate(spawned: tutti.Communicator, transport: str) -> bool:
    """Returns whether there was memory."""
    url = f"unix://tutti-test-{os.getppid()}"
    world = tutti.init(url, rank=spawned.rank, size=spawned.size, transport=transport)
    world.barrier()
    kept = None
    try:
        kept = world.empty(WANTED, "uint8")
    except tutti.TransportError as error:
        wanted, available = shortage_of(error)
        assert wanted == WANTED and available < LIMIT and error.rank == world.rank
    world.barrier()  # until then memory is kept
    small = world.empty(1 << 20)
    world.all_reduce(small)
    return kept is not None


def all_ranks_allocate(transport: str) -> None:
    assert not all(tutti.spawn(allocate, 2, transport))


def make_gradients(world: tutti.Communicator) -> None:
    gradient = np.zeros(WANTED // 4, np.float32)  # no memory is behind it
    with pytest.raises(tutti.TransportError) as caught:
        tutti.GradientSync(world, {"w": gradient}, storage="views")
    assert shortage_of(caught.value)[0] >= WANTED
    world.barrier()


def all_ranks_make_gradients() -> None:
    tutti.spawn(make_gradients, 2)


def share_object(world: tutti.Communicator) -> None:
    one = bytes(WANTED) if world.rank == 0 else None
    with pytest.raises(tutti.Error):
        world.objects.broadcast(one)


def an_object_is_too_large() -> None:
    tutti.spawn(share_object, 2)


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_ranks_that_allocate_together(group: pathlib.Path, transport: str) -> None:
    run_in(group, "all_ranks_allocate", transport)


def test_ranks_that_make_gradients(group: pathlib.Path) -> None:
    run_in(group, "all_ranks_make_gradients")


def test_an_object_that_is_too_large(group: pathlib.Path) -> None:
    run_in(group, "an_object_is_too_large")


def want_too_much(world: tutti.Communicator) -> None:
    with pytest.raises(tutti.TransportError) as caught:
        world.empty(1 << 45, "uint8")
    wanted, available = shortage_of(caught.value)
    assert wanted == 1 << 45 > available > 0


@pytest.mark.parametrize("size", [1, 3])
def test_more_than_any_host_has(size: int) -> None:
    ranks.run(size, want_too_much)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
