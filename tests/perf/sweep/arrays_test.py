#!/usr/bin/env python3
"""Addresses of arrays, and orders of calls, under a launcher: arrays_test.py LAUNCHER TUTTI"""

import csv
import json
import os
import subprocess
import sys
import tempfile

from launched import Command, expect, records_of

SMALL = ["-C", "all_gather,broadcast", "-a", "auto,native", "-b", "4K", "-e", "256K", "-f", "64", "-n", "3",
         "--transport", "shm"]


def measured(command, *arguments):
    """Context, cells and rows of a sweep, and what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, "run." + name) for name in ("jsonl", "csv")]
        status, output, said = command.run(2, *arguments, "--json", paths[0], "--csv", paths[1])
        expect(status == 0 and not said, arguments, status, said, output)
        expect(" 0 wrong elements, 0 differ" in output, arguments, output)
        records = records_of(paths[0])
        with open(paths[1], encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    return records[0], [record for record in records if record["record"] == "cell"], rows, output


def test_settings(command):
    """They stand in both files and in the header, and are those of ours and of native."""
    for arguments, align, pattern in (
            ([], "malloc", "back_to_back"), (["--buffers", "visible"], "page", "back_to_back"),
            (["--pattern", "isolated"], "malloc", "isolated"),
            (["--align", "16:4", "--pattern", "isolated", "--buffers", "visible"], "16:4", "isolated"),
            (["--align", "64", "--in-place"], "64", "back_to_back")):
        context, cells, rows, output = measured(command, *SMALL, *arguments)
        expect((context["align"], context["pattern"]) == (align, pattern), arguments, context)
        expect(("pause_us" in context) == (pattern == "isolated"), arguments, context)
        for one in cells + rows:
            expect((one["align"], one["pattern"]) == (align, pattern), arguments, one)
        expect({cell["label"] for cell in cells} == {"auto", "native"}, arguments, cells)
        if pattern == "isolated":
            expect(all(cell["batch"] == 1 for cell in cells), arguments, cells)
        expect(f"# arrays: {align} (--align); calls: {pattern.split('_')[0]}" in output, arguments, output)


def test_several(command):
    """Several alignments race in one run, each in arrays of its own."""
    context, cells, rows, output = measured(
        command, "-C", "all_gather,broadcast", "-a", "auto,native", "-b", "4K", "-e", "4K", "-n", "3",
        "--align", "page,16:4,64")
    expect(context["align"] == "page,16:4,64", context)
    wanted = {(algorithm, align) for algorithm in ("auto", "native") for align in ("page", "16:4", "64")}
    expect({(row["algorithm"], row["align"]) for row in rows} == wanted, rows)
    expect({cell["label"] for cell in cells} ==
           {"auto", "native", "auto@16:4", "native@16:4", "auto@64", "native@64"}, cells)
    expect("# arrays: page, 2 others behind @ (--align)" in output, output)


def test_all(command):
    """Every collective is right wherever arrays begin, and isolated."""
    for arguments in (["--align", "4:64"], ["--align", "2048:page", "--buffers", "visible"],
                      ["--align", "1:2", "-d", "i8", "-o", "max"]):
        measured(command, "-b", "1000", "-e", "1000", "-n", "1", "--transport", "shm", "--pattern",
                 "isolated", *arguments)
    messages = ["-C", "send,sendrecv,all_to_allv", "-b", "1000", "-e", "1000", "-n", "2"]
    measured(command, *messages, "--pattern", "isolated")


def test_older(command):
    """A file that does not say where arrays began is repeated with them at pages."""
    with tempfile.TemporaryDirectory() as folder:
        path, again = os.path.join(folder, "old.jsonl"), os.path.join(folder, "again.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"record": "context", "ranks": 2, "mpi": "an MPI", "arguments": [
                "--collective=all_reduce", "--algorithm=auto", "--begin=8", "--end=8", "--rounds=1"]}, file)
        status, output, said = command.run(2, "--replay", path, "--json", again)
        expect(status == 0 and not said, status, said, output)
        expect(records_of(again)[0]["align"] == "page", records_of(again)[0])
        status, _, said = command.run(2, "--replay", path, "--align", "page")
        expect(status == 2 and "leave --align out" in said[0], status, said)


def test_usage(command):
    """One line from one rank; the help says what there is."""
    for arguments, text in ((["--align", "24"], "--align '24' is not an alignment"),
                            (["--pattern", "alone"], "choose from back_to_back, isolated")):
        status, output, said = command.run(2, *arguments)
        expect(status == 2 and len(said) == 1 and text in said[0], arguments, status, said)
        expect("bytes" not in output, "a table was begun", arguments)
    said = subprocess.run([command.tutti, "sweep", "--help"], check=True, text=True, capture_output=True).stdout
    expect("--align" in said and "--pattern" in said, said)


def main(launcher, tutti):
    """Runs all."""
    command = Command(launcher, tutti)
    for test in (test_usage, test_settings, test_several, test_all, test_older):
        test(command)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
