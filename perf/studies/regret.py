#!/usr/bin/env python3
"""Measures the quality of `auto`'s choices: regret.py [--json] [--run "COMMAND"] FILE...

Each FILE is output of `tutti sweep --json FILE` without -a, so that all algorithms took part beside auto.
The script also compares two or more files of the same ranks, transport and buffers with each other: one
file decides which algorithm is best, and another one compares its time. With --run "mpirun -n 4 tutti sweep"
it first runs the command for each FILE, and writes it. docs/choices.md explains the results.
"""

import argparse
import json
import sys

from regret_statistics import (MUCH, crossed_regrets, difference, geometric_mean, median, number,
                               rank_correlation, regret, share, table)
from sweep_runs import Malformed, Sweep, Unmeasured, bytes_text, measure

NOT_OURS = ("native", "probe")
CLOSE = 1.1  # a predicted winner counts as right up to this ratio to the measured one
EXIT_USAGE = 2
EXIT_ENVIRONMENT = 4


def ours(here):
    """The correct cells of tutti's algorithms and of auto, of one size."""
    return {label: cell for label, cell in here.items()
            if (label.split("#")[0] not in NOT_OURS or is_choice(label, cell))
            and not cell.get("wrong")}


def is_choice(label, cell):
    """Whether auto could choose it: NCCL's own calls count, an MPI's do not."""
    return label == "native" and cell["buffers"].startswith("cuda")


def compared(sweep):
    """The cells of a file in which auto could choose among several: key -> label -> cell."""
    found = {key: ours(here) for key, here in sweep.sizes.items()}
    found = {key: here for key, here in found.items() if "auto" in here and len(here) > 1}
    if not found:
        raise Malformed(f"'{sweep.path}' has no size at which auto ran beside other algorithms: "
                        "sweep with -a left out")
    return found


def world_of(sweep):
    """The facts that must be equal in files that are compared, in words."""
    def found(name):
        return sorted({str(cell[name]) for cell in sweep.cells if cell.get(name)})
    hosts = len(sweep.context["hosts"])
    facts = [f"{sweep.context['ranks']} ranks on {hosts} host" + "s" * (hosts != 1), "/".join(found("transport")),
             f"{'/'.join(found('buffers'))} buffers", f"{'/'.join(found('dtype'))} {'/'.join(found('op'))}".strip()]
    facts += [f"arrays: {align}" for align in found("align") if align != "page"]
    facts += ["isolated calls"] if "isolated" in found("pattern") else []
    if found("in_place"):
        facts.append("in place" if all(cell.get("in_place") for cell in sweep.cells) else "out of place and in place")
    facts += [str(sweep.context[name]) for name in ("determinism", "mpi") if sweep.context.get(name)]
    facts += ["oversubscribed"] if sweep.context.get("oversubscribed") else []
    return ", ".join([*facts, f"tutti {sweep.context.get('tutti')}"])


def medians(here):
    """label -> median."""
    return {label: cell["median_us"] for label, cell in here.items()}


def standing_for(here, one, name):
    """The cell with the time of a choice: its own, or that of auto if auto ran it."""
    if one["label"] in here:
        return here[one["label"]]
    auto = here["auto"]
    is_run = (auto["runs"], auto.get("segment_bytes")) == (one[name], one.get("segment_bytes"))
    return auto if is_run else None


def noise_of(here):
    """The ratio of the times of auto and of the algorithm that it ran, which are two measurements of the
    same calls."""
    auto = here["auto"]
    twin = here.get(auto["runs"])
    if twin is None or twin.get("segment_bytes") != auto.get("segment_bytes"):
        return None
    return difference(auto["median_us"], twin["median_us"])


def predictions(here, choice):
    """Pairs of predicted and measured time, and the cell of the predicted winner."""
    known = [(candidate, standing_for(here, candidate, "algorithm"))
             for candidate in choice["candidates"] if candidate["predicted_us"] is not None]
    pairs = [(candidate["predicted_us"], cell["median_us"]) for candidate, cell in known if cell]
    if choice["basis"] == "least predicted time":
        return pairs, standing_for(here, choice, "chosen")
    known.sort(key=lambda one: one[0]["predicted_us"])
    return pairs, known[0][1] if known else None


def of_cell(key, here, choice):
    """The results for one cell."""
    times = medians(here)
    auto, best = here["auto"], min(here.values(), key=lambda cell: cell["median_us"])
    ratio = regret(times, "auto")
    one = {"collective": key[0], "bytes": key[1], "in_place": key[2], "regret": ratio,
           "noise": noise_of(here), "ran": auto["runs"], "best": best["label"], "auto_us": auto["median_us"],
           "best_us": best["median_us"], "wins": None, "is_close": None, "correlation": None,
           "errors": [],
           "is_above": auto["ci_low_us"] > MUCH * best["ci_high_us"]}
    if choice is not None:
        pairs, winner = predictions(here, choice)
        if winner is not None:
            one["wins"] = winner["runs"] == best["runs"]
            one["is_close"] = one["wins"] or winner["median_us"] <= CLOSE * best["median_us"]
        one["correlation"] = rank_correlation(*zip(*pairs)) if pairs else None
        one["errors"] = [abs(predicted / measured - 1) for predicted, measured in pairs]
    return one


def known(cells, name):
    """The values of the cells that have one."""
    return [cell[name] for cell in cells if cell[name] is not None]


def summed_up(collective, cells):
    """One line of a file's table."""
    return {"collective": collective, "cells": len(cells),
            "regret": geometric_mean(known(cells, "regret")),
            "noise": geometric_mean(known(cells, "noise")),
            "above": sum(cell["is_above"] for cell in cells),
            "predicted_wins": share(known(cells, "wins")),
            "predicted_is_close": share(known(cells, "is_close")),
            "rank_correlation": median(known(cells, "correlation")),
            "prediction_error": median([e for cell in cells for e in cell["errors"]])}


def by_collective(cells):
    """(collective, its cells) in the order of the file, and last all cells together."""
    names = list(dict.fromkeys(cell["collective"] for cell in cells))
    groups = [(name, [cell for cell in cells if cell["collective"] == name]) for name in names]
    return groups + ([("all", cells)] if len(names) > 1 else [])


def of_file(sweep):
    """The results for one file."""
    cells = [of_cell(key, here, sweep.choices.get(key[:2])) for key, here in compared(sweep).items()]
    return {"file": sweep.path, "world": world_of(sweep),
            "interrupted": bool(sweep.summary.get("interrupted", True)),
            "collectives": [summed_up(*group) for group in by_collective(cells)],
            "above": [{name: cell[name] for name in ("collective", "bytes", "in_place", "regret", "ran",
                                                     "best", "auto_us", "best_us")}
                      for cell in cells if cell["is_above"]]}


def crossed(world, sweeps):
    """The results for several files of the same world."""
    files = [compared(sweep) for sweep in sweeps]
    cells = []
    for key in files[0]:
        if all(key in file for file in files):
            parts = [medians(file[key]) for file in files]
            pairs = crossed_regrets(parts, "auto")
            cells.append({"collective": key[0], "bytes": key[1], "in_place": key[2],
                          "ran": files[0][key]["auto"]["runs"],
                          "best": [best for best, _ in pairs],
                          "plain": [regret(part, "auto") for part in parts],
                          "crossed": [ratio for _, ratio in pairs]})
    if not cells:
        raise Malformed(f"'{sweeps[0].path}' and '{sweeps[1].path}' have no size in common")
    return {"world": world, "files": [sweep.path for sweep in sweeps],
            "collectives": [{"collective": name, "cells": len(group),
                             **{kind: geometric_mean([r for c in group for r in c[kind]])
                                for kind in ("plain", "crossed")},
                             "above": sum(min(c["crossed"]) > MUCH for c in group)}
                            for name, group in by_collective(cells)],
            "above": [cell for cell in cells if min(cell["crossed"]) > MUCH]}


def lines_of_file(told):
    """The printed lines for one file."""
    rows = [[one["collective"], str(one["cells"]), number(one["regret"], ".3f"),
             number(one["noise"], ".3f"), str(one["above"]),
             number(one["predicted_wins"], ".0%"),
             number(one["predicted_is_close"], ".0%"),
             number(one["rank_correlation"], ".2f"),
             number(one["prediction_error"], ".0%")] for one in told["collectives"]]
    cut = ["the sweep was cut short"] if told["interrupted"] else []
    return [f"{told['file']}: {told['world']}", *cut,
            *table(["collective", "cells", "regret", "noise", ">1.3x", "predicted wins",
                               "within 10%", "rank corr.", "error"], rows),
            *[f"  {one['collective']} {bytes_text(one['bytes'])}: auto ran {one['ran']}, "
              f"{one['auto_us']:.4g} us, {one['regret']:.2f} times {one['best']}, "
              f"{one['best_us']:.4g} us" for one in told["above"]], ""]


def lines_of_world(told):
    """The printed lines for several files of the same world."""
    rows = [[one["collective"], str(one["cells"]), f"{one['plain']:.3f}", f"{one['crossed']:.3f}",
             str(one["above"])] for one in told["collectives"]]
    return [f"best in the others of {len(told['files'])} files, compared in one: {told['world']}",
            *table(["collective", "cells", "regret", "unbiased", ">1.3x"], rows),
            *[f"  {one['collective']} {bytes_text(one['bytes'])}: auto ran {one['ran']}, "
              f"{' and '.join(f'{ratio:.2f}' for ratio in one['crossed'])} times "
              f"{' and '.join(dict.fromkeys(one['best']))}" for one in told["above"]], ""]


def main(arguments):
    """Reads, computes, prints. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="regret.py", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--run", metavar="COMMAND", help="a sweep that writes each FILE first")
    parser.add_argument("files", nargs="+", metavar="FILE", help="what tutti sweep --json wrote")
    wanted = parser.parse_args(arguments)
    try:
        if wanted.run:
            measure(wanted.run, wanted.files)
        sweeps = [Sweep.read(path) for path in wanted.files]
        told = {"files": [of_file(sweep) for sweep in sweeps], "worlds": []}
        for world in dict.fromkeys(map(world_of, sweeps)):
            same = [sweep for sweep in sweeps if world_of(sweep) == world]
            if len(same) > 1:
                told["worlds"].append(crossed(world, same))
    except Malformed as error:
        print(f"regret.py: {error}", file=sys.stderr)
        return EXIT_USAGE
    except Unmeasured as error:
        print(f"regret.py: {error}", file=sys.stderr)
        return EXIT_ENVIRONMENT
    lines = [line for one in told["files"] for line in lines_of_file(one)]
    lines += [line for one in told["worlds"] for line in lines_of_world(one)]
    if not told["worlds"]:
        lines.append("The least of many noisy times is too low, so each regret is too high: give a second "
                     "file of the same world.")
    print(json.dumps(told, indent=1) if wanted.json else "\n".join(lines).rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
