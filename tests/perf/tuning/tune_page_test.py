#!/usr/bin/env python3
"""Looks at the page of a tuning file in a browser: tune_page_test.py tune.py TUTTI

Exits with 77 where there is no browser.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import browser  # noqa: E402

TUTTI = sys.argv.pop()
SCRIPT = sys.argv.pop()
PLACE = {"collective": "all_reduce", "buffers": "private"}


def cell(algorithm, size, median, segment=0, **more):
    """A record of a page."""
    return {"record": "cell", **PLACE, **more, "bytes": size, "algorithm": algorithm, "median_us": median,
            "segment_bytes": segment, "ci_low_us": median * 0.9, "ci_high_us": median * 1.1}


def choice(size, chosen, **predicted):
    """Another one."""
    return {"record": "choice", **PLACE, "bytes": size, "chosen": chosen, "segment_bytes": 0,
            "basis": "least predicted time", "rests_on": "4 us per message",
            "candidates": [{"algorithm": name, "segment_bytes": 0, "predicted_us": time, "refusal": ""}
                           for name, time in predicted.items()]}


def automatic(size, median):
    """The time of the model's choice in this run."""
    return {"record": "automatic", **PLACE, "bytes": size, "median_us": median,
            "ci_low_us": median * 0.9, "ci_high_us": median * 1.1}


RECORDS = [
    {"record": "context", "tutti": "0.1.0", "mpi": "", "processor": "a processor", "ranks": 4,
     "align": "malloc", "pattern": "isolated", "transport": "shm", "file": "<tuning>.json", "hosts": [{"host": "a", "cores": 4}],
     "arguments": ["--collective=all_reduce", "--ranks=4", "--again"]},
    {"record": "rule", **PLACE, "from_bytes": 0, "algorithm": "tree", "segment_bytes": 0},
    {"record": "rule", **PLACE, "from_bytes": 2048, "algorithm": "ring", "segment_bytes": 65536},
    cell("tree", 64, 10.0, align="malloc", pattern="isolated"), cell("ring", 64, 12.0), cell("tree", 4096, 40.0), cell("ring", 4096, 31.0),
    cell("ring", 4096, 20.0, 65536), cell("ring", 65536, 90.0, 65536), cell("tree", 512, 11.0),
    choice(64, "ring", ring=8.0, tree=9.0), choice(512, "tree", ring=9.0, tree=8.0),
    choice(4096, "ring", ring=20.0, tree=60.0), choice(65536, "tree", ring=200.0, tree=190.0),
    automatic(64, 20.0)]


class Page(browser.PageCase):
    script, records = SCRIPT, RECORDS

    def test_tells_the_rules(self):
        self.sees("all_reduce, private buffers")
        self.assertEqual(self.rows(0), [["0", "tree"], ["2048", "ring/64K"]])

    def test_tells_where_the_model_differs_and_what_it_lost(self):
        self.assertEqual(self.rows(1), [
            # This run measured the model's choice at 64 bytes, and the file has it at 4096.
            ["64", "tree", "10", "ring", "20", "2", "slower"],
            ["512", "tree", "11", "tree", "11", "1", "the same"],
            ["4096", "ring/64K", "20", "ring", "31", "1.55", "slower"],
            ["65536", "ring/64K", "90", "tree", "", "",
             "left out after a few rounds, 1.5 times as long or more"]])
        self.sees("The model chooses something slower at 3 of 4 sizes.")
        self.sees("1.458 times the best time in the geometric mean, 2.00 times at the worst")

    def test_draws_cells_and_predictions(self):
        # tree, ring, ring/64K and auto; auto, tree and ring with their predictions.
        self.assertGreaterEqual(len(re.findall(r'<g class="reign"', self.body)), 3)
        self.assertEqual(len(re.findall(r'<g class="trace', self.body)), 4 + 3 * 2)
        self.sees("Measured: tree → ring/64K at")
        self.sees("ring, predicted")

    def test_has_every_cell_in_its_table(self):
        cells = self.rows(2)
        self.assertEqual(len(cells), 7)
        self.assertEqual(cells[0], ["64", "tree", "10", "9", "11", "1", "malloc", "isolated"])
        self.assertEqual(cells[4][1:2] + cells[4][5:], ["ring", "1.55", "", ""])

    def test_says_where_and_how(self):
        self.sees("4 ranks on 1 host, shm, a processor, arrays: malloc, isolated calls, tutti 0.1.0")
        self.sees("The file is <tuning>.json")
        self.sees("tutti tune --ranks 4 --collective=all_reduce --again")

    def test_needs_a_cell(self):
        self.rejects(RECORDS[:1], 2, "nothing to show")


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def tune(self, *arguments):
        """A page of two ranks, with little patience."""
        return subprocess.run(
            [TUTTI, "tune", "--ranks", "2", "--transport", "shm", "-C", "all_reduce,barrier", "-b",
             "64", "-e", "4K", "-f", "8", "--budget", "20ms", "-o", self.path("tuning.json"),
             *arguments], capture_output=True, text=True, check=False, timeout=300,
            stdin=subprocess.DEVNULL)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_writes_all_that_the_file_has(self):
        for words in (": at most ", "nothing to measure"):  # the second time
            done = self.tune("--html", self.path("page.html"))
            self.assertIn(words, done.stdout)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("wrote " + self.path("page.html"), done.stdout)
            page = pathlib.Path(self.path("page.html")).read_text(encoding="utf-8")
            tuning = json.loads(pathlib.Path(self.path("tuning.json")).read_text(encoding="utf-8"))
            for table in tuning["tables"]:
                self.assertTrue(f"{table['collective']}, {table['buffers']} buffers" in page)
            # The heads of three tables each, their rules, sizes, and cells.
            rows = sum(3 + len(table["rules"]) + len(table["cells"])
                       + len({cell["bytes"] for cell in table["cells"]})
                       for table in tuning["tables"])
            self.assertEqual(page.count("<tr"), rows)
            self.assertTrue("tutti tune --ranks 2 --collective=all_reduce,barrier" in page)

    def test_refuses_before_it_measures(self):
        done = self.tune("--html", "page.pdf")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("is not an .html file", done.stderr)
        self.assertFalse(os.path.exists(self.path("tuning.json")))
        done = self.tune("--html", "/dev/null/page.html")
        self.assertEqual(done.returncode, 4, done.stderr)


if __name__ == "__main__":
    browser.main()
