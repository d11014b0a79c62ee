"""ddp_hook: DistributedDataParallel whose gradients tutti reduces."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import groups
import tutti
import tutti.torch


def make_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(30, 600), nn.ReLU(), nn.Linear(600, 600), nn.Linear(600, 1))


def compare(rank: int, size: int, options: dict[str, Any]) -> None:
    model = make_model()
    reference = DistributedDataParallel(copy.deepcopy(model), bucket_cap_mb=1)
    hooked = DistributedDataParallel(model, bucket_cap_mb=1, **options)
    hook = tutti.torch.ddp_hook(hooked, norm=True)
    assert hook.report is None and "second step" in hook.explain()
    for step in range(5):
        torch.manual_seed(10 * step + rank)
        x = torch.randn(4, 30)
        for one in (reference, hooked):
            one.zero_grad()
            one(x).sum().backward()
        for a, b in zip(reference.parameters(), hooked.parameters()):
            assert torch.allclose(a.grad, b.grad, atol=1e-5)
    assert hook.report is not None and hook.report.norm > 0
    assert "buckets" in hook.explain()


@pytest.mark.parametrize("backend", ["gloo", "tutti"])
@pytest.mark.parametrize(
    "options", [{}, {"gradient_as_bucket_view": True}, {"static_graph": True}, {"find_unused_parameters": True}]
)
def test_gradients(backend: str, options: dict[str, Any]) -> None:
    groups.run(2, compare, options, backend=backend)


def reduce_complex(rank: int, size: int) -> None:
    layer = nn.Linear(3, 2, bias=False, dtype=torch.complex64)
    model = DistributedDataParallel(layer, gradient_as_bucket_view=True)
    tutti.torch.ddp_hook(model)
    for _ in range(3):
        model.zero_grad()
        x = torch.complex(torch.full((1, 3), float(rank)), torch.ones(1, 3))
        model(x).imag.sum().backward()
        mean = torch.complex(torch.full((1, 3), (size - 1) / 2), torch.ones(1, 3))
        assert torch.allclose(layer.weight.grad, torch.autograd.grad(layer(mean).imag.sum(), layer.weight)[0])


def test_complex_parameters() -> None:
    groups.run(2, reduce_complex, backend="gloo")


def accumulate(rank: int, size: int) -> None:
    model = DistributedDataParallel(nn.Linear(3, 1, bias=False), gradient_as_bucket_view=True)
    tutti.torch.ddp_hook(model)
    for _ in range(3):
        model.zero_grad()
        with model.no_sync():
            model(torch.full((1, 3), 1.0)).sum().backward()
        model(torch.full((1, 3), float(rank))).sum().backward()
        assert torch.allclose(model.module.weight.grad, torch.full((1, 3), 1 + (size - 1) / 2))


def test_no_sync() -> None:
    groups.run(2, accumulate, backend="gloo")


def run_out_of_data(rank: int, size: int) -> None:
    model = DistributedDataParallel(nn.Linear(3, 1), gradient_as_bucket_view=True)
    tutti.torch.ddp_hook(model)
    with model.join():
        for _ in range(2 + 3 * rank):
            model.zero_grad()
            model(torch.ones(1, 3)).sum().backward()


def test_join() -> None:
    groups.run(2, run_out_of_data, backend="gloo")


def fail(rank: int, size: int) -> str:
    model = DistributedDataParallel(nn.Linear(3, 1))
    tutti.torch.ddp_hook(model, check_finite=True)
    model(torch.ones(1, 3)).sum().backward()
    model(torch.ones(1, 3)).sum().backward()
    keeps_classes = hasattr(torch.Tensor, "untyped_storage")  # PyTorch 1.13 makes a RuntimeError with the text
    with pytest.raises(tutti.ArgumentError if keeps_classes else RuntimeError) as caught:
        model(torch.full((1, 3), float("nan") if rank else 1.0)).sum().backward()
    assert not keeps_classes or (caught.value.rank == 1 and "attach" in caught.value.__notes__[0])
    return str(caught.value)


def test_errors_are_raised_by_backward() -> None:
    texts = groups.run(2, fail, backend="gloo")
    assert all("bucket 0: " in text for text in texts)


def reject(rank: int, size: int) -> None:
    model = DistributedDataParallel(nn.Linear(3, 1))
    with pytest.raises(tutti.ArgumentError, match="bucket_bytes"):
        tutti.torch.ddp_hook(model, bucket_bytes=1)


def test_options_that_are_those_of_ddp() -> None:
    groups.run(1, reject, backend="gloo")
