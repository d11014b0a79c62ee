"""Gradients of a model, reduced while others are still computed."""

from __future__ import annotations

import ctypes
import weakref
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypedDict, Unpack

from . import _declarations, arrays, memory
from ._apart import make_apart, run_apart
from ._handles import Handle, Turn
from ._library import library
from ._numbers import index_of, list_of
from ._options import encoded, enumerator, nanoseconds, stream_number
from .arrays import Array, Buffer
from .communicator import Communicator, check_world
from .cuda import DeviceMemory
from .errors import ArgumentError, check
from .memory import Memory, Pages


class Parameter(NamedTuple):
    """A gradient with more than its array.

    group: 0: all ranks; k: number k - 1 of the option groups.
    tied: whether it is the same array as an earlier one, as with tied weights.
    """

    gradient: Array
    group: int = 0
    tied: bool = False


class GradientOptions(TypedDict, total=False):
    """Options of GradientSync, equal on all ranks.

    bucket_bytes, first_bucket_bytes: most bytes of a bucket, and of the first one. in_place_bytes: with
    "copies": smallest gradient that is reduced where it lies. order: "reversed", "observed",
    "negotiated" or "automatic". storage: "copies", "views" or "flat". unused: gradients that a step
    does not compute: "error", "zeros" or "detect". average: whether the result is the mean, or the sum.
    check_finite: whether a gradient that is not finite makes the step void. norm, hash: whether reports
    have them. max_norm: the largest norm, for clipping; 0: no limit. compression: such as "bf16", "int8",
    "one_bit", "power_sgd" or "top_k"; compression_after: the number of first steps without it.
    verify_every, resync_every: steps between comparisons, and broadcasts, of state. state: arrays that
    are equal on all ranks. groups: communicators of ranks that share parameters. in_flight: most buckets
    under way. timeout: seconds of a bucket. algorithm: as of all_reduce. known_order: an order of an
    earlier run. record: the number of last steps for write_trace. stream: a stream of a GPU.
    """

    bucket_bytes: int
    first_bucket_bytes: int
    in_place_bytes: int
    order: str
    storage: str
    unused: str
    average: bool
    check_finite: bool
    norm: bool
    max_norm: float
    hash: bool
    compression: str
    compression_after: int
    verify_every: int
    resync_every: int
    state: Mapping[str, Array]
    groups: Sequence[Communicator]
    in_flight: int
    timeout: float
    algorithm: str
    known_order: Sequence[int]
    record: int
    stream: Any


_KNOWN = frozenset(GradientOptions.__annotations__)
_BYTES = ("bucket_bytes", "first_bucket_bytes", "in_place_bytes", "record")
_COUNTS = ("compression_after", "verify_every", "resync_every", "in_flight")
_FLAGS = ("average", "check_finite", "norm", "hash")


class NotFinite(NamedTuple):
    """Gradients that are infinite or not a number: how many elements, the first parameter with one, its bucket,
    and the lowest rank that computed one, or -1 if the sum of finite ones overflowed."""

    elements: int
    parameter: int
    bucket: int
    rank: int


class StepReport(NamedTuple):
    """The report of a step. Times are in seconds.

    step: its number, from one. active: ranks that took part. computing: from the end of the step before
    to wait. exposed: in wait, for communication that was not hidden. waiting: in wait, for the last
    rank, which is `last`. communicating: with a bucket under way. hidden: the share of communication
    that computing has hidden. skew: between the first and the last rank's wait. norm, hash: with these
    options. not_finite: with check_finite, or None. sent_bytes, plain_bytes: sent, and without compression.
    """

    step: int
    active: int
    computing: float
    exposed: float
    waiting: float
    communicating: float
    hidden: float
    skew: float
    last: int
    norm: float
    hash: int
    not_finite: NotFinite | None
    sent_bytes: int
    plain_bytes: int


_TIMES = frozenset({"computing", "exposed", "waiting", "communicating", "skew"})


def _report_of(raw: Any) -> StepReport:
    values: dict[str, Any] = {}
    for name in StepReport._fields:
        if name != "not_finite":
            value = getattr(raw, name)
            values[name] = value / 1e9 if name in _TIMES else value
    place = (raw.not_finite_count, raw.not_finite_parameter, raw.not_finite_bucket, raw.not_finite_rank)
    return StepReport(**values, not_finite=NotFinite(*place) if raw.not_finite_count else None)


def check_arrays(given: Any, what: str) -> None:
    if not (hasattr(given, "items") and hasattr(given, "__len__")):
        raise TypeError(f"{what} is a {type(given).__name__}, and must be a mapping of names to arrays")
    for name in given:
        if not isinstance(name, str):
            raise TypeError(f"{what} has the name {name!r:.60}, and names must be of type str")


class _Parameters:
    """Arrays as the shared library reads them."""

    def __init__(self, given: Mapping[str, Array | Parameter], call: str, has_data: bool = True) -> None:
        check_arrays(given, call)
        self.count = len(given)
        self.array = (_declarations.Parameter * self.count)()
        self.buffers: list[Buffer] = []
        for raw, (name, value) in zip(self.array, given.items()):
            parameter = value if isinstance(value, Parameter) else Parameter(value)
            read = arrays.write if has_data else arrays.read
            buffer = read(parameter.gradient, call, repr(name))
            self.buffers.append(buffer)
            library.tutti_parameter_defaults(raw, ctypes.sizeof(raw))
            raw.name = name.encode()
            raw.data = buffer.address if has_data else None
            raw.count = buffer.count
            raw.type = buffer.type
            raw.group = index_of(parameter.group, f"{call}: the group of {name!r}")
            raw.layout = zlib.crc32(repr(buffer.shape).encode())
            raw.rows = buffer.shape[0] if len(buffer.shape) > 1 else 0
            raw.visible = has_data and memory.is_visible(buffer.address)
            raw.tied = bool(parameter.tied)


class GradientSync:
    """Reduces the gradients of a model over the ranks, each as soon as it is ready, while the program
    computes others. All ranks get the same bits.

        sync = tutti.GradientSync(world, {"w": gradient_of_w, "b": gradient_of_b})
        for each step:
            compute gradient_of_b;  sync.ready("b")
            compute gradient_of_w;  sync.ready("w")
            report = sync.wait()                    # all ranks have the means

    If the ranks' steps differ, or gradients are wrong, the step is void: wait raises the same
    ArgumentError on all ranks, and the next step may follow.
    """

    def __init__(
        self,
        world: Communicator,
        parameters: Mapping[str, Array | Parameter],
        **options: Unpack[GradientOptions],
    ) -> None:
        """Collective. parameters: gradients by their names, equal on all ranks except their elements:
        of float16, bfloat16, float32 or float64. With storage="views" only their shapes count."""
        for key in options:
            if key not in _KNOWN:
                raise TypeError(f"GradientSync() has no option {key!r}; there are {', '.join(sorted(_KNOWN))}")
        check_world(world, "GradientSync")
        check_arrays(parameters, "GradientSync: parameters")
        self._names = {name: i for i, name in enumerate(parameters)}
        self._has_views = options.get("storage") == "views"
        self._parameters = _Parameters(parameters, "GradientSync", not self._has_views)
        self._keep: list[Any] = [options.get("groups")]
        self._views: weakref.WeakSet[Pages] = weakref.WeakSet()
        self.report: StepReport | None = None
        """The report of the last step, also if it was void; None before the first."""
        raw = self._options(options)
        self._has_stream = bool(raw.has_stream)
        given = self._parameters
        self._handle = Handle(library.tutti_gradient_sync_free, "GradientSync", Turn())
        with world._handle.turn:
            pointer = world._handle.pointer
            make_apart(
                self._handle,
                lambda result: library.tutti_make_gradient_sync(pointer, given.array, given.count, raw, result),
                lambda made: made,
            )

    def _options(self, given: GradientOptions) -> Any:
        raw = _declarations.GradientOptions()
        library.tutti_gradient_options_defaults(raw, ctypes.sizeof(raw))
        values: dict[str, Any] = dict(given)
        for name in (*_BYTES, *_COUNTS):
            bits = 64 if name in _BYTES else 32
            setattr(raw, name, index_of(values.get(name, getattr(raw, name)), f"GradientSync: {name}", bits))
        for name in _FLAGS:
            setattr(raw, name, bool(values.get(name, getattr(raw, name))))
        if not hasattr(values.get("max_norm", 0.0), "__float__"):
            raise TypeError(f"GradientSync: max_norm is a {type(values['max_norm']).__name__}, and must be a number")
        raw.max_norm = float(values.get("max_norm", raw.max_norm))
        raw.order = enumerator(_declarations.ORDERS, given["order"], "order") if "order" in given else raw.order
        raw.storage = enumerator(_declarations.STORAGES, given.get("storage", "copies"), "storage")
        raw.unused = enumerator(_declarations.UNUSED, given.get("unused", "error"), "value of unused")
        raw.compression = encoded(given.get("compression", ""), "compression")
        raw.algorithm = encoded(given.get("algorithm", ""), "algorithm")
        raw.timeout = nanoseconds(given.get("timeout"), "GradientSync")
        self._set_arrays(raw, given)
        gpu = next((buffer for buffer in self._parameters.buffers if buffer.is_gpu), None)
        if "stream" in given or gpu is not None:
            raw.has_stream = 1
            raw.stream = stream_number(given["stream"]) if "stream" in given else gpu and gpu.stream
        return raw

    def _set_arrays(self, raw: Any, given: GradientOptions) -> None:
        state = _Parameters(given.get("state", {}), "GradientSync: state")
        raw.state, raw.state_count = state.array, state.count
        groups = []
        for group in list_of(given.get("groups", ()), "GradientSync: groups", "communicators"):
            check_world(group, "GradientSync: a group")
            groups.append(group._handle.pointer)
        raw.groups, raw.group_count = (ctypes.c_void_p * len(groups))(*groups), len(groups)
        numbers = list_of(given.get("known_order", ()), "GradientSync: known_order", "integers")
        order = [index_of(i, "GradientSync: a number of known_order", 64) for i in numbers]
        if order:
            raw.known_order, raw.known_order_count = (ctypes.c_size_t * len(order))(*order), len(order)
        self._keep.append(state)

    def index(self, name: int | str) -> int:
        """The number of a parameter, in the order in which they were given."""
        if hasattr(name, "__index__"):
            return index_of(name, "the number of a parameter", 64)
        if not isinstance(name, str) or name not in self._names:
            raise ArgumentError(f"there is no parameter {name!r:.60}; pass its number or its name")
        return self._names[name]

    def ready(self, i: int | str) -> None:
        """A gradient is complete, and belongs to GradientSync until wait returns. Never blocks; any
        thread may call it. wait reports a wrong number.

        i: the parameter's number, or its name.
        """
        library.tutti_gradient_ready(self._handle.pointer, self.index(i))

    def accumulated(self, i: int | str) -> None:
        """Notes that this part of the step has used a gradient, to which more may be added before it is ready."""
        library.tutti_gradient_accumulated(self._handle.pointer, self.index(i))

    def wait(self) -> StepReport:
        """Waits until all gradients are reduced on all ranks. Returns the report of the step."""
        raw = _declarations.StepReport(size=ctypes.sizeof(_declarations.StepReport))
        try:
            self._run(library.tutti_gradient_wait, ctypes.byref(raw))
        finally:
            if raw.step:
                self.report = _report_of(raw)
        assert self.report is not None
        return self.report

    def join(self) -> int:
        """Takes part in the steps of others with zeros, which do not count, until no rank has data
        left. Returns the number of such steps."""
        steps = ctypes.c_uint64()
        self._run(library.tutti_gradient_join, ctypes.byref(steps))
        return steps.value

    def synchronize(self, timeout: float = 300.0) -> None:
        """Waits until a GPU has done all enqueued work. Without a stream it returns at once."""
        self._run(library.tutti_gradient_synchronize, nanoseconds(timeout, "synchronize"))

    def broadcast_state(self, state: Mapping[str, Array], root: int = 0) -> None:
        """Makes arrays equal to those of the root, such as weights before the first step. Collective."""
        given = _Parameters(state, "broadcast_state")
        self._run(library.tutti_broadcast_state, given.array, given.count, index_of(root, "broadcast_state: root"))

    def verify_state(self, state: Mapping[str, Array]) -> None:
        """Compares arrays that should be equal. Collective. Raises ArgumentError on all ranks, which
        names the first array that differs."""
        given = _Parameters(state, "verify_state")
        self._run(library.tutti_verify_state, given.array, given.count)

    def average_buffers(self, state: Mapping[str, Array]) -> None:
        """Makes arrays the mean of all ranks', such as running means of batches. Collective."""
        given = _Parameters(state, "average_buffers")
        self._run(library.tutti_average_buffers, given.array, given.count)

    def view(self, i: int | str) -> Memory | DeviceMemory:
        """The gradient of a parameter, with storage="views"."""
        number = self.index(i)
        address = library.tutti_gradient_view(self._handle.pointer, number) if self._has_views else None
        if address is None:
            raise ArgumentError('gradients lie in the arrays of the program: only storage="views" has views')
        buffer = self._parameters.buffers[number]
        pages = Pages(self._handle, address, 0, False)
        self._views.add(pages)
        if self._has_stream:
            return DeviceMemory(pages, address, buffer.shape, buffer.type)
        return Memory(pages, buffer.shape, buffer.type)

    @property
    def buckets(self) -> list[list[int]]:
        """The parameters of each bucket, in the order in which buckets start."""
        result = []
        numbers, count = ctypes.POINTER(ctypes.c_size_t)(), ctypes.c_size_t()
        for bucket in range(library.tutti_gradient_bucket_count(self._handle.pointer)):
            pointer = self._handle.pointer
            check(library.tutti_gradient_bucket(pointer, bucket, ctypes.byref(numbers), ctypes.byref(count)))
            result.append(numbers[: count.value])
        return result

    @property
    def plan_hash(self) -> int:
        """A number that is equal on ranks with equal plans."""
        return int(library.tutti_gradient_plan_hash(self._handle.pointer))

    def write_trace(self, path: str) -> None:
        """Writes the times of the recorded steps of all ranks, for ui.perfetto.dev. Collective."""
        self._run(library.tutti_write_trace, str(path).encode())

    def close(self) -> None:
        """Ends the GradientSync. A step without its wait fails on the other ranks."""
        if len(self._views):
            raise ArgumentError("views of gradients are in use: drop them before close")
        self._handle.close()

    def __enter__(self) -> GradientSync:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, function: Any, *arguments: Any) -> None:
        with self._handle.turn:
            pointer = self._handle.pointer
            run_apart(lambda: check(function(pointer, *arguments)))
