#!/usr/bin/env python3
"""Broadcasts of objects: tutti beside mpi4py's pickled bcast, in turns, on ranks of Open MPI.

Usage: object_benchmark.py PROGRAM [RANKS]. PROGRAM is object_benchmark; mpi4py is that of Debian's
python3-mpi4py. Prints medians over the turns, in microseconds.
"""
import os
import statistics
import subprocess
import sys

TURNS = 5
ROUNDS = 30
WORTH = 1 << 20
ENTRIES = [16, 256, 4096, 16384]
PYTHON = "/usr/bin/python3"  # Debian's, which others may shadow


def make_map(entries):
    """As the program's make_map."""
    return {f"key {i:06}": chr(ord("a") + i % 26) * (WORTH // entries - 10)
            for i in range(entries)}


def be_a_rank():
    """Times the broadcasts, and prints as the program does."""
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    for entries in ENTRIES:
        given = make_map(entries) if world.rank == 0 else None
        times = []
        got = None
        for _ in range(ROUNDS):
            got = None  # the destruction of the last result is timed on neither side
            world.Barrier()
            start = MPI.Wtime()
            got = world.bcast(given, 0)
            times.append(world.allreduce(MPI.Wtime() - start, MPI.MAX))
        if got != make_map(entries):
            sys.exit("the map came wrong")
        if world.rank == 0:
            print(entries, f"{statistics.median(times) * 1e6:.1f}")


def run(ranks, *command):
    """Number of entries -> microseconds; several times if there are several forms."""
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_rmaps_base_oversubscribe="1")
    lines = subprocess.run(["mpirun.openmpi", "-n", ranks, *command], env=environment, check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return {int(entries): [float(time) for time in times]
            for entries, *times in map(str.split, lines)}


def main():
    program, ranks = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "2"
    turns = [(run(ranks, program), run(ranks, PYTHON, __file__, "--rank")) for _ in range(TURNS)]
    print("entries  mpi4py us  tutti us  ratio  old map given us  ratio")
    for entries in ENTRIES:
        fresh, again = (statistics.median(ours[entries][way] for ours, _ in turns)
                        for way in (0, 1))
        theirs = statistics.median(times[entries][0] for _, times in turns)
        print(f"{entries:7} {theirs:10.0f} {fresh:9.0f} {theirs / fresh:6.1f} {again:17.0f} "
              f"{theirs / again:6.1f}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--rank"]:
        be_a_rank()
    else:
        main()
