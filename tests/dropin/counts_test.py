#!/usr/bin/env python3
"""Ranks that pass different counts, which works in many MPIs; takes the arguments of exec_test.py."""
import re
import sys
import unittest

from exec_test import FOLDER, TUTTI, compile_program, run

# Calls of each kind with less data than the ranks that get it have room for, beside calls that are equal.
SHORTER = """#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { ROOM = 16 };
static int rank, size, wrong = 0;
static void expect(const char* block, int length, int room, char byte) {
  for (int k = 0; k < room; ++k) wrong += block[k] != (k < length ? byte : '?');
}
int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char kind = words[1][0];
  const int most = atoi(words[2]), turns = atoi(words[3]);
  char* text = malloc(most);
  char own[ROOM], from[8 * ROOM], all[8 * ROOM];
  int rooms[8], places[8], sent[8];
  MPI_Datatype vector, pairs;  // 2 bytes with a gap between them, every 4 bytes
  MPI_Type_vector(2, 1, 2, MPI_CHAR, &vector);
  MPI_Type_create_resized(vector, 0, 4, &pairs);
  MPI_Type_commit(&pairs);
  for (int turn = 0; turn < turns; ++turn) {
    const int root = turn % size, length = 1 + turn * 7 % (most - 1);
    for (int k = 0; k < size; ++k) rooms[k] = ROOM, places[k] = ROOM * k, sent[k] = 1 + (turn + k) % ROOM;
    memset(all, '?', sizeof all);
    if (kind == 'b') {
      memset(text, rank == root ? 'a' + turn % 26 : '?', most);
      MPI_Bcast(text, rank == root ? length : most, MPI_CHAR, root, MPI_COMM_WORLD);
      if (rank != root) expect(text, length, most, 'a' + turn % 26);
      memset(all, rank == root ? 'a' : '?', sizeof all);
      MPI_Bcast(all, rank == root ? 2 : 3, pairs, root, MPI_COMM_WORLD);
      for (int k = 0; rank != root && k < 12; ++k) wrong += all[k] != (k < 8 && k % 2 == 0 ? 'a' : '?');
    } else if (kind == 'g') {
      memset(own, 'A' + rank, ROOM);
      MPI_Gatherv(own, sent[rank], MPI_CHAR, all, rooms, places, MPI_CHAR, root, MPI_COMM_WORLD);
      for (int k = 0; rank == root && k < size; ++k) expect(all + places[k], sent[k], ROOM, 'A' + k);
    } else if (kind == 's') {
      for (int k = 0; k < size; ++k) memset(from + places[k], 'A' + k, ROOM);
      memset(own, '?', ROOM);
      MPI_Scatterv(from, sent, places, MPI_CHAR, own, ROOM, MPI_CHAR, root, MPI_COMM_WORLD);
      expect(own, sent[rank], ROOM, 'A' + rank);
    } else if (kind == 'a') {
      memset(own, 'A' + rank, ROOM);
      MPI_Allgather(own, 8, MPI_CHAR, all, ROOM, MPI_CHAR, MPI_COMM_WORLD);
      for (int k = 0; k < size; ++k) expect(all + places[k], 8, ROOM, 'A' + k);
    } else {
      memset(from, 'A' + rank, sizeof from);
      for (int k = 0; k < size; ++k) sent[k] = 8;
      MPI_Alltoallv(from, sent, places, MPI_CHAR, all, rooms, places, MPI_CHAR, MPI_COMM_WORLD);
      for (int k = 0; k < size; ++k) expect(all + places[k], 8, ROOM, 'A' + k);
    }
    int one = rank, sum = -1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    wrong += sum != size * (size - 1) / 2;
    memset(own, rank == 0 ? '0' + turn % 10 : '?', ROOM);
    MPI_Bcast(own, turn % ROOM, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank > 0) expect(own, turn % ROOM, ROOM, '0' + turn % 10);
  }
  int total = 0;
  MPI_Reduce(&wrong, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("wrong %d\\n", total);
  MPI_Finalize();
  return 0;
}
"""
# A shorter broadcast among equal ones, while tutti and the MPI take turns.
AMONG_EQUAL = """#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int count, char** words) {
  const int before = atoi(words[1]), most = atoi(words[2]);
  int rank, wrong = 0;
  char number[8] = {0}, *text = calloc(1, most);
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int turn = 0; turn < 300; ++turn) {
    if (rank == 0) number[0] = turn, text[0] = '!';
    if (turn == before) MPI_Bcast(text, rank == 0 ? 8 : most, MPI_CHAR, 0, MPI_COMM_WORLD);
    else MPI_Bcast(number, 8, MPI_CHAR, 0, MPI_COMM_WORLD);
    wrong += turn == before ? text[0] != '!' : number[0] != (char)turn;
  }
  if (rank == 1) printf("wrong %d\\n", wrong);
  MPI_Finalize();
  return 0;
}
"""
# Broadcasts that are longer than what rank 1 expects, and calls after them: on all ranks (w), on a copy of their
# communicator (d), or on its halves (s). A number after that: so many broadcasts, and no other calls. With (l) on all ranks,
# one that only starts, late on rank 0: it fails while later calls go on.
LONGER = """#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char** words) {
  const int turns = count > 2 ? atoi(words[2]) : 100;
  int rank, size, truncated = 0, failed = 0, right = 0, wrong = 0, numbers[8] = {0};
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Init(&count, &words);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (words[1][0] == 'd') MPI_Comm_dup(comm, &comm);
  if (words[1][0] == 's') MPI_Comm_split(comm, rank < size / 2, rank, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  // Then tutti runs the calls of this communicator, and the ranks compare them before the 16th.
  for (int turn = 0; turn < (words[1][0] == 'l' ? 15 : 40); ++turn)
    MPI_Allreduce(MPI_IN_PLACE, numbers, 1, MPI_INT, MPI_SUM, comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Request request = MPI_REQUEST_NULL;
  if (words[1][0] == 'l') {
    if (rank == 0) usleep(100000);
    MPI_Ibcast(numbers, rank == 0 ? 8 : 4, MPI_INT, 0, comm, &request);
  } else for (int turn = 0; turn < turns; ++turn) {
    int class, code = MPI_Bcast(numbers, rank == 0 ? 8 : 4, MPI_INT, 0, comm);
    MPI_Error_class(code, &class);
    truncated += class == MPI_ERR_TRUNCATE;
    failed += code != MPI_SUCCESS;
  }
  for (int turn = 0; count == 2 && turn < 20; ++turn) {
    int one = turn, sum = 0;
    const int is_done = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS;
    right += is_done && sum == turn * size;
    wrong += is_done && sum != turn * size;
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm after;
  MPI_Comm_dup(MPI_COMM_WORLD, &after);  // it works, whether the others do or not
  for (int turn = 0; turn < 100; ++turn) {
    int one = 1, sum = 0, all;
    MPI_Comm_size(after, &all);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, after);
    wrong += sum != all;
  }
  if (rank == 1) printf("truncated %d of %d\\n", truncated, failed);
  printf("right %d wrong %d\\n", right, wrong);
  MPI_Finalize();
  return 0;
}
"""
HANDED_OVER = "ranks pass different counts to a collective; from now on the MPI runs the collectives of their communicator"


class Counts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = compile_program("shorter.c", SHORTER)

    def test_shorter_broadcasts_are_delivered(self):
        for most in ("40", "3000", "10000"):
            with self.subTest(most):
                output = run(TUTTI, "exec", self.program, "b", most, "3")
                self.assertIn("wrong 0\n", output)
                self.assertNotIn(HANDED_OVER, output)

    def test_then_the_mpi_runs_broadcasts(self):
        if FOLDER.name != "openmpi":
            self.skipTest("MPICH rejects shorter broadcasts")
        for most in ("40", "200000"):
            for native in ("off", "exact", "all"):
                with self.subTest(most=most, native=native):
                    output = run(TUTTI, "exec", "--report", "--native", native, self.program, "b", most, "300")
                    self.assertEqual(output.count(HANDED_OVER), 1, output)
                    self.assertRegex(output, "other counts [0-9]+")
                    self.assertIn("wrong 0\n", output)

    def test_shorter_blocks_are_delivered(self):
        for kind in "gsat":
            with self.subTest(kind):
                output = run(TUTTI, "exec", self.program, kind, "40", "300")
                self.assertIn("wrong 0\n", output)
                self.assertNotIn(HANDED_OVER, output)

    def test_counts_that_begin_to_differ_while_calls_are_sampled(self):
        if FOLDER.name != "openmpi":
            self.skipTest("MPICH rejects shorter broadcasts")
        program = compile_program("among_equal.c", AMONG_EQUAL)
        samples = 0
        for before in (100, 177, 179, 182, 186, 191, 192, 194, 197, 199, 202, 206, 210, 230):
            with self.subTest(before):
                output = run(TUTTI, "exec", "--report", "--native", "exact", program, str(before), "4096")
                self.assertIn("wrong 0\n", output)
                samples += sum(int(number) for number in re.findall("sample ([0-9]+)", output))
        self.assertGreater(samples, 30)

    def test_what_does_not_fit_is_an_error(self):
        program = compile_program("longer.c", LONGER)
        for ranks, kind in ((2, "w"), (2, "d"), (4, "s")):
            with self.subTest(kind):
                output = run(TUTTI, "exec", program, kind, ranks=ranks)
                self.assertIn("TUTTI_MPI with the names of the other collectives leaves this one to it", output)
                self.assertEqual(output.count("truncated 100 of 100\n"), ranks // 2, output)
                self.assertEqual(output.count("right 0 wrong 0\n"), ranks, output)

    def test_a_call_that_fails_late(self):
        program = compile_program("longer.c", LONGER)
        for native in ("off", "exact", "all"):
            output = run(TUTTI, "exec", "--native", native, program, "l")
            self.assertEqual(len(re.findall("right [0-9]+ wrong 0\n", output)), 2, output)
            self.assertNotIn("right 20", output)

    def test_a_report_after_a_call_that_failed(self):
        output = run(TUTTI, "exec", "--report", compile_program("longer.c", LONGER), "w", "3")
        self.assertIn("truncated 3 of 3\n", output)
        self.assertRegex(output, "tutti-mpi: broadcast +32 B")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
