"""tutti: collective communication among processes.

A program, started by `tutti run -n 4 program.py`:

    import tutti

    world = tutti.init()
    world.all_reduce(x)  # x: an array of any library, in place
    total = world.all_reduce(1.5)  # a number
    request = world.start.all_gather(x, out)  # goes on while the program computes
    request.wait()
"""

from ._collectives import Op
from ._init import init, is_initialized, world
from .arrays import Array
from .communicator import ANY, Arrival, Communicator
from .errors import (
    AbortedError,
    ArgumentError,
    BugError,
    Error,
    MismatchError,
    ObjectError,
    PeerDeadError,
    TimeoutError,
    TransportError,
)
from .gradients import GradientSync, NotFinite, Parameter, StepReport
from .memory import Memory
from .operators import Operator, operator
from .requests import Plan, Request, batch, wait_all

__all__ = [
    "ANY",
    "AbortedError",
    "ArgumentError",
    "Array",
    "Arrival",
    "BugError",
    "Communicator",
    "Error",
    "GradientSync",
    "Memory",
    "MismatchError",
    "NotFinite",
    "ObjectError",
    "Op",
    "Operator",
    "Parameter",
    "PeerDeadError",
    "Plan",
    "Request",
    "StepReport",
    "TimeoutError",
    "TransportError",
    "batch",
    "init",
    "is_initialized",
    "operator",
    "wait_all",
    "world",
]
