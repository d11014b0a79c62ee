"""Arrays of all libraries: how tutti reads and writes each form of them, and its own memory in each of them."""

from __future__ import annotations

import array
import mmap
import os
from typing import Any, Callable, NamedTuple

import numpy as np
import pytest

import dlpack_producer as dlpack
import tutti

os.environ["JAX_ENABLE_X64"] = "1"
os.environ.setdefault("JAX_PLATFORMS", "cpu")

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NATIVE = [*INTEGERS, "float16", "float32", "float64", "complex64", "complex128", "bool"]
DTYPES = [*NATIVE, "bfloat16"]
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
    if name != "bfloat16":
        return np.dtype(name)
    return pytest.importorskip("ml_dtypes", reason="bfloat16 of numpy needs ml_dtypes").bfloat16


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
    if not hasattr(xp, dtype):
        return None
    x = xp.asarray(numpy_array(dtype, form), copy=False)
    unread = PIECES if form == "strided" else None
    return Case(x, lambda x: np.asarray(x._array).tobytes(), unread, READ_ONLY if form == "read-only" else None)


def of_torch(dtype: str, form: str) -> Case | None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    kind = getattr(torch, dtype, None)
    if kind is None:  # an older PyTorch
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


def of_jax(dtype: str, form: str) -> Case:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    x = jax.numpy.asarray(numpy_array(dtype, form))
    return Case(x, lambda x: np.asarray(x).tobytes(), None, READ_ONLY)


def of_array(dtype: str, form: str) -> Case | None:
    if dtype not in CODES or dtype == "bool":
        return None
    return Case(array.array(CODES[dtype], range(6) if form == "contiguous" else []), lambda x: x.tobytes())


def of_bytearray(dtype: str, form: str) -> Case | None:
    whole = {"contiguous": bytearray(b"abcdef"), "empty": bytearray(), "read-only": b"abcdef"}
    if dtype != "uint8":
        return None
    return Case(whole[form], bytes, None, READ_ONLY if form == "read-only" else None)


def of_memoryview(dtype: str, form: str) -> Case | None:
    if dtype not in CODES:
        return None
    if form == "misaligned":
        memory = bytearray(1) + bytes(numpy_array(dtype, "contiguous"))
        return Case(memoryview(memory)[1:].cast(CODES[dtype]), bytes)
    x = memoryview(numpy_array(dtype, form))
    return Case(x, bytes, PIECES if form == "strided" else None, READ_ONLY if form == "read-only" else None)


LIBRARIES: dict[str, tuple[Callable[[str, str], Case | None], str]] = {  # and the forms of their arrays
    "numpy": (of_numpy, "contiguous strided read-only 0-d empty big-endian misaligned"),
    "array_api_strict": (of_array_api_strict, "contiguous strided read-only 0-d empty misaligned"),
    "torch": (of_torch, "contiguous strided 0-d empty misaligned"),
    "jax": (of_jax, "contiguous 0-d empty"),
    "array": (of_array, "contiguous empty"),
    "bytearray": (of_bytearray, "contiguous read-only empty"),
    "memoryview": (of_memoryview, "contiguous strided read-only 0-d empty misaligned"),
}
FORMS = [(library, form) for library, (_, forms) in LIBRARIES.items() for form in forms.split()]


@pytest.mark.parametrize("options", [{}, {"timeout": 60}], ids=["quick", "general"])
@pytest.mark.parametrize(("library", "form"), FORMS)
def test_forms(alone: tutti.Communicator, library: str, form: str, options: Any) -> None:
    """Elements are read and written where they lie, or one ArgumentError says why not, and what to do."""
    cases = {dtype: LIBRARIES[library][0](dtype, form) for dtype in NATIVE}
    assert any(cases.values())
    for dtype, case in cases.items():
        if case is not None:  # the library has the dtype
            check(alone, case, dtype, options)


@pytest.mark.parametrize("options", [{}, {"timeout": 60}], ids=["quick", "general"])
@pytest.mark.parametrize(
    ("library", "form"), [(name, form) for name, form in FORMS if name in ("numpy", "torch", "jax") and form[0] != "b"]
)
def test_forms_of_bfloat16(alone: tutti.Communicator, library: str, form: str, options: Any) -> None:
    case = LIBRARIES[library][0]("bfloat16", form)
    assert case is not None
    check(alone, case, "bfloat16", options)


def check(alone: tutti.Communicator, case: Case, dtype: str, options: Any) -> None:
    before = case.bytes_of(case.x)
    out = bytearray(len(before))
    like = np.frombuffer(out, numpy_dtype(dtype))
    if case.unread is not None:
        with pytest.raises(tutti.ArgumentError, match=case.unread):
            alone.all_gather(case.x, like, **options)
        assert not any(out)
        return
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
        for part in (z.conj().imag, z.conj().imag[0], torch._neg_view(torch.tensor([2.0, 2.0]))):
            with pytest.raises(tutti.ArgumentError, match=r"whose is_neg\(\) is true: pass \.resolve_neg"):
                alone.all_reduce(part, **options)
            assert part.flatten()[0] == -2
        out = torch.zeros(1)
        alone.all_reduce(z.conj().imag.resolve_neg(), out, **options)
        assert out.item() == -2


TENSORS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "sparse": (
        lambda torch: torch.eye(3).to_sparse(),
        r"x is a tensor of layout torch.sparse_coo: pass \.to_dense\(\)",
    ),
    "meta": (lambda torch: torch.ones(3, device="meta"), "x is a tensor on meta: copy it to the CPU first"),
    "float8": (
        lambda torch: torch.ones(3).to(torch.float8_e5m2),
        "operator sum is not defined for torch.float8_e5m2, which can be copied only: convert it, as to float32",
    ),
    "nested": (
        lambda torch: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        "x is a tensor that has no memory of its own: .*; pass a plain one",
    ),
    "expanded": (lambda torch: torch.ones(1).expand(4), r"x is a tensor of shape \(4,\) that is not contiguous"),
    "leaf": (lambda torch: torch.ones(3, requires_grad=True), r"x is a leaf tensor that requires grad.*pass \.detach"),
}


@pytest.mark.parametrize("options", [{}, {"timeout": 60}], ids=["quick", "general"])
@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.filterwarnings("ignore")
def test_tensors_of_torch_that_are_rejected(alone: tutti.Communicator, name: str, options: Any) -> None:
    make, text = TENSORS[name]
    x = make(pytest.importorskip("torch", reason="PyTorch is not installed"))
    with pytest.raises(tutti.ArgumentError, match="all_reduce: " + text):
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
    for one, name in ((x, "float128"), (x[1], "float128"), (x.astype(np.clongdouble), "complex256")):
        for call in (alone.all_reduce, alone.start.all_reduce, alone.scan, alone.reduce):
            with pytest.raises(tutti.ArgumentError, match=f"sum is not defined for {name}, .*: convert it, as to float"):
                call(one)


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


# The words of libraries' errors for dtypes that they do not have.
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
        pytest.importorskip("tutti._fast", reason="without it no capsule is freed while an exception is raised")
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


class Bfloat16(dlpack.Producer):
    """Bytes of numpy as bfloat16."""

    def __init__(self, memory: Any) -> None:
        super().__init__(data=memory.ctypes.data, code=dlpack.BFLOAT, bits=16, shape=dlpack.int64s(memory.size // 2))
