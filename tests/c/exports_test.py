#!/usr/bin/env python3
"""libtutti_c.so exports what the headers declare, with the versions of exports.txt, and nothing else.

Usage: exports_test.py LIBRARY HEADERS EXPORTS
"""
import pathlib
import re
import subprocess
import sys


def exported(library):
    """Names with versions, such as "tutti_init TUTTI_C_1"."""
    lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    symbols = [line.split() for line in lines]
    return sorted(name.replace("@@", " ") for _, kind, name in symbols if kind != "A")


def declared(folder):
    texts = (file.read_text(encoding="utf-8") for file in sorted(pathlib.Path(folder).rglob("*.h")))
    return sorted(name for text in texts for name in re.findall(r"TUTTI_C_API[^;(]*?\b(tutti_\w+)\(", text))


def main():
    library, folder, kept = sys.argv[1:]
    found = exported(library)
    failures = []
    names = [symbol.split()[0] for symbol in found]
    if names != declared(folder):
        failures.append(f"headers and library differ in {sorted(set(names) ^ set(declared(folder)))}")
    missing = sorted(set(pathlib.Path(kept).read_text(encoding="utf-8").split("\n")) - set(found) - {""})
    if missing:
        failures.append(f"programs of earlier versions need {missing}")
    added = sorted(set(found) - set(pathlib.Path(kept).read_text(encoding="utf-8").split("\n")))
    if added:
        failures.append(f"add to {kept}, which keeps them for ever: {added}")
    print("\n".join(failures) or f"{len(found)} functions")
    return 1 if failures or not found else 0


if __name__ == "__main__":
    sys.exit(main())
