#!/usr/bin/env python3
"""Builds and runs the README's C++ as a user would, in one of ten ways:

find_package   from an installed tree that was moved afterwards, plain and per MPI; recipes of docs/ too
pkg_config     as find_package, with the .pc files: short programs, which need all flags and libraries
package        the targets, components and .pc files of that tree, for other builds
misuse         as find_package, newcomers' first programs, and programs without exceptions
partial        installs a tree of which nothing is built
subdirectory   with tutti's sources inside the user's project
shared         as find_package and pkg_config, from shared libraries, which it builds first
example        as find_package, the programs of examples/, whether they agree, and what `tutti` makes
               of their modules
c, fortran     as find_package, the programs of docs/c.md in these languages, by the commands of that page
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import c_page
import examples
import misuse
import package
from tools import RECIPES, blocks_of, run

# The README's first block of C++ runs under any launcher, the second under its MPI's, the third alone.
CMAKE_LISTS = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
{package}
add_executable(alone alone.cpp)
target_link_libraries(alone PRIVATE tutti::tutti)
add_executable(world world.cpp)
target_link_libraries(world PRIVATE tutti::tutti)
foreach(page IN ITEMS recipes training)
  add_executable(${{page}} EXCLUDE_FROM_ALL ${{page}}.cpp)
  target_compile_options(${{page}} PRIVATE -Wall -Wextra -Werror)
endforeach()
target_link_libraries(recipes PRIVATE tutti::tutti)
target_link_libraries(training PRIVATE tutti::training)
if(TARGET tutti::mpi)
  add_executable(ranks ranks.cpp)
  target_link_libraries(ranks PRIVATE tutti::mpi)
endif()
"""

# Programs that link as the README's do, and compile in a fraction of the time.
SHORT = {"short": """#include <cstdio>
#include <tutti/tutti.hpp>

int main() {
  auto world = tutti::init();
  std::printf("%s: %d\\n", world.describe().c_str(), world.all_reduce(world.rank() + 1));
}
""", "short_training": """#include <cstdio>
#include <tutti/training/sampler.hpp>

int main() { std::printf("%zu\\n", tutti::DistributedSampler(3, 1, 0).size()); }
""", "short_ranks": """#include <tutti/mpi.hpp>

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  tutti::mpi::init(MPI_COMM_WORLD).barrier();
  MPI_Finalize();
}
"""}

# A program that knows the MPI alone.
PLAIN = """#include <mpi.h>
int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int mine = 1, sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return sum == 2 ? 0 : 1;
}
"""

OPTIONS = """#include <cstdio>
#include <tutti/gradient_sync.hpp>

int main() {
  try {
    static_cast<void>(tutti::load_gradient_options("options.json"));
  } catch (const tutti::Error& error) {
    std::puts(error.what());
  }
}
"""

RECIPE = "// the recipe"  # where a recipe stands in that program


def write_programs(arguments, folder):
    programs = blocks_of(arguments.source / "README.md", "cpp")
    if len(programs) != 3:
        sys.exit(f"README.md has {len(programs)} blocks of C++, expected 3")
    folder.mkdir()
    for name, text in zip(("world", "ranks", "alone"), programs):
        (folder / f"{name}.cpp").write_text(text, encoding="utf-8")
    for page in RECIPES:
        (folder / f"{page}.cpp").write_text(recipes_of(arguments.source, page), encoding="utf-8")


def recipes_of(source, page):
    """All recipes in one program, whose argument says which is run: to compile each takes longer."""
    program, *recipes = blocks_of(source / "docs" / f"{page}.md", "cpp")[RECIPES[page]:]
    head, main, body = program.partition("int main()")
    if not main or body.count(RECIPE) != 1:
        sys.exit(f"block {RECIPES[page]} of docs/{page}.md is no main function with \"{RECIPE}\"")
    functions = [f"static void recipe_{i}(){body.replace(RECIPE, recipe)}"
                 for i, recipe in enumerate(recipes)]
    cases = [f"    case {i}: recipe_{i}(); return 0;\n" for i in range(len(recipes))]
    return "\n".join([head, *functions, "int main(int, char** arguments) {",
                      "  switch (arguments[1][0] - '0') {", *cases, "  }", "  return 2;", "}\n"])


def check_recipes(arguments, prefix, program):
    """Each recipe ends well alone, and prints on two ranks what its page says."""
    page = arguments.source / "docs" / f"{program.name}.md"
    expected = blocks_of(page, "text")
    if len(expected) != len(blocks_of(page, "cpp")) - RECIPES[program.name] - 1:
        sys.exit(f"{page}: each recipe has one block of C++ and one of text")
    for i, text in enumerate(expected):
        run(program, i)
        output = run(prefix / "bin" / "tutti", "run", "-n", 2, program, i)
        if output != text:
            sys.exit(f"recipe {i} of {page} printed:\n{output}expected:\n{text}")


def install(arguments, folder):
    """Installs, then moves what was installed. Returns the prefix."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="install", dir=folder))
    run(arguments.cmake, "--install", arguments.build, "--prefix", place / "first")
    for name in ("LICENSE", "NOTICE"):
        if not (place / "first" / "share" / "doc" / "tutti" / name).is_file():
            sys.exit(f"the installed tree has no {name}")
    shutil.move(place / "first", place / "moved here")
    return place / "moved here"


def check_alone(program):
    output = run(program)
    if output != "1\n":
        sys.exit(f"{program} printed \"{output}\", expected the mean of one rank's gradient, 1")


def check_world(program, launcher=None):
    output = run(launcher, "-n", 2, program) if launcher else run(program)
    expected = (r"2 ranks on 1 host by PMI.*, over shared memory: 3\n" if launcher else
                r"1 rank, alone: 1\n")
    if not re.fullmatch(expected, output):
        sys.exit(f"{launcher} -n 2 {program} printed:\n{output}")


def check_ranks(program, launcher):
    run(launcher, "-n", 2, program)


def check_served(program, launcher):
    """tutti serves the collective of a program that is linked with the drop-in."""
    output = run(launcher, "-n", 2, program, env={**os.environ, "TUTTI_REPORT": "1", "TUTTI_MPI_NATIVE": "off"})
    if "handled=1 passed_on=0" not in output:
        sys.exit(f"tutti serves no call of {program}:\n{output}")


def build_with_cmake(arguments, folder, package, *options, target="all"):
    """Configures and builds the user's programs, quickly rather than well. Returns the build folder."""
    (folder / "project" / "CMakeLists.txt").write_text(CMAKE_LISTS.format(package=package), "utf-8")
    build = pathlib.Path(tempfile.mkdtemp(prefix="build", dir=folder))
    run(arguments.cmake, "-S", folder / "project", "-B", build, "-G", "Ninja",
        "-DCMAKE_BUILD_TYPE=Debug", f"-DCMAKE_CXX_COMPILER={arguments.compiler}", *options)
    run(arguments.cmake, "--build", build, "--target", target)
    return build


def use_find_package(arguments, folder):
    prefix = install(arguments, folder)
    world = None  # depends on no MPI: one is enough for all launchers
    for mpi, launcher, wrapper in arguments.mpi or [(None, None, None)]:
        chosen = [f"-DTUTTI_MPI_{mpi}_CXX={wrapper}"] if mpi else []
        component = "COMPONENTS training mpi" if mpi else "COMPONENTS training"
        build = build_with_cmake(arguments, folder, f"find_package(tutti 0.1 REQUIRED {component})",
                                 f"-DCMAKE_PREFIX_PATH={prefix}", f"-DTUTTI_MPI={mpi or ''}", *chosen,
                                 target="ranks" if world else "all")
        if not world:
            world = build / "world"
            check_alone(build / "alone")
            for page in RECIPES:
                run(arguments.cmake, "--build", build, "--target", page)
                check_recipes(arguments, prefix, build / page)
        check_world(world, launcher)
        if mpi:
            check_ranks(build / "ranks", launcher)


def use_pkg_config(arguments, folder):
    prefix = install(arguments, folder)
    libraries = prefix / arguments.libdir
    project = folder / "project"
    for name, text in SHORT.items():
        (project / f"{name}.cpp").write_text(text, "utf-8")

    def build(program, package, compiler=arguments.compiler, libraries=libraries):
        path = {"PKG_CONFIG_PATH": str(libraries / "pkgconfig"), "PATH": "/usr/bin:/bin"}
        flags = run("pkg-config", "--cflags", "--libs", package, env=path)
        command = f"'{compiler}' -std=c++20 {program}.cpp -o {program}.{package} {flags}"
        run("sh", "-c", f"{command.strip()} '-Wl,-rpath,{libraries}'", cwd=project)
        return project / f"{program}.{package}"

    check_world(build("short", "tutti"))
    if run(build("short_training", "tutti-training")) != "3\n":
        sys.exit("a sampler of 3 samples has another size")
    (project / "plain.cpp").write_text(PLAIN, "utf-8")
    (folder / "tree").symlink_to(prefix)  # pkg-config does not quote a space in the flag of a run path
    for mpi, launcher, wrapper in arguments.mpi:  # the wrapper adds what the MPI needs
        check_ranks(build("short_ranks", f"tutti-mpi-{mpi}", wrapper), launcher)
        if (libraries / "pkgconfig" / "tutti-mpi.pc").exists():  # where there is the drop-in
            check_served(build("plain", "tutti-mpi", wrapper, folder / "tree" / arguments.libdir), launcher)


def use_subdirectory(arguments, folder):
    """Also without JSON, which the README's programs do not need; what does need it fails with the package's name."""
    package = (f'add_subdirectory("{arguments.source}" tutti)\nadd_executable(options options.cpp)\n'
               "target_link_libraries(options PRIVATE tutti::tutti)")
    (folder / "project" / "options.cpp").write_text(OPTIONS, encoding="utf-8")
    build = build_with_cmake(arguments, folder, package, "-DTUTTI_BUILD_JSON=OFF",
                             f"-DTUTTI_WARNINGS_AS_ERRORS={arguments.warnings_as_errors}")
    check_alone(build / "alone")
    if "nlohmann-json" not in run(build / "options"):
        sys.exit("load_gradient_options does not name the package that it lacks")
    if arguments.mpi:
        check_ranks(build / "ranks", arguments.mpi[0][1])


def use_example(arguments, folder):
    prefix = install(arguments, folder)
    examples.check_own_algorithm(arguments, folder, prefix)
    examples.check_own_tests(arguments, folder, prefix)
    examples.check_trainer(folder, prefix, examples.check_digits(arguments, folder, prefix))
    examples.check_conjugate_gradient(arguments, folder, prefix)


def use_trainer(arguments, folder):
    prefix = install(arguments, folder)
    examples.check_all_of_trainer(folder, prefix, examples.build_example(arguments, folder, prefix, "digits"))


def use_c(arguments, folder):
    c_page.check_c(arguments, folder, install(arguments, folder))


def use_fortran(arguments, folder):
    c_page.check_fortran(arguments, folder, install(arguments, folder))


def use_package(arguments, folder):
    package.check_package(arguments, folder, install(arguments, folder))


def use_wrongly(arguments, folder):
    prefix = install(arguments, folder)
    misuse.check_misuse(arguments, folder, prefix)
    misuse.check_without_exceptions(arguments, folder, prefix)


def use_partial(arguments, folder):
    """An error names missing packages, and files that are not built, before anything is installed."""
    build, prefix = folder / "partial", folder / "prefix"
    command = [arguments.cmake, "-S", arguments.source, "-B", folder / "missing", "-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON"]
    words = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    if not all(part in words for part in ("not find: fmt\n", "apt-get install libfmt-dev\n", "dnf install fmt-devel\n")):
        sys.exit(f"{command} does not name the packages of fmt:\n{words}")
    run(arguments.cmake, "-S", arguments.source, "-B", build, "-G", "Ninja", "-DTUTTI_BUILD_TESTS=OFF",
        "-DTUTTI_BUILD_MPI=OFF", f"-DCMAKE_CXX_COMPILER={arguments.compiler}")
    command = [arguments.cmake, "--install", build, "--prefix", prefix]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    words = " ".join(result.stderr.split())
    expected = ("nothing was written", str(build / "libtutti.a"), str(build / "bin" / "tutti"),
                "cmake --build", "-DTUTTI_BUILD_COMMAND=OFF")
    if result.returncode == 0 or not all(part in words for part in expected):
        sys.exit(f"{command} ended with {result.returncode}:\n{result.stderr}")
    if prefix.exists():
        sys.exit(f"{command} wrote {list(prefix.rglob('*'))}")


def check_exports(arguments, library, name):
    """A shared library exports the symbols of the kept list, and no others."""
    kept = arguments.source / "tests" / "consumer" / name
    symbols = run("nm", "-D", "-C", "--defined-only", library).splitlines()
    # Weak ones are inline functions, of which each compiler keeps others.
    found = {" ".join(line.split()[2:]) for line in symbols if line.split()[1] in "TVDBR"}
    wanted = set(kept.read_text(encoding="utf-8").splitlines())
    for name in (line.split(maxsplit=2)[2] for line in symbols if line.split()[1] != "A"):
        if "tutti::v0::" not in name:
            sys.exit(f"{library} exports {name}, which is not tutti's")
    if found != wanted:
        sys.exit(f"{library} and {kept} differ; if that is meant, copy the new list. New:\n" +
                 "\n".join(sorted(found - wanted)) + "\nGone:\n" + "\n".join(sorted(wanted - found)))


def use_shared(arguments, folder):
    arguments.build = folder / "shared"
    run(arguments.cmake, "-S", arguments.source, "-B", arguments.build, "-G", "Ninja",
        "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_COMPILER={arguments.compiler}",
        "-DBUILD_SHARED_LIBS=ON", "-DTUTTI_BUILD_TESTS=OFF",
        f"-DTUTTI_WARNINGS_AS_ERRORS={arguments.warnings_as_errors}")
    run(arguments.cmake, "--build", arguments.build)
    check_exports(arguments, arguments.build / "libtutti.so", "exports.txt")
    check_exports(arguments, arguments.build / "training" / "libtutti_training.so", "exports_training.txt")
    run(install(arguments, folder) / "bin" / "tutti", "list")
    use_find_package(arguments, folder)
    use_pkg_config(arguments, folder)


def main():
    ways = {"find_package": use_find_package, "package": use_package, "pkg_config": use_pkg_config, "misuse": use_wrongly,
            "partial": use_partial,
            "subdirectory": use_subdirectory, "shared": use_shared, "example": use_example, "trainer": use_trainer,
            "c": use_c, "fortran": use_fortran}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=ways)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--libdir", required=True)
    parser.add_argument("--warnings-as-errors", required=True, help="ON or OFF, for tutti's own sources")
    parser.add_argument("--mpi", nargs=3, action="append", default=[], metavar=("NAME", "LAUNCHER", "WRAPPER"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_programs(arguments, folder / "project")
        ways[arguments.way](arguments, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
