"""Datatypes and messages of mpi4py: an array, or a list of an array, counts, displacements and a datatype."""

from __future__ import annotations

from typing import Any

import numpy as np


class Missing(NotImplementedError):
    """The test calls something that MPI has and tutti has not."""


class Datatype:
    """A type of elements. code: of the module struct."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.dtype = np.dtype("u1" if code in "Bc" else code or "V0")
        self.size = self.extent = self.dtype.itemsize

    @staticmethod
    def fromcode(code: str) -> Datatype:
        return DATATYPES[code]

    def Get_size(self) -> int:
        return self.size

    def _derive(self, *_: Any) -> Any:
        raise Missing("derived datatypes")

    Create_indexed_block = Create_resized = Create_struct = _derive


DATATYPES = {code: Datatype(code) for code in "bhilqBHILQfdFD?c"}
DATATYPE_NULL = Datatype("")


class _Constant:
    """IN_PLACE and BOTTOM."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


IN_PLACE = _Constant("IN_PLACE")
BOTTOM = _Constant("BOTTOM")


def flat(x: Any) -> np.ndarray:
    """The elements of an array as an array of numpy of one dimension, which shares its memory."""
    if hasattr(x, "__cuda_array_interface__"):
        raise Missing("memory of a GPU")
    if hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray):  # the tests' own classes, and what they wrap
        x = x.array if hasattr(x, "array") else x._buf
    array = x if isinstance(x, np.ndarray) else np.asarray(memoryview(x))
    shared = array.reshape(-1)
    assert shared.size == 0 or np.shares_memory(shared, array)
    return shared


class Message:
    """Elements of an array. counts, starts: of each block. array: all of it, unchanged if it is the whole
    array with its own type, so that tutti gets what the test has made."""

    def __init__(self, spec: Any, blocks: int = 1, each: bool = False) -> None:
        """blocks: the number of ranks, if a count is that of one rank's block. each: whether they have counts of
        their own."""
        x, counts, starts, datatype = _parts(spec)
        self.is_whole = counts is None and starts is None
        self.x = bytearray() if x is None or x is BOTTOM else x
        self._dtype = None if datatype is None else datatype.dtype
        if x is None and counts is not None and np.any(_numbers(counts, blocks)):
            raise ValueError("a message of elements without an array")
        self.counts: list[int] = []
        self.starts: list[int] = []
        if not self.is_whole or each:
            self._set_blocks(counts, starts, blocks, each)

    def _set_blocks(self, counts: Any, starts: Any, blocks: int, each: bool) -> None:
        size = self.elements.size
        first = 0 if starts is None or each else _number(starts)
        if counts is None:
            count, rest = divmod(size - first, blocks)
            if rest:
                raise ValueError(f"{size} elements are no multiple of {blocks} blocks")
            counts = count
        self.counts = _numbers(counts, blocks)
        if each and starts is not None:
            step = starts if np.ndim(starts) else [_number(starts) * i for i in range(blocks)]
            self.starts = _numbers(step, blocks)
        else:
            self.starts = [first + sum(self.counts[:i]) for i in range(blocks)]
        ends = [start + count for start, count in zip(self.starts, self.counts) if count]
        if min(self.counts) < 0 or min(self.starts) < 0 or max(ends, default=0) > size or first > size:
            raise ValueError(f"blocks of {self.counts} from {self.starts} do not lie in {size} elements")

    @property
    def elements(self) -> np.ndarray:
        elements = flat(self.x)
        if self._dtype is None or self._dtype == elements.dtype:
            return elements
        if self._dtype.itemsize == 0:
            raise ValueError("the null datatype")
        whole = elements.nbytes - elements.nbytes % self._dtype.itemsize
        return elements.view("u1")[:whole].view(self._dtype)

    @property
    def is_contiguous(self) -> bool:
        return all(self.starts[i] + self.counts[i] == self.starts[i + 1] for i in range(len(self.starts) - 1))

    @property
    def array(self) -> Any:
        """The array for tutti."""
        if self.is_whole and (self._dtype is None or self._dtype == flat(self.x).dtype):
            return self.x
        if not self.counts:
            return self.elements
        if self.is_contiguous:
            return self.elements[self.starts[0] : self.starts[0] + sum(self.counts)]
        return np.concatenate([self.block(i) for i in range(len(self.counts))])

    def block(self, i: int) -> np.ndarray:
        return self.elements[self.starts[i] : self.starts[i] + self.counts[i]]

    def store(self, packed: np.ndarray) -> None:
        """Copies blocks that tutti has received in one piece to their places."""
        if not self.is_contiguous:
            for i in range(len(self.counts)):
                start = sum(self.counts[:i])
                self.block(i)[:] = packed[start : start + self.counts[i]]


def _number(x: Any) -> int:
    if np.asarray(x).dtype.kind not in "iu":
        raise TypeError(f"{x!r} is no count")
    return int(x)


def _numbers(x: Any, blocks: int) -> list[int]:
    numbers = [_number(one) for one in (x if np.ndim(x) else [x] * blocks)]
    if len(numbers) != blocks:
        raise ValueError(f"{len(numbers)} counts for {blocks} blocks")
    return numbers


def _parts(spec: Any) -> tuple[Any, Any, Any, Datatype | None]:
    """The array, counts, displacements and datatype of a message."""
    if not isinstance(spec, (list, tuple)):
        return spec, None, None, None
    x, *rest = spec
    if len(rest) > 3 or isinstance(x, (list, dict)):
        raise (ValueError if len(rest) > 3 else TypeError)(f"{spec} is no message")
    datatype = None
    if rest and (rest[-1] is None or isinstance(rest[-1], (str, Datatype))):
        datatype = rest.pop()
        datatype = DATATYPES[datatype] if isinstance(datatype, str) else datatype
    if datatype is DATATYPE_NULL:
        raise ValueError("the null datatype")
    counts, starts = rest if len(rest) == 2 else (rest[0] if rest else None, None)
    if isinstance(counts, tuple):
        counts, starts = counts
    return x, counts, starts, datatype

