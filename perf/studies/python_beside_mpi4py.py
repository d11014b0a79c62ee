"""Compares times of objects between two ranks: world.objects and mpi4py, in turns, in the same processes.

    python perf/studies/python_beside_mpi4py.py [LAUNCHER...]

Needs the package tutti, numpy, and mpi4py built with the launcher's MPI; the default launcher is
"mpirun -n 2". Prints a table: the median time of tutti, and for both forms of mpi4py, its lowercase calls and
mpi4py.util.pkl5, the median and the quartiles of their times divided by tutti's in the same round.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from typing import Any, Callable

ROUNDS = {1 << 10: 200, 1 << 20: 60, 100 << 20: 9}  # by the bytes of an array
WARM = 2  # rounds that are not timed


def contestants(size: int) -> dict[str, dict[str, Callable[[], Any]]]:
    """By call and library: a function that sends or receives an object, and returns the received one."""
    import numpy as np
    from mpi4py import MPI
    from mpi4py.util import pkl5

    import tutti

    world = tutti.world()
    plain, outside = MPI.COMM_WORLD, pkl5.Intracomm(MPI.COMM_WORLD)
    obj = {"step": 1, "rank": world.rank, "array": np.ones(size, np.uint8)}
    given = obj if world.rank == 0 else None
    return {
        "broadcast": {
            "tutti": lambda: world.objects.broadcast(given),
            "lowercase": lambda: plain.bcast(given),
            "pkl5": lambda: outside.bcast(given),
        },
        "all_gather": {
            "tutti": lambda: world.objects.all_gather(obj),
            "lowercase": lambda: plain.allgather(obj),
            "pkl5": lambda: outside.allgather(obj),
        },
    }


def check(got: Any, size: int) -> None:
    for one in got if isinstance(got, list) else [got]:
        assert one["array"].nbytes == size and one["array"].min() == 1


def measure(calls: dict[str, Callable[[], Any]], size: int) -> dict[str, list[float]]:
    """Seconds by library and round: those of the slower rank. The order of libraries rotates."""
    import tutti

    world = tutti.world()
    times: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    for i in range(WARM + ROUNDS[size]):
        for name in names[i % len(names) :] + names[: i % len(names)]:
            world.barrier()
            begin = time.perf_counter()
            got = calls[name]()
            took = world.all_reduce(time.perf_counter() - begin, op="max")
            if i < WARM:
                check(got, size)
            else:
                times[name].append(took)
            del got
    return times


def be_a_rank() -> None:
    import mpi4py
    from mpi4py import MPI

    import tutti

    world = tutti.init()
    if world.rank == 0:
        print(f"mpi4py {mpi4py.__version__}, {MPI.Get_library_version().split(',')[0].splitlines()[0].strip()}")
        print("\n| call | array | tutti | lowercase / tutti | pkl5 / tutti |\n|---|---|---|---|---|")
    for size, text in zip(ROUNDS, ("1 KiB", "1 MiB", "100 MiB")):
        for call, calls in contestants(size).items():
            times = measure(calls, size)
            if world.rank == 0:
                median = statistics.median(times["tutti"]) * 1e6
                ratios = [ratio(times[name], times["tutti"]) for name in ("lowercase", "pkl5")]
                print(f"| {call} | {text} | {median:,.0f} us | {' | '.join(ratios)} |", flush=True)


def ratio(theirs: list[float], ours: list[float]) -> str:
    low, middle, high = statistics.quantiles([a / b for a, b in zip(theirs, ours)], n=4)
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def main(launcher: list[str]) -> None:
    environment = {
        **os.environ,
        "TUTTI_TUNING": "none",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
    }
    launcher = launcher or ["mpirun", "-n", "2"]
    subprocess.run([*launcher, sys.executable, __file__, "--rank"], env=environment, check=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--rank"]:
        be_a_rank()
    else:
        main(sys.argv[1:])
