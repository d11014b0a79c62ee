#!/usr/bin/env python3
"""Studies of sweeps, with a sweep that is a script and one that is real: studies_test.py STUDIES TUTTI"""

import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TUTTI = sys.argv.pop()
STUDIES = pathlib.Path(sys.argv.pop())
HEAD = "collective,algorithm,bytes,in_place,buffers,median_us,wrong\n"


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_study(self, script, *arguments):
        """Status, text, complaints."""
        done = subprocess.run([sys.executable, "-B", str(STUDIES / script), *arguments], text=True,
                              capture_output=True, check=False, timeout=300,
                              env={**os.environ, "TUTTI_TUNING": "none"})
        return done.returncode, done.stdout, done.stderr

    def told(self, script, *arguments):
        """The output as JSON."""
        code, text, said = self.run_study(script, "--json", *arguments)
        self.assertEqual(code, 0, said)
        return json.loads(text)


class Offsets(Case):
    def write(self, name, *times):
        """A sweep of 64 bytes at these alignments and times."""
        records = [{"record": "context", "schema": "tutti sweep/1", "tutti": "0.1.0", "ranks": 2, "hosts": [{}]}]
        for collective, align, median in times:
            label = "auto" if align == "page" else f"auto@{align}"
            records.append({"record": "cell", "collective": collective, "label": label, "runs": "ring",
                            "transport": "shm", "buffers": "private", "dtype": "f32", "op": "", "bytes": 65536,
                            "median_us": median, "ci_low_us": median, "ci_high_us": median, "align": align,
                            "wrong": 0})
        path = self.folder / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return str(path)

    def test_compares_with_pages_in_the_same_file(self):
        slow = [("broadcast", "page", 10), ("broadcast", "16", 20), ("broadcast", "16:4", 10),
                ("scatter", "page", 8), ("scatter", "16", 8.4)]
        file = self.write("a", *slow)
        found = self.told("offsets.py", file)
        self.assertEqual([(one["collective"], one["cells"], one["above"], one["worst"])
                          for one in found["collectives"]],
                         [("broadcast", 2, 1, 2), ("scatter", 1, 0, 1.05), ("all", 3, 1, 2)])
        self.assertAlmostEqual(found["collectives"][0]["mean"], math.sqrt(2))
        code, text, _ = self.run_study("offsets.py", file)
        self.assertEqual(code, 0)
        self.assertIn("broadcast 64K at 16: 2.00 times the time at pages", text)
        others = [self.write(name, ("broadcast", "page", 30), ("broadcast", "16", 30)) for name in "bc"]
        found = self.told("offsets.py", file, *others)  # 2, 1 and 1
        self.assertEqual(found["cells"][0]["ratio"], 1)

    def test_refuses(self):
        for times, words in (([("broadcast", "16", 1)], "has no size at which auto ran at pages"), ([], "has no size")):
            code, text, said = self.run_study("offsets.py", self.write("a", *times))
            self.assertEqual((code, text, said.count("\n")), (2, "", 1), said)
            self.assertIn(words, said)
        code, _, said = self.run_study("offsets.py", "--sweep", "false", str(self.folder / "b"))
        self.assertEqual((code, "failed with status 1" in said), (4, True), said)

    def test_measures_every_pair_in_one_run(self):
        path = str(self.folder / "run.jsonl")
        found = self.told("offsets.py", "--sweep", f"{TUTTI} sweep --ranks 2 --transport shm -n 2", "-C",
                          "all_gather", "-b", "4K", "-e", "4K", path)
        self.assertEqual(len(found["cells"]), 24)
        self.assertEqual({cell["align"] for cell in found["cells"] if cell["align"].endswith("4:32")},
                         {"4:32", "64:32"})
        contexts = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
        self.assertEqual([one["pattern"] for one in contexts if one["record"] == "context"], ["isolated"])


class BesideMpis(Case):
    def write(self, name, *rows):
        """A CSV file of a sweep."""
        path = self.folder / name
        path.write_text(HEAD + "".join(",".join(map(str, row)) + "\n" for row in rows))
        return str(path)

    def test_takes_the_best_mpi_of_each_cell(self):
        def rows(kind, ours, theirs, size=64, collective="broadcast"):
            return ((collective, "auto", size, "false", kind, ours, 0),
                    (collective, "native", size, "false", kind, theirs, 0))
        one = self.write("one", *rows("private", 10, 20), *rows("private", 10, 8, 2048),
                         *rows("visible", 5, 20), *rows("private", 1, 1, 64, "scatter"))
        two = self.write("two", *rows("private", 10, 7), *rows("private", 10, 30, 2048))
        found = self.told("beside_mpis.py", f"a={one}", f"b={two}")
        cells = {(c["collective"], c["bytes"], c["buffers"]): (c["ratio"], c["mpi"]) for c in found["cells"]}
        self.assertEqual(cells, {("broadcast", 64, "private"): (0.7, "b"), ("broadcast", 2048, "private"): (0.8, "a"),
                                 ("broadcast", 64, "visible"): (4, "a"), ("scatter", 64, "private"): (1, "a")})
        lines = {(o["collective"], o["buffers"]): o for o in found["collectives"]}
        self.assertAlmostEqual(lines["broadcast", "private"]["mean"], math.sqrt(0.7 * 0.8))
        self.assertEqual([lines["broadcast", "private"][name] for name in ("worst", "slow_large", "slow_small")],
                         [0.7, 1, 1])
        self.assertEqual(lines["broadcast", "visible"]["over_private"], 2)
        code, text, _ = self.run_study("beside_mpis.py", f"a={one}", f"b={two}", "--worst", "1")
        self.assertEqual((code, text.splitlines()[-1]),
                         (0, "  broadcast 64, private: 0.70, b 7 us, ours 10 us"))
        again = self.write("again", *rows("private", 10, 13))  # of the same MPI: medians 10 and 10
        found = self.told("beside_mpis.py", f"b={two}", f"b={again}")
        self.assertEqual(found["cells"][0]["ratio"], 1)

    def test_refuses(self):
        for arguments, code, words in (([], 2, "name a file"), (["a"], 2, "'a' is not NAME=VALUE"),
                                       (["a=/nowhere"], 2, "cannot read '/nowhere'"),
                                       ([f"a={self.write('alone', ('broadcast', 'auto', 8, 'false', 'private', 1, 0))}"],
                                        2, "sweep with -a auto,native"),
                                       (["--sweep", "a=false"], 4, "failed with status 1"),
                                       (["--mpi", "a=mpicc"], 4, "'a=mpicc' is not NAME=WRAPPER:LAUNCHER"),
                                       (["--mpi", "a=false:env"], 4, "failed with status 1")):
            status, text, said = self.run_study("beside_mpis.py", *arguments)
            self.assertEqual((status, text), (code, ""), said)
            self.assertIn(words, said)

    def test_runs_the_sweeps(self):
        script = self.folder / "sweep"
        script.write_text(f"#!{sys.executable}\nimport sys\nwords = sys.argv\n"
                          "assert words[words.index('--pattern') + 1] == 'isolated', words\n"
                          "kind = words[words.index('--buffers') + 1]\n"
                          "with open(words[words.index('--csv') + 1], 'w') as file:\n"
                          f"    file.write({HEAD!r})\n"
                          "    for name, us in (('auto', 4 if kind == 'private' else 2), ('native', 8)):\n"
                          "        file.write(f'all_reduce,{name},8,false,{kind},{us},0\\n')\n")
        os.chmod(script, 0o755)
        found = self.told("beside_mpis.py", "--sweep", f"a={script}", "--passes", "2", "--folder", str(self.folder))
        self.assertEqual([(one["buffers"], one["mean"], one["over_private"]) for one in found["collectives"]],
                         [("private", 2, None), ("visible", 4, 2)])
        self.assertEqual(len(list(self.folder.glob("a.*.csv"))), 4)

    def script(self, name, *lines):
        """A program in Python."""
        path = self.folder / name
        path.write_text("\n".join((f"#!{sys.executable}", "import sys", "words = sys.argv", *lines)) + "\n")
        os.chmod(path, 0o755)
        return str(path)

    def test_runs_each_mpi_in_a_job_of_its_own(self):
        wrapper = self.script("wrapper", "open(words[words.index('-o') + 1], 'w').write(words[-1])")
        launcher = self.script("launcher", "assert open(words[1]).read().endswith('mpi_calls.c'), words",
                               "assert words[2:7] == ['all_reduce', '8', '65536', '4', '50'], words",
                               f"open(words[7], 'w').write({HEAD!r} + 'all_reduce,alone,8,false,private,6,0\\n')")
        ours = self.script("ours", "assert words[words.index('-a') + 1] == 'auto', words",
                           "kind = words[words.index('--buffers') + 1]",
                           f"open(words[words.index('--csv') + 1], 'w').write({HEAD!r} + "
                           "f'all_reduce,auto,8,false,{kind},{2 if kind == \"private\" else 1},0\\n')")
        both = self.write("both", ("all_reduce", "auto", 8, "false", "private", 5, 0),
                          ("all_reduce", "native", 8, "false", "private", 10, 0))
        found = self.told("beside_mpis.py", "--mpi", f"a={wrapper}:{launcher}", "--ours", ours, "-C", "all_reduce", "-e",
                          "64K", "--budget", "50ms", "--folder", str(self.folder), f"a={both}")
        self.assertEqual([(c["buffers"], c["ratio"], c["in_one_job"], c["over_private"]) for c in found["cells"]],
                         [("private", 3, 2, None), ("visible", 6, None, 2)])

    def test_calls_of_an_mpi(self):
        if shutil.which("mpicc.openmpi") is None:
            self.skipTest("there is no Open MPI")
        names = "all_reduce,broadcast,all_gather,all_to_all,reduce,reduce_scatter,scatter,gather,barrier"
        ours = self.script("ours", f"open(words[words.index('--csv') + 1], 'w').write({HEAD!r} + ''.join("
                           f"f'{{name}},auto,64,false,private,1,0\\n' for name in {names!r}.split(',')))")
        found = self.told("beside_mpis.py", "--mpi", "a=mpicc.openmpi:mpirun.openmpi --oversubscribe -n 3", "--ours", ours,
                          "-C", names, "-b", "64", "-e", "64", "--budget", "1ms", "--folder", str(self.folder))
        self.assertEqual({cell["collective"] for cell in found["cells"]}, set(names.split(",")))


if __name__ == "__main__":
    unittest.main()
