"""Attempts to meet over a store that outlives them: whatever an earlier attempt left there, the next one meets."""

from __future__ import annotations

import datetime
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
import torch
import torch.distributed as dist

import ranks
import tutti
from groups import full

MOMENT = datetime.timedelta(seconds=1)  # of an attempt that must fail
AMPLE = datetime.timedelta(seconds=100)
PATIENCE = 240.0  # seconds; processes import PyTorch


def begin(store: Any, rank: int, size: int, timeout: datetime.timedelta = AMPLE) -> None:
    """Makes the default group. Where it fails, the process may try again."""
    try:
        dist.init_process_group("tutti", store=store, rank=rank, world_size=size, timeout=timeout)
    except tutti.Error:
        if dist.is_initialized():
            dist.destroy_process_group()
        raise


def check_sum() -> None:
    dist.all_reduce(x := full(dist.get_rank() + 1))
    assert torch.equal(x, full(sum(range(1, dist.get_world_size() + 1))))


def meet(store: Any, rank: int, size: int) -> None:
    begin(store, rank, size)
    try:
        check_sum()
    finally:
        dist.destroy_process_group()


def file_store(path: str, size: int) -> Any:
    return dist.FileStore(path, size)


def tcp_store(port: str, size: int) -> Any:
    """A client of the store that the test keeps, as torchrun does."""
    return dist.TCPStore("127.0.0.1", int(port), size, False, AMPLE, wait_for_workers=False)


def die_when_met(rank: int, kind: str, place: str, size: int) -> None:
    """The process of a rank that is killed as soon as it has met the others."""

    def kill(*_: Any, **__: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(tutti._init, "init", kill)
    begin(STORES[kind](place, size), rank, size)


def die_while_waiting(rank: int, kind: str, place: str, size: int) -> None:
    """The process of a rank that is killed while it waits for the others."""

    threading.Timer(2, os.kill, (os.getpid(), signal.SIGKILL)).start()
    begin(STORES[kind](place, size), rank, size)


STORES = {"file": file_store, "tcp": tcp_store}


@pytest.fixture(params=["file", "tcp"])
def place(request: Any, tmp_path: pathlib.Path) -> Any:
    """The kind of a store, and where it is."""
    if request.param == "file":
        yield "file", str(tmp_path / "store")
    else:
        server = dist.TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)
        yield "tcp", str(server.port)


def die(function: Any, *arguments: Any) -> None:
    """Runs a function in a process that is killed."""
    call = f"test_attempts.{function.__name__}(*{arguments!r})"
    text = f"import sys; sys.path[:0] = {sys.path!r}; import test_attempts; {call}"
    done = subprocess.run([sys.executable, "-B", "-c", text], timeout=PATIENCE)
    assert done.returncode == -signal.SIGKILL


def run(function: Any, *arguments: Any) -> list[Any]:
    """The results of function(world, *arguments) on three ranks."""
    return ranks.run(3, function, *arguments, timeout=PATIENCE)


def meet_in(world: tutti.Communicator, kind: str, place: str) -> None:
    meet(STORES[kind](place, world.size), world.rank, world.size)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_a_rank_was_killed_before_all_had_come(place: tuple[str, str], rank: int) -> None:
    die(die_while_waiting, rank, *place, 3)
    run(meet_in, *place)
    run(meet_in, *place)


def try_again(world: tutti.Communicator, kind: str, place: str) -> str:
    """Rank 1 fails while the last rank is late, and tries again alone."""
    store = STORES[kind](place, world.size)
    error = ""
    if world.rank == 1:
        with pytest.raises(tutti.TimeoutError) as failure:
            begin(store, 1, world.size, MOMENT)
        error = str(failure.value)
        store.set("test/failed", "")
    if world.rank == 2:
        store.wait(["test/failed"], AMPLE)
    meet(store, world.rank, world.size)
    return error


def test_one_rank_tries_again(place: tuple[str, str]) -> None:
    error = run(try_again, *place)[1]
    assert "for rank 2 of 3, which has not come, at the store of torch.distributed" in error


def replace(world: tutti.Communicator, kind: str, place: str, victim: int) -> None:
    """The process of a rank is killed when all have met, and another one takes its place."""
    if world.rank == victim:
        die(die_when_met, victim, kind, place, world.size)
    meet_in(world, kind, place)


@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_is_replaced_when_all_have_met(place: tuple[str, str], victim: int) -> None:
    run(replace, *place, victim)


def fail_alone(world: tutti.Communicator, kind: str, place: str) -> str:
    """A rank that has met the others goes back to the store, to which they do not come."""
    store = STORES[kind](place, world.size)
    meet(store, world.rank, world.size)
    if world.rank != 0:
        return ""
    begun = time.monotonic()
    with pytest.raises(tutti.TimeoutError) as failure:
        begin(store, 0, world.size, MOMENT)
    assert time.monotonic() - begun < AMPLE.total_seconds() / 2
    return str(failure.value)


def test_the_error_says_who_is_missing(place: tuple[str, str]) -> None:
    error = run(fail_alone, *place)[0]
    assert "for ranks 1 and 2 of 3, which have come for an earlier attempt only" in error


def fail_first(function: Any, store: Any, rank: int) -> Any:
    """The result of a call that rank 0 tries alone at first."""
    if rank == 0:
        os.environ["TUTTI_TIMEOUT"] = "1"
        with pytest.raises(tutti.TimeoutError):
            function()
        del os.environ["TUTTI_TIMEOUT"]
        store.set("test/failed", "")
    store.wait(["test/failed"], AMPLE)
    return function()


def close_worlds() -> None:
    while tutti.is_initialized():
        tutti.world().close()


def forget_failed_groups() -> None:
    """PyTorch counts groups that could not be made in the names of later ones, and ranks of Gloo that count otherwise
    never meet. It counts anew once a default group has ended."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    dist.destroy_process_group()


def reduce_by_hook(world: tutti.Communicator, kind: str, place: str) -> None:
    close_worlds()  # the hook makes its own
    forget_failed_groups()
    store = STORES[kind](place, world.size)
    dist.init_process_group("gloo", store=store, rank=world.rank, world_size=world.size)
    try:
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        hook = fail_first(lambda: tutti.torch.ddp_hook(model), store, world.rank)
        assert hook.world.all_reduce(1) == world.size
    finally:
        dist.destroy_process_group()


def reduce_by_attach(world: tutti.Communicator, kind: str, place: str) -> None:
    close_worlds()
    store = STORES[kind](place, world.size)
    os.environ["TUTTI_URL"] = f"unix://{os.path.basename(place)}-of-attempts-{store.get('test/job').decode()}"
    sync = fail_first(lambda: tutti.torch.attach(torch.nn.Linear(2, 1)), store, world.rank)
    del os.environ["TUTTI_URL"]
    assert sync.world.all_reduce(1) == world.size


def reduce_in_pairs(world: tutti.Communicator, kind: str, place: str) -> None:
    """Three groups of two ranks, of which each rank makes its own in another order."""
    store = STORES[kind](place, world.size)
    begin(store, world.rank, world.size)
    try:
        for pair in ([0, 1], [1, 2], [2, 0]) if world.rank != 0 else ([0, 1], [2, 0]):
            if world.rank not in pair:
                continue
            options = tutti.torch.Options(progress_thread=True)
            make = lambda: dist.new_group(pair, pg_options=options, use_local_synchronization=True)  # noqa: E731
            group = fail_first(make, store, world.rank) if pair == [0, 1] else make()
            dist.all_reduce(x := full(1), group=group)
            assert torch.equal(x, full(2))
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize("function", [reduce_by_hook, reduce_by_attach, reduce_in_pairs])
def test_other_ways_try_again(place: tuple[str, str], function: Any) -> None:
    STORES[place[0]](place[1], 3).set("test/job", str(os.getpid()))
    run(function, *place)
