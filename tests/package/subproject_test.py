#!/usr/bin/env python3
"""tutti as a part of another project, by add_subdirectory or FetchContent. It configures only, without compiling:
subproject_test.py <source> <cmake>"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
CMAKE = sys.argv[2]
TARGETS = ["tutti", "testing", "training", "c", "mpi", "include"]
# What CMake's own project() and FetchContent add.
OF_CMAKE = r"(TUTTI_|tutti_(SOURCE_DIR|BINARY_DIR|IS_TOP_LEVEL)$|CMAKE_PROJECT_VERSION|FETCHCONTENT_)"

PARENT = """cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES CXX)
get_cmake_property(before CACHE_VARIABLES)
{adds}
get_cmake_property(after CACHE_VARIABLES)
list(REMOVE_ITEM after ${{before}})
message(STATUS "new entries: ${{after}}")
foreach(name IN ITEMS {targets})
  if(NOT TARGET tutti::${{name}})
    message(STATUS "no target tutti::${{name}}")
  endif()
endforeach()
add_executable(program program.cpp)
target_link_libraries(program PRIVATE tutti::tutti)
install(FILES program.cpp DESTINATION share/parent)
"""
ADD = 'add_subdirectory("{source}" tutti)'
# The lines of the page, without those of its program, and with this tree.
PAGE = (SOURCE / "docs" / "install.md").read_text(encoding="utf-8")
LINES = re.search("```cmake\n(include.FetchContent.*?)add_executable", PAGE, re.S)[1]
FETCH = re.sub("GIT_REPOSITORY .*?GIT_TAG [^)]*", 'SOURCE_DIR "{source}"', LINES)


class Subproject(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        (self.folder / "program.cpp").write_text("int main() {}\n", encoding="utf-8")

    def configure(self, *options, adds=ADD, generator="Ninja"):
        """Configures the project, and sets `build`, `output`, and `seconds` of processors."""
        text = PARENT.format(adds=adds.format(source=SOURCE), targets=" ".join(TARGETS))
        (self.folder / "CMakeLists.txt").write_text(text, encoding="utf-8")
        self.build = pathlib.Path(tempfile.mkdtemp(prefix="build", dir=self.folder))
        before = os.times()
        done = subprocess.run([CMAKE, "-S", self.folder, "-B", self.build, "-G", generator, *options],
                              capture_output=True, text=True, check=False)
        after = os.times()
        self.seconds = after.children_user + after.children_system - before.children_user - before.children_system
        self.output = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, self.output)

    def test_cache(self):
        """No cache entries but tutti's own, and the targets of find_package."""
        for adds in (ADD, FETCH):
            for options in ([], ["-DTUTTI_BUILD_SCHEDULES=ON"]):
                with self.subTest(adds=adds, options=options):
                    self.configure(*options, adds=adds)
                    entries = re.search("new entries: (.*)", self.output)[1].split(";")
                    self.assertEqual([entry for entry in entries if not re.match(OF_CMAKE, entry)], [])
                    self.assertNotIn("no target", self.output)

    def test_shared_libraries(self):
        """BUILD_SHARED_LIBS of the parent counts."""
        self.configure("-DBUILD_SHARED_LIBS=ON")
        self.assertIn("libtutti.so", (self.build / "build.ninja").read_text(encoding="utf-8"))

    def test_install(self):
        """The parent installs itself alone, though nothing of tutti is built; with TUTTI_INSTALL, tutti too."""
        self.configure()
        prefix = self.folder / "prefix"
        subprocess.run([CMAKE, "--install", self.build, "--prefix", prefix], check=True, capture_output=True)
        files = [str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()]
        self.assertEqual(files, ["share/parent/program.cpp"])
        self.configure("-DTUTTI_INSTALL=ON")
        done = subprocess.run([CMAKE, "--install", self.build, "--prefix", prefix], check=False, capture_output=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"tutti is not installed", done.stderr)

    def test_default_target(self):
        """`all` of the parent has what its own programs link, and no more of tutti."""
        self.configure("-DCMAKE_SUPPRESS_REGENERATION=ON", "-DCMAKE_BUILD_TYPE=Release")
        commands = subprocess.run(["ninja", "-C", self.build, "-t", "commands", "all"], check=True, capture_output=True,
                                  text=True).stdout
        self.assertIn("libtutti.a", commands)
        for library in ("tutti_c", "tutti_training", "tutti_testing", "tutti_mpi_"):
            self.assertNotIn(f"lib{library}", commands)

    def test_build_type(self):
        """Without a build type tutti is optimised, and one line says so; with one nothing changes."""
        for build_type, is_said in (("", True), ("Debug", False)):
            with self.subTest(build_type=build_type):
                self.configure(f"-DCMAKE_BUILD_TYPE={build_type}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
                lines = [line for line in self.output.splitlines() if "no CMAKE_BUILD_TYPE" in line]
                self.assertEqual(len(lines), 1 if is_said else 0)
                commands = json.loads((self.build / "compile_commands.json").read_text(encoding="utf-8"))
                proof = next(entry["command"] for entry in commands if "tutti_proof" in entry["command"])
                own = next(entry["command"] for entry in commands if entry["file"].endswith("program.cpp"))
                self.assertEqual("-O3" in proof, is_said)
                self.assertNotIn("-O3", own)

    def test_without_packages(self):
        """The core needs no package."""
        missing = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in
                   ("nlohmann_json", "OpenSSL", "EXPAT", "fmt", "CLI11", "Threads", "PkgConfig", "Doxygen")]
        self.configure(*missing)
        units = "\n".join(path.read_text(encoding="utf-8") for path in self.build.rglob("unity_*.cxx"))
        self.assertIn("selector/json_none.cpp", units)
        self.assertNotIn("selector/tuning_file.cpp", units)

    def test_speed(self):
        """The core configures within two seconds of processors, the search for a compiler included."""
        self.configure()
        self.assertLess(self.seconds, 2.0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
