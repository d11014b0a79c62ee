"""The backend "tutti" of torch.distributed: `dist.init_process_group("tutti")`."""

from __future__ import annotations

import inspect
import types
import weakref
from datetime import timedelta
from typing import Any, Mapping, Sequence, TypeVar

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore
from torch.distributed import ProcessGroup, Work

from ..communicator import Communicator
from ..errors import ArgumentError
from . import _rendezvous
from ._compile import leave_untraced
from ._group_calls import GroupCalls, leave
from ._observed import BackendCalls, ObservedCalls
from ._store import world_over_store
from ._works import kept
from .errors import as_dist_errors, of_dist

_Backend: type[Any] = getattr(torch._C._distributed_c10d, "Backend", object)
_DEVICES = ["cpu"]

_Made = TypeVar("_Made", bound=GroupCalls)

_default: weakref.ref[Communicator] | None = None  # of the default group


class Options:
    """Options of `init_process_group("tutti", pg_options=...)`: those of tutti.init, such as
    progress_thread=True, with which calls advance while the program is in none. Equal on all ranks."""

    def __init__(self, **options: Any) -> None:
        self.options = options


class TuttiBackend(BackendCalls, _Backend):  # type: ignore[misc]
    """The calls that come from C++, and those of a group with other backends beside."""

    def __init__(self, world: Communicator, timeout: Any) -> None:
        _Backend.__init__(self, world.rank, world.size)
        self._world = world
        self._options = _Backend.Options("tutti", timeout) if hasattr(_Backend, "Options") else None

    @property
    def options(self) -> Any:
        return self._options

    # These properties must exist: the base's own call the subclass, and would recurse without an end.

    @property
    def supports_splitting(self) -> bool:
        return True

    @property
    def supports_coalescing(self) -> bool:
        return False

    @property
    def supports_shrinking(self) -> bool:
        return False

    @property
    def supports_reconfigure(self) -> bool:
        return False

    @property
    def supports_window(self) -> bool:
        return False

    @property
    def _supports_time_estimate(self) -> bool:
        return False

    def split(self, store: Any, ranks: Sequence[int], opts: Any = None) -> TuttiBackend | None:
        """The backend of a part of a group with other backends beside."""
        timeout = getattr(opts, "_timeout", None) or self._options._timeout
        world = _part_of(self._world, ranks)
        return None if world is None else _owning(TuttiBackend(world, timeout), timeout)


class TuttiGroup(ObservedCalls, ProcessGroup):  # type: ignore[misc]
    """A group whose calls from Python do not pass through C++. Calls from C++ find the backend inside."""

    def __init__(self, store: Any, world: Communicator, timeout: Any) -> None:
        ProcessGroup.__init__(self, store, world.rank, world.size)
        self._store = store
        self._world = world
        self._backend = TuttiBackend(world, timeout)
        _add_backend(self, self._backend)

    def _made_dispatching(self) -> ProcessGroup:
        group: ProcessGroup = ProcessGroup(self._store, self._world.rank, self._world.size)
        _add_backend(group, self._backend)
        group._set_group_name(self.group_name)
        group._set_group_desc(self.group_desc)
        return group

    def _get_sequence_number_for_group(self) -> int:
        return self._count + self._backend._count

    def split_group(
        self,
        new_ranks: Sequence[int],
        timeout: timedelta | None = None,
        opts: Any = None,
        group_name: Any = None,
        group_desc: str | None = None,
        device_types: Any = None,
    ) -> TuttiGroup | None:
        """A group of some ranks, in their order; None on other ranks. For dist.split_group."""
        if opts is not None:
            raise of_dist(
                ArgumentError("split_group: the options of a part are those of its group: pass no pg_options")
            )
        world = _part_of(self._world, new_ranks)
        if world is None:
            return None
        timeout = timeout or self._backend.options._timeout
        name: Any = group_name or f"{self.group_name}:split:{','.join(map(str, new_ranks))}"
        group = _owning(TuttiGroup(PrefixStore(f"{name}/", self._store), world, timeout), timeout)
        group._set_group_name(name)
        group._set_group_desc(group_desc or "")
        return group

    def set_timeout(self, timeout: timedelta) -> None:
        super().set_timeout(timeout)
        self._backend.set_timeout(timeout)

    _set_default_timeout = set_timeout


def _add_backend(group: ProcessGroup, backend: TuttiBackend) -> None:
    custom = ProcessGroup.BackendType.CUSTOM
    for device in _DEVICES:
        group._register_backend(torch.device(device), custom, backend)
    group._set_default_backend(custom)


class PlainGroup(GroupCalls, ProcessGroup):  # type: ignore[misc]
    """A group for versions of PyTorch whose backends are in C++ only."""

    supports_coalescing = False

    def __init__(self, world: Communicator, timeout: timedelta) -> None:
        ProcessGroup.__init__(self, world.rank, world.size)
        self._world = world
        self._options = types.SimpleNamespace(_timeout=timeout)
        self._group_name = ""

    @property
    def options(self) -> Any:
        return self._options

    def setGroupName(self, name: str) -> None:
        self._group_name = name

    def getGroupName(self) -> str:
        return self._group_name

    def _set_group_name(self, name: str) -> None:
        self._group_name = name

    @property
    def group_name(self) -> Any:
        return self._group_name

    def _returned(self, work: Work) -> Work:
        return kept(work)

    @property
    def _device_types(self) -> list[torch.device]:
        return [torch.device(device) for device in _DEVICES]

    def _get_backend(self, _: Any) -> Any:
        return self


def _can_be_derived() -> bool:
    """Whether backends can be written in Python."""
    try:
        type("Probe", (_Backend,), {})(0, 1)
    except TypeError:
        return False
    return _Backend is not object


HAS_PY_BACKEND = _can_be_derived()


def _communicator_of(opts: Any, options: dict[str, Any]) -> Communicator:
    """The communicator of a new group: a part of the default group's one, or a world of its own."""
    global _default
    ranks = list(opts.global_ranks_in_group)
    parent = _default() if _default is not None else None
    if ranks and parent is not None and parent._handle.is_open and not options:
        return parent.group(ranks)
    seconds = opts.timeout.total_seconds()
    world = world_over_store(_store_of(opts), opts.group_rank, opts.group_size, seconds, **options)
    if not ranks:
        _default = weakref.ref(world)
    return world


def _store_of(opts: Any) -> Any:
    """The store of a new group. That of PyTorch depends on the number of groups that this process has made or failed
    to make: a rank that tries again would not find the others there."""
    store = _locals_of_maker().get("store")
    ranks = ",".join(map(str, opts.global_ranks_in_group))
    return opts.store if store is None else PrefixStore(f"ranks {ranks or 'all'}/", store)


def _part_of(world: Communicator, ranks: Sequence[int]) -> Communicator | None:
    """A communicator of some ranks, or None if this rank is not among them."""
    if world.rank not in ranks:
        return None
    with as_dist_errors():
        return world.group(list(ranks))


def _owning(made: _Made, timeout: timedelta) -> _Made:
    """A group or backend with its timeout, which leaves its communicator when it ends."""
    if timeout.total_seconds() * 1e9 != made._world._timeout:
        made._timeout = timeout.total_seconds()
    made._world._copy_bytes()
    weakref.finalize(made, leave, made._world).atexit = False  # older versions of PyTorch do not call shutdown
    return made


def world_over(group: ProcessGroup) -> Communicator:
    """A communicator of the ranks of a group of any backend. Collective over them."""
    own: Any = dist.distributed_c10d._get_process_group_store(group)
    return world_over_store(own, group.rank(), group.size(), 300.0)


def _is_mixed(opts: Any) -> bool:
    """Whether the group has another backend for other devices. Raises DistError if tutti cannot be in it."""
    backends = _backends_by_device()
    group = getattr(opts, "process_group", None)
    is_mixed = len(set(backends.values())) > 1 or (group is not None and group.name() != "custom")
    if is_mixed and any(name == "tutti" and device not in _DEVICES for device, name in backends.items()):
        raise of_dist(ArgumentError('tutti is for tensors on the CPU: mix it as "cpu:tutti,cuda:nccl"'))
    if is_mixed and not HAS_PY_BACKEND:
        raise of_dist(
            ArgumentError(
                "this PyTorch cannot mix tutti with other backends in one group: make the group with the other "
                'backend, and a second one by dist.new_group(backend="tutti")'
            )
        )
    return is_mixed


def _backends_by_device() -> dict[str, str]:
    """The backends of the group that PyTorch is about to make. It does not pass them, and a group that tutti
    makes would replace the other backends without an error."""
    config = _locals_of_maker().get("backend_config")
    return dict(config.get_device_backend_map()) if config is not None else {}


def _locals_of_maker() -> Mapping[str, Any]:
    """The variables of the function of PyTorch that makes the group."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != "_new_process_group_helper":
        frame = frame.f_back
    return frame.f_locals if frame is not None else {}


def create(opts: Any, backend_options: Any = None) -> Any:
    """Makes the group, or the backend of a group with others."""
    if backend_options is not None and not isinstance(backend_options, Options):
        raise of_dist(ArgumentError("pg_options of the backend tutti are tutti.torch.Options"))
    is_mixed = _is_mixed(opts)
    with as_dist_errors():
        world = _communicator_of(opts, backend_options.options if backend_options else {})
    made: GroupCalls
    if not HAS_PY_BACKEND:
        made = PlainGroup(world, opts.timeout)
    elif is_mixed:
        made = TuttiBackend(world, opts.timeout)
    else:
        made = TuttiGroup(opts.store, world, opts.timeout)
    return _owning(made, opts.timeout)


def register() -> None:
    """Registers the backend. `import tutti.torch` does it, and PyTorch from 2.14 on by itself."""
    if not dist.is_available() or "TUTTI" in dist.Backend._plugins:
        return
    function: Any = dist.Backend.register_backend
    devices = {"devices": _DEVICES} if "devices" in inspect.signature(function).parameters else {}
    function("tutti", create, extended_api=True, **devices)
    leave_untraced()
    _rendezvous.register()
