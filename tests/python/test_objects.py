"""Objects between ranks, and the codec "data"."""

import ctypes
import gc
import random
import threading
import time

import numpy as np
import pytest
import tutti
from tutti import _data, _handles, _pickles

parallel = pytest.mark.parallel(3, timeout=60)
CODECS = ["pickle", "data"]
VALUES = [
    None,
    True,
    False,
    0,
    -1,
    2**70,
    -(2**63),
    1.5,
    float("inf"),
    "",
    "tutti \N{MUSICAL SYMBOL G CLEF}",
    b"\0\xff",
    [],
    (),
    {},
    [1, [2, (3, {"a": b"b"})]],
    {None: 1, (1, "x"): 2, 1.5: [3]},
]
ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.arange(6.0).reshape(2, 3).T,
    np.arange(10, dtype=">i4")[::3],
    np.zeros((0, 3), "c16"),
    np.array(3, "u1"),
    np.array([True, False]),
    np.ones(40000, "f2"),
]


def equal(a, b):
    return np.array_equal(a, b) and a.dtype == b.dtype and a.shape == b.shape


@parallel
@pytest.mark.parametrize("codec", CODECS)
def test_all_calls(world, codec):
    call, rank, size = world.objects, world.rank, world.size
    long = {"rank": rank, "text": "x" * (rank * 50000), "array": np.full(rank * 10000, rank)}
    mine = call.broadcast(long if rank == 1 else None, root=1, codec=codec)
    assert mine["rank"] == 1 and mine["array"].sum() == 10000 and (mine is long) == (rank == 1)
    assert call.scatter((("part", i) for i in range(size)) if rank == 2 else None, root=2, codec=codec) == (
        "part",
        rank,
    )
    gathered = call.gather(rank, root=1, codec=codec)
    assert gathered == ([0, 1, 2] if rank == 1 else None)
    assert [len(one["text"]) for one in call.all_gather(long, codec=codec)] == [0, 50000, 100000]
    assert call.all_to_all([f"{rank} to {to}" for to in range(size)], codec=codec) == [
        f"{of} to {rank}" for of in range(size)
    ]
    assert call.all_reduce([rank], lambda a, b: a + b, codec=codec) == [0, 1, 2]
    if rank == 0:
        for i in range(3):
            call.send({"i": i, "a": np.arange(i)}, 2, tag=7, codec=codec)
    if rank == 2:
        assert call.recv(0, tag=7, codec=codec)["i"] == 0
        assert [call.recv(tag=7, codec=codec)["i"] for _ in range(2)] == [1, 2]


@parallel
@pytest.mark.parametrize("codec", CODECS)
def test_requests(world, codec):
    start, rank, size = world.objects.start, world.rank, world.size
    right, left = (rank + 1) % size, (rank - 1) % size
    array = np.full(50000, rank)
    sent = [start.send([rank, array], right, tag=tag, codec=codec) for tag in (3, 4)]
    array[:] = -1  # the object was encoded before
    requests = [
        start.broadcast({"root": rank}, root=1, codec=codec),
        start.scatter([[i] for i in range(size)] if rank == 2 else None, root=2, codec=codec),
        start.gather(rank, root=1, codec=codec),
        start.all_gather(str(rank), codec=codec),
        start.all_to_all([(rank, to) for to in range(size)], codec=codec),
    ]
    received = [start.recv(left, tag=tag, codec=codec) for tag in (4, 3)]
    for request in received:
        whence, numbers = request.wait()
        assert whence == left and (numbers == left).all()
    assert [request.wait() for request in requests] == [
        {"root": 1},
        [rank],
        [0, 1, 2] if rank == 1 else None,
        ["0", "1", "2"],
        [(of, rank) for of in range(size)],
    ]
    assert requests[3].wait() is requests[3].wait(), "an ended request keeps its result"
    assert [request.wait() for request in sent] == [None, None]
    assert "ObjectRequest of send, ended" in repr(sent[0])


@parallel
def test_a_request_that_nobody_answers_yet(world):
    start, rank = world.objects.start, world.rank
    if rank == 0:
        request = start.recv(1)
        assert not request.test() and "recv, pending" in repr(request)
        with pytest.raises(tutti.TimeoutError, match="recv has not ended after 0.01 s; wait again for it"):
            request.wait(0.01)
        world.objects.send("now", 1)
        while not request.test():
            pass
        assert request.wait() == "later"
    elif rank == 1:
        world.objects.recv(0)
        world.objects.send("later", 0)
    with pytest.raises(tutti.ArgumentError, match=r"only the blocking call receives from any rank; probe\(\)"):
        start.recv(tutti.ANY)
    world.barrier()


@parallel
def test_a_request_keeps_its_error(world):
    request = world.objects.start.all_gather(threading.Lock() if world.rank == 1 else 0)
    for look in (request.wait, request.test, request.wait):
        with pytest.raises(tutti.ObjectError, match="rank 1 could not encode") as caught:
            look()
        assert isinstance(caught.value.__cause__, TypeError) == (world.rank == 1)
    assert "all_gather, failed" in repr(request)
    assert world.objects.all_gather(world.rank) == [0, 1, 2]


@pytest.mark.parallel(2, timeout=60)
def test_a_pending_request_that_is_dropped_fails_the_communicator(world):
    if world.rank == 0:
        world.objects.start.recv(1)
        with pytest.raises(tutti.AbortedError):
            world.barrier()


@parallel
def test_reduce(world):
    total = world.objects.reduce([world.rank], lambda a, b: a + b, root=1)
    assert total == ([0, 1, 2] if world.rank == 1 else None)
    if world.rank == 2:
        with pytest.raises(ZeroDivisionError):
            world.objects.reduce(0, lambda a, b: a // b, root=2)
    else:
        assert world.objects.reduce(0, lambda a, b: a // b, root=2) is None
    world.barrier()


@parallel
def test_the_timeout_of_a_receive_from_any_rank(world):
    if world.rank == 0:
        begin = time.monotonic()
        with pytest.raises(tutti.TimeoutError, match="from any rank came within 0.05 s"):
            world.objects.recv(timeout=0.05)
        assert time.monotonic() - begin < 15
    world.barrier()


@parallel
def test_values_of_the_codec_data(world):
    for value in VALUES:
        assert world.objects.all_gather(value, codec="data") == [value] * 3
    for array in ARRAYS:
        assert all(equal(one, array) for one in world.objects.all_gather(array, codec="data"))


@parallel
def test_arrays_of_pickles_are_writable_and_own_their_memory(world):
    given = [*ARRAYS[:2], *ARRAYS[3:], np.ones(3).view(np.recarray)]  # numpy pickles slices in native order
    for arrays in world.objects.all_gather(given):
        for one, array in zip(arrays, given):
            assert equal(one, array)
            one[...] = 1


def message_of(call):
    with pytest.raises(tutti.ObjectError) as caught:
        call()
    return str(caught.value)


@parallel
def test_errors_are_equal_on_all_ranks(world):
    call, rank = world.objects, world.rank
    lock = threading.Lock() if rank == 1 else 0
    texts = [
        message_of(lambda: call.all_gather(lock)),
        message_of(lambda: call.all_gather({"a": [{1}] if rank == 1 else 1}, codec="data")),
        message_of(lambda: call.broadcast(lock, root=1)),
        message_of(lambda: call.all_gather(1, codec="data" if rank == 1 else "pickle")),
        message_of(lambda: call.scatter([1, 2] if rank == 1 else None, root=1)),
        message_of(lambda: call.all_reduce(rank, lambda a, b: a // 0)),
    ]
    expected = [
        "rank 1 could not encode its part of all_gather_objects of pickle: TypeError: cannot pickle",
        "object['a'][0] is a builtins.set, which the codec 'data' does not have",
        "rank 1 could not encode its part of broadcast_object",
        "objects must be of the same type on all ranks",
        "2 objects were given for 3 ranks",
        "ZeroDivisionError",
    ]
    for text, words in zip(texts, expected):
        assert words in text
    assert world.objects.all_gather(texts) == [texts] * 3, "and the communicator stays usable"


@parallel
def test_the_cause_of_an_error_is_kept_where_it_happened(world):
    with pytest.raises(tutti.ObjectError) as caught:
        world.objects.all_gather(threading.Lock() if world.rank == 1 else 0)
    assert isinstance(caught.value.__cause__, TypeError) == (world.rank == 1)


class Bomb:
    def __reduce__(self):
        return exit, ("code of a peer ran",)


class Missing:
    """A class whose name its receivers do not have."""

    def __reduce__(self):
        return getattr, (Missing, "no such name")


@parallel
def test_bytes_that_do_not_decode_are_an_error_of_the_receiver(world):
    if world.rank == 0:
        world.objects.send(Missing(), 1)
    elif world.rank == 1:
        with pytest.raises(tutti.ObjectError, match="from rank 0 cannot be decoded: AttributeError") as caught:
            world.objects.recv(0)
        assert isinstance(caught.value.__cause__, AttributeError)
    assert world.objects.all_gather(world.rank) == [0, 1, 2]


@parallel
def test_data_never_runs_code_of_a_pickle(world):
    """A rank that says it sends data, and sends a pickle, is rejected."""
    if world.rank == 0:
        pieces = _pickles.encode(Bomb(), "pickle")
        original, _data.encode = _data.encode, lambda value: pieces
        world.objects.send(None, 1, codec="data")
        _data.encode = original
    elif world.rank == 1:
        assert "DataError" in message_of(lambda: world.objects.recv(0, codec="data"))
    assert world.objects.all_gather(world.rank) == [0, 1, 2]


@parallel
def test_wrong_arguments_are_rejected(world):
    with pytest.raises(tutti.ArgumentError, match="there is no codec 'json'"):
        world.objects.all_gather(1, codec="json")
    with pytest.raises(tutti.ArgumentError):
        world.objects.broadcast(1, root=17)
    world.barrier()


@pytest.mark.parallel(2, timeout=60)
def test_a_call_that_nobody_joins_misses_its_deadline(world):
    if world.rank == 0:
        with pytest.raises(tutti.TimeoutError):
            world.objects.all_gather(1, timeout=0.2)
    else:
        time.sleep(1)


def encoded(value):
    return b"".join(bytes(piece) for piece in _data.encode(value))


def decoded(data):
    return _data.decode(memoryview(data))


def test_data_keeps_types():
    for value in VALUES:
        got = decoded(encoded(value))
        assert got == value and type(got) is type(value)


@pytest.mark.parametrize(
    "value",
    [{1}, object(), range(3), bytearray(b"x"), np.float64(1), np.array([object()]), np.zeros(1, "i4,f8"),
     np.array(["a"]), np.zeros(1, "M8[s]"), "\ud800", type("List", (list,), {})([1]), np.ma.array([1])],
    ids=repr,
)  # fmt: skip
def test_data_rejects_other_types(value):
    with pytest.raises(_data.DataError, match=r"object\[0\]"):
        encoded([value])


def test_data_rejects_deep_and_cyclic_containers():
    cycle = []
    cycle.append(cycle)
    with pytest.raises(_data.DataError, match="contains itself"):
        encoded(cycle)
    deep = b"\x01" + (b"l" + (1).to_bytes(8, "little")) * 100000 + b"N"
    with pytest.raises(_data.DataError, match="nested"):
        decoded(deep)


def test_truncated_data_is_rejected():
    whole = encoded([*VALUES, *ARRAYS[:6]])
    for length in range(len(whole)):
        with pytest.raises(_data.DataError):
            decoded(whole[:length])
    with pytest.raises(_data.DataError, match="1 bytes follow"):
        decoded(whole + b"N")


HUGE = (2**63).to_bytes(8, "little")


@pytest.mark.parametrize(
    "data",
    [b"", b"\x02N", b"\x01?", b"\x01s" + HUGE, b"\x01l" + HUGE, b"\x01d" + HUGE,
     b"\x01l" + (1 << 40).to_bytes(8, "little") + b"N", b"\x01a<f8 \x02" + 2 * HUGE,
     b"\x01a<f8 \x02" + HUGE + bytes(8), b"\x01a|O  \x00", b"\x01a|V8 \x00" + bytes(8), b"\x01a|b1 \x00\x02",
     b"\x01s" + (1).to_bytes(8, "little") + b"\xff",
     b"\x01d" + (1).to_bytes(8, "little") + b"l" + bytes(8) + b"N"],
    ids=lambda data: data[:10].hex(),
)  # fmt: skip
def test_hostile_data_is_rejected(data):
    with pytest.raises(_data.DataError):
        decoded(data)


def test_random_changes_of_data_decode_or_are_rejected():
    draw = random.Random(1)
    whole = encoded([*VALUES, *ARRAYS[:6]])
    for _ in range(3000):
        changed = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            changed[draw.randrange(len(changed))] = draw.choice([0, 1, 127, 128, 255, *b"NTFifsbltda"])
        try:
            decoded(changed)
        except _data.DataError:
            pass


@pytest.mark.parametrize("data", [b"", b"\0" * 7, HUGE, b"\1" + bytes(7) + HUGE, bytes(8), bytes(8) + b"junk"])
def test_hostile_frames_of_pickles_are_rejected(data):
    with pytest.raises(tutti.ObjectError, match="cannot be decoded"):
        _pickles.decode(memoryview(data), "pickle", 0)


def kept_calls():
    return sum(handle._name == "memory" for handle in _handles._open)


@parallel
def test_large_arrays_outlive_their_call_and_the_world(world):
    """They lie where they arrived, beside objects of odd sizes."""
    own = {"name": "x" * (301 + world.rank), "a": np.full(300_001, world.rank, np.complex64), "b": bytearray(b"small")}
    with world.group([0, 1, 2]) as group:
        got = group.objects.all_gather(own)
        first = group.objects.broadcast(own)
    assert kept_calls() == (1 if world.rank == 0 else 2)
    world.objects.all_gather(np.zeros(300_001))  # would reuse memory that was given back
    for rank, value in enumerate(got):
        assert value["name"] == "x" * (301 + rank) and value["b"] == b"small"
        assert value["a"].flags.aligned and (value["a"] == rank).all()
        value["a"][:] = 9
    assert (first["a"] == 0).all()
    part = got[1]["a"][:10]
    del got, value, first
    gc.collect()
    assert (part == 9).all() and kept_calls() == 1
    del part
    gc.collect()
    assert kept_calls() == 0


def test_large_arrays_are_not_copied_into_the_encoding():
    array = np.ones(100000)
    for codec in CODECS:
        pieces = _pickles.encode({"a": array}, codec)
        address = ctypes.addressof(ctypes.c_char.from_buffer(array))
        assert any(len(piece) > 0 and np.frombuffer(piece, "u1").ctypes.data == address for piece in pieces)


def test_large_bytes_are_not_copied_into_the_encoding():
    for data in (b"x" * 1_000_001, bytearray(1_000_001)):
        pieces = _pickles.encode({"a": data, "b": [data, 1]}, "pickle")
        assert any(piece is data for piece in pieces)
        joined = memoryview(b"".join(pieces))
        assert _pickles._unpickle(joined) == {"a": data, "b": [data, 1]}
