"""Objects by the extension tutti._fast: they are those of the general way, and ranks may differ in the way."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
import time
import weakref
from typing import Any, Callable, Iterator

import numpy as np
import pytest

import ranks
import tutti
from tutti import _pickles
from tutti.objects import Objects

pytest.importorskip("tutti._fast")

sizes = pytest.mark.parametrize("size", [1, 2, 3])
WAYS: dict[str, Callable[[int], bool]] = {  # the ranks that go the quick way
    "all": lambda rank: True,
    "none": lambda rank: False,
    "even": lambda rank: rank % 2 == 0,
    "odd": lambda rank: rank % 2 == 1,
}
BYTES = [0, 1, 200, (1 << 14) - 1, 1 << 14, 100_001, (1 << 20) + 1]
ALL_GATHER, RECV = 3, 6


def objects_of(world: tutti.Communicator, way: str) -> Objects:
    made = Objects(world._handle, world.rank, world._timeout, world._fast, world._notices)
    if not WAYS[way](world.rank):
        made._fast = None
    return made


def values_of(rank: int) -> list[Any]:
    values: list[Any] = [None, rank, b"", "", {"rank": rank, "list": [rank] * rank}]
    for count in BYTES:
        shared = np.full(count, rank, np.uint8)
        values += [b"%d" % rank * count, shared, [shared, shared, bytearray(shared), np.arange(count // 8)]]
    return values


def same(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b) and b.flags.writeable
    return type(a) is type(b) and bool(a == b)


def check_all_kinds(world: tutti.Communicator) -> None:
    rank, size = world.rank, world.size
    by_rank = [values_of(of) for of in range(size)]
    for way in WAYS:
        call = objects_of(world, way)
        for i, own in enumerate(by_rank[rank]):
            root = i % size
            everyone = [values[i] for values in by_rank]
            got = call.broadcast(own if rank == root else None, root=root)
            assert got is own if rank == root else same(everyone[root], got), (way, i)
            assert same(everyone[rank], call.scatter(everyone if rank == root else None, root=root)), (way, i)
            gathered = call.gather(own, root=root)
            assert same(everyone, gathered) if rank == root else gathered is None, (way, i)
            assert same(everyone, call.all_gather(own)), (way, i)
            assert same(everyone, call.all_to_all([own] * size)), (way, i)
            assert same(everyone, call.all_reduce([own], lambda a, b: a + b)), (way, i)
            for source in (rank - 1) % size, tutti.ANY:
                if size > 1 and rank == 0:
                    call.send(own, 1, tag=i)
                if size > 1:
                    assert same(everyone[rank - 1], call.recv(source, tag=i)), (way, i)
                if rank > 0:
                    call.send(own, (rank + 1) % size, tag=i)


def check_one_large_object(world: tutti.Communicator) -> None:
    """One rank's object lies where it arrived, others are small."""
    large = world.size - 1
    for way in WAYS:
        call = objects_of(world, way)
        got: list[Any] = call.all_gather(np.arange(200_000) if world.rank == large else world.rank)
        assert got[:large] == list(range(large)) and (got[large] == np.arange(200_000)).all()
        got[large][:] = 0
    quick = world._fast
    assert quick is not None
    assert quick.objects(ALL_GATHER, 0, 0, 0, [world.rank]) == list(range(world.size))
    ended = quick.objects(ALL_GATHER, 0, 0, 0, [np.arange(200_000)])
    assert type(ended) is tuple and ended[1] == -1
    assert len(world.objects._decode("all_gather", *ended)) == world.size


class Missing:
    """A class whose name its receivers do not have."""

    def __reduce__(self) -> Any:
        return getattr, (Missing, "no such name")


class Raises:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __reduce__(self) -> Any:
        raise type(self.error)(*self.error.args)


def message_of(call: Callable[[], Any]) -> str:
    with pytest.raises(tutti.ObjectError) as caught:
        call()
    return str(caught.value)


def broken() -> Iterator[int]:
    yield 1
    raise KeyError("broken")


def check_failing_encoders(world: tutti.Communicator) -> None:
    """All ranks get the same error, and later calls work."""
    rank, size = world.rank, world.size
    for way in WAYS:
        call = objects_of(world, way)
        bad = size - 1
        given = Raises(ValueError("odd")) if rank == bad else rank
        with pytest.raises(tutti.ObjectError, match=f"rank {bad} could not encode.*: ValueError: odd") as caught:
            call.all_gather(given)
        assert isinstance(caught.value.__cause__, ValueError) == (rank == bad)
        texts = [
            message_of(lambda: call.broadcast(threading.Lock(), root=bad)),
            message_of(lambda: call.scatter(broken() if rank == bad else None, root=bad)),
            message_of(lambda: call.scatter([1] * (size + 1) if rank == bad else None, root=bad)),
            message_of(lambda: call.scatter(None, root=bad)),
            message_of(lambda: call.all_to_all(broken() if rank == 0 else [0] * size)),
            message_of(lambda: call.all_reduce(rank, lambda a, b: a // 0) if size > 1 else call.broadcast(Raises(ZeroDivisionError("ZeroDivisionError")))),
        ]  # fmt: skip
        expected = ["cannot pickle", "KeyError: 'broken'", f"{size + 1} objects were given for {size} ranks",
                    f"0 objects were given for {size} ranks", "rank 0 could not encode", "ZeroDivisionError"]  # fmt: skip
        assert all(words in text for words, text in zip(expected, texts))
        assert call.all_gather(texts) == [texts] * size
        rows = np.arange(2 * size).reshape(size, 2)
        assert call.scatter(rows if rank == bad else None, root=bad).tolist() == rows[rank].tolist()


def check_failing_decoders(world: tutti.Communicator) -> None:
    """The texts of both ways are the same."""
    rank, size = world.rank, world.size
    texts = []
    for way in WAYS:
        call = objects_of(world, way)
        for given in (Missing(), [Missing(), np.ones(20_000)]):
            if rank == size - 1:
                call.broadcast(given, root=rank)
            else:
                texts.append(message_of(lambda: call.broadcast(None, root=size - 1)))
            assert call.all_gather(rank) == list(range(size))
    if texts:
        assert len(set(texts)) == 2 and f"from rank {size - 1} cannot be decoded: AttributeError" in texts[0]
    with pytest.raises(tutti.ObjectError, match="from rank 0 cannot be decoded") as caught:
        world.objects.all_gather(Missing() if rank == 0 else 1)
    assert caught.value.rank == 0 and isinstance(caught.value.__cause__, AttributeError)


HUGE = (2**63).to_bytes(8, "little")
HOSTILE = [b"", b"\0" * 7, HUGE, b"\1" + bytes(7) + HUGE, bytes(8), bytes(8) + b"junk", b"\1" + bytes(15),
           b"\xff" * 16, b"\2" + bytes(7) + b"\xff" * 16, b"\1" + bytes(7) + b"\x09" + bytes(7) + b"N." + bytes(14),
           b"\1" + bytes(7) + b"\xfa" + b"\xff" * 7 + b"N." + bytes(14)]  # fmt: skip


def check_hostile_bytes(world: tutti.Communicator) -> None:
    original = _pickles.encode
    for data in HOSTILE:
        if world.rank == 1:
            _pickles.encode = lambda obj, codec: [data]
            try:
                objects_of(world, "none").broadcast(0, root=1)
            finally:
                _pickles.encode = original
        else:
            text = message_of(lambda: world.objects.broadcast(root=1))
            assert f"an object of {len(data)} bytes from rank 1 cannot be decoded" in text
        world.barrier()


def check_wrong_calls(world: tutti.Communicator) -> None:
    call, quick = world.objects, world._fast
    assert quick is not None
    for root in (world.size, -1, 2**32):
        with pytest.raises(tutti.ArgumentError):
            call.broadcast(1, root=root)
        with pytest.raises(tutti.ArgumentError):
            call.gather(1, root=root)
    with pytest.raises(tutti.ArgumentError):
        call.send(1, world.size)
    with pytest.raises(tutti.ArgumentError, match="there is no codec 'json'"):
        call.all_gather(1, codec="json")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        quick.objects(ALL_GATHER, 0, 0, 0)  # type: ignore[call-arg]
    with tutti.batch(), pytest.raises(tutti.ArgumentError, match="batch"):
        call.all_gather(1)
    with world._handle.turn:
        assert quick.objects(ALL_GATHER, 0, 0, 0, [1]) is NotImplemented, "a call within a call"
    with world.group(range(world.size)) as group:
        kept = group.objects
        assert kept.all_gather(1) == [1] * world.size
    with pytest.raises(tutti.ArgumentError, match="closed"):
        kept.all_gather(1)
    assert call.all_gather(world.rank) == list(range(world.size))


class Nested:
    """An object that is pickled by calls with objects."""

    def __init__(self, group: tutti.Communicator | None, depth: int) -> None:
        self.group = group
        self.depth = depth

    def __getstate__(self) -> Any:
        assert self.group is not None
        if self.depth > 0:
            [inner] = self.group.objects.all_gather(Nested(self.group, self.depth - 1))
            assert inner.depth == self.depth - 1
        return {"group": None, "depth": self.depth}


class Plain:
    pass


def check_encoders_keep_nothing(world: tutti.Communicator) -> None:
    one = Plain()
    pair = world.objects.all_gather([one, one])[0]
    assert pair[0] is pair[1] and world.objects.all_gather(one)[0] is not pair[0]
    watch = weakref.ref(one)
    del one
    gc.collect()
    assert watch() is None
    with contextlib.suppress(ValueError):
        world._fast.objects(ALL_GATHER, 0, 0, 0, [Raises(ValueError())])  # type: ignore[union-attr]
    with pytest.raises(KeyboardInterrupt):
        world.objects.all_gather(Raises(KeyboardInterrupt()))
    with world.group([world.rank], key=world.rank) as group:
        assert world.objects.all_gather(Nested(group, 5))[0].depth == 5


def check_memory(world: tutti.Communicator) -> None:
    """Neither calls nor errors leave anything behind."""
    values = [{"a": 1}, np.ones(100), np.ones(30_000), Missing(), Raises(ValueError())]

    def call_all() -> None:
        for value in values:
            with contextlib.suppress(tutti.ObjectError):
                world.objects.all_gather(value)

    def blocks() -> int:
        for _ in range(300):
            call_all()
        gc.collect()
        return sys.getallocatedblocks()

    blocks()
    before = blocks()
    assert blocks() - before < 150, "300 calls of each value would leave at least one block each"


def check_threads(world: tutti.Communicator) -> None:
    """Threads take turns; a call that waits for its turn does not fail."""
    results: list[Any] = []

    def call(number: int) -> None:
        for _ in range(100):
            results.append(world.objects.all_gather("same"))

    threads = [threading.Thread(target=call, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [["same"] * world.size] * 300


@sizes
@pytest.mark.parametrize(
    "check",
    [
        check_all_kinds,
        check_one_large_object,
        check_failing_encoders,
        check_failing_decoders,
        check_wrong_calls,
        check_encoders_keep_nothing,
        check_memory,
        check_threads,
    ],
)
def test_on_ranks(size: int, check: Any) -> None:
    ranks.run(size, check)


def test_hostile_bytes() -> None:
    ranks.run(2, check_hostile_bytes)


def receives_later(world: tutti.Communicator) -> None:
    """A receive from any rank waits for longer than the extension looks for a message."""
    if world.rank == 0:
        assert world.objects.recv(tag=3) == "late"
        with pytest.raises(tutti.TimeoutError, match="from any rank came within 0.05 s"):
            world.objects.recv(timeout=0.05)
    else:
        time.sleep(0.2)
        world.objects.send("late", 0, tag=3)
    world.barrier()


def check_fork(world: tutti.Communicator) -> None:
    """A child whose parent was in a call does not wait for its end."""
    inside, done = threading.Event(), threading.Event()

    def hold() -> None:
        with world._handle.turn:
            inside.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            world.objects.all_gather(1)
        except tutti.ArgumentError as error:
            os._exit(7 if "forked child" in str(error) else 1)
        os._exit(2)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_fork() -> None:
    assert ranks.answers(1, check_fork) == [(True, None)]


def test_a_late_object_from_any_rank() -> None:
    ranks.run(2, receives_later)


def interrupted(world: tutti.Communicator, kind: int, peer: int) -> tuple[str, bool]:
    if world.rank == 1:
        time.sleep(0.6)  # rank 0 waits meanwhile
        try:
            world.barrier()
        except tutti.AbortedError as error:
            return f"rank {error.rank}", True
        return "nothing", True
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    assert world._fast is not None
    try:
        world._fast.objects(kind, 0, peer, 0, [] if kind == RECV else [1])
    except KeyboardInterrupt:
        return "interrupted", time.monotonic() - start < 10
    return "nothing", False


@pytest.mark.parametrize("kind, peer", [(ALL_GATHER, 0), (RECV, 1)])
def test_ctrl_c(kind: int, peer: int) -> None:
    assert ranks.answers(2, interrupted, kind, peer) == [(True, ("interrupted", True)), (True, ("rank 0", True))]
