#!/usr/bin/env python3
"""Checks the module files that the installation makes, and the target `uninstall`: modules_test.py ROOT BUILD CMAKE

The files are made from a build's own templates for a tree of empty folders, which is moved first. Tcl's and Lua's interpreters run
them if they are there, with stand-ins for the commands of module systems; else their text is checked.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE = sys.argv.pop()
BUILD = pathlib.Path(sys.argv.pop()).resolve()
ROOT = pathlib.Path(sys.argv.pop()).resolve()

TCL = """
proc module-whatis args {}
proc conflict args {}
proc setenv {name value} { puts "$name=$value" }
proc prepend-path {name value} { puts "$name=$value" }
set ModulesCurrentModulefile [lindex $argv 0]
source $ModulesCurrentModulefile
"""
LUA = """
function help() end
whatis, conflict = help, help
function myFileName() return arg[1] end
function pathJoin(a, b) return a .. "/" .. b end
function isFile(path) return os.rename(path, path) ~= nil end
function isDir(path) return os.rename(path, path) ~= nil end
function setenv(name, value) print(name .. "=" .. value) end
prepend_path = setenv
dofile(arg[1])
"""


def interpreter(*names):
    return next(filter(None, map(shutil.which, names)), None)


def sources_of(build):
    """The folder of sources that a build folder names, to see that it is this one."""
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    return pathlib.Path(re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache, re.M)[1])


class Modules(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def tree(self):
        """A tree with the folders of an installation, and the module files of this build."""
        cache = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
        self.libraries = re.search(r"^CMAKE_INSTALL_LIBDIR:\w+=(.*)$", cache, re.M)[1]
        prefix = self.folder / "moved"
        for name in ("bin", "include", f"{self.libraries}/pkgconfig", f"{self.libraries}/tutti", "share/modulefiles/tutti"):
            (prefix / name).mkdir(parents=True)
        self.dropin = prefix / self.libraries / "tutti/libtutti-mpi.so"
        self.dropin.touch()
        for language in ("tcl", "lua"):
            shutil.copy(BUILD / "packaging" / f"tutti.{language}", prefix / "share/modulefiles/tutti")
        return prefix

    def check(self, prefix, printed):
        """The variables name folders of the tree, and the library for MPI programs."""
        names = {}
        for line in printed.splitlines():
            name, value = line.split("=", 1)
            names[name] = os.path.realpath(value)
            self.assertTrue(os.path.isdir(value) or value == str(self.dropin), line)
        expected = {"TUTTI_ROOT": prefix, "CMAKE_PREFIX_PATH": prefix, "PATH": prefix / "bin", "CPATH": prefix / "include",
                    "LD_LIBRARY_PATH": prefix / self.libraries, "LIBRARY_PATH": prefix / self.libraries,
                    "PKG_CONFIG_PATH": prefix / self.libraries / "pkgconfig", "TUTTI_MPI_PRELOAD": self.dropin}
        self.assertEqual(names, {name: str(path) for name, path in expected.items()})

    def run_module(self, language, program, script):
        prefix = self.tree()
        file = prefix / "share/modulefiles/tutti" / f"tutti.{language}"
        text = file.read_text(encoding="utf-8")
        self.assertNotRegex(text, r"@\w+@")
        if program is None:
            self.skipTest(f"no interpreter of {language}")
        runner = self.folder / "runner"
        runner.write_text(script, encoding="utf-8")
        result = subprocess.run([program, runner, file], capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.check(prefix, result.stdout)
        shutil.rmtree(prefix / "include")
        self.dropin.unlink()
        result = subprocess.run([program, runner, file], capture_output=True, text=True, check=True)
        self.assertNotIn("CPATH", result.stdout)
        self.assertNotIn("PRELOAD", result.stdout)

    def test_tcl(self):
        self.run_module("tcl", interpreter("tclsh"), TCL)
        self.assertTrue((BUILD / "packaging/tutti.tcl").read_text().startswith("#%Module"))

    def test_lua(self):
        self.run_module("lua", interpreter("lua", "lua5.4", "lua5.3"), LUA)

    def test_they_are_installed(self):
        self.assertEqual(sources_of(BUILD), ROOT)
        rules = (BUILD / "packaging" / "cmake_install.cmake").read_text(encoding="utf-8")
        self.assertIn("share/modulefiles/tutti", rules)

    def test_uninstall(self):
        prefix = self.folder / "prefix"
        files = [prefix / "bin/tutti", prefix / "lib/tutti/module.so", prefix / "include/tutti/spi/memory.hpp"]
        others = prefix / "include/other.hpp"
        link = prefix / "bin/tutti-link"
        for file in [*files, others]:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("")
        link.symlink_to("nowhere")
        manifest = self.folder / "install_manifest.txt"
        manifest.write_text("\n".join(map(str, [*files, link])), encoding="utf-8")
        command = [CMAKE, "-D", f"MANIFEST={manifest}", "-P", ROOT / "packaging" / "uninstall.cmake"]
        subprocess.run(command, check=True, capture_output=True)
        left = {path.relative_to(prefix).as_posix() for path in prefix.rglob("*")}
        self.assertEqual(left - {"bin", "lib"}, {"include", "include/other.hpp"})
        manifest.unlink()
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("nothing to uninstall", result.stderr)


if __name__ == "__main__":
    unittest.main()
