"""Options of a call, and the conversion of values of Python to those of the shared library."""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Any, TypedDict

from . import _declarations, memory
from ._declarations import DETERMINISMS, FOREVER
from ._library import library
from ._numbers import index_of, integer_of
from .errors import ArgumentError

if TYPE_CHECKING:
    from ._calls import Arguments, Spec


class CallOptions(TypedDict, total=False):
    """Options of a call.

    algorithm: such as "ring" or "knomial:k=4"; else the one that is predicted to be fastest.
    segment: bytes per segment of a pipeline; 0: tutti chooses.
    timeout: seconds for the whole call; else those of the communicator. math.inf: no limit.
    transport: "shm", "tcp" or "mpi"; else the one that is predicted to be fastest.
    determinism: "fast", "rank_identical", "run_to_run", "size_invariant" or "layout_invariant".
    visible: whether all ranks pass memory of `empty`; else tutti looks whether this rank does.
    stream: a stream of a GPU, by its number or as an object of PyTorch or CuPy.
    """

    algorithm: str
    segment: int
    timeout: float | None
    transport: str
    determinism: str
    visible: bool
    stream: Any


KNOWN = frozenset(CallOptions.__annotations__)


def nanoseconds(timeout: float | None, name: str) -> int:
    """A timeout of the shared library; 0: the default."""
    if timeout is None:
        return 0
    if not (hasattr(timeout, "__float__") or hasattr(timeout, "__index__")):
        raise TypeError(f"{name}: a timeout is a {type(timeout).__name__}, and must be a number of seconds")
    if not timeout > 0:
        raise ArgumentError(f"{name}: a timeout of {timeout} s is not more than zero")
    return FOREVER if math.isinf(timeout) or timeout > 9e9 else max(1, int(timeout * 1e9))


def encoded(text: str, name: str) -> bytes | None:
    """A text of the shared library; None: the default."""
    if not isinstance(text, str):
        raise ArgumentError(f"{name} is a {type(text).__name__}, and must be a str")
    return text.encode() or None


def stream_number(stream: Any) -> int:
    """The address of a stream of a GPU."""
    if hasattr(stream, "__index__"):
        return integer_of(stream, "a stream")
    for attribute in ("cuda_stream", "ptr", "handle"):  # PyTorch, CuPy, Numba
        number = getattr(stream, attribute, None)
        if number is not None:
            return int(getattr(number, "value", number) or 0)
    raise ArgumentError(f"a {type(stream).__name__} is no stream: pass its number, or a stream of PyTorch or CuPy")


def enumerator(values: dict[str, int], name: str, what: str) -> int:
    """The number of a name. what: the option's name, for the error."""
    number = values.get(name) if isinstance(name, str) else None
    if number is None:
        raise ArgumentError(f"there is no {what} {name!r}; there are {', '.join(values)}")
    return number


def options_of(spec: Spec, arguments: Arguments, counts: Any) -> Any:
    """The options of a call, or None if all are defaults. counts: those that are equal on all ranks."""
    given = spec.options
    gpu = arguments.input or arguments.output
    if gpu is not None and not gpu.is_gpu:
        gpu = None
    is_visible = arguments.key is not None and memory.is_visible(arguments.key.address)
    if not given and gpu is None and not is_visible and counts is None:
        return None
    options = _declarations.Options()
    library.tutti_options_defaults(options, ctypes.sizeof(options))
    options.algorithm = encoded(given.get("algorithm", ""), "algorithm")
    options.transport = encoded(given.get("transport", ""), "transport")
    segment = integer_of(given.get("segment", 0), f"{spec.name}: a segment")
    if segment < 0:
        raise ArgumentError(f"{spec.name}: a segment of {segment} bytes is less than zero")
    options.segment = index_of(segment, f"{spec.name}: a segment", 64)
    options.timeout = nanoseconds(given.get("timeout"), spec.name)
    options.determinism = enumerator(DETERMINISMS, given.get("determinism", "default"), "determinism")
    options.visible = bool(given.get("visible", is_visible))
    if counts is not None:
        options.counts, options.count_of_counts = counts, len(counts)
    stream = given.get("stream")
    if stream is not None or gpu is not None:
        options.has_stream = 1
        options.stream = stream_number(stream) if stream is not None else gpu and gpu.stream
    return options
