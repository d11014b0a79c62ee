"""Hooks of parameters and optimizers. Versions of PyTorch before 2.1 have no functions for them."""

from __future__ import annotations

import functools
import sys
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


def _is_of_base(optimizer: Optimizer) -> bool:
    """Whether a step calls that of its base class. PyTorch calls hooks for both, if a program has made an optimizer
    of the base class before."""
    calling = sys._getframe(2)  # the function of PyTorch that calls hooks
    frame = calling.f_back
    while frame is not None:
        if frame.f_code is calling.f_code and frame.f_locals.get("args", (None,))[0] is optimizer:
            return True
        frame = frame.f_back
    return False


def before_step(optimizer: Optimizer, hook: StepHook) -> Any:
    """Calls hook(optimizer, (optimizer, *args), kwargs) before each step, which gets the arguments that the
    hook returns, if it returns any."""
    if hasattr(optimizer, "register_step_pre_hook"):

        def hook_once(one: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return None if _is_of_base(one) else hook(one, args, kwargs)

        return optimizer.register_step_pre_hook(hook_once)
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
