#!/usr/bin/env python3
"""Compares plain calls with MPIs' own, each in a job of that MPI: beside_mpis.py NAME=FILE.csv...

Each FILE.csv is what `tutti sweep -a auto,native --csv FILE.csv` wrote under the launcher of the MPI that
NAME says, with private or visible buffers; several files of one MPI are merged by medians. With
--sweep NAME="COMMAND" the command, such as "mpirun -n 2 tutti sweep", is run for both kinds of buffers
first, and its files go into --folder. A cell's ratio is the MPI's time over ours in the same
job; beside several MPIs the least ratio counts. docs/sweep.md has an example.
"""

import argparse
import csv
import json
import os
import shlex
import sys

from regret_file import bytes_text
from regret_statistics import geometric_mean, median, number, table
from sweep_runs import Unmeasured, add_cells, run_sweep, words_of

EXIT_USAGE, EXIT_ENVIRONMENT = 2, 4
COLLECTIVES = "all_reduce,broadcast,all_gather,all_to_all"
KINDS = ("private", "visible")
SMALL = 2048  # bytes; below it calls are latency
LEAST_LARGE, LEAST_SMALL = 0.9, 0.8  # ratios below these are counted


class Unusable(Exception):
    """A file that gives no times; the message says why."""


def rows_of(path):
    """(kind of buffers, collective, bytes, algorithm) -> median, of one file."""
    times = {}
    try:
        with open(path, encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row["in_place"] != "true" and row.get("wrong") in ("0", "", None):
                    key = row["buffers"], row["collective"], int(row["bytes"]), row["algorithm"]
                    times[key] = float(row["median_us"])
    except (OSError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        raise Unusable(f"'{path}' is no CSV file of tutti sweep: {error!r}") from None
    return times


def merged(named):
    """name -> key -> median over the files of that name."""
    files = {}
    for name, path in named:
        files.setdefault(name, []).append(rows_of(path))
    return {name: {key: median([file[key] for file in of if key in file])
                   for key in dict.fromkeys(key for file in of for key in file)}
            for name, of in files.items()}


def cells_of(mpis):
    """A dictionary per cell: ratios to each MPI, the least one, and, where private ones were measured in the
    same job too, the private time over the visible one."""
    keys = dict.fromkeys(key[:3] for times in mpis.values() for key in times if key[3] == "auto")
    cells = []
    for kind, collective, size in sorted(keys, key=lambda key: (KINDS.index(key[0]), key[1], key[2])):
        def of(times, algorithm, buffers=kind):
            return times.get((buffers, collective, size, algorithm))
        ratios = {name: of(times, "native") / of(times, "auto") for name, times in mpis.items()
                  if of(times, "native") and of(times, "auto")}
        if not ratios:
            continue
        gains = [of(times, "auto", "private") / of(times, "auto") for times in mpis.values()
                 if kind == "visible" and of(times, "auto", "private") and of(times, "auto")]
        best = min(ratios, key=ratios.get)
        cells.append({"buffers": kind, "collective": collective, "bytes": size, "ratio": ratios[best],
                      "mpi": best, "ratios": ratios, "over_private": median(gains),
                      "ours_us": of(mpis[best], "auto"), "mpi_us": of(mpis[best], "native")})
    if not cells:
        raise Unusable("no file has a size at which auto ran beside native: sweep with -a auto,native")
    return cells


def summed_up(cells):
    """One line for each kind of buffers and collective."""
    groups = {}
    for cell in cells:
        groups.setdefault((cell["buffers"], cell["collective"]), []).append(cell)
    return [{"buffers": kind, "collective": collective, "cells": len(group),
             "mean": geometric_mean([cell["ratio"] for cell in group]),
             "worst": min(cell["ratio"] for cell in group),
             "slow_large": sum(cell["bytes"] >= SMALL and cell["ratio"] < LEAST_LARGE for cell in group),
             "slow_small": sum(cell["bytes"] < SMALL and cell["ratio"] < LEAST_SMALL for cell in group),
             "over_private": min((cell["over_private"] for cell in group if cell["over_private"]),
                                 default=None)} for (kind, collective), group in groups.items()]


def lines_of(found, most):
    """What is printed."""
    rows = [[f"{one['collective']}, {one['buffers']}", str(one["cells"]), f"{one['mean']:.2f}",
             f"{one['worst']:.2f}", str(one["slow_large"]), str(one["slow_small"]),
             number(one["over_private"], ".2f")] for one in found["collectives"]]
    lines = table(["collective", "cells", "mean", "worst", f"<{LEAST_LARGE} from {bytes_text(SMALL)}",
                   f"<{LEAST_SMALL} below", "least private/visible"], rows)
    worst = sorted(found["cells"], key=lambda cell: cell["ratio"])[:most]
    return lines + [f"  {cell['collective']} {bytes_text(cell['bytes'])}, {cell['buffers']}: "
                    f"{cell['ratio']:.2f}, {cell['mpi']} {cell['mpi_us']:.4g} us, ours "
                    f"{cell['ours_us']:.4g} us" for cell in worst]


def measure(wanted):
    """Runs the sweeps of each MPI, all of them once and then again. Returns pairs of name and file."""
    named = []
    for seed in range(1, wanted.passes + 1):
        for name, command in wanted.sweep:
            for kind in KINDS:
                path = os.path.join(wanted.folder, f"{name}.{kind}.{seed}.csv")
                run_sweep([*shlex.split(command), "-a", "auto,native", *words_of(wanted), "--buffers", kind,
                           "--seed", str(seed), "--csv", path])
                named.append((name, path))
    return named


def pair(text):
    """NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE")
    return name, value


def main(arguments):
    """Measures, reads, prints. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="beside_mpis.py", description=__doc__.splitlines()[0])
    parser.add_argument("--sweep", type=pair, action="append", default=[], metavar="NAME=COMMAND",
                        help="a sweep under that MPI's launcher, which is run first")
    parser.add_argument("--folder", default=".", help="where the files of --sweep go")
    parser.add_argument("--passes", type=int, default=1, help="how often each sweep is run")
    add_cells(parser, COLLECTIVES, "8", "32M", "200ms")
    parser.add_argument("files", nargs="*", type=pair, metavar="NAME=FILE.csv")
    wanted = parser.parse_args(arguments)
    if not wanted.files and not wanted.sweep:
        parser.error("name a file as NAME=FILE.csv, or a sweep by --sweep")
    try:
        cells = cells_of(merged(wanted.files + measure(wanted)))
    except (Unusable, Unmeasured) as error:
        print(f"beside_mpis.py: {error}", file=sys.stderr)
        return EXIT_ENVIRONMENT if wanted.sweep else EXIT_USAGE
    found = {"collectives": summed_up(cells), "cells": cells}
    print(json.dumps(found, indent=1) if wanted.json else "\n".join(lines_of(found, wanted.worst)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
