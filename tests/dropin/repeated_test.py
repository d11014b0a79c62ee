#!/usr/bin/env python3
"""Calls like recent ones, which the drop-in remembers where the MPI is to run them; takes the arguments of exec_test.py."""
import re
import sys
import unittest

from exec_test import TUTTI, compile_program, run

# Between like calls something changes on one rank only: where counts lie, what a handle is, whether a call is in place.
# If that rank took such a call for the last one, the ranks would find that they pass different counts, or wait for ever.
PROGRAM = """#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { ROOM = 64 };
static int rank, wrong = 0;
static void check(const int* numbers, int count, int first, int step) {
  for (int i = 0; i < count; ++i) wrong += numbers[i] != first + i * step;
}
static void broadcasts(int turn) {
  int numbers[ROOM];
  const int root = turn / 500 % 2;
  for (int i = 0; i < ROOM; ++i) numbers[i] = rank == root ? turn + i : -1;
  MPI_Bcast(numbers, 2, MPI_INT, root, MPI_COMM_WORLD);
  check(numbers, 2, turn, 1);
}
// Rank 0 makes the type anew, so that its handle has been another one's.
static void send_type(int turn, int is_long, const MPI_Datatype* kept) {
  int numbers[ROOM];
  const int ints = is_long ? 40 : 3;
  MPI_Datatype type = kept[is_long];
  if (rank == 0) {
    MPI_Type_contiguous(ints, MPI_INT, &type);
    MPI_Type_commit(&type);
  }
  for (int i = 0; i < ROOM; ++i) numbers[i] = rank == 0 ? turn + i : -1;
  MPI_Bcast(numbers, 1, type, 0, MPI_COMM_WORLD);
  check(numbers, ints, turn, 1);
  if (rank == 0) MPI_Type_free(&type);
}
static void types(int turn, const MPI_Datatype* kept) {
  for (int i = 0; i < 4; ++i) send_type(turn, i / 2, kept);
}
// Rank 0 writes its counts where the last ones were.
static void scattered(int turn) {
  static int counts[4][2];
  int in[ROOM], out[ROOM];
  int* const mine = counts[rank == 0 ? 0 : turn % 4];
  mine[0] = 1 + turn / 100 % 2 * 20;
  mine[1] = 2;
  for (int i = 0; i < ROOM; ++i) in[i] = turn + i;
  MPI_Reduce_scatter(in, out, mine, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check(out, mine[rank], 2 * (turn + (rank == 0 ? 0 : mine[0])), 2);
}
static void gathers(int turn) {
  int all[2] = {turn, turn}, own = turn + rank;
  const void* in = rank == 0 && turn / 10 % 2 == 0 ? MPI_IN_PLACE : &own;
  MPI_Gather(in, in == &own ? 1 : ROOM, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) check(all, 2, turn, 1);
}
// On rank 0 the handle of a communicator has been that of one with a single rank.
static void communicators(void) {
  int numbers[2] = {rank, 5};
  MPI_Comm one, both;
  MPI_Comm_dup(MPI_COMM_SELF, &one);
  for (int i = 0; i < 5 && rank == 0; ++i) MPI_Bcast(numbers, 2, MPI_INT, 0, one);
  MPI_Comm_free(&one);
  MPI_Comm_dup(MPI_COMM_WORLD, &both);
  for (int i = 0; i < 400; ++i) {
    numbers[1] = rank == 0 ? i : -1;
    MPI_Bcast(numbers, 2, MPI_INT, 0, both);
    wrong += numbers[1] != i;
  }
  MPI_Comm_free(&both);
}
int main(int count, char** words) {
  MPI_Datatype kept[2];
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 2; ++i) {
    MPI_Type_contiguous(i == 0 ? 3 : 40, MPI_INT, &kept[i]);
    MPI_Type_commit(&kept[i]);
  }
  for (int turn = 0; turn < 3000; ++turn) {
    broadcasts(turn);
    types(turn, kept);
    scattered(turn);
    gathers(turn);
    if (turn % 500 == 0) communicators();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int i = 0; i < 2; ++i) MPI_Type_free(&kept[i]);
  int sum = 0;
  MPI_Reduce(&wrong, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("wrong %d\\n", sum);
  MPI_Finalize();
  return 0;
}
"""


class Repeated(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = compile_program("repeated.c", PROGRAM)

    def test_calls_that_are_nearly_like_the_last(self):
        for _ in range(3):
            self.assertEqual(run(TUTTI, "exec", self.program, TUTTI_MPI_NATIVE="all"), "wrong 0\n")

    def test_the_mpi_runs_some_of_them(self):
        for _ in range(3):  # other load may hold up either of both
            output = run(TUTTI, "exec", "--report", self.program, TUTTI_MPI_NATIVE="all")
            self.assertIn("wrong 0\n", output)
            if re.search(r"faster \d{3}", output):
                return
        self.fail(f"the MPI is chosen nowhere: {output}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
