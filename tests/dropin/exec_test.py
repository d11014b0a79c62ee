#!/usr/bin/env python3
"""Runs unchanged programs of an MPI by `tutti exec`, and looks at who served their calls:
exec_test.py TUTTI LAUNCHER CC FORTRAN FOLDER

CC and FORTRAN are the MPI's wrappers; FORTRAN may be empty. Programs are compiled in FOLDER."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

TUTTI, LAUNCHER, CC, FORTRAN = sys.argv[1:5]
FOLDER = pathlib.Path(sys.argv[5])
HAS_LINES = shutil.which("addr2line") is not None
PROGRAM = """#include <mpi.h>
#include <stdio.h>
int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank = 0, mine = 0, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  mine = rank + 1;
  for (int i = 0; i < 10; ++i) MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %d\\n", sum);
  MPI_Finalize();
  return 0;
}
"""
SUMS = """#include <mpi.h>
#include <stdio.h>
int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank = 0, sum = 0;
  double real_sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int mine = rank + 1;
  const double real = mine;
  for (int i = 0; i < 1000; ++i) {
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&real, &real_sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("sums %d %g\\n", sum, real_sum);
  MPI_Finalize();
  return 0;
}
"""
# Types with absolute addresses, which begin at MPI_BOTTOM.
ABSOLUTE = """#include <mpi.h>
#include <stdio.h>
int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank, size, in[12], out[12], ones[4], zeros[4], wrong = 0;
  MPI_Datatype from[4], to[4];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 12; ++i) { in[i] = rank; out[i] = -1; }
  for (int i = 0; i < size; ++i) {
    int three = 3;
    MPI_Aint address;
    MPI_Get_address(in + 3 * i, &address);
    MPI_Type_create_hindexed(1, &three, &address, MPI_INT, &from[i]);
    MPI_Type_commit(&from[i]);
    MPI_Get_address(out + 3 * i, &address);
    MPI_Type_create_hindexed(1, &three, &address, MPI_INT, &to[i]);
    MPI_Type_commit(&to[i]);
    ones[i] = 1;
    zeros[i] = 0;
  }
  MPI_Alltoallw(MPI_BOTTOM, ones, zeros, from, MPI_BOTTOM, ones, zeros, to, MPI_COMM_WORLD);
  for (int i = 0; i < 3 * size; ++i) wrong += out[i] != i / 3;
  MPI_Bcast(MPI_BOTTOM, 1, to[0], 1, MPI_COMM_WORLD);
  printf("wrong %d\\n", wrong);
  MPI_Finalize();
  return 0;
}
"""
# An error handler of the program, a collective while MPI_Finalize frees MPI_COMM_SELF, and a root that does not exist.
ERRORS = """#include <mpi.h>
#include <stdio.h>
static int at_the_end(MPI_Comm comm, int key, void* value, void* extra) {
  int one = 1, sum = 0, rank = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("at the end %d\\n", sum);
  return MPI_SUCCESS;
}
int main(int count, char** words) {
  MPI_Init(&count, &words);
  int key = 0, rank = 0, value = 0, code = 0, class = 0;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  code = MPI_Bcast(&value, 1, MPI_INT, 77, MPI_COMM_WORLD);
  MPI_Error_class(code, &class);
  if (rank == 0) printf("root %d\\n", class == MPI_ERR_ROOT);
  code = MPI_Reduce(&rank, &value, 1, MPI_INT, MPI_SUM, 77, MPI_COMM_WORLD);
  MPI_Error_class(code, &class);
  if (rank == 0) printf("root of reduce %d\\n", class == MPI_ERR_ROOT);
  MPI_Finalize();
  return 0;
}
"""
# Functions that headers of MPI 3 lack: of one vector, and on a new communicator, where the MPI runs them.
FORMS = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
typedef int Init(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*);
typedef int LargeInit(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*);
typedef int LargeAlltoallv(const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*,
                           MPI_Datatype, MPI_Comm, MPI_Request*);
int main(int count, char** words) {
  const char* names[] = {"MPI_Allreduce_init", "MPIX_Allreduce_init", "MPI_Allreduce_init_c"};
  int rank, mine, sum, wrong = 0, code = MPI_SUCCESS, class = MPI_SUCCESS;
  MPI_Request request;
  MPI_Comm copy;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 3; ++i) {
    void* init = dlsym(RTLD_DEFAULT, names[i]);
    if (i == 2) ((LargeInit*)init)(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else ((Init*)init)(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    mine = rank + i;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += sum != 1 + 2 * i;
    MPI_Request_free(&request);
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
  LargeAlltoallv* all = (LargeAlltoallv*)dlsym(RTLD_DEFAULT, "MPI_Ialltoallv_c");
  MPI_Count counts[2] = {1, 1};
  MPI_Aint places[2] = {0, 1};
  int in[2] = {rank, rank}, out[2] = {-1, -1};
  all(in, counts, places, MPI_INT, out, counts, places, MPI_INT, copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  wrong += out[0] != 0 || out[1] != 1;
  counts[0] = (MPI_Count)1 << 40;
  if (count > 1) code = all(in, counts, places, MPI_INT, out, counts, places, MPI_INT, copy, &request);
  if (count > 1) MPI_Error_class(code, &class);
  if (rank == 0) printf("wrong %d, error %d\\n", wrong, class == MPI_ERR_COUNT);
  MPI_Finalize();
  return 0;
}
"""
TOOL = """#include <mpi.h>
#include <stdio.h>
static int calls = 0;
int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++calls;
  return PMPI_Allreduce(in, out, count, type, op, comm);
}
int MPI_Finalize(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("tool %d\\n", calls);
  fflush(stdout);
  return PMPI_Finalize();
}
"""
LOOKS_UP = """import ctypes, sys
mpi = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
mpi.MPI_Init(None, None)
if hasattr(mpi, "ompi_mpi_comm_world"):
    world = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))
else:
    world = 0x44000000
mpi.MPI_Barrier(world)
mpi.MPI_Finalize()
"""
FORTRAN_BODY = """
  implicit none
  {include}
  integer :: rank, error, mine, total, i
  {request} :: request
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  mine = rank + 1
  do i = 1, 10
    call MPI_Allreduce(mine, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  end do
  total = 0
  call MPI_Iallreduce(mine, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, error)
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  if (rank == 0) print '(a,i0)', 'sum ', total
  call MPI_Finalize(error)
end program
"""
WAYS = {"mpif.h": ("", "include 'mpif.h'", "integer"), "use mpi": ("  use mpi", "", "integer"),
        "mpi_f08": ("  use mpi_f08", "", "type(MPI_Request)")}
SERVED = r"tutti-mpi: handled=10 passed_on=0"
SERVED_WITH_WAIT = r"tutti-mpi: handled=11 passed_on=0"


def compile_program(name, text, *flags, compiler=CC):
    FOLDER.mkdir(parents=True, exist_ok=True)
    source = FOLDER / name
    source.write_text(text, "utf-8")
    program = source.with_suffix(".so" if "-shared" in flags else ".out")
    subprocess.run([compiler, *flags, source, "-o", program], check=True)
    return str(program)


def run(*words, ranks=2, **variables):
    """Runs words on some ranks. Returns all that was printed, and checks the status. By itself tutti serves all calls."""
    never, writer = os.pipe()  # Hydra of MPICH 4.0 may fail where standard input has ended
    done = subprocess.run([LAUNCHER, "-n", str(ranks), *words], stdin=never, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, timeout=300, env={**os.environ, "TUTTI_MPI_NATIVE": "off", **variables})
    for end in (never, writer):
        os.close(end)
    if done.returncode != 0:
        raise AssertionError(f"{words}: status {done.returncode}\n{done.stdout}")
    return done.stdout


class Exec(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = compile_program("program.c", PROGRAM)

    def test_a_program_in_c(self):
        output = run(TUTTI, "exec", "--report", "--", self.program)
        self.assertIn("sum 3\n", output)
        self.assertRegex(output, SERVED)

    def test_a_shell_starts_the_program(self):
        output = run(TUTTI, "exec", "--report", "sh", "-c", f"env true; exec {self.program}")
        self.assertIn("sum 3\n", output)
        self.assertRegex(output, SERVED)

    def test_programs_in_fortran(self):
        if not FORTRAN:
            self.skipTest("the MPI has no compiler of Fortran")
        for name, (use, include, request) in WAYS.items():
            with self.subTest(name):
                text = f"program sums\n{use}{FORTRAN_BODY.format(include=include, request=request)}"
                try:
                    source = name.replace(" ", "_").replace(".h", "") + ".f90"
                    program = compile_program(source, text, "-g", compiler=FORTRAN)
                except subprocess.CalledProcessError:
                    self.skipTest(f"the MPI has no {name}")
                output = run(TUTTI, "exec", "--report", program)
                self.assertIn("sum 3\n", output)
                self.assertRegex(output, SERVED_WITH_WAIT)
                place = rf" {source}:\d+" if HAS_LINES else rf" {pathlib.Path(program).name}\+0x"
                self.assertRegex(output, "tutti-mpi: all_reduce .*" + place)

    def test_a_tool_above_and_below(self):
        tool = compile_program("tool.c", TOOL, "-shared", "-fPIC")
        front = str(pathlib.Path(TUTTI).parents[1] / "lib/tutti/libtutti-mpi.so")
        for preload in (f"{tool}:{front}", f"{front}:{tool}"):
            with self.subTest(preload):
                output = run("env", f"LD_PRELOAD={preload}", "TUTTI_REPORT=1", self.program)
                self.assertIn("sum 3\n", output)
                self.assertIn("tool 10\n", output)
                self.assertRegex(output, SERVED)

    def test_a_program_that_looks_up_functions_in_a_library(self):
        mpi = FOLDER.name
        library = pathlib.Path(TUTTI).parents[1] / f"lib/tutti/libtutti-mpi-full-{mpi}.so"
        output = run(sys.executable, "-c", LOOKS_UP, library, TUTTI_REPORT="1")
        self.assertRegex(output, "tutti-mpi: handled=1 passed_on=0")

    def test_functions_that_headers_lack(self):
        program = compile_program("forms.c", FORMS, "-ldl")
        output = run(TUTTI, "exec", "--report", program)
        self.assertIn("wrong 0, error 0\n", output)
        self.assertRegex(output, "handled=3 passed_on=1: no state yet 1")
        if FOLDER.name == "openmpi":  # which has no large counts
            self.assertIn("wrong 0, error 1\n", run(TUTTI, "exec", program, "large"))

    def test_errors_are_the_mpis(self):
        output = run(TUTTI, "exec", "--report", compile_program("errors.c", ERRORS))
        for line in ("root 1\n", "root of reduce 1\n", "at the end 2\n"):
            self.assertIn(line, output)
        self.assertRegex(output, r"handled=2 passed_on=2: arguments 2")  # the two with wrong roots

    def test_absolute_addresses(self):
        output = run(TUTTI, "exec", "--report", compile_program("absolute.c", ABSOLUTE))
        self.assertEqual(output.count("wrong 0\n"), 2, output)
        self.assertRegex(output, "handled=2 passed_on=0")

    def test_an_instrumented_program(self):
        program = compile_program("instrumented.c", PROGRAM, "-fsanitize=address", "-g")
        # The sanitizer wants to be the first library.
        output = run(TUTTI, "exec", "--report", program, ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0")
        self.assertIn("sum 3\n", output)
        self.assertRegex(output, SERVED)

    def test_what_is_served_is_chosen(self):
        self.assertRegex(run(TUTTI, "exec", "--report", "--serve", "off", self.program), "handled=0 passed_on=0")
        self.assertRegex(run(TUTTI, "exec", "--report", "--serve", "bcast,Allreduce", self.program), SERVED)
        output = run(TUTTI, "exec", "--serve", "bcast,sum", self.program)
        self.assertIn("sum 3\n", output)
        self.assertEqual(len(re.findall("'sum' is no collective", output)), 1, output)
        output = run(TUTTI, "exec", self.program, TUTTI_MPI_NATIVE="some")
        self.assertIn("sum 3\n", output)
        self.assertEqual(len(re.findall("TUTTI_MPI_NATIVE is 'some', but must be exact, all or off", output)), 1, output)

    def test_sizes_that_are_served_are_chosen(self):
        sums = compile_program("sums.c", SUMS)  # of 4 and of 8 bytes
        output = run(TUTTI, "exec", "--report", "--serve", "bcast,Allreduce>=8", sums)
        self.assertIn("sums 3 3\n", output)
        self.assertRegex(output, "handled=1000 passed_on=1000: off 1000")
        self.assertRegex(run(TUTTI, "exec", "--report", "--serve", "allreduce>=1KiB", sums), "handled=0 passed_on=2000: off 2000")
        self.assertRegex(run(TUTTI, "exec", "--report", "--serve", "bcast", compile_program("forms.c", FORMS, "-ldl")),
                         r"handled=0 passed_on=\d: off \d")
        for word, error in (("allreduce>=8X", "'8X' is no size such as 1000 or 64K"), ("barrier>=8", "a barrier has no size"),
                            ("alltoallv>=8", "ranks may give alltoallv different sizes")):
            output = run(TUTTI, "exec", "--serve", word, sums)
            self.assertIn("sums 3 3\n", output)
            self.assertEqual(output.count(f"TUTTI_MPI is '{word}', but {error}"), 1, output)

    def test_ranks_serve_the_same(self):
        script = f'test "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = 1 && export TUTTI_MPI=bcast; exec {self.program}'
        output = run(TUTTI, "exec", "--report", "sh", "-c", script)
        self.assertIn("sum 3\n", output)
        self.assertEqual(output.count("TUTTI_MPI is not the same on all ranks; the MPI runs all collectives"), 1, output)
        self.assertRegex(output, "handled=0 passed_on=0")

    def test_the_mpi_runs_what_it_runs_faster(self):
        # An exact kind and one that is not, each called a thousand times: a round of 24 calls, half of them the MPI's.
        sums = compile_program("sums.c", SUMS)
        for variables, samples in (({}, 12), ({"TUTTI_MPI_NATIVE": "all"}, 24), ({"TUTTI_MPI_NATIVE": "off"}, 0)):
            with self.subTest(variables):
                output = run(TUTTI, "exec", "--report", sums, **{"TUTTI_MPI_NATIVE": "exact", **variables})
                self.assertIn("sums 3 3\n", output)
                handled, sampled, faster = (int((re.search(text, output) or [0, 0])[1])
                                            for text in (r"handled=(\d+)", r"sample (\d+)", r"faster (\d+)"))
                self.assertEqual(sampled, samples, output)
                self.assertEqual(handled + sampled + faster, 2000, output)
                self.assertRegex(output, r"tutti-mpi: all_reduce +4 B")

    def test_an_mpi_that_is_slower_is_not_chosen(self):
        if FOLDER.name != "openmpi":
            self.skipTest("only Open MPI is told to use TCP within a host")
        sums = compile_program("sums.c", SUMS)
        for _ in range(3):  # other load may hold up either of them
            output = run(TUTTI, "exec", "--report", sums, TUTTI_MPI_NATIVE="exact", OMPI_MCA_pml="ob1", OMPI_MCA_btl="self,tcp")
            self.assertRegex(output, "sample 12")
            if "faster" not in output:
                return
        self.fail(f"the MPI over TCP is slower than tutti: {output}")

    def test_a_sweep_repeats_the_calls_of_a_report(self):
        report = FOLDER / "report.jsonl"
        run(TUTTI, "exec", "--report-file", report, self.program, TUTTI_MPI_NATIVE="exact")
        context, calls = (json.loads(line) for line in report.read_text("utf-8").splitlines())
        self.assertEqual((context["ranks"], context["program"]), (2, "program.out"))
        self.assertEqual((calls["collective"], calls["bytes"]), ("all_reduce", 4))
        self.assertEqual((calls["tutti"]["calls"], calls["mpi"]["calls"]), (10, 0))
        output = run(TUTTI, "sweep", "--replay", report, "--csv", "-", "--quiet")
        cells = [line.split(",") for line in output.splitlines() if line.count(",") > 10]
        self.assertEqual({cell[cells[0].index("collective")] for cell in cells[1:]}, {"all_reduce"}, output)
        tuning = FOLDER / "tuning.json"
        tuning.unlink(missing_ok=True)
        run(TUTTI, "tune", "--replay", report, "-o", tuning)
        self.assertIn("all_reduce", tuning.read_text("utf-8"))

    def test_engines_bring_no_openssl(self):
        for engine in (pathlib.Path(TUTTI).parents[1] / "lib/tutti").glob("engine-*.so"):
            names = subprocess.run(["readelf", "-d", engine], stdout=subprocess.PIPE, text=True, check=True).stdout
            self.assertIn("NEEDED", names)
            self.assertNotRegex(names, "libssl|libcrypto")

    def test_wrong_words(self):
        for words, error in (([], "a program is missing"), (["/nowhere/program"], "cannot run /nowhere/program")):
            done = subprocess.run([TUTTI, "exec", *words], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(error, done.stderr)

    def test_a_build_without_the_library(self):
        alone = FOLDER / "alone/bin/tutti"
        alone.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TUTTI, alone)
        done = subprocess.run([alone, "exec", "true"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertRegex(done.stderr, "alone/lib/tutti/libtutti-mpi.so is missing: build tutti's target tutti_dropin")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
