#!/usr/bin/env python3
"""Runs `tutti sweep --memory cuda` on stand-ins for the driver and NCCL: gpu_test.py CASE TUTTI [FACTS]

CASE is columns, graphs, ways, lies (FACTS: the library that lies), refusals, replays, launched (FACTS: the
launcher), or none, for a build without the CUDA toolkit.
"""

import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from launched import expect, records_of

FEW = ["-b", "1000", "-e", "8000", "-f", "8", "-n", "2", "-w", "1"]
HEADING = ["size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time",
           "algbw", "busbw", "#wrong", "algorithm"]


class Sweep:
    """A run of the command, with what it wrote."""

    def __init__(self, tutti, ranks, *arguments, launcher=(), **variables):
        self.folder = tempfile.TemporaryDirectory(prefix="tutti gpus ")
        self.json = os.path.join(self.folder.name, "run.jsonl")
        files = ["--json", self.json, "--csv", self.json + ".csv"]
        started = ["--ranks", str(ranks)] if not launcher and ranks else []
        done = subprocess.run(
            [*launcher, tutti, "sweep", *started, *arguments, *files], check=False, timeout=300,
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
            env={**os.environ, **variables})
        self.status, self.output = done.returncode, done.stdout
        self.said = [line for line in done.stderr.splitlines()
                     if line.startswith("tutti") and "configurations done" not in line]
        self.rows = [line for line in self.output.splitlines() if re.match(r" +\d+ +\d+ ", line)]

    def cells(self):
        """The records of what was measured."""
        return [record for record in records_of(self.json) if record["record"] == "cell"]

    def table(self):
        """The lines of the CSV file."""
        with open(self.json + ".csv", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def expect_good(self):
        """It went well, and all results were right."""
        expect(self.status == 0 and not self.said, self.status, self.said, self.output)
        expect(" 0 wrong elements, 0 differ" in self.output, self.output)
        return self


def bus_factor(collective, ranks):
    """As nccl-tests defines it."""
    if collective == "all_reduce":
        return 2 * (ranks - 1) / ranks
    return 1 if collective in ("broadcast", "reduce") else (ranks - 1) / ranks


def expect_rates(row, ranks):
    """Bandwidths follow from time, size and collective. Files have six digits."""
    algbw = float(row["bytes"]) / float(row["median_us"]) / 1000
    expect(abs(float(row["algbw_gb_s"]) / algbw - 1) < 1e-4, row)
    busbw = float(row["algbw_gb_s"]) * bus_factor(row["collective"], ranks)
    expect(abs(float(row["busbw_gb_s"]) / busbw - 1) < 1e-4, row)


def test_columns(tutti):
    """Table, CSV and JSON say the same: all that nccl-tests says, of both forms."""
    collectives = ["all_reduce", "reduce", "broadcast", "scatter", "gather", "all_gather",
                   "reduce_scatter", "all_to_all"]
    run = Sweep(tutti, 3, "--memory", "cuda", "-C", ",".join(collectives), *FEW, "-r", "1",
                "-d", "f64", "-o", "max").expect_good()
    heads = [line[1:].split() for line in run.output.splitlines() if "redop" in line]
    expect(heads == [HEADING] * len(collectives), heads)
    cells, rows = run.cells(), run.table()
    expect(len(cells) == len(rows) > 0, len(cells), len(rows))
    for cell, row in zip(cells, rows):
        rooted = cell["collective"] in ("reduce", "broadcast", "scatter", "gather")
        reduces = cell["collective"] in ("all_reduce", "reduce", "reduce_scatter")
        expect(cell["wrong"] == 0 and cell["bit_equal"] and cell["samples"] == 2, cell)
        expect(cell["root"] == (1 if rooted else None) and row["root"] == ("1" if rooted else ""),
               cell, row)
        expect((cell["op"], cell["dtype"]) == ("max" if reduces else "", "f64"), cell)
        expect((cell["transport"], cell["buffers"], cell["graph"]) == ("nccl", "cuda", False), cell)
        expect(cell["bytes"] in (960, 1000, 1008, 8000, 7992, 8016), cell)
        expect_rates(row, 3)
    for name in collectives:
        found = {(c["label"], c["in_place"]) for c in cells if c["collective"] == name}
        forms = (False,) if name == "all_to_all" else (False, True)
        expect({(label, form) for label in ("auto", "native") for form in forms} <= found, found)
        expect(len({label for label, _ in found}) > 2, "no algorithm of ours", found)
        expect({form for _, form in found} == set(forms), name, found)
    expect({("ring", False), ("ring", True)} <= {(c["label"], c["in_place"]) for c in cells
                                                 if c["collective"] == "all_reduce"}, cells)
    numbers = [line.split() for line in run.rows]
    expect(len(numbers) == len({(c["collective"], c["bytes"], c["label"]) for c in cells}), run.rows)
    expect({(n[2], n[3], n[4]) for n in numbers} ==
           {("f64", "max", "-1"), ("f64", "max", "1"), ("f64", "none", "1"), ("f64", "none", "-1")},
           numbers)
    expect(all(n[8] == "0" and n[12] in ("0", "-") for n in numbers), numbers)
    context = records_of(run.json)[0]
    expect(len(context["gpus"]) == 3 and context["gpus"][2].startswith("GPU 2 ") and
           context["nccl"] and context["clock"].startswith("events"), context)
    choices = [r for r in records_of(run.json) if r["record"] == "choice"]
    runs = {(c["collective"], c["bytes"]): c["runs"] for c in cells if c["label"] == "auto"}
    expect({(c["collective"], c["bytes"]): c["chosen"] for c in choices} == runs, choices, runs)


def test_graphs(tutti):
    """Replays are measured, checked, and marked."""
    named = ["-C", "all_reduce,all_to_all", "-a", "auto,native,ring,direct", *FEW]
    run = Sweep(tutti, 2, "--memory", "cuda", "--graph", *named).expect_good()
    cells = run.cells()
    expect(cells and all(c["graph"] is True and c["wrong"] == 0 for c in cells), cells)
    expect({"auto", "native", "ring", "direct"} == {c["label"] for c in cells}, cells)
    expect("each call is a graph" in run.output, run.output)
    expect({row["graph"] for row in run.table()} == {"true"}, run.table())
    only = Sweep(tutti, 2, "--memory", "cuda", "--graph", "--in-place", "-c", "0", *named)
    expect(only.status == 0 and "NOT CHECKED" in only.output, only.status, only.said, only.output)
    expect({c["in_place"] for c in only.cells()} == {True} and only.cells()[0]["wrong"] is None,
           only.cells())


def test_lies(tutti, liar):
    """The sweep checks NCCL's results, and those of its replay."""
    for arguments, wrong in ((["-d", "f32"], 2), (["-d", "f64"], 0), (["-d", "f64", "--graph"], 2)):
        run = Sweep(tutti, 2, "--memory", "cuda", "-C", "all_reduce", "-a", "ring,native", "-b",
                    "1000", "-e", "1000", "-n", "1", *arguments, LD_PRELOAD=liar)
        if wrong == 0:
            run.expect_good()
            continue
        expect(run.status == 1 and not run.said, arguments, run.status, run.said, run.output)
        found = {(c["label"], c["in_place"]): c["wrong"] for c in run.cells()}
        expect(found == {("ring", False): 0, ("ring", True): 0,  # one before and one after
                         ("native", False): wrong, ("native", True): wrong}, arguments, found)
        expect(f"native gives {wrong} WRONG" in run.output and
               "native DIFFERS BETWEEN RANKS" in run.output, run.output)


def test_shared(tutti):
    """Two processes share a GPU, where NCCL allows it."""
    run = Sweep(tutti, 2, "--memory", "cuda", "-C", "all_reduce", "-a", "native,ring", "-b", "1000", "-e",
                "1000", "-n", "1", CUDA_STANDIN_DEVICES="1", CUDA_STANDIN_NCCL_VERSION="23000",
                NCCL_MULTI_RANK_GPU_ENABLE="1")
    run.expect_good()


def test_refusals(tutti):
    """One line, of one rank, that says what is missing."""
    folder = pathlib.Path(os.environ["LD_LIBRARY_PATH"])
    with tempfile.TemporaryDirectory() as lonely:  # a driver, and no NCCL, not even the machine's
        os.symlink(folder / "libcuda.so.1", os.path.join(lonely, "libcuda.so.1"))
        pathlib.Path(lonely, "libnccl.so.2").write_text("no library", encoding="utf-8")
        cases = [
            (4, "rank 0 cannot attach a GPU: cannot load libcuda.so.1", [],
             {"LD_LIBRARY_PATH": "/nowhere"}),
            (4, "libnccl.so.2: file too short", [], {"LD_LIBRARY_PATH": lonely}),
            (4, "CUDA_ERROR_NO_DEVICE", [], {"CUDA_STANDIN_DEVICES": "0"}),
            (4, "ranks 0 and 1 have the same GPU", [], {"CUDA_STANDIN_DEVICES": "1"}),
            (4, "before (the ranks of a host take its GPUs in turn: start no more of them than it has)", [],
             {"CUDA_STANDIN_DEVICES": "1"}),
            (4, "before, or set NCCL_MULTI_RANK_GPU_ENABLE=1: ", [],
             {"CUDA_STANDIN_DEVICES": "1", "CUDA_STANDIN_NCCL_VERSION": "23000"}),
            (2, "the probe measures memory of the host", ["-C", "all_reduce", "-a", "probe"], {}),
            (2, "leave it out beside --memory cuda", ["--segment", "64K"], {}),
            (2, "messages over the host cannot be captured", ["--memory", "cuda:host", "--graph"], {}),
            (2, "messages over the host have only tutti's own calls", ["--memory", "cuda:host", "-C", "all_reduce", "-a", "native"],
             {}),
            (4, "cannot see memory of other GPUs", ["--buffers", "visible"],
             {"CUDA_STANDIN_LINKS": "0x1"}),
            (4, "these GPUs do not see each other's memory", ["--memory", "cuda:host", "--buffers", "visible"],
             {"CUDA_STANDIN_LINKS": "0x1"}),
            (2, "did you mean ring?", ["-C", "all_reduce", "-a", "rng"], {})]
        for status, text, arguments, variables in cases:
            memory = [] if "--memory" in arguments else ["--memory", "cuda"]
            run = Sweep(tutti, 2, *memory, *arguments, **variables)
            expect(run.status == status and len(run.said) == 1 and text in run.said[0],
                   text, run.status, run.said, run.output)
            expect("bytes" not in run.output and not run.rows, "a table was begun", run.output)


def test_replays(tutti):
    """A sweep of GPUs is repeated from its file, compared with it, and drawn."""
    first = Sweep(tutti, 2, "--memory", "cuda", "--graph", "-C", "all_reduce", "-a",
                  "auto,ring,native", *FEW).expect_good()
    picture = first.json + ".svg"
    again = Sweep(tutti, None, "--replay", first.json, "--baseline", first.json, "--fail-over",
                  "100000000%", "--plot", picture).expect_good()
    def configurations(run):
        return [(c["label"], c["bytes"], c["in_place"], c["graph"]) for c in run.cells()]
    expect(configurations(again) == configurations(first), configurations(again))
    expect(f"compared {len(first.cells())} configurations with the baseline, 0 are slower; 0 are not"
           in again.output, again.output)
    expect(os.path.getsize(picture) > 1000, "no picture")


def test_launched(tutti, launcher):
    """Under an MPI the library beside ours is NCCL too."""
    run = Sweep(tutti, 2, "--memory", "cuda", "-C", "all_reduce,scan", "-a", "ring,native,auto",
                *FEW, launcher=(launcher, "-n", "2")).expect_good()
    expect({c["label"] for c in run.cells() if c["collective"] == "all_reduce"} ==
           {"ring", "native", "auto"}, run.cells())
    expect("native takes no part: NCCL has no such call" in run.output, run.output)


def test_ways(tutti):
    """Without NCCL, and with buffers that peers see."""
    for memory, buffers, transport, kind in (
            ("cuda", "private", "nccl", "cuda"), ("cuda", "visible", "nccl", "cuda:visible"),
            ("cuda:host", "private", "host", "cuda"),
            ("cuda:host", "visible", "host", "cuda:visible")):
        racers = ["auto", "ring", "direct"] + (["native"] if transport == "nccl" else [])
        run = Sweep(tutti, 2, "--memory", memory, "--buffers", buffers, "-C", "all_reduce,all_gather",
                    "-a", ",".join(racers), *FEW).expect_good()
        expect({(c["transport"], c["buffers"]) for c in run.cells()} == {(transport, kind)}, run.cells())
        expect({c["label"] for c in run.cells()} == set(racers), run.output)


def test_none(tutti):
    """A build without the CUDA toolkit says so once."""
    run = Sweep(tutti, 2, "--memory", "cuda", "-C", "all_reduce")
    expect(run.status == 4 and len(run.said) == 1 and "this build has no CUDA" in run.said[0],
           run.status, run.said, run.output)


def main(case, tutti, *facts):
    """Runs one case."""
    {"columns": test_columns, "graphs": test_graphs, "lies": test_lies, "refusals": test_refusals,
     "shared": test_shared, "replays": test_replays, "launched": test_launched, "ways": test_ways,
     "none": test_none}[case](tutti, *facts)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
