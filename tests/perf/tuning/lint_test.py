#!/usr/bin/env python3
"""`tutti lint` from outside: what it compares, and whom it finds: lint_test.py TUTTI [LAUNCHER DAWDLER]"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

TUTTI = LAUNCHER = DAWDLER = None
COMMON = {"padded to twice", "one rank more"}
OF_VECTORS = COMMON | {"two calls of half"}
GUIDELINES = {  # where three ranks have equal shares
    "all_reduce": OF_VECTORS | {"reduce + broadcast", "reduce_scatter + all_gather"},
    "reduce": OF_VECTORS | {"all_reduce", "reduce_scatter + gather"},
    "broadcast": OF_VECTORS | {"scatter + all_gather"},
    "scatter": COMMON | {"broadcast"},
    "gather": COMMON | {"all_gather"},
    "all_gather": COMMON | {"gather + broadcast"},
    "reduce_scatter": COMMON | {"reduce + scatter", "all_reduce"},
    "all_to_all": COMMON,
    "scan": OF_VECTORS,
    "exscan": OF_VECTORS,
    "barrier": {"all_reduce of one element", "one rank more"},
}


def lint(*arguments, before=(), **environment):
    """The exit code, the output and the JSON of a run."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lint.json")
        done = subprocess.run([*before, TUTTI, "lint", "--json", path, *arguments], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              timeout=300, env={**os.environ, **environment})
        if not os.path.exists(path):
            return done.returncode, done.stdout, None
        with open(path, encoding="utf-8") as file:
            return done.returncode, done.stdout, json.load(file)


class Own(unittest.TestCase):
    """tutti's own calls, without an MPI."""

    def test_every_mock_up_gives_the_same_results(self):
        for op, kind in (("sum", "f32"), ("max", "i64")):
            code, text, found = lint("--ranks", "3", "-b", "192", "-e", "192K", "-f", "32",
                                     "--budget", "1ms", "-o", op, "-d", kind)
            self.assertIn(code, (0, 3), text)
            self.assertEqual(found["wrong"], 0, text)
            self.assertEqual((found["library"], found["ranks"]), ("tutti", 3))
            for collective, guidelines in GUIDELINES.items():
                self.assertEqual({finding["guideline"] for finding in found["findings"]
                                  if finding["collective"] == collective}, guidelines, collective)

    def test_two_ranks_have_none_to_spare(self):
        code, text, found = lint("--ranks", "2", "-e", "64", "--budget", "1ms", "-C", "all_reduce")
        self.assertIn(code, (0, 3), text)
        self.assertNotIn("one rank more", {one["guideline"] for one in found["findings"]})

    def test_nothing_is_broken_that_is_allowed(self):
        code, text, found = lint("--ranks", "2", "-e", "64", "--budget", "1ms", "-C", "scan",
                                 "--threshold", "100000%")
        self.assertEqual(code, 0, text)
        self.assertFalse(any(one["broken"] for one in found["findings"]))
        self.assertIn("0 of ", text)

    def test_bad_input_is_refused(self):
        for arguments, words in ((("--threshold", "much"), "--threshold 'much' is not a share"),
                                 (("-C", "all_gatherv"), "equal blocks"),
                                 (("-C", "all_redude"), "all_reduce"),
                                 (("--ranks", "1"), "one rank has nothing to compare")):
            code, text, _ = lint(*arguments)
            self.assertEqual(code, 2, text)
            self.assertIn(words, text)


class OfAnMpi(unittest.TestCase):
    """An MPI's calls, one of which dawdles."""

    def test_a_dawdling_call_is_found_where_it_dawdles(self):
        # Half of 2 KiB is none that dawdles, half of 64 KiB is.
        expected = {("all_reduce", 2048, "two calls of half")} | {
            ("all_reduce", bytes_, guideline) for bytes_ in (2048, 65536)
            for guideline in ("reduce + broadcast", "reduce_scatter + all_gather",
                              "its own messages, by recursive_doubling")}
        missing = set(expected)
        for _ in range(5):  # other load may hold up the quicker calls too, so each counts once found
            code, text, found = lint("-C", "all_reduce,all_gather", "-b", "64", "-e", "64K", "-f", "32",
                                     "--budget", "30ms", "--threshold", "400%",
                                     before=(LAUNCHER, "-n", "2"), LD_PRELOAD=DAWDLER)
            broken = {(one["collective"], one["bytes"], one["guideline"]): one["help"]
                      for one in found["findings"] if one["broken"]}
            missing -= broken.keys()
            if not missing and ("all_reduce", 2048, "its own messages, by recursive_doubling") in broken:
                break
        self.assertNotEqual(code, 0, text)
        self.assertEqual(missing, set(), text)
        self.assertNotIn(("all_reduce", 65536, "two calls of half"), broken, text)
        self.assertFalse([key for key in broken if key[0] != "all_reduce" or key[1] == 64], text)
        told = broken["all_reduce", 2048, "its own messages, by recursive_doubling"]
        self.assertRegex(told, "coll_tuned_allreduce_algorithm 3 |ALLREDUCE_INTRA_ALGORITHM=recur")
        self.assertEqual(found["wrong"], 0, text)


if __name__ == "__main__":
    TUTTI, *rest = sys.argv[1:]
    if rest:
        LAUNCHER, DAWDLER = rest
    case = OfAnMpi if rest else Own
    runner = unittest.TextTestRunner(verbosity=2)
    sys.exit(not runner.run(unittest.defaultTestLoader.loadTestsFromTestCase(case)).wasSuccessful())
