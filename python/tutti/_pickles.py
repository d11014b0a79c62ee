"""Objects as bytes: a pickle and the memory of its arrays, or the codec "data"."""

from __future__ import annotations

import pickle
import struct
from typing import Any

from . import _data
from .errors import Error, ObjectError

_COUNT = struct.Struct("<Q")
_ALIGNMENT = 16  # of each buffer behind a pickle: that of every element
_JOINED_BYTES = 1 << 14  # pieces of fewer bytes are joined: each one costs more than the copy
SHARED_BYTES = 1 << 20  # arrays of so many bytes are not copied out of the memory in which they arrived


def encode(obj: Any, codec: str) -> list[_data.Piece]:
    """The pieces of an object. A pickle has its number of buffers and their lengths in front, and them behind. Zeros
    fill the pickle and each buffer up to a multiple of the alignment."""
    if codec == "data":
        return _data.encode(obj)
    buffers: list[memoryview] = []

    def needs_copy(buffer: pickle.PickleBuffer) -> bool:
        """Returns whether a buffer must be copied into the pickle, since it does not lie in one piece."""
        try:
            buffers.append(buffer.raw())
        except BufferError:
            return True
        return False

    pickled = _Pickled()
    pickle.Pickler(pickled, protocol=5, buffer_callback=needs_copy).dump(obj)
    lengths = [len(buffers), *(len(buffer) for buffer in buffers)]
    pieces = [struct.pack(f"<{len(lengths)}Q", *lengths), *pickled.pieces]
    length = sum(map(len, pieces))
    pieces.append(bytes(-length % _ALIGNMENT))
    if length < _JOINED_BYTES and not buffers:
        return [b"".join(pieces)]
    for buffer in buffers:
        pieces += (buffer, bytes(-len(buffer) % _ALIGNMENT))
    return pieces


class _Pickled:
    """The file of a Pickler, which writes large bytes objects to it as they are, without a copy."""

    def __init__(self) -> None:
        self.pieces: list[_data.Piece] = []
        self.write = self.pieces.append


def decode(data: memoryview, codec: str, sender: int) -> Any:
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
        buffers.append(buffer if length >= SHARED_BYTES else bytearray(buffer))
        end += length + -length % _ALIGNMENT
    return pickle.loads(pickled, buffers=buffers)
