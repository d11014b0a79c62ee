#!/usr/bin/env python3
"""Runs tests of the Python package by pytest: run.py PYTHON PACKAGES FILE. Status 77: PYTHON lacks a module."""

import os
import subprocess
import sys


def main() -> int:
    python, packages, file = sys.argv[1:]
    os.environ["PYTHONPATH"] = packages
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    if not os.access(python, os.X_OK) or subprocess.run([python, "-c", "import numpy, pytest"]).returncode != 0:
        print(f"{python} lacks pytest or numpy; tutti_install_test_tools of cmake/setup.sh installs them")
        return 77
    options = ["-q", "-p", "no:cacheprovider", "-p", "tutti._pytest_plugin"]
    return subprocess.run([python, "-m", "pytest", *options, file]).returncode


if __name__ == "__main__":
    sys.exit(main())
