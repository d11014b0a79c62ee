"""Arguments of wrong types: each gets an error that names it and says what is wanted, and has no effect."""

from __future__ import annotations

import re
from typing import Any, Callable

import numpy as np
import pytest

import ranks
import tutti

X = np.ones(4)
Case = tuple[Callable[[tutti.Communicator], Any], str]
CASES: dict[str, Case] = {
    "wait_all of no iterable": (lambda w: tutti.wait_all(3), "requests is a int, and must be an iterable of requests"),
    "wait_all of lists": (lambda w: tutti.wait_all([[], 3]), "element 0 is a list, and must be a Request"),
    "wait_all of a plan": (
        lambda w: tutti.wait_all([w.plan.all_reduce(X)]),
        "element 0 is a Plan, and must be a Request",
    ),
    "wait_any of None": (lambda w: tutti.wait_any([None]), "element 0 is a NoneType, and must be a Request"),
    "wait_any of an object's": (
        lambda w: tutti.wait_any([w.start.all_reduce(X), w.objects.start.all_gather(1)]),
        "element 1 is a ObjectRequest, and must be a Request",
    ),
    "GradientSync of a list": (
        lambda w: tutti.GradientSync(w, [X]),
        "parameters is a list, and must be a mapping of names to arrays",
    ),
    "GradientSync of numbers as names": (lambda w: tutti.GradientSync(w, {3: X}), "has the name 3, and names must be"),
    "GradientSync of no world": (lambda w: tutti.GradientSync(X, {"x": X}), "a ndarray is no Communicator"),
    "GradientSync's state": (
        lambda w: tutti.GradientSync(w, {"x": X}, state=[X]),
        "state is a list, and must be a mapping",
    ),
    "GradientSync's groups": (lambda w: tutti.GradientSync(w, {"x": X}, groups=[3]), "a int is no Communicator"),
    "GradientSync's bytes": (
        lambda w: tutti.GradientSync(w, {"x": X}, bucket_bytes=1.5),
        "bucket_bytes is a float, and must be an integer",
    ),
    "GradientSync's norm": (
        lambda w: tutti.GradientSync(w, {"x": X}, max_norm="1"),
        "max_norm is a str, and must be a number",
    ),
    "GradientSync's order": (
        lambda w: tutti.GradientSync(w, {"x": X}, known_order=0),
        "known_order is a int, and must be an iterable of integers",
    ),
    "ready": (lambda w: sync_of(w).ready([]), r"there is no parameter \[\]; pass its number or its name"),
    "ready of less than zero": (lambda w: sync_of(w).ready(-1), "the number of a parameter is -1"),
    "ready of too much": (lambda w: sync_of(w).ready(2**64), "the number of a parameter is 18446744073709551616"),
    "verify_state": (lambda w: sync_of(w).verify_state([X]), "is a list, and must be a mapping"),
    "broadcast_state": (lambda w: sync_of(w).broadcast_state({"x": X}, root="0"), "root is a str, and must be an int"),
    "root": (lambda w: w.all_reduce(X) is w.broadcast(X, root="0"), "root is a str, and must be an integer"),
    "root None": (lambda w: w.reduce(X, root=None), "root is a NoneType, and must be an integer"),
    "tag": (lambda w: w.start.send(X, 0, tag=1.5), "tag is a float, and must be an integer"),
    "to": (lambda w: w.start.send(X, X), "to is a ndarray, and must be an integer"),
    "source": (lambda w: w.probe_now("any"), "source is a str, and must be an integer"),
    "counts": (lambda w: w.all_gather(X, X, counts=4), "counts is a int, and must be an iterable of integers"),
    "a count": (lambda w: w.all_gather(X, X, counts=[4.0]), "a count is a float, and must be an integer"),
    "op": (lambda w: w.all_reduce(X, op=[]), r"there is no operator \[\]"),
    "op of numpy": (lambda w: w.all_reduce(X, op=np.add), "those that tutti.operator makes of functions"),
    "op of a number": (lambda w: w.all_reduce(3, op={}), r"there is no operator {}"),
    "timeout": (lambda w: w.all_reduce(X, timeout="5"), "a timeout is a str, and must be a number of seconds"),
    "timeout of a request": (
        lambda w: w.start.all_reduce(X).wait(timeout=[1]),
        "a timeout is a list, and must be a number of seconds",
    ),
    "segment": (lambda w: w.all_reduce(X, segment=1.5), "a segment is a float, and must be an integer"),
    "algorithm": (lambda w: w.all_reduce(X, algorithm=3), "algorithm is a int, and must be a str"),
    "determinism": (lambda w: w.all_reduce(X, determinism=[]), r"there is no determinism \[\]"),
    "an array": (lambda w: w.all_reduce([1.0]), "is a list, and no array"),
    "None as an array": (lambda w: w.all_reduce(None), "is a NoneType, and no array"),
    "a fraction": (lambda w: w.all_reduce(__import__("fractions").Fraction(1, 2)), "is a Fraction, and no array"),
    "longdouble": (lambda w: w.all_reduce(np.longdouble(1)), "operator sum is not defined for float128"),
    "datetime64": (lambda w: w.all_gather(np.datetime64("2026-01-01")), "elements of datetime64.*cannot be sent"),
    "timedelta64": (lambda w: w.all_reduce(np.timedelta64(3, "s")), "elements of timedelta64.*cannot be sent"),
    "str_": (lambda w: w.all_gather(np.str_("abc")), "a str_ is no number: use .objects"),
    "bytes_": (lambda w: w.all_gather(np.bytes_(b"abc")), "a bytes_ is no number: use .objects"),
    "references": (lambda w: w.all_gather(np.array([(X,)], "O")[0]), "references|is a tuple, and no array"),
    "group": (lambda w: w.group(0), "ranks is a int, and must be an iterable of ranks"),
    "group of texts": (lambda w: w.group(["0"]), "a rank is a str, and must be an integer"),
    "split": (lambda w: w.split("red"), "the color is a str, and must be an integer"),
    "split's key": (lambda w: w.split(0, key=None), "the key is a NoneType, and must be an integer"),
    "empty": (lambda w: w.empty("3"), "the shape is '3', and must be an integer or some of them"),
    "empty's dtype": (lambda w: w.empty(3, dtype=[]), r"there is no dtype \[\]"),
    "explain": (lambda w: w.explain("all_reduce", "1K"), "bytes is a str, and must be an integer"),
    "explain's collective": (lambda w: w.explain([], 8), r"there is no collective \[\]"),
    "explain's op": (lambda w: w.explain("all_reduce", 8, op=[]), r"there is no operator \[\]"),
    "init's rank": (lambda w: tutti.init(rank="0", size=1), "rank is a str, and must be an integer"),
    "init's timeout": (lambda w: tutti.init(timeout="1"), "a timeout is a str"),
    "init's cache": (lambda w: tutti.init(cache_bytes=1.5), "cache_bytes is a float, and must be an integer"),
    "init's address": (lambda w: tutti.init(address=3), "address is a int, and must be a str"),
    "objects' codec": (lambda w: w.objects.all_gather(1, codec=[]), r"there is no codec \[\]"),
    "objects' root": (lambda w: w.objects.broadcast(1, root="0"), "root is a str, and must be an integer"),
    "objects' peer": (lambda w: w.objects.start.send(1, "0"), "peer is a str, and must be an integer"),
    "objects' function": (lambda w: w.objects.all_reduce(1, 3), "fn is a int, and must be a function of two objects"),
    "objects' reduction": (lambda w: w.objects.reduce(1, None), "fn is a NoneType, and must be a function"),
    "objects' timeout": (lambda w: w.objects.all_gather(1, timeout="1"), "a timeout is a str"),
    "spawn": (lambda w: tutti.spawn("f", 2), "fn is a str, and must be a function of a communicator"),
    "spawn's ranks": (lambda w: tutti.spawn(sync_of, "2"), "the number of ranks is a str, and must be an integer"),
    "spawn's timeout": (lambda w: tutti.spawn(sync_of, 2, timeout="2"), "a timeout is a str"),
    "cuda.attach": (lambda w: tutti.cuda.attach(3), "a int is no Communicator"),
    "cuda.empty": (lambda w: tutti.cuda.empty(None, 3), "a NoneType is no Communicator"),
    "operator": (lambda w: tutti.operator("sum", commutative=True), "an operator needs a function of two arrays"),
}


def sync_of(world: tutti.Communicator) -> tutti.GradientSync:
    return tutti.GradientSync(world, {"x": X})


def try_all(world: tutti.Communicator) -> list[str]:
    wrong = []
    for name, (call, text) in CASES.items():
        try:
            result = call(world)
        except (TypeError, tutti.ArgumentError) as error:
            if not re.search(text, str(error)):
                wrong.append(f"{name}: {type(error).__name__}: {error}")
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}")
        else:
            wrong.append(f"{name}: {result}")
        try:
            assert world.all_reduce(1) == world.size
        except tutti.AbortedError as error:  # a request of a wrong call was dropped
            wrong.append(f"{name}: {error}")
            break
    return wrong


def test_wrong_types() -> None:
    assert ranks.run(1, try_all) == [[]]


def use_numbers_of_numpy(world: tutti.Communicator) -> None:
    """Options and arguments that are numbers are those of numpy, too."""
    one, rank, size = np.int64(1), np.int32(world.rank), np.uint8(world.size)
    assert (world.all_reduce(X.copy(), segment=np.int64(4096), timeout=np.float32(20)) == size).all()
    assert (world.all_reduce(X.copy(), timeout=np.int16(20), visible=np.bool_(False)) == size).all()
    assert world.broadcast(rank, root=size - one) == size - 1
    assert world.objects.broadcast(3, root=np.int64(0)) == 3
    assert (world.all_gather(np.ones(1), np.zeros(world.size), counts=np.ones(world.size, np.int16)) == 1).all()
    assert world.empty(np.int64(4)).shape == (4,) and world.empty((one, np.uint8(3))).shape == (1, 3)
    assert world.explain("all_reduce", np.int64(64), root=np.int8(0))
    with tutti.init(rank=np.int64(0), size=one, segments_in_flight=np.int64(2), cache_bytes=np.int64(1 << 20),
                    call_timeout=np.float64(20), progress_thread=np.bool_(False), tuning="none"):  # fmt: skip
        pass
    options: dict[str, Any] = {"bucket_bytes": np.int64(1024), "max_norm": np.float32(8), "norm": np.bool_(True)}
    options |= {"known_order": np.array([0]), "in_flight": np.int8(2), "timeout": np.float32(20)}
    with tutti.GradientSync(world, {"x": tutti.Parameter(X.copy(), group=np.uint8(0))}, **options) as sync:
        sync.ready(np.int64(0))
        assert sync.wait().norm == 2
        assert sync.index(np.int16(0)) == 0


@pytest.mark.parametrize("size", [1, 2])
def test_numbers_of_numpy(size: int) -> None:
    ranks.run(size, use_numbers_of_numpy)
