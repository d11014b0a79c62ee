"""Memory that all ranks of a host see."""

from __future__ import annotations

import bisect
import ctypes
import sys
from typing import Any

from . import _dlpack, arrays
from ._apart import make, make_apart
from ._handles import Handle, Turn
from ._library import library
from .arrays import Buffer
from .errors import ArgumentError

_visible: list[tuple[int, int]] = []  # where visible memory begins and ends, sorted


def is_visible(address: int) -> bool:
    """Whether an address lies in memory that other ranks see."""
    if not _visible:
        return False
    i = bisect.bisect_right(_visible, (address, sys.maxsize)) - 1
    return i >= 0 and address < _visible[i][1]


class Pages:
    """Memory of the shared library, or memory that it has imported: freed, or given back, with the last
    array that lies in it."""

    _listed = _visible  # other libraries free arrays also when the names of this module are gone
    _span: tuple[int, int] | None = None

    def __init__(self, handle: Handle, address: int, bytes: int, is_visible: bool) -> None:
        self._handle = handle
        self.is_visible = is_visible
        self.address = address
        if is_visible and bytes > 0:
            self._span = address, address + bytes
            bisect.insort(_visible, self._span)

    def __del__(self) -> None:
        if self._span in self._listed:
            self._listed.remove(self._span)


def _pages_of(handle: Handle, bytes: int) -> Pages:
    address = library.tutti_memory_data(handle.pointer) or 0
    return Pages(handle, address, bytes, bool(library.tutti_memory_is_visible(handle.pointer)))


def allocate(world: Handle, bytes: int) -> Pages:
    """Memory of zeros for a communicator, which other ranks of the host see if there is such memory."""
    handle = Handle(library.tutti_memory_free, "memory", Turn())
    with world.turn:
        pointer = world.pointer
        return make(
            handle,
            lambda result: library.tutti_allocate(pointer, bytes, result),
            lambda made: _pages_of(made, bytes),
        )


def import_file(world: Handle, file: int, address: int, bytes: int) -> Pages:
    """Makes memory of the program visible, to which it has mapped the begin of a file. Collective. The
    memory stays mapped as long as the result lives."""
    handle = Handle(library.tutti_memory_free, "memory", Turn())
    with world.turn:
        pointer = world.pointer
        pages = make_apart(
            handle,
            lambda result: library.tutti_memory_import(pointer, file, 0, address, bytes, result),
            lambda made: _pages_of(made, bytes),
        )
    assert pages is not None
    return pages


class Memory:
    """An array of zeros in memory that the other ranks of the host read and write in place, which
    saves copies. Made by `Communicator.empty`.

    It is an array of tutti's calls as it is. `numpy.asarray(memory)`, `torch.from_dlpack(memory)` and
    `memory.view()` are arrays of the same elements, which stay valid when it is closed: the memory is
    freed with the last of them. It may outlive its communicator.

    shape: its extents. dtype: such as "float32". is_visible: whether other ranks see it.
    """

    def __init__(self, pages: Pages, shape: tuple[int, ...], datatype: int) -> None:
        self.shape = shape
        self.dtype = arrays.NAMES[datatype]
        self._datatype = datatype
        self.itemsize = arrays.SIZES[datatype]
        self.nbytes = self.itemsize
        for extent in shape:
            self.nbytes *= extent
        self._pages: Pages | None = pages
        self.is_visible = pages.is_visible

    def close(self) -> None:
        """Gives the memory back, once no array of it is left."""
        self._pages = None

    def view(self) -> memoryview:
        """The elements as a memoryview: float16 and bfloat16 as uint16, and complex numbers with one more
        dimension for their two parts."""
        raw: Any = memoryview(self._raw()).cast("B")
        shape = [*self.shape, 2] if self.dtype.startswith("complex") else list(self.shape)
        format = _FORMATS[self.dtype.rstrip("0123456789")][self.itemsize.bit_length() - 1]
        view: memoryview = raw.cast(format, shape) if self.nbytes else raw.cast(format)
        return view

    def __buffer__(self, flags: int, /) -> memoryview:
        return self.view()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        numpy = sys.modules["numpy"]
        if self.dtype == "bfloat16":
            raise ArgumentError("numpy has no bfloat16: use view(), whose elements are uint16, or DLPack")
        array = numpy.frombuffer(self._raw(), dtype=self.dtype).reshape(self.shape)
        return array if dtype is None and not copy else numpy.array(array, dtype=dtype)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        if copy or dl_device not in (None, (1, 0)):
            raise BufferError("memory of tutti is exported as it is: neither copied, nor to another device")
        pages = self._open()
        is_versioned = max_version is not None and max_version[0] >= 1
        return _dlpack.export_tensor(pages.address, self.shape, self.dtype, pages, is_versioned)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("memory of no dimensions has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        state = "" if self._pages is not None else ", closed"
        return f"<tutti.Memory of shape {self.shape}, {self.dtype}{state}>"

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> Pages:
        if self._pages is None:
            raise ArgumentError("this memory is closed")
        return self._pages

    def _raw(self) -> Any:
        """Bytes that keep the memory."""
        pages = self._open()
        kind: Any = type("Bytes", (ctypes.c_char * self.nbytes,), {})
        raw: Any = kind.from_address(pages.address) if self.nbytes else kind()
        raw.pages = pages
        return raw

    def _tutti_buffer(self) -> Buffer:
        pages = self._open()
        return Buffer(pages.address, self.shape, self._datatype, self.itemsize, pages)


# Codes of the module struct for elements of 1, 2, 4, 8 and 16 bytes.
_FORMATS = {"bool": "?", "int": "bhiq", "uint": "BHIQ", "float": "BHfd", "bfloat": "BH", "complex": "  Hfd"}
