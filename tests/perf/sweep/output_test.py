#!/usr/bin/env python3
"""Reads the output of a sweep as scripts for other programs do: output_test.py TUTTI"""

import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

TUTTI = sys.argv.pop()


def sweep(*arguments):
    """Exit status, standard output, and the warnings on standard error, of two ranks."""
    done = subprocess.run([TUTTI, "sweep", "--ranks", "2", "--transport", "shm", "-n", "2", "-b", "64", "-e",
                           "4K", "-f", "8", *arguments], capture_output=True, text=True, check=False,
                          timeout=300, env={**os.environ, "TUTTI_TUNING": "none"})
    return done.returncode, done.stdout, [line for line in done.stderr.splitlines() if "done, about" not in line]


def osu_rows(text):
    """(size, latency) of each row, by the pattern of ReFrame's checks of OSU."""
    return [(int(size), float(time)) for size, time in re.findall(r"^(\d+)\s+(\S+)\s*$", text, re.MULTILINE)]


def nccl_rows(text):
    """A dictionary per row, with the columns found by their names in the heading, as scripts for nccl-tests
    do; the columns of a name are those out of place and in place."""
    rows, names = [], []
    for line in text.splitlines():
        if "time" in line and "busbw" in line:
            names = line[1:].split()
        elif names and not line.startswith("#"):
            values = line.split()
            assert len(values) == len(names), line
            rows.append({name: [value for known, value in zip(names, values) if known == name]
                         for name in names})
    return rows


class Output(unittest.TestCase):
    def test_has_the_columns_of_osu(self):
        status, text, _ = sweep("-C", "allreduce", "-a", "auto,ring", "--format", "osu")
        self.assertEqual(status, 0)
        self.assertRegex(text, r"(?m)^# OSU MPI Allreduce Latency Test")
        self.assertRegex(text, r"(?m)^# Size +Avg Latency\(us\)$")
        rows = osu_rows(text)
        self.assertEqual([size for size, _ in rows], [64, 512, 4096])
        self.assertTrue(all(time > 0 for _, time in rows), rows)
        self.assertFalse([line for line in text.splitlines() if line[:1] not in ("#", *"0123456789")], text)

    def test_counts_blocks_as_osu_does(self):
        for collective, sizes in (("allgather", [32, 256, 2048]), ("reduce_scatter", [64, 512, 4096]),
                                  ("bcast", [64, 512, 4096])):
            rows = osu_rows(sweep("-C", collective, "-a", "auto", "--format", "osu")[1])
            self.assertEqual([size for size, _ in rows], sizes, collective)
        text = sweep("-C", "barrier", "-a", "auto", "--format", "osu")[1]
        self.assertRegex(text, r"(?m)^ +[\d.]+$")
        self.assertRegex(sweep("-C", "send", "--format", "osu")[1], "# OSU MPI Latency Test")

    def test_has_the_columns_of_nccl_tests(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.jsonl")
            status, text, _ = sweep("-C", "allreduce,bcast", "-a", "auto", "--format", "nccl-tests", "--json", path)
            with open(path, encoding="utf-8") as file:
                cells = [record for record in map(json.loads, file) if record["record"] == "cell"]
        self.assertEqual(status, 0)
        rows = nccl_rows(text)
        self.assertEqual([(row["size"], row["count"], row["type"], row["redop"], row["root"]) for row in rows[::3]],
                         [(["64"], ["16"], ["float"], ["sum"], ["-1"]), (["64"], ["16"], ["float"], ["none"], ["0"])])
        self.assertEqual([row["#wrong"] for row in rows], [["0", "0"]] * 6)
        self.assertEqual([cell["in_place"] for cell in cells], [False, True] * 6)
        for cell, time in zip(cells, [time for row in rows for time in row["time"]]):
            self.assertAlmostEqual(float(time), cell["median_us"], delta=0.05 * cell["median_us"] + 0.01)
        self.assertEqual(re.findall(r"# Out of bounds values : (\d+) OK", text), ["0", "0"])
        means = [float(mean) for mean in re.findall(r"# Avg bus bandwidth\s+: (\S+)", text)]
        own = [cell["busbw_gb_s"] for cell in cells]
        for mean, part in zip(means, (own[:6], own[6:])):
            self.assertAlmostEqual(mean, sum(part) / 6, delta=0.01 * mean)

    def test_shows_what_is_measured_where_auto_is_not(self):
        rows = osu_rows(sweep("-C", "allreduce", "-a", "ring", "--format", "osu")[1])
        self.assertEqual(len(rows), 3)
        rows = nccl_rows(sweep("-C", "alltoall", "-a", "auto", "--format", "nccl-tests")[1])
        self.assertEqual([row["busbw"][1] for row in rows], ["N/A"] * 3)

    def test_goes_to_standard_output_instead_of_the_table(self):
        status, text, said = sweep("-C", "allreduce", "-a", "ring", "--csv", "-")
        self.assertEqual(status, 0)
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([row["bytes"] for row in rows], ["64", "512", "4096"])
        self.assertFalse(os.path.exists("-"))
        status, text, _ = sweep("-C", "allreduce", "-a", "ring", "--json", "-")
        kinds = [json.loads(line)["record"] for line in text.splitlines()]
        self.assertEqual((status, kinds), (0, ["context", *["cell"] * 3, "summary"]))
        self.assertFalse([line for line in said if not line.startswith("tutti sweep: !! ")], said)

    def test_of_gradients_goes_to_standard_output_too(self):
        done = subprocess.run([TUTTI, "run", "-n", "2", TUTTI, "gradients", "--model", "resnet50", "--compute",
                               "1ms", "--steps", "1", "--warmup", "0", "--bucket-bytes", "flat", "--storage",
                               "flat", "--computing", "sleep", "--json", "-"],
                              capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        kinds = [json.loads(line)["record"] for line in done.stdout.splitlines()]
        self.assertEqual((kinds[0], kinds[-1]), ("context", "summary"), kinds)

    def test_is_silent_with_quiet(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.csv")
            status, text, said = sweep("-C", "allreduce", "-a", "ring,ring", "--quiet", "--csv", path,
                                       "--inject", "ring#2=50%")
            self.assertEqual((status, text), (0, ""))
            self.assertTrue(os.path.getsize(path) > 100)
        self.assertIn("tutti sweep: !! ring#2 IS SLOWED DOWN BY 50.0% ON PURPOSE (--inject)", said)


if __name__ == "__main__":
    unittest.main()
