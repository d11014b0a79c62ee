"""Calls on arrays in memory of GPUs.

    world = tutti.init()
    tutti.cuda.attach(world)  # collective
    world.all_reduce(x)  # x: on the GPU, of PyTorch, CuPy or another library
    tutti.cuda.wait(world)

A call enqueues its work on a stream and returns at once: on the stream of `stream=`, else on PyTorch's or CuPy's
current one, else on the default stream. The order of the stream is that of all work on the arrays. A Request is done
when the stream has done the call's work.

Needs a library that was built with the CUDA toolkit: install tutti from its sources, see docs/python.md.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Literal

from . import _declarations, arrays
from ._apart import make_apart, run_apart
from ._handles import Handle, Turn
from ._library import library
from ._numbers import index_of
from ._options import encoded, nanoseconds, stream_number
from .arrays import Buffer
from .communicator import Communicator, check_world
from .errors import ArgumentError, check

_KINDS = {name: kind for kind, name in arrays.TYPESTR_KINDS.items()}


def attach(
    world: Communicator,
    device: int | None = None,
    *,
    transport: Literal["nccl", "host"] = "nccl",
    visible: bool = False,
    compare_calls: bool = False,
    nonblocking: bool = False,
    timeout: float | None = None,
) -> None:
    """Attaches a GPU on each rank, so that the communicator, its groups and its splits accept arrays of it.
    Collective, once for a communicator.

    device: the GPU's number, as in torch.cuda.set_device; else that of the thread's current context, as PyTorch and
        CuPy make it, else the only one of the process.
    transport: "nccl", or "host": through memory of the host, which needs no NCCL. Equal on all ranks.
    visible: experimental: whether ranks of one host see memory of `empty`. Equal on all ranks.
    compare_calls: whether different calls of ranks are MismatchError on all of them, at the price of a small
        all_gather each; otherwise they wait until wait's timeout. Equal on all ranks.
    nonblocking: whether NCCL's communicators do not block.
    timeout: seconds of NCCL's start, 60 unless given.

    Raises TransportError on all ranks, which names a rank and what it lacks: the driver, a GPU, NCCL.
    """
    check_world(world, "attach")
    raw = _declarations.CudaOptions()
    library.tutti_cuda_options_defaults(raw, ctypes.sizeof(raw))
    raw.device = _current_device() if device is None else index_of(device, "attach: device")
    raw.transport = encoded(transport, "transport")
    raw.visible, raw.compare_calls, raw.nonblocking = bool(visible), bool(compare_calls), bool(nonblocking)
    raw.timeout = nanoseconds(timeout, "attach")
    with world._handle.turn:
        pointer = world._handle.pointer
        run_apart(lambda: check(library.tutti_cuda_attach(pointer, raw)))


def _current_device() -> int:
    """The GPU of this thread, since attach runs in another one; -1 without one, which fails on all ranks."""
    device = ctypes.c_int32(-1)
    library.tutti_cuda_current_device(device)
    return device.value


def wait(world: Communicator, stream: Any = None, timeout: float = 300.0) -> None:
    """Waits until a stream has done all enqueued work. If another rank fails, or the time is over, work under way is
    aborted, so that the stream goes on, and the communicator has failed. So it does after Ctrl-C.

    stream: as of a call; None: the default stream. timeout: seconds.
    """
    check_world(world, "wait")
    number = 0 if stream is None else stream_number(stream)
    limit = nanoseconds(timeout, "wait")
    with world._handle.turn:
        pointer = world._handle.pointer
        run_apart(lambda: check(library.tutti_cuda_wait(pointer, number, limit)))


class DeviceMemory:
    """An array of zeros in memory of a GPU that is registered for the fastest messages. Made by `empty`.

    Libraries of GPUs share its elements: `torch.as_tensor(memory, device="cuda")`, `cupy.asarray(memory)`. It must
    live until calls on it are done, and longer than all such arrays, unless these keep it.

    shape: its extents. dtype: such as "float32". address: of the first element.
    """

    def __init__(self, owner: object, address: int, shape: tuple[int, ...], datatype: int) -> None:
        self.shape = shape
        self.dtype = arrays.NAMES[datatype]
        self.address = address
        self._datatype = datatype
        self._owner = owner

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        kind = _KINDS[self.dtype.rstrip("0123456789")]
        size = arrays.SIZES[self._datatype]
        return {
            "shape": self.shape,
            "typestr": f"{'|' if size == 1 else '<'}{kind}{size}",
            "data": (self.address, False),
            "version": 3,
        }

    def _tutti_buffer(self) -> Buffer:
        buffer = Buffer(self.address, self.shape, self._datatype, arrays.SIZES[self._datatype], self)
        buffer.is_gpu = True
        buffer.stream = 0
        return buffer

    def __repr__(self) -> str:
        return f"<tutti.cuda.DeviceMemory of shape {self.shape}, {self.dtype}>"


def empty(world: Communicator, shape: int | tuple[int, ...], dtype: Any = "float32") -> DeviceMemory:
    """Memory of the GPU, zeroed and registered with NCCL, or visible to ranks of the host after
    attach(visible=True). Collective: all ranks make equal amounts, and pass either such memory or none to a call.
    """
    check_world(world, "empty")
    extents, datatype = arrays.extents_of(shape), arrays.datatype_of(dtype)
    if arrays.NAMES[datatype] == "bfloat16":
        raise ArgumentError("libraries of GPUs share no bfloat16: make memory of uint16, and view it as bfloat16")
    bytes = arrays.bytes_of(extents, datatype)
    handle = Handle(library.tutti_memory_free, "memory", Turn())
    with world._handle.turn:
        pointer = world._handle.pointer
        memory = make_apart(
            handle,
            lambda result: library.tutti_cuda_allocate(pointer, bytes, result),
            lambda made: DeviceMemory(made, library.tutti_memory_data(made.pointer) or 0, extents, datatype),
        )
    assert memory is not None
    return memory
