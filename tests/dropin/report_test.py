#!/usr/bin/env python3
"""Checks the times, call sites and late ranks in reports of `tutti exec`. Arguments as for exec_test.py."""
import json
import pathlib
import re
import sys
import unittest

from exec_test import FOLDER, HAS_LINES, TUTTI, compile_program, run

# Rank 1 comes last, 100 times.
LATE = """#include <mpi.h>
#include <unistd.h>
int main(int count, char** words) {
  int rank = 0, sum = 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 100; ++i) {
    if (rank == 1) usleep(2000);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);  /* line 9 */
    MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
"""
# 26 kinds of calls; those of Allreduce come from two places, and the first 1100 use a communicator of their own.
KINDS = """#include <mpi.h>
static int in[4096], out[4096];
static void again(int count) { MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }
int main(int count, char** words) {
  MPI_Comm others;
  MPI_Init(&count, &words);
  MPI_Comm_dup(MPI_COMM_WORLD, &others);
  for (int i = 0; i < 1100; ++i) MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, others);
  for (int i = 1; i <= 4096; i *= 2) {
    MPI_Bcast(in, i, MPI_INT, 0, MPI_COMM_WORLD);
    again(i);
  }
  MPI_Finalize();
  return 0;
}
"""
# A call of nothing that one rank makes wrongly, so that the ranks have different numbers of calls.
UNEQUAL_CALLS = """#include <mpi.h>
int main(int count, char** words) {
  int rank = 0, sum = 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(&rank, &sum, 0, rank == 1 ? MPI_DATATYPE_NULL : MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""


class Report(unittest.TestCase):
    def test_a_report_divides_time_into_waiting_and_moving(self):
        report = FOLDER / "late.jsonl"
        program = compile_program("late.c", LATE, "-g")
        output = run(TUTTI, "exec", "--report", "--report-file", report, program)
        self.assertRegex(output, r"tutti-mpi 0\.\d+\.\d+  .*  late.out, 2 ranks on 1 host  wall [\d.]+ s  collectives [\d.]+ s "
                                 r"\(\d+ %\): waiting for late ranks [\d.]+, moving [\d.]+, not compared [\d.]+\n")
        self.assertRegex(output, r"tutti-mpi: late: rank 1 last in \d+ % of calls, mean [\d.]+ us; compared 100 of 100\n")
        context, sums, casts = (json.loads(line) for line in report.read_text("utf-8").splitlines())
        self.assertEqual((sums["collective"], sums["tutti"]["compared"]), ("all_reduce", 100))
        self.assertGreater(sums["tutti"]["wait_seconds"], max(0.05, sums["tutti"]["move_seconds"]), output)
        self.assertAlmostEqual(sums["tutti"]["wait_seconds"] + sums["tutti"]["move_seconds"], sums["tutti"]["seconds"], 6)
        self.assertEqual((casts["collective"], casts["tutti"]["compared"]), ("broadcast", 0))
        self.assertEqual(max(context["late"], key=lambda late: late["calls"])["rank"], 1, output)
        self.assertEqual(context["hosts"], 1)
        self.assertEqual([site["module"] for site in sums["sites"]], [str(pathlib.Path(program).resolve())])
        if HAS_LINES:
            self.assertRegex(output, r"tutti-mpi: all_reduce .* late\.c:9\n")
            self.assertEqual(sums["sites"][0]["site"], "late.c:9")

    def test_a_report_is_short(self):
        program = compile_program("kinds.c", KINDS)  # without lines
        for words in ([], ["env", "PATH=/nowhere"]):  # with addr2line and without it
            with self.subTest(words):
                output = run(TUTTI, "exec", "--report", *words, program)
                self.assertEqual(len(re.findall("^tutti-mpi", output, re.M)), 24, output)
                self.assertIn("tutti-mpi: and 7 rows with less time\n", output)
                # The last calls of the communicator are not compared.
                found = re.search(r"; compared (\d+) of 1081\n", output)
                self.assertIsNotNone(found, output)
                self.assertGreater(int(found[1]), 1081 - 64, output)
                self.assertRegex(output, r"tutti-mpi: all_reduce +4 B .* kinds\.out\+0x[0-9a-f]+ \+1\n")

    def test_ranks_with_different_numbers_of_calls(self):
        output = run(TUTTI, "exec", "--report", compile_program("unequal_calls.c", UNEQUAL_CALLS))
        self.assertRegex(output, r"tutti-mpi: handled=2 passed_on=0\n")
        self.assertNotIn("late:", output)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
