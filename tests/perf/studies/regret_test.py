#!/usr/bin/env python3
"""Reads sweeps that are known by hand, and an MPI that is a script: regret_test.py PERF"""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PERF = pathlib.Path(sys.argv.pop())
sys.path.insert(0, str(PERF))

import regret_statistics  # noqa: E402

CONTEXT = {"record": "context", "schema": "tutti sweep/1", "tutti": "0.1.0", "mpi": "", "ranks": 4,
           "oversubscribed": False, "determinism": None, "hosts": [{"host": "a", "cores": 4}]}
SUMMARY = {"record": "summary", "interrupted": False}


def cell(label, median, collective="all_reduce", size=64, **more):
    """One measured configuration, known to one percent."""
    return {"record": "cell", "collective": collective, "label": label, "runs": label,
            "transport": "shm", "buffers": "private", "dtype": "f32", "op": "sum", "bytes": size,
            "segment_bytes": 0, "wrong": 0, "median_us": median, "ci_low_us": median * 0.99,
            "ci_high_us": median * 1.01, **more}


def choice(predicted, collective="all_reduce", size=64, **more):
    """auto's candidates: algorithm -> predicted time, or None where it cannot serve."""
    known = {name: time for name, time in predicted.items() if time is not None}
    return {"record": "choice", "collective": collective, "bytes": size,
            "chosen": min(known, key=known.get), "basis": "least predicted time",
            "candidates": [{"algorithm": name, "predicted_us": time}
                           for name, time in predicted.items()], **more}


# auto ran the ring, which is predicted best: 20 us and by itself 16, while direct took 10.
WRONG = [choice({"ring": 8, "direct": 12, "swing": 24, "bine": 36, "graph": None}),
         cell("ring", 16), cell("direct", 10), cell("swing", 20), cell("bine", 40),
         cell("auto", 20, runs="ring"), cell("native", 1), cell("probe", 1)]
# Here auto is right, though the first measurement of the same algorithm took 25% longer.
RIGHT = [choice({"ring": 8, "direct": 12}, size=512), cell("ring", 10, size=512),
         cell("direct", 16, size=512), cell("auto", 8, size=512, runs="ring")]
# A collective of its own: 5% from the best one, and no prediction.
NEAR = [cell("tree", 20, "reduce"), cell("auto", 21, "reduce", runs="chain"), cell("chain", 21, "reduce")]

# An MPI whose algorithms take a known time: it reads what is forced, and --seed counts
# its passes.
MPI = """
words = sys.argv
collective, path = words[words.index("-C") + 1], words[words.index("--json") + 1]
forced = os.environ.get("MPIR_CVAR_%s_INTRA_ALGORITHM" % collective.upper().replace("_", ""))
forced = forced or os.environ.get("OMPI_MCA_coll_tuned_allgather_algorithm")
if collective == "all_gather" and os.environ.get("OMPI_MCA_coll_tuned_use_dynamic_rules") != "1":
    forced = None
if forced == "nb": sys.exit("Fatal error: Invalid value (nb)")
if forced == "smp" and collective == "all_reduce": time.sleep(600)
assert os.environ["TUTTI_TUNING"] == "none"
turn = int(words[words.index("--seed") + 1])
# Two algorithms take turns at being lucky: 5 and 15 us. The best one on odd passes is not the best on even ones.
lucky = {"tree": (5, 15), "brucks": (5, 15), "recexch": (15, 5)}.get(forced, (20, 20))[turn % 2]
us = {None: 20, "2": 10, "ring": 10}.get(forced, lucky)
if collective == "barrier":
    us = 20 if forced is None else 18
    marks = os.path.join(os.path.dirname(words[0]), "mark" + str(turn))
    if forced is None and not os.path.exists(marks): us = 60 if open(marks, "w") else 0
if words[words.index("--pattern") + 1] == "isolated": us *= 3
if words[words.index("--align") + 1] == "page": us *= 5
with open(path, "w") as file:
    for record in CONTEXT, CELL, SUMMARY:
        if record is CELL:
            record.update(collective=collective, median_us=us, ci_low_us=us, ci_high_us=us)
        print(json.dumps(record), file=file)
"""

OMPI_INFO = """#!/bin/sh
echo mca:coll:tuned:param:coll_tuned_allgather_algorithm:enumerator:value:0:ignore
echo mca:coll:tuned:param:coll_tuned_allgather_algorithm:enumerator:value:1:linear
echo mca:coll:tuned:param:coll_tuned_allgather_algorithm:enumerator:value:2:bruck
echo mca:coll:tuned:param:coll_tuned_allgather_algorithm:enumerator:value:6:two_proc
"""


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, *records, text=None):
        """A file of JSON lines; the context and the summary are added."""
        path = self.folder / name
        path.write_text(text if text is not None else "".join(
            json.dumps(record) + "\n" for record in [CONTEXT, *records, SUMMARY]))
        return str(path)

    def run_script(self, script, *arguments):
        """Status, text, complaints."""
        done = subprocess.run([sys.executable, "-B", str(PERF / script), *arguments], text=True,
                              capture_output=True, check=False, timeout=300)
        return done.returncode, done.stdout, done.stderr

    def told(self, script, *arguments):
        """The output as JSON."""
        code, text, said = self.run_script(script, "--json", *arguments)
        self.assertEqual(code, 0, said)
        return json.loads(text)


class Regret(Case):
    def line(self, told, collective):
        """The table of a collective."""
        return next(one for one in told["collectives"] if one["collective"] == collective)

    def test_one_file(self):
        told = self.told("regret.py", self.write("a", *WRONG, *RIGHT, *NEAR))["files"][0]
        one = self.line(told, "all_reduce")
        self.assertEqual((one["cells"], one["above"]), (2, 1))
        self.assertAlmostEqual(one["regret"], math.sqrt(2 * 1))  # native and probe do not count
        self.assertAlmostEqual(one["noise"], 1.25)
        self.assertEqual((one["predicted_wins"], one["predicted_is_close"]), (0.5, 0.5))
        # Ranks 1 2 3 4 against 2 1 3 4: 1 - 6 * 2 / (4 * 15). Two candidates are too few for a correlation.
        self.assertAlmostEqual(one["rank_correlation"], 0.8)
        # 8 of 16, 12 of 10, 24 of 20, 36 of 40; 8 of 10, 12 of 16: of .1 .2 .2 .2 .25 .5
        self.assertAlmostEqual(one["prediction_error"], 0.2)
        self.assertAlmostEqual(self.line(told, "reduce")["regret"], 1.05)
        self.assertIsNone(self.line(told, "reduce")["predicted_wins"])
        self.assertAlmostEqual(self.line(told, "all")["regret"], (2 * 1.05) ** (1 / 3))
        self.assertEqual([(c["bytes"], c["ran"], c["best"], c["regret"]) for c in told["above"]],
                         [(64, "ring", "direct", 2)])

    def test_noise_is_not_above(self):
        wide = [cell("direct", 10, ci_high_us=16), cell("auto", 20, runs="ring", ci_low_us=18)]
        told = self.told("regret.py", self.write("a", *wide))["files"][0]
        self.assertEqual((self.line(told, "all_reduce")["above"], told["above"]), (0, []))

    def test_wrong_data_is_no_best(self):
        records = [cell("direct", 10, wrong=3), cell("ring", 20), cell("auto", 20, runs="ring")]
        told = self.told("regret.py", self.write("a", *records))["files"][0]
        self.assertEqual(self.line(told, "all_reduce")["regret"], 1)

    def test_close_predicted_winner(self):
        near = [choice({"ring": 1, "direct": 2}), cell("ring", 10.9), cell("direct", 10),
                cell("auto", 10.9, runs="ring")]
        one = self.told("regret.py", self.write("a", *near))["files"][0]["collectives"][0]
        self.assertEqual((one["predicted_wins"], one["predicted_is_close"]), (0, 1))

    def test_measured_choice_is_no_prediction(self):
        records = [choice({"ring": 1, "direct": 2}, basis="measured", chosen="direct"),
                   cell("ring", 10), cell("direct", 20), cell("auto", 20, runs="direct")]
        one = self.told("regret.py", self.write("a", *records))["files"][0]["collectives"][0]
        self.assertEqual((one["predicted_wins"], one["regret"]), (1, 2))

    def test_two_files_have_no_selection_bias(self):
        # Equal algorithms: each is lucky once, and auto never. The files contradict each other.
        first = [cell("ring", 10), cell("direct", 20), cell("auto", 20, runs="ring")]
        second = [cell("ring", 20), cell("direct", 10), cell("auto", 20, runs="ring")]
        told = self.told("regret.py", self.write("a", *first), self.write("b", *second))
        one = told["worlds"][0]["collectives"][0]
        self.assertEqual((one["cells"], one["plain"], one["crossed"], one["above"]), (1, 2, 1, 0))
        same = self.told("regret.py", self.write("a", *WRONG), self.write("b", *WRONG))["worlds"][0]
        self.assertEqual((same["collectives"][0]["crossed"], same["above"][0]["best"]),
                         (2, ["direct", "direct"]))

    def test_other_worlds_are_not_compared(self):
        other = [dict(record, buffers="visible") for record in WRONG if record["record"] == "cell"]
        told = self.told("regret.py", self.write("a", *WRONG), self.write("b", *other))
        self.assertEqual((len(told["files"]), told["worlds"]), (2, []))

    def test_other_arrays_and_patterns_are_not_compared(self):
        for more, words in (({"align": "malloc"}, "arrays: malloc"), ({"pattern": "isolated"}, "isolated calls"),
                            ({"align": "page", "pattern": "back_to_back"}, None), ({"align": None}, None)):
            other = [dict(record, **more) for record in WRONG if record["record"] == "cell"]
            told = self.told("regret.py", self.write("a", *WRONG), self.write("b", *other))
            self.assertEqual(len(told["worlds"]), 0 if words else 1, more)
            self.assertEqual(words is not None and words in told["files"][1]["world"], words is not None)

    def test_text(self):
        code, text, said = self.run_script("regret.py", self.write("a", *WRONG), self.write("b", *WRONG))
        self.assertEqual((code, said), (0, ""))
        self.assertIn("all_reduce 64: auto ran ring, 20 us, 2.00 times direct, 10 us", text)
        self.assertIn("all_reduce 64: auto ran ring, 2.00 and 2.00 times direct", text)
        code, text, _ = self.run_script("regret.py", self.write("a", *WRONG))
        self.assertIn("give a second file", text)

    def test_runs_the_sweeps(self):
        source = self.write("source", *WRONG)
        command = f"{sys.executable} -c 'import shutil, sys; shutil.copy(\"{source}\", sys.argv[-1])'"
        paths = [str(self.folder / name) for name in "ab"]
        told = self.told("regret.py", "--run", command, *paths)
        self.assertEqual(told["worlds"][0]["files"], paths)
        code, text, said = self.run_script("regret.py", "--run", "false", paths[0])
        self.assertEqual((code, text), (4, ""))
        self.assertIn("failed with status 1", said)

    def test_gpus_have_both_places_and_native_is_a_choice(self):
        gpu = {"buffers": "cuda", "transport": "nccl"}
        cells = [cell(label, time, in_place=place, **gpu)
                 for place, times in ((False, {"ring": 30, "native": 10, "auto": 20}),
                                      (True, {"ring": 10, "native": 40, "auto": 40}))
                 for label, time in times.items()]
        _, text, _ = self.run_script("regret.py", "--json", self.write("gpus", *cells))
        told = json.loads(text)["files"][0]
        self.assertIn("out of place and in place", told["world"])
        self.assertEqual([(one["in_place"], one["best"], one["regret"]) for one in told["above"]],
                         [(False, "native", 2), (True, "ring", 4)])

    def test_malformed_files(self):
        # json.dumps writes NaN, which JSON does not have and Python reads
        for name, records, text, words in [
                ("text", [], "12 13", "line 1"), ("half", [], '{"record": "co', "line 1"),
                ("list", [], "[1]\n", "line 1: it is no record"), ("empty", [], "", "no context record"),
                ("other", [], '{"record": "context", "schema": "x"}', "the schema is 'x'"),
                ("lacks", [{"record": "cell"}], None, "line 2: 'collective' is missing"),
                ("zero", [cell("auto", 0)], None, "line 2: 'median_us' is 0, which is no time"),
                ("nan", [cell("auto", math.nan)], None, "'median_us' is nan"),
                ("word", [cell("ring", 1, ci_low_us="x")], None, "'ci_low_us' is no number"),
                ("twice", [cell("ring", 1), cell("ring", 1)], None, "a second cell"),
                ("alone", [cell("auto", 1), cell("native", 1)], None, "sweep with -a left out"),
                ("list2", [dict(choice({"ring": 1}), candidates=[1])], None, "line 2")]:
            path = self.write(name, *records, text=text)
            code, out, said = self.run_script("regret.py", path)
            self.assertEqual((code, out, said.count("\n")), (2, "", 1), (name, said))
            self.assertIn(f"'{path}'", said)
            self.assertIn(words, said)
        code, _, said = self.run_script("regret.py", str(self.folder / "none"))
        self.assertEqual((code, "No such file" in said), (2, True))

    def test_rank_correlation(self):
        correlation = regret_statistics.rank_correlation
        self.assertEqual(correlation([1, 2, 3], [30, 20, 10]), -1)
        self.assertAlmostEqual(correlation([1, 1, 2], [1, 2, 3]), math.sqrt(3) / 2)  # ties share a place
        self.assertIsNone(correlation([1, 1, 1], [1, 2, 3]))


class RegretOfMpi(Case):
    def measure(self, mpi, collective, *more):
        """The results of an MPI that is a script."""
        script = self.folder / "tutti"
        records = json.dumps([CONTEXT, cell("native", 1), SUMMARY])
        script.write_text(f"#!{sys.executable}\nimport json, os, sys, time\n"
                          f"CONTEXT, CELL, SUMMARY = json.loads({records!r})\n{MPI}")
        info = self.folder / "ompi_info"
        info.write_text(OMPI_INFO)
        for path in script, info:
            os.chmod(path, 0o755)
        return self.told("regret_mpi.py", "--mpi", mpi, "--launch", "env", "--ranks", "4", "--tutti",
                         str(script), "--ompi-info", str(info), "-C", collective, *more)

    def test_mpich(self):
        found = self.measure("mpich", "all_reduce", "--limit", "40")
        one, at = found["collectives"][0], found["cells"][0]
        # 4 passes, of which the medians of the two lucky ones are 10, as those of the ring always are.
        self.assertEqual((one["cells"], one["algorithms"], one["regret"], one["noise"]), (1, 7, 2, 1))
        # On each half one that is lucky there is chosen and takes 15 on the other: 20 / 15.
        self.assertAlmostEqual(one["unbiased"], 20 / 15)
        self.assertEqual(sorted(at["best"]), ["recexch", "tree"])
        left_out = {entry["algorithm"]: entry["why"] for entry in found["left_out"]}
        self.assertEqual(left_out, {"nb": "status 1: Fatal error: Invalid value (nb)",
                                    "smp": "took more than 40 s"})

    def test_noise_is_not_above(self):
        # One launch of two with the defaults takes three times as long: 3.3 times the best is that.
        found = self.measure("mpich", "barrier", "--passes", "2", "--seed", "13")
        self.assertGreater(min(found["cells"][0]["unbiased"]), 3)  # seed 13 makes it that launch twice
        self.assertEqual(found["collectives"][0]["above"], 0)

    def test_least_of_the_passes(self):
        found = self.measure("mpich", "all_to_all", "--passes", "2", "--over", "least")["cells"][0]
        self.assertEqual((found["regret"], found["times_us"]["brucks"]), (4, 5))  # of 15 and 5

    def test_open_mpi(self):
        found = self.measure("openmpi", "all_gather", "--passes", "2")
        self.assertEqual(found["cells"][0]["times_us"], {"default": 20, "linear": 20, "bruck": 10})
        self.assertEqual((found["cells"][0]["unbiased"], found["cells"][0]["is_above"]), ([2, 2], True))
        self.assertEqual(found["left_out"], [{"collective": "all_gather", "algorithm": "two_proc",
                                              "why": "serves 2 ranks only"}])

    def test_sweeps_as_told(self):
        for arguments, times in ((), 1), (("--pattern", "isolated"), 3), (("--align", "page"), 5):
            found = self.measure("openmpi", "all_gather", "--passes", "2", *arguments)
            self.assertEqual(found["cells"][0]["times_us"]["bruck"], 10 * times, arguments)
        self.assertEqual((found["align"], found["pattern"]), ("page", "back_to_back"))

    def test_refuses(self):
        for arguments, code, words in [
                (["--launch", "mpirun"], 2, "say it by --ranks"),
                (["--launch", "mpirun -n 2", "-C", "send"], 2, "no collective 'send'"),
                (["--launch", "mpirun -n 2", "--passes", "3"], 2, "an even number"),
                (["--launch", "/nowhere -n 2"], 4, "cannot run '/nowhere'"),
                (["--launch", "false -n 2"], 4, "with the defaults: status 1")]:
            status, text, said = self.run_script("regret_mpi.py", "--mpi", "mpich", *arguments)
            self.assertEqual((status, text), (code, ""), said)
            self.assertIn(words, said)


if __name__ == "__main__":
    unittest.main()
