"""Times of tutti and Gloo in turns, on two processes of this host: python tests/python/with_torch/measure.py;
or on the hosts of a launcher such as torchrun.

Prints medians in microseconds, and the median of the ratios of neighbouring rounds.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from typing import Any, Callable

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import tutti
import tutti.torch

_ROUNDS = 15


def in_turns(functions: dict[str, Callable[[], None]], repeats: int) -> dict[str, list[float]]:
    """Microseconds of each function in each round. All ranks run the same ones."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for i in range(_ROUNDS + 2):
        for name, function in functions.items():
            dist.barrier()
            begin = time.perf_counter()
            for _ in range(repeats):
                function()
            if i >= 2:
                times[name].append((time.perf_counter() - begin) / repeats * 1e6)
    return times


def show(title: str, times: dict[str, list[float]], base: str) -> None:
    if dist.get_rank() != 0:
        return
    print(title)
    for name, own in times.items():
        ratio = statistics.median(b / a for a, b in zip(own, times[base]))
        print(f"  {name:10} {statistics.median(own):10.1f} us (least {min(own):10.1f})   {base} / it: {ratio:5.2f}")
    sys.stdout.flush()


def calls(group: Any) -> None:
    for count, repeats in ((2, 300), (16384, 100), (262144, 30), (25 * 262144, 2)):
        x, y, z = (torch.ones(count) for _ in range(3))
        world: tutti.Communicator = group._world
        times = in_turns(
            {
                "gloo": lambda: dist.all_reduce(x),
                "backend": lambda: dist.all_reduce(y, group=group),
                "world": lambda: world.all_reduce(z),
            },
            repeats,
        )
        show(f"all_reduce of {4 * count} bytes", times, "gloo")


def make_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(*[layer for _ in range(8) for layer in (nn.Linear(1024, 1024), nn.ReLU())])


def steps(group: Any) -> None:
    models: dict[str, nn.Module] = {
        "none": make_model(),
        "gloo": DistributedDataParallel(make_model(), gradient_as_bucket_view=True),
        "hook": DistributedDataParallel(make_model(), gradient_as_bucket_view=True),
        "backend": DistributedDataParallel(make_model(), gradient_as_bucket_view=True, process_group=group),
        "attach": make_model(),
    }
    tutti.torch.ddp_hook(models["hook"], world=group._world)
    attached = tutti.torch.attach(models["attach"], world=group._world)
    x = torch.randn(8, 1024)

    def step_of(name: str) -> Callable[[], None]:
        def step() -> None:
            models[name].zero_grad(set_to_none=False)
            models[name](x).sum().backward()
            if name == "attach":
                attached.wait()

        return step

    show("step with 33 MB of gradients", in_turns({name: step_of(name) for name in models}, 1), "gloo")


def main(rank: int, method: str, size: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=method, rank=rank, world_size=size)
    group = dist.new_group(backend="tutti")
    calls(group)
    steps(group)
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        main(int(os.environ["RANK"]), "env://", int(os.environ["WORLD_SIZE"]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            mp.spawn(main, (f"file://{os.path.join(folder, 'store')}", 2), 2)
