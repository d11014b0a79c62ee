"""Exporters of DLPack and of `__cuda_array_interface__`, good and bad ones, and the export of tutti's own memory."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import dlpack_producer as dlpack
import tutti
from dlpack_producer import Broken, Old, Producer

READ_ONLY = "out is read-only: pass an array that can be written"


@pytest.fixture(scope="module")
def alone() -> Any:
    with tutti.init("", rank=0, size=1, tuning="none") as world:
        yield world


@pytest.mark.parametrize("producer", [Producer, Old])
def test_an_export_is_freed_once_after_the_call(alone: tutti.Communicator, producer: Any) -> None:
    x, out = producer(), np.zeros(4, np.float32)
    alone.all_gather(x, out)
    assert (out == [1, 2, 3, 4]).all() and x.exported == x.freed == 1
    assert x.options == ({"max_version": (1, 0)} if producer is Producer else {})
    request = alone.start.recv(x, 0)
    assert (x.exported, x.freed) == (2, 1)
    alone.send(np.full(4, 7, np.float32), 0)
    request.wait()
    assert list(x.values) == [7] * 4
    del request
    assert x.freed == 2


@pytest.mark.parametrize("flags", [dlpack.READ_ONLY, dlpack.IS_COPIED])
def test_flags(alone: tutti.Communicator, flags: int) -> None:
    x, out = Producer(flags=flags), np.zeros(4, np.float32)
    alone.all_gather(x, out)
    assert out[3] == 4
    with pytest.raises(tutti.ArgumentError, match=READ_ONLY):
        alone.all_gather(out, x)
    assert x.freed == x.exported == 2


@pytest.mark.parametrize("device", [1, 3, 11])
def test_devices_whose_memory_the_host_sees(alone: tutti.Communicator, device: int) -> None:
    alone.all_reduce(Producer(device_type=device))


@pytest.mark.parametrize(
    "members",
    [
        {"ndim": 0, "shape": dlpack.NONE},
        {"ndim": 3, "shape": dlpack.int64s(1, 4, 1), "strides": dlpack.int64s(9, 1, -3)},
        {"ndim": 2, "shape": dlpack.int64s(3, 0), "strides": dlpack.int64s(7, 7), "data": None},
        {"byte_offset": 8, "shape": dlpack.int64s(2)},
        {"code": dlpack.UINT, "bits": 16, "lanes": 2},
        {"code": dlpack.BOOL, "bits": 8},
        {"code": dlpack.COMPLEX, "bits": 64, "shape": dlpack.int64s(2)},
        {"code": dlpack.BFLOAT, "bits": 16},
    ],
)
def test_tensors_that_are_accepted(alone: tutti.Communicator, members: Any) -> None:
    x = Producer(**members)
    alone.all_reduce(x)
    assert list(x.values) == [1, 2, 3, 4] and x.freed == x.exported == 1


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (Producer(major=2), "exported by DLPack 2: tutti knows DLPack 1 and older ones"),
        (Producer(device_type=4), "on a device of DLPack's type 4: copy it to the CPU first"),
        (Producer(device_type=8), "on a device of DLPack's type 8: copy it to the CPU first"),
        (Producer(ndim=-1), "with -1 dimensions, and no shape"),
        (Producer(shape=dlpack.NONE), "with 1 dimensions, and no shape"),
        (Producer(shape=dlpack.int64s(-4)), r"with the shape \(-4,\), which has an extent of less than zero"),
        (Producer(data=None), "but without their address"),
        (Producer(data=None, byte_offset=64), "but without their address"),
        (Producer(strides=dlpack.int64s(-1)), "does not lie in one piece: pass a copy"),
        (Producer(strides=dlpack.int64s(0)), "does not lie in one piece: pass a copy"),
        (Producer(code=dlpack.OPAQUE), "elements of unknown32, which cannot be sent"),
        (Producer(bits=8), "elements of float8, which cannot be sent"),
        (Broken(None), "__dlpack__ returned None, and must return a new capsule"),
        (Broken(b"used_dltensor_versioned"), "__dlpack__ returned <capsule.*must return a new capsule"),
        (Broken(BufferError("it is sparse")), "its __dlpack__ raised BufferError: it is sparse"),
        (Broken(RuntimeError("it needs a gradient")), "its __dlpack__ raised RuntimeError: it needs a gradient"),
        (Broken(TypeError("no strings")), "its __dlpack__ raised TypeError: no strings"),
    ],
)
def test_tensors_that_are_rejected(alone: tutti.Communicator, x: Producer, text: str) -> None:
    with pytest.raises(tutti.ArgumentError, match="all_gather: x .*" + text):
        alone.all_gather(x, np.zeros(4, np.float32))
    assert x.freed == x.exported and list(x.values) == [1, 2, 3, 4]
    assert alone.all_reduce(1) == 1


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"shape": None}, "cannot be read .*needs at least 'shape', 'typestr' and 'data'"),
        ({"typestr": "<fX"}, "cannot be read .*ValueError"),
        ({"data": 4096}, "cannot be read .*TypeError"),
        ({"strides": 4}, "cannot be read .*TypeError"),
        ({"shape": (3, -1)}, r"has the shape \(3, -1\), which has an extent of less than zero"),
        ({"mask": Producer()}, "is a masked array: pass its data and its mask"),
        ({"typestr": ">f4"}, "byte order.*convert it first"),
        ({}, r"attach a GPU to it by tutti\.cuda\.attach"),
    ],
)
def test_arrays_on_gpus_that_are_rejected(alone: tutti.Communicator, changes: Any, text: str) -> None:
    class OnGpu:
        __cuda_array_interface__ = {"shape": (2,), "typestr": "<f4", "data": (4096, False), "version": 3, **changes}

    for form in (alone, alone.start, alone.plan):
        with pytest.raises(tutti.ArgumentError, match=text):
            form.all_reduce(OnGpu())


def test_tensors_on_gpus_are_rejected(alone: tutti.Communicator) -> None:
    with pytest.raises(tutti.ArgumentError, match=r"attach a GPU to it by tutti\.cuda\.attach"):
        alone.all_reduce(Producer(device_type=2))


def test_an_interface_that_is_no_dictionary(alone: tutti.Communicator) -> None:
    class OnGpu:
        __cuda_array_interface__ = None

    with pytest.raises(tutti.ArgumentError, match="x has a __cuda_array_interface__ that cannot be read"):
        alone.all_reduce(OnGpu())


# Exports of the own memory.


def uses(memory: tutti.Memory) -> int:
    return sys.getrefcount(memory._pages)


@pytest.mark.skipif(importlib.util.find_spec("tutti._fast") is None, reason="needs the extension tutti._fast")
def test_an_export_is_freed_while_an_exception_is_raised(alone: tutti.Communicator) -> None:
    """Libraries drop a capsule that they reject, and programs an array, when the exception is there already."""
    memory, numbers = alone.empty(3, "bfloat16"), alone.empty(3)
    before = uses(memory)
    with pytest.raises((RuntimeError, BufferError), match="DLTensor"):  # numpy before 2.5, and since
        np.from_dlpack(memory)
    assert uses(memory) == before
    with pytest.raises(ZeroDivisionError):
        divmod(np.from_dlpack(numbers), 1 // 0)
    assert uses(numbers) == before


def test_an_export_is_freed_by_another_thread(alone: tutti.Communicator) -> None:
    memory = alone.empty(3)
    before = uses(memory)
    left = [np.from_dlpack(memory)]
    assert uses(memory) > before
    thread = threading.Thread(target=left.clear)
    thread.start()
    thread.join()
    assert uses(memory) == before


def test_memory_may_outlive_the_module() -> None:
    """At the exit of Python the names of a module go before objects that an older module keeps."""
    program = """
import ctypes
import tutti
ctypes.kept = tutti.init("", rank=0, size=1).empty(3)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert ended.stderr == ""


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3), (2, 0)])
def test_export_by_version(alone: tutti.Communicator, version: Any) -> None:
    memory = alone.empty(3)
    name = "dltensor_versioned" if version and version[0] > 0 else "dltensor"
    for options in ({}, {"copy": False}, {"dl_device": (1, 0)}, {"stream": None}):
        assert f'"{name}"' in repr(memory.__dlpack__(max_version=version, **options))
    for options in ({"copy": True}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError, match="exported as it is"):
            memory.__dlpack__(max_version=version, **options)
    assert memory.__dlpack_device__() == (1, 0)
