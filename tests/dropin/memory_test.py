#!/usr/bin/env python3
"""Memory of programs that tutti lets the ranks of a host share; takes the arguments of exec_test.py."""
import sys
import unittest

import exec_test
from exec_test import TUTTI, run

# A child of fork has its own copies; arrays keep their bytes when they grow; calloc's are zero.
PROGRAM = """#define _GNU_SOURCE
#include <malloc.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
enum { MIB = 1 << 20 };
static void expect(int is_right, const char* what) { if (!is_right) printf("wrong: %s\\n", what); }
static void fork_once(char* small, char* large) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    int is_right = small[77] == 7 && large[5] == 3 && large[49 * MIB] == 4 && large[30 * MIB] == 0;
    small[77] = 9;
    large[5] = 8;
    char* made = malloc(MIB);
    made[9] = 1;
    large = realloc(large, 60 * MIB);
    is_right = is_right && large[5] == 8 && large[49 * MIB] == 4;
    free(large);
    free(made);
    _exit(is_right ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  expect(status == 0, "the child's copies");
  expect(small[77] == 7 && large[5] == 3, "the parent's bytes");
}
static void check_malloc(void) {
  unsigned char* zeros = 0;
  for (int i = 0; i < 4; ++i) {
    const size_t bytes = (size_t)(i + 1) * 600000;
    zeros = calloc(1, bytes);
    for (size_t at = 0; at < bytes; ++at) if (zeros[at] != 0) { expect(0, "zeros"); break; }
    memset(zeros, 5, bytes);
    expect(malloc_usable_size(zeros) >= bytes, "usable size");
    if (i < 3) free(zeros);
  }
  zeros = realloc(zeros, 100);
  expect(zeros[99] == 5, "a shorter block");
  zeros = realloc(zeros, 3 * MIB);
  expect(zeros[99] == 5, "a longer block");
  free(zeros);
  void* data = 0;
  expect(posix_memalign(&data, MIB, 3 * MIB) == 0 && (uintptr_t)data % MIB == 0, "alignment");
  free(data);
  data = aligned_alloc(64, 256 * 1024);
  expect((uintptr_t)data % 64 == 0, "alignment of 64");
  free(data);
  const volatile size_t many = (size_t)1 << 40;
  expect(calloc(many, many) == 0, "too many bytes");
}
int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank = 0;
  char* small = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Alloc_mem(MIB, MPI_INFO_NULL, &small);
  char* large = calloc(50, MIB);
  memset(small, 7, MIB);
  large[5] = 3;
  large[49 * MIB] = 4;
  fork_once(small, large);
  check_malloc();
  int* in = (int*)small;
  int* out = (int*)large;
  for (int i = 0; i < MIB / 4; ++i) in[i] = i + rank;
  MPI_Allreduce(in, out, MIB / 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < MIB / 4; ++i) if (out[i] != 2 * i + 1) { expect(0, "sum"); break; }
  MPI_Allreduce(out, in, MIB / 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  expect(in[9] == out[9], "maximum");
  free(large);
  MPI_Free_mem(small);
  MPI_Alloc_mem(100, MPI_INFO_NULL, &small);
  MPI_Free_mem(small);
  if (rank == 0) printf("done\\n");
  MPI_Finalize();
  return 0;
}
"""


class Memory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = exec_test.compile_program("memory.c", PROGRAM)

    def run_program(self, *words, **variables):
        output = run(TUTTI, "exec", "--report", *words, self.program, **variables)
        self.assertIn("done\n", output)
        self.assertNotIn("wrong:", output)
        return output

    def test_memory_of_mpi_alloc_mem_is_shared(self):
        self.assertIn("arrays: 50 % of their bytes in shared memory", self.run_program())

    def test_large_blocks_of_malloc_are_shared(self):
        output = self.run_program("--shared-heap")
        if "shmem_enabled" in output:
            self.skipTest("the system has huge pages for private memory only")
        self.assertIn("arrays: 100 % of their bytes in shared memory", output)
        self.assertNotIn("malloc keeps its own memory", output)

    def test_the_heap_stands_down(self):
        output = self.run_program("env", "TUTTI_SHARED_HEAP=1")
        self.assertIn("malloc keeps its own memory: libtutti-heap.so is not preloaded", output)
        own_malloc = exec_test.compile_program("own_malloc.c", OWN_MALLOC, "-shared", "-fPIC")
        output = self.run_program("--shared-heap", LD_PRELOAD=own_malloc)
        self.assertIn("malloc keeps its own memory: the program has its own malloc", output)


OWN_MALLOC = """#include <stddef.h>
void* __libc_malloc(size_t);
void* malloc(size_t bytes) { return __libc_malloc(bytes); }
"""

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
