"""`dist.init_process_group(..., init_method="tutti://")`: the ranks that a launcher of tutti has started."""

from __future__ import annotations

import array
from datetime import timedelta
from typing import Any, Iterator

from torch._C._distributed_c10d import TCPStore
from torch.distributed.rendezvous import register_rendezvous_handler

from .. import _init

_ADDRESS_BYTES = 256


def rendezvous(url: str, timeout: timedelta = timedelta(minutes=30), **_: Any) -> Iterator[tuple[Any, int, int]]:
    """A store at a free port of rank 0. For all backends: ranks are those of tutti.world(), as `tutti run`,
    mpirun, srun or torchrun have started them, and no variable is needed."""
    world = _init.world()
    store = None
    address = array.array("B", bytes(_ADDRESS_BYTES))
    if world.rank == 0:
        host = world.address  # names of hosts need not be known to others
        store = TCPStore(host, 0, None, True, timeout, wait_for_workers=False)
        text = f"{store.port} {host}".encode()
        address[: len(text)] = array.array("B", text)
    world.broadcast(address)
    if store is None:
        port, host = address.tobytes().rstrip(b"\0").decode().split(" ", 1)
        store = TCPStore(host, int(port), None, False, timeout)
    yield store, world.rank, world.size
    raise RuntimeError("the ranks of tutti cannot meet again: initialise the group anew")


def register() -> None:
    """Registers the scheme, once."""
    try:
        register_rendezvous_handler("tutti", rendezvous)  # type: ignore[no-untyped-call]
    except RuntimeError:  # it is there
        pass
