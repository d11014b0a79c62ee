#!/usr/bin/env python3
"""Which MPI the build chooses, and what it reports if it cannot use the one that was asked for. It configures
only, with wrappers that are scripts: choose_mpi_test.py <source> <cmake>"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from stub_mpi import KINDS, paths_of, write_mpi

SOURCE = pathlib.Path(sys.argv[1]).resolve()
CMAKE = sys.argv[2]
SMALL = ["-DTUTTI_BUILD_TESTS=OFF", "-DTUTTI_BUILD_COMMAND=OFF", "-DTUTTI_BUILD_CUDA=OFF"]
NO_SYSTEM = ["-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF", "-DTUTTI_BUILD_OPENSSL=OFF", "-DTUTTI_BUILD_HWLOC=OFF"]


class ChooseMpi(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)

    def configure(self, *options, path=None, small=True, **variables):
        """Returns whether CMake succeeded, and its output on one line for each paragraph."""
        build = tempfile.mkdtemp(prefix="build", dir=self.folder)
        environment = {name: text for name, text in os.environ.items() if not name.startswith(("MPI_", "CXX", "CRAY"))}
        environment.update(variables, PATH=path or paths_of())
        done = subprocess.run([CMAKE, "-S", SOURCE, "-B", build, "-G", "Ninja", *(SMALL if small else []), *options],
                              env=environment, capture_output=True, text=True, check=False)
        self.build = pathlib.Path(build)
        self.output = done.stdout + done.stderr
        return done.returncode == 0

    def found(self, name):
        """What the build says about an MPI."""
        lines = [line for line in self.output.splitlines() if line.startswith(f"-- MPI {name}: ")]
        return lines[0].partition(": ")[2] if lines else self.output

    def check_wrapper(self, name, wrapper, about):
        self.assertIn(str(wrapper), self.found(name))
        self.assertIn(about, self.found(name))

    def test_kinds(self):
        about = {"openmpi5": ("openmpi", "Open MPI 5.0"), "mpich": ("mpich", "MPICH 4.3.0"),
                 "intel": ("mpich", "Intel MPI 2021.18"), "mvapich": ("mpich", "MVAPICH 4.0"),
                 "cray": ("mpich", "a relative of MPICH"), "abi": ("standard", "the standard ABI")}
        self.assertEqual(about.keys(), KINDS.keys())
        for kind, (name, text) in about.items():
            with self.subTest(kind=kind):
                wrapper = write_mpi(self.folder / kind, kind)
                self.assertTrue(self.configure(f"-DMPI_CXX_COMPILER={wrapper}", "-DTUTTI_BUILD_MPI=ON"), self.output)
                self.check_wrapper(name, wrapper, text)
                chosen = (self.build / "build.ninja").read_text(encoding="utf-8")
                self.assertIn(f"tutti_mpi_{name}", chosen)

    def test_order(self):
        """Each source wins over those after it; each is an Open MPI, so only one of them can be chosen."""
        wrappers = {name: write_mpi(self.folder / name, "openmpi5")
                    for name in ("own", "variable", "home", "root", "compiler", "path")}
        sources = [("own", f"-DTUTTI_MPI_openmpi_CXX={wrappers['own']}"),
                   ("variable", f"-DMPI_CXX_COMPILER={wrappers['variable']}"), ("home", f"-DMPI_HOME={self.folder}/home"),
                   ("root", f"-DMPI_ROOT={self.folder}/root"), ("compiler", f"-DCMAKE_CXX_COMPILER={wrappers['compiler']}")]
        for first in range(len(sources) + 1):
            options = [option for _, option in sources[first:]]
            name = sources[first][0] if options else "path"
            with self.subTest(name=name):
                self.assertTrue(self.configure(*options, path=paths_of(self.folder / "path")), self.output)
                self.check_wrapper("openmpi", wrappers[name], "Open MPI 5.0")

    def test_environment(self):
        wrapper = write_mpi(self.folder / "home", "openmpi5")
        self.assertTrue(self.configure(MPI_HOME=str(self.folder / "home")), self.output)
        self.check_wrapper("openmpi", wrapper, "Open MPI 5.0")
        wrapper = write_mpi(self.folder / "craype", "cray", wrapper="CC")
        self.assertTrue(self.configure(path=paths_of(self.folder / "craype"), CRAYPE_VERSION="2.7"), self.output)
        self.check_wrapper("mpich", wrapper, "a relative of MPICH")

    def test_first_choice_is_tutti_mpi(self):
        """A module's MPI is first in PATH: tutti::mpi means it, whatever the system has."""
        write_mpi(self.folder / "module", "mpich")
        self.assertTrue(self.configure(path=paths_of(self.folder / "module")), self.output)
        config = self.folder / "project"
        config.mkdir()
        (config / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES CXX)
add_subdirectory({SOURCE} tutti)
get_target_property(means tutti::mpi ALIASED_TARGET)
message(STATUS "means ${{means}}")
""", encoding="utf-8")
        done = subprocess.run([CMAKE, "-S", config, "-B", config / "build"], capture_output=True, text=True, check=False,
                              env={"PATH": paths_of(self.folder / "module")})
        self.assertIn("means tutti_mpi_mpich", done.stdout, done.stderr)

    def test_asked_for_and_missing(self):
        """An MPI that was asked for by name is there, or configuring fails with the reason and the cure."""
        broken = write_mpi(self.folder / "broken", "openmpi5", breaks=True)
        mpich = write_mpi(self.folder / "mpich", "mpich")
        cases = {("-DTUTTI_BUILD_MPI=ON", *NO_SYSTEM): "no compiler wrapper found",
                 (f"-DTUTTI_MPI_openmpi_CXX={broken}",): f"{broken}: a program does not build",
                 (f"-DTUTTI_MPI_openmpi_CXX={mpich}",): "TUTTI_MPI_mpich_CXX",
                 ("-DTUTTI_MPI_mpich_CXX=/nowhere/mpicxx",): "there is no compiler wrapper",
                 ("-DTUTTI_BUILD_MPI=ON", f"-DMPI_CXX_COMPILER={broken}"): "a program does not build",
                 ("-DTUTTI_BUILD_MPI=ON", "-DMPI_HOME=/nowhere"): 'MPI_HOME is "/nowhere"'}
        for options, reason in cases.items():
            with self.subTest(options=options):
                self.assertFalse(self.configure(*options, path=self.compilers()), self.output)
                words = " ".join(self.output.split())
                self.assertIn(reason, words)
                self.assertIn("-DTUTTI_BUILD_MPI=AUTO", words)
        self.assertTrue(self.configure(f"-DMPI_CXX_COMPILER={broken}"), self.output)
        self.assertIn("tutti does not use this MPI", self.output)
        self.assertTrue(self.configure(*NO_SYSTEM, path=self.compilers()), self.output)

    def compilers(self):
        """A PATH with compilers, and without any MPI."""
        folder = self.folder / "compilers"
        folder.mkdir(exist_ok=True)
        for name in ("c++", "g++", "cc", "gcc", "as", "ld", "ar", "ranlib", "ninja", "sh", "nm", "objdump", "strip"):
            for place in ("/usr/bin", "/usr/local/bin"):
                if pathlib.Path(place, name).exists() and not (folder / name).exists():
                    (folder / name).symlink_to(pathlib.Path(place, name))
        return str(folder)

    def test_no_rank_is_started(self):
        """The launcher is never started; without one the tests of several ranks are left out, and the summary says so."""
        wrapper = write_mpi(self.folder / "login", "openmpi5", launcher="mpirun")
        bare = write_mpi(self.folder / "bare", "mpich")
        self.assertTrue(self.configure(f"-DTUTTI_MPI_openmpi_CXX={wrapper}", f"-DTUTTI_MPI_mpich_CXX={bare}",
                                       "-DTUTTI_BUILD_CUDA=OFF", small=False), self.output)
        self.assertFalse((self.folder / "login" / "started").exists())
        self.assertIn("tests start by " + str(self.folder / "login" / "bin" / "mpirun"), self.found("openmpi"))
        self.assertIn("without the tests that start ranks", self.found("mpich"))
        tests = subprocess.run(["ctest", "-N"], cwd=self.build, capture_output=True, text=True, check=True).stdout
        self.assertIn("mpi_native.openmpi.2", tests)
        self.assertNotIn(".mpich", tests)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
