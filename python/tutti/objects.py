"""Objects of any size between ranks."""

from __future__ import annotations

import ctypes
import functools
import pickle
import struct
from typing import TYPE_CHECKING, Any, Callable, Iterable, Literal, Sequence, TypeVar

from . import _data
from ._calls import nanoseconds
from ._handles import Handle, Turn
from ._library import ANY_RANK, PENDING, Object, ObjectCall, Piece, library
from .arrays import _Export
from .errors import ArgumentError, Error, ObjectError, check

if TYPE_CHECKING:
    from .communicator import Communicator

T = TypeVar("T")
Codec = Literal["pickle", "data"]
_KINDS = ("broadcast", "scatter", "gather", "all_gather", "all_to_all", "send", "recv")
_MOST_BYTES = {"pickle": 1 << 40, "data": 1 << 30}  # of one object
_COUNT = struct.Struct("<Q")
_ALIGNMENT = 16  # of each buffer behind a pickle: that of every element
_SHARED_BYTES = 1 << 20  # arrays of so many bytes are not copied out of the memory in which they arrived


class Objects:
    """Calls that move objects, whose sizes may differ between ranks: world.objects.

    codec: how objects become bytes, on all ranks the same. "pickle" has every class that Python can pickle, and
        sends the memory of numpy arrays and the like without a copy into the pickle. Unpickling runs code that
        the sender chooses, so all ranks must be trusted. "data" has None, bool, int, float, str, bytes, list,
        tuple, dict and numpy arrays only, at most 1 GiB of them, and decoding never runs code.
    timeout: seconds; by default the communicator's.

    An array of 1 MiB or more that arrives lies in memory with all other objects of the call, which is freed when the
    last such array is gone.

    Errors: an object that cannot be encoded, a wrong number of objects, or another codec is the same ObjectError
    on all ranks. Bytes that cannot be decoded are an ObjectError on the rank that decodes them. The communicator
    stays usable after either.
    """

    def __init__(self, communicator: Communicator) -> None:
        self._communicator = communicator

    def broadcast(
        self, obj: T | None = None, *, root: int = 0, codec: Codec = "pickle", timeout: float | None = None
    ) -> T:
        """Returns the root's object, at the root `obj` itself."""
        is_root = self._communicator.rank == root
        got = self._exchange("broadcast", lambda: [obj] if is_root else [], codec, timeout, root=root)
        return obj if is_root else got[0]  # type: ignore[return-value]

    def scatter(
        self, objs: Iterable[T] | None = None, *, root: int = 0, codec: Codec = "pickle", timeout: float | None = None
    ) -> T:
        """Returns object r of the root's on rank r. Other ranks pass none."""
        given = objs if self._communicator.rank == root else None
        result: T = self._exchange("scatter", lambda: given or (), codec, timeout, root=root)[0]
        return result

    def gather(self, obj: T, *, root: int = 0, codec: Codec = "pickle", timeout: float | None = None) -> list[T] | None:
        """Returns all ranks' objects at the root, None elsewhere."""
        got = self._exchange("gather", lambda: [obj], codec, timeout, root=root)
        return got if self._communicator.rank == root else None

    def all_gather(self, obj: T, *, codec: Codec = "pickle", timeout: float | None = None) -> list[T]:
        """Returns all ranks' objects."""
        return self._exchange("all_gather", lambda: [obj], codec, timeout)

    def all_to_all(self, objs: Iterable[T], *, codec: Codec = "pickle", timeout: float | None = None) -> list[T]:
        """Returns object r of every rank's on rank r."""
        return self._exchange("all_to_all", lambda: objs, codec, timeout)

    def all_reduce(
        self, obj: T, fn: Callable[[T, T], T], *, codec: Codec = "pickle", timeout: float | None = None
    ) -> T:
        """Returns fn(... fn(x0, x1) ..., x(n-1)), which rank 0 computes. An exception of fn is an ObjectError on
        all ranks, with the exception as its cause on rank 0."""
        values = self.gather(obj, codec=codec, timeout=timeout)
        result: list[T] = []

        def fold() -> list[T]:
            if values is not None:
                result.append(functools.reduce(fn, values))
            return result

        got = self._exchange("broadcast", fold, codec, timeout)
        return got[0] if values is None else result[0]

    def send(self, obj: Any, to: int, *, tag: int = 0, codec: Codec = "pickle", timeout: float | None = None) -> None:
        """Sends an object to one rank. Objects of one tag arrive in order."""
        self._exchange("send", lambda: [obj], codec, timeout, peer=to, tag=tag)

    def recv(
        self, source: int = ANY_RANK, *, tag: int = 0, codec: Codec = "pickle", timeout: float | None = None
    ) -> Any:
        """Returns the next object of one rank, or of any."""
        if source == ANY_RANK:
            source = self._communicator.probe(source, tag).source
        return self._exchange("recv", lambda: (), codec, timeout, peer=source, tag=tag)[0]

    def _exchange(
        self,
        kind: str,
        given: Callable[[], Iterable[Any]],
        codec: Codec,
        timeout: float | None,
        **members: int,
    ) -> list[Any]:
        """Runs a call. given: returns the objects of this rank; if it fails, the call fails on all ranks."""
        if codec not in _MOST_BYTES:
            raise ArgumentError(f"{kind}: there is no codec {codec!r}; there are 'pickle' and 'data'")
        call = ObjectCall()
        library.tutti_object_call_defaults(ctypes.byref(call), ctypes.sizeof(call))
        call.kind = _KINDS.index(kind)
        call.type = codec.encode()
        call.most_bytes = _MOST_BYTES[codec]
        call.timeout = nanoseconds(timeout, kind)
        for name, value in members.items():
            setattr(call, name, value)
        failure: Exception | None = None
        kept: Any = None
        try:
            kept = _give(call, [_encode(obj, codec) for obj in given()])
        except Exception as error:
            failure = error
            call.failure = f"{type(error).__name__}: {error}".encode("utf-8", "replace")
        try:
            return self._run(call, codec)
        except ObjectError as error:
            raise error from failure
        finally:
            del kept

    def _run(self, call: ObjectCall, codec: Codec) -> list[Any]:
        handle = self._communicator._handle
        started = ctypes.c_void_p()
        with handle.turn:
            check(library.tutti_objects_start(handle.pointer, ctypes.byref(call), ctypes.byref(started)))
        received = Handle(started.value or 0, library.tutti_objects_free, "call", handle.turn)
        try:
            status = PENDING
            while status == PENDING:
                with handle.turn:
                    status = library.tutti_objects_wait_for(received.pointer, handle.turn.slice)
                    if status != PENDING:
                        check(status)
            kind = _KINDS[call.kind]
            if kind == "broadcast" and call.count > 0:
                return []  # the own object
            sender = {"broadcast": call.root, "scatter": call.root, "recv": call.peer}.get(kind)
            objects = enumerate(_bytes_of(received))
            return [_decode(data, codec, index if sender is None else sender) for index, data in objects]
        finally:
            received.close()  # a call that is pending, as after Ctrl-C, fails the communicator


def _give(call: ObjectCall, objects: Sequence[Sequence[_data.Piece]]) -> Any:
    """Sets the objects of a call. Returns what must live until the call has started."""
    exports = [[_Export(piece) for piece in pieces] for pieces in objects]
    arrays = [(Piece * len(row))(*(Piece(export.view.buf, export.view.len) for export in row)) for row in exports]
    call.objects = (Object * len(arrays))(*(Object(array, len(array)) for array in arrays))
    call.count = len(arrays)
    return exports, arrays


def _bytes_of(received: Handle) -> list[memoryview]:
    """The bytes of each received object. Of large ones the memory lives as long as they; that of others until the
    call is freed."""
    blocks = []
    for index in range(library.tutti_objects_count(received.pointer)):
        data = ctypes.c_void_p()
        size = ctypes.c_size_t()
        check(library.tutti_objects_get(received.pointer, index, ctypes.byref(data), ctypes.byref(size)))
        blocks.append((ctypes.c_char * size.value).from_address(data.value or 0))
    if any(len(block) >= _SHARED_BYTES for block in blocks):
        check(library.tutti_objects_keep(received.pointer))
        owner = Handle(received.release(), library.tutti_objects_free, "memory", Turn())
        for block in blocks:
            block.owner = owner  # type: ignore[attr-defined]
    return [memoryview(block).cast("B") for block in blocks]


def _encode(obj: Any, codec: Codec) -> list[_data.Piece]:
    """The pieces of an object. A pickle has its number of buffers and their lengths in front, and them behind. Zeros
    fill the pickle and each buffer up to a multiple of the alignment."""
    if codec == "data":
        return _data.encode(obj)
    buffers: list[memoryview] = []

    def take(buffer: pickle.PickleBuffer) -> bool:
        """Returns whether a buffer must be copied into the pickle, since it does not lie in one piece."""
        try:
            buffers.append(buffer.raw())
        except BufferError:
            return True
        return False

    pickled = _Pickled()
    pickle.Pickler(pickled, protocol=5, buffer_callback=take).dump(obj)
    lengths = [len(buffers), *(len(buffer) for buffer in buffers)]
    pieces = [struct.pack(f"<{len(lengths)}Q", *lengths), *pickled.pieces]
    pieces.append(bytes(-sum(map(len, pieces)) % _ALIGNMENT))
    for buffer in buffers:
        pieces += (buffer, bytes(-len(buffer) % _ALIGNMENT))
    return pieces


class _Pickled:
    """The file of a Pickler, which writes large bytes objects to it as they are, without a copy."""

    def __init__(self) -> None:
        self.pieces: list[_data.Piece] = []
        self.write = self.pieces.append


def _decode(data: memoryview, codec: Codec, sender: int) -> Any:
    """The object that bytes encode. sender: a rank."""
    try:
        return _data.decode(data) if codec == "data" else _unpickle(data)
    except Error:
        raise
    except Exception as error:
        what = f"an object of {len(data)} bytes from rank {sender} cannot be decoded"
        raise ObjectError(f"{what}: {type(error).__name__}: {error}", rank=sender) from error


def _unpickle(data: memoryview) -> Any:
    (count,) = _COUNT.unpack_from(data)
    if count > len(data) // _COUNT.size:
        raise ValueError(f"{count} buffers are announced")
    lengths = struct.unpack_from(f"<{count}Q", data, _COUNT.size)
    begin = (count + 1) * _COUNT.size
    end = len(data) - sum(length + -length % _ALIGNMENT for length in lengths)
    if end < begin:
        raise ValueError(f"{begin - end} bytes are missing")
    pickled = data[begin:end]
    buffers: list[memoryview | bytearray] = []
    for length in lengths:
        buffer = data[end : end + length]
        buffers.append(buffer if length >= _SHARED_BYTES else bytearray(buffer))
        end += length + -length % _ALIGNMENT
    return pickle.loads(pickled, buffers=buffers)
