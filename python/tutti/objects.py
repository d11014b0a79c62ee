"""Objects of any size between ranks."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, TypeVar

from . import _notify, _quick
from ._declarations import ANY_RANK, OBJECT_KINDS
from ._handles import Handle
from ._probes import probe
from .object_requests import (
    Codec,
    ObjectRequest,
    ObjectStarts,
    call_of,
    check_codec,
    encode_all,
    new_handle,
    start,
)

if TYPE_CHECKING:
    from . import _fast

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

    def __init__(
        self, handle: Handle, rank: int, timeout: int, fast: _fast.Calls | None, notices: _notify.Notices
    ) -> None:
        self._handle = handle
        self._rank = rank
        self._timeout = timeout
        self._fast = fast
        self._notices = notices

    @property
    def start(self) -> ObjectStarts:
        """Calls that return an ObjectRequest at once: all except the reductions."""
        return ObjectStarts(self._handle, self._rank, self._notices)

    def broadcast(
        self, obj: T | None = None, *, root: int = 0, codec: Codec = "pickle", timeout: float | None = None
    ) -> T:
        """Returns the root's object, at the root `obj` itself."""
        if self._rank != root:
            got: list[T] = self._exchange("broadcast", [], codec, timeout, root)
            return got[0]
        self._exchange("broadcast", [obj], codec, timeout, root)
        return obj  # type: ignore[return-value]  # None where the root gives it

    def scatter(
        self, objs: Iterable[T] | None = None, *, root: int = 0, codec: Codec = "pickle", timeout: float | None = None
    ) -> T:
        """Returns object r of the root's on rank r. Other ranks pass none."""
        given = objs if self._rank == root and objs is not None else []
        got: list[T] = self._exchange("scatter", given, codec, timeout, root)
        return got[0]

    def gather(self, obj: T, *, root: int = 0, codec: Codec = "pickle", timeout: float | None = None) -> list[T] | None:
        """Returns all ranks' objects at the root, None elsewhere."""
        got = self._exchange("gather", [obj], codec, timeout, root)
        return got if self._rank == root else None

    def all_gather(self, obj: T, *, codec: Codec = "pickle", timeout: float | None = None) -> list[T]:
        """Returns all ranks' objects."""
        return self._exchange("all_gather", [obj], codec, timeout)

    def all_to_all(self, objs: Iterable[T], *, codec: Codec = "pickle", timeout: float | None = None) -> list[T]:
        """Returns object r of every rank's on rank r."""
        return self._exchange("all_to_all", objs, codec, timeout)

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
        _check_function("reduce", fn)
        values = self.gather(obj, root=root, codec=codec, timeout=timeout)
        return None if values is None else functools.reduce(fn, values)

    def all_reduce(
        self, obj: T, fn: Callable[[T, T], T], *, codec: Codec = "pickle", timeout: float | None = None
    ) -> T:
        """Returns fn(... fn(x0, x1) ..., x(n-1)), which rank 0 computes. An exception of fn is an ObjectError on
        all ranks, with the exception as its cause on rank 0."""
        _check_function("all_reduce", fn)
        values = self.gather(obj, codec=codec, timeout=timeout)
        result: list[T] = []

        def fold(values: list[T]) -> Iterator[T]:
            result.append(functools.reduce(fn, values))
            yield result[0]

        got: list[T] = self._exchange("broadcast", [] if values is None else fold(values), codec, timeout)
        return got[0] if values is None else result[0]

    def send(self, obj: Any, to: int, *, tag: int = 0, codec: Codec = "pickle", timeout: float | None = None) -> None:
        """Sends an object to one rank. Objects of one tag arrive in order."""
        self._exchange("send", [obj], codec, timeout, 0, to, tag)

    def recv(
        self, source: int = ANY_RANK, *, tag: int = 0, codec: Codec = "pickle", timeout: float | None = None
    ) -> Any:
        """Returns the next object of one rank, or of any."""
        return self._exchange("recv", [], codec, timeout, 0, source, tag)[0]

    def _exchange(
        self,
        kind: str,
        given: Iterable[Any],
        codec: Codec,
        timeout: float | None,
        root: int = 0,
        peer: int = 0,
        tag: int = 0,
    ) -> list[Any]:
        """Runs a call, by the extension if possible. Returns the objects that this rank gets."""
        check_codec(kind, codec)
        failure: Exception | None = None
        try:
            objects = given if type(given) is list else list(given)
        except Exception as error:
            failure = error
        if self._fast is not None and codec == "pickle" and timeout is None and failure is None:
            got = self._fast.objects(OBJECT_KINDS[kind], root, peer, tag, objects)
            if type(got) is list:
                return got
            if got is not NotImplemented:
                return self._decode(kind, *got)
        encoded = encode_all(objects, codec) if failure is None else failure
        if kind == "recv" and peer == ANY_RANK:
            peer = probe(self._handle, peer, tag, timeout, self._timeout).source
        places = {"root": root, "peer": peer, "tag": tag}
        return _run(start(self._handle, self._notices, kind, encoded, list, codec, timeout, **places))

    def _decode(self, kind: str, handle: Handle, sender: int) -> list[Any]:
        """The objects of a call that has ended. sender: of all, or -1 if each rank sent one."""
        return _run(ObjectRequest(handle, self._notices, kind, None if sender < 0 else sender, "pickle", None, list))


def _check_function(kind: str, fn: Any) -> None:
    if not callable(fn):
        raise TypeError(f"{kind}: fn is a {type(fn).__name__}, and must be a function of two objects")


_call = call_of("broadcast", "pickle")
_quick.bind_objects(_call, new_handle)


def _run(request: ObjectRequest[T]) -> T:
    try:
        return request.wait()
    finally:
        request.close()  # a call that is pending, as after Ctrl-C, fails the communicator
