"""attach: means of gradients, accumulation, void steps, uneven data."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import nn

import ranks
import tutti
import tutti.torch


def make_model(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(3 * 4 * 4, 5), nn.ReLU(), nn.Linear(5, 2)
    ).to(memory_format=torch.channels_last)


def data(rank: int, step: int = 0) -> torch.Tensor:
    torch.manual_seed(100 * step + rank)
    return torch.randn(4, 1, 6, 6)


def gradients_of(model: nn.Module) -> list[torch.Tensor]:
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


def means(size: int, steps: int = 1) -> list[torch.Tensor]:
    """The means that all ranks must get in the first step."""
    total: list[torch.Tensor] = []
    for rank in range(size):
        model = make_model()
        for step in range(steps):
            model(data(rank, step)).square().sum().backward()
        own = gradients_of(model)
        total = [a + b for a, b in zip(total, own)] if total else own
    return [x / size for x in total]


def equal(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return len(a) == len(b) and all(torch.allclose(x, y, rtol=1e-4, atol=1e-5) for x, y in zip(a, b))


def reduce_gradients(world: tutti.Communicator, is_set_to_none: bool) -> None:
    model = make_model(seed=world.rank)  # rank 0's weights win
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    sync = tutti.torch.attach(model, optimizer, world=world, norm=True)
    for _ in range(3):
        model(data(world.rank)).square().sum().backward()
        optimizer.step()
        assert equal(gradients_of(model), means(world.size))
        optimizer.zero_grad(set_to_none=is_set_to_none)
    assert sync.report is not None and sync.report.step == 3 and sync.report.norm > 0
    assert "bucket" in sync.explain()
    sync.detach()


@pytest.mark.parametrize("is_set_to_none", [False, True])
@pytest.mark.parametrize("size", [1, 2])
def test_gradients(size: int, is_set_to_none: bool) -> None:
    ranks.run(size, reduce_gradients, is_set_to_none)


def accumulate(world: tutti.Communicator) -> None:
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    sync = tutti.torch.attach(model, optimizer, world=world)
    for _ in range(2):
        with sync.no_sync():
            model(data(world.rank, 0)).square().sum().backward()
        model(data(world.rank, 1)).square().sum().backward()
        optimizer.step()
        assert equal(gradients_of(model), means(world.size, steps=2))
        optimizer.zero_grad()


def test_no_sync() -> None:
    ranks.run(2, accumulate)


def fail_in_backward(world: tutti.Communicator) -> str:
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    tutti.torch.attach(model, optimizer, world=world)
    before = [p.detach().clone() for p in model.parameters()]
    text = ""
    for step in range(3):
        if step != 1 or world.rank != 1:
            model(data(world.rank)).square().sum().backward()
        try:
            optimizer.step()
        except tutti.ArgumentError as error:
            assert step == 1
            text = str(error)
            assert error.rank == 1 and equal(before, [p.detach() for p in model.parameters()])
        before = [p.detach().clone() for p in model.parameters()]
        optimizer.zero_grad()
    return text


def test_training_goes_on_after_a_void_step() -> None:
    texts = ranks.run(2, fail_in_backward)
    assert all(texts)


def two_optimizers_and_a_closure(world: tutti.Communicator) -> None:
    model = make_model()
    parameters = list(model.parameters())
    optimizers = [torch.optim.SGD(parameters[:4], lr=0.0), torch.optim.LBFGS(parameters[4:], lr=0.0, max_iter=1)]
    sync = tutti.torch.attach(model, optimizers[:1], world=world)
    for _ in range(2):
        model(data(world.rank)).square().sum().backward()
        for optimizer in optimizers[:1]:
            optimizer.step()
    sync.add_optimizer(optimizers[1])

    def closure() -> torch.Tensor:
        for parameter in parameters:
            parameter.grad = None
        loss: torch.Tensor = model(data(world.rank)).square().sum()
        loss.backward()
        return loss

    optimizers[1].step(closure)
    assert equal(gradients_of(model), means(world.size))


def test_optimizers() -> None:
    ranks.run(2, two_optimizers_and_a_closure)


def schedule(world: tutti.Communicator) -> None:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    sync = tutti.torch.attach(model, optimizer, world=world)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    for step in range(3):
        assert optimizer.param_groups[0]["lr"] == 0.5**step
        model(torch.full((1, 2), float(world.rank))).sum().backward()
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of schedulers that miss a step
            optimizer.step()
            scheduler.step()
        optimizer.zero_grad(set_to_none=False)
    sync.detach()
    model(torch.full((1, 2), float(world.rank))).sum().backward()
    optimizer.step()  # waits for none
    assert torch.equal(model.weight.grad, torch.full((1, 2), float(world.rank)))


def test_schedulers_and_the_end() -> None:
    ranks.run(2, schedule)


def run_out_of_data(world: tutti.Communicator) -> list[float]:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sync = tutti.torch.attach(model, optimizer, world=world)
    for step in range(3 if world.rank == 0 else 1):
        optimizer.zero_grad()
        model(torch.full((1, 2), float(step))).sum().backward()
        optimizer.step()
    assert sync.join() == (0 if world.rank == 0 else 2)
    return [x for p in model.parameters() for x in p.detach().flatten().tolist()]


def test_join_makes_weights_equal() -> None:
    first, second = ranks.run(2, run_out_of_data)
    assert first == second


def join_early(world: tutti.Communicator, options: dict[str, Any]) -> tuple[list[float], float]:
    """Rank 0 has no data. Returns the gradients of the others' step, and their norm."""
    model = nn.Linear(3, 1, bias=False)
    sync = tutti.torch.attach(model, world=world, norm=True, **options)
    if world.rank == 0:
        sync.join()
        return [], 0.0
    model(torch.full((1, 3), 6.0)).sum().backward()
    report = sync.wait()
    gradient = model.weight.grad.flatten().tolist()
    sync.join()
    return gradient, report.norm


@pytest.mark.parametrize(
    "options, gradient, norm",
    [
        ({}, 4.0, 4 * 3**0.5),
        ({"divide_by_initial_world_size": True}, 4.0, 4 * 3**0.5),
        ({"divide_by_initial_world_size": False}, 6.0, 6 * 3**0.5),
        ({"average": False}, 12.0, 12 * 3**0.5),
        ({"max_norm": 8.0}, 4.0, 4 * 3**0.5),
        ({"max_norm": 3.0}, 3.0 / 3**0.5, 4 * 3**0.5),
        ({"max_norm": 3.0, "divide_by_initial_world_size": False}, 3.0 / 3**0.5, 6 * 3**0.5),
    ],
)
def test_means_while_a_rank_has_joined(options: dict[str, Any], gradient: float, norm: float) -> None:
    _, *others = ranks.run(3, join_early, options)
    for own in others:
        assert own == (pytest.approx([gradient] * 3), pytest.approx(norm))


class OfComplexNumbers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 3, dtype=torch.complex64).t())
        self.bias = nn.Parameter(torch.zeros(2))
        self.register_buffer("mean", torch.zeros(2, dtype=torch.complex128))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x @ self.weight).imag + self.bias


def reduce_complex(world: tutti.Communicator) -> None:
    model = OfComplexNumbers()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    sync = tutti.torch.attach(model, optimizer, world=world)
    for _ in range(2):
        x = torch.complex(torch.full((1, 3), float(world.rank)), torch.ones(1, 3))
        model(x).sum().backward()
        optimizer.step()
        mean = torch.complex(torch.full((1, 3), (world.size - 1) / 2), torch.ones(1, 3))
        expected = torch.autograd.grad(model(mean).sum(), model.weight)[0]  # it is linear in x
        assert torch.allclose(model.weight.grad, expected)
        optimizer.zero_grad(set_to_none=False)
    model.mean.fill_(complex(world.rank, 1))
    sync.average_buffers()
    assert torch.equal(model.mean, torch.full_like(model.mean, complex((world.size - 1) / 2, 1)))


def test_complex_parameters() -> None:
    ranks.run(2, reduce_complex)


def use_some(world: tutti.Communicator) -> None:
    model = nn.ModuleList([nn.Linear(2, 2) for _ in range(2)])
    sync = tutti.torch.attach(model, world=world, unused="zeros")
    model[world.rank](torch.ones(1, 2)).sum().backward()
    sync.wait()
    for p in model.parameters():
        assert torch.equal(p.grad, torch.full_like(p, 1.0 / world.size))


def miss_one(world: tutti.Communicator) -> str:
    model = nn.ModuleList([nn.Linear(2, 2) for _ in range(2)])
    sync = tutti.torch.attach(model, world=world)
    model[0](torch.ones(1, 2)).sum().backward()
    with pytest.raises(tutti.ArgumentError) as caught:
        sync.wait()
    return str(caught.value)


def test_the_error_of_an_unused_parameter_names_the_option() -> None:
    for text in ranks.run(2, miss_one):
        assert "option unused" in text and "zeros or detect" in text and "UnusedGradients" not in text


def test_parameters_that_some_ranks_use() -> None:
    ranks.run(2, use_some)


def reject(world: tutti.Communicator) -> list[str]:
    texts: list[str] = []

    def note(make: Any) -> None:
        with pytest.raises(tutti.ArgumentError) as caught:
            make()
        texts.append(str(caught.value))

    note(lambda: tutti.torch.attach(nn.ReLU(), world=world))
    note(lambda: tutti.torch.attach(nn.Linear(1, 1), world=world, storage="flat"))
    embedding = nn.Embedding(3, 2, sparse=True)
    tutti.torch.attach(embedding, world=world)
    note(lambda: embedding(torch.tensor([1])).sum().backward())
    return texts


def test_errors() -> None:
    nothing, storage, sparse = ranks.run(1, reject)[0]
    assert "no parameter" in nothing and "views" in storage and "sparse" in sparse


def clip(world: tutti.Communicator) -> None:
    """The program waits itself, and changes the gradients before the step."""
    model = make_model()
    optimizers = [torch.optim.SGD(list(model.parameters())[i::2], lr=0.1) for i in range(2)]
    sync = tutti.torch.attach(model, optimizers, world=world)
    for step in range(3):
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=step == 1)
        model(data(world.rank, step)).square().sum().backward()
        sync.wait()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        assert norm > 0.5
        for optimizer in optimizers:
            optimizer.step()  # does not wait again
        assert torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0) <= 0.51
    with pytest.raises(tutti.ArgumentError, match="was not ready when wait was called"):
        optimizers[0].step()  # without backward


def test_gradients_may_be_clipped() -> None:
    ranks.run(2, clip)


class _Recorded(torch.optim.SGD):
    """An optimizer whose step has another argument."""

    def step(self, closure: Any = None, scale: float = 1.0) -> Any:
        self.scale = scale
        return super().step(closure)


def step_with_arguments(world: tutti.Communicator) -> None:
    model = make_model()
    torch.optim.SGD(model.parameters(), lr=0.1)  # from now on SGD's own step calls hooks, too
    optimizer = _Recorded(model.parameters(), lr=0.1)
    tutti.torch.attach(model, optimizer, world=world)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(data(world.rank)).square().sum()
        loss.backward()
        return loss

    optimizer.step(closure, 2.0)
    assert optimizer.scale == 2.0
    optimizer.step(closure=closure, scale=3.0)
    assert optimizer.scale == 3.0
    optimizer.step(scale=4.0, closure=closure)
    assert optimizer.scale == 4.0


def test_a_step_keeps_its_other_arguments() -> None:
    ranks.run(2, step_with_arguments)
