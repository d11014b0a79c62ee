"""GradientSync over arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ranks
import tutti

SHAPES = {"embedding": (40, 5), "hidden": (7,), "head": (3, 3, 3)}
sizes = pytest.mark.parametrize("size", [1, 2, 3])


def gradients() -> dict[str, Any]:
    return {name: np.zeros(shape, np.float32) for name, shape in SHAPES.items()}


def check_steps(world: tutti.Communicator) -> None:
    arrays = gradients()
    mean = (world.size - 1) / 2
    with tutti.GradientSync(world, arrays, norm=True, order="reversed") as sync:
        assert sync.plan_hash and sync.buckets[0][0] == 2
        for step in range(1, 4):
            for i, name in reversed(list(enumerate(arrays))):
                arrays[name][...] = world.rank + i
                sync.ready(name if step == 1 else i)
            report = sync.wait()
            assert report is sync.report
            assert report.step == step and report.active == world.size and report.norm > 0
            assert 0 <= report.exposed < 30 and 0 <= report.hidden <= 1 and report.not_finite is None
            assert all((array == mean + i).all() for i, array in enumerate(arrays.values()))
        sync.ready("head")
        sync.ready("head")
        sync.ready("hidden")
        sync.ready("embedding")
        with pytest.raises(tutti.ArgumentError, match="head"):
            sync.wait()
        sync.accumulated("head")
        for i in range(3):
            sync.ready(i)
        assert sync.wait().step > 3
        sync.synchronize()
        with pytest.raises(tutti.ArgumentError, match="no parameter 'foot'"):
            sync.ready("foot")
        with pytest.raises(tutti.ArgumentError, match='only storage="views" has views'):
            sync.view(0)
    with pytest.raises(tutti.ArgumentError, match="this GradientSync is closed"):
        sync.ready(0)


def check_state(world: tutti.Communicator, path: str) -> None:
    arrays = gradients()
    weights = {name: np.full(shape, world.rank, np.float64) for name, shape in SHAPES.items()}
    with tutti.GradientSync(world, arrays, state=weights, record=2, in_flight=3, timeout=30) as sync:
        if world.size > 1:
            with pytest.raises(tutti.ArgumentError, match="embedding"):
                sync.verify_state(weights)
        sync.broadcast_state(weights, root=world.size - 1)
        assert all((w == world.size - 1).all() for w in weights.values())
        sync.verify_state(weights)
        weights["head"][...] = world.rank
        sync.average_buffers(weights)
        assert np.allclose(weights["head"], (world.size - 1) / 2)
        for i in range(3):
            sync.ready(i)
        sync.wait()
        sync.write_trace(path)
    with tutti.GradientSync(world, arrays) as sync:
        assert sync.join() == 0


def check_views(world: tutti.Communicator) -> None:
    sync = tutti.GradientSync(world, gradients(), storage="views", average=False)
    views = [sync.view(name) for name in SHAPES]
    assert [view.shape for view in views] == list(SHAPES.values())
    for i, view in enumerate(views):
        np.asarray(view)[...] = i
        sync.ready(i)
    sync.wait()
    assert all((np.asarray(view) == i * world.size).all() for i, view in enumerate(views))
    with pytest.raises(tutti.ArgumentError, match="views of gradients are in use"):
        sync.close()
    del views, view
    sync.close()


def check_not_finite(world: tutti.Communicator) -> None:
    arrays = gradients()
    with tutti.GradientSync(world, arrays, check_finite=True) as sync:
        if world.rank == world.size - 1:
            arrays["hidden"][3] = np.nan
        for i in range(3):
            sync.ready(i)
        with pytest.raises(tutti.ArgumentError) as caught:
            sync.wait()
        assert caught.value.rank == world.size - 1
        assert sync.report is not None and sync.report.not_finite is not None
        assert (sync.report.not_finite.parameter, sync.report.not_finite.rank) == (1, world.size - 1)


def check_groups_and_ties(world: tutti.Communicator) -> None:
    with world.group([world.rank]) as alone:
        shared, own = np.full(3, world.rank, np.float32), np.full(3, world.rank, np.float32)
        parameters = {
            "shared": shared,
            "tied": tutti.Parameter(shared, tied=True),
            "own": tutti.Parameter(own, group=1),
        }
        with tutti.GradientSync(world, parameters, groups=[alone], compression="bf16") as sync:
            for i in range(3):
                sync.ready(i)
            sync.wait()
        assert (shared == (world.size - 1) / 2).all() and (own == world.rank).all()


def check_visible(world: tutti.Communicator) -> None:
    memory = world.empty(1 << 18)
    np.asarray(memory)[:] = world.rank
    with tutti.GradientSync(world, {"x": memory}) as sync:
        sync.ready("x")
        sync.wait()
    assert (np.asarray(memory) == (world.size - 1) / 2).all()


@sizes
@pytest.mark.parametrize("check", [check_steps, check_views, check_not_finite, check_visible])
def test_gradients(size: int, check: Any) -> None:
    ranks.run(size, check)


@sizes
def test_state(size: int, tmp_path: Any) -> None:
    path = tmp_path / "trace.json"
    ranks.run(size, check_state, str(path))
    assert path.exists()


def test_groups_and_ties() -> None:
    ranks.run(2, check_groups_and_ties)


def check_arguments(world: tutti.Communicator) -> None:
    for parameters, options, text in (
        ({"x": np.ones(6)[::2]}, {}, "GradientSync: 'x' is an array of shape"),
        ({"x": np.ones(3, int)}, {}, "x"),
        ({"x": np.ones(3)}, {"order": "random"}, "there is no order 'random'; there are reversed"),
        ({"x": np.ones(3)}, {"compression": "zip"}, "zip"),
    ):
        with pytest.raises(tutti.ArgumentError, match=text):
            tutti.GradientSync(world, parameters, **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no option 'buckets'; there are algorithm, average"):
        tutti.GradientSync(world, {}, buckets=3)  # type: ignore[call-arg]


def test_arguments() -> None:
    ranks.run(1, check_arguments)
