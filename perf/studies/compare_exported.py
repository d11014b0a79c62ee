#!/usr/bin/env python3
"""Compares an MPI's own collectives with and without the settings that `tutti export` makes of a tuning file.

  perf/studies/compare_exported.py TUNING --to openmpi --tutti build/release/bin/tutti -- mpirun -n 4

Runs `tutti sweep -a native` of a collective under the launcher with the exported settings and without
them, in turns. For each size it divides the median of all runs with settings by the median without. For each
collective it prints the geometric mean over sizes, with its range when any one pair of runs is left out.
Then it lists sizes that became slower or faster by 5% in four of five pairs.
"""

import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from regret_mpi import LIBRARIES
from sweep_runs import Malformed, Sweep

CLEARLY = 1.05
MOST = 0.8
WRITERS = {name: one["writer"] for name, one in LIBRARIES["libraries"].items()}


def fail(text):
    """Ends the program."""
    sys.exit(f"compare_exported.py: {text}")


def arguments():
    """The parsed command line; the launcher comes after two dashes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tuning", help="a file of tutti tune")
    parser.add_argument("--to", required=True, choices=[name for name, writer in WRITERS.items()
                                                        if writer not in ("ucc", "nccl")])
    parser.add_argument("--tutti", required=True, help="the command")
    parser.add_argument("--pairs", type=int, default=5, help="runs of each kind (%(default)s)")
    parser.add_argument("--budget", default="50ms", help="of a size, see tutti sweep (%(default)s)")
    parser.add_argument("-C", "--collective", default="all",
                        help="only these, such as all_reduce,broadcast")
    parser.add_argument("--json", help="write all ratios to this file")
    if "--" not in sys.argv:
        parser.error("behind -- the launcher is missing, such as -- mpirun -n 4")
    split = sys.argv.index("--")
    known = parser.parse_args(sys.argv[1:split])
    known.launcher = sys.argv[split + 1:]
    if not known.launcher or known.pairs < 1:
        parser.error("a launcher and at least one pair are needed")
    return known


def what_was_measured(tuning, collectives):
    """The collectives, and the arguments of a sweep over the sizes."""
    try:
        tables = json.loads(pathlib.Path(tuning).read_text(encoding="utf-8"))["tables"]
        sizes = {cell["bytes"] for table in tables for cell in table["cells"]}
        names = {table["collective"] for table in tables if table["collective"] != "barrier"}
    except (OSError, ValueError, KeyError, TypeError) as error:
        fail(f"{tuning} is no file of tutti tune: {error!r}")
    if collectives != "all":
        names &= set(collectives.split(","))
    sizes -= {0}
    if not names or not sizes:
        fail(f"{tuning} has nothing to compare")
    factor = min((large // small for small, large in zip(sorted(sizes), sorted(sizes)[1:])), default=2)
    return sorted(names), ["-b", str(min(sizes)), "-e", str(max(sizes)), "-f", str(max(factor, 2))]


def settings_of(known, folder):
    """The variables that make the MPI read the exported settings."""
    path = os.path.join(folder, "exported")
    done = subprocess.run([known.tutti, "export", known.tuning, "--to", known.to, "-o", path,
                           "-C", known.collective], check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    if WRITERS[known.to] == "intel":
        text = pathlib.Path(path).read_text(encoding="utf-8")
        return dict(re.findall(r'^export (\w+)="(.*)"$', text, re.MULTILINE))
    if WRITERS[known.to] == "mpich":
        device = "MPIR_CVAR_DEVICE_COLLECTIVES"  # with others, set it before
        return {device: os.environ.get(device, "none"),
                "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": path}
    return {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
            "OMPI_MCA_coll_tuned_dynamic_rules_filename": path}


def medians(known, sweep, folder, settings):
    """The times of the MPI's own calls in one sweep: microseconds by collective and bytes."""
    path = os.path.join(folder, "sweep.json")
    command = [*known.launcher, known.tutti, "sweep", *sweep, "-a", "native", "--transport", "shm",
               "--budget", known.budget, "--json", path]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, env={**os.environ, "TUTTI_TUNING": "none", **settings})
    if done.returncode != 0:
        fail(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
    try:
        return {(cell["collective"], cell["bytes"]): cell["median_us"] for cell in Sweep.read(path).cells}
    except Malformed as error:
        fail(error)


def measured(known):
    """For each collective and size, times with and without settings, one of each per pair of runs."""
    names, sizes = what_was_measured(known.tuning, known.collective)
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        settings = settings_of(known, folder)
        for pair in range(known.pairs):
            print(f"pair {pair + 1} of {known.pairs}", file=sys.stderr)
            for name in names:
                runs = {}
                for way in [("with", "without"), ("without", "with")][pair % 2]:
                    runs[way] = medians(known, ["-C", name, *sizes], folder,
                                        settings if way == "with" else {})
                for key in runs["with"]:
                    times.setdefault(key, []).append((runs["with"][key], runs["without"][key]))
    return times


def geometric(values):
    """Geometric mean."""
    return math.exp(statistics.fmean(map(math.log, values)))


def ratio_of(cell):
    """The time with settings divided by the time without."""
    first, second = (statistics.median(side) for side in zip(*cell))
    return first / second


def print_table(times):
    """One line for each collective."""
    print(f"{'collective':<16}{'ratio':>7}   range without a pair")
    for name in [*sorted({name for name, _ in times}), "all"]:
        cells = [cell for (of, _), cell in times.items() if name in (of, "all")]
        pairs = len(cells[0])
        means = [geometric([ratio_of(cell[:left_out] + cell[left_out + 1:] or cell)
                            for cell in cells]) for left_out in range(pairs)]
        print(f"{name:<16}{geometric(map(ratio_of, cells)):>7.3f}   "
              f"{min(means):.3f} to {max(means):.3f}")


def print_changed(times, word, is_slower):
    """The sizes that became slower, or faster."""
    rows = []
    for (name, size), cell in sorted(times.items()):
        sides = [pair if is_slower else pair[::-1] for pair in cell]
        agree = sum(first > second for first, second in sides)
        if ratio_of(sides) > CLEARLY and agree >= MOST * len(cell):
            first, second = (statistics.median(side) for side in zip(*cell))
            rows.append(f"  {name} of {size} bytes: {second:.4g} us without, {first:.4g} us with, "
                        f"ratio {first / second:.2f}")
    print(f"{len(rows)} of {len(times)} sizes became {word}{':' if rows else ''}")
    print("\n".join(rows), end="\n" if rows else "")


def main():
    """Measures, and prints."""
    known = arguments()
    load, cores = os.getloadavg()[0], os.cpu_count()
    if load > cores / 2:
        print(f"a load of {load:.1f} on {cores} cores: other programs disturb this", file=sys.stderr)
    times = measured(known)
    print_table(times)
    print_changed(times, "slower", True)
    print_changed(times, "faster", False)
    if known.json:
        with open(known.json, "w", encoding="utf-8") as file:
            json.dump([{"collective": name, "bytes": size, "with_and_without_us": cell}
                       for (name, size), cell in sorted(times.items())], file, indent=1)


if __name__ == "__main__":
    main()
