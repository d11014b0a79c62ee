#!/usr/bin/env python3
"""Runs `tutti tune` and what uses its file: tune_test.py TUTTI"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TUTTI = sys.argv.pop()
RANKS = ["--ranks", "2"]


def run(*arguments, **variables):
    """Exit status, standard output, standard error output."""
    environment = {**os.environ, "TUTTI_TUNING": "none", **variables}
    done = subprocess.run([TUTTI, *arguments], capture_output=True, text=True, check=False,
                          timeout=300, stdin=subprocess.DEVNULL, env=environment)
    return done.returncode, done.stdout, done.stderr


class Tune(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name, "tuning.json")

    def tune(self, *arguments, **variables):
        """Measures, with little patience."""
        usual = {"-b": "64", "-e": "64K", "-f": "32", "--budget": "20ms", "--transport": "shm",
                 "-C": "all_reduce,broadcast", "-o": str(self.path)}
        rest = [word for flag, value in usual.items() if flag not in arguments
                for word in (flag, value)]
        return run("tune", *RANKS, *rest, *arguments, **variables)

    def what_auto_runs(self, *arguments, **variables):
        """By what a sweep records, and what it said."""
        records = pathlib.Path(self.folder.name, "sweep.jsonl")
        code, _, said = run("sweep", *RANKS, "-a", "auto", "-C", "all_reduce", "-b", "1K", "-e",
                            "1K", "-n", "3", "--transport", "shm", "--json", str(records),
                            *arguments, **variables)
        self.assertEqual(code, 0, said)
        cells = [json.loads(line) for line in records.read_text().splitlines()]
        return next(cell["runs"] for cell in cells if cell["record"] == "cell"), said

    def write_rule(self, algorithm, **machine):
        """A file that says what to run, as if measured here."""
        code, _, said = self.tune("-C", "all_reduce", "-e", "64")
        self.assertEqual(code, 0, said)
        tuning = json.loads(self.path.read_text())
        for table in tuning["tables"]:
            table["rules"] = [{"from_bytes": 0, "algorithm": algorithm, "segment_bytes": 0}]
        tuning["machine"].update(machine)
        self.path.write_text(json.dumps(tuning))

    def test_writes_what_it_measured(self):
        code, text, said = self.tune()
        self.assertEqual(code, 0, said)
        self.assertIn("2 ranks on 1 host, over shm", text)
        self.assertIn(": at most ", text)
        tuning = json.loads(self.path.read_text())
        places = {(table["collective"], table["buffers"]) for table in tuning["tables"]}
        self.assertEqual(places, {(collective, buffers) for collective in ("all_reduce", "broadcast")
                                  for buffers in ("private", "visible")})
        for table in tuning["tables"]:
            self.assertEqual((table["ranks"], table["hosts"], table["transport"]), (2, 1, "shm"))
            self.assertEqual({cell["bytes"] for cell in table["cells"]}, {64, 2048, 65536})
            for cell in table["cells"]:
                self.assertLessEqual(cell["low_us"], cell["median_us"])
                self.assertLessEqual(cell["median_us"], cell["high_us"])
            measured = {(cell["algorithm"], cell["segment_bytes"]) for cell in table["cells"]}
            for rule in table["rules"]:
                self.assertIn((rule["algorithm"], rule["segment_bytes"]), measured)

    def test_measures_only_what_is_missing(self):
        self.assertEqual(self.tune("-C", "all_reduce")[0], 0)
        before = json.loads(self.path.read_text())["tables"]
        code, text, _ = self.tune("-C", "all_reduce")
        self.assertEqual((code, "nothing to measure" in text), (0, True), text)
        code, text, _ = self.tune()
        self.assertEqual((code, "all_reduce " in text, "broadcast " in text), (0, False, True), text)
        after = json.loads(self.path.read_text())["tables"]
        self.assertEqual([table for table in after if table["collective"] == "all_reduce"], before)
        code, text, _ = self.tune("-C", "all_reduce", "--again")
        self.assertEqual((code, "all_reduce " in text), (0, True), text)

    def test_measures_anew_what_was_measured_otherwise(self):
        def cells():
            tables = json.loads(self.path.read_text())["tables"]
            return {(table["buffers"], cell["bytes"], cell["align"], cell["pattern"])
                    for table in tables for cell in table["cells"]}
        sizes = ["-C", "all_reduce", "-e", "2K"]
        self.assertEqual(self.tune(*sizes)[0], 0)
        self.assertEqual(cells(), {(*one, "back_to_back") for one in (
            ("private", 64, "malloc"), ("private", 2048, "malloc"),
            ("visible", 64, "page"), ("visible", 2048, "page"))})
        code, text, _ = self.tune("-C", "all_reduce", "-e", "64", "--pattern", "isolated")
        self.assertEqual((code, "calls: isolated" in text, "2 sizes to measure" in text), (0, True, True), text)
        self.assertIn(("private", 64, "malloc", "isolated"), cells())
        self.assertIn(("private", 2048, "malloc", "back_to_back"), cells())
        self.assertEqual(len(cells()), 4, "those of a size are replaced")
        tuning = json.loads(self.path.read_text())  # as an older tutti wrote it
        for table in tuning["tables"]:
            for cell in table["cells"]:
                del cell["align"], cell["pattern"]
        self.path.write_text(json.dumps(tuning))
        _, text, _ = self.tune(*sizes)
        self.assertIn("2 sizes to measure", text, "those of private arrays, which began at pages")
        code, _, said = self.tune("--align", "24")
        self.assertEqual((code, "--align '24' is not an alignment" in said), (2, True), said)

    def test_goes_on_after_an_interrupt(self):
        arguments = ["-C", "all", "-e", "1M", "--budget", "1s", "-o", str(self.path)]
        command = [TUTTI, "tune", *RANKS, "--transport", "shm", *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              start_new_session=True,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
            while not self.path.exists() or '"bytes"' not in self.path.read_text():
                self.assertIsNone(process.poll())
                time.sleep(0.05)
            os.killpg(process.pid, signal.SIGINT)
            text, _ = process.communicate(timeout=300)
            self.assertEqual(process.returncode, 130)
        self.assertIn("interrupted; the results so far are in", text)
        self.assertTrue(json.loads(self.path.read_text())["tables"])
        first = json.loads(self.path.read_text())["tables"][0]["cells"][0]["bytes"]
        _, text, _ = self.tune("-C", "all_reduce", "-b", str(first), "-e", str(first),
                               "--buffers", "private")
        self.assertIn("nothing to measure", text)

    def test_calibrates_in_seconds(self):
        arguments = ["calibrate", "--ranks", "2", "--transport", "shm", "-o", str(self.path)]
        code, text, said = run(*arguments)
        self.assertEqual(code, 0, said)
        self.assertIn("us per message", text)
        costs = json.loads(self.path.read_text())["costs"]
        self.assertEqual([(each["ranks"], each["hosts"], each["transport"], each["buffers"])
                          for each in costs], [(2, 1, "shm", "private"), (2, 1, "shm", "visible")])
        for each in costs:
            self.assertGreater(each["cells"], 100)
            self.assertGreaterEqual(each["loss"], 1)
        code, _, said = run(*arguments)  # again, in place of the former
        self.assertEqual((code, len(json.loads(self.path.read_text())["costs"])), (0, 2), said)
        self.assertEqual(self.tune("-C", "all_reduce", "-e", "64")[0], 0)
        both = json.loads(self.path.read_text())
        self.assertEqual((len(both["costs"]), len(both["tables"])), (2, 2))
        code, _, said = run("calibrate", "-o", str(self.path))
        self.assertEqual((code, "--ranks 4" in said), (2, True), said)

    def test_auto_runs_what_the_file_says(self):
        self.write_rule("reduce_broadcast")
        self.assertEqual(self.what_auto_runs(TUTTI_TUNING=str(self.path))[0], "reduce_broadcast")
        self.assertNotEqual(self.what_auto_runs()[0], "reduce_broadcast")
        runs, _ = self.what_auto_runs("--determinism", "run_to_run", TUTTI_TUNING=str(self.path))
        self.assertNotEqual(runs, "reduce_broadcast")

    def test_init_finds_the_usual_file(self):
        self.write_rule("reduce_broadcast")
        usual = pathlib.Path(self.folder.name, "tutti")
        usual.mkdir()
        self.path.rename(usual / "tuning.json")
        runs, _ = self.what_auto_runs(TUTTI_TUNING="", XDG_CONFIG_HOME=self.folder.name)
        self.assertEqual(runs, "reduce_broadcast")
        self.assertEqual([path.name for path in usual.iterdir()], ["tuning.json"])  # a start writes no file
        config = pathlib.Path(self.folder.name, ".config")
        config.mkdir()
        usual.rename(config / "tutti")
        runs, _ = self.what_auto_runs(TUTTI_TUNING="", XDG_CONFIG_HOME="", HOME=self.folder.name)
        self.assertEqual(runs, "reduce_broadcast")

    def test_the_file_of_another_machine_is_told_of_and_not_used(self):
        self.write_rule("reduce_broadcast", processor="a <quantum> one", cores=77)
        runs, said = self.what_auto_runs(TUTTI_TUNING=str(self.path))
        self.assertNotEqual(runs, "reduce_broadcast")
        self.assertEqual(said.count("77 cores of a <quantum> one"), 1, said)
        self.assertIn("it is not used", said)
        code, _, said = self.tune()
        self.assertEqual(code, 2)
        self.assertIn("was measured on another machine", said)

    def test_refuses_what_is_malformed(self):
        self.path.write_text('{\n"format": "tutti-tuning",\n"version": }')
        code, _, said = run("sweep", *RANKS, "-C", "barrier", TUTTI_TUNING=str(self.path))
        self.assertNotEqual(code, 0)
        self.assertIn(f"{self.path}: ", said)
        self.assertIn("line 3", said)
        code, _, said = self.tune()
        self.assertEqual(code, 2)
        self.assertIn("line 3", said)
        self.path.unlink()
        code, _, said = run("tune", "-o", str(self.path))
        self.assertEqual(code, 2)
        self.assertIn("--ranks 4", said)
        for arguments, words in ([["-C", "send"], "without v-forms"],
                                 [["--buffers", "visibel"], "did you mean visible?"],
                                 [["--transport", "tcp", "--buffers", "visible"], "cannot see"],
                                 [["-o", "/dev/null/tuning.json"], "cannot write"]):
            code, _, said = self.tune(*arguments)
            self.assertNotEqual(code, 0, arguments)
            self.assertIn(words, said)


if __name__ == "__main__":
    unittest.main()
