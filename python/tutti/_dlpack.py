"""DLPack: tensors of other libraries, and memory for them."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, NamedTuple

from .errors import ArgumentError


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_CPU_DEVICES = (1, 3, 11)  # main memory, and such of CUDA and ROCm
_GPU_DEVICES = (2, 13)  # memory of CUDA, and its managed memory
_READ_ONLY, _IS_COPIED = 1, 2  # what is written to a copy is lost
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}

_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
_pointer_of.restype = ctypes.c_void_p


class Imported(NamedTuple):
    """A tensor of another library. owner keeps it alive."""

    address: int
    shape: tuple[int, ...]
    strides: list[int] | None
    dtype: str
    is_read_only: bool
    is_gpu: bool
    owner: object


def import_tensor(x: Any) -> Imported:
    """Finds the elements of an object with `__dlpack__`. Its capsule is kept, and never consumed: it
    frees the export when it is collected."""
    capsule = _capsule_of(x)
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_pointer_of(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise ArgumentError(f"is exported by DLPack {versioned.major}: tutti knows DLPack 1 and older ones")
        return _imported(versioned.tensor, bool(versioned.flags & (_READ_ONLY | _IS_COPIED)), capsule)
    if _is_valid(capsule, b"dltensor"):
        return _imported(_Managed.from_address(_pointer_of(capsule, b"dltensor")).tensor, False, capsule)
    raise ArgumentError(
        f"cannot be exported: its __dlpack__ returned {capsule!r:.60}, and must return a new capsule of DLPack"
    )


def _capsule_of(x: Any) -> Any:
    try:
        try:
            return x.__dlpack__(max_version=(1, 0))
        except TypeError:  # an exporter of before DLPack 1.0
            return x.__dlpack__()
    except Exception as error:
        raise ArgumentError(
            f"cannot be exported: its __dlpack__ raised {type(error).__name__}: {error}; pass an array that it exports"
        ) from error


def _imported(tensor: _Tensor, is_read_only: bool, capsule: object) -> Imported:
    device = tensor.device.type
    if device not in _CPU_DEVICES + _GPU_DEVICES:
        raise ArgumentError(f"lies on a device of DLPack's type {device}: copy it to the CPU first")
    shape = _shape_of(tensor)
    address = (tensor.data or 0) + tensor.byte_offset
    if not tensor.data and 0 not in shape:
        raise ArgumentError(f"is exported by DLPack with elements of shape {shape}, but without their address")
    kind = _CODES.get(tensor.dtype.code, "unknown")
    bits = tensor.dtype.bits * tensor.dtype.lanes
    return Imported(
        address=address,
        shape=shape,
        strides=tensor.strides[: tensor.ndim] if tensor.strides else None,
        dtype="bool" if kind == "bool" and bits == 8 else f"{kind}{bits}",
        is_read_only=is_read_only,
        is_gpu=device in _GPU_DEVICES,
        owner=capsule,
    )


def _shape_of(tensor: _Tensor) -> tuple[int, ...]:
    if tensor.ndim < 0 or (tensor.ndim > 0 and not tensor.shape):
        raise ArgumentError(f"is exported by DLPack with {tensor.ndim} dimensions, and no shape")
    shape = tuple(tensor.shape[: tensor.ndim])
    if any(extent < 0 for extent in shape):
        raise ArgumentError(f"is exported by DLPack with the shape {shape}, which has an extent of less than zero")
    return shape


# Exports. The consumer of a tensor calls its deleter, from any thread.

_exported: dict[int, tuple[object, ...]] = {}


_forget: Callable[[int], Any] = _exported.pop  # in C, so that no signal's exception ends it
_CapsuleDestructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, _CapsuleDestructor]
_new_capsule.restype = ctypes.py_object
_raw_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_raw_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _destroy(capsule: int) -> None:
    """Frees a tensor that no consumer has taken out of its capsule."""
    for name in (b"dltensor_versioned", b"dltensor"):
        if _raw_is_valid(capsule, name):
            _forget(_raw_pointer_of(capsule, name))


try:  # functions in C, which keep an exception that is being raised
    from ._fast import free_exports_by

    _deleter, _destructor = (kind(at) for kind, at in zip((_Deleter, _CapsuleDestructor), free_exports_by(_forget)))
except ImportError:
    _deleter, _destructor = _Deleter(_forget), _CapsuleDestructor(_destroy)


def export_tensor(address: int, shape: tuple[int, ...], dtype: str, owner: object, is_versioned: bool) -> object:
    """A capsule of memory that owner keeps alive.

    dtype: such as "float32". is_versioned: whether the capsule is of DLPack 1.0, else of before.
    """
    managed = _Versioned(major=1) if is_versioned else _Managed()
    kind = dtype.rstrip("0123456789")
    extents = (ctypes.c_int64 * len(shape))(*shape)
    steps = (ctypes.c_int64 * len(shape))()
    step = 1
    for i in reversed(range(len(shape))):
        steps[i] = step
        step *= shape[i]
    tensor = managed.tensor
    tensor.data = address
    tensor.device.type = _CPU_DEVICES[0]
    tensor.ndim = len(shape)
    tensor.dtype.code = next(code for code, name in _CODES.items() if name == kind)
    tensor.dtype.bits = 8 if kind == "bool" else int(dtype[len(kind) :])
    tensor.dtype.lanes = 1
    tensor.shape = ctypes.cast(extents, ctypes.POINTER(ctypes.c_int64))
    tensor.strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64))
    managed.deleter = _deleter
    pointer = ctypes.addressof(managed)
    _exported[pointer] = (managed, extents, steps, owner)
    return _new_capsule(pointer, b"dltensor_versioned" if is_versioned else b"dltensor", _destructor)
