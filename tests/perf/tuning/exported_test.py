#!/usr/bin/env python3
"""Lets an MPI load what `tutti export` wrote: exported_test.py TUTTI MPI LAUNCHER PROGRAM

MPI is openmpi or mpich, and PROGRAM calls every collective, every_collective.cpp. What an MPI runs is
seen by how often it calls an operator, and for how many elements.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TUTTI, MPI, LAUNCHER, PROGRAM = sys.argv[1:]
COLLECTIVE = {"openmpi": "all_reduce", "mpich": "reduce_scatter"}[MPI]
SMALL, MIDDLE, LARGE = 64, 4096, 65536
NAME = {"openmpi": "allreduce", "mpich": "reduce_scatter_block"}[MPI]
ONLY_OURS = {"openmpi": "one_shot", "mpich": "ring"}[MPI]  # has no counterpart there
# Calls and elements on rank 0 of four, of vectors of n elements.
CALLS = {
    "openmpi": {"ring": lambda n: f"3 calls, {3 * n // 4} elements",
                "recursive_doubling": lambda n: f"2 calls, {2 * n} elements"},
    "mpich": {"pairwise": lambda n: f"3 calls, {3 * n // 4} elements",
              "recursive_halving": lambda n: f"2 calls, {3 * n // 4} elements"}}[MPI]


class Exported(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tuning = pathlib.Path(folder.name, "tuning.json")
        self.file = pathlib.Path(folder.name, "exported")

    def export(self, small, large, middle=None):
        """Writes the file by which one algorithm runs small vectors and another one large ones."""
        measured = [(SMALL, small), *([(MIDDLE, middle)] if middle else []), (LARGE, large)]
        cells = [{"bytes": size, "algorithm": algorithm, "segment_bytes": 0, "median_us": 1,
                  "low_us": 0.9, "high_us": 1.1} for size, algorithm in measured]
        table = {"collective": COLLECTIVE, "ranks": 4, "hosts": 1, "transport": "mpi",
                 "buffers": "private", "cells": cells,
                 "rules": [{"from_bytes": 0, "algorithm": small, "segment_bytes": 0}]}
        self.tuning.write_text(json.dumps({
            "format": "tutti-tuning", "version": 1, "machine": {"processor": "any", "cores": 1},
            "costs": [], "tables": [table]}))
        return subprocess.run([TUTTI, "export", self.tuning, "--to", MPI, "-o", self.file], check=True,
                              timeout=300, stderr=subprocess.PIPE, text=True).stderr

    def run_with_file(self, ranks=4, sizes=(SMALL, LARGE), file=True):
        """The program's status, and what it and the MPI said."""
        parameters = []
        environment = dict(os.environ)
        if not file:
            environment["MPIR_CVAR_DEVICE_COLLECTIVES"] = "none"
        elif MPI == "openmpi":
            parameters = ["--mca", "coll_tuned_use_dynamic_rules", "1",
                          "--mca", "coll_tuned_dynamic_rules_filename", str(self.file)]
        else:
            environment["MPIR_CVAR_DEVICE_COLLECTIVES"] = "none"
            environment["MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"] = str(self.file)
        done = subprocess.run([LAUNCHER, *parameters, "-n", str(ranks), PROGRAM, *map(str, sizes)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=300, env=environment)
        return done.returncode, done.stdout

    def calls(self, *arguments, **options):
        """The algorithms that run, by size."""
        code, said = self.run_with_file(*arguments, **options)
        self.assertEqual(code, 0, said)
        return {int(size): calls for size, calls in re.findall(rf"^{NAME} (\d+): (.*)$", said, re.MULTILINE)}

    def test_does_as_the_file_says(self):
        one, other = CALLS
        for small, large in [(one, other), (other, one)]:
            self.export(small, large)
            code, said = self.run_with_file()
            self.assertEqual(code, 0, said)
            self.assertIn("called them all", said)
            for size, algorithm in [(SMALL, small), (LARGE, large)]:
                self.assertIn(f"{NAME} {size}: {CALLS[algorithm](size // 4)}\n", said)

    def test_leaves_sizes_without_a_counterpart(self):
        """They run what the MPI runs without a file, up to the sizes whose neighbours have one."""
        sizes = (SMALL, 256, 1024, MIDDLE, 8192, 32768, LARGE)
        own = self.calls(sizes=sizes, file=False)
        seen = set()
        for algorithm, calls in CALLS.items():
            said = self.export(algorithm, algorithm, ONLY_OURS)
            runs = self.calls(sizes=sizes)
            for size in sizes:
                is_left = 512 <= size < 16384
                self.assertEqual(runs[size], own[size] if is_left else calls(size // 4), (algorithm, size))
                if is_left:
                    seen.add(own[size] == calls(size // 4))
            self.assertIn(f"left out {COLLECTIVE} on 4 ranks from 512 to 16383 bytes: no measured "
                          "algorithm has a counterpart there, so the library decides", said)
        self.assertEqual(seen, {True, False}, own)  # the MPI's choice is one of them

    @unittest.skipIf(MPI == "mpich", "its file has the usual algorithms, which differ on 3 ranks")
    def test_leaves_other_numbers_of_ranks(self):
        for ranks in (3, 5):
            own = self.calls(ranks, sizes=(60, 6000, 60000), file=False)
            for algorithm in CALLS:
                self.export(algorithm, algorithm)
                self.assertEqual(self.calls(ranks, sizes=own), own, (ranks, algorithm))

    def test_has_every_collective_for_other_numbers_of_ranks(self):
        self.export(*CALLS)
        for ranks in (1, 2, 3):
            code, said = self.run_with_file(ranks)
            self.assertEqual((code, "called them all" in said), (0, True), said)

    @unittest.skipIf(MPI != "mpich", "only MPICH needs every collective")
    def test_mpich_looks_up_what_is_there(self):
        self.export(*CALLS)
        whole = json.loads(self.file.read_text())
        for missing in ("collective=ineighbor_alltoallw", "collective=iscan", "collective=gatherv"):
            self.file.write_text(json.dumps({key: value for key, value in whole.items()
                                             if key != missing}))
            code, said = self.run_with_file(2)
            self.assertNotEqual((code, "called them all" in said), (0, True), missing)
        self.file.write_text(json.dumps(whole).replace("Scan_intra", "Scan_of_old"))
        code, said = self.run_with_file(2)
        self.assertNotEqual(code, 0)
        self.assertIn("MPIR_Scan_of_old_recursive_doubling", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
