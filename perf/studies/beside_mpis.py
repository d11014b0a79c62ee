#!/usr/bin/env python3
"""Compares plain calls with MPIs' own: beside_mpis.py NAME=FILE.csv...

--mpi NAME="WRAPPER:LAUNCHER", such as "mpicc:mpirun -n 2", compiles mpi_calls.c and runs it in a job of that
MPI alone. --ours "COMMAND", such as "tutti run -n 2 tutti sweep", runs tutti in a job without an MPI. All jobs
take turns. A cell's ratio is the MPI's time divided by tutti's; with several MPIs the least ratio counts.
--sweep NAME="COMMAND", such as "mpirun -n 2 tutti sweep", runs both in one job of that MPI. It fills a column
beside the ratio, or is the ratio itself if there is no other. Files go into --folder, and can be passed again
later: several files of one name are merged by medians. tutti's files are named tutti. docs/sweep.md has an
example.
"""

import argparse
import json
import os
import shlex
import sys

from regret_statistics import geometric_mean, median, number, table
from sweep_runs import (Malformed, Unmeasured, add_cells, bytes_text, cells_in_csv, read_text, run_sweep,
                        words_of)

EXIT_USAGE, EXIT_ENVIRONMENT = 2, 4
OURS = "tutti"
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
COLLECTIVES = "all_reduce,broadcast,all_gather,all_to_all"
KINDS = ("private", "visible")
SMALL = 2048  # bytes; below it calls are latency
LEAST_LARGE, LEAST_SMALL = 0.9, 0.8  # ratios below these are counted


class Unusable(Exception):
    """A file without times; the message has the reason."""


def rows_of(path):
    """(kind of buffers, collective, bytes, algorithm) -> median, of one file."""
    return {(cell["buffers"], cell["collective"], cell["bytes"], cell["algorithm"]): cell["median_us"]
            for cell in cells_in_csv(read_text(path), path) if not (cell.get("in_place") or cell.get("wrong"))}


def merged(named):
    """name -> key -> median over the files of that name."""
    files = {}
    for name, path in named:
        files.setdefault(name, []).append(rows_of(path))
    return {name: {key: median([file[key] for file in of if key in file])
                   for key in dict.fromkeys(key for file in of for key in file)}
            for name, of in files.items()}


def pairs_of(mpis, kind, collective, size):
    """name -> (the MPI's time, tutti's time), twice: in separate jobs, and in one job."""
    def of(name, algorithm, buffers=kind):
        return mpis.get(name, {}).get((buffers, collective, size, algorithm))
    apart = {name: (of(name, "alone", "private"), of(OURS, "auto")) for name in mpis}
    together = {name: (of(name, "native"), of(name, "auto")) for name in mpis}
    return [{name: pair for name, pair in pairs.items() if all(pair)} for pairs in (apart, together)]


def cells_of(mpis):
    """A dictionary per cell: ratios to each MPI, the least one, the least one in one job, and, if
    private buffers were measured in the same job too, the private time divided by the visible one."""
    keys = dict.fromkeys(key[:3] for times in mpis.values() for key in times if key[3] == "auto")
    cells = []
    for kind, collective, size in sorted(keys, key=lambda key: (KINDS.index(key[0]), key[1], key[2])):
        apart, together = pairs_of(mpis, kind, collective, size)
        pairs = {**together, **apart}
        if not pairs:
            continue
        ratios = {name: theirs / ours for name, (theirs, ours) in pairs.items()}
        jobs = [[times.get((buffers, collective, size, "auto")) for buffers in ("private", kind)]
                for times in mpis.values() if kind == "visible"]
        best = min(ratios, key=ratios.get)
        cells.append({"buffers": kind, "collective": collective, "bytes": size, "ratio": ratios[best],
                      "mpi": best, "ratios": ratios,
                      "in_one_job": min((theirs / ours for theirs, ours in together.values()), default=None),
                      "over_private": median([private / ours for private, ours in jobs if private and ours]),
                      "ours_us": pairs[best][1], "mpi_us": pairs[best][0]})
    if not cells:
        raise Unusable("no file has a size at which ours and an MPI's ran: give --ours and --mpi, or sweep with "
                       "-a auto,native")
    return cells


def summed_up(cells):
    """One line for each kind of buffers and collective."""
    groups = {}
    for cell in cells:
        groups.setdefault((cell["buffers"], cell["collective"]), []).append(cell)
    return [{"buffers": kind, "collective": collective, "cells": len(group),
             "mean": geometric_mean([cell["ratio"] for cell in group]),
             "worst": min(cell["ratio"] for cell in group),
             "in_one_job": geometric_mean([cell["in_one_job"] for cell in group if cell["in_one_job"]]),
             "slow_large": sum(cell["bytes"] >= SMALL and cell["ratio"] < LEAST_LARGE for cell in group),
             "slow_small": sum(cell["bytes"] < SMALL and cell["ratio"] < LEAST_SMALL for cell in group),
             "over_private": min((cell["over_private"] for cell in group if cell["over_private"]),
                                 default=None)} for (kind, collective), group in groups.items()]


def lines_of(found, most):
    """The printed lines."""
    rows = [[f"{one['collective']}, {one['buffers']}", str(one["cells"]), f"{one['mean']:.2f}",
             f"{one['worst']:.2f}", number(one["in_one_job"], ".2f"), str(one["slow_large"]), str(one["slow_small"]),
             number(one["over_private"], ".2f")] for one in found["collectives"]]
    lines = table(["collective", "cells", "mean", "worst", "in one job", f"<{LEAST_LARGE} from {bytes_text(SMALL)}",
                   f"<{LEAST_SMALL} below", "least private/visible"], rows)
    worst = sorted(found["cells"], key=lambda cell: cell["ratio"])[:most]
    return lines + [f"  {cell['collective']} {bytes_text(cell['bytes'])}, {cell['buffers']}: "
                    f"{cell['ratio']:.2f}, {cell['mpi']} {cell['mpi_us']:.4g} us, ours "
                    f"{cell['ours_us']:.4g} us" for cell in worst]


def number_of(text, units):
    """A number with a unit, such as 32M or 200ms."""
    digits = text.rstrip("".join(units))
    return str(int(digits) * units.get(text[len(digits):], 1))


def calls_of(wanted, name, value):
    """Compiles the calls of an MPI. Returns the command that runs them, without the file."""
    wrapper, colon, launcher = value.partition(":")
    if not colon:
        raise Unmeasured(f"--mpi '{name}={value}' is not NAME=WRAPPER:LAUNCHER")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mpi_calls.c")
    program = os.path.join(os.path.abspath(wanted.folder), f"{name}.calls")
    run_sweep([*shlex.split(wrapper), "-std=c99", "-O2", "-o", program, source])
    sizes = [number_of(size, UNITS) for size in (wanted.begin, wanted.end)]
    return [*shlex.split(launcher), program, wanted.collective, *sizes, wanted.factor,
            number_of(wanted.budget, {"ms": 1, "s": 1000})]


def measure(wanted):
    """Runs all jobs in turn, several times. Returns pairs of name and file."""
    calls = {name: calls_of(wanted, name, value) for name, value in wanted.mpi}
    sweeps = [(name, command, "auto,native") for name, command in wanted.sweep]
    sweeps += [(OURS, command, "auto") for command in wanted.ours]
    named = []
    for seed in range(1, wanted.passes + 1):
        for name, words in calls.items():
            named.append((name, os.path.join(wanted.folder, f"{name}.calls.{seed}.csv")))
            run_sweep([*words, named[-1][1]])
        for name, command, algorithms in sweeps:
            for kind in KINDS:
                named.append((name, os.path.join(wanted.folder, f"{name}.{kind}.{seed}.csv")))
                run_sweep([*shlex.split(command), "-a", algorithms, *words_of(wanted), "--buffers", kind,
                           "--seed", str(seed), "--csv", named[-1][1]])
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
    parser.add_argument("--mpi", type=pair, action="append", default=[], metavar="NAME=WRAPPER:LAUNCHER",
                        help="a job of that MPI alone")
    parser.add_argument("--ours", action="append", default=[], metavar="COMMAND", help="a sweep without an MPI")
    parser.add_argument("--sweep", type=pair, action="append", default=[], metavar="NAME=COMMAND",
                        help="a sweep under that MPI's launcher")
    parser.add_argument("--folder", default=".", help="where files go")
    parser.add_argument("--passes", type=int, default=1, help="how often each job is run")
    add_cells(parser, COLLECTIVES, "8", "32M", "200ms")
    parser.add_argument("files", nargs="*", type=pair, metavar="NAME=FILE.csv")
    wanted = parser.parse_args(arguments)
    runs = wanted.sweep or wanted.ours or wanted.mpi
    if not wanted.files and not runs:
        parser.error("name a file as NAME=FILE.csv, or jobs by --ours and --mpi, or by --sweep")
    try:
        cells = cells_of(merged(wanted.files + measure(wanted)))
    except (Malformed, Unusable, Unmeasured) as error:
        print(f"beside_mpis.py: {error}", file=sys.stderr)
        return EXIT_ENVIRONMENT if runs else EXIT_USAGE
    found = {"collectives": summed_up(cells), "cells": cells}
    print(json.dumps(found, indent=1) if wanted.json else "\n".join(lines_of(found, wanted.worst)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
