"""Errors: their classes, and the rank at fault."""

from __future__ import annotations

import builtins
import pickle
import time
from typing import Any

import numpy as np
import pytest

import ranks
import tutti
from tutti import errors


def test_classes() -> None:
    for code, kind in errors._CLASSES.items():
        error = kind("a text", rank=3, cause="peer_dead", call=7)
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is kind and str(again) == "a text"
        assert (again.code, again.rank, again.cause, again.call) == (code, 3, "peer_dead", 7)
        assert isinstance(error, tutti.Error) and isinstance(error, RuntimeError)
    assert issubclass(tutti.TimeoutError, builtins.TimeoutError)
    assert issubclass(tutti.ArgumentError, ValueError)
    assert tutti.Error("x").code == "transport" and tutti.MismatchError("x").cause == "mismatch"


def check_mismatch(world: tutti.Communicator, first: str) -> Any:
    count = 2 if world.rank == 2 else 1
    with pytest.raises(tutti.MismatchError) as caught:
        getattr(world, first)(np.ones(count))
    with pytest.raises(tutti.MismatchError):
        world.barrier()  # the communicator stays failed
    return str(caught.value), caught.value.code


def test_mismatch() -> None:
    for text, code in ranks.run(3, check_mismatch, "all_reduce"):
        assert code == "mismatch" and "rank 2" in text


def check_timeout(world: tutti.Communicator) -> Any:
    if world.rank == 1:
        time.sleep(1)
        with pytest.raises(tutti.Error):
            world.barrier()
        return None
    with pytest.raises(tutti.TimeoutError) as caught:
        world.all_reduce(np.ones(3), timeout=0.3)
    return caught.value.rank, str(caught.value)


def test_timeout() -> None:
    results = ranks.run(3, check_timeout)
    for rank in (0, 2):
        culprit, text = results[rank]
        assert culprit == 1 and "rank 1" in text


def end_abruptly(world: tutti.Communicator) -> Any:
    if world.rank == 1:
        import os

        os._exit(3)
    with pytest.raises(tutti.PeerDeadError) as caught:
        world.all_reduce(np.ones(3))
    return caught.value.rank


def test_peer_dead() -> None:
    results = ranks.answers(3, end_abruptly)
    assert results[0] == (True, 1) and results[2] == (True, 1)
    assert results[1][0] is None and "3" in results[1][1]


def drop_a_request(world: tutti.Communicator) -> Any:
    if world.rank == 1:
        request = world.start.recv(np.zeros(3), 0)
        del request
        with pytest.raises(tutti.AbortedError):
            world.barrier()
        return None
    with pytest.raises(tutti.AbortedError) as caught:
        world.all_reduce(np.ones(3))
    return caught.value.rank


def test_aborted() -> None:
    assert ranks.run(3, drop_a_request) == [1, None, 1]


def check_closed(world: tutti.Communicator) -> None:
    group = world.group(range(world.size))
    assert "rank" in repr(group) and group.describe()
    group.close()
    group.close()
    assert "closed" in repr(group)
    with pytest.raises(tutti.ArgumentError, match="this communicator is closed"):
        group.barrier()
    with pytest.raises(tutti.ArgumentError, match="this communicator is closed"):
        group.start.barrier()
    with world.split(0) as part:
        assert part.all_reduce(1) == world.size
    nothing = world.split(None if world.rank == 0 else world.rank)
    assert (nothing is None) == (world.rank == 0)
    with pytest.raises(tutti.ArgumentError, match="color -3 is less than zero"):
        world.split(-3)
    with pytest.raises(tutti.ArgumentError):
        world.group([0, 0])
    assert world.hosts == [list(range(world.size))] and world.local_rank == world.rank
    assert world.waits() == ""
    for name in tutti._declarations.COLLECTIVES:
        if name not in ("barrier", "send", "recv", "sendrecv"):
            assert world.explain(name, 1 << 20)
    assert "ring" in world.explain("all_reduce", 1 << 20, dtype="float64", op="max")
    with pytest.raises(tutti.ArgumentError, match="there is no collective 'all'"):
        world.explain("all", 3)


@pytest.mark.parametrize("size", [1, 3])
def test_groups(size: int) -> None:
    ranks.run(size, check_closed)


def test_init() -> None:
    with pytest.raises(TypeError, match="no option 'tunning'; there are address"):
        tutti.init(tunning="none")  # type: ignore[call-arg]
    with pytest.raises(tutti.ArgumentError, match="rank and size must be given both"):
        tutti.init(rank=0)
    with pytest.raises(tutti.ArgumentError, match="a int is no source"):
        tutti.init(5)
    with pytest.raises(tutti.ArgumentError, match="there is no determinism 'slow'; there are default, fast"):
        tutti.init(determinism="slow")
    with pytest.raises(tutti.ArgumentError):
        tutti.init("http://nowhere", rank=0, size=2)
    with pytest.raises(tutti.TimeoutError, match="rank"):
        tutti.init("unix://nobody-comes", rank=1, size=2, timeout=0.3)


def test_world() -> None:
    assert not tutti.is_initialized()
    with tutti.init(rank=0, size=1, tuning="none", heartbeat_timeout=3, call_timeout=9) as world:
        assert tutti.is_initialized() and tutti.world() is world
        other = tutti.init(rank=0, size=1, tuning="none")
        assert tutti.world() is world
    assert tutti.world() is other
    other.close()
    assert not tutti.is_initialized()


class Exchange:
    """The methods of a communicator of mpi4py that init uses."""

    def __init__(self, world: tutti.Communicator, has_failure: bool = False) -> None:
        self.world = world
        self.has_failure = has_failure

    def Get_rank(self) -> int:
        return self.world.rank

    def Get_size(self) -> int:
        return self.world.size

    def allgather(self, part: bytes) -> list[bytes]:
        if self.has_failure:
            raise KeyError("no exchange")
        out = bytearray(len(part) * self.world.size)
        self.world.all_gather(part, out)
        return [bytes(out[i : i + len(part)]) for i in range(0, len(out), len(part))]


def check_source(world: tutti.Communicator) -> None:
    with tutti.init(Exchange(world)) as other:
        assert (other.rank, other.size) == (world.rank, world.size)
        assert other.all_reduce(1) == world.size
        assert "by Exchange" in other.describe()
    with tutti.init(Exchange(world), is_private=True, transport="tcp") as other:
        assert other.all_reduce(1) == world.size
    with pytest.raises(KeyError, match="no exchange"):
        tutti.init(Exchange(world, True))
    with pytest.raises(tutti.ArgumentError, match="is_private is for a communicator"):
        tutti.init(is_private=True)


def test_an_exchange_as_the_source() -> None:
    ranks.run(2, check_source)


def check_long_integers(world: tutti.Communicator) -> None:
    """ctypes would cut off their high bits: 2**32 would be rank 0."""
    x = np.ones(3)
    calls = [
        lambda: world.broadcast(x, root=1 << 32),
        lambda: world.start.broadcast(x, root=1 << 32),
        lambda: world.reduce(x, np.ones(3), root=1 << 32),
        lambda: world.send(x, 1 << 32),
        lambda: world.recv(x, 0, tag=1 << 32),
        lambda: world.probe_now(1 << 32),
        lambda: world.probe_now(tag=1 << 32),
        lambda: world.objects.broadcast(1, root=1 << 32),
        lambda: world.objects.send(1, 1 << 32),
        lambda: world.objects.start.recv(0, tag=1 << 32),
        lambda: world.split(1 << 32),
        lambda: world.split(0, key=1 << 31),
        lambda: world.group([1 << 32]),
        lambda: world.group([0], key=1 << 64),
        lambda: world.group([0], key=-1),
        lambda: world.all_to_all(x[:1], x[:1], counts=([(1 << 64) + 1], [(1 << 64) + 1])),
        lambda: world.all_gather(x[:1], x[:1], counts=[(1 << 64) + 1]),
        lambda: world.all_reduce(x, segment=(1 << 64) + 4096),
        lambda: tutti.GradientSync(world, {"x": x}, known_order=[1 << 64]),
        lambda: tutti.GradientSync(world, {"x": x}, bucket_bytes=(1 << 64) + 4096),
        lambda: tutti.GradientSync(world, {"x": x}, in_flight=(1 << 32) + 1),
        lambda: tutti.GradientSync(world, {"x": x}).broadcast_state({"x": x}, root=1 << 32),
    ]
    for call in calls:
        with pytest.raises(tutti.ArgumentError, match="expected"):
            call()
    for shape in ((1 << 62, 4), (1 << 64) + 1, 1 << 63):
        with pytest.raises(tutti.ArgumentError, match="exceed the address space"):
            world.empty(shape, "uint8")
    with tutti.GradientSync(world, {"x": x}) as sync:
        with pytest.raises(tutti.ArgumentError, match="expected"):
            sync.ready(1 << 64)
    assert world.all_reduce(1) == 1


def test_long_integers() -> None:
    ranks.run(1, check_long_integers)
