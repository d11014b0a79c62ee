"""ddp_hook: the gradients of DistributedDataParallel, reduced by tutti on any backend."""

from __future__ import annotations

import zlib
from typing import Any, Unpack

import torch
from torch import Tensor
from torch._C._distributed_c10d import GradBucket
from torch.futures import Future
from torch.nn.parallel import DistributedDataParallel

from .. import _init
from ..communicator import Communicator
from ..errors import ArgumentError, Error
from ..gradients import GradientOptions, GradientSync, StepReport
from ..requests import Request
from ._group_calls import GroupCalls
from ._share import Shared, share
from ._tensors import as_real

_NOTE = (
    "DistributedDataParallel cannot go on after a failed backward: make a new one from the model, or use "
    "tutti.torch.attach, which can"
)
_FIXED = {"storage": "copies", "order": "reversed", "bucket_bytes": 0, "first_bucket_bytes": 0}


class Hook:
    """The result of `ddp_hook`. world: the ranks. sync: the GradientSync over DDP's buckets, from the second
    step on; None before."""

    def __init__(self, ddp: DistributedDataParallel, world: Communicator, options: GradientOptions) -> None:
        self.world = world
        self.sync: GradientSync | None = None
        self._options = options
        self._names = {id(p): name for name, p in ddp.module.named_parameters()}
        self._step = _Step()
        self._plan: list[Tensor] = []  # the buckets of sync, in DDP's order
        self._shared: dict[int, Shared] = {}  # by address
        self._has_run = False

    @property
    def report(self) -> StepReport | None:
        """The report of the last step; None before the second one."""
        return self.sync.report if self.sync is not None else None

    def explain(self) -> str:
        """The buckets, and the algorithm of the largest one."""
        if not self._plan:
            return "the buckets are known from the second step on"
        sizes = [bucket.numel() * bucket.element_size() for bucket in self._plan]
        visible = sum(address in self._shared for address in map(Tensor.data_ptr, self._plan))
        choice = self.world.explain("all_reduce", max(sizes), op="average")
        return f"{len(sizes)} buckets of {min(sizes)} to {max(sizes)} bytes, {visible} seen by peers\n{choice}"

    def _run(self, _: object, bucket: GradBucket) -> Future[Tensor]:
        """Called by DDP for each bucket, in order. The last bucket's call waits for all."""
        future: Future[Tensor] = Future()
        try:
            self._add(bucket, future)
        except Error as error:
            self._step = _Step()
            error.add_note(_NOTE)
            raise
        return future

    def _add(self, bucket: GradBucket, future: Future[Tensor]) -> None:
        buffer, step = bucket.buffer(), self._step
        k = len(step.buffers)
        step.buffers.append(buffer)
        step.futures.append(future)
        if not self._has_run:  # DDP makes other buckets after the first step
            step.requests.append(self.world.start.all_reduce(buffer, op="average"))
        elif step.is_planned and k < len(self._plan) and _is_like(buffer, self._plan[k]):
            self._begin(k, buffer)
        else:
            self._unplan(k)
            step.names.append(self._name_of(k, bucket))
        if bucket.is_last():
            self._finish()

    def _begin(self, k: int, buffer: Tensor) -> None:
        """Marks a bucket as ready."""
        assert self.sync is not None
        if buffer.data_ptr() != self._plan[k].data_ptr():  # as of DDP's join, which reduces zeros
            self._plan[k].copy_(buffer)
            self._step.copied.append(k)
        self.sync.ready(len(self._plan) - 1 - k)

    def _unplan(self, k: int) -> None:
        """Handles buckets that are not those of the plan: the end of the step makes a new plan."""
        if self._step.is_planned and k > 0:
            raise ArgumentError("DDP's buckets have changed within a step")
        self._step.is_planned = False

    def _finish(self) -> None:
        step, self._step = self._step, _Step()
        for request in step.requests:
            request.wait()
        if self._has_run:
            if not step.is_planned:
                self._make_plan(step)
            self._wait(step)
        self._has_run = True
        for future, buffer in zip(step.futures, step.buffers):
            future.set_result(buffer)

    def _wait(self, step: _Step) -> None:
        assert self.sync is not None
        self.sync.wait()
        for k in step.copied:
            step.buffers[k].copy_(self._plan[k])

    def _make_plan(self, step: _Step) -> None:
        """Makes the GradientSync of these buckets, in memory that peers see, and reduces them."""
        if self.sync is not None:
            self.sync.close()
        self._shared = {}
        for buffer in step.buffers:
            shared = share(self.world, buffer)
            if shared is not None:
                self._shared[buffer.data_ptr()] = shared
        self._plan = step.buffers
        backwards = list(zip(step.names, map(as_real, step.buffers)))[::-1]  # GradientSync begins with the last
        options: GradientOptions = {**self._options, **_FIXED}  # type: ignore[typeddict-item]
        self.sync = GradientSync(self.world, dict(backwards), **options)
        for i in reversed(range(len(backwards))):
            self.sync.ready(i)

    def _name_of(self, k: int, bucket: GradBucket) -> str:
        """A text such as "bucket 0: fc2.weight to fc1.bias"."""
        names = [self._names.get(id(p), "?") for p in bucket.parameters()]
        mark = zlib.crc32(" ".join(names).encode())
        return f"bucket {k}: {names[0]} to {names[-1]} ({mark:08x})"


class _Step:
    """The buckets of a step that have come so far."""

    def __init__(self) -> None:
        self.buffers: list[Tensor] = []
        self.futures: list[Future[Tensor]] = []
        self.requests: list[Request[Any]] = []
        self.names: list[str] = []
        self.copied: list[int] = []
        self.is_planned = True


def _is_like(a: Tensor, b: Tensor) -> bool:
    return a.numel() == b.numel() and a.dtype == b.dtype


def ddp_hook(
    ddp: DistributedDataParallel, *, world: Communicator | None = None, **options: Unpack[GradientOptions]
) -> Hook:
    """Lets tutti reduce the gradients of a DistributedDataParallel, whose own group may be of any backend.

        model = DDP(Net(), gradient_as_bucket_view=True)
        hook = tutti.torch.ddp_hook(model, norm=True)

    Called once, before the first backward. Errors are raised by backward, and end the use of this
    DistributedDataParallel. Collective.

    world: the ranks, those of the group of DDP in the same order; else made of that group. options: those
    of tutti.GradientSync except storage, order and the sizes of buckets, which are DDP's.
    """
    for key in _FIXED:
        if key in options:
            raise ArgumentError(f"ddp_hook: {key} is not an option, since buckets are those of DDP")
    if any(p.device.type != "cpu" for p in ddp.module.parameters()):
        raise ArgumentError("ddp_hook is for models on the CPU")
    hook = Hook(ddp, world or _world_of(ddp.process_group), options)

    def tutti_hook(state: object, bucket: GradBucket) -> Future[torch.Tensor]:
        return hook._run(state, bucket)

    tutti_hook.__annotations__ = {}  # DDP would compare them, and they are texts here
    ddp.register_comm_hook(None, tutti_hook)
    return hook


def _world_of(group: Any) -> Communicator:
    """A communicator of the ranks of a group."""
    from .backend import world_over

    if isinstance(group, GroupCalls):
        return group._world
    if _init.is_initialized():
        world = _init.world()
        if (world.rank, world.size) == (group.rank(), group.size()):
            return world
    return world_over(group)
