"""The options of calls of torch.distributed."""

from __future__ import annotations

import types
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor
from torch.distributed import ReduceOp

from ..errors import ArgumentError

_OPS: dict[Any, str] = {
    getattr(ReduceOp, torch_name): name
    for torch_name, name in {
        "SUM": "sum",
        "AVG": "average",
        "PRODUCT": "prod",
        "MIN": "min",
        "MAX": "max",
        "BAND": "bit_and",
        "BOR": "bit_or",
        "BXOR": "bit_xor",
    }.items()
    if hasattr(ReduceOp, torch_name)
}
_NAMES = {"root": "rootRank", "op": "reduceOp", "timeout": "timeout"}
_OPS_OF_BOOL = {"bit_and": "and", "bit_or": "or", "bit_xor": "xor"}


def operator_of(opts: Any, x: Tensor) -> str:
    """The operator of options, or of a ReduceOp."""
    op = getattr(opts, "reduceOp", opts) if opts is not None else ReduceOp.SUM
    name = _OPS.get(getattr(op, "op", op))
    if name is None and factor_of(opts, x) is not None:
        return "sum"  # of `scaled` inputs
    if name is None:
        raise ArgumentError(f"tutti has no operator {getattr(op, 'op', op)}")
    return _OPS_OF_BOOL.get(name, name) if x.dtype == torch.bool else name


class AsyncOptions:
    """Options of a call that starts only."""

    asyncOp = True

    def __init__(self, opts: Any) -> None:
        self.reduceOp = getattr(opts, "reduceOp", ReduceOp.SUM)
        self.timeout = getattr(opts, "timeout", timedelta(0))


def root_of(opts: Any) -> int:
    root: int = opts if isinstance(opts, int) else getattr(opts, "rootRank", 0)
    return root


def factor_of(opts: Any, x: Tensor) -> Any:
    """The factor of the operator PREMUL_SUM, a number, or None. Raises ArgumentError if there is no product of it
    and the elements of x."""
    op = getattr(opts, "reduceOp", opts)
    kind = getattr(op, "op", op)
    if getattr(kind, "name", "") != "PREMUL_SUM":
        return None
    if hasattr(op, "factor"):
        return _checked(op.factor, x)
    state = op.__getstate__()  # where older versions have it
    if state is None:
        raise ArgumentError("this PyTorch hides the factor of PREMUL_SUM: multiply the tensor, and use SUM")
    return _checked(state[1], x)


def _checked(factor: Any, x: Tensor) -> Any:
    if isinstance(factor, Tensor):
        if factor.numel() != 1:
            raise ArgumentError(f"the factor of PREMUL_SUM has {factor.numel()} elements, and must have one")
        factor = factor.item()
    if x.dtype.is_floating_point or x.dtype.is_complex:
        return factor
    if x.dtype == torch.bool or not float(factor).is_integer():
        text = f"PREMUL_SUM by {factor} is not defined for {x.dtype}: pass tensors of a floating-point type"
        raise ArgumentError(text)
    return int(factor)


def scaled(x: Tensor, opts: Any) -> Tensor:
    """An input, multiplied by the factor of the operator PREMUL_SUM."""
    factor = factor_of(opts, x)
    return x if factor is None else (x * factor).to(x.dtype)


def options_of(opts: Any, others: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Options that a program gives one by one: a root, an operator and a timeout, by position or name."""
    made = types.SimpleNamespace(reduceOp=ReduceOp.SUM, rootRank=0, timeout=timedelta(0), asyncOp=True)
    for value in (opts, *others):
        if hasattr(value, "timeout"):  # options of PyTorch
            made = value
        elif isinstance(value, int):
            made.rootRank = value
        elif isinstance(value, timedelta):
            made.timeout = value
        elif value is not None:
            made.reduceOp = value
    for name, value in named.items():
        if name not in _NAMES:
            raise TypeError(f"a call of a group has no argument {name!r}")
        if value is not None:
            setattr(made, _NAMES[name], value)
    return made
