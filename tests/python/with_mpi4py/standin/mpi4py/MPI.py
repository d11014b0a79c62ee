"""The names of mpi4py.MPI that its tests use."""

from __future__ import annotations

from typing import Any

import tutti

from ._base import ERR_ROOT, PROC_NULL, call
from ._base import Exception_ as Exception
from ._comm import Comm
from ._messages import BOTTOM, DATATYPE_NULL, DATATYPES, IN_PLACE, Datatype, Missing
from ._ops import MAX, MAXLOC, MIN, MINLOC, NO_OP, OP_NULL, PROD, REPLACE, SUM, Op
from ._pickles import Pickle, pickle
from ._requests import ANY_SOURCE, ANY_TAG, UNDEFINED, Prequest, Request, Status

__all__ = [
    "ANY_SOURCE", "ANY_TAG", "BOTTOM", "DATATYPE_NULL", "ERR_ROOT", "IN_PLACE", "MAX", "MAXLOC", "MIN", "MINLOC",
    "NO_OP", "OP_NULL", "PROC_NULL", "PROD", "REPLACE", "SUM", "UNDEFINED", "Comm", "Datatype", "Exception", "Op",
    "Pickle", "Prequest", "Request", "Status", "pickle",
]  # fmt: skip

SIGNED_CHAR, SHORT, INT, LONG, LONG_LONG = (DATATYPES[code] for code in "bhilq")
UNSIGNED_CHAR, UNSIGNED_SHORT, UNSIGNED_INT, UNSIGNED_LONG, UNSIGNED_LONG_LONG = (DATATYPES[code] for code in "BHILQ")
FLOAT, DOUBLE, C_FLOAT_COMPLEX, C_DOUBLE_COMPLEX, C_BOOL, CHAR, BYTE = (DATATYPES[code] for code in "fdFD?cB")
LONG_DOUBLE = C_LONG_DOUBLE_COMPLEX = DATATYPE_NULL  # tutti moves such elements as bytes, and does not reduce them

Intracomm = Comm
COMM_NULL = Comm()
COMM_WORLD = Comm(tutti.world())
COMM_SELF = Comm(tutti.world().group([tutti.world().rank]))
REQUEST_NULL = Request()
SUCCESS = 0
THREAD_SINGLE = THREAD_MULTIPLE = 0
BSEND_OVERHEAD = 0
INFO_NULL = None
ROOT = -3


class Message:
    """The message of a matched probe."""


MESSAGE_NULL = MESSAGE_NO_PROC = Message()


def Query_thread() -> int:
    return THREAD_MULTIPLE


def Get_version() -> tuple[int, int]:
    return 4, 1


def get_vendor() -> tuple[str, tuple[int, int, int]]:
    return "tutti", (0, 0, 0)


def Get_address(x: Any) -> int:
    """Not an address: whether tutti reads the array."""
    call(COMM_SELF.world.broadcast, x)
    return 0


def buffer(x: Any) -> memoryview:
    """The bytes of an array that tutti reads."""
    call(COMM_SELF.world.broadcast, x)
    return memoryview(x).cast("B")


buffer.allocate = lambda count, clear=False: bytearray(count)  # type: ignore[attr-defined]
buffer.frombuffer = buffer  # type: ignore[attr-defined]


def Alloc_mem(bytes: int, info: Any = None) -> bytearray:
    return bytearray(bytes)


def Free_mem(memory: bytearray) -> None:
    pass


def Attach_buffer(memory: Any) -> None:
    """Sends of tutti need no memory of the program."""


def Detach_buffer() -> None:
    pass


class Win:
    @staticmethod
    def Allocate(*_: Any) -> None:
        raise Missing("windows")
