"""The codec "data": None, bool, int, float, str, bytes, list, tuple, dict and numpy arrays, as bytes.

Decoding never runs code: it creates these types only, checks every length against the bytes that are left, and
takes memory in proportion to their number.

An encoding is the byte b"\\x01", the version, and then one value. A value is a tag of one byte and its contents;
lengths and counts are 8 bytes. All numbers are little endian.

    N, T, F     None, True, False
    i           length, that many bytes of an integer in two's complement
    f           8 bytes
    s, b        length, that many bytes (of UTF-8)
    l, t        count, that many values
    d           count, that many pairs of a key and a value
    a           4 bytes of a dtype such as b"<f8 ", one byte with the number of dimensions, each dimension, bytes
"""

from __future__ import annotations

import itertools
import struct
import sys
from typing import Any, Callable, Union

Piece = Union[bytes, memoryview]

VERSION = b"\x01"
MOST_NESTED = 100  # containers within each other, far below Python's limit of recursion
_LENGTH = struct.Struct("<Q")
_FLOAT = struct.Struct("<d")
_DTYPES = frozenset(
    ["|b1", "|i1", "|u1"]
    + [order + kind for order in "<>" for kind in "i2 i4 i8 u2 u4 u8 f2 f4 f8 c8".split()]
    + ["<c16", ">c16"]
)


class DataError(ValueError):
    """The error for an object of a type that the codec lacks, or for bytes that are no encoding."""


def encode(value: Any) -> list[Piece]:
    """Returns the pieces of an encoding, which is all of them joined. Memory of large arrays is not copied.

    Raises DataError, which names the position of what cannot be encoded.
    """
    encoder = _Encoder()
    encoder.put(value, "object", 0)
    pieces: list[Piece] = []
    for is_bytes, run in itertools.groupby([VERSION, *encoder.pieces], lambda piece: isinstance(piece, bytes)):
        pieces += [b"".join(run)] if is_bytes else run
    return pieces


def decode(data: memoryview) -> Any:
    """Returns the value that bytes encode, which shares no memory with them. Raises DataError."""
    decoder = _Decoder(data)
    version = bytes(decoder.pop(1))
    if version != VERSION:
        raise DataError(f"the bytes begin with {version!r}, the codec's version is {VERSION!r}")
    value = decoder.value(0)
    if decoder.left() > 0:
        raise DataError(f"{decoder.left()} bytes follow the object")
    return value


class _Encoder:
    def __init__(self) -> None:
        self.pieces: list[Piece] = []

    def put(self, value: Any, where: str, depth: int) -> None:
        if depth > MOST_NESTED:
            raise DataError(f"more than {MOST_NESTED} containers are nested, or one contains itself")
        kind = type(value)
        if value is None:
            self.pieces.append(b"N")
        elif kind is bool:
            self.pieces.append(b"T" if value else b"F")
        elif kind is int:
            self._bytes(b"i", value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))
        elif kind is float:
            self.pieces.append(b"f" + _FLOAT.pack(value))
        elif kind is str:
            self._bytes(b"s", _utf8(value, where))
        elif kind is bytes:
            self._bytes(b"b", value)
        elif kind is list or kind is tuple:
            self.pieces.append((b"l" if kind is list else b"t") + _LENGTH.pack(len(value)))
            for index, item in enumerate(value):
                self.put(item, f"{where}[{index}]", depth + 1)
        elif kind is dict:
            self._dict(value, where, depth)
        elif _is_array(value):
            self._array(value, where)
        else:
            name = f"{kind.__module__}.{kind.__qualname__}"
            raise DataError(f"{where} is a {name}, which the codec 'data' does not have")

    def _bytes(self, tag: bytes, data: bytes) -> None:
        self.pieces.append(tag + _LENGTH.pack(len(data)))
        self.pieces.append(data)

    def _dict(self, value: dict[Any, Any], where: str, depth: int) -> None:
        self.pieces.append(b"d" + _LENGTH.pack(len(value)))
        for key, item in value.items():
            self.put(key, f"a key of {where}", depth + 1)
            self.put(item, f"{where}[{key!r:.40}]", depth + 1)

    def _array(self, array: Any, where: str) -> None:
        dtype = array.dtype.str
        if dtype not in _DTYPES or array.dtype.names is not None:
            raise DataError(f"{where} is an array of {array.dtype}, which the codec 'data' does not have")
        head = b"a" + dtype.ljust(4).encode() + bytes([array.ndim])
        self.pieces.append(head + b"".join(_LENGTH.pack(length) for length in array.shape))
        if array.size > 0:
            flat = sys.modules["numpy"].ascontiguousarray(array).reshape(-1)
            self.pieces.append(memoryview(flat.view("u1")))


class _Decoder:
    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0
        self._readers: dict[int, Callable[[int], Any]] = {
            ord("N"): lambda depth: None,
            ord("T"): lambda depth: True,
            ord("F"): lambda depth: False,
            ord("i"): lambda depth: int.from_bytes(self._sized(), "little", signed=True),
            ord("f"): lambda depth: _FLOAT.unpack(self.pop(_FLOAT.size))[0],
            ord("s"): lambda depth: self._text(),
            ord("b"): lambda depth: bytes(self._sized()),
            ord("l"): lambda depth: self._values(depth),
            ord("t"): lambda depth: tuple(self._values(depth)),
            ord("d"): self._dict,
            ord("a"): lambda depth: self._array(),
        }

    def left(self) -> int:
        return len(self._data) - self._at

    def pop(self, count: int) -> memoryview:
        if count > self.left():
            raise DataError(f"{count} bytes are missing at byte {self._at}, {self.left()} are left")
        self._at += count
        return self._data[self._at - count : self._at]

    def value(self, depth: int) -> Any:
        if depth > MOST_NESTED:
            raise DataError(f"more than {MOST_NESTED} containers are nested")
        tag = self.pop(1)[0]
        read = self._readers.get(tag)
        if read is None:
            raise DataError(f"byte {self._at - 1} is {tag}, which is no tag")
        return read(depth)

    def _length(self) -> int:
        length: int = _LENGTH.unpack(self.pop(_LENGTH.size))[0]
        return length

    def _sized(self) -> memoryview:
        return self.pop(self._length())

    def _count(self, least_bytes: int) -> int:
        """Returns a count of parts of which each has at least a given number of bytes."""
        count = self._length()
        if count * least_bytes > self.left():
            raise DataError(f"{count} parts are announced at byte {self._at}, {self.left()} bytes are left")
        return count

    def _text(self) -> str:
        try:
            return str(self._sized(), "utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"a string is not UTF-8: {error}") from None

    def _values(self, depth: int) -> list[Any]:
        return [self.value(depth + 1) for _ in range(self._count(1))]

    def _dict(self, depth: int) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for _ in range(self._count(2)):
            key = self.value(depth + 1)
            value = self.value(depth + 1)
            try:
                result[key] = value
            except TypeError:
                raise DataError(f"a {type(key).__name__} is the key of a dict") from None
        return result

    def _array(self) -> Any:
        dtype = str(self.pop(4), "latin-1").rstrip()
        dimensions = self.pop(1)[0]
        if dtype not in _DTYPES:
            raise DataError(f"an array has the dtype {dtype!r:.20}")
        shape = struct.unpack(f"<{dimensions}Q", self.pop(8 * dimensions))
        size = int(dtype[2:])
        for extent in shape:
            size *= extent
        data = self.pop(size)
        try:
            import numpy
        except ImportError:
            raise DataError("the object contains an array, and numpy is not installed here") from None
        try:
            if size == 0:
                return numpy.empty(shape, dtype)
            if dtype == "|b1" and numpy.frombuffer(data, "u1").max() > 1:
                raise DataError("an array of bool has bytes other than 0 and 1")
            return numpy.frombuffer(data, dtype).reshape(shape).copy()
        except DataError:
            raise
        except (ValueError, MemoryError, OverflowError) as error:
            raise DataError(f"an array of the shape {shape}: {error}") from None


def _utf8(value: str, where: str) -> bytes:
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(f"{where} is no text: {error}") from None


def _is_array(value: Any) -> bool:
    """Whether a value is a numpy array; numpy is not imported for that."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray
