"""Pending calls with objects."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Generator, Generic, Iterable, Literal, TypeVar, Union

from . import _notify, _pickles
from ._apart import make
from ._data import Piece as Bytes
from ._declarations import ANY_RANK, OBJECT_KINDS, PENDING, Object, ObjectCall, Piece
from ._handles import Handle, Turn
from ._library import library
from ._numbers import index_of
from ._options import nanoseconds
from .arrays import _Export
from .errors import ArgumentError, Error, ObjectError, TimeoutError, check
from .requests import wait_in_slices

T = TypeVar("T")
Codec = Literal["pickle", "data"]
Encoded = Union[list[list[Bytes]], Exception]  # the pieces of each object, or why they could not be encoded
_MOST_BYTES = {"pickle": 1 << 40, "data": 1 << 30}  # of one object


class ObjectRequest(Generic[T]):
    """A pending call with objects. It may be awaited. Its own objects may change at once: they are encoded already.

    A pending request that is dropped fails its communicator, since other ranks wait for it.
    """

    def __init__(
        self,
        handle: Handle,
        notices: _notify.Notices,
        kind: str,
        sender: int | None,
        codec: Codec,
        failure: Exception | None,
        result: Callable[[list[Any]], T],
    ) -> None:
        self._handle: Handle | None = handle
        self.notices = notices
        self._kind = kind
        self._sender = sender
        self._codec = codec
        self._failure = failure
        self._result_of = result
        self._error: Error | None = None
        self._value: T

    @property
    def handle(self) -> Handle:
        """Its handle, while it is pending."""
        assert self._handle is not None
        return self._handle

    @property
    def notify(self) -> Callable[[int, int], int]:
        """The function that asks for a notice of its end."""
        return library.tutti_objects_notify  # type: ignore[no-any-return]

    def wait(self, timeout: float | None = None) -> T:
        """Waits for the end, and returns the result.

        timeout: seconds. If the call takes longer, TimeoutError is raised, the call goes on, and it may be
            waited for again.
        """
        limit = nanoseconds(timeout, "wait")
        if not self._has_ended(lambda handle: wait_in_slices(handle, library.tutti_objects_wait_for, limit)):
            raise TimeoutError(f"{self._kind} has not ended after {timeout} s; wait again for it")
        return self._result()

    def test(self) -> bool:
        """Whether the call has ended. Makes progress. Raises the call's error."""
        if not self._has_ended(_test):
            return False
        self._result()
        return True

    def close(self) -> None:
        """Drops the request. If it is pending, its communicator fails."""
        if self._handle is not None:
            self._handle.close()

    def _has_ended(self, wait: Callable[[Handle], bool]) -> bool:
        handle = self._handle
        if handle is None:
            return True
        try:
            if not wait(handle):
                return False
            self._value = self._result_of(self._decoded(handle))
        except Error as error:
            if self._failure is not None and isinstance(error, ObjectError):
                error.__cause__ = self._failure
            self._error = error
        self._handle = None
        handle.close()
        return True

    def _decoded(self, handle: Handle) -> list[Any]:
        objects = enumerate(_bytes_of(handle))
        sender = self._sender
        return [_pickles.decode(data, self._codec, index if sender is None else sender) for index, data in objects]

    def _result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._value

    def __await__(self) -> Generator[Any, None, T]:
        yield from _notify.ended(self).__await__()
        return self._result()

    def __repr__(self) -> str:
        state = "pending" if self._handle is not None else "failed" if self._error is not None else "ended"
        return f"<tutti.ObjectRequest of {self._kind}, {state}>"


def _test(handle: Handle) -> bool:
    with handle.turn:
        status = library.tutti_objects_wait_for(handle.pointer, 0)
    if status == PENDING:
        return False
    check(status)
    return True


class ObjectStarts:
    """`world.objects.start`: each call returns an ObjectRequest at once. See Objects for the calls."""

    def __init__(self, handle: Handle, rank: int, notices: _notify.Notices) -> None:
        self._handle = handle
        self._rank = rank
        self._notices = notices

    def broadcast(
        self, obj: T | None = None, *, root: int = 0, codec: Codec = "pickle", timeout: float | None = None
    ) -> ObjectRequest[T]:
        is_root = self._rank == root
        return self._begin(
            "broadcast", [obj] if is_root else (), lambda got: obj if is_root else got[0], codec, timeout, root=root
        )

    def scatter(
        self, objs: Iterable[T] | None = None, *, root: int = 0, codec: Codec = "pickle", timeout: float | None = None
    ) -> ObjectRequest[T]:
        given = objs if self._rank == root and objs is not None else ()
        return self._begin("scatter", given, lambda got: got[0], codec, timeout, root=root)

    def gather(
        self, obj: T, *, root: int = 0, codec: Codec = "pickle", timeout: float | None = None
    ) -> ObjectRequest[list[T] | None]:
        is_root = self._rank == root
        return self._begin("gather", [obj], lambda got: got if is_root else None, codec, timeout, root=root)

    def all_gather(self, obj: T, *, codec: Codec = "pickle", timeout: float | None = None) -> ObjectRequest[list[T]]:
        return self._begin("all_gather", [obj], list, codec, timeout)

    def all_to_all(
        self, objs: Iterable[T], *, codec: Codec = "pickle", timeout: float | None = None
    ) -> ObjectRequest[list[T]]:
        return self._begin("all_to_all", objs, list, codec, timeout)

    def send(
        self, obj: Any, to: int, *, tag: int = 0, codec: Codec = "pickle", timeout: float | None = None
    ) -> ObjectRequest[None]:
        return self._begin("send", [obj], lambda _: None, codec, timeout, peer=to, tag=tag)

    def recv(
        self, source: int, *, tag: int = 0, codec: Codec = "pickle", timeout: float | None = None
    ) -> ObjectRequest[Any]:
        if source == ANY_RANK:
            raise ArgumentError(
                "recv: only the blocking call receives from any rank; probe() returns a message's sender"
            )
        return self._begin("recv", (), lambda got: got[0], codec, timeout, peer=source, tag=tag)

    def _begin(
        self,
        kind: str,
        given: Iterable[Any],
        result: Callable[[list[Any]], Any],
        codec: Codec,
        timeout: float | None,
        **members: int,
    ) -> ObjectRequest[Any]:
        check_codec(kind, codec)
        return start(self._handle, self._notices, kind, encode_all(given, codec), result, codec, timeout, **members)


def check_codec(kind: str, codec: Codec) -> None:
    if not isinstance(codec, str) or codec not in _MOST_BYTES:
        raise ArgumentError(f"{kind}: there is no codec {codec!r}; there are 'pickle' and 'data'")


def encode_all(given: Iterable[Any], codec: Codec) -> Encoded:
    try:
        return [_pickles.encode(obj, codec) for obj in given]
    except Exception as error:
        return error


def sender_of(kind: str, root: int, peer: int) -> int | None:
    """The rank whose objects a call receives, or None if each rank gives one."""
    return root if kind in ("broadcast", "scatter") else peer if kind == "recv" else None


def call_of(kind: str, codec: Codec, timeout: float | None = None) -> ObjectCall:
    call = ObjectCall()
    library.tutti_object_call_defaults(ctypes.byref(call), ctypes.sizeof(call))
    call.kind = OBJECT_KINDS[kind]
    call.type = codec.encode()
    call.most_bytes = _MOST_BYTES[codec]
    call.timeout = nanoseconds(timeout, kind)
    return call


def start(
    handle: Handle,
    notices: _notify.Notices,
    kind: str,
    encoded: Encoded,
    result: Callable[[list[Any]], T],
    codec: Codec,
    timeout: float | None,
    *,
    root: int = 0,
    peer: int = 0,
    tag: int = 0,
) -> ObjectRequest[T]:
    """Starts a call. If this rank could not encode its objects, it fails on all ranks.

    result: makes the result of the objects that this rank gets, which are none at the root of a broadcast.
    """
    call = call_of(kind, codec, timeout)
    for name, value in (("root", root), ("peer", peer), ("tag", tag)):
        setattr(call, name, index_of(value, f"{kind}: {name}"))
    failure = encoded if isinstance(encoded, Exception) else None
    kept: Any = None
    if isinstance(encoded, Exception):
        call.failure = f"{type(encoded).__name__}: {encoded}".encode("utf-8", "replace")
    else:
        kept = _give(call, encoded)
    with handle.turn:
        pointer = handle.pointer
        started = make(
            new_handle(handle.turn),
            lambda made: library.tutti_objects_start(pointer, ctypes.byref(call), made),
            lambda made: ObjectRequest(made, notices, kind, sender_of(kind, root, peer), codec, failure, result),
        )
    del kept
    return started


def new_handle(turn: Turn) -> Handle:
    """A handle for the call of an ObjectRequest."""
    return Handle(library.tutti_objects_free, "call", turn)


def _give(call: ObjectCall, objects: list[list[Bytes]]) -> Any:
    """Sets the objects of a call. Returns the objects that must live until the call has started."""
    exports = [[_Export(piece) for piece in pieces] for pieces in objects]
    arrays = [(Piece * len(row))(*(Piece(export.view.buf, export.view.len) for export in row)) for row in exports]
    call.objects = (Object * len(arrays))(*(Object(array, len(array)) for array in arrays))
    call.count = len(arrays)
    return exports, arrays


def _bytes_of(received: Handle) -> list[memoryview]:
    """The bytes of each received object. The memory of large objects lives as long as views of it; that of others
    belongs to the call until it is freed."""
    blocks = []
    for index in range(library.tutti_objects_count(received.pointer)):
        data = ctypes.c_void_p()
        size = ctypes.c_size_t()
        check(library.tutti_objects_get(received.pointer, index, ctypes.byref(data), ctypes.byref(size)))
        blocks.append((ctypes.c_char * size.value).from_address(data.value or 0))
    if any(len(block) >= _pickles.SHARED_BYTES for block in blocks):
        check(library.tutti_objects_keep(received.pointer))
        owner = received.moved("memory")
        for block in blocks:
            block.owner = owner  # type: ignore[attr-defined]
    return [memoryview(block).cast("B") for block in blocks]
