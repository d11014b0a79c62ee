"""Common parts of all calls: how they run, and the errors of tutti as those of MPI and mpi4py."""

from __future__ import annotations

from typing import Any, Callable

import tutti

from ._messages import IN_PLACE, Missing
from ._requests import Request

PROC_NULL = -2
ERR_ARG, ERR_ROOT = 13, 8


class Exception_(RuntimeError):
    """mpi4py.MPI.Exception"""


class Refused(Exception_, BufferError, TypeError, ValueError, KeyError):  # type: ignore[misc]
    """tutti.ArgumentError or tutti.ObjectError, where MPI and mpi4py have these classes."""

    __str__ = Exception_.__str__

    def Get_error_class(self) -> int:
        return ERR_ROOT if "root" in str(self) else ERR_ARG


def call(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Calls tutti. Arguments that it rejects must be an ArgumentError, and nothing else."""
    try:
        return function(*arguments, **options)
    except (tutti.ArgumentError, tutti.ObjectError) as error:
        raise Refused(str(error)) from error
    except (tutti.Error, Missing):
        raise
    except Exception as error:
        raise AssertionError(f"tutti raised {error!r}, and no tutti.Error") from error


def is_in_place(spec: Any) -> bool:
    return spec is IN_PLACE or spec is None


class Base:
    """A communicator. world: of tutti; None: the null one."""

    def __init__(self, other: Any = None) -> None:
        self.world: Any = other.world if isinstance(other, Base) else other
        self.receives: list[Any] = []  # for which no message has come
        self.rank, self.size = (self.world.rank, self.world.size) if self.world is not None else (-1, 0)

    def Get_rank(self) -> int:
        return self.rank

    def Get_size(self) -> int:
        return self.size

    def Dup(self) -> Any:
        return type(self)(self.world.split(0))

    def Split(self, color: int, key: int = 0) -> Any:
        return type(self)(self.world.split(color, key))

    def Free(self) -> None:
        self.world.close()

    def Create_intercomm(self, *_: Any) -> None:
        raise Missing("intercommunicators")

    # How a call of tutti runs. end: what follows it.

    def _block(self, name: str, *arrays: Any, end: Callable[[], None] | None = None, **options: Any) -> None:
        if Request.progress:
            self._start(name, *arrays, end=end, **options).wait()
            return
        call(getattr(self.world, name), *arrays, **options)
        if end is not None:
            end()

    def _start(self, name: str, *arrays: Any, end: Callable[[], None] | None = None, **options: Any) -> Request:
        started = call(getattr(self.world.start, name), *arrays, **options)
        pending = [end] if end is not None else []

        def step() -> bool:
            if not call(started.test):
                return False
            while pending:
                pending.pop()()
            return True

        return Request(step=step)
