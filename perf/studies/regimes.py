#!/usr/bin/env python3
"""Draws the algorithm that tutti would choose: a map of bytes and ranks, coloured by winner.

Usage: regimes.py [--tutti COMMAND] [-C all_reduce] [-b 8,64,...] -o FILE.svg NETWORK...
The form of networks is that of `tutti explain --topology`; each has one rank per place, and
switch:16@8 has eight ranks on each host. FILE.json beside the picture contains its numbers.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import sweep_runs  # noqa: F401, which finds the modules of pages
from drawing import bytes_text  # noqa: E402
from pictures import plt, save  # noqa: E402

from matplotlib.patches import Patch, Rectangle  # noqa: E402

SIZES = ",".join(str(8 << shift) for shift in range(0, 26, 2))  # 8 B to 256 MiB


def base_of(algorithm):
    """The algorithm without parameters, which decides the colour."""
    return algorithm.split(":")[0].split("(")[0]


def explained(command, network, collective, sizes):
    """The choice for each size, and its advantage over the next algorithm of another name."""
    topology, _, per_host = network.partition("@")
    text = subprocess.run(
        [command, "explain", "--topology", topology, "--per-host", per_host or "1",
         "-C", collective, "-b", sizes, "--json"],
        check=True, capture_output=True, text=True).stdout
    cells = []
    for size in json.loads(text):
        serving = [one for one in size["candidates"] if "left_out" not in one]
        others = [one for one in serving if base_of(one["algorithm"]) != base_of(size["chosen"])]
        ahead = others[0]["us"] / serving[0]["us"] if others else None
        cells.append({"bytes": size["bytes"], "chosen": size["chosen"], "us": serving[0]["us"],
                      "next": others[0]["algorithm"] if others else None, "ahead": ahead})
    return cells


def draw(regimes, collective, path):
    """One row per network, one column per size; a cell shows the advantage of the winner."""
    names = sorted({base_of(cell["chosen"]) for row in regimes for cell in row["cells"]})
    colours = dict(zip(names, plt.get_cmap("tab20").colors))
    sizes = [cell["bytes"] for cell in regimes[0]["cells"]]
    figure, axes = plt.subplots(figsize=(1.5 + 0.62 * len(sizes), 1.6 + 0.42 * len(regimes)))
    for y, row in enumerate(regimes):
        for x, cell in enumerate(row["cells"]):
            axes.add_patch(Rectangle((x, y), 1, 1, color=colours[base_of(cell["chosen"])], lw=0))
            if cell["ahead"]:
                axes.text(x + 0.5, y + 0.5, f"{cell['ahead']:.2f}", ha="center", va="center",
                          fontsize=7)
    axes.set(xlim=(0, len(sizes)), ylim=(0, len(regimes)),
             xlabel="bytes of the vector; in the cells: time of the next algorithm over the winner's",
             title=f"{collective}: predicted winner")
    axes.set_xticks([x + 0.5 for x in range(len(sizes))], [bytes_text(size) for size in sizes])
    axes.set_yticks([y + 0.5 for y in range(len(regimes))], [row["network"] for row in regimes])
    axes.legend(handles=[Patch(color=colours[name], label=name) for name in names],
                loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return save(figure, str(path), bbox_inches="tight")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tutti", default="tutti", help="the command")
    parser.add_argument("-C", "--collective", default="all_reduce")
    parser.add_argument("-b", "--bytes", default=SIZES, help="with commas between them")
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path, help="an .svg or .png")
    parser.add_argument("networks", nargs="+", metavar="NETWORK")
    wanted = parser.parse_args()
    if wanted.output.suffix not in (".svg", ".png"):
        parser.error(f"'{wanted.output}' is not an .svg or .png file")
    try:
        regimes = [{"network": network,
                    "cells": explained(wanted.tutti, network, wanted.collective, wanted.bytes)}
                   for network in wanted.networks]
    except subprocess.CalledProcessError as error:
        sys.exit(f"regimes.py: {error.stderr.strip()}")
    rows = ",\n".join(map(json.dumps, regimes))
    wanted.output.with_suffix(".json").write_text(
        f'{{"collective": "{wanted.collective}", "regimes": [\n{rows}\n]}}\n')
    return draw(regimes, wanted.collective, wanted.output)


if __name__ == "__main__":
    sys.exit(main())
