"""What an installed tutti has for other builds: targets, components and .pc files, without folders of the build machine."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from tools import blocks_of, run

PARTS = ("testing", "training", "schedules", "c")
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES {language})
find_package(tutti 0.1 REQUIRED {components})
get_directory_property(targets IMPORTED_TARGETS)
message(STATUS "targets: ${{targets}}")
file(WRITE program.cpp "int main() {{}}")
if("{language}" STREQUAL "CXX")
  add_executable(program program.cpp)
  target_link_libraries(program PRIVATE tutti::tutti)
endif()
"""
# They print the version.
PROGRAMS = {"program.c": """#include <stdio.h>
#include <tutti.h>
int main(void) {
  printf("%s\\n", tutti_version());
  return 0;
}
""", "program.cpp": """#include <cstdio>
#include <tutti/tutti.hpp>
int main() {
  tutti::init();
  std::printf("%d.%d.%d\\n", tutti::kVersionMajor, tutti::kVersionMinor, tutti::kVersionPatch);
}
""", "ranks.cpp": """#include <cstdio>
#include <tutti/mpi.hpp>
int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  tutti::mpi::init(MPI_COMM_WORLD).barrier();
  MPI_Finalize();
  std::printf("%d.%d.%d\\n", tutti::kVersionMajor, tutti::kVersionMinor, tutti::kVersionPatch);
}
"""}


def configure(arguments, folder, prefix, components="", language="CXX", options=(), **variables):
    """Configures a project that finds tutti. Returns its build folder, the status, and the output on one line."""
    project = pathlib.Path(tempfile.mkdtemp(prefix="finds", dir=folder))
    (project / "CMakeLists.txt").write_text(PROJECT.format(components=components, language=language), "utf-8")
    command = [arguments.cmake, "-S", project, "-B", project / "build", "-G", "Ninja", f"-Dtutti_ROOT={prefix}", *options]
    if language == "CXX":
        command.append(f"-DCMAKE_CXX_COMPILER={arguments.compiler}")
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variables})
    return project / "build", done.returncode, " ".join((done.stdout + done.stderr).split())


def check_no_folders(arguments, prefix):
    """No file that other builds read has a folder of this machine, or a library without its package."""
    libraries = prefix / arguments.libdir
    for file in [*libraries.glob("cmake/tutti/*"), *libraries.glob("pkgconfig/*.pc")]:
        text = re.sub(r"(?m)^ *#.*|/usr/bin/env", "", file.read_text(encoding="utf-8"))
        for folder in ("/usr/lib", "/usr/include", str(arguments.source), str(arguments.build)):
            if folder in text:
                sys.exit(f"{file} has {folder}")
        for word in re.findall(r"-l(?:hwloc|ssl|crypto|expat)\b|LINK_ONLY:(?:hwloc|ssl)", text):
            sys.exit(f"{file} has {word}, which the linker may not find")


def check_components(arguments, folder, prefix):
    """Each target is there without a component; a component that is missing is named, with the reason."""
    _, status, output = configure(arguments, folder, prefix)
    parts = [*PARTS, "tutti", *(["mpi"] if arguments.mpi else [])]
    for part in parts:
        if status != 0 or f"tutti::{part}" not in output:
            sys.exit(f"find_package(tutti) does not make tutti::{part}:\n{output}")
    _, status, output = configure(arguments, folder, prefix, "COMPONENTS c testing training schedules")
    if status != 0:
        sys.exit(f"the components are not found:\n{output}")
    _, status, output = configure(arguments, folder, prefix, "COMPONENTS c", "C", ["-DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON"])
    if status != 0 or "tutti::c" not in output:
        sys.exit(f"a project in C needs more than tutti::c:\n{output}")
    reasons = {"nothing": "only: c, cuda, mpi, schedules, testing, training"}
    if not list(prefix.glob(f"{arguments.libdir}/libtutti_cuda.*")):
        reasons["cuda"] = "built without CUDA"
    if arguments.mpi:
        reasons["mpi"] = "tutti::mpi is built for"
    for component, reason in reasons.items():
        hides = [f"-DTUTTI_MPI_{mpi}_CXX=OFF" for mpi, _, _ in arguments.mpi]
        _, status, output = configure(arguments, folder, prefix, f"COMPONENTS {component}", options=hides)
        if status == 0 or reason not in output:
            sys.exit(f"the component {component} is missing, which is not said:\n{output}")


def check_elsewhere(arguments, folder, prefix):
    """Where hwloc lies outside the linker's folders, CMake and pkg-config find it."""
    elsewhere = folder / "elsewhere"
    for name in ("include", "lib/pkgconfig"):
        (elsewhere / name).mkdir(parents=True)
    (elsewhere / "include" / "hwloc.h").touch()
    (elsewhere / "lib" / "libhwloc.so").touch()
    for name in ("hwloc", "libssl", "libcrypto"):
        (elsewhere / "lib" / "pkgconfig" / f"{name}.pc").write_text(
            f"Name: {name}\nDescription: elsewhere\nVersion: 3\nLibs: -L{elsewhere}/lib -l{name.removeprefix('lib')}\n"
            f"libdir={elsewhere}/lib\nincludedir={elsewhere}/include\n", encoding="utf-8")
    targets = (prefix / arguments.libdir / "cmake/tutti/tutti_targets.cmake").read_text(encoding="utf-8")
    if not (prefix / arguments.libdir / "libtutti.a").exists() or "tutti::hwloc" not in targets:
        return  # a shared library has found it
    for options, variables in (((f"-DCMAKE_PREFIX_PATH={elsewhere}",), {}),
                               ((), {"PKG_CONFIG_PATH": str(elsewhere / "lib" / "pkgconfig")})):
        build, status, output = configure(arguments, folder, prefix, options=options, **variables)
        if status != 0 or f"{elsewhere}/lib/libhwloc.so" not in (build / "build.ninja").read_text(encoding="utf-8"):
            sys.exit(f"hwloc in {elsewhere} is not linked, with {options} {variables}:\n{output}")
    path = f"{prefix / arguments.libdir / 'pkgconfig'}:{elsewhere / 'lib' / 'pkgconfig'}"
    flags = run("pkg-config", "--libs", "tutti", env={"PKG_CONFIG_PATH": path, "PATH": "/usr/bin:/bin"})
    if f"-L{elsewhere}/lib" not in flags:
        sys.exit(f"pkg-config --libs tutti does not look elsewhere: {flags}")


def check_page(arguments, folder, prefix):
    """The commands of docs/install.md for pkg-config, in C and in C++."""
    (folder / "tree").symlink_to(prefix)  # a path without spaces, which commands of a shell do not quote
    libraries = folder / "tree" / arguments.libdir
    environment = {**os.environ, "PKG_CONFIG_PATH": str(libraries / "pkgconfig"), "LD_LIBRARY_PATH": str(libraries)}
    for name, text in PROGRAMS.items():
        (folder / name).write_text(text, encoding="utf-8")
    page = blocks_of(arguments.source / "docs" / "install.md", "sh")
    commands = next(block for block in page if "pkg-config" in block).splitlines()
    mpis = {mpi for mpi, _, _ in arguments.mpi}
    for command in commands:
        asked = re.search(r"tutti-mpi-(\w+)", command)
        if asked and asked[1] not in mpis:
            continue
        run("sh", "-c", command, cwd=folder, env=environment)
        output = run(folder / re.search(r"-o (\w+)", command)[1], env=environment).strip()
        if output != run("pkg-config", "--modversion", "tutti", env=environment).strip():
            sys.exit(f"{command}\nmakes a program that prints: {output}")


def check_package(arguments, folder, prefix):
    check_no_folders(arguments, prefix)
    check_components(arguments, folder, prefix)
    check_elsewhere(arguments, folder, prefix)
    check_page(arguments, folder, prefix)
