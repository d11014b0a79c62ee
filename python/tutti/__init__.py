"""tutti: collective communication among processes.

A program, started by `tutti run -n 4 program.py`:

    import tutti

    world = tutti.init()
    world.all_reduce(x)  # x: an array of any library, in place
    total = world.all_reduce(1.5)  # a number
    request = world.start.all_gather(x, out)  # goes on while the program computes
    request.wait()
"""

from typing import TYPE_CHECKING

from . import _interpreter  # first, before modules that a subinterpreter must not load
from ._collectives import Op
from ._declarations import VERSION as __version__
from ._init import init, is_initialized, world
from .arrays import Array
from ._probes import Arrival
from .communicator import ANY, Communicator
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
from .requests import Plan, Request, batch, wait_all, wait_any

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
    "ObjectRequest",
    "Objects",
    "Op",
    "Operator",
    "Parameter",
    "PeerDeadError",
    "Plan",
    "Request",
    "StepReport",
    "Table",
    "TimeoutError",
    "TransportError",
    "__version__",
    "batch",
    "cuda",
    "init",
    "is_initialized",
    "operator",
    "spawn",
    "sweep",
    "testing",
    "wait_all",
    "wait_any",
    "world",
]

# Modules that take long to import are imported when they are first used.
if TYPE_CHECKING:
    from . import cuda, testing
    from ._spawn import spawn
    from .object_requests import ObjectRequest
    from .objects import Objects
    from .table import Table, sweep
else:
    _LATER = {
        "ObjectRequest": "object_requests",
        "Objects": "objects",
        "Table": "table",
        "cuda": "cuda",
        "spawn": "_spawn",
        "sweep": "table",
        "testing": "testing",
    }

    def __getattr__(name):
        import importlib

        if name not in _LATER:
            raise AttributeError(f"module 'tutti' has no attribute {name!r}")
        module = importlib.import_module("." + _LATER[name], __name__)
        globals()[name] = value = module if name == _LATER[name] else getattr(module, name)
        return value
