"""Objects of any size between ranks."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, Iterable, TypeVar

from ._library import ANY_RANK
from .object_requests import Codec, ObjectRequest, ObjectStarts

if TYPE_CHECKING:
    from .communicator import Communicator

T = TypeVar("T")


class Objects:
    """Calls that move objects, whose sizes may differ between ranks: world.objects.

    codec: how objects become bytes, on all ranks the same. "pickle" has every class that Python can pickle, and
        sends the memory of numpy arrays and the like without a copy into the pickle. Unpickling runs code that
        the sender chooses, so all ranks must be trusted. "data" has None, bool, int, float, str, bytes, list,
        tuple, dict and numpy arrays only, at most 1 GiB of them, and decoding never runs code.
    timeout: seconds; by default the communicator's.

    An array of 1 MiB or more that arrives lies in memory with all other objects of the call, which is freed when the
    last such array is gone.

    Errors: an object that cannot be encoded, a wrong number of objects, or another codec is the same ObjectError
    on all ranks. Bytes that cannot be decoded are an ObjectError on the rank that decodes them. The communicator
    stays usable after either.
    """

    def __init__(self, communicator: Communicator) -> None:
        self._communicator = communicator

    @property
    def start(self) -> ObjectStarts:
        """Calls that return an ObjectRequest at once: all but the reductions."""
        return ObjectStarts(self._communicator)

    def broadcast(
        self, obj: T | None = None, *, root: int = 0, codec: Codec = "pickle", timeout: float | None = None
    ) -> T:
        """Returns the root's object, at the root `obj` itself."""
        return _run(self.start.broadcast(obj, root=root, codec=codec, timeout=timeout))

    def scatter(
        self, objs: Iterable[T] | None = None, *, root: int = 0, codec: Codec = "pickle", timeout: float | None = None
    ) -> T:
        """Returns object r of the root's on rank r. Other ranks pass none."""
        return _run(self.start.scatter(objs, root=root, codec=codec, timeout=timeout))

    def gather(self, obj: T, *, root: int = 0, codec: Codec = "pickle", timeout: float | None = None) -> list[T] | None:
        """Returns all ranks' objects at the root, None elsewhere."""
        return _run(self.start.gather(obj, root=root, codec=codec, timeout=timeout))

    def all_gather(self, obj: T, *, codec: Codec = "pickle", timeout: float | None = None) -> list[T]:
        """Returns all ranks' objects."""
        return _run(self.start.all_gather(obj, codec=codec, timeout=timeout))

    def all_to_all(self, objs: Iterable[T], *, codec: Codec = "pickle", timeout: float | None = None) -> list[T]:
        """Returns object r of every rank's on rank r."""
        return _run(self.start.all_to_all(objs, codec=codec, timeout=timeout))

    def reduce(
        self,
        obj: T,
        fn: Callable[[T, T], T],
        *,
        root: int = 0,
        codec: Codec = "pickle",
        timeout: float | None = None,
    ) -> T | None:
        """Returns fn(... fn(x0, x1) ..., x(n-1)) at the root, which computes it, and None elsewhere. An exception
        of fn is raised at the root alone."""
        values = self.gather(obj, root=root, codec=codec, timeout=timeout)
        return None if values is None else functools.reduce(fn, values)

    def all_reduce(
        self, obj: T, fn: Callable[[T, T], T], *, codec: Codec = "pickle", timeout: float | None = None
    ) -> T:
        """Returns fn(... fn(x0, x1) ..., x(n-1)), which rank 0 computes. An exception of fn is an ObjectError on
        all ranks, with the exception as its cause on rank 0."""
        values = self.gather(obj, codec=codec, timeout=timeout)
        result: list[T] = []

        def fold() -> list[T]:
            if values is not None:
                result.append(functools.reduce(fn, values))
            return result

        def received(got: list[T]) -> T:
            return got[0] if values is None else result[0]

        request: ObjectRequest[T] = self.start.begin("broadcast", fold, received, codec, timeout)
        return _run(request)

    def send(self, obj: Any, to: int, *, tag: int = 0, codec: Codec = "pickle", timeout: float | None = None) -> None:
        """Sends an object to one rank. Objects of one tag arrive in order."""
        _run(self.start.send(obj, to, tag=tag, codec=codec, timeout=timeout))

    def recv(
        self, source: int = ANY_RANK, *, tag: int = 0, codec: Codec = "pickle", timeout: float | None = None
    ) -> Any:
        """Returns the next object of one rank, or of any."""
        if source == ANY_RANK:
            source = self._communicator.probe(source, tag, timeout=timeout).source
        return _run(self.start.recv(source, tag=tag, codec=codec, timeout=timeout))


def _run(request: ObjectRequest[T]) -> T:
    try:
        return request.wait()
    finally:
        request.close()  # a call that is pending, as after Ctrl-C, fails the communicator
