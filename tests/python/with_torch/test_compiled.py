"""Compiled functions and models: what compiles or breaks the graph over Gloo does over tutti."""

from __future__ import annotations

import copy
from typing import Any, Callable

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import groups
import ranks
import tutti
from groups import full
from tutti.torch.backend import HAS_PY_BACKEND

pytestmark = pytest.mark.skipif(not HAS_PY_BACKEND, reason="dynamo of this PyTorch knows groups of its own only")
Function = Callable[[torch.Tensor, Any], torch.Tensor]


def sums(x: torch.Tensor, group: Any) -> torch.Tensor:
    dist.all_reduce(x, group=group)
    return x + 1


def sums_later(x: torch.Tensor, group: Any) -> torch.Tensor:
    work = dist.all_reduce(x, group=group, async_op=True)
    y = x.new_ones(4)
    work.wait()
    return x + y


def is_polled(x: torch.Tensor, group: Any) -> torch.Tensor:
    work = dist.all_reduce(x, group=group, async_op=True)
    while not work.is_completed():
        pass
    return x + 1


def passes_a_barrier(x: torch.Tensor, group: Any) -> torch.Tensor:
    y = x * 2
    dist.barrier(group=group)
    return y + 1


def broadcasts(x: torch.Tensor, group: Any) -> torch.Tensor:
    dist.broadcast(x, 0, group=group)
    return x + 1


def reduces(x: torch.Tensor, group: Any) -> torch.Tensor:
    y = x.clone()
    dist.reduce(y, 0, group=group)
    dist.broadcast(y, 0, group=group)
    return y + 1


def gathers(x: torch.Tensor, group: Any) -> torch.Tensor:
    parts = [torch.empty_like(x) for _ in range(2)]
    dist.gather(x, parts if dist.get_rank() == 0 else None, group=group)
    dist.broadcast(parts[0], 0, group=group)
    return parts[0] + 1


def scatters(x: torch.Tensor, group: Any) -> torch.Tensor:
    out = torch.empty_like(x)
    dist.scatter(out, [x, x * 2] if dist.get_rank() == 0 else None, group=group)
    return out + 1


def exchanges(x: torch.Tensor, group: Any) -> torch.Tensor:
    y = torch.empty_like(x)
    if dist.get_rank() == 0:
        dist.send(x, 1, group=group)
        dist.recv(y, 1, group=group)
    else:
        dist.recv(y, 0, group=group)
        dist.send(x, 0, group=group)
    return y + 1


FUNCTIONS: list[Function] = [
    sums, sums_later, is_polled, passes_a_barrier, broadcasts, reduces, gathers, scatters, exchanges
]  # fmt: skip


def compare_functions(rank: int, size: int, compiler: str) -> None:
    second = dist.new_group()
    for function in FUNCTIONS if compiler == "aot_eager" else [sums, sums_later, broadcasts]:  # C++ compiles slowly
        for group in (None, second) if compiler == "aot_eager" else (second,):
            torch._dynamo.reset()
            compiled = torch.compile(function, backend=compiler)
            for step in range(2):
                got, expected = compiled(full(rank + step), group), function(full(rank + step), group)
                assert torch.equal(got, expected), (function.__name__, group, got, expected)


@pytest.mark.parametrize("compiler", ["aot_eager", "inductor"])
def test_functions(compiler: str) -> None:
    groups.run(2, compare_functions, compiler)


def make_model() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 2))


def compare_models(rank: int, size: int, compiler: str, static_graph: bool) -> None:
    second = dist.new_group()
    for group in (None, second):
        torch._dynamo.reset()
        model = DistributedDataParallel(make_model(), process_group=group, static_graph=static_graph)
        other = DistributedDataParallel(copy.deepcopy(model.module), process_group=group)
        compiled = torch.compile(model, backend=compiler)
        for step in range(3):
            x = torch.arange(32.0).view(4, 8) * (rank + 1) + step
            for each in (compiled, other):
                each.zero_grad()
                each(x).sum().backward()
            for a, b in zip(model.parameters(), other.parameters()):
                assert torch.allclose(a.grad, b.grad, rtol=1e-4, atol=1e-5)
            for a, b in zip(model.buffers(), other.buffers()):
                assert torch.allclose(a, b, rtol=1e-4)


@pytest.mark.parametrize("static_graph", [False, True], ids=["", "static_graph"])
@pytest.mark.parametrize("compiler", ["aot_eager", "inductor"])
def test_data_parallel(compiler: str, static_graph: bool) -> None:
    groups.run(2, compare_models, compiler, static_graph)


def call_without_a_group(world: tutti.Communicator) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        world.all_reduce(y)
        return y + 1

    compiled = torch.compile(function, backend="aot_eager")
    for _ in range(2):
        assert torch.equal(compiled(full(world.rank + 1)), full(7))


def test_calls_of_tutti() -> None:
    ranks.run(2, call_without_a_group, timeout=120)
