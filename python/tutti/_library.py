"""The shared library libtutti_c.so: its enumerators, its functions, and where it is found.

`library` has one attribute for each function of tutti.h. It loads the shared library when the first
of them is used, so that `import tutti` is quick.
"""

from __future__ import annotations

import ctypes
import glob
import os
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

from ._structs import (
    AllGatherFunction,
    Arrival,
    Call,
    Channel,
    CombineFunction,
    CommunicatorOptions,
    CudaOptions,
    GradientOptions,
    InitOptions,
    LastError,
    Object,
    ObjectCall,
    Options,
    Parameter,
    Piece,
    ReleaseFunction,
    StepReport,
)

__all__ = [
    "AllGatherFunction",
    "Arrival",
    "Call",
    "Channel",
    "CombineFunction",
    "CommunicatorOptions",
    "CudaOptions",
    "GradientOptions",
    "InitOptions",
    "LastError",
    "Object",
    "ObjectCall",
    "Options",
    "Parameter",
    "Piece",
    "ReleaseFunction",
    "StepReport",
    "library",
]

FOREVER = 2**63 - 1
PENDING = 100
ANY_RANK = -1

COLLECTIVES = {
    "all_reduce": 0,
    "reduce": 1,
    "broadcast": 2,
    "scatter": 3,
    "gather": 4,
    "all_gather": 5,
    "reduce_scatter": 6,
    "all_to_all": 7,
    "scan": 8,
    "exscan": 9,
    "barrier": 10,
    "send": 100,
    "recv": 101,
    "sendrecv": 102,
}
DATATYPES = {
    "int8": 0,
    "int16": 1,
    "int32": 2,
    "int64": 3,
    "uint8": 4,
    "uint16": 5,
    "uint32": 6,
    "uint64": 7,
    "float16": 8,
    "bfloat16": 9,
    "float32": 10,
    "float64": 11,
    "complex64": 12,
    "complex128": 13,
    "bool": 100,
    "bytes": 101,
}
INDEXED = {"int32": 14, "int64": 15, "float32": 16, "float64": 17}  # pairs, by the types of their values
OPERATORS = {
    "sum": 0,
    "prod": 1,
    "min": 2,
    "max": 3,
    "min_loc": 4,
    "max_loc": 5,
    "and": 6,
    "or": 7,
    "xor": 8,
    "bit_and": 9,
    "bit_or": 10,
    "bit_xor": 11,
    "average": 12,
}
PAIR_OPERATORS = frozenset({"min_loc", "max_loc"})
USER_OPERATOR = 100
DETERMINISMS = {
    "default": -1,
    "fast": 0,
    "rank_identical": 1,
    "run_to_run": 2,
    "size_invariant": 3,
    "layout_invariant": 4,
}
ORDERS = {"reversed": 0, "observed": 1, "negotiated": 2, "automatic": 3}
STORAGES = {"copies": 0, "views": 1, "flat": 2}
UNUSED = {"error": 0, "zeros": 1, "detect": 2}
STATUSES = {
    0: "ok",
    1: "invalid_argument",
    2: "mismatch",
    3: "timeout",
    4: "peer_dead",
    5: "aborted",
    6: "transport",
    7: "object",
    8: "bug",
    100: "pending",
}

_handle = c_void_p  # a pointer to an opaque struct
_made = POINTER(c_void_p)  # where a function stores a handle
_text = (c_char_p, c_size_t, POINTER(c_size_t))
_status = c_int
_slice = c_int64

# The result and the arguments of each function.
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    # types.h
    "tutti_last_error": (None, POINTER(LastError)),
    "tutti_status_name": (c_char_p, c_int),
    "tutti_version": (c_char_p,),
    "tutti_interface_version": (c_uint32,),
    # calls.h
    "tutti_call_defaults": (None, POINTER(Call), c_size_t),
    "tutti_options_defaults": (None, POINTER(Options), c_size_t),
    "tutti_run": (_status, _handle, POINTER(Call), POINTER(Options)),
    "tutti_run_for": (_status, _handle, POINTER(Call), POINTER(Options), _slice, _made),
    "tutti_start": (_status, _handle, POINTER(Call), POINTER(Options), _made),
    "tutti_reject_call": (_status, _handle, POINTER(Call), c_char_p),
    "tutti_all_reduce": (_status, _handle, c_void_p, c_void_p, c_size_t, c_int, c_int),
    "tutti_reduce": (_status, _handle, c_void_p, c_void_p, c_size_t, c_int, c_int, c_int32),
    "tutti_broadcast": (_status, _handle, c_void_p, c_size_t, c_int, c_int32),
    "tutti_scatter": (_status, _handle, c_void_p, c_void_p, c_size_t, c_int, c_int32),
    "tutti_gather": (_status, _handle, c_void_p, c_void_p, c_size_t, c_int, c_int32),
    "tutti_all_gather": (_status, _handle, c_void_p, c_void_p, c_size_t, c_int),
    "tutti_reduce_scatter": (_status, _handle, c_void_p, c_void_p, c_size_t, c_int, c_int),
    "tutti_all_to_all": (_status, _handle, c_void_p, c_void_p, c_size_t, c_int),
    "tutti_scan": (_status, _handle, c_void_p, c_void_p, c_size_t, c_int, c_int),
    "tutti_exscan": (_status, _handle, c_void_p, c_void_p, c_size_t, c_int, c_int),
    "tutti_barrier": (_status, _handle),
    "tutti_send": (_status, _handle, c_void_p, c_size_t, c_int, c_int32, c_int32),
    "tutti_recv": (_status, _handle, c_void_p, c_size_t, c_int, c_int32, c_int32),
    # communicator.h
    "tutti_communicator_options_defaults": (None, POINTER(CommunicatorOptions), c_size_t),
    "tutti_init_options_defaults": (None, POINTER(InitOptions), c_size_t),
    "tutti_init": (_status, POINTER(InitOptions), _made),
    "tutti_init_over": (_status, POINTER(Channel), POINTER(InitOptions), _made),
    "tutti_communicator_free": (None, _handle),
    "tutti_rank": (c_int32, _handle),
    "tutti_size": (c_int32, _handle),
    "tutti_group": (_status, _handle, POINTER(c_int32), c_size_t, c_uint64, _made),
    "tutti_split": (_status, _handle, c_int32, c_int32, _made),
    "tutti_hosts": (_status, _handle, POINTER(c_int32)),
    "tutti_address": (_status, _handle, *_text),
    "tutti_describe": (_status, _handle, *_text),
    "tutti_communicator_waits": (_status, _handle, *_text),
    "tutti_allocate": (_status, _handle, c_size_t, _made),
    "tutti_memory_import": (_status, _handle, c_int32, c_uint64, c_void_p, c_size_t, _made),
    "tutti_memory_free": (None, _handle),
    "tutti_memory_data": (c_void_p, _handle),
    "tutti_memory_is_visible": (c_int32, _handle),
    # cuda.h
    "tutti_cuda_options_defaults": (None, POINTER(CudaOptions), c_size_t),
    "tutti_cuda_current_device": (_status, POINTER(c_int32)),
    "tutti_cuda_attach": (_status, _handle, POINTER(CudaOptions)),
    "tutti_cuda_wait": (_status, _handle, c_void_p, c_int64),
    "tutti_cuda_allocate": (_status, _handle, c_size_t, _made),
    # requests.h
    "tutti_wait": (_status, _handle),
    "tutti_wait_for": (_status, _handle, _slice),
    "tutti_test": (_status, _handle),
    "tutti_request_notify": (_status, _handle, c_int32),
    "tutti_wait_all": (_status, POINTER(c_void_p), c_size_t),
    "tutti_request_free": (None, _handle),
    "tutti_interrupt_by": (None, POINTER(c_int32)),
    "tutti_make_plan": (_status, _handle, POINTER(Call), POINTER(Options), _made),
    "tutti_plan_start": (_status, _handle, c_void_p, c_void_p),
    "tutti_plan_wait": (_status, _handle),
    "tutti_plan_wait_for": (_status, _handle, _slice),
    "tutti_plan_test": (_status, _handle),
    "tutti_plan_algorithm": (c_char_p, _handle),
    "tutti_plan_free": (None, _handle),
    "tutti_batch_begin": (_status,),
    "tutti_batch_end": (_status,),
    "tutti_batch_cancel": (None,),
    "tutti_probe": (_status, _handle, c_int32, c_int32, _slice, POINTER(Arrival)),
    "tutti_explain": (_status, _handle, POINTER(Call), POINTER(Options), *_text),
    "tutti_make_operator": (_status, CombineFunction, c_void_p, c_int32, ReleaseFunction, _made),
    "tutti_make_checked_operator": (_status, CombineFunction, c_void_p, c_int32, ReleaseFunction, _made),
    "tutti_operator_error": (None, c_char_p),
    "tutti_operator_free": (None, _handle),
    # objects.h
    "tutti_object_call_defaults": (None, POINTER(ObjectCall), c_size_t),
    "tutti_objects_start": (_status, _handle, POINTER(ObjectCall), _made),
    "tutti_objects_wait_for": (_status, _handle, _slice),
    "tutti_objects_notify": (_status, _handle, c_int32),
    "tutti_objects_count": (c_size_t, _handle),
    "tutti_objects_get": (_status, _handle, c_size_t, POINTER(c_void_p), POINTER(c_size_t)),
    "tutti_objects_keep": (_status, _handle),
    "tutti_objects_free": (None, _handle),
    # gradients.h
    "tutti_parameter_defaults": (None, POINTER(Parameter), c_size_t),
    "tutti_gradient_options_defaults": (None, POINTER(GradientOptions), c_size_t),
    "tutti_make_gradient_sync": (
        _status,
        _handle,
        POINTER(Parameter),
        c_size_t,
        POINTER(GradientOptions),
        _made,
    ),
    "tutti_gradient_sync_free": (None, _handle),
    "tutti_gradient_ready": (None, _handle, c_size_t),
    "tutti_gradient_accumulated": (None, _handle, c_size_t),
    "tutti_gradient_wait": (_status, _handle, POINTER(StepReport)),
    "tutti_gradient_join": (_status, _handle, POINTER(c_uint64)),
    "tutti_gradient_synchronize": (_status, _handle, c_int64),
    "tutti_gradient_view": (c_void_p, _handle, c_size_t),
    "tutti_broadcast_state": (_status, _handle, POINTER(Parameter), c_size_t, c_int32),
    "tutti_verify_state": (_status, _handle, POINTER(Parameter), c_size_t),
    "tutti_average_buffers": (_status, _handle, POINTER(Parameter), c_size_t),
    "tutti_gradient_plan_hash": (c_uint64, _handle),
    "tutti_gradient_bucket_count": (c_size_t, _handle),
    "tutti_gradient_bucket": (_status, _handle, c_size_t, POINTER(POINTER(c_size_t)), POINTER(c_size_t)),
    "tutti_write_trace": (_status, _handle, c_char_p),
}

# Functions that never block: they keep the interpreter's lock, which costs more than they do.
QUICK = frozenset(
    {
        "tutti_last_error",
        "tutti_call_defaults",
        "tutti_options_defaults",
        "tutti_rank",
        "tutti_size",
        "tutti_memory_data",
        "tutti_plan_algorithm",
        "tutti_operator_error",
        "tutti_gradient_ready",
        "tutti_gradient_accumulated",
    }
)


def path() -> str:
    """The file of the shared library: the one of this package, or the system's."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_lib", "libtutti_c.so*")
    found = sorted(glob.glob(beside))
    return found[0] if found else "libtutti_c.so.0"


class _Library:
    """The functions of the shared library, by their names."""

    def __getattr__(self, name: str) -> Any:
        if name not in FUNCTIONS:
            raise AttributeError(f"tutti.h has no function {name}")
        if "tutti_init" not in self.__dict__:
            self._load()
        if name not in self.__dict__:
            raise ImportError(f"{path()} has no function {name}: it belongs to another version of tutti")
        return self.__dict__[name]

    def _load(self) -> None:
        file = path()
        try:
            loaded = ctypes.CDLL(file, mode=ctypes.RTLD_LOCAL)
        except OSError as error:
            raise ImportError(
                f"the shared library of tutti, {file}, cannot be loaded: {error}. "
                "Install a wheel of tutti for this machine, or the library libtutti_c."
            ) from error
        quick = ctypes.PyDLL(file, mode=ctypes.RTLD_LOCAL)
        for name, (result, *arguments) in FUNCTIONS.items():
            function = getattr(quick if name in QUICK else loaded, name, None)
            if function is not None:
                function.restype = result
                function.argtypes = arguments
                self.__dict__[name] = function


library = _Library()
