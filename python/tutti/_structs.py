"""The structs of the shared library, and the functions that it calls.

Members whose names are keywords of Python end with an underscore: `in_`, `from_`.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

AllGatherFunction = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p)
CombineFunction = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_void_p, c_size_t)
ReleaseFunction = ctypes.CFUNCTYPE(None, c_void_p)


class Checked(ctypes.Structure):
    """A struct of options, which a program gives. ctypes would cut off high bits of its numbers."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if type(value) is int and (getattr(self, name) or 0) != value:
            from .errors import ArgumentError  # which imports this

            bits = 8 * ctypes.sizeof(dict(self._fields_)[name])  # type: ignore[arg-type]
            raise ArgumentError(f"{name} is {value}; expected a number that {bits} bits hold")


class Call(ctypes.Structure):
    """tutti_call"""

    _fields_ = [
        ("size", c_size_t),
        ("collective", c_int),
        ("type", c_int),
        ("in_", c_void_p),
        ("out", c_void_p),
        ("in_count", c_size_t),
        ("out_count", c_size_t),
        ("element_bytes", c_size_t),
        ("op", c_int),
        ("root", c_int32),
        ("user_op", c_void_p),
        ("in_counts", POINTER(c_size_t)),
        ("out_counts", POINTER(c_size_t)),
        ("to", c_int32),
        ("from_", c_int32),
        ("tag", c_int32),
    ]


class Options(Checked):
    """tutti_options"""

    _fields_ = [
        ("size", c_size_t),
        ("algorithm", c_char_p),
        ("transport", c_char_p),
        ("segment", c_size_t),
        ("timeout", c_int64),
        ("determinism", c_int),
        ("visible", c_int32),
        ("counts", POINTER(c_size_t)),
        ("count_of_counts", c_size_t),
        ("has_stream", c_int32),
        ("stream", c_void_p),
    ]


class CommunicatorOptions(Checked):
    """tutti_communicator_options"""

    _fields_ = [
        ("size", c_size_t),
        ("timeout", c_int64),
        ("segments_in_flight", c_int32),
        ("progress_thread", c_int32),
        ("cache_bytes", c_size_t),
        ("transport", c_char_p),
        ("determinism", c_int),
    ]


class CudaOptions(Checked):
    """tutti_cuda_options"""

    _fields_ = [
        ("size", c_size_t),
        ("transport", c_char_p),
        ("timeout", c_int64),
        ("device", c_int32),
        ("visible", c_int32),
        ("compare_calls", c_int32),
        ("nonblocking", c_int32),
    ]


class InitOptions(Checked):
    """tutti_init_options"""

    _fields_ = [
        ("size", c_size_t),
        ("url", c_char_p),
        ("rank", c_int32),
        ("ranks", c_int32),
        ("transport", c_char_p),
        ("timeout", c_int64),
        ("heartbeat_timeout", c_int64),
        ("address", c_char_p),
        ("secret_file", c_char_p),
        ("payload_checksum", c_int32),
        ("network_megabits", c_int32),
        ("insecure", c_int32),
        ("tls", c_int32),
        ("tuning", c_char_p),
        ("topology", c_char_p),
        ("communicator", POINTER(CommunicatorOptions)),
    ]


class Channel(Checked):
    """tutti_channel"""

    _fields_ = [
        ("size", c_size_t),
        ("rank", c_int32),
        ("ranks", c_int32),
        ("name", c_char_p),
        ("is_private", c_int32),
        ("context", c_void_p),
        ("all_gather", AllGatherFunction),
    ]


class Parameter(Checked):
    """tutti_parameter"""

    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("data", c_void_p),
        ("count", c_size_t),
        ("type", c_int),
        ("group", c_uint32),
        ("layout", c_uint64),
        ("rows", c_size_t),
        ("visible", c_int32),
        ("tied", c_int32),
    ]


class GradientOptions(Checked):
    """tutti_gradient_options"""

    _fields_ = [
        ("size", c_size_t),
        ("bucket_bytes", c_size_t),
        ("first_bucket_bytes", c_size_t),
        ("in_place_bytes", c_size_t),
        ("order", c_int),
        ("storage", c_int),
        ("unused", c_int),
        ("average", c_int32),
        ("check_finite", c_int32),
        ("norm", c_int32),
        ("max_norm", c_double),
        ("hash", c_int32),
        ("compression_after", c_int32),
        ("compression", c_char_p),
        ("verify_every", c_int32),
        ("resync_every", c_int32),
        ("state", POINTER(Parameter)),
        ("state_count", c_size_t),
        ("groups", POINTER(c_void_p)),
        ("group_count", c_size_t),
        ("in_flight", c_int32),
        ("timeout", c_int64),
        ("algorithm", c_char_p),
        ("known_order", POINTER(c_size_t)),
        ("known_order_count", c_size_t),
        ("record", c_size_t),
        ("has_stream", c_int32),
        ("stream", c_void_p),
    ]


class StepReport(ctypes.Structure):
    """tutti_step_report"""

    _fields_ = [
        ("size", c_size_t),
        ("step", c_uint64),
        ("active", c_int32),
        ("computing", c_int64),
        ("exposed", c_int64),
        ("waiting", c_int64),
        ("communicating", c_int64),
        ("hidden", c_double),
        ("skew", c_int64),
        ("last", c_int32),
        ("norm", c_double),
        ("hash", c_uint32),
        ("not_finite_count", c_uint64),
        ("not_finite_parameter", c_size_t),
        ("not_finite_bucket", c_size_t),
        ("not_finite_rank", c_int32),
        ("sent_bytes", c_uint64),
        ("plain_bytes", c_uint64),
    ]


class Piece(ctypes.Structure):
    """tutti_piece"""

    _fields_ = [("data", c_void_p), ("bytes", c_size_t)]


class Object(ctypes.Structure):
    """tutti_object"""

    _fields_ = [("pieces", POINTER(Piece)), ("count", c_size_t)]


class ObjectCall(Checked):
    """tutti_object_call"""

    _fields_ = [
        ("size", c_size_t),
        ("kind", c_int),
        ("root", c_int32),
        ("peer", c_int32),
        ("tag", c_int32),
        ("objects", POINTER(Object)),
        ("count", c_size_t),
        ("type", c_char_p),
        ("most_bytes", c_size_t),
        ("timeout", c_int64),
        ("failure", c_char_p),
    ]


class Arrival(ctypes.Structure):
    """tutti_arrival"""

    _fields_ = [("size", c_size_t), ("from_", c_int32), ("tag", c_int32), ("bytes", c_size_t)]


class LastError(ctypes.Structure):
    """tutti_error"""

    _fields_ = [
        ("size", c_size_t),
        ("status", c_int),
        ("cause", c_int),
        ("rank", c_int32),
        ("call", c_uint64),
        ("text", c_char_p),
    ]
