"""Hooks of parameters and optimizers. Versions of PyTorch before 2.1 have no functions for them."""

from __future__ import annotations

import functools
import types
from typing import Any, Callable

import torch
from torch import Tensor
from torch.optim import Optimizer

StepHook = Callable[[Optimizer, tuple[Any, ...], dict[str, Any]], Any]


class _Remover:
    """Ends a hook. kept: objects that the hook needs."""

    def __init__(self, remove: Callable[[], None], kept: Any = None) -> None:
        self.remove = remove
        self._kept = kept


def after_accumulation(parameter: Tensor, hook: Callable[[Tensor], None]) -> Any:
    """Calls hook(parameter) whenever backward has added to the gradient of a parameter."""
    if hasattr(parameter, "register_post_accumulate_grad_hook"):
        return parameter.register_post_accumulate_grad_hook(hook)  # type: ignore[no-untyped-call]
    with torch.enable_grad():
        node: Any = parameter.expand_as(parameter).grad_fn
    accumulator = node.next_functions[0][0]  # the parameter itself does not keep it
    handle = accumulator.register_hook(lambda *_: hook(parameter))
    return _Remover(handle.remove, accumulator)


def before_step(optimizer: Optimizer, hook: StepHook) -> Any:
    """Calls hook(optimizer, (optimizer, *args), kwargs) before each step, which gets the arguments that the
    hook returns, if it returns any."""
    if hasattr(optimizer, "register_step_pre_hook"):
        return optimizer.register_step_pre_hook(hook)
    changed: Any = optimizer
    before = optimizer.step

    @functools.wraps(before)
    def step(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        others = hook(self, (self, *args), kwargs)
        if others is not None:
            (_, *args), kwargs = others
        return before(*args, **kwargs)

    def remove() -> None:
        changed.step = before

    changed.step = types.MethodType(step, optimizer)  # a method, since schedulers of learning rates look into it
    return _Remover(remove)
