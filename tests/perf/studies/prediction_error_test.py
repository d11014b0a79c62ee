#!/usr/bin/env python3
"""Reads sweeps that are known by hand: prediction_error_test.py PERF"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(sys.argv.pop(), "prediction_error.py")
CONTEXT = {"record": "context", "schema": "tutti sweep/1", "tutti": "0.1.0", "ranks": 2, "hosts": [{}]}


def records(collective, size, measured, predicted, **more):
    """What a sweep writes of auto at one size; auto runs the ring."""
    return [{"record": "cell", "collective": collective, "label": "auto", "runs": "ring",
             "transport": "shm", "buffers": "private", "dtype": "f32", "op": "sum", "bytes": size,
             "median_us": measured, "ci_low_us": measured, "ci_high_us": measured, **more},
            {"record": "choice", "collective": collective, "bytes": size, "chosen": "ring",
             "basis": "least predicted time", "times": "timed",
             "candidates": [{"algorithm": "tree", "predicted_us": 1e9},
                            {"algorithm": "ring", "predicted_us": predicted}]}]


class PredictionError(unittest.TestCase):
    def report(self, lines, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.jsonl")
            path.write_text("".join(json.dumps(line) + "\n" for line in [CONTEXT, *lines]))
            done = subprocess.run([sys.executable, "-B", SCRIPT, path, *arguments], check=False,
                                  capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def test_counts_cells_by_collective(self):
        lines = [*records("all_reduce", 8, 10, 19), *records("all_reduce", 64, 10, 21),
                 *records("reduce", 8, 10, 4), *records("scan", 8, 10, 5.1),
                 *records("scan", 64, 10, 1000, pattern="isolated")]
        code, text, said = self.report(lines, "--json", "--worst", "1")
        self.assertEqual(code, 0, said)
        report = json.loads(text)
        self.assertEqual(report["all"], {"cells": 4, "within": 2, "fraction": 0.5, "rest_on": ["timed"]})
        self.assertEqual({name: one["fraction"] for name, one in report["collectives"].items()},
                         {"all_reduce": 0.5, "reduce": 0, "scan": 1})
        self.assertEqual([(one["collective"], one["predicted_us"]) for one in report["worst"]],
                         [("reduce", 4)])
        report = json.loads(self.report(lines, "--json", "--within", "3")[1])
        self.assertEqual(report["all"]["fraction"], 1)
        text = self.report(lines)[1]
        self.assertRegex(text, r"all_reduce +2 +50%   timed")

    def test_refuses_files_without_predictions(self):
        code, _, said = self.report([])
        self.assertEqual((code, "no predicted cells of auto" in said), (1, True))


if __name__ == "__main__":
    unittest.main()
