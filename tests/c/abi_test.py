#!/usr/bin/env python3
"""libtutti_c.so exports what the headers declare, and its binary interface has all that abi.txt keeps:
functions with their versions and types, offsets of members, and values of enumerators.

Usage: abi_test.py LIBRARY HEADERS KEPT C-COMPILER
"""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "c"))
from declarations import read_headers


def versions_of(library):
    """The version of each function that the library exports."""
    output = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    symbols = [line.split() for line in output.splitlines()]
    return dict(name.split("@@") for _, kind, name in symbols if kind != "A")


def line_of(function):
    return f"{function.result} {function.name}({function.argument_types()})"


def measured(declared, headers, compiler):
    """Lines that a program prints, which a compiler makes of the headers."""
    prints = [
        f'  printf("{struct}.{member.name} at %zu of %zu bytes: {member.kind}\\n", offsetof({struct}, {member.name}), '
        f"sizeof (({struct}*)0)->{member.name});"
        for struct, members in declared.structs.items()
        for member in members
    ]
    enumerators = [name for numbers in declared.enumerations.values() for name in numbers]
    prints += [f'  printf("{name} = %d\\n", (int){name});' for name in enumerators]
    program = "\n".join(["#include <stdio.h>", "#include <tutti.h>", "int main(void) {", *prints, "}", ""])
    with tempfile.TemporaryDirectory() as folder:
        source, binary = pathlib.Path(folder, "abi.c"), pathlib.Path(folder, "abi")
        source.write_text(program, encoding="utf-8")
        subprocess.run([compiler, "-I", headers, source, "-o", binary], check=True)
        return subprocess.run([binary], check=True, capture_output=True, text=True).stdout.splitlines()


def main():
    library, headers, kept, compiler = sys.argv[1:]
    declared = read_headers(headers)
    versions, functions = versions_of(library), declared.functions
    failures = []
    if versions.keys() != functions.keys():
        failures.append(f"headers and library differ in {sorted(versions.keys() ^ functions.keys())}")
    exported = sorted(functions.keys() & versions.keys())
    found = [f"{versions[name]}: {line_of(functions[name])}" for name in exported]
    found += [line_of(callback) for callback in declared.callbacks.values()]
    found += measured(declared, headers, compiler)
    known = pathlib.Path(kept).read_text(encoding="utf-8").splitlines()
    missing = [line for line in known if line not in found]
    if missing:
        failures.append("programs of earlier versions need:\n  " + "\n  ".join(missing))
    added = [line for line in found if line not in known]
    if added:
        failures.append(f"add to {kept}, which keeps them:\n  " + "\n  ".join(added))
    print("\n".join(failures) or f"{len(found)} lines, {len(functions)} functions")
    return 1 if failures or not functions else 0


if __name__ == "__main__":
    sys.exit(main())
