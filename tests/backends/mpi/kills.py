"""Kills a rank of a job over the transport mpi at a random moment, many times, and counts.

Usage: kills.py TRIALS openmpi|mpich LAUNCHER PROGRAM [SEED]

No launcher sees the death, as where a node is lost: see `die` of survivors.py. Of every kill it is
said which ranks the survivors name, and when the last of them has spoken. The status is 1 if a rank
is named that lives, or if a survivor says nothing.
"""
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time

import survivors

PATIENCE = 120  # after which a job that still runs is ended


def kill_one(mpi, launcher, program, dice):
    """Runs a job. Returns the victim, the culprit that each survivor names, and the seconds that the
    last of them took."""
    ranks = dice.choice((2, 3, 4))
    victim, delay = dice.randrange(ranks), dice.uniform(0, 0.2)
    processes, named, struck, took, lines = {}, {}, 0.0, 0.0, []
    with tempfile.TemporaryDirectory() as folder:
        end = os.path.join(folder, "end")
        job = survivors.start("mixed", mpi, launcher, program, end, ranks)
        guard = threading.Timer(PATIENCE, lambda: os.killpg(job.pid, signal.SIGKILL))
        guard.start()
        for line in job.stdout:
            lines.append(line)
            if found := re.search(r"rank (\d+) has process (\d+)", line):
                processes[int(found[1])] = int(found[2])
                if len(processes) == ranks:
                    time.sleep(delay)
                    struck = time.monotonic()
                    os.kill(processes[victim], survivors.DIE)
            if found := re.search(r"rank (\d+): \w+, culprit (-?\d+): ", line):
                named[int(found[1])] = int(found[2])
                took = time.monotonic() - struck
                if len(named) == ranks - 1:
                    survivors.let_end(end)
        job.wait()
        guard.cancel()
    if len(named) < ranks - 1:
        print("".join(lines))
    return ranks, victim, named, took, [line.strip() for line in lines if "culprit" in line]


def main():
    trials, (mpi, launcher, program) = int(sys.argv[1]), sys.argv[2:5]
    dice = random.Random(sys.argv[5] if len(sys.argv) > 5 else "kills")
    wrong, silent, times = 0, 0, []
    for _ in range(trials):
        ranks, victim, named, took, lines = kill_one(mpi, launcher, program, dice)
        blames_living = any(culprit != victim for culprit in named.values())
        wrong += blames_living
        silent += len(named) < ranks - 1
        times.append(took)
        print(f"{ranks} ranks, rank {victim} killed: named {named} after {took:.3f} s")
        if blames_living:
            print("".join(f"    {line}\n" for line in lines), end="")
    times.sort()
    print(f"{trials} kills: a rank that lives was named in {wrong}, survivors were silent in {silent}; "
          f"seconds: median {times[trials // 2]:.3f}, longest {times[-1]:.3f}")
    return 1 if wrong or silent else 0


if __name__ == "__main__":
    sys.exit(main())
