"""Communicators: groups of ranks, and the calls among them."""

from __future__ import annotations

import ctypes
import functools
import operator as _operator
from typing import TYPE_CHECKING, Any, Sequence, overload

from . import arrays, requests
from ._apart import make_apart
from ._calls import TRAITS, Prepared, Spec
from ._collectives import Calls
from ._declarations import ANY_RANK, COLLECTIVES, OPERATORS, PENDING, Call
from ._handles import Handle, Owned, Turn
from ._library import library
from ._notify import Notices
from ._numbers import index_of, list_of
from ._options import enumerator
from ._probes import Arrival, probe, probe_for
from ._quick import QuickCalls, calls_of
from .errors import ArgumentError, Error, TransportError, check
from .memory import Memory, allocate
from .operators import PAIR_OPERATORS
from .requests import Plan, Request

if TYPE_CHECKING:
    from .objects import Objects

ANY = ANY_RANK
"""Any rank, as a source of messages."""


class Starts(Calls[Request[Any]]):
    """`world.start`: each call returns a Request at once."""

    def __init__(self, world: Communicator) -> None:
        self._world = world

    def _submit(self, spec: Spec, x: Any, out: Any) -> Request[Any]:
        return requests.start(self._world, Prepared(self._world, spec, x, out))


class Plans(Calls[Plan]):
    """`world.plan`: each call returns a Plan, which can run many times."""

    def __init__(self, world: Communicator) -> None:
        self._world = world

    def _submit(self, spec: Spec, x: Any, out: Any) -> Plan:
        prepared = Prepared(self._world, spec, x, out)
        if prepared.arguments.numbers is not None:
            raise ArgumentError(f"{spec.name}: a plan needs an array, since a number does not change")
        return Plan(self._world, prepared)


class Communicator(QuickCalls):
    """A group of ranks. All ranks make the same calls in the same order; if they do not, they get an
    error and never wrong data.

    Arrays are of any library, see tutti.arrays; without `out` a call works in place. Numbers are
    returned as numbers. Several threads may use a communicator: their calls follow each other.

    rank: the own rank. size: the number of ranks.
    """

    def __init__(self, handle: Handle, timeout: int, has_progress_thread: bool) -> None:
        self._handle = handle
        self._timeout = timeout
        self.has_progress_thread = has_progress_thread
        self.rank: int = library.tutti_rank(handle.pointer)
        self._fast = calls_of(handle, self.rank)
        self._copies_bytes = False
        self.size: int = library.tutti_size(handle.pointer)
        self._notices = Notices()
        self._hosts: list[list[int]] | None = None

    @property
    def start(self) -> Starts:
        """Calls that return a Request at once."""
        return Starts(self)

    @property
    def plan(self) -> Plans:
        """Calls that prepare a Plan, which can run many times."""
        return Plans(self)

    @functools.cached_property
    def objects(self) -> Objects:
        """Calls with objects of Python."""
        from .objects import Objects

        return Objects(self._handle, self.rank, self._timeout, self._fast, self._notices)

    def _submit(self, spec: Spec, x: Any, out: Any) -> Any:
        if spec.source == ANY and spec.name == "recv":
            timeout = spec.options.get("timeout")
            spec.source = probe(self._handle, ANY, spec.tag, timeout, self._timeout).source
        prepared = Prepared(self, spec, x, out)
        if requests.in_batch():
            return requests.add_to_batch(self, prepared)
        self._run(prepared)
        return prepared.arguments.finish()

    def _run(self, prepared: Prepared) -> None:
        """Runs a call to its end, in slices. Ctrl-C drops it, and other ranks get AbortedError."""
        handle, turn = self._handle, self._handle.turn
        pending = Owned(library.tutti_request_free, turn)
        try:
            if prepared.options is not None and prepared.options.has_stream:
                return self._enqueue(prepared)
            with turn:
                status = library.tutti_run_for(
                    handle.pointer, prepared.call, prepared.options_pointer(), turn.slice, pending
                )
            while status == PENDING:
                with turn:
                    status = library.tutti_wait_for(pending, turn.slice)
            check(status)
        except Error as error:
            requests.raise_failure(prepared, error)
        finally:
            pending.close()

    def _enqueue(self, prepared: Prepared) -> None:
        """Enqueues the work of a call on its stream."""
        with self._handle.turn:
            check(library.tutti_run(self._handle.pointer, prepared.call, prepared.options_pointer()))

    def _copy_bytes(self) -> None:
        """Makes messages and broadcasts bytes from now on: arrays of different types and equal bytes match. For
        layers above that promise this; equal on all ranks."""
        self._copies_bytes = True
        if self._fast is not None:
            self._fast.copy_bytes()

    # Groups.

    def group(self, ranks: Sequence[int], key: int = 0) -> Communicator:
        """A communicator of some ranks; the others do not take part.

        ranks: distinct, the own one among them; they become ranks 0, 1, ... of it in this order. key:
            distinguishes groups of the same ranks that several threads make. Both equal on all members.
        """
        members = [index_of(rank, "group: a rank") for rank in list_of(ranks, "group: ranks", "ranks")]
        array = (ctypes.c_int32 * len(members))(*members)
        made = self._make(library.tutti_group, array, len(members), index_of(key, "group: the key", 64))
        assert made is not None
        return made

    @overload
    def split(self, color: int, key: int = 0) -> Communicator: ...
    @overload
    def split(self, color: None, key: int = 0) -> None: ...
    @overload
    def split(self, color: int | None, key: int = 0) -> Communicator | None: ...
    def split(self, color: int | None, key: int = 0) -> Communicator | None:
        """Divides the ranks by color. Collective.

        color: zero or more; ranks with equal colors form a group. None: this rank joins none, and the
            result is None. key: orders the ranks of a color.
        """
        number = -1 if color is None else index_of(color, "split: the color")
        if color is not None and number < 0:
            raise ArgumentError(f"split: color {color} is less than zero; a rank that joins no group passes None")
        return self._make(library.tutti_split, number, index_of(key, "split: the key"))

    def _make(self, make: Any, *arguments: Any) -> Communicator | None:
        handle = Handle(library.tutti_communicator_free, "communicator", Turn())
        with self._handle.turn:
            pointer = self._handle.pointer
            return make_apart(
                handle,
                lambda result: make(pointer, *arguments, result),
                lambda made: Communicator(made, self._timeout, self.has_progress_thread),
            )

    # Facts.

    @property
    def hosts(self) -> list[list[int]]:
        """The ranks of each host. Raises TransportError if the hosts are not known."""
        if self._hosts is None:
            numbers = (ctypes.c_int32 * self.size)()
            with self._handle.turn:
                check(library.tutti_hosts(self._handle.pointer, numbers))
            if -1 in numbers:
                raise TransportError("which ranks share a host is not known with this transport")
            by_host: dict[int, list[int]] = {}
            for rank, host in enumerate(numbers):
                by_host.setdefault(host, []).append(rank)
            self._hosts = list(by_host.values())
        return self._hosts

    @property
    def local_rank(self) -> int:
        """The number of this rank among those of its host."""
        return next(host.index(self.rank) for host in self.hosts if self.rank in host)

    @property
    def address(self) -> str:
        """The address at which the other ranks reach this one, as a number, for servers to which they connect: the
        loopback if all ranks share it."""
        return _text(library.tutti_address, self._handle.pointer)

    def describe(self) -> str:
        """One line about the ranks and their connections."""
        return _text(library.tutti_describe, self._handle.pointer)

    def waits(self) -> str:
        """The calls in which this rank waits now, one per line. Any thread may call this at any time."""
        return _text(library.tutti_communicator_waits, self._handle.pointer)

    def explain(self, collective: str, bytes: int, *, dtype: Any = "float32", op: str = "sum", root: int = 0) -> str:
        """The algorithm that a call gets, the predicted time of each candidate, and why others are
        rejected. bytes: of a rank's vector, or of a block."""
        number, operator = enumerator(COLLECTIVES, collective, "collective"), enumerator(OPERATORS, op, "operator")
        if op in PAIR_OPERATORS:
            from ._pairs import pairs_of_dtype  # few programs need it

            datatype, itemsize = pairs_of_dtype(dtype, "explain", op)
        else:
            datatype = arrays.datatype_of(dtype)
            itemsize = arrays.SIZES[datatype]
        count = index_of(bytes, "explain: bytes", 64) // itemsize
        call = Call(
            size=ctypes.sizeof(Call),
            collective=number,
            type=datatype,
            element_bytes=itemsize,
            in_=1 << 20,  # a place, which is not read
            out=1 << 50,
            in_count=count * (self.size if TRAITS[collective].x_has_blocks else 1),
            out_count=count * (self.size if TRAITS[collective].out_has_blocks else 1),
            op=operator,
            root=index_of(root, "explain: root"),
        )
        with self._handle.turn:
            return _text(library.tutti_explain, self._handle.pointer, call, None)

    # Messages.

    def probe(self, source: int = ANY, tag: int = 0, *, timeout: float | None = None) -> Arrival:
        """Waits for a message that no call receives yet, and leaves it there.

        timeout: seconds; else those of the communicator. Raises TimeoutError, which fails nothing.
        """
        return probe(self._handle, source, tag, timeout, self._timeout)

    def probe_now(self, source: int = ANY, tag: int = 0) -> Arrival | None:
        """As probe, but it does not wait: returns None if no such message has come."""
        with self._handle.turn:
            return probe_for(self._handle, source, tag, 0)

    # Memory.

    def empty(self, shape: int | tuple[int, ...], dtype: Any = "float32") -> Memory:
        """An array of zeros that the other ranks of the host read and write in place, which saves
        copies. If one rank passes such memory to a collective, all must."""
        extents, datatype = arrays.extents_of(shape), arrays.datatype_of(dtype)
        return Memory(allocate(self._handle, arrays.bytes_of(extents, datatype)), extents, datatype)

    # End.

    def close(self) -> None:
        """Leaves the group. Further calls raise ArgumentError. Requests and plans stay usable."""
        self._handle.close()

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "" if self._handle.is_open else ", closed"
        return f"<tutti.Communicator, rank {self.rank} of {self.size}{state}>"


def check_world(world: Any, call: str) -> None:
    if not isinstance(world, Communicator):
        raise TypeError(f"{call}: a {type(world).__name__} is no Communicator, as tutti.init returns it")


def _text(function: Any, *arguments: Any) -> str:
    """A text of the shared library, which also returns its length."""
    capacity = 1024
    length = ctypes.c_size_t()
    while True:
        text = ctypes.create_string_buffer(capacity)
        check(function(*arguments, text, capacity, ctypes.byref(length)))
        if length.value < capacity:
            return text.value.decode("utf-8", "replace")
        capacity = length.value + 1
