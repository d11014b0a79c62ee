"""An exporter of DLPack whose tensor a test fills as it likes, by structures of its own."""

from __future__ import annotations

import ctypes
from typing import Any

NONE = ctypes.POINTER(ctypes.c_int64)()
READ_ONLY, IS_COPIED = 1, 2
INT, UINT, FLOAT, OPAQUE, BFLOAT, COMPLEX, BOOL = range(7)


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_api = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, Destructor)(("PyCapsule_New", _api))
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", _api))


def int64s(*values: int) -> Any:
    return (ctypes.c_int64 * len(values))(*values)


_exporters: list[Producer] = []
"""The deleters of capsules that are not freed yet, which call them."""


class Producer:
    """Exports four float32. freed: how many of its capsules were freed. options: those of the last export."""

    def __init__(self, major: int = 1, flags: int = 0, **members: Any) -> None:
        self.values = (ctypes.c_float * 4)(1, 2, 3, 4)
        self.exported = 0
        self.freed = 0
        self.options: dict[str, Any] = {}
        self.name = b"dltensor_versioned" if major else b"dltensor"
        self._managed: Any = Versioned(major=major, minor=1, flags=flags) if major else Managed()
        self._shape = int64s(4)
        self._destructor = Destructor(self._free)
        values = {
            "data": ctypes.addressof(self.values),
            "device_type": 1,
            "ndim": 1,
            "code": FLOAT,
            "bits": 32,
            "lanes": 1,
            "shape": self._shape,
            "strides": NONE,
            **members,
        }
        self._kept = values
        for name, value in values.items():
            is_array = isinstance(value, ctypes.Array)
            setattr(self._managed.tensor, name, ctypes.cast(value, type(NONE)) if is_array else value)

    def _free(self, _: int) -> None:
        self.freed += 1
        _exporters.remove(self)

    def _capsule(self) -> Any:
        self.exported += 1
        _exporters.append(self)
        return _new(ctypes.addressof(self._managed), self.name, self._destructor)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._managed.tensor.device_type, 0

    def __dlpack__(self, **options: Any) -> Any:
        self.options = options
        return self._capsule()


class Old(Producer):
    """As exporters of before DLPack 1.0: __dlpack__ has no max_version."""

    def __init__(self, **members: Any) -> None:
        super().__init__(0, **members)

    def __dlpack__(self, stream: Any = None) -> Any:  # type: ignore[override]
        return self._capsule()


class Broken(Producer):
    """Its __dlpack__ returns, or raises, another object; for bytes it returns a capsule with this name."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def __dlpack__(self, **options: Any) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        if not isinstance(self.answer, bytes):
            return self.answer
        capsule = self._capsule()
        _rename(capsule, self.answer)
        return capsule
