"""The collectives, and messages between two ranks. Each is declared once, for every form of a call."""

from __future__ import annotations

from typing import Any, Generic, Sequence, TypeVar, Union, Unpack

from ._calls import Spec
from ._declarations import ANY_RANK
from ._options import CallOptions
from .arrays import Array
from .operators import Operator

R = TypeVar("R")
Op = Union[str, Operator]


class Calls(Generic[R]):
    """The calls of a communicator: `world.all_reduce(x)` waits and returns the result,
    `world.start.all_reduce(x)` returns a Request, `world.plan.all_reduce(x)` a Plan.

    All take options, see CallOptions, and reductions an operator: "sum", "prod", "min", "max", "min_loc",
    "max_loc", "average", "and", "or", "xor", "bit_and", "bit_or", "bit_xor", or one of tutti.operator. The
    sum of bool is "or". Reductions of integers as numbers are exact, and their average is a float. In rooted calls
    `root` is equal on all ranks. "Own block" is number `rank` of an array of one block for each rank.

    min_loc and max_loc compare values, and keep the index of the chosen one, the lowest of equal values. An
    element is a pair of a value (int32, int64, float32 or float64) and an index (int32), as in the dtype
    numpy.dtype([("value", "float64"), ("index", "int32")], align=True), with any names. A call with a tuple
    such as (2.5, rank), like one with a number, returns a tuple.

    counts: elements of each block, if blocks differ in size.
    """

    def _submit(self, spec: Spec, x: Any, out: Any) -> R:
        raise NotImplementedError

    def all_reduce(self, x: Array, out: Array | None = None, *, op: Op = "sum", **options: Unpack[CallOptions]) -> R:
        """Every rank gets the reduction of all ranks' arrays, in out, or in place."""
        return self._submit(Spec("all_reduce", options, op=op), x, out)

    def reduce(
        self, x: Array, out: Array | None = None, *, op: Op = "sum", root: int = 0, **options: Unpack[CallOptions]
    ) -> R:
        """The root gets the reduction of all ranks' arrays, in out, or in place. Others get None."""
        return self._submit(Spec("reduce", options, op=op, root=root), x, out)

    def broadcast(self, x: Array, *, root: int = 0, **options: Unpack[CallOptions]) -> R:
        """Every rank gets the root's array, in place."""
        return self._submit(Spec("broadcast", options, root=root), x, None)

    def scatter(
        self,
        x: Array | None,
        out: Array,
        *,
        counts: Sequence[int] | None = None,
        root: int = 0,
        **options: Unpack[CallOptions],
    ) -> R:
        """Rank r gets block r of the root's array.

        x: at the root all blocks in the order of ranks, ignored elsewhere. out: the own block; may be
            that block of x. counts: at the root; other ranks pass anything but None, such as ().
        """
        return self._submit(Spec("scatter", options, counts=counts, root=root), x, out)

    def gather(
        self,
        x: Array,
        out: Array | None = None,
        *,
        counts: Sequence[int] | None = None,
        root: int = 0,
        **options: Unpack[CallOptions],
    ) -> R:
        """The root gets all ranks' blocks, in the order of ranks. Others get None.

        x: the own block; at the root without out all blocks, the own one in its place. A number: the
            root gets a list. counts: at the root; other ranks pass anything but None, such as ().
        """
        return self._submit(Spec("gather", options, counts=counts, root=root), x, out)

    def all_gather(
        self,
        x: Array,
        out: Array | None = None,
        *,
        counts: Sequence[int] | None = None,
        **options: Unpack[CallOptions],
    ) -> R:
        """Every rank gets all ranks' blocks, in the order of ranks.

        x: the own block; without out all blocks, the own one in its place. A number: the result is a
            list. counts: equal on all ranks.
        """
        return self._submit(Spec("all_gather", options, counts=counts), x, out)

    def reduce_scatter(
        self,
        x: Array,
        out: Array,
        *,
        op: Op = "sum",
        counts: Sequence[int] | None = None,
        **options: Unpack[CallOptions],
    ) -> R:
        """Rank r gets block r of the reduction of all ranks' arrays.

        x: all blocks. out: the own block; may be that block of x, whose other blocks do not change.
        counts: equal on all ranks.
        """
        return self._submit(Spec("reduce_scatter", options, op=op, counts=counts), x, out)

    def all_to_all(
        self,
        x: Array,
        out: Array,
        *,
        counts: tuple[Sequence[int], Sequence[int]] | None = None,
        **options: Unpack[CallOptions],
    ) -> R:
        """Rank r gets block r of every rank's array, in the order of ranks.

        out: may be x, which is then copied first. counts: of the blocks of x, and of those of out.
        """
        return self._submit(Spec("all_to_all", options, counts=counts), x, out)

    def scan(self, x: Array, out: Array | None = None, *, op: Op = "sum", **options: Unpack[CallOptions]) -> R:
        """Every rank gets the reduction of the arrays of all ranks up to its own."""
        return self._submit(Spec("scan", options, op=op), x, out)

    def exscan(self, x: Array, out: Array | None = None, *, op: Op = "sum", **options: Unpack[CallOptions]) -> R:
        """Every rank gets the reduction of the arrays of all ranks before it. The array of rank 0 does
        not change; with a number rank 0 gets None."""
        return self._submit(Spec("exscan", options, op=op), x, out)

    def send(self, x: Array, to: int, *, tag: int = 0, **options: Unpack[CallOptions]) -> R:
        """Sends an array, or a number, to one rank, which calls recv or sendrecv."""
        return self._submit(Spec("send", options, to=to, tag=tag), x, None)

    def recv(self, out: Array, source: int = ANY_RANK, *, tag: int = 0, **options: Unpack[CallOptions]) -> R:
        """Receives the array that one rank sends: equally many elements of the same type. A source of
        any rank needs the blocking call."""
        return self._submit(Spec("recv", options, source=source, tag=tag), None, out)

    def sendrecv(
        self, x: Array, to: int, out: Array, source: int, *, tag: int = 0, **options: Unpack[CallOptions]
    ) -> R:
        """Sends to one rank and receives from the same or another one at once. out may be x."""
        return self._submit(Spec("sendrecv", options, to=to, source=source, tag=tag), x, out)

    def barrier(self, **options: Unpack[CallOptions]) -> R:
        """No rank leaves before every rank has entered."""
        return self._submit(Spec("barrier", options), None, None)
