"""Tuning files to export, and the command that exports them."""

import json
import pathlib
import subprocess
import tempfile
import unittest


def cell(size, algorithm, median, segment=0):
    """One measured choice, known to a tenth of a microsecond."""
    return {"bytes": size, "algorithm": algorithm, "segment_bytes": segment, "median_us": median,
            "low_us": median - 0.1, "high_us": median + 0.1}


def table(collective, cells, ranks=4, transport="shm"):
    """The measurements at one place."""
    return {"collective": collective, "ranks": ranks, "hosts": 1, "transport": transport,
            "buffers": "private", "cells": cells,
            "rules": [{"from_bytes": 0, "algorithm": cells[0]["algorithm"], "segment_bytes": 0}]}


# The fastest has no counterpart in any library; the next one is the ring, then recursive doubling.
ALL_REDUCE = table("all_reduce", [
    cell(64, "one_shot", 1), cell(64, "ring", 2), cell(64, "recursive_doubling", 3),
    cell(65536, "ring", 20), cell(65536, "recursive_doubling", 10)])
BROADCAST = table("broadcast", [cell(64, "binomial", 1), cell(1 << 20, "chain", 5, 131072),
                                cell(1 << 20, "binomial", 9)])
REDUCE = table("reduce", [cell(64, "binomial", 1), cell(65536, "reduce_scatter_gather", 5)])
ALL_GATHER = table("all_gather", [cell(4096, "bruck:k=2", 1), cell(65536, "ring", 5)])
REDUCE_SCATTER = table("reduce_scatter", [cell(64, "recursive_halving", 1),
                                          cell(65536, "ring", 5)])


class ExportCase(unittest.TestCase):
    tutti = ""  # the path of the command

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name, "tuning.json")

    def export(self, to, *tables, arguments=(), tutti=None):
        """Status, text, complaints."""
        self.path.write_text(json.dumps({
            "format": "tutti-tuning", "version": 1, "machine": {"processor": "any", "cores": 1},
            "costs": [], "tables": tables}))
        done = subprocess.run([tutti or self.tutti, "export", str(self.path), "--to", to, *arguments], text=True,
                              capture_output=True, check=False, timeout=300)
        return done.returncode, done.stdout, done.stderr
