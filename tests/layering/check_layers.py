#!/usr/bin/env python3
"""Checks the rules of the house: includes, lengths of files and classes, macros, goto, getenv, PMPI_, threads, locales,
exceptions in public headers, switches over the enumerations of a call, how comments begin, and folders of tests.

The table "The house" in docs/ARCHITECTURE.md says which folder may include what.

Usage: check_layers.py ROOT. Prints a line per offence; the exit status is 1 if there is any.
"""
import fnmatch
import pathlib
import re
import sys

import class_sizes

# The table of the house: folders and files in the first column, what they may include in the last.
TABLE = "docs/ARCHITECTURE.md"
HEADING = "## The house"
ALL = "everything"
SYSTEM = "system headers"
SOURCES = {".cpp", ".hpp", ".inl", ".h", ".cu"}
LONGEST_FILE = 400
LONGEST_ALGORITHM = 120
LONGEST_CLASS = 400  # its body and all its member functions
# Operating system and vector headers: "system headers" in the table.
SYSTEM_HEADERS = re.compile(
    r"(sys/.*|netinet/.*|arpa/.*|net/.*|linux/.*|netdb\.h|ifaddrs\.h|unistd\.h|fcntl\.h|poll\.h|"
    r"pthread\.h|sched\.h|signal\.h|dirent\.h|dlfcn\.h|execinfo\.h|cpuid\.h|.*intrin\.h|arm_neon\.h)")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
MACRO = re.compile(r"^\s*#\s*define\s+\w+\(")
GOTO = re.compile(r"\bgoto\b")
GETENV = re.compile(r"\b((secure_)?getenv|environ)\b")
ENVIRONMENT_FILE = "runtime/launch/config.cpp"  # the only file that looks at the process's environment
MPI_CALL = re.compile(r"\bMPI_[A-Z][a-z]\w*\s*\(")  # what profilers see; PMPI_ they do not
# memcpy of more than an object, which is slow between some addresses: copy_bytes has the reason.
MEMCPY = re.compile(r"\bmemcpy\s*\((?![^;]*,\s*sizeof[^,*;]*\)\s*;)")
PAYLOAD = ("include/", "backends/", "collectives/", "objects/", "overlap/", "training/")
NOT_PAYLOAD = ("include/tutti/spi/copy.hpp", "backends/cuda/")  # the latter is compiled for devices
PUBLIC = re.compile(r"(^|/)include/tutti/")
EXCEPTION = re.compile(r"\b(try|catch|throw)\b")  # programs may be compiled with -fno-exceptions
USING_NAMESPACE = re.compile(r"^\s*using\s+namespace\b")
# Their texts and numbers depend on the locale of the program; base/number_text.hpp has others.
LOCALE = re.compile(r"\b([io]?stringstream|sto(f|d|ld)|strto(f|d|ld)|atof|setprecision|to(lower|upper))\b")
PRINTED_FRACTION = re.compile(r"printf\([^;]*%[-+ #0]*[0-9.*]*[aefgAEFG]")
THREAD = re.compile(r"\bstd::(thread\s*\{|jthread\b)|\bpthread_create\b")
THREAD_FILE = "base/service_thread.cpp"  # whose functions throw an Error that names the limits of threads
NOT_LIBRARY = ("perf/", "command/", "examples/", "tests/", "python/", "backends/mpi/probe/")
# With a default, the compiler does not name the switches that a new enumerator needs.
ENUMERATIONS = "include/tutti/enumerators.hpp"
ENUMERATION = re.compile(r"enum class (Collective|Datatype|OperatorKind)\b[^{]*\{([^}]*)\}")
SWITCH = re.compile(r"\bswitch\s*\([^{;]*\)\s*\{")
CASE = re.compile(r"\bcase\s+((?:\w+::)*)(\w+)\s*:(?!:)")
DEFAULT = re.compile(r"\bdefault\s*:")
# A sentence of a comment has its subject first.
CLAUSE = re.compile(r"(^|\s)(//[/!]?|/\*\*)<?\s+(What|Who|Whose|Of|Likewise)\b")
OTHER_TESTS = ("determinism", "__pycache__")  # beside rooms, whose names the other folders of tests have
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


def enumerators_of(root):
    """The names by which cases name the enumerators: with their enumeration, without it, and those of C."""
    path = root / ENUMERATIONS
    code = "\n".join(strip_comments(path.read_text(encoding="utf-8"))) if path.is_file() else ""
    return {spelling for enumeration, body in ENUMERATION.findall(code) for name in re.findall(r"\w+", body)
            for spelling in (f"{enumeration}::{name}", name, f"TUTTI_{name.upper()}")}


def check_switches(path, code, enumerators):
    """Yields the switches over enumerations of a call that have a default."""
    for match in reversed(list(SWITCH.finditer(code))):  # inner ones first, which are then cut out of the outer ones
        end = class_sizes.end_of_block(code, match.end() - 1)
        body = code[match.end():end]
        cases = {"::".join([*scope.split("::")[-2:-1], name]) for scope, name in CASE.findall(body)}
        if DEFAULT.search(body) and cases & enumerators:
            line = code.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: a default among enumerators of {ENUMERATIONS}; name the others"
        code = code[:match.end()] + code[end:]


class House:
    """The table of the house, and the enumerators of a call."""

    def __init__(self, root):
        text = (root / TABLE).read_text(encoding="utf-8").partition(HEADING)[2]
        self.enumerators = enumerators_of(root)
        self.rules = {}
        for line in text.split("\n\n## ")[0].split("\n"):
            cells = [cell.strip() for cell in line.strip("| ").split("|")]
            if not line.startswith("| `") or len(cells) != 3:
                continue
            allowed = [name.rstrip("/") for name in re.findall(r"`([^`]+)`", cells[2])]
            box = re.match(r"`([^`]+)`", cells[0]).group(1).rstrip("/")
            self.rules[box] = allowed + [word for word in (ALL, SYSTEM) if word in cells[2]]
        # A file of its own row, then the innermost folder.
        self.boxes = sorted(self.rules, key=lambda box: (not box.endswith(".hpp"), -len(box)))

    def box_of(self, path):
        """The row that a path relative to the root belongs to, or None."""
        for box in self.boxes:
            if fnmatch.fnmatch(path, box) or path.startswith(box + "/"):
                return box
        return None

    def may_include(self, box, target):
        allowed = self.rules[box]
        if target == "std" or ALL in allowed or target.startswith(box + "/"):
            return True
        if SYSTEM in allowed and SYSTEM_HEADERS.fullmatch(target):
            return True
        return any(target == name or target.startswith(name + "/") for name in allowed)


def target_of(root, file, quote, name):
    """The target of an include: a path relative to the root, "std", or the name itself."""
    if name.startswith("tutti/"):
        for folder in ("include", "backends/mpi/include", "backends/cuda/include"):
            if (root / folder / name).is_file():
                return f"{folder}/{name}"
        return name
    if quote == '"':
        for folder in (file.parent, root, root / "algorithms"):
            candidate = (folder / name).resolve()
            if candidate.is_file() and candidate.is_relative_to(root):
                return candidate.relative_to(root).as_posix()
        return name
    return "std" if STANDARD.fullmatch(name) else name


def check_file(root, house, file):
    """Yields the offences of one file."""
    path = file.relative_to(root).as_posix()
    box = house.box_of(path)
    text = file.read_text(encoding="utf-8")
    length = text.count("\n")
    limit = LONGEST_ALGORITHM if path.startswith("algorithms/") and path.endswith(".cpp") \
        and file.stem not in ("catalog",) else LONGEST_FILE
    if length > limit:
        yield f"{path}: {length} lines, at most {limit} are allowed"
    if box is None:
        yield f"{path}: no row of {TABLE} has its folder"
    for number, line in enumerate(text.split("\n"), 1):
        if CLAUSE.search(line):
            yield f"{path}:{number}: a comment begins with a clause; begin with its subject"
    lines = strip_comments(text)
    is_library = not path.startswith(NOT_LIBRARY)
    if is_library:
        for match in PRINTED_FRACTION.finditer(text):
            yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: a fraction is printed in the program's locale"
    code = "\n".join(lines)
    yield from check_switches(path, code, house.enumerators)
    if path.startswith(PAYLOAD) and not path.startswith(NOT_PAYLOAD):
        for match in MEMCPY.finditer(code):
            yield f"{path}:{code.count(chr(10), 0, match.start()) + 1}: memcpy of payload; copy_bytes does it"
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}"
        match = INCLUDE.match(line)
        if match and box:
            target = target_of(root, file, *match.groups())
            if not house.may_include(box, target):
                yield f"{where}: {box} may not include {match.group(2)}"
        if MACRO.match(line):
            yield f"{where}: a function-like macro"
        if GOTO.search(line):
            yield f"{where}: goto"
        if PUBLIC.search(path) and EXCEPTION.search(line):
            yield f"{where}: an exception in a public header; functions of raise.hpp do it"
        if file.suffix != ".cpp" and USING_NAMESPACE.match(line):
            yield f"{where}: using namespace in a header"
        if box == "backends/mpi" and "/probe/" not in path and "/families/" not in path and MPI_CALL.search(line):
            yield f"{where}: a call by an MPI_ name; the library calls PMPI_ ones"
        if is_library and LOCALE.search(line):
            yield f"{where}: it depends on the program's locale; base/number_text.hpp has others"
        if is_library and THREAD.search(line) and path != THREAD_FILE:
            yield f"{where}: a thread; start_thread and start_service_thread make them"
        if GETENV.search(line) and path != ENVIRONMENT_FILE:
            yield f"{where}: getenv outside of {ENVIRONMENT_FILE}"


def check_classes(root, files):
    """Yields the classes of the product that are too long."""
    texts = ((file.parent.relative_to(root).as_posix(),
              "\n".join(strip_comments(file.read_text(encoding="utf-8"))))
             for file in files if not file.is_relative_to(root / "tests"))
    for (folder, name), lines in sorted(class_sizes.class_sizes(texts).items()):
        if lines > LONGEST_CLASS:
            yield f"{folder}: class {name} has {lines} lines, at most {LONGEST_CLASS} are allowed"


def check_mirror(root):
    """Yields the folders of tests that have no room's name."""
    for half in ("collectives", "runtime"):
        for folder in sorted((root / "tests" / half).glob("*")):
            if folder.is_dir() and folder.name not in OTHER_TESTS and not (root / half / folder.name).is_dir():
                yield f"tests/{half}/{folder.name}: there is no {half}/{folder.name}"


def sources(root, house):
    for folder in sorted({box.split("/")[0] for box in house.rules}):
        yield from (file for file in sorted((root / folder).rglob("*")) if file.suffix in SOURCES)


def offences_of(root):
    """All offences of the tree, and how many files were read."""
    house = House(root)
    files = list(sources(root, house))
    offences = [offence for file in files for offence in check_file(root, house, file)]
    return [*offences, *check_classes(root, files), *check_mirror(root)], len(files)


def main():
    offences, files = offences_of(pathlib.Path(sys.argv[1]).resolve())
    print("\n".join([*offences, f"{files} files, {len(offences)} offences"]))
    return 1 if offences or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
