#!/usr/bin/env python3
"""Measures the cost of arrays that do not start at pages: offsets.py --sweep "COMMAND" FILE...

COMMAND is a tutti sweep, such as "build/release/bin/tutti sweep --ranks 2". The script runs it once for each
FILE, which it writes as JSON lines: several collectives, with every pair of an input's and an output's offset
racing in one run. Without --sweep it only reads the files. It divides the median of plain calls in each cell
by that at pages in the same run; of several files the median ratio counts. docs/sweep.md has an example.
"""

import argparse
import json
import shlex
import sys

from regret import EXIT_ENVIRONMENT, EXIT_USAGE
from regret_statistics import geometric_mean, median, table
from sweep_runs import Malformed, Sweep, Unmeasured, add_cells, bytes_text, measure, words_of

COLLECTIVES = "broadcast,scatter,gather,all_gather,all_to_all,reduce_scatter,all_reduce"
OFFSETS = ("page", "4", "16", "32", "64")
CLEARLY = 1.1  # a cell that takes longer by more than that is listed


def pairs():
    """All pairs of offsets. The first one is the reference."""
    return ",".join(f"{one}:{other}" for one in OFFSETS for other in OFFSETS)


def ratios_of(sweep):
    """(collective, bytes, alignment) -> time divided by that at pages."""
    found = {}
    for (collective, size, _), here in sweep.sizes.items():
        times = {cell.get("align"): cell["median_us"] for label, cell in here.items()
                 if label.split("@")[0] == "auto" and not cell.get("wrong")}
        found.update({(collective, size, align): time / times["page"]
                      for align, time in times.items() if "page" in times and align != "page"})
    if not found:
        raise Malformed(f"'{sweep.path}' has no size at which auto ran at pages and beside them: sweep "
                        "with -a auto --align page,16")
    return found


def compared(sweeps):
    """The median ratio of each cell over several files."""
    files = [ratios_of(sweep) for sweep in sweeps]
    return {key: median([file[key] for file in files if key in file])
            for key in dict.fromkeys(key for file in files for key in file)}


def told(cells):
    """The results as JSON."""
    names = list(dict.fromkeys(key[0] for key in cells))
    groups = [(name, {key: ratio for key, ratio in cells.items() if key[0] == name}) for name in names]
    groups += [("all", cells)] if len(names) > 1 else []
    return {"collectives": [{"collective": name, "cells": len(group),
                             "mean": geometric_mean(list(group.values())), "worst": max(group.values()),
                             "above": sum(ratio > CLEARLY for ratio in group.values())}
                            for name, group in groups],
            "cells": [{"collective": key[0], "bytes": key[1], "align": key[2], "ratio": ratio}
                      for key, ratio in cells.items()]}


def lines_of(found, most):
    """The printed lines."""
    rows = [[one["collective"], str(one["cells"]), f"{one['mean']:.3f}", f"{one['worst']:.2f}",
             str(one["above"])] for one in found["collectives"]]
    lines = table(["collective", "cells", "mean", "worst", f">{CLEARLY}x"], rows)
    slow = sorted((cell for cell in found["cells"] if cell["ratio"] > CLEARLY),
                  key=lambda cell: -cell["ratio"])
    lines += [f"  {cell['collective']} {bytes_text(cell['bytes'])} at {cell['align']}: "
              f"{cell['ratio']:.2f} times the time at pages" for cell in slow[:most]]
    return lines + ([f"  and {len(slow) - most} more"] if len(slow) > most else [])


def main(arguments):
    """Measures, reads, prints. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="offsets.py", description=__doc__.splitlines()[0])
    parser.add_argument("--sweep", metavar="COMMAND", help="a sweep of two ranks, which writes each FILE first")
    add_cells(parser, COLLECTIVES, "4K", "8M", "50ms")
    parser.add_argument("files", nargs="+", metavar="FILE", help="what tutti sweep --json wrote")
    wanted = parser.parse_args(arguments)
    try:
        if wanted.sweep:
            measure(shlex.join([*shlex.split(wanted.sweep), "-a", "auto", "--align", pairs(), *words_of(wanted)]),
                    wanted.files)
        found = told(compared([Sweep.read(path) for path in wanted.files]))
    except (Malformed, Unmeasured) as error:
        print(f"offsets.py: {error}", file=sys.stderr)
        return EXIT_USAGE if isinstance(error, Malformed) else EXIT_ENVIRONMENT
    print(json.dumps(found, indent=1) if wanted.json else "\n".join(lines_of(found, wanted.worst)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
