"""Compares tutti with PyTorch's Gloo in Python programs, in six situations, as a page:

    python perf/studies/python_beside_gloo.py [SITUATION...] > docs/beside_gloo.md

Needs the package tutti, PyTorch and pytest. Each situation starts new processes and has a deadline.
"""

from __future__ import annotations

import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable

_TIMEOUT = 3.0  # of the communicators, in seconds
_PATIENCE = 20.0  # seconds until processes that do not end are killed
_ROUNDS = 15


# Ranks: python_beside_gloo.py --rank RANK SIZE FOLDER LIBRARY SITUATION


class Gloo:
    """Calls of torch.distributed."""

    def __init__(self, rank: int, size: int, folder: str, timeout: float) -> None:
        import datetime

        import torch
        import torch.distributed as dist

        self.torch, self.dist = torch, dist
        dist.init_process_group(
            "gloo", init_method=f"file://{folder}/gloo", rank=rank, world_size=size,
            timeout=datetime.timedelta(seconds=timeout),
        )  # fmt: skip

    def array(self, count: int) -> Any:
        return self.torch.ones(count)

    def all_reduce(self, x: Any) -> None:
        self.dist.all_reduce(x)

    def broadcast_object(self, obj: Any) -> Any:
        objects = [obj]
        self.dist.broadcast_object_list(objects)
        return objects[0]

    def all_gather_object(self, obj: Any) -> None:
        gathered = [None] * self.dist.get_world_size()
        self.dist.all_gather_object(gathered, obj)

    def barrier(self) -> None:
        self.dist.barrier()


class Tutti:
    """The same calls of tutti, also on tensors of PyTorch."""

    def __init__(self, rank: int, size: int, folder: str, timeout: float) -> None:
        import torch

        import tutti

        self.torch = torch
        self.world = tutti.init(f"file://{folder}/tutti", rank=rank, size=size, call_timeout=timeout)

    def array(self, count: int) -> Any:
        return self.torch.ones(count)

    def all_reduce(self, x: Any) -> None:
        self.world.all_reduce(x)

    def broadcast_object(self, obj: Any) -> Any:
        return self.world.objects.broadcast(obj)

    def all_gather_object(self, obj: Any) -> None:
        self.world.objects.all_gather(obj)

    def barrier(self) -> None:
        self.world.barrier()


LIBRARIES: dict[str, Callable[[int, int, str, float], Any]] = {"Gloo": Gloo, "tutti": Tutti}


def show_error(error: BaseException) -> None:
    text = str(error).strip().splitlines()
    print(f"{type(error).__name__}: {text[0] if text else ''}", flush=True)


def rank_hang(library: str, rank: int, size: int, folder: str) -> None:
    calls = LIBRARIES[library](rank, size, folder, _TIMEOUT)
    calls.all_reduce(calls.array(4))
    if rank == 2:
        time.sleep(2 * _TIMEOUT)  # a rank that does other work
        os._exit(0)
    try:
        calls.all_reduce(calls.array(4))
    except Exception as error:
        show_error(error)
    os._exit(0)


def rank_mismatch(library: str, rank: int, size: int, folder: str) -> None:
    calls = LIBRARIES[library](rank, size, folder, _TIMEOUT)
    x = calls.array(1000 if rank != 1 else 999)
    try:
        calls.all_reduce(x)
        print("no error; the first elements are", x[:3].tolist(), flush=True)
    except Exception as error:
        show_error(error)
    os._exit(0)


def rank_interrupt(library: str, rank: int, size: int, folder: str) -> None:
    calls = LIBRARIES[library](rank, size, folder, 12.0)
    calls.all_reduce(calls.array(4))
    if rank == 1:
        time.sleep(10)
        os._exit(0)
    begin = time.monotonic()
    print("waiting", flush=True)
    try:
        calls.all_reduce(calls.array(4))
    except BaseException as error:
        print(f"{type(error).__name__} {time.monotonic() - begin - 1:.1f} s after Ctrl-C", flush=True)
    os._exit(0)


def in_turns(rank: int, size: int, folder: str, work: Callable[[Any], Callable[[], None]], repeats: int) -> None:
    """Prints, on rank 0, the medians of both libraries and of their ratios."""
    both = {name: make(rank, size, folder, 60.0) for name, make in LIBRARIES.items()}
    works = {name: work(calls) for name, calls in both.items()}
    times: dict[str, list[float]] = {name: [] for name in both}
    for i in range(_ROUNDS + 2):
        for name, calls in both.items():
            calls.barrier()
            begin = time.perf_counter()
            for _ in range(repeats):
                works[name]()
            if i >= 2:
                times[name].append((time.perf_counter() - begin) / repeats * 1e6)
    if rank == 0:
        ratio = statistics.median(g / t for g, t in zip(times["Gloo"], times["tutti"]))
        gloo, tutti = (statistics.median(times[name]) for name in ("Gloo", "tutti"))
        print(f"{gloo:,.1f} | {tutti:,.1f} | {ratio:,.1f}", flush=True)
    both["tutti"].barrier()
    os._exit(0)


def rank_reduce(count: str, rank: int, size: int, folder: str) -> None:
    def work(calls: Any) -> Callable[[], None]:
        x = calls.array(int(count))
        return lambda: calls.all_reduce(x)

    in_turns(rank, size, folder, work, max(2, min(300, 2_000_000 // int(count))))


def rank_objects(length: str, rank: int, size: int, folder: str) -> None:
    obj = {"step": 1, "data": bytes(int(length))}

    def work(calls: Any) -> Callable[[], None]:
        return lambda: calls.all_gather_object(obj)

    in_turns(rank, size, folder, work, max(1, min(50, 10_000_000 // int(length))))


RANKS = {"hang": rank_hang, "mismatch": rank_mismatch, "interrupt": rank_interrupt, "reduce": rank_reduce,
         "objects": rank_objects}  # fmt: skip


# The page.


def run(situation: str, what: str, size: int, interrupt: bool = False) -> list[str]:
    """Starts the ranks. Returns the output of each."""
    with tempfile.TemporaryDirectory() as folder:
        start = [sys.executable, __file__, "--rank"]
        members = [
            subprocess.Popen(
                [*start, str(rank), str(size), folder, what, situation], stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True, env={**os.environ, "TUTTI_TUNING": "none"},
            )
            for rank in range(size)
        ]  # fmt: skip
        if interrupt:
            assert members[0].stdout is not None
            members[0].stdout.readline()
            time.sleep(1)
            members[0].send_signal(signal.SIGINT)
        outputs = []
        end = time.monotonic() + (300 if situation in ("reduce", "objects") else _PATIENCE)
        for member in members:
            try:
                outputs.append(member.communicate(timeout=max(0.1, end - time.monotonic()))[0].strip())
            except subprocess.TimeoutExpired:
                member.kill()
                member.communicate()
                outputs.append(f"(hangs, and was killed after {_PATIENCE:.0f} s)")
        return outputs


def texts(situation: str, size: int, interrupt: bool = False) -> None:
    for library in LIBRARIES:
        print(f"\n{library}:\n\n```text")
        for rank, output in enumerate(run(situation, library, size, interrupt)):
            if output:
                print(f"rank {rank}: {output}")
        print("```")


TESTS = {
    "Gloo": """
import time
import torch, torch.distributed as dist, torch.multiprocessing as mp

def work(rank, path):
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=2)
    if rank == 1:
        time.sleep(1000)
    dist.all_reduce(torch.ones(4))

def test_sum(tmp_path):
    mp.spawn(work, (str(tmp_path / "store"),), nprocs=2)
""",
    "tutti": """
import time
import numpy, pytest

@pytest.mark.parallel(2, timeout=5)
def test_sum(world):
    if world.rank == 1:
        time.sleep(1000)
    world.all_reduce(numpy.ones(4))
""",
}


def hung_test() -> None:
    import tutti

    for library, source in TESTS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "test_sum.py")
            path.write_text(source, encoding="utf-8")
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", path.name]
            if not any(e.name == "tutti" for e in _entry_points()):
                command += ["-p", "tutti._pytest_plugin"]
            print(f"\n{library}:\n\n```python{source}```\n\n```text")
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                       cwd=folder, start_new_session=True)  # fmt: skip
            try:
                output = process.communicate(timeout=_PATIENCE)[0]
                package = str(pathlib.Path(tutti.__file__).parent.parent)
                print(output.replace(folder, "...").replace(package, "...").strip())
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                print(f"(hangs, and was killed after {_PATIENCE:.0f} s)")
            print("```")


def _entry_points() -> Any:
    import importlib.metadata

    return importlib.metadata.entry_points(group="pytest11")


def table(situation: str, sizes: dict[str, int], unit: str) -> None:
    print(f"\n| {unit} | Gloo, us | tutti, us | Gloo / tutti |\n|---|---|---|---|")
    for name, number in sizes.items():
        print(f"| {name} | {run(situation, str(number), 2)[0]} |")


SITUATIONS: dict[str, tuple[str, str, Callable[[], None]]] = {
    "hang": ("A rank does not come", "Rank 2 of three does not make the second call; the timeout is 3 s.",
             lambda: texts("hang", 3)),
    "mismatch": ("Ranks pass different lengths", "Rank 1 passes 999 elements, the others 1000.",
                 lambda: texts("mismatch", 3)),
    "interrupt": ("Ctrl-C", "Rank 0 waits in a call that rank 1 does not make, and gets SIGINT after 1 s.",
                  lambda: texts("interrupt", 2, True)),
    "test": ("A test that hangs", "Both under pytest.", hung_test),
    "reduce": ("all_reduce", "Two processes of one host, float32, ordinary tensors, in place.",
               lambda: table("reduce", {"8 B": 2, "64 KiB": 16384, "1 MiB": 262144, "25 MiB": 6553600}, "tensor")),
    "objects": ("Objects", "all_gather of a dictionary of the given size, two processes.",
                lambda: table("objects", {"1 KiB": 1 << 10, "1 MiB": 1 << 20, "100 MiB": 100 << 20}, "object")),
}  # fmt: skip


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--rank"]:
        rank, size, folder, what, situation = arguments[1:]
        RANKS[situation](what, int(rank), int(size), folder)
        return
    import torch

    print("# tutti beside Gloo, in Python\n")
    print(f"`python perf/studies/python_beside_gloo.py` wrote this page, with PyTorch {torch.__version__}.")
    print("Each library runs with its defaults, but for the timeouts named. Times are medians of 15 rounds in turns.")
    for name, (title, text, show) in SITUATIONS.items():
        if not arguments or name in arguments:
            print(f"\n## {title}\n\n{text}", flush=True)
            show()
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
