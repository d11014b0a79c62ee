#!/usr/bin/env python3
"""Checks the rules of the house: who includes whom, lengths of files, macros, goto, getenv, PMPI_.

Usage: check_layers.py ROOT. Prints a line per offence; the exit status is 1 if there is any.
"""
import pathlib
import re
import sys

# What the files of a folder may include, beside the standard library and their own folder. The
# first folder that matches counts, so the narrower ones stand first. Tests and the command see everything.
RULES = {
    "include/tutti/cereal.hpp": ["include", "cereal"],
    "include/tutti/cereal_archives.hpp": ["include", "cereal"],
    "include/tutti": ["include"],
    "algorithms": ["include"],
    "base": ["include", "nlohmann"],
    "backends/host": ["include"],
    "backends/sim": ["include"],
    "backends/cuda": ["include", "cuda.h", "kernels.fatbin.c", "nccl.h"],
    "backends/mpi": ["include", "mpi.h"],
    "backends/shm": ["include"],
    "backends/tcp": ["include"],
    "backends/hybrid": ["include"],
    "proof": ["include", "algorithms"],
    "topology": ["include", "base", "nlohmann", "hwloc.h"],
    "selector": ["include", "algorithms", "base", "proof", "topology", "nlohmann"],
    "collectives": ["include", "algorithms", "proof", "selector"],
    "objects": ["include", "algorithms", "collectives"],
    "overlap": ["include", "base", "nlohmann"],
    "examples/conjugate_gradient": ["include", "mpi.h"],
    "examples": ["include"],
    "schedules": ["include", "base", "proof", "selector", "nlohmann", "expat.h", "fmt"],
    "runtime": ["include", "algorithms", "backends", "base", "collectives", "selector", "topology",
                "pmix.h"],
    "perf": ["include", "algorithms", "backends", "base", "collectives", "overlap", "proof", "runtime",
             "schedules", "selector", "topology", "CLI", "fmt", "gloo", "mpi.h", "nlohmann"],
}
SEES_EVERYTHING = ["tests", "command"]
# What overlap/ needs beside, to store checkpoints, to name the host, and to share memory on it.
OVERLAP_SYSTEM_HEADERS = {"fcntl.h", "sys/mman.h", "sys/stat.h", "unistd.h"}
SOURCES = {".cpp", ".hpp", ".inl", ".h", ".cu"}
LONGEST_FILE = 400
LONGEST_ALGORITHM = 120
# Operating system and vector headers that only backends, the runtime and perf may use, but for those below.
SYSTEM_HEADERS = re.compile(
    r"(sys/.*|netinet/.*|arpa/.*|net/.*|linux/.*|netdb\.h|ifaddrs\.h|unistd\.h|fcntl\.h|poll\.h|"
    r"pthread\.h|sched\.h|signal\.h|dirent\.h|dlfcn\.h|cpuid\.h|.*intrin\.h|arm_neon\.h)")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
MACRO = re.compile(r"^\s*#\s*define\s+\w+\(")
GOTO = re.compile(r"\bgoto\b")
GETENV = re.compile(r"\b((secure_)?getenv|environ)\b")
ENVIRONMENT_FILE = "runtime/config.cpp"  # the only file that looks at the process's environment
MPI_CALL = re.compile(r"\bMPI_[A-Z][a-z]\w*\s*\(")  # what profilers see; PMPI_ they do not
# memcpy of more than an object, which is slow between some addresses: copy_bytes has the reason.
MEMCPY = re.compile(r"\bmemcpy\s*\((?![^;]*,\s*sizeof[^,*;]*\)\s*;)")
PAYLOAD = ("include/", "backends/", "collectives/", "objects/", "overlap/")
NOT_PAYLOAD = ("include/tutti/spi/copy.hpp", "backends/cuda/")  # the latter is compiled for devices
USING_NAMESPACE = re.compile(r"^\s*using\s+namespace\b")
STANDARD = re.compile(r"[a-z0-9_]+")  # <vector>, <cstdint>: neither a dot nor a slash


def strip_comments(text):
    """Blanks comments and string literals, keeping line numbers and include paths."""
    def blank(match):
        token = match.group(0)
        return re.sub(r"[^\n]", " ", token) if token.startswith("/") else '""'
    lines = []
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
    includes = {number for number, line in enumerate(text.split("\n")) if INCLUDE.match(line)}
    kept = text.split("\n")
    for number, line in enumerate(pattern.sub(blank, text).split("\n")):
        lines.append(kept[number] if number in includes else line)
    return lines


def box_of(path):
    """The folder of RULES that a path relative to the root lies in, or None."""
    for folder in RULES:
        if path == folder or path.startswith(folder + "/"):
            return folder
    return None


def target_of(root, file, quote, name):
    """Where an include leads: a path relative to the root, "std", or the name itself."""
    if name.startswith("tutti/"):
        for folder in ("include", "backends/mpi/include", "backends/cuda/include"):
            if (root / folder / name).is_file():
                return f"{folder}/{name}"
        return name
    if quote == '"':
        for folder in (file.parent, root, root / "algorithms", root / "collectives"):
            candidate = (folder / name).resolve()
            if candidate.is_file() and candidate.is_relative_to(root):
                return candidate.relative_to(root).as_posix()
        return name
    return "std" if STANDARD.fullmatch(name) else name


def may_include(box, target):
    if target == "std" or target.startswith(box + "/"):
        return True
    if box == "runtime" and target.startswith("openssl/"):
        return True
    if box == "overlap" and target in OVERLAP_SYSTEM_HEADERS:
        return True
    if box.startswith(("backends/", "base", "runtime", "perf")) and SYSTEM_HEADERS.fullmatch(target):
        return True
    return any(target == allowed or target.startswith(allowed + "/") for allowed in RULES[box])


def check_file(root, file):
    """Yields the offences of one file."""
    path = file.relative_to(root).as_posix()
    box = box_of(path)
    text = file.read_text(encoding="utf-8")
    length = text.count("\n")
    limit = LONGEST_ALGORITHM if path.startswith("algorithms/") and path.endswith(".cpp") \
        and file.stem not in ("catalog",) else LONGEST_FILE
    if length > limit:
        yield f"{path}: {length} lines, at most {limit} are allowed"
    lines = strip_comments(text)
    if path.startswith(PAYLOAD) and not path.startswith(NOT_PAYLOAD):
        code = "\n".join(lines)
        for match in MEMCPY.finditer(code):
            yield f"{path}:{code.count(chr(10), 0, match.start()) + 1}: memcpy of payload; copy_bytes does it"
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}"
        match = INCLUDE.match(line)
        if match and box:
            target = target_of(root, file, *match.groups())
            if not may_include(box, target):
                yield f"{where}: {box} may not include {match.group(2)}"
        if MACRO.match(line):
            yield f"{where}: a function-like macro"
        if GOTO.search(line):
            yield f"{where}: goto"
        if file.suffix != ".cpp" and USING_NAMESPACE.match(line):
            yield f"{where}: using namespace in a header"
        if box == "backends/mpi" and "/probe/" not in path and MPI_CALL.search(line):
            yield f"{where}: a call by an MPI_ name; the library calls PMPI_ ones"
        if GETENV.search(line) and path != ENVIRONMENT_FILE:
            yield f"{where}: getenv outside of {ENVIRONMENT_FILE}"


def sources(root):
    folders = sorted({name.split("/")[0] for name in RULES}) + SEES_EVERYTHING
    for folder in folders:
        yield from (file for file in sorted((root / folder).rglob("*")) if file.suffix in SOURCES)


def offences_of(root):
    """All offences of the tree, and how many files were read."""
    files = list(sources(root))
    offences = [offence for file in files for offence in check_file(root, file)]
    return offences, len(files)


def main():
    offences, files = offences_of(pathlib.Path(sys.argv[1]).resolve())
    print("\n".join([*offences, f"{files} files, {len(offences)} offences"]))
    return 1 if offences or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
