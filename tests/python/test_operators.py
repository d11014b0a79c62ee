"""Operators in Python that are wrong: an error on all ranks, which says what is wrong."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pytest

import ranks
import tutti


def forgets(a: Any, b: Any) -> None:
    a + b


def first_element(a: Any, b: Any) -> Any:
    return (a + b)[:1]


def scalar(a: Any, b: Any) -> Any:
    return a[0] + b[0]


def matrix(a: Any, b: Any) -> Any:
    return np.outer(a, b)


def half(a: Any, b: Any) -> Any:
    return (a + b) / 2


def longer(a: Any, b: Any) -> Any:
    return np.concatenate([a, b])


WRONG: dict[str, tuple[Callable[..., Any], str, str, str]] = {
    "no return": (forgets, "float64", "TypeError", "got None; is a return missing?"),
    "one element": (first_element, "float64", "ValueError", r"got shape \(1,\) and dtype float64"),
    "a scalar": (scalar, "float64", "ValueError", r"got shape \(\) and dtype float64"),
    "a matrix": (matrix, "float64", "ValueError", "got shape"),
    "more elements": (longer, "float64", "ValueError", "got shape"),
    "fractions for integers": (half, "int32", "TypeError", "dtype int32, got shape .* and dtype float64"),
}


def run_wrong(world: tutti.Communicator, name: str) -> None:
    function, dtype, kind, text = WRONG[name]
    op = tutti.operator(function, commutative=True)
    own = {"TypeError": TypeError, "ValueError": ValueError}[kind]
    x = np.arange(8).astype(dtype)
    with pytest.raises((own, tutti.AbortedError), match=f"the operator {function.__name__} must return.*{text}"):
        world.all_reduce(x, op=op)
        world.barrier()
    with pytest.raises(tutti.AbortedError, match=f"{kind}: the operator {function.__name__} must return .*{text}"):
        world.barrier()


@pytest.mark.parametrize("name", WRONG)
def test_wrong_result(name: str) -> None:
    ranks.run(2, run_wrong, name)


def run_good(world: tutti.Communicator) -> None:
    for function in (lambda a, b: [x + y for x, y in zip(a, b)], lambda a, b: np.asarray(a, "f8") + b, np.add):
        x = np.arange(8, dtype="f4")
        world.all_reduce(x, op=tutti.operator(function, commutative=True))
        assert (x == world.size * np.arange(8)).all()


def test_results_that_fit() -> None:
    ranks.run(2, run_good)


def fail_at_length(world: tutti.Communicator, text: str) -> str:
    def fail(a: Any, b: Any) -> Any:
        if world.rank == 0:
            raise KeyError(text)
        return a + b

    with pytest.raises((KeyError, tutti.AbortedError)):
        world.all_reduce(np.ones(30), op=tutti.operator(fail, commutative=True), algorithm="direct")
        world.barrier()
    with pytest.raises(tutti.AbortedError) as caught:
        world.barrier()
    return str(caught.value)


@pytest.mark.parametrize("letter", ["x", "\u00e4", "\U0001d54f"])
def test_long_text_is_the_same_on_all_ranks(letter: str) -> None:
    texts = ranks.run(3, fail_at_length, letter * 3000)
    assert texts[0] == texts[1] == texts[2]
    assert letter * 400 in texts[0] and texts[0].endswith("...") and "\ufffd" not in texts[0]
