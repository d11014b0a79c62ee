#!/usr/bin/env python3
"""Compares the times that `tutti sweep` predicts for `auto` with those that it measured.

Usage: prediction_error.py FILE.jsonl ... [--within 2] [--worst 10] [--json]

FILEs are output of `tutti sweep --json FILE`. For each collective the script prints the share of cells whose
prediction is too long or too short by at most the factor --within, the source of the predicted times (timed,
calibrated or assumed), and then the worst cells. Only calls that follow each other count, not isolated ones.
"""
import argparse
import json
import math
import sys

from regret_file import Malformed, Sweep


def cells_of(paths):
    """(collective, bytes, measured, predicted, source of the prediction) of `auto`, of all files."""
    found = []
    for path in paths:
        sweep = Sweep(path)
        for key, choice in sweep.choices.items():
            cell = sweep.cells.get((*key, False), {}).get("auto")
            if cell is None or cell.get("pattern", "back_to_back") != "back_to_back":
                continue
            label = choice.get("label", choice["chosen"])
            predicted = next((one["predicted_us"] for one in choice["candidates"]
                              if one.get("label", one["algorithm"]) == label), None)
            if predicted:
                found.append((choice["collective"], choice["bytes"], cell["median_us"], predicted,
                              choice.get("times", "assumed")))
    return found


def factor(cell):
    """The factor by which a prediction is too long or too short; 1 is exact."""
    return math.exp(abs(math.log(cell[3] / cell[2])))


def summary_of(cells, within):
    """The summary of some cells."""
    good = sum(factor(cell) <= within for cell in cells)
    return {"cells": len(cells), "within": good, "fraction": good / len(cells),
            "rest_on": sorted({cell[4] for cell in cells})}


def main():
    parser = argparse.ArgumentParser(description="How far a sweep's predictions of auto are off.")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--within", type=float, default=2, help="the factor that counts as right")
    parser.add_argument("--worst", type=int, default=10, help="how many cells to list")
    parser.add_argument("--json", action="store_true", help="for programs")
    options = parser.parse_args()
    try:
        cells = cells_of(options.files)
    except Malformed as error:
        sys.exit(f"prediction_error.py: {error}")
    if not cells:
        sys.exit("prediction_error.py: these files have no predicted cells of auto")
    groups = {}
    for cell in cells:
        groups.setdefault(cell[0], []).append(cell)
    worst = sorted(cells, key=factor, reverse=True)[:options.worst]
    if options.json:
        names = ("collective", "bytes", "measured_us", "predicted_us", "rests_on")
        print(json.dumps({"all": summary_of(cells, options.within),
                          "collectives": {name: summary_of(group, options.within)
                                          for name, group in groups.items()},
                          "worst": [dict(zip(names, cell)) for cell in worst]}))
        return
    print(f"{'collective':16}{'cells':>6}{'within':>8}   predictions rest on")
    for name, group in [*groups.items(), ("all", cells)]:
        told = summary_of(group, options.within)
        print(f"{name:16}{told['cells']:6}{told['fraction']:8.0%}   {', '.join(told['rest_on'])}")
    print(f"\n{'worst':16}{'bytes':>10}{'measured us':>14}{'predicted us':>14}")
    for collective, size, measured, predicted, _ in worst:
        print(f"{collective:16}{size:10}{measured:14.2f}{predicted:14.2f}")


if __name__ == "__main__":
    main()
