"""Arrays of every kind: what is accepted, what is rejected, and the text of the error."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import os
import sys
import weakref
from typing import Any

import numpy as np
import pytest

import ranks
import tutti
from tutti import _declarations, _dlpack, arrays
from tutti.memory import import_file, is_visible

IS_NUMPY_2 = not np.__version__.startswith("1.")
DTYPES = [
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    np.float16,
    np.float32,
    np.float64,
    np.complex64,
    np.complex128,
    np.bool_,
]


@pytest.fixture(scope="module")
def alone() -> Any:
    with tutti.init("", rank=0, size=1, tuning="none") as world:
        yield world


class OnlyDlpack:
    """An array that has nothing but DLPack, of either age."""

    def __init__(self, x: np.ndarray, is_versioned: bool) -> None:
        self.x = x
        self.is_versioned = is_versioned

    def __dlpack__(self, **options: Any) -> Any:
        if not self.is_versioned and options:
            raise TypeError("unexpected keyword")
        return self.x.__dlpack__(**options)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(alone: tutti.Communicator, dtype: Any) -> None:
    x: Any = np.ones((2, 3), dtype)
    name = np.dtype(dtype).name
    forms: list[Any] = [x, memoryview(x)]
    if name != "bool" or IS_NUMPY_2:  # older ones have no bool in DLPack
        forms += [OnlyDlpack(x, True), OnlyDlpack(x, False)]
    for form in forms:
        buffer = arrays.read(form, "a call", "x")
        assert (buffer.dtype, buffer.shape, buffer.count, buffer.itemsize) == (name, (2, 3), 6, x.itemsize)
        assert buffer.address == x.__array_interface__["data"][0] and not buffer.is_read_only
    if name.startswith("complex"):
        with pytest.raises(tutti.ArgumentError, match=f"all_reduce: operator max is not defined for {name}"):
            alone.all_reduce(x, op="max")
    else:
        alone.all_reduce(x, op="max")
    alone.all_reduce(x)
    assert (x == 1).all()
    assert arrays.datatype_of(dtype) == arrays.datatype_of(np.dtype(dtype)) == arrays.datatype_of(name) == buffer.type


@pytest.mark.parametrize("code", "bBhHiIlLqQfd")
def test_array_array(alone: tutti.Communicator, code: str) -> None:
    x, out = array.array(code, [1, 2]), array.array(code, [0, 0])
    assert alone.all_reduce(x, out) is out
    assert out == x


def test_bytes(alone: tutti.Communicator) -> None:
    out = bytearray(3)
    alone.all_reduce(b"abc", out)
    assert out == b"abc"
    alone.broadcast(b"abc")  # the root's array is only read
    pair = (ctypes.c_double * 2)()
    alone.all_reduce(array.array("d", [1, 2]), pair)
    assert list(pair) == [1, 2]


def test_shapes(alone: tutti.Communicator) -> None:
    for shape in ((), (0,), (0, 3), (1, 1, 1)):
        x: Any = np.ones(shape, np.float32)
        assert alone.all_reduce(x) is x
    x = np.ones((4, 6))[:2]  # a part that lies in one piece
    alone.all_reduce(x)
    x = np.arange(4.0)
    out = np.zeros((2, 2))
    alone.all_reduce(x, out)
    assert (out.ravel() == x).all()


def test_other_elements_are_moved(alone: tutti.Communicator) -> None:
    kind = np.dtype([("a", "<f4"), ("Object", "<i8"), ("text", "S3")])
    x, out = np.zeros(2, kind), np.zeros(2, kind)
    x["a"] = 7
    alone.all_gather(x, out)
    assert (out == x).all()
    words, out = np.array(["ab", "c"]), np.array(["..", ".."])
    alone.all_gather(words, out)
    assert (out == words).all()
    with pytest.raises(tutti.ArgumentError, match="operator"):
        alone.all_reduce(x)


class Tensor:
    """Has the attributes of a tensor of PyTorch that tutti reads."""

    class Device:
        type = "cpu"

    def __init__(self, x: np.ndarray, dtype: str = "", requires_grad: bool = False, is_leaf: bool = True) -> None:
        self.x = x
        self.dtype = f"torch.{dtype or x.dtype.name}"
        self.device = self.Device()
        self.requires_grad = requires_grad
        self.is_leaf = is_leaf
        self.shape = x.shape

    def data_ptr(self) -> int:
        return int(self.x.ctypes.data)

    def is_contiguous(self) -> bool:
        return bool(self.x.flags.c_contiguous)


def test_tensors(alone: tutti.Communicator) -> None:
    x = Tensor(np.ones(3, np.float32))
    assert alone.all_reduce(x) is x
    halves = Tensor(np.array([0x3F80], np.uint16), "bfloat16")
    alone.all_reduce(halves)
    assert halves.x[0] == 0x3F80
    leaf = Tensor(np.ones(3), requires_grad=True)
    with pytest.raises(tutti.ArgumentError, match=r"all_reduce: x is a leaf tensor that requires grad.*\.detach\(\)"):
        alone.all_reduce(leaf)
    out = Tensor(np.zeros(3))
    alone.all_reduce(leaf, out)
    alone.all_reduce(Tensor(np.ones(3), requires_grad=True, is_leaf=False))
    with pytest.raises(tutti.ArgumentError, match=r"x is a tensor of shape \(3,\) that is not contiguous"):
        alone.all_reduce(Tensor(np.ones(6)[::2]))
    other = Tensor(np.ones(3))
    other.device.type = "mps"
    with pytest.raises(tutti.ArgumentError, match="x is a tensor on mps"):
        alone.all_reduce(other)


class OnGpu:
    def __init__(self, **members: Any) -> None:
        self.__cuda_array_interface__ = {
            "shape": (2, 3),
            "typestr": "<f4",
            "data": (4096, False),
            "version": 3,
            **members,
        }


def test_cuda_array_interface() -> None:
    buffer = arrays.read(OnGpu(stream=7), "a call", "x")
    assert (buffer.address, buffer.dtype, buffer.count, buffer.is_gpu, buffer.stream) == (4096, "float32", 6, True, 7)
    assert arrays.read(OnGpu(strides=(12, 4)), "a call", "x").stream == 0
    with pytest.raises(tutti.ArgumentError, match="does not lie in one piece"):
        arrays.read(OnGpu(strides=(24, 4)), "a call", "x")
    with pytest.raises(tutti.ArgumentError, match="byte order"):
        arrays.read(OnGpu(typestr=">f4"), "a call", "x")
    with pytest.raises(tutti.ArgumentError, match="out is read-only"):
        arrays.write(OnGpu(data=(4096, True)), "a call", "out")


def rejected() -> dict[str, tuple[Any, str]]:
    frozen = np.ones(3)
    frozen.flags.writeable = False
    foreign = ">" if sys.byteorder == "little" else "<"
    return {
        "strided": (
            np.ones(6)[::2],
            r"x is an array of shape \(3,\) that does not lie in one piece.*ascontiguousarray",
        ),
        "transposed": (np.ones((2, 3)).T, r"x is an array of shape \(3, 2\) that does not lie in one piece"),
        "memoryview": (memoryview(bytearray(6))[::2], r"does not lie in one piece"),
        "dlpack": (OnlyDlpack(np.ones(6)[::2], True), r"does not lie in one piece"),
        "read-only": (frozen, "x is read-only: pass an array that can be written"),
        "bytes": (b"abc", "x is read-only"),
        "dlpack, read-only": (OnlyDlpack(frozen, True), "x (is read-only|cannot be exported: .*readonly)"),
        "big-endian": (np.ones(3, foreign + "f8"), "x has elements of another byte order.*newbyteorder"),
        "objects": (np.array([None]), "x has elements that are references"),
        "dates": (np.zeros(3, "M8[s]"), r"x has elements of datetime64\[s\]"),
        "list": ([1, 2], "x is a list, and no array"),
        "text": ("abc", "x is a str, and no array"),
        "None": (None, "x is a NoneType, and no array"),
    }


@pytest.mark.parametrize("name", rejected())
def test_rejected(alone: tutti.Communicator, name: str) -> None:
    x, text = rejected()[name]
    with pytest.raises(tutti.ArgumentError, match="all_reduce: " + text if text.startswith("x") else text) as caught:
        alone.all_reduce(x)
    assert isinstance(caught.value, ValueError) and caught.value.code == "invalid_argument"


def test_pairs(alone: tutti.Communicator) -> None:
    x = np.ones(3)
    with pytest.raises(tutti.ArgumentError, match="x has elements of float64, and out of float32: they must be equal"):
        alone.all_reduce(x, np.ones(3, np.float32))
    with pytest.raises(tutti.ArgumentError, match="3 elements, expected|has 4 elements"):
        alone.all_reduce(x, np.ones(4))
    with pytest.raises(tutti.ArgumentError, match="one of x and out lies on a GPU"):
        alone.all_reduce(np.ones(6, np.float32), OnGpu())
    with pytest.raises(tutti.ArgumentError, match="overlap"):
        y = np.ones(4)
        alone.all_reduce(y[:3], y[1:])
    with pytest.raises(tutti.ArgumentError, match="no operator 'plus'; there are sum, prod"):
        alone.all_reduce(x, op="plus")
    with pytest.raises(TypeError, match="no option 'algorithmus'; there are algorithm, determinism"):
        alone.all_reduce(x, algorithmus="ring")  # type: ignore[call-arg]
    with pytest.raises(tutti.ArgumentError, match="'circle'"):
        alone.all_reduce(x, algorithm="circle")
    with pytest.raises(tutti.ArgumentError, match="a timeout of 0 s is not more than zero"):
        alone.all_reduce(x, timeout=0)
    with pytest.raises(tutti.ArgumentError, match="counts are .1, 2., but must be 1 numbers"):
        alone.all_gather(x, x, counts=[1, 2])
    with pytest.raises(tutti.ArgumentError, match="counts are .-1."):
        alone.all_gather(x, x, counts=[-1])
    with pytest.raises(tutti.ArgumentError, match="there is no dtype 'float31'"):
        alone.empty(3, "float31")
    with pytest.raises(tutti.ArgumentError, match="a segment of -4 bytes is less than zero"):
        alone.all_reduce(x, segment=-4)
    with pytest.raises(tutti.ArgumentError, match="algorithm is a int, and must be a str"):
        alone.all_reduce(x, algorithm=3)  # type: ignore[arg-type]
    with pytest.raises(tutti.ArgumentError, match="a str is no stream"):
        alone.all_reduce(x, stream="0")
    for form in (alone.start, alone.plan):
        with pytest.raises(tutti.ArgumentError, match=r"only the blocking call receives from any rank; probe\(\)"):
            form.recv(x)
    with pytest.raises(tutti.ArgumentError, match="root must pass x"):
        alone.scatter(None, x)


def test_an_array_in_a_call_keeps_its_memory(alone: tutti.Communicator) -> None:
    x = bytearray(8)
    request = alone.start.recv(x, 0)
    with pytest.raises(BufferError):
        x.extend(b"more")
    alone.send(b"12345678", 0)
    request.wait()
    assert x == b"12345678"
    del request
    x.extend(b"more")


def check_uneven_blocks(world: tutti.Communicator) -> None:
    with pytest.raises(tutti.ArgumentError, match="its 5 elements are no multiple of 2"):
        world.all_gather(np.ones(5))
    world.barrier()


def test_uneven_blocks() -> None:
    ranks.run(2, check_uneven_blocks)


def check_memory(world: tutti.Communicator) -> None:
    memory = world.empty((2, 3))
    assert (memory.shape, memory.dtype, memory.nbytes, len(memory)) == ((2, 3), "float32", 24, 2)
    assert memory.is_visible
    x = np.asarray(memory)
    assert x.shape == (2, 3) and x.dtype == np.float32 and not x.any()
    x[:] = world.rank + 1
    total = world.size * (world.size + 1) / 2
    assert world.all_reduce(memory) is memory
    assert (x == total).all() and memory.view().tolist() == x.tolist()
    world.all_reduce(x)  # an array that lies in it
    assert (np.from_dlpack(memory) == world.size * total).all()
    y = np.from_dlpack(memory)
    assert y.__array_interface__["data"][0] == x.__array_interface__["data"][0]
    memory.close()
    memory.close()
    with pytest.raises(tutti.ArgumentError, match="this memory is closed"):
        memory.view()
    x[:] = 5  # arrays stay valid
    assert (y == 5).all()
    del x, y
    from tutti.memory import _visible

    assert not _visible
    for dtype in _declarations.DATATYPES:
        if dtype != "bytes":
            memory = world.empty(3, dtype)
            assert memory.view().nbytes == memory.nbytes == 3 * memory.itemsize
    assert world.empty(0).nbytes == 0 and world.empty(()).view()[()] == 0
    assert np.asarray(world.empty(0)).shape == (0,)
    with pytest.raises(tutti.ArgumentError, match="less than zero"):
        world.empty((2, -1))
    with pytest.raises(BufferError):
        world.empty(2).__dlpack__(copy=True)


@pytest.mark.parametrize("size", [1, 2])
def test_memory(size: int) -> None:
    ranks.run(size, check_memory)


def check_imported_memory(world: tutti.Communicator) -> None:
    """Memory of the program, as of a tensor in /dev/shm. It may be imported twice."""
    bytes = 1 << 20
    file = os.memfd_create("tutti-test")
    os.truncate(file, bytes)
    x = np.frombuffer(mmap.mmap(file, bytes), np.float32)
    address = x.__array_interface__["data"][0]
    first = import_file(world._handle, file, address, bytes)
    second = import_file(world._handle, file, address, bytes)
    os.close(file)
    assert first.is_visible and second.is_visible

    def check(is_seen: bool) -> None:
        seen = [is_visible(address + at) for at in (-1, 0, bytes - 1, bytes)]
        assert seen == [False, is_seen, is_seen, False]
        x[:] = world.rank
        world.all_reduce(x, op="average")
        assert (x == (world.size - 1) / 2).all()

    check(True)
    del second
    check(True)
    del first
    check(False)


def test_imported_memory() -> None:
    ranks.run(2, check_imported_memory)


def test_an_export_that_nobody_takes_is_freed(alone: tutti.Communicator) -> None:
    memory = alone.empty(3)
    for version in (None, (1, 3)):
        capsule = memory.__dlpack__(max_version=version)
        assert len(_dlpack._exported) == 1
        del capsule
        assert not _dlpack._exported


def test_numpy_without_the_buffer_protocol(alone: tutti.Communicator) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.ones(3, ml_dtypes.bfloat16)
    alone.all_reduce(x)
    assert arrays.read(x, "a call", "x").dtype == "bfloat16"


def fail_with(call: Any) -> weakref.ref[Any]:
    """A weak reference to the array of a call that has failed."""
    x = np.ones(3)
    try:
        call(x)
    except tutti.ArgumentError:
        return weakref.ref(x)
    raise AssertionError("the call has not failed")


def test_an_error_keeps_no_array(alone: tutti.Communicator) -> None:
    gc.collect()
    gc.disable()
    try:
        for form in (alone, alone.start, alone.plan):
            assert fail_with(lambda x: form.all_reduce(x, algorithm="none such"))() is None, form
            assert fail_with(lambda x: form.broadcast(x, root=7))() is None, form
    finally:
        gc.enable()
