"""Objects as bytes: a pickle and the memory of its arrays, or the codec "data"."""

from __future__ import annotations

import pickle
import struct
from typing import Any, NoReturn

from . import _data
from .errors import Error, ObjectError

_COUNT = struct.Struct("<Q")
_ALIGNMENT = 16  # of each buffer behind a pickle: enough for every type of elements
_COPIED_BYTES = 1 << 14  # buffers of fewer bytes are copied into the pickle: each one costs more than the copy
SHARED_BYTES = 1 << 20  # arrays of at least this many bytes stay in the memory in which they arrived
_NO_BUFFERS = _COUNT.pack(0)


class Pieces(list[_data.Piece]):
    """The file of a Pickler, which writes large bytes objects to it as they are, without a copy."""

    __slots__ = ()
    write = list.append


def encode(obj: Any, codec: str) -> list[_data.Piece]:
    """The pieces of an object: the number of buffers, their lengths, the pickle, and the buffers. If there are
    buffers, zeros fill the pickle and each buffer up to a multiple of the alignment."""
    if codec == "data":
        return _data.encode(obj)
    buffers: list[memoryview] = []

    def is_copied(buffer: pickle.PickleBuffer) -> bool:
        """Returns whether a buffer is copied into the pickle, since it is small or not contiguous."""
        try:
            raw = buffer.raw()
        except BufferError:
            return True
        if raw.nbytes < _COPIED_BYTES:
            return True
        buffers.append(raw)
        return False

    pieces = Pieces()
    pickle.Pickler(pieces, 5, buffer_callback=is_copied).dump(obj)
    return join(pieces, buffers)


def join(pickled: list[_data.Piece], buffers: list[memoryview]) -> list[_data.Piece]:
    """The pieces of an object, made of the pieces of its pickle and its buffers."""
    if not buffers:
        return [_NO_BUFFERS, *pickled]
    lengths = [len(buffers), *(len(buffer) for buffer in buffers)]
    pieces = [struct.pack(f"<{len(lengths)}Q", *lengths), *pickled]
    pieces.append(bytes(-sum(map(len, pieces)) % _ALIGNMENT))
    for buffer in buffers:
        pieces += (buffer, bytes(-len(buffer) % _ALIGNMENT))
    return pieces


def decode(data: memoryview, codec: str, sender: int) -> Any:
    """The object that bytes encode. sender: a rank."""
    try:
        return _data.decode(data) if codec == "data" else _unpickle(data)
    except Error:
        raise
    except Exception as error:
        raise _undecodable(len(data), sender, error) from error


def loads_with_buffers(pickled: bytes, buffers: list[bytearray]) -> Any:
    return pickle.loads(pickled, buffers=buffers)


def fail_to_decode(received: bytes | tuple[bytes, list[bytearray]], sender: int, error: Exception) -> NoReturn:
    """Raises the error of decode. received: a pickle, or a pickle and its buffers."""
    if isinstance(error, Error):
        raise error
    pickled, buffers = received if isinstance(received, tuple) else (received, [])
    lengths = (len(buffer) + -len(buffer) % _ALIGNMENT for buffer in buffers)
    raise _undecodable(_COUNT.size * (1 + len(buffers)) + len(pickled) + sum(lengths), sender, error) from error


def _undecodable(length: int, sender: int, error: Exception) -> ObjectError:
    what = f"an object of {length} bytes from rank {sender} cannot be decoded"
    return ObjectError(f"{what}: {type(error).__name__}: {error}", rank=sender)


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
        buffers.append(buffer if length >= SHARED_BYTES else bytearray(buffer))
        end += length + -length % _ALIGNMENT
    return pickle.loads(pickled, buffers=buffers)
