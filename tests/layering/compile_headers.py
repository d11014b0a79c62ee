#!/usr/bin/env python3
"""Compiles every header given by itself, included twice, with the project's warnings as errors."""
import argparse
import concurrent.futures
import os
import subprocess
import sys

WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]


def compile_alone(header, arguments):
    command = [arguments.compiler, "-std=c++20", "-fsyntax-only", *WARNINGS]
    command += [f"-I{folder}" for folder in arguments.include]
    for folder in filter(None, arguments.system.split(";")):
        command += ["-isystem", folder]
    source = f'#include "{header}"\n#include "{header}"\n'
    result = subprocess.run([*command, "-x", "c++", "-"], input=source, text=True,
                            capture_output=True, check=False)
    return result.returncode, result.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--system", default="", help="folders joined by semicolons")
    parser.add_argument("headers", nargs="+")
    arguments = parser.parse_args()
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda header: compile_alone(header, arguments), arguments.headers)
        for header, (status, text) in zip(arguments.headers, results):
            if status != 0:
                print(f"{header} does not compile alone:\n{text}", file=sys.stderr)
                failures += 1
    print(f"{len(arguments.headers)} headers, {failures} do not compile alone")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
