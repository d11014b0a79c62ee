"""Arrays on a GPU for tests, by the CUDA driver: a real one, or the stand-in of tests/cuda/standin."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy


class Driver:
    """The driver, with the primary context of a GPU current in this thread."""

    def __init__(self, device: int) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._cuda, name)(*arguments)
        assert status == 0, f"{name}: {status}"


def count() -> int:
    """The number of GPUs."""
    cuda = ctypes.CDLL("libcuda.so.1")
    number = ctypes.c_int()
    assert cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(number)) == 0
    return number.value


@functools.cache
def driver(device: int) -> Driver:
    return Driver(device)


class Stream:
    """A stream, as an object of CuPy has it."""

    def __init__(self, gpu: Driver) -> None:
        self._gpu = gpu
        made = ctypes.c_void_p()
        gpu.call("cuStreamCreate", ctypes.byref(made), 0)
        self.ptr = made.value or 0

    def synchronize(self) -> None:
        self._gpu.call("cuStreamSynchronize", ctypes.c_void_p(self.ptr))


class Array:
    """An array on a GPU, with the CUDA array interface. Its work is in the order of a stream."""

    def __init__(self, gpu: Driver, values: Any, stream: Stream) -> None:
        host = numpy.ascontiguousarray(values)
        address = ctypes.c_uint64()
        gpu.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(host.nbytes, 1)))
        self._gpu, self._stream, self._host = gpu, stream, host
        self.address = address.value
        self.__cuda_array_interface__ = {
            "shape": host.shape,
            "typestr": host.dtype.str,
            "data": (self.address, False),
            "version": 3,
            "stream": stream.ptr,
        }
        self._copy(self.address, host.ctypes.data, host.nbytes)
        stream.synchronize()

    def _copy(self, to: int, source: int, bytes: int) -> None:
        stream = ctypes.c_void_p(self._stream.ptr)
        self._gpu.call("cuMemcpyAsync", ctypes.c_uint64(to), ctypes.c_uint64(source), ctypes.c_size_t(bytes), stream)

    def get(self) -> Any:
        """The elements, once the stream has done its work."""
        return read(self._gpu, self.address, self._host.shape, self._host.dtype, self._stream)

    def free(self) -> None:
        self._gpu.call("cuMemFree_v2", ctypes.c_uint64(self.address))


def read(gpu: Driver, address: int, shape: Any, dtype: Any, stream: Stream) -> Any:
    host = numpy.empty(shape, dtype)
    gpu.call(
        "cuMemcpyAsync",
        ctypes.c_uint64(host.ctypes.data),
        ctypes.c_uint64(address),
        ctypes.c_size_t(host.nbytes),
        ctypes.c_void_p(stream.ptr),
    )
    stream.synchronize()
    return host
