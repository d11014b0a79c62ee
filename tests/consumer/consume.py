#!/usr/bin/env python3
"""Builds and runs the README's C++ as a user would, in one of five ways:

find_package   from an installed tree that was moved afterwards, plain and per MPI; recipes of docs/ too
pkg_config     likewise, with the .pc files
subdirectory   with tutti's sources inside the user's project
shared         as find_package and pkg_config, from shared libraries, which it builds first
example        as find_package, the programs of examples/, whether they agree, and what `tutti` makes
               of their modules
"""
import argparse
import array
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

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
  target_link_libraries(${{page}} PRIVATE tutti::tutti)
  target_compile_options(${{page}} PRIVATE -Wall -Wextra -Werror)
endforeach()
if(TARGET tutti::mpi)
  add_executable(ranks ranks.cpp)
  target_link_libraries(ranks PRIVATE tutti::mpi)
endif()
"""

# Pages of recipes, and the blocks of C++ that stand before the program which they begin with.
RECIPES = {"recipes": 0, "training": 2}
RECIPE = "// the recipe"  # where a recipe stands in that program


def run(*command, **options):
    """Runs a command. Returns what it printed; ends the test with all of it if it fails."""
    words = [str(word) for word in command]
    result = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(words)}\nfailed with status {result.returncode}:\n{result.stdout}")
    return result.stdout


def blocks_of(page, language):
    """The blocks of a language in a page."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)


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
    shutil.move(place / "first", place / "moved here")
    return place / "moved here"


def check_alone(program):
    output = run(program)
    for name in ("all_reduce ring", "broadcast binomial"):
        if name not in output:
            sys.exit(f"{program} did not print \"{name}\":\n{output}")


def check_world(program, launcher=None):
    output = run(launcher, "-n", 2, program) if launcher else run(program)
    expected = (r"2 ranks on 1 host by PMI.*, over shared memory: 3\n" if launcher else
                r"1 rank, alone: 1\n")
    if not re.fullmatch(expected, output):
        sys.exit(f"{launcher} -n 2 {program} printed:\n{output}")


def check_ranks(program, launcher):
    run(launcher, "-n", 2, program)


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
    world = None  # knows no MPI: one is enough for all launchers
    for mpi, launcher in arguments.mpi or [(None, None)]:
        component = "COMPONENTS mpi" if mpi else ""
        build = build_with_cmake(arguments, folder, f"find_package(tutti 0.1 REQUIRED {component})",
                                 f"-DCMAKE_PREFIX_PATH={prefix}", f"-DTUTTI_MPI={mpi or ''}",
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
    path = {"PKG_CONFIG_PATH": str(libraries / "pkgconfig"), "PATH": "/usr/bin:/bin"}
    project = folder / "project"

    def build(program, package):
        flags = run("pkg-config", "--cflags", "--libs", package, env=path)
        command = f"'{arguments.compiler}' -std=c++20 {program}.cpp -o {program}.{package} {flags}"
        run("sh", "-c", f"{command.strip()} '-Wl,-rpath,{libraries}'", cwd=project)
        return project / f"{program}.{package}"

    check_alone(build("alone", "tutti"))
    check_world(build("world", "tutti"))
    for mpi, launcher in arguments.mpi:
        check_ranks(build("ranks", f"tutti-mpi-{mpi}"), launcher)


def use_subdirectory(arguments, folder):
    package = f'add_subdirectory("{arguments.source}" tutti EXCLUDE_FROM_ALL)'
    build = build_with_cmake(arguments, folder, package,
                             f"-DTUTTI_WARNINGS_AS_ERRORS={arguments.warnings_as_errors}")
    check_alone(build / "alone")
    if arguments.mpi:
        check_ranks(build / "ranks", arguments.mpi[0][1])


def build_example(arguments, folder, prefix, name, *options):
    """Builds a program of examples/ alone, as a user would. Returns the build folder."""
    build = pathlib.Path(tempfile.mkdtemp(prefix=name, dir=folder))
    run(arguments.cmake, "-S", arguments.source / "examples" / name, "-B", build, "-G", "Ninja",
        f"-DCMAKE_CXX_COMPILER={arguments.compiler}", f"-DCMAKE_PREFIX_PATH={prefix}", *options)
    run(arguments.cmake, "--build", build)
    return build


def check_close(what, found, expected, tolerance):
    """Numbers, as many on both sides, that differ by rounding."""
    worst = max((abs(a - b) for a, b in zip(found, expected)), default=math.inf)
    if len(found) != len(expected) or not worst <= tolerance:  # nor is a NaN good
        sys.exit(f"{what}: {len(found)} and {len(expected)} numbers, which differ by {worst}")


def check_own_algorithm(arguments, folder, prefix):
    build = build_example(arguments, folder, prefix, "own_algorithm", "-DCMAKE_BUILD_TYPE=Debug")
    tutti = prefix / "bin" / "tutti"
    load = ("--load", build / "both_ways.so")
    written = folder / "both_ways.json"
    run(tutti, "show", "all_gather", "both_ways", "--ranks", "5", "--format", "json", "--output",
        written, *load)
    expected = {
        (tutti, "run", "-n", "4", build / "own_algorithm"): "both_ways: ",
        (tutti, "run", "-n", "5", build / "from_file", written): "from_file: ",
        (tutti, "list", *load): "a ring both ways at once",
        (tutti, "verify", "--algorithm", "both_ways", *load): "proved",
        (tutti, "sweep", "--ranks", "3", "--collective", "all_gather", "-a", "ring,both_ways,auto",
         "-e", "1K", "-n", "3", *load): "both_ways",
        (tutti, "sweep", "--ranks", "5", "--collective", "all_gather", "-a", "again,auto", "-e", "1K",
         "-n", "3", "--load", f"again={written}"): "again",
    }
    for command, words in expected.items():
        output = run(*command)
        if words not in output:
            sys.exit(f"{command} did not print \"{words}\":\n{output}")


def check_training_page(arguments):
    """docs/training.md shows the two main functions as they are, and they hardly differ in length."""
    page = (arguments.source / "docs" / "training.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```cpp\n(.*?)^```", page, re.S | re.M)
    texts = [(arguments.source / "examples" / "digits" / name).read_text(encoding="utf-8")
             for name in ("serial.cpp", "distributed.cpp")]
    for block, text in zip(shown[:RECIPES["training"]], texts, strict=True):
        if block not in re.sub("^  ", "", text, flags=re.M):
            sys.exit(f"docs/training.md shows what is not in the program:\n{block}")
    if texts[1].count("\n") > texts[0].count("\n") + 10:
        sys.exit("distributed.cpp has more than ten lines more than serial.cpp")


def check_digits(arguments, folder, prefix):
    """Ranks that train together get what one process gets, but for the order of sums. Returns where
    the programs are."""
    check_training_page(arguments)
    build = build_example(arguments, folder, prefix, "digits")
    written = folder / "weights"

    def train(*command):
        output = run(*command, "--epochs", "1", "--weights", written)
        epoch = re.match(r"epoch 1: loss (\S+), accuracy (\S+) \(\d+ of 1000\)\n", output)
        if not epoch:
            sys.exit(f"{command} printed:\n{output}")
        return [float(word) for word in epoch.groups()], array.array("f", written.read_bytes())

    line, weights = train(build / "serial")
    if not (line[1] > 0.9 and len(weights) == 41_802):
        sys.exit(f"digits: loss and accuracy {line}, {len(weights)} weights")
    options = {2: ("--storage", "copies"), 3: ("--storage", "views", "--bucket-bytes", "0")}
    for ranks, more in options.items():
        other, others = train(prefix / "bin" / "tutti", "run", "-n", ranks, build / "distributed",
                              *more)
        check_close(f"digits on {ranks} ranks, weights", others, weights, 1e-2)
        check_close(f"digits on {ranks} ranks, loss and accuracy", other, line, 2.1e-3)
    return build


def check_trainer(folder, prefix, build):
    """Each strategy and codec learns; a run that was killed goes on to the same bits."""
    tutti = prefix / "bin" / "tutti"
    written, checkpoint, trace = folder / "trained", folder / "checkpoint", folder / "trace.json"
    # Little is learned in so short a time, by some more than by others.
    short = ("--train", "1280", "--test", "200", "--epochs", "3", "--weights", written)

    def train(ranks, *options):
        output = run(tutti, "run", "-n", ranks, build / "trainer", *short, *options)
        epoch = re.search(r"epoch 3: loss (\S+), accuracy (\S+) ", output)
        if not epoch:
            sys.exit(f"trainer {options} printed:\n{output}")
        return float(epoch[2]), written.read_bytes()

    usual = train(2)
    if usual[0] < 0.85:
        sys.exit(f"trainer: accuracy {usual[0]}")
    # All of these reduce the same numbers, and two ranks' sums have one order only.
    for strategy in ("per-tensor", "flat", "negotiated", "after", "sharded"):
        if train(2, "--strategy", strategy, "--storage", "views") != usual:
            sys.exit(f"trainer: strategy {strategy} trains other weights than buckets do")
    if train(2, "--verify-every", "3", "--resync-every", "5", "--check-finite", "on", "--trace",
             trace) != usual:
        sys.exit("trainer: checks change weights")
    if not json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]:
        sys.exit("trainer: there is nothing in the trace")
    slow = ("--rate", "0.02", "--compression-after", "20", "--compression")
    for options, margin in {("--model", "cnn"): -0.05, ("--accumulate", "3"): 0.05,
                            ("--strategy", "local-sgd", "--period", "4"): 0.1,
                            ("--strategy", "diloco", "--period", "4"): 0.1,
                            ("--uneven", "100", "--clip", "5"): 0.1,
                            (*slow, "bf16"): 0.15, (*slow, "int8"): 0.15,
                            (*slow, "one_bit:128"): 0.25, (*slow, "power_sgd:4"): 0.15,
                            (*slow, "top_k:0.05"): 0.15}.items():
        accuracy, _ = train(3, *options)
        if accuracy < usual[0] - margin:
            sys.exit(f"trainer {options}: accuracy {accuracy}, usually {usual[0]}")

    # 20 steps in an epoch: killed in mid-epoch, before the first checkpoint, and in the last step.
    for ranks, options in ((2, ()), (3, ("--strategy", "sharded")),
                           (2, ("--strategy", "diloco", "--save-every", "4", "--period", "4"))):
        saving = ("--save-every", "7", *options, "--checkpoint", checkpoint)
        checkpoint.unlink(missing_ok=True)
        expected = train(ranks, *saving)
        for step in (3, 33, 60):
            checkpoint.unlink(missing_ok=True)
            killed = subprocess.run(
                [str(word) for word in (tutti, "run", "-n", ranks, build / "trainer", *short,
                                        *saving, "--stop-at", step, "--stop-rank", ranks - 1)],
                capture_output=True, text=True, timeout=60)
            if killed.returncode == 0 or (step > 7) != checkpoint.exists():
                sys.exit(f"trainer {options}, killed at step {step}:\n{killed.stderr}")
            if train(ranks, *saving) != expected:
                sys.exit(f"trainer {options}: killed at step {step} it goes on to other weights")
    # What two ranks saved one rank and four load.
    for ranks, step in ((1, 60), (4, 80)):
        output = run(tutti, "run", "-n", ranks, build / "trainer", *short, "--epochs", "4",
                     "--strategy", "diloco", "--checkpoint", checkpoint)
        if f"going on after step {step}" not in output or ("epoch 4" in output) != (ranks == 1):
            sys.exit(f"trainer on {ranks} ranks goes on with:\n{output}")


def check_conjugate_gradient(arguments, folder, prefix):
    """Any number of ranks takes the same way to the solution, over tutti and over MPI."""
    # The example looks for one MPI of its own; it is that of the launcher here.
    mpi, launcher = arguments.mpi[0] if arguments.mpi else (None, None)
    wrapper = shutil.which(f"mpicxx.{mpi}") if mpi else None
    choice = (f"-DMPI_CXX_COMPILER={wrapper}" if wrapper else "-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON")
    build = build_example(arguments, folder, prefix, "conjugate_gradient", choice)
    program = build / "conjugate_gradient"
    commands = [(program,)] + [(prefix / "bin" / "tutti", "run", "-n", n, program) for n in (2, 4)]
    if wrapper:
        commands += [(launcher, "-n", n, build / "conjugate_gradient_mpi") for n in (1, 2, 4)]
    expected = None
    for command in commands:
        output = run(*command, 64)
        words = re.search(r"(\d+) iterations, residual (\S+), energy (\S+)\n", output)
        if not words:
            sys.exit(f"{command} printed:\n{output}")
        iterations, *numbers = (float(word) for word in words.groups())
        expected = expected or (iterations, *numbers)
        check_close(f"{command}, iterations", [iterations], expected[:1], 0)
        check_close(f"{command}, residual and energy",
                    [a / b for a, b in zip(numbers, expected[1:])], [1, 1], 1e-10)


def use_example(arguments, folder):
    prefix = install(arguments, folder)
    check_own_algorithm(arguments, folder, prefix)
    check_trainer(folder, prefix, check_digits(arguments, folder, prefix))
    check_conjugate_gradient(arguments, folder, prefix)


def check_exports(arguments, library):
    """What a shared library exports is what the kept list says: no more, and nothing of others."""
    kept = arguments.source / "tests" / "consumer" / "exports.txt"
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
    check_exports(arguments, arguments.build / "libtutti.so")
    run(install(arguments, folder) / "bin" / "tutti", "list")
    use_find_package(arguments, folder)
    use_pkg_config(arguments, folder)


def main():
    ways = {"find_package": use_find_package, "pkg_config": use_pkg_config,
            "subdirectory": use_subdirectory, "shared": use_shared, "example": use_example}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=ways)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--libdir", required=True)
    parser.add_argument("--warnings-as-errors", required=True, help="ON or OFF, for tutti's own sources")
    parser.add_argument("--mpi", nargs=2, action="append", default=[],
                        metavar=("NAME", "LAUNCHER"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_programs(arguments, folder / "project")
        ways[arguments.way](arguments, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
