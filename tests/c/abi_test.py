#!/usr/bin/env python3
"""libtutti_c.so exports what the headers declare, and its binary interface has all that abi.txt keeps:
functions with their versions and types, offsets of members, and values of enumerators.

Usage: abi_test.py LIBRARY HEADERS KEPT C-COMPILER
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def read_headers(folder):
    texts = [file.read_text(encoding="utf-8") for file in sorted(pathlib.Path(folder).rglob("*.h"))]
    return re.sub(r"//[^\n]*|/\*.*?\*/|^\s*#[^\n]*", "", "\n".join(texts), flags=re.S | re.M)


def versions_of(library):
    """The version of each function that the library exports."""
    output = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    symbols = [line.split() for line in output.splitlines()]
    return dict(name.split("@@") for _, kind, name in symbols if kind != "A")


def split_at_commas(text):
    """The parts of a text between commas that are in no brackets."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", text)]


def type_of(declaration):
    """The type of an argument or a member, without its name."""
    text = " ".join(declaration.split())
    function = re.fullmatch(r"(.*?) ?\(\* ?\w+\)\((.*)\)", text)
    if function:
        return f"{function[1]} (*)({', '.join(type_of(part) for part in split_at_commas(function[2]))})"
    if text == "void":
        return text
    return re.sub(r"\s*\b\w+$", "", text).replace(" *", "*")


def name_of(member):
    function = re.search(r"\(\* ?(\w+)\)", member)
    return function[1] if function else re.search(r"(\w+)\s*$", member)[1]


def functions_of(code):
    """A line for each function, by its name."""
    pattern = r"TUTTI_C_API\s+([\w\s*]+?)\b(tutti_\w+)\(((?:[^()]|\([^()]*\))*)\);"
    lines = {}
    for result, name, arguments in re.findall(pattern, code):
        types = ", ".join(type_of(argument) for argument in split_at_commas(arguments))
        lines[name] = f"{' '.join(result.split()).replace(' *', '*')} {name}({types})"
    return lines


def callbacks_of(code):
    """A line for each type of functions of a program."""
    return [
        f"{result} {name}({', '.join(type_of(part) for part in split_at_commas(arguments))})"
        for result, name, arguments in re.findall(r"typedef (\w+) \(\*(\w+)\)\(([^)]*)\);", code)
    ]


def members_of(code):
    """Structs, members and the types of these."""
    found = []
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", code, flags=re.S):
        for member in filter(None, (part.strip() for part in body.split(";"))):
            found.append((name, name_of(member), type_of(member)))
    return found


def enumerators_of(code):
    bodies = re.findall(r"\benum (?:\w+ )?\{(.*?)\}", code, flags=re.S)
    return [name for body in bodies for name in re.findall(r"\bTUTTI_\w+", body)]


def measured(code, headers, compiler):
    """Lines that a program prints, which a compiler makes of the headers."""
    prints = [
        f'  printf("{struct}.{member} at %zu of %zu bytes: {kind}\\n", offsetof({struct}, {member}), '
        f"sizeof (({struct}*)0)->{member});"
        for struct, member, kind in members_of(code)
    ]
    prints += [f'  printf("{name} = %d\\n", (int){name});' for name in enumerators_of(code)]
    program = "\n".join(["#include <stdio.h>", "#include <tutti.h>", "int main(void) {", *prints, "}", ""])
    with tempfile.TemporaryDirectory() as folder:
        source, binary = pathlib.Path(folder, "abi.c"), pathlib.Path(folder, "abi")
        source.write_text(program, encoding="utf-8")
        subprocess.run([compiler, "-I", headers, source, "-o", binary], check=True)
        return subprocess.run([binary], check=True, capture_output=True, text=True).stdout.splitlines()


def main():
    library, headers, kept, compiler = sys.argv[1:]
    code = read_headers(headers)
    versions, functions = versions_of(library), functions_of(code)
    failures = []
    if versions.keys() != functions.keys():
        failures.append(f"headers and library differ in {sorted(versions.keys() ^ functions.keys())}")
    found = [f"{versions[name]}: {line}" for name, line in sorted(functions.items()) if name in versions]
    found += callbacks_of(code) + measured(code, headers, compiler)
    known = pathlib.Path(kept).read_text(encoding="utf-8").splitlines()
    missing = [line for line in known if line not in found]
    if missing:
        failures.append("programs of earlier versions need:\n  " + "\n  ".join(missing))
    added = [line for line in found if line not in known]
    if added:
        failures.append(f"add to {kept}, which keeps them for ever:\n  " + "\n  ".join(added))
    print("\n".join(failures) or f"{len(found)} lines, {len(functions)} functions")
    return 1 if failures or not functions else 0


if __name__ == "__main__":
    sys.exit(main())
