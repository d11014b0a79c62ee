#!/usr/bin/env python3
"""Starts worlds that time plain calls: timed_start_test.py TUTTI"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TUTTI = sys.argv.pop()
CORES = sorted(os.sched_getaffinity(0))
# Each rank on a core of its own, where no system may put both on one.
PINNED = """import os, sys
core = sorted(os.sched_getaffinity(0))[int(os.environ["TUTTI_RANK"])]
os.sched_setaffinity(0, {core})
os.execv(sys.argv[1], sys.argv[1:])"""


class TimedStart(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.home = pathlib.Path(self.folder.name)
        if len(CORES) < 2:
            self.skipTest("calls are timed where each rank has a core")

    def start(self, number=0, ranks=2, **variables):
        """A sweep of one small cell."""
        records = self.home / f"sweep{number}.jsonl"
        environment = {**os.environ, "TUTTI_TUNING": "", "XDG_CONFIG_HOME": str(self.home),
                       **variables}
        pinned = [sys.executable, "-c", PINNED] if ranks == 2 else []
        return records, subprocess.Popen(
            [TUTTI, "run", "-n", str(ranks), *pinned, TUTTI, "sweep", "--transport", "shm", "-C",
             "all_reduce", "-a", "auto", "-b", "64", "-e", "64", "-n", "1", "--json", str(records)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)

    def choice_of(self, records, process):
        """The record of what auto chose."""
        _, said = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, said)
        lines = [json.loads(line) for line in records.read_text().splitlines()]
        return next(line for line in lines if line["record"] == "choice")

    def choice(self, **variables):
        return self.choice_of(*self.start(**variables))

    def files(self):
        return sorted((self.home / "tutti").glob("*"))

    def timed(self):
        """The choice of a start that timed calls: a busy machine may need more than one."""
        for _ in range(20):
            choice = self.choice()
            if choice["times"] == "timed":
                return choice
            self.assertIn("assumed of shared memory (calls were not timed", choice["rests_on"])
        self.skipTest("the machine is too busy to time calls")

    def test_the_first_start_times_calls_and_later_ones_use_them(self):
        first = self.timed()
        [path] = self.files()
        self.assertRegex(path.name, r"^calls-[0-9a-f]+\.json$")
        self.assertIn(str(path), first["rests_on"])
        text = path.read_text()
        file = json.loads(text)
        self.assertEqual({(table["collective"], table["ranks"], table["hosts"], table["transport"])
                          for table in file["tables"]},
                         {(collective, 2, 1, "shm") for collective in
                          ("broadcast", "reduce", "all_gather", "all_reduce")})
        for table in file["tables"]:
            self.assertEqual(table["rules"], [])
            for cell in table["cells"]:
                self.assertLessEqual(cell["low_us"], cell["median_us"])
        # A later start takes what the file says, whatever that is.
        for table in file["tables"]:
            for cell in table["cells"]:
                cell["median_us"] = 1e6
        path.write_text(json.dumps(file))
        later = self.choice()
        self.assertEqual(later["times"], "timed")
        self.assertGreater(later["candidates"][0]["predicted_us"], 1e5)
        self.assertEqual(json.loads(path.read_text()), file)
        self.assertEqual(later["chosen"], self.choice(TUTTI_TUNING="none")["chosen"])

    def test_nothing_is_timed_where_it_is_turned_off_or_ranks_share_cores(self):
        choice = self.choice(TUTTI_TUNING="none")
        self.assertEqual(choice["times"], "assumed")
        self.assertNotIn("timed", choice["rests_on"])
        self.assertEqual(self.choice(ranks=len(CORES) + 1)["times"], "assumed")
        self.assertEqual(self.files(), [])

    def test_a_folder_that_cannot_be_made_stops_no_start(self):
        choice = self.choice(XDG_CONFIG_HOME="/dev/null")
        self.assertEqual(choice["times"], "assumed")
        self.assertIn("(calls were not timed: /dev/null/tutti cannot be made: Not a directory)",
                      choice["rests_on"])

    def test_a_damaged_file_and_those_of_others_are_measured_anew(self):
        self.timed()
        [path] = self.files()
        good = json.loads(path.read_text())
        for damaged in ("{\n", "", json.dumps({**good, "tutti": "0.0.0"}),
                        json.dumps({**good, "machine": {"processor": "another", "cores": 1}})):
            path.write_text(damaged)
            self.timed()
            file = json.loads(path.read_text())
            self.assertEqual((file["machine"], file["tutti"]), (good["machine"], good["tutti"]))
            self.assertEqual(len(file["tables"]), 4)

    def test_two_jobs_at_once_leave_one_whole_file(self):
        for _ in range(3):
            jobs = [self.start(number) for number in range(2)]
            for records, process in jobs:
                self.choice_of(records, process)
        for path in self.files():
            self.assertRegex(path.name, r"^calls-[0-9a-f]+\.json$")
            self.assertEqual(len(json.loads(path.read_text())["tables"]), 4)


if __name__ == "__main__":
    unittest.main()
