"""Tests of programs that call tutti: ranks of a function with a deadline, and assertions of all ranks.

The plugin of pytest that comes with tutti runs tests with the marker `parallel` in the same way:

    @pytest.mark.parallel([2, 3])
    def test_sum(world):
        assert world.all_reduce(1) == world.size
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Literal, TypeVar

from ._spawn import spawn

if TYPE_CHECKING:
    from .communicator import Communicator

T = TypeVar("T")
TIMEOUT = 60.0
"""Seconds that ranks of a test may take."""


def run(
    n: int,
    fn: Callable[..., T],
    *args: Any,
    timeout: float | None = TIMEOUT,
    threads: bool = False,
    start: Literal["fresh", "fork"] = "fork",
) -> list[T]:
    """As tutti.spawn, with a deadline, and with copies of this process, so that fn may be a lambda or a
    function within a test. A test whose process has used threads, as torch does, needs start="fresh".
    """
    return spawn(fn, n, *args, timeout=timeout, threads=threads, start=start)


def parallel_assert(condition: bool | Callable[[], Any], message: str = "", world: Communicator | None = None) -> None:
    """Raises the same AssertionError on all ranks of a world if the condition is false on one.

    A plain `assert` of one rank leaves the others waiting in their next call. Collective.
    condition: or a function of no arguments; an exception of it counts as false.
    world: tutti.world() by default.
    """
    import tutti

    reason = ""
    try:
        holds = bool(condition() if callable(condition) else condition)
    except Exception as error:
        holds = False
        reason = f"{type(error).__name__}: {error}"
    world = world or tutti.world()
    answers = world.objects.all_gather((holds, reason or message), codec="data")
    failed = {rank: text for rank, (held, text) in enumerate(answers) if not held}
    if failed:
        ranks = ", ".join(map(str, failed))
        words = "; ".join(dict.fromkeys(text for text in failed.values() if text))
        raise AssertionError(f"false on rank {ranks} of {len(answers)}" + (f": {words}" if words else ""))
