#!/usr/bin/env python3
"""Lets an MPI load what `tutti export` wrote: exported_test.py TUTTI MPI LAUNCHER PROGRAM

MPI is openmpi or mpich, and PROGRAM calls every collective, every_collective.cpp. What an MPI runs is
seen by how often it calls an operator, and for how many elements.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TUTTI, MPI, LAUNCHER, PROGRAM = sys.argv[1:]
COLLECTIVE = {"openmpi": "all_reduce", "mpich": "reduce_scatter"}[MPI]
SMALL, LARGE = 64, 65536
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

    def export(self, small, large):
        """Writes the file by which one algorithm runs small vectors and another one large ones."""
        cells = [{"bytes": size, "algorithm": algorithm, "segment_bytes": 0, "median_us": 1,
                  "low_us": 0.9, "high_us": 1.1} for size, algorithm in [(SMALL, small),
                                                                         (LARGE, large)]]
        table = {"collective": COLLECTIVE, "ranks": 4, "hosts": 1, "transport": "mpi",
                 "buffers": "private", "cells": cells,
                 "rules": [{"from_bytes": 0, "algorithm": small, "segment_bytes": 0}]}
        self.tuning.write_text(json.dumps({
            "format": "tutti-tuning", "version": 1, "machine": {"processor": "any", "cores": 1},
            "costs": [], "tables": [table]}))
        subprocess.run([TUTTI, "export", self.tuning, "--to", MPI, "-o", self.file], check=True,
                       timeout=300)

    def run_with_file(self, ranks=4):
        """The program's status, and what it and the MPI said."""
        parameters = []
        environment = dict(os.environ)
        if MPI == "openmpi":
            parameters = ["--mca", "coll_tuned_use_dynamic_rules", "1",
                          "--mca", "coll_tuned_dynamic_rules_filename", str(self.file)]
        else:
            environment["MPIR_CVAR_DEVICE_COLLECTIVES"] = "none"
            environment["MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"] = str(self.file)
        done = subprocess.run([LAUNCHER, *parameters, "-n", str(ranks), PROGRAM, str(SMALL),
                               str(LARGE)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, timeout=300, env=environment)
        return done.returncode, done.stdout

    def test_does_as_the_file_says(self):
        name = {"all_reduce": "allreduce", "reduce_scatter": "reduce_scatter_block"}[COLLECTIVE]
        one, other = CALLS
        for small, large in [(one, other), (other, one)]:
            self.export(small, large)
            code, said = self.run_with_file()
            self.assertEqual(code, 0, said)
            self.assertIn("called them all", said)
            for size, algorithm in [(SMALL, small), (LARGE, large)]:
                self.assertIn(f"{name} {size}: {CALLS[algorithm](size // 4)}\n", said)

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
