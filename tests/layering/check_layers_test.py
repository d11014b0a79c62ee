#!/usr/bin/env python3
"""Every rule of check_layers.py finds its offence in a small tree, and a clean tree passes."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import check_layers
import class_sizes

CLEAN = {
    "include/tutti/types.hpp": "#pragma once\n#include <vector>\n// goto, getenv, try: only words\n"
                               "void try_();\n",
    "include/tutti/enumerators.hpp": "enum class Datatype : char {\n  i8,  // std::int8_t\n  f32,\n};\n",
    "perf/names.cpp": "switch (type) {\n  case Datatype::i8: switch (a) { case Kind::f32: break; default: break; }\n"
                      "  case Datatype::f32: break;\n}\n",
    "algorithms/ring.cpp": '#include "patterns.hpp"\n#include <tutti/types.hpp>\n',
    "algorithms/patterns.hpp": "#pragma once\n",
    "backends/mpi/transport.cpp": "#include <mpi.h>\n#include <tutti/types.hpp>\n"
                                  "MPI_Comm comm; int i = PMPI_Comm_free(&comm);\n",
    "backends/mpi/probe/probe.cpp": "int main() { MPI_Finalize(); }\n",
    "backends/sim/sim.cpp": "#include <sys/mman.h>\nvoid f() { memcpy(&a, b, sizeof a); }\n",
    "backends/host/vectors.inl": "void f() { __builtin_memcpy(v, static_cast<B*>(a) + n, sizeof(V)); }\n",
    "collectives/binding/bind.cpp": '#include "algorithms/patterns.hpp"\n',
    "collectives/engine/engine.cpp": '#include "collectives/binding/bind.cpp"\n',
    "runtime/launch/config.cpp": '#include <unistd.h>\nconst char* v = getenv("HOME");\n',
    "runtime/security/tls.cpp": '#include "runtime/sockets/socket.cpp"\n#include <openssl/evp.h>\n',
    "runtime/sockets/socket.cpp": "#include <netinet/in.h>\n",
    "perf/main.cpp": '#include "backends/sim/sim.hpp"\n',
}

# One broken file each, and what the checker must say about it.
BROKEN = [
    ("include/tutti/types.hpp", "#include <mpi.h>\n", "include/tutti may not include mpi.h"),
    ("include/tutti/types.hpp", '#include "algorithms/patterns.hpp"\n', "may not include"),
    ("include/tutti/types.hpp", "#include <unistd.h>\n", "may not include unistd.h"),
    ("include/tutti/types.hpp", "void f() { throw 1; }\n", "an exception in a public header"),
    ("backends/cuda/include/tutti/cuda.hpp", "void f() {\n  try {\n  }\n}\n",
     "an exception in a public header"),
    ("algorithms/ring.cpp", '#include "collectives/engine/engine.cpp"\n', "algorithms may not include"),
    ("algorithms/ring.cpp", '#include "../perf/main.cpp"\n', "algorithms may not include"),
    ("algorithms/ring.cpp", "\n" * 121, "121 lines, at most 120"),
    ("backends/sim/sim.cpp", "#include <mpi.h>\n", "backends/sim may not include mpi.h"),
    ("backends/sim/sim.cpp", '#include "backends/mpi/transport.cpp"\n', "may not include"),
    ("backends/mpi/transport.cpp", '#include "algorithms/patterns.hpp"\n', "may not include"),
    ("backends/mpi/transport.cpp", "int done = MPI_Test(&r, &f, &s);\n", "call by an MPI_ name"),
    ("collectives/engine/engine.cpp", '#include "backends/sim/sim.cpp"\n', "may not include"),
    ("collectives/engine/engine.cpp", "#include <fmt/core.h>\n", "may not include fmt/core.h"),
    ("collectives/engine/engine.cpp", "#include <netdb.h>\n", "may not include netdb.h"),
    ("backends/sim/sim.cpp", "#include <openssl/evp.h>\n", "may not include openssl/evp.h"),
    ("collectives/binding/bind.cpp", '#include "collectives/engine/engine.cpp"\n', "collectives/binding may not include"),
    ("runtime/sockets/socket.cpp", '#include "runtime/launch/config.cpp"\n', "runtime/sockets may not include"),
    ("collectives/engine/engine.cpp", "// What it does.\n", "begins with a clause"),
    ("collectives/engine/engine.hpp", "  /// Whose turn it is.\n", "begins with a clause"),
    ("tests/support/world.hpp", "  int rank = 0;  ///< Of the world.\n", "begins with a clause"),
    ("tests/runtime/doors/door_test.cpp", "\n", "there is no runtime/doors"),
    ("runtime/world.cpp", "\n", "no row of docs/ARCHITECTURE.md has its folder"),
    ("backends/new/new.cpp", "\n", "no row of docs/ARCHITECTURE.md has its folder"),
    ("collectives/engine/engine.cpp", "\n" * 401, "401 lines, at most 400"),
    ("collectives/engine/engine.cpp", "std::memcpy(to, from, bytes);\n", "memcpy of payload"),
    ("overlap/sync.cpp", "std::memcpy(to, from,\n  count * sizeof(float));\n", "memcpy of payload"),
    ("collectives/engine/engine.cpp", "# define CHECK(x) x\n", "a function-like macro"),
    ("collectives/engine/engine.cpp", "void f() { goto end; end:; }\n", "goto"),
    ("collectives/engine/engine.cpp", 'auto v = std::getenv("A");\n', "getenv outside of"),
    ("runtime/launch/launch.cpp", "char** v = environ;\n", "getenv outside of runtime/launch/config.cpp"),
    ("runtime/launch/launch.cpp", "#include <mpi.h>\n", "runtime/launch may not include mpi.h"),
    ("collectives/engine/engine.hpp", "using namespace tutti;\n", "using namespace in a header"),
    ("perf/other.cpp", 'auto v = getenv("B");\n', "getenv outside of"),
    ("perf/other.cpp", "switch (type) {\n  case tutti::Datatype::i8: break;\n  default: break;\n}\n",
     "perf/other.cpp:1: a default among enumerators"),
    ("perf/other.cpp", "switch (a) {\n  case 1:\n    switch (b) { case f32: { f(); }\n      default: g(); }\n}\n",
     "perf/other.cpp:3: a default among enumerators"),
    ("c/other.cpp", "switch (type) { case TUTTI_I8: break; default: break; }\n", "a default among enumerators"),
    ("tests/other.cpp", 'auto v = std::getenv("B");\n', "getenv outside of"),
    ("collectives/engine/engine.cpp", "std::thread{work}.detach();\n", "start_thread and start_service_thread make them"),
    ("collectives/engine/engine.cpp", "std::ostringstream text;\n", "depends on the program's locale"),
    ("runtime/launch/launch.cpp", "double x = strtod(text, &end);\n", "depends on the program's locale"),
    ("collectives/engine/engine.cpp", 'snprintf(text, sizeof text,\n  "%d of %.3g s", n, t);\n', "a fraction is printed"),
]

BODY_AND_MEMBER = {
    "collectives/engine/engine.hpp": "class Engine {\n" + "  int a;\n" * 210 + "};\n",
    "collectives/engine/engine.cpp": "void Engine::run() {\n" + "  f();\n" * 210 + "}\n",
}


TABLE = pathlib.Path(__file__).parents[2] / check_layers.TABLE


def check(files):
    """Writes a tree of these files and the table. Returns its offences and how many files were read."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**files, check_layers.TABLE: TABLE.read_text(encoding="utf-8")}.items():
            file = pathlib.Path(folder, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return check_layers.offences_of(pathlib.Path(folder).resolve())


class CheckLayers(unittest.TestCase):
    def test_clean_tree_passes(self):
        self.assertEqual(check(CLEAN), ([], len(CLEAN)))

    def test_every_offence_is_found(self):
        for name, text, message in BROKEN:
            with self.subTest(name=name, text=text[:40]):
                offences, _ = check({**CLEAN, name: text})
                self.assertEqual(len(offences), 1, offences)
                self.assertIn(message, offences[0])

    def test_a_class_in_several_files_is_too_long(self):
        offences, _ = check({**CLEAN, **BODY_AND_MEMBER})
        self.assertEqual(offences, ["collectives/engine: class Engine has 424 lines, at most 400 are allowed"])

    def test_lines_belong_to_the_class_that_declares_them(self):
        text = ("class A {\n  class B {\n    void f();\n  };\n};\nvoid A::B::f() {\n}\n"
                "template <class T>\nvoid A::g(T t) {\n}\nvoid A::declared(int);\nvoid free() {\n}\n")
        public = "struct TUTTI_API C final : D {\n  void h();\n};\n"
        sizes = class_sizes.class_sizes([("a", text), ("include/tutti", public), ("b", "void C::h() {\n}\n")])
        self.assertEqual(sizes, {("a", "A"): 8, ("a", "A::B"): 5, ("include", "C"): 5})

    def test_a_folder_of_the_tree_has_a_row(self):
        root = TABLE.parents[1]
        boxes = check_layers.House(root).rules
        for folder in sorted(root.iterdir()):
            if any(file.suffix in check_layers.SOURCES for file in folder.glob("**/*.[ch]pp")) \
                    and folder.name not in ("build", "cmake", "docs") and not folder.name.startswith("."):
                self.assertTrue(any(box.startswith(folder.name) for box in boxes), folder.name)

    def test_exit_status(self):
        checker = check_layers.__file__
        with tempfile.TemporaryDirectory() as empty:
            pathlib.Path(empty, "docs").mkdir()
            shutil.copy(TABLE, pathlib.Path(empty, "docs"))
            self.assertEqual(subprocess.run([sys.executable, checker, empty], check=False,
                                            capture_output=True).returncode, 1)


if __name__ == "__main__":
    unittest.main()
