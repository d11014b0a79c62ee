#!/usr/bin/env python3
"""Tests in C and tests in Fortran call each function of the C interface.

Usage: callers_test.py HEADERS TESTS
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "c"))
from declarations import read_headers

# Files of each language, with its comments and texts.
LANGUAGES = {
    "C": ("*.[ch]", r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"'),
    "Fortran": ("fortran/*.f90", r"'[^'\n]*'|![^\n]*"),
}


def names_called(folder, pattern, ignored):
    """All names before a bracket. Fortran's tests declare no function of tutti themselves."""
    texts = (file.read_text(encoding="utf-8") for file in folder.glob(pattern))
    return {name for text in texts for name in re.findall(r"\b(\w+)\(", re.sub(ignored, "", text, flags=re.S))}


def main():
    functions = read_headers(sys.argv[1]).functions.keys()
    failures = [
        f"no test in {language} calls {name}"
        for language, (pattern, ignored) in LANGUAGES.items()
        for name in sorted(functions - names_called(pathlib.Path(sys.argv[2]), pattern, ignored))
    ]
    print("\n".join(failures) or f"{len(functions)} functions, {len(LANGUAGES)} languages")
    return 1 if failures or not functions else 0


if __name__ == "__main__":
    sys.exit(main())
