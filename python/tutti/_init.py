"""init: the communicator of all ranks that were started together."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any, TypedDict, Unpack

from . import _declarations
from ._apart import make, make_apart
from ._callbacks import Callback, Failures, watch
from ._declarations import DETERMINISMS, AllGatherFunction
from ._handles import Handle, Turn
from ._library import library
from ._numbers import index_of
from ._options import encoded, enumerator, nanoseconds
from .communicator import Communicator
from .errors import ArgumentError, check

_DEFAULT_TIMEOUT = 300_000_000_000  # nanoseconds of a call, as of tutti::CommunicatorOptions


class InitOptions(TypedDict, total=False):
    """Further options of init.

    is_private: whether only ranks of this job can read what a communicator as source exchanges, so that it
        may carry the job's secret; else that is so for those of mpi4py only.
    heartbeat_timeout: seconds after which a silent rank on another host is given up.
    address: interface or address at which other hosts reach this one.
    payload_checksum: whether payload over TCP has a checksum of its own.
    network_megabits: speed of the network between hosts, in Mbit/s; else it is measured.
    insecure: allows a network on which peers are not authenticated.
    tuning: the file of `tutti tune`, or "none". topology: the network between hosts.
    call_timeout: seconds of a call without its own timeout.
    call_transport: transport of calls without their own. determinism: of calls without their own.
    segments_in_flight: segments of one call under way. cache_bytes: memory for prepared calls.
    """

    is_private: bool
    heartbeat_timeout: float
    address: str
    payload_checksum: bool
    network_megabits: int
    insecure: bool
    tuning: str
    topology: str
    call_timeout: float
    call_transport: str
    determinism: str
    segments_in_flight: int
    cache_bytes: int


_KNOWN = frozenset(InitOptions.__annotations__)
_TEXTS = ("address", "tuning", "topology")
_NUMBERS = ("payload_checksum", "network_megabits", "insecure")

_lock = threading.Lock()
_worlds: list[Communicator] = []
own = threading.local()
"""own.world: the world of a thread that is a rank by itself, as with spawn(..., threads=True)."""


def init(
    source: str | Any | None = None,
    *,
    rank: int | None = None,
    size: int | None = None,
    transport: str = "auto",
    timeout: float | None = None,
    tls: bool = False,
    secret_file: str = "",
    progress_thread: bool = False,
    **options: Unpack[InitOptions],
) -> Communicator:
    """Connects to all ranks that were started together: by `tutti run`, mpirun, srun or torchrun.
    Without any of them the world has one rank.

    source: the meeting place, as "tcp://host:port", "unix://name" or "file:///path"; None: the
        launcher's. Or a communicator of mpi4py, or an object with the same methods Get_rank, Get_size and
        allgather, whose ranks become those of the world.
    rank, size: both or none; None: the launcher's.
    transport: "auto", "shm" or "tcp".
    timeout: seconds for which ranks wait for each other.
    tls: whether TCP is encrypted. secret_file: a file of mode 0600 with the job's secret.
    progress_thread: whether calls go on while the program is in none.

    May be called again, for another world. Raises TimeoutError, which names missing ranks;
    MismatchError, ArgumentError or TransportError.
    """
    for key in options:
        if key not in _KNOWN:
            raise TypeError(f"init() has no option {key!r}; there are {', '.join(sorted(_KNOWN))}")
    if (rank is None) != (size is None):
        raise ArgumentError("init: rank and size must be given both, or none of them")
    if "is_private" in options and (source is None or isinstance(source, str)):
        raise ArgumentError("init: is_private is for a communicator as source")
    inner = _communicator_options(options, progress_thread)
    given = _init_options(options, inner)
    given.transport = encoded(transport, "transport")
    given.timeout = nanoseconds(timeout, "init")
    given.tls = bool(tls)
    given.secret_file = encoded(secret_file, "secret_file")
    if size is not None:
        given.rank, given.ranks = index_of(rank, "init: rank"), index_of(size, "init: size")
    handle = Handle(library.tutti_communicator_free, "communicator", Turn())

    def build(made: Handle) -> Communicator:
        world = Communicator(made, inner.timeout, progress_thread)
        _worlds.append(world)
        return world

    if source is None or isinstance(source, str):
        given.url = source.encode() if source else None
        world = make_apart(handle, lambda result: library.tutti_init(given, result), build)
        assert world is not None
        return world
    return make(handle, lambda result: _init_over(source, given, options.get("is_private"), result), build)


def _communicator_options(options: InitOptions, progress_thread: bool) -> Any:
    inner = _declarations.CommunicatorOptions()
    library.tutti_communicator_options_defaults(inner, ctypes.sizeof(inner))
    inner.timeout = nanoseconds(options.get("call_timeout"), "init") or inner.timeout or _DEFAULT_TIMEOUT
    inner.progress_thread = bool(progress_thread)
    inner.transport = encoded(options.get("call_transport", ""), "call_transport")
    inner.determinism = enumerator(DETERMINISMS, options.get("determinism", "default"), "determinism")
    in_flight = options.get("segments_in_flight", inner.segments_in_flight)
    inner.segments_in_flight = index_of(in_flight, "init: segments_in_flight")
    inner.cache_bytes = index_of(options.get("cache_bytes", inner.cache_bytes), "init: cache_bytes", 64)
    return inner


def _init_options(options: InitOptions, inner: Any) -> Any:
    given = _declarations.InitOptions()
    library.tutti_init_options_defaults(given, ctypes.sizeof(given))
    given.communicator = ctypes.pointer(inner)
    values: dict[str, Any] = dict(options)
    for name in _TEXTS:
        setattr(given, name, encoded(values.get(name, ""), name))
    for name in _NUMBERS:
        setattr(given, name, index_of(values.get(name, 0), f"init: {name}"))
    given.heartbeat_timeout = nanoseconds(options.get("heartbeat_timeout"), "init") or given.heartbeat_timeout
    return given


def _init_over(source: Any, given: Any, is_private: bool | None, result: Handle) -> int:
    """Starts a world of the ranks of another communicator, by its own exchange of bytes."""
    for method in ("allgather", "Get_rank", "Get_size"):
        if not hasattr(source, method):
            raise ArgumentError(
                f"init: a {type(source).__name__} is no source: pass a URL, or a communicator of mpi4py, "
                f"which has the method {method}"
            )
    package, name = type(source).__module__.partition(".")[0], type(source).__name__
    ranks = source.Get_size()

    def exchange(_: int, own: int, bytes: int, everything: int) -> None:
        parts = source.allgather(ctypes.string_at(own, bytes))
        if [len(part) for part in parts] != [bytes] * ranks:
            raise ArgumentError(f"init: allgather of a {name} did not return {ranks} parts of {bytes} bytes")
        ctypes.memmove(everything, b"".join(parts), bytes * ranks)

    failures = Failures()
    is_of_mpi = package == "mpi4py"
    channel = _declarations.Channel(
        size=ctypes.sizeof(_declarations.Channel),
        rank=source.Get_rank(),
        ranks=ranks,
        name=(package if is_of_mpi else name).encode(),
        is_private=is_of_mpi if is_private is None else bool(is_private),
        all_gather=AllGatherFunction(Callback(exchange, failures)),  # a lost one leaves no own bytes
    )
    watch()
    status: int = library.tutti_init_over(channel, given, result)
    failure = failures.take()
    if failure is not None:
        raise failure
    return status


def _open_world() -> Communicator | None:
    world: Communicator | None = getattr(own, "world", None)
    if world is not None and world._handle.is_open:
        return world
    _worlds[:] = [world for world in _worlds if world._handle.is_open]
    return _worlds[0] if _worlds else None


def is_initialized() -> bool:
    """Whether there is a world: the communicator of an init that was not closed."""
    return _open_world() is not None


def world() -> Communicator:
    """The communicator of the first init that was not closed. If there is none, it is made here, as by
    init()."""
    with _lock:
        return _open_world() or init()


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)
