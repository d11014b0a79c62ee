"""attach: a model whose gradients are reduced over all ranks, without DistributedDataParallel."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterable, Iterator, Unpack

import torch
from torch import Tensor
from torch.nn import Module
from torch.optim import Optimizer
from torch.utils.dlpack import from_dlpack

from .. import _init
from ..communicator import Communicator
from ..errors import ArgumentError
from ..gradients import GradientOptions, GradientSync, StepReport
from ._hooks import after_accumulation, before_step
from ._tensors import as_real, broadcast, in_one_piece


class Attached:
    """The result of `attach`: the gradients of a model, reduced while backward computes others.

    world: the ranks. sync: the GradientSync. report: of the last step, or None.
    """

    def __init__(
        self, model: Module, world: Communicator, divide_by_initial_world_size: bool, options: GradientOptions
    ) -> None:
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        if not named:
            raise ArgumentError("attach: no parameter of the model requires a gradient")
        self.world = world
        self._model = model
        self._parameters = [p for _, p in named]
        options.setdefault("storage", "views")
        if options["storage"] != "views":
            raise ArgumentError("attach: gradients lie in memory that peers see: storage is always 'views'")
        self._divides_by_all = divide_by_initial_world_size and options.get("average", True)
        self._max_norm = options.get("max_norm", 0.0)
        self.sync = GradientSync(world, {name: _elements_of(name, p) for name, p in named}, **options)
        self._views = [self._view(i, p) for i, p in enumerate(self._parameters)]
        self._is_accumulating = False
        self._is_pending = False  # whether backward has run since the last wait
        self._has_waited = False  # whether a wait has succeeded since
        self._stepped: set[int] = set()  # optimizers whose steps have used that wait
        self._removers = [after_accumulation(p, self._hook_of(i)) for i, p in enumerate(self._parameters)]
        broadcast(world, [x for x in [*model.parameters(), *model.buffers()]])

    @property
    def report(self) -> StepReport | None:
        return self.sync.report

    def _view(self, i: int, parameter: Tensor) -> Tensor:
        """The gradient of a parameter, where peers see it, with the parameter's strides."""
        flat = from_dlpack(self.sync.view(i)).view(-1)
        if parameter.is_complex():
            flat = torch.view_as_complex(flat.view(-1, 2))
        return flat.as_strided(parameter.shape, _strides_of(parameter))

    def _hook_of(self, i: int) -> Callable[[Tensor], None]:
        view = self._views[i]
        ready, accumulated = self.sync.ready, self.sync.accumulated

        def gradient_computed(parameter: Tensor) -> None:
            gradient = parameter.grad
            assert gradient is not None
            if gradient is not view:
                if gradient.is_sparse:
                    raise ArgumentError(
                        "attach: a gradient is sparse: use dense ones, such as nn.Embedding(sparse=False)"
                    )
                view.copy_(gradient)
                parameter.grad = view
            self._is_pending = True
            if self._is_accumulating:
                accumulated(i)
            else:
                ready(i)

        return gradient_computed

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Gradients of backward in the block are added up, and not reduced: the next backward outside
        reduces them."""
        before, self._is_accumulating = self._is_accumulating, True
        try:
            yield
        finally:
            self._is_accumulating = before

    def wait(self) -> StepReport:
        """Waits until all gradients are the means over all ranks. `optimizer.step()` calls it if the program has
        not. Call it yourself before you clip gradients.

        If ranks' steps differ, or backward has failed on one of them, the step is void: ArgumentError
        is raised on all ranks, gradients are of no use, and the next step may follow.
        """
        self._is_pending = self._has_waited = False
        self._stepped.clear()
        report = self.sync.wait()
        if self._divides_by_all and report.active < self.world.size:
            report = self._divided_by_all(report)
        self._has_waited = True
        for parameter, view in zip(self._parameters, self._views):
            if parameter.grad is not view:
                parameter.grad = view
        return report

    def _divided_by_all(self, report: StepReport) -> StepReport:
        """Turns means over the ranks that took part into those over all ranks: others have zeros."""
        share = report.active / self.world.size
        factor = share
        if self._max_norm and report.norm > 0:  # the gradients are clipped, and the norm is that of before
            factor = min(report.norm * share, self._max_norm) / min(report.norm, self._max_norm)
        for view in self._views:
            view.mul_(factor)
        self.sync.report = report._replace(norm=report.norm * share)
        return self.sync.report

    def join(self) -> int:
        """For ranks that run out of data: takes part in the steps of others until no rank has data left;
        then all ranks get the weights of one that had most. All ranks call it. Returns the number of
        others' steps."""
        steps = self.sync.join()
        size = self.world.size
        root = self.world.all_reduce(self.world.rank if steps == 0 else size, op="min")
        broadcast(self.world, [*self._model.parameters(), *self._model.buffers()], int(root) % size)
        return steps

    def average_buffers(self) -> None:
        """Makes buffers of real and complex numbers, such as running means, the mean of all ranks'. Collective."""
        of_numbers = ((name, x) for name, x in self._model.named_buffers() if x.is_floating_point() or x.is_complex())
        buffers = {name: as_real(x) for name, x in of_numbers}
        self.sync.average_buffers(buffers)

    def add_optimizer(self, optimizer: Optimizer) -> None:
        """Lets an optimizer's step wait for the gradients first."""

        def wait_before(_: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            closure = args[1] if len(args) > 1 else kwargs.get("closure")  # args[0] is the optimizer
            if closure is None:
                self._wait_before(id(optimizer))
                return None

            def closure_with_wait() -> Any:
                with torch.enable_grad():
                    loss = closure()
                self._wait_before(id(optimizer))
                return loss

            if len(args) > 1:
                return (args[0], closure_with_wait, *args[2:]), kwargs
            return args, {**kwargs, "closure": closure_with_wait}

        self._removers.append(before_step(optimizer, wait_before))

    def _wait_before(self, optimizer: int) -> None:
        """Waits before an optimizer's step; several optimizers share one wait. A step without backward waits too,
        so that the ranks that have run backward get an error."""
        if self._is_pending or not self._has_waited or optimizer in self._stepped:
            self.wait()
        self._stepped.add(optimizer)

    def detach(self) -> None:
        """Detaches: the model and its optimizers are as before, and gradients are None."""
        for remover in self._removers:
            remover.remove()
        self._removers.clear()
        for parameter in self._parameters:
            parameter.grad = None
        self._views.clear()

    def explain(self) -> str:
        """The buckets, and the algorithm of the largest one."""
        sizes = [p.numel() * p.element_size() for p in self._parameters]
        buckets = [sum(sizes[i] for i in bucket) for bucket in self.sync.buckets]
        largest = max(buckets)
        choice = self.world.explain("all_reduce", largest, op="average")
        return f"{len(buckets)} buckets of {min(buckets)} to {largest} bytes\n{choice}"


def _elements_of(name: str, parameter: Tensor) -> Tensor:
    """The elements of a parameter in the order of memory."""
    if parameter.device.type != "cpu":
        raise ArgumentError(f"attach: parameter {name} is on {parameter.device}; attach is for models on the CPU")
    elements = in_one_piece(parameter.detach())
    return as_real(parameter.detach().contiguous() if elements is None else elements)


def _strides_of(parameter: Tensor) -> tuple[int, ...]:
    if in_one_piece(parameter.detach()) is None:
        return parameter.detach().contiguous().stride()
    return parameter.stride()


def attach(
    model: Module,
    optimizer: Optimizer | Iterable[Optimizer] | None = None,
    *,
    world: Communicator | None = None,
    divide_by_initial_world_size: bool = True,
    **options: Unpack[GradientOptions],
) -> Attached:
    """Reduces the gradients of a model over all ranks, each as soon as backward has computed it.

        sync = tutti.torch.attach(model, optimizer)
        for x, y in data:
            loss(model(x), y).backward()
            optimizer.step()                            # waits for the means
            optimizer.zero_grad(set_to_none=False)      # keeps gradients where peers see them

    All ranks get the weights and buffers of rank 0. Backward runs once per step outside no_sync.
    Collective.

    optimizer: one or several, whose step waits. Without it the program calls wait() before its step.
    world: the ranks; else those of tutti.world(). divide_by_initial_world_size: whether means are those over all
    ranks while some take part by join only, as DistributedDataParallel.join has it, else over the ranks that have
    data. options: those of tutti.GradientSync.
    """
    attached = Attached(model, world or _init.world(), divide_by_initial_world_size, options)
    optimizers = [optimizer] if isinstance(optimizer, Optimizer) else list(optimizer or ())
    for one in optimizers:
        attached.add_optimizer(one)
    return attached
