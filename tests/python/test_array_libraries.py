"""Arrays of all libraries: how tutti reads and writes each form of them, and its own memory in each of them."""

from __future__ import annotations

import array
import importlib.util
import mmap
import os
import subprocess
import sys
import threading
from typing import Any, Callable, NamedTuple

import numpy as np
import pytest

import dlpack_producer as dlpack
import tutti
from dlpack_producer import Broken, Old, Producer

os.environ["JAX_ENABLE_X64"] = "1"
os.environ.setdefault("JAX_PLATFORMS", "cpu")

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = [*INTEGERS, "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "bool"]
FORMS = ["contiguous", "strided", "read-only", "0-d", "empty", "big-endian", "misaligned"]
READ_ONLY = "out is read-only: pass an array that can be written"
PIECES = r"x is an array( of shape \(2, 2\))? that does not lie in one piece: pass a copy"
CODES = dict(zip([*INTEGERS, "float32", "float64", "bool"], "bhiqBHIQfd?"))


@pytest.fixture(scope="module")
def alone() -> Any:
    with tutti.init("", rank=0, size=1, tuning="none") as world:
        yield world


class Case(NamedTuple):
    """An array. bytes_of: its memory. unread, unwritten: the error when it is read, or written; None: it is."""

    x: Any
    bytes_of: Callable[[Any], bytes]
    unread: str | None = None
    unwritten: str | None = None


def numpy_dtype(name: str) -> Any:
    return pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else np.dtype(name)


def numpy_array(dtype: str, form: str) -> Any:
    x: Any = np.arange(6).astype(numpy_dtype(dtype)).reshape(2, 3)
    if form == "strided":
        return x[:, ::2]
    if form == "read-only":
        x.flags.writeable = False
    if form == "big-endian":
        if x.itemsize == 1 or dtype == "bfloat16":
            return None
        return x.astype(x.dtype.newbyteorder(">"))
    if form == "misaligned":
        memory = np.zeros(x.nbytes + 1, np.uint8)
        memory[1:] = x.reshape(-1).view(np.uint8)
        x = memory[1:].view(x.dtype).reshape(x.shape)
        assert x.itemsize == 1 or not x.flags.aligned
    return {"0-d": lambda: x[1, 2:].reshape(()), "empty": lambda: x[:, :0]}.get(form, lambda: x)()


def of_numpy(dtype: str, form: str) -> Case | None:
    x = numpy_array(dtype, form)
    unread = {"strided": PIECES, "big-endian": r"byte order.*convert it, as x\.astype"}.get(form)
    unwritten = READ_ONLY if form == "read-only" else None
    return None if x is None else Case(x, lambda x: np.ascontiguousarray(x).tobytes(), unread, unwritten)


def of_array_api_strict(dtype: str, form: str) -> Case | None:
    xp = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    if form == "big-endian" or not hasattr(xp, dtype):
        return None
    x = xp.asarray(numpy_array(dtype, form), copy=False)
    unread = PIECES if form == "strided" else None
    return Case(x, lambda x: np.asarray(x._array).tobytes(), unread, READ_ONLY if form == "read-only" else None)


def of_torch(dtype: str, form: str) -> Case | None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    kind = getattr(torch, dtype, None)
    if form in ("read-only", "big-endian") or kind is None:  # it has neither
        return None
    x = torch.arange(6).to(kind).reshape(2, 3)
    if form == "misaligned":
        memory = torch.zeros(x.nbytes + 8, dtype=torch.uint8)
        memory[x.itemsize // 2 or 1 :][: x.nbytes] = x.reshape(-1).view(torch.uint8)
        x = torch.frombuffer(memory.numpy(), dtype=kind, offset=x.itemsize // 2 or 1, count=6).reshape(2, 3)
    x = {"strided": lambda: x[:, ::2], "0-d": lambda: x[1, 2], "empty": lambda: x[:, :0]}.get(form, lambda: x)()
    unread = r"tensor of shape \(2, 2\) that is not contiguous: pass \.contiguous" if form == "strided" else None

    def bytes_of(x: Any) -> bytes:
        return x.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if x.numel() else b""

    return Case(x, bytes_of, unread)


def of_jax(dtype: str, form: str) -> Case | None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    if form not in ("contiguous", "0-d", "empty"):  # its arrays lie in one piece, and cannot be written
        return None
    x = jax.numpy.asarray(numpy_array(dtype, form))
    return Case(x, lambda x: np.asarray(x).tobytes(), None, READ_ONLY)


def of_array(dtype: str, form: str) -> Case | None:
    if form not in ("contiguous", "empty") or dtype not in CODES or dtype == "bool":
        return None
    return Case(array.array(CODES[dtype], range(6) if form == "contiguous" else []), lambda x: x.tobytes())


def of_bytearray(dtype: str, form: str) -> Case | None:
    whole = {"contiguous": bytearray(b"abcdef"), "empty": bytearray(), "read-only": b"abcdef"}
    if dtype != "uint8" or form not in whole:
        return None
    return Case(whole[form], bytes, None, READ_ONLY if form == "read-only" else None)


def of_memoryview(dtype: str, form: str) -> Case | None:
    if dtype not in CODES or form == "big-endian":
        return None
    if form == "misaligned":
        memory = bytearray(1) + bytes(numpy_array(dtype, "contiguous"))
        return Case(memoryview(memory)[1:].cast(CODES[dtype]), bytes)
    x = memoryview(numpy_array(dtype, form))
    return Case(x, bytes, PIECES if form == "strided" else None, READ_ONLY if form == "read-only" else None)


LIBRARIES: dict[str, Callable[[str, str], Case | None]] = {
    "numpy": of_numpy,
    "array_api_strict": of_array_api_strict,
    "torch": of_torch,
    "jax": of_jax,
    "array": of_array,
    "bytearray": of_bytearray,
    "memoryview": of_memoryview,
}


@pytest.mark.parametrize("options", [{}, {"timeout": 60}], ids=["quick", "general"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_forms(alone: tutti.Communicator, library: str, form: str, options: Any) -> None:
    """Elements are read and written where they lie, or one ArgumentError says why not, and what to do."""
    for dtype in DTYPES:
        case = LIBRARIES[library](dtype, form)
        if case is None:  # the library has no such array
            continue
        before = case.bytes_of(case.x)
        out = bytearray(len(before))
        like = np.frombuffer(out, numpy_dtype(dtype))
        if case.unread is not None:
            with pytest.raises(tutti.ArgumentError, match=case.unread):
                alone.all_gather(case.x, like, **options)
            assert not any(out)
            continue
        alone.all_gather(case.x, like, **options)
        assert out == before, dtype
        check_writes(alone, case, like, options)


def check_writes(alone: tutti.Communicator, case: Case, like: Any, options: Any) -> None:
    before = case.bytes_of(case.x)
    new = like[::-1].copy()
    if case.unwritten is not None:
        with pytest.raises(tutti.ArgumentError, match=case.unwritten):
            alone.all_gather(new, case.x, **options)
        assert case.bytes_of(case.x) == before
        with pytest.raises(tutti.ArgumentError, match=case.unwritten.replace("out", "x")):
            alone.all_reduce(case.x, **options)
        assert case.bytes_of(case.x) == before
        return
    assert alone.all_gather(new, case.x, **options) is case.x
    assert case.bytes_of(case.x) == new.tobytes()


def test_torch_elements_that_memory_does_not_have(alone: tutti.Communicator) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    z = torch.tensor([1 + 2j])
    for options in ({}, {"timeout": 60}):
        with pytest.raises(tutti.ArgumentError, match=r"x is a tensor whose is_conj\(\) is true: pass \.resolve_conj"):
            alone.all_gather(z.conj(), torch.zeros_like(z), **options)
        for part in (z.conj().imag, z.conj().imag[0]):
            with pytest.raises(tutti.ArgumentError, match=r"whose is_neg\(\) is true: pass \.resolve_neg"):
                alone.all_reduce(part, **options)
            assert part.item() == -2
        out = torch.zeros(1)
        alone.all_reduce(z.conj().imag.resolve_neg(), out, **options)
        assert out.item() == -2


TENSORS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "sparse": (lambda torch: torch.eye(3).to_sparse(), r"is a tensor of layout torch.sparse_coo: pass \.to_dense\(\)"),
    "meta": (lambda torch: torch.ones(3, device="meta"), "is a tensor on meta: copy it to the CPU first"),
    "float8": (lambda torch: torch.ones(3).to(torch.float8_e5m2), "has elements of torch.float8_e5m2: .*are int8"),
    "nested": (
        lambda torch: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        "is a tensor that has no memory of its own: .*; pass a plain one",
    ),
    "expanded": (lambda torch: torch.ones(1).expand(4), r"is a tensor of shape \(4,\) that is not contiguous"),
    "leaf": (lambda torch: torch.ones(3, requires_grad=True), r"is a leaf tensor that requires grad.*pass \.detach"),
}


@pytest.mark.parametrize("options", [{}, {"timeout": 60}], ids=["quick", "general"])
@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.filterwarnings("ignore")
def test_tensors_of_torch_that_are_rejected(alone: tutti.Communicator, name: str, options: Any) -> None:
    make, text = TENSORS[name]
    x = make(pytest.importorskip("torch", reason="PyTorch is not installed"))
    with pytest.raises(tutti.ArgumentError, match="all_reduce: x " + text):
        alone.all_reduce(x, **options)


def released() -> memoryview:
    view = memoryview(bytearray(8))
    view.release()
    return view


def closed() -> mmap.mmap:
    memory = mmap.mmap(-1, 64)
    memory.close()
    return memory


@pytest.mark.parametrize("options", [{}, {"timeout": 60}], ids=["quick", "general"])
@pytest.mark.parametrize(
    ("x", "text"),
    [
        (np.ma.array([1.0, 2], mask=[0, 1]), r"is a masked array: pass its \.data and its \.mask in two calls"),
        (released(), "cannot be read: .*released memoryview object; pass an array that has memory"),
        (closed(), "cannot be read: mmap closed or invalid; pass an array that has memory"),
        (np.zeros(3, "M8[s]"), r"has elements of datetime64\[s\], which cannot be sent: pass a view"),
    ],
    ids=["masked", "released", "closed", "dates"],
)
def test_arrays_that_are_rejected(alone: tutti.Communicator, x: Any, text: str, options: Any) -> None:
    for call in (alone.all_reduce, alone.start.all_reduce, alone.broadcast):
        with pytest.raises(tutti.ArgumentError, match=": x " + text):
            call(x, **options)


def test_long_double_is_moved_and_not_reduced(alone: tutti.Communicator) -> None:
    x, out = np.arange(3, dtype=np.longdouble), np.zeros(3, np.longdouble)
    alone.all_gather(x, out)
    assert (x == out).all()
    with pytest.raises(tutti.ArgumentError, match="operator"):
        alone.all_reduce(x)


# Exporters of DLPack.


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
        ({}, "stream"),
    ],
)
def test_arrays_on_gpus_that_are_rejected(alone: tutti.Communicator, changes: Any, text: str) -> None:
    class OnGpu:
        __cuda_array_interface__ = {"shape": (2,), "typestr": "<f4", "data": (4096, False), "version": 3, **changes}

    with pytest.raises(tutti.ArgumentError, match=text):
        alone.all_reduce(OnGpu())


def test_an_interface_that_is_no_dictionary(alone: tutti.Communicator) -> None:
    class OnGpu:
        __cuda_array_interface__ = None

    with pytest.raises(tutti.ArgumentError, match="x has a __cuda_array_interface__ that cannot be read"):
        alone.all_reduce(OnGpu())


# The own memory in other libraries.


def as_numpy(memory: tutti.Memory) -> tuple[Any, int]:
    x = np.from_dlpack(memory)
    return x, x.ctypes.data


def as_array_api_strict(memory: tutti.Memory) -> tuple[Any, int]:
    x = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed").from_dlpack(memory)
    return x, x._array.ctypes.data


def as_torch(memory: tutti.Memory) -> tuple[Any, int]:
    x = pytest.importorskip("torch", reason="PyTorch is not installed").from_dlpack(memory)
    return x, x.data_ptr()


def as_jax(memory: tutti.Memory) -> tuple[Any, int]:
    x = pytest.importorskip("jax", reason="JAX is not installed").dlpack.from_dlpack(memory)
    return x, x.unsafe_buffer_pointer()


def as_memoryview(memory: tutti.Memory) -> tuple[Any, int]:
    x = memory.view()
    return x, np.asarray(x).ctypes.data


# What a library raises for a dtype that it does not have.
MISSING = {
    ("bfloat16", as_numpy): "DLTensor",
    ("bfloat16", as_array_api_strict): "DLTensor",
    ("float16", as_array_api_strict): "does not support the dtype 'float16'",
}


@pytest.mark.parametrize("library", [as_numpy, as_array_api_strict, as_torch, as_jax, as_memoryview])
@pytest.mark.parametrize("dtype", DTYPES)
def test_own_memory(alone: tutti.Communicator, library: Any, dtype: str) -> None:
    """A library has the same elements, tutti finds them by it, and they live as long as its array."""
    memory = alone.empty((2, 3), dtype)
    raw: Any = np.frombuffer(memory.view().cast("B"), np.uint8)
    raw[:] = np.arange(raw.size) % 2
    before = raw.copy()
    if (dtype, library) in MISSING:
        with pytest.raises(Exception, match=MISSING[dtype, library]):
            library(memory)
        return
    x, address = library(memory)
    assert address == raw.ctypes.data and tuple(x.shape[:2]) == (2, 3)
    memory.close()
    del memory, raw
    out = np.zeros_like(before)
    format = None if library is not as_memoryview else x.format  # which has float16 and complex numbers as others
    alone.all_gather(x, Bfloat16(out) if dtype == "bfloat16" and format is None else out.view(format or dtype))
    assert (out == before).all()


class Bfloat16(Producer):
    """Bytes of numpy as bfloat16."""

    def __init__(self, memory: Any) -> None:
        super().__init__(data=memory.ctypes.data, code=dlpack.BFLOAT, bits=16, shape=dlpack.int64s(memory.size // 2))


def uses(memory: tutti.Memory) -> int:
    return sys.getrefcount(memory._pages)


@pytest.mark.skipif(importlib.util.find_spec("tutti._fast") is None, reason="needs the extension tutti._fast")
def test_an_export_is_freed_while_an_exception_is_raised(alone: tutti.Communicator) -> None:
    """Libraries drop a capsule that they reject, and programs an array, when the exception is there already."""
    memory, numbers = alone.empty(3, "bfloat16"), alone.empty(3)
    before = uses(memory)
    with pytest.raises(RuntimeError, match="DLTensor"):
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
