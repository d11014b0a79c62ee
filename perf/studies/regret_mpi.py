#!/usr/bin/env python3
"""Measures the quality of an MPI's choices among its own algorithms.

Usage: regret_mpi.py --mpi openmpi|mpich|intel --launch "mpirun -n 4" --tutti build/release/bin/tutti

`tutti sweep -a native` measures each collective with the MPI's defaults and with each algorithm that a
variable can force, one launch each, in several passes over all of them, each shuffled. The odd passes decide
which algorithm is best and the even ones compare its time, and vice versa. docs/choices.md explains the
results.
"""

import argparse
import json
import os
import pathlib
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

from regret_statistics import (MUCH, crossed_regrets, difference, geometric_mean, median, number,
                               regret, table)
from sweep_runs import Malformed, Sweep, bytes_text

EXIT_USAGE, EXIT_ENVIRONMENT = 2, 4
DEFAULT, AGAIN = "default", "default again"  # the same settings, so their difference is noise

LIBRARIES = json.loads((pathlib.Path(__file__).parents[1] / "tuning" / "libraries.json").read_text(encoding="utf-8"))
NAMES = LIBRARIES["calls"]  # the MPIs' names of collectives


class Unusable(Exception):
    """No measurement is possible; the message has the reason."""


def of_openmpi(collective, wanted):
    """Algorithm -> variables of the environment, as ompi_info lists them."""
    parameter = f"coll_tuned_{NAMES[collective]}_algorithm"
    try:
        text = subprocess.run([wanted.ompi_info, "--param", "coll", "tuned", "--level", "9",
                               "--parsable"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unusable(f"cannot ask '{wanted.ompi_info}': {error}") from None
    found = re.findall(rf":{parameter}:enumerator:value:(\d+):(\S+)", text)
    return {name: {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", f"OMPI_MCA_{parameter}": number_of}
            for number_of, name in found if number_of != "0"}


def of_mpich(collective, _wanted):
    """Algorithm -> variables. With them, an algorithm that cannot run is an error, and not replaced by
    another one."""
    name = f"MPIR_CVAR_{NAMES[collective].upper()}_INTRA_ALGORITHM"
    return {one: {"MPIR_CVAR_DEVICE_COLLECTIVES": "none", "MPIR_CVAR_COLLECTIVE_FALLBACK": "error", name: one}
            for one in LIBRARIES["libraries"]["mpich"]["forced"][collective].split()}


def of_intel(collective, _wanted):
    """Preset -> variables."""
    last = LIBRARIES["libraries"]["intel"]["forced"][collective]
    return {str(one): {f"I_MPI_ADJUST_{NAMES[collective].upper()}": str(one)} for one in range(1, last + 1)}


ALGORITHMS = {"openmpi": of_openmpi, "mpich": of_mpich, "intel": of_intel}


def stop(process):
    """Ends a launcher and its processes."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, kind)
            process.communicate(timeout=5)
            return
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            return


def reason_in(said):
    """The reason in an MPI's error output, one line."""
    for telling in ("not usable|Invalid|Failure during", "rror|ignal|wrong"):
        for line in said.splitlines():
            if re.search(telling, line):
                return ": " + re.sub(r"^.*(?:error, |\)\.*: )", "", line.strip())[:120]
    return ""


def launch(wanted, collective, variables, seed):
    """Bytes -> median of one launch, and the reason if there is none."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "sweep.jsonl")
        words = [*shlex.split(wanted.launch), wanted.tutti, "sweep", "-C", collective, "-a", "native",
                 "--transport", "shm", "-b", wanted.begin, "-e", wanted.end, "-f", wanted.factor,
                 "--align", wanted.align, "--pattern", wanted.pattern,
                 "--budget", wanted.budget, "--seed", str(seed), "--json", str(path)]
        try:
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                       text=True, errors="replace", start_new_session=True,
                                       env={**os.environ, **variables, "TUTTI_TUNING": "none"})
        except OSError as error:
            raise Unusable(f"cannot run '{words[0]}': {error.strerror}") from None
        try:
            said = process.communicate(timeout=wanted.limit)[1]
        except subprocess.TimeoutExpired:
            stop(process)
            return {}, f"took more than {wanted.limit:g} s"
        except BaseException:
            stop(process)
            raise
        if process.returncode != 0:
            return {}, f"status {process.returncode}{reason_in(said)}"
        return {cell["bytes"]: cell["median_us"] for cell in Sweep.read(path).cells
                if cell["label"] == "native"}, None


def settings_of(wanted):
    """(collective, algorithm) -> variables, and the algorithms that are left out in advance."""
    settings, left_out = {}, {}
    for collective in wanted.collectives:
        found = ALGORITHMS[wanted.mpi](collective, wanted)
        if not found:
            left_out[collective, "all"] = "the MPI lists no algorithms"
            continue
        settings.update({(collective, name): {} for name in (DEFAULT, AGAIN)})
        for name, variables in found.items():
            if name.startswith("two_proc") and wanted.ranks != 2:
                left_out[collective, name] = "serves 2 ranks only"
            else:
                settings[collective, name] = variables
    return settings, left_out


def measure(wanted):
    """Times as (collective, bytes) -> algorithm -> one median per pass, and the algorithms that were
    left out."""
    settings, left_out = settings_of(wanted)
    times, begun, shuffle = {}, time.monotonic(), random.Random(wanted.seed)
    for turn in range(wanted.passes):
        order = [key for key in settings if key not in left_out]
        shuffle.shuffle(order)
        for done, (collective, name) in enumerate(order):
            if sys.stderr.isatty():
                print(f"\rpass {turn + 1} of {wanted.passes}, {done} of {len(order)}, "
                      f"{time.monotonic() - begun:.0f} s  ", end="", file=sys.stderr, flush=True)
            medians, failure = launch(wanted, collective, settings[collective, name], turn + 1)
            if failure and name in (DEFAULT, AGAIN):
                raise Unusable(f"{collective} with the defaults: {failure}")
            if failure:
                left_out[collective, name] = failure
            for size, value in medians.items():
                times.setdefault((collective, size), {}).setdefault(name, []).append(value)
    for (collective, _), cell in times.items():  # some algorithms lack passes
        for name in [name for name in cell if (collective, name) in left_out]:
            del cell[name]
    return times, left_out


def of_cell(key, cell, over=median):
    """The results for one collective at one size; `over` combines the times of several passes."""
    parts = [{name: over(values[first::2]) for name, values in cell.items()} for first in (0, 1)]
    noise = [difference(part[DEFAULT], part.pop(AGAIN)) for part in parts]
    middle = {name: over(values) for name, values in cell.items() if name != AGAIN}
    pairs = crossed_regrets(parts, DEFAULT)
    return {"collective": key[0], "bytes": key[1], "regret": regret(middle, DEFAULT),
            "unbiased": [ratio for _, ratio in pairs], "best": [best for best, _ in pairs],
            "noise": noise,
            "is_above": min(ratio for _, ratio in pairs) > MUCH * max(noise), "times_us": middle,
            "passes_us": cell}


def summed_up(name, cells):
    """One line of the table."""
    return {"collective": name, "cells": len(cells),
            "algorithms": max(len(cell["times_us"]) - 1 for cell in cells),
            "regret": geometric_mean([cell["regret"] for cell in cells]),
            "unbiased": geometric_mean([ratio for cell in cells for ratio in cell["unbiased"]]),
            "noise": geometric_mean([ratio for cell in cells for ratio in cell["noise"]]),
            "above": sum(cell["is_above"] for cell in cells)}


def told(wanted, times, left_out):
    """All results as JSON."""
    over = {"median": median, "least": min}[wanted.over]
    cells = [of_cell(key, cell, over) for key, cell in sorted(times.items()) if len(cell) > 2]
    if not cells:
        raise Unusable("no algorithm could be forced")
    names = [name for name in wanted.collectives if any(c["collective"] == name for c in cells)]
    groups = [(name, [cell for cell in cells if cell["collective"] == name]) for name in names]
    groups += [("all", cells)] if len(names) > 1 else []
    return {"mpi": wanted.mpi, "launch": wanted.launch, "passes": wanted.passes, "over": wanted.over,
            "align": wanted.align, "pattern": wanted.pattern, "cells": cells,
            "collectives": [summed_up(*group) for group in groups],
            "left_out": [{"collective": key[0], "algorithm": key[1], "why": why}
                         for key, why in left_out.items()]}


def lines_of(found):
    """The printed lines."""
    rows = [[one["collective"], str(one["cells"]), str(one["algorithms"]),
             *(number(one[kind], ".3f") for kind in ("regret", "unbiased", "noise")),
             str(one["above"])] for one in found["collectives"]]
    lines = table(["collective", "cells", "algorithms", "regret", "unbiased", "noise", ">1.3x"], rows)
    for cell in found["cells"]:
        if cell["is_above"]:
            ratios = " and ".join(f"{ratio:.2f}" for ratio in cell["unbiased"])
            lines.append(f"  {cell['collective']} {bytes_text(cell['bytes'])}: {ratios} times "
                         f"{' and '.join(dict.fromkeys(cell['best']))}")
    return lines + [f"  left out: {one['collective']} {one['algorithm']}: {one['why']}"
                    for one in found["left_out"]]


def arguments_of(arguments):
    """The parsed command line."""
    parser = argparse.ArgumentParser(prog="regret_mpi.py", description=__doc__.splitlines()[0])
    parser.add_argument("--mpi", required=True, choices=ALGORITHMS)
    parser.add_argument("--launch", required=True, help="launcher and ranks, such as 'mpirun -n 4'")
    parser.add_argument("--ranks", type=int, help="how many that starts; default: what follows -n")
    parser.add_argument("--tutti", default="tutti", help="the command")
    parser.add_argument("--ompi-info", default="ompi_info", help="that of this Open MPI")
    parser.add_argument("-C", "--collective", default="all", help="a,b,... or all")
    parser.add_argument("-b", "--begin", default="8", help="least bytes")
    parser.add_argument("-e", "--end", default="512K", help="greatest bytes")
    parser.add_argument("-f", "--factor", default="16", help="factor between sizes")
    parser.add_argument("--align", default="malloc", help="where arrays begin, see tutti sweep")
    parser.add_argument("--pattern", default="back_to_back", help="or isolated, see tutti sweep")
    parser.add_argument("--budget", default="50ms", help="time per size in one launch")
    parser.add_argument("--passes", type=int, default=4, help="an even number")
    parser.add_argument("--over", choices=["median", "least"], default="median",
                        help="what of the passes counts: least where others use the machine too")
    parser.add_argument("--limit", type=float, default=30, help="seconds that a launch may take")
    parser.add_argument("--seed", type=int, default=1, help="of the order of launches")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args(arguments)
    wanted.collectives = list(NAMES) if wanted.collective == "all" else wanted.collective.split(",")
    for name in wanted.collectives:
        if name not in NAMES:
            parser.error(f"no collective '{name}': choose from {', '.join(NAMES)}")
    if wanted.passes < 2 or wanted.passes % 2:
        parser.error("--passes is an even number")
    if wanted.ranks is None:
        found = re.search(r"-np?\s+(\d+)", wanted.launch)
        if not found:
            parser.error("--launch says no number of ranks by -n: say it by --ranks")
        wanted.ranks = int(found[1])
    return wanted


def main(arguments):
    """Measures, computes, prints. Returns the exit status."""
    wanted = arguments_of(arguments)
    try:
        found = told(wanted, *measure(wanted))
    except (Malformed, Unusable) as error:
        print(f"regret_mpi.py: {error}", file=sys.stderr)
        return EXIT_ENVIRONMENT
    print(json.dumps(found, indent=1) if wanted.json else "\n".join(lines_of(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
