"""Arrays: access to the elements of arrays of any library, without a copy.

An array is anything with the buffer protocol (numpy, array.array, bytearray, memoryview), a tensor of
PyTorch, or an object with `__cuda_array_interface__` or `__dlpack__`. Its elements lie in one piece, in
the order of C.
"""

from __future__ import annotations

import ctypes
import math
import operator
import re
import sys
from typing import Any, Callable, Iterable

from . import _dlpack
from ._declarations import DATATYPES
from .errors import ArgumentError

Array = Any

BYTES = DATATYPES["bytes"]
NAMES = {number: name for name, number in DATATYPES.items()}
SIZES = {
    number: 1 if name == "bool" else int(re.sub("[a-z]", "", name)) // 8
    for name, number in DATATYPES.items()
    if name != "bytes"
}


class Buffer:
    """The elements of an array. It keeps the array, or its export, alive."""

    __slots__ = ("address", "count", "type", "itemsize", "is_read_only", "shape", "is_gpu", "stream", "owner", "format")

    def __init__(
        self,
        address: int,
        shape: tuple[int, ...],
        type: int,
        itemsize: int,
        owner: object,
        is_read_only: bool = False,
    ) -> None:
        self.address = address
        self.shape = shape
        self.type = type
        self.itemsize = itemsize
        self.owner = owner
        self.is_read_only = is_read_only
        self.is_gpu = False
        self.stream: int | None = None
        self.format: str | None = None  # of bytes, as the module struct has it
        count = 1
        for extent in shape:
            count *= extent
        self.count = count

    @property
    def dtype(self) -> str:
        return name_of(self.type, self.itemsize)


def name_of(type: int, itemsize: int) -> str:
    """The name of a datatype, such as "float32"."""
    return f"{itemsize} bytes" if type == BYTES else NAMES[type]


def read(x: Any, call: str, argument: str) -> Buffer:
    """The elements of an input. Raises ArgumentError that names the call and its argument."""
    importer = _importers.get(type(x))
    try:
        if importer is None:
            importer = _importers[type(x)] = _choose(x)
        return importer(x)
    except ArgumentError as error:
        raise ArgumentError(f"{call}: {argument} {error}") from None


def is_array(x: Any) -> bool:
    """Whether read takes an object of this type for an array."""
    kind = type(x)
    if kind not in _importers and not hasattr(kind, "__setmask__"):
        try:
            _importers[kind] = _choose(x)
        except ArgumentError:
            return False
    return True


def write(x: Any, call: str, argument: str) -> Buffer:
    """The elements of an output. Raises ArgumentError as read, also if they cannot be written."""
    buffer = read(x, call, argument)
    if buffer.is_read_only:
        raise ArgumentError(f"{call}: {argument} is read-only: pass an array that can be written")
    if getattr(x, "requires_grad", False) and getattr(x, "is_leaf", False):
        raise ArgumentError(
            f"{call}: {argument} is a leaf tensor that requires grad, and cannot be written in place: "
            "pass .detach(), or .data, or another tensor as out"
        )
    return buffer


def datatype_of(dtype: Any) -> int:
    """The number of a datatype.

    dtype: its name, such as "float32", a dtype of numpy or PyTorch, or bool, int, float or complex.
    """
    if isinstance(dtype, type) and dtype in PYTHON_TYPES:
        return DATATYPES[PYTHON_TYPES[dtype]]
    if isinstance(dtype, type) and dtype.__module__ == "numpy":
        dtype = sys.modules["numpy"].dtype(dtype)
    name = getattr(dtype, "name", None) or str(dtype)
    number = DATATYPES.get(str(name).rpartition(".")[2])
    if number is None or number == BYTES:
        known = ", ".join(name for name in DATATYPES if name != "bytes")
        raise ArgumentError(f"there is no dtype {dtype!r}; there are {known}")
    return number


def extents_of(shape: int | Iterable[int]) -> tuple[int, ...]:
    """The extents of an array that is made."""
    given: Any = shape
    try:
        extents = (operator.index(given),) if hasattr(given, "__index__") else tuple(map(operator.index, given))
    except TypeError:
        raise TypeError(f"empty: the shape is {shape!r:.60}, and must be an integer or some of them") from None
    if any(extent < 0 for extent in extents):
        raise ArgumentError(f"empty: the shape {extents} has an extent of less than zero")
    return extents


def bytes_of(extents: tuple[int, ...], datatype: int) -> int:
    """The bytes of an array that is made."""
    bytes = math.prod(extents) * SIZES[datatype]
    if bytes >> 63:
        raise ArgumentError(f"empty: an array of shape {extents} has {bytes} bytes, which exceed the address space")
    return bytes


PYTHON_TYPES: dict[Any, str] = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


def _choose(x: Any) -> Callable[[Any], Buffer]:
    """The function that finds the elements of objects of this type."""
    kind = type(x)
    if hasattr(kind, "_tutti_buffer"):
        return _from_tutti
    if hasattr(kind, "__setmask__"):  # of numpy, which exports the elements without their mask
        raise ArgumentError("is a masked array: pass its .data and its .mask in two calls, or .filled()")
    if hasattr(kind, "data_ptr") and hasattr(kind, "is_contiguous"):
        return _from_torch
    if hasattr(x, "__cuda_array_interface__"):
        return _from_cuda
    if hasattr(kind, "__array_interface__") or _has_buffer(x):
        return _from_buffer
    if hasattr(kind, "__dlpack__"):
        return _from_dlpack
    raise ArgumentError(
        f"is a {kind.__name__}, and no array: pass an array of numpy or another library, an array.array, or "
        "a number; other objects go by .objects"
    )


def _has_buffer(x: Any) -> bool:
    try:
        memoryview(x).release()
    except TypeError:
        return False
    except (BufferError, ValueError):  # it has buffers, but not of this array
        return True
    return True


def _from_tutti(x: Any) -> Buffer:
    buffer = x._tutti_buffer()
    assert isinstance(buffer, Buffer)
    return buffer


# The buffer protocol.


class _PyBuffer(ctypes.Structure):
    """Py_buffer"""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int]
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [ctypes.POINTER(_PyBuffer)]
_C_CONTIGUOUS_WITH_FORMAT = 0x3C


class _Export:
    """An export of a buffer: as long as it lives, the array cannot be resized."""

    __slots__ = ("view", "_memory")

    def __init__(self, x: Any) -> None:
        self._memory = memoryview(x)  # which ends the export by itself, and has all that the view points at
        self.view = _PyBuffer()
        try:
            _get_buffer(self._memory, self.view, _C_CONTIGUOUS_WITH_FORMAT)
        finally:
            _release_buffer(self.view)


def _from_buffer(x: Any) -> Buffer:
    try:
        export = _Export(x)
    except (BufferError, ValueError, TypeError) as error:
        return _without_buffer(x, error)
    view = export.view
    datatype, itemsize = _datatype_of_format(view.format, view.itemsize)
    shape = tuple(view.shape[: view.ndim]) if view.ndim else ()
    buffer = Buffer(view.buf or 0, shape, datatype, itemsize, export, bool(view.readonly))
    if datatype == BYTES:
        buffer.format = (view.format or b"").decode()
    return buffer


def _without_buffer(x: Any, error: Exception) -> Buffer:
    """Elements of arrays that the buffer protocol rejects, since it lacks types that libraries have."""
    interface = getattr(x, "__array_interface__", None)
    if interface is None and hasattr(type(x), "__dlpack__"):  # JAX has no buffers of bfloat16, and constant arrays
        buffer = _from_dlpack(x)
        buffer.is_read_only = True
        return buffer
    if interface is None and "contiguous" not in str(error):
        raise ArgumentError(f"cannot be read: {error}; pass an array that has memory") from error
    if interface is None or interface.get("strides") is not None:
        raise ArgumentError(_contiguity(getattr(x, "shape", None))) from error
    name = str(getattr(x.dtype, "name", x.dtype))
    datatype = DATATYPES.get(name)
    if datatype is None:
        raise ArgumentError(f"has elements of {name}, {_NOT_SENT}") from error
    address, is_read_only = interface["data"]
    return Buffer(address, tuple(interface["shape"]), datatype, SIZES[datatype], x, is_read_only)


_NOT_SENT = "which cannot be sent: pass a view with another dtype, or use .objects"


def _contiguity(shape: Any) -> str:
    what = "" if shape is None else f" of shape {tuple(shape)}"
    return f"is an array{what} that does not lie in one piece: pass a copy, as numpy.ascontiguousarray makes"


_formats: dict[tuple[bytes | None, int], tuple[int, int]] = {}
_KINDS = {
    **dict.fromkeys("bhilqn", "int"),
    **dict.fromkeys("BHILQNc", "uint"),
    **dict.fromkeys("efdg", "float"),
    **dict.fromkeys(("Ze", "Zf", "Zd", "Zg", "F", "D", "G"), "complex"),
}


def _datatype_of_format(format: bytes | None, itemsize: int) -> tuple[int, int]:
    """The datatype of a format of the module struct, and the size of its elements."""
    found = _formats.get((format, itemsize))
    if found is None:
        found = _formats[format, itemsize] = _parse_format((format or b"B").decode(), itemsize)
    return found


def _parse_format(format: str, itemsize: int) -> tuple[int, int]:
    code = re.sub(":[^:]*:", "", format)  # without names of members
    foreign = "[>!]" if sys.byteorder == "little" else "<"
    if itemsize > 1 and re.search(foreign, code):
        raise ArgumentError(
            f"has elements of another byte order than this machine's ({format}): "
            "convert it, as x.astype(x.dtype.newbyteorder('=')) does"
        )
    if re.search("[OP&]", code):
        raise ArgumentError(f"has elements that are references ({format}), which cannot be sent; use .objects")
    code = code.lstrip("@=<>!^")
    name = "bool" if code == "?" else f"{_KINDS.get(code, '')}{8 * itemsize}"
    return DATATYPES.get(name, BYTES), itemsize


# Tensors of PyTorch, and arrays on GPUs.


def _from_torch(x: Any) -> Buffer:
    """The elements of a tensor. It calls no function of torch, so that torch is not imported."""
    try:
        return _from_tensor(x)
    except RuntimeError as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"is a tensor that has no memory of its own: {error}; pass a plain one") from error


def _from_tensor(x: Any) -> Buffer:
    layout = str(getattr(x, "layout", "torch.strided"))
    if layout != "torch.strided":
        raise ArgumentError(f"is a tensor of layout {layout}: pass .to_dense()")
    if not x.is_contiguous():
        raise ArgumentError(f"is a tensor of shape {tuple(x.shape)} that is not contiguous: pass .contiguous()")
    device = str(x.device.type)
    if device not in ("cpu", "cuda"):
        raise ArgumentError(f"is a tensor on {device}: copy it to the CPU first")
    for state in ("conj", "neg"):  # the memory has other elements than the tensor
        if getattr(x, f"is_{state}", bool)():
            raise ArgumentError(f"is a tensor whose is_{state}() is true: pass .resolve_{state}()")
    if getattr(x, "is_quantized", False):
        raise ArgumentError("is a quantized tensor: pass .dequantize(), or .int_repr() and its scale")
    datatype = DATATYPES.get(str(x.dtype).rpartition(".")[2], BYTES)  # such as float8_e4m3fn: bytes, to be copied
    itemsize = SIZES.get(datatype) or x.element_size()
    buffer = Buffer(x.data_ptr(), tuple(x.shape), datatype, itemsize, x)
    if device == "cuda":
        buffer.is_gpu = True
        buffer.stream = sys.modules["torch"].cuda.current_stream(x.device).cuda_stream
    return buffer


def _from_cuda(x: Any) -> Buffer:
    try:
        return _from_cuda_interface(x.__cuda_array_interface__, x)
    except ArgumentError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ArgumentError(
            f"has a __cuda_array_interface__ that cannot be read ({type(error).__name__}: {error}): it needs at least "
            "'shape', 'typestr' and 'data'"
        ) from error


def _from_cuda_interface(interface: dict[str, Any], x: Any) -> Buffer:
    shape = tuple(interface["shape"])
    order, kind, size = interface["typestr"][0], interface["typestr"][1], int(interface["typestr"][2:])
    address, is_read_only = interface["data"]
    if any(extent < 0 for extent in shape):
        raise ArgumentError(f"has the shape {shape}, which has an extent of less than zero")
    if interface.get("mask") is not None:
        raise ArgumentError("is a masked array: pass its data and its mask in two calls")
    strides = interface.get("strides")
    if strides is not None and 0 not in shape and not _is_contiguous(shape, list(strides), size):
        raise ArgumentError(_contiguity(shape))
    if order == (">" if sys.byteorder == "little" else "<") and size > 1:
        raise ArgumentError(
            f"has elements of another byte order than this machine's ({interface['typestr']}): convert it first"
        )
    name = "bool" if kind == "b" else f"{TYPESTR_KINDS.get(kind, '')}{8 * size}"
    buffer = Buffer(address or 0, shape, DATATYPES.get(name, BYTES), size, x, is_read_only)
    buffer.is_gpu = True
    buffer.stream = interface.get("stream") or 0
    return buffer


TYPESTR_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}


def _is_contiguous(shape: tuple[int, ...], strides: list[int], step: int) -> bool:
    """Whether elements are contiguous. strides, step: both in bytes, or both in elements."""
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True


def _from_dlpack(x: Any) -> Buffer:
    tensor = _dlpack.import_tensor(x)
    if tensor.strides is not None and 0 not in tensor.shape and not _is_contiguous(tensor.shape, tensor.strides, 1):
        raise ArgumentError(_contiguity(tensor.shape))
    datatype = DATATYPES.get(tensor.dtype)
    if datatype is None:
        raise ArgumentError(f"has elements of {tensor.dtype}, {_NOT_SENT}")
    buffer = Buffer(tensor.address, tensor.shape, datatype, SIZES[datatype], tensor.owner, tensor.is_read_only)
    buffer.is_gpu = tensor.is_gpu
    buffer.stream = 0 if tensor.is_gpu else None
    return buffer


_importers: dict[type, Callable[[Any], Buffer]] = {}
