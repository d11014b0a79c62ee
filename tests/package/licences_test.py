#!/usr/bin/env python3
"""Checks the licences of the tree and of what it compiles: licences_test.py ROOT

Each tracked file has an annotation in REUSE.toml, as `reuse lint` demands, whose licence has its text in LICENSES/. Files of
other authors have one of their own. NOTICE names each package whose code compiled files contain.
"""
import pathlib
import re
import subprocess
import sys
import tomllib
import unittest

ROOT = pathlib.Path(sys.argv.pop()).resolve()
ANNOTATIONS = tomllib.loads((ROOT / "REUSE.toml").read_text(encoding="utf-8"))["annotations"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TEXTS = ("LICENSE", "NOTICE", "LICENSES/", "REUSE.toml")  # they name licences of others, or are one
FOREIGN = re.compile(r"copyright\s+(\(c\)|©|\d{4})|SPDX-(License-Identifier|FileCopyrightText):", re.I)
# How NOTICE calls the packages of CMake that compiled files contain.
NAMES = {"nlohmann_json": "JSON for Modern C++", "fmt": "fmt", "CLI11": "CLI11", "EXPAT": "Expat", "OpenSSL": "OpenSSL"}


def tracked_files():
    """The files of the repository; of an unpacked archive, all that are not built."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=False)
    names = listed.stdout.decode().split("\0")[:-1]
    if listed.returncode != 0 or not names:
        names = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file()]
    return [name for name in names if not name.startswith(("build/", ".git/")) and (ROOT / name).is_file()]


def pattern_of(glob):
    """REUSE.toml's globs: `*` stays in a folder, `**` does not."""
    parts = re.split(r"(\*\*|\*)", glob)
    return re.compile("".join({"**": ".*", "*": "[^/]*"}.get(part, re.escape(part)) for part in parts))


def annotation_of(name):
    """The last annotation whose path matches, which is the one that counts; None without one."""
    found = None
    for annotation in ANNOTATIONS:
        paths = annotation["path"]
        for glob in [paths] if isinstance(paths, str) else paths:
            if pattern_of(glob).fullmatch(name):
                found = annotation
    return found


class Licences(unittest.TestCase):
    def test_each_file_has_one(self):
        files = tracked_files()
        self.assertGreater(len(files), 1000)
        for name in files:
            annotation = annotation_of(name)
            self.assertIsNotNone(annotation, f"{name} has no annotation in REUSE.toml")
            self.assertTrue(annotation["SPDX-FileCopyrightText"])

    def test_each_has_its_text(self):
        used = {annotation["SPDX-License-Identifier"] for annotation in ANNOTATIONS}
        self.assertEqual({path.stem for path in (ROOT / "LICENSES").iterdir()}, used)
        own = PROJECT["license"]
        self.assertEqual((ROOT / "LICENSE").read_text(), (ROOT / "LICENSES" / f"{own}.txt").read_text())

    def test_files_of_others_are_annotated(self):
        for name in tracked_files():
            if name.startswith(TEXTS) or annotation_of(name) is not ANNOTATIONS[0]:
                continue
            text = (ROOT / name).read_bytes().decode("utf-8", "replace")
            self.assertIsNone(FOREIGN.search(text), f"{name} names a copyright: REUSE.toml lacks its annotation")

    def test_the_notice_has_each_package(self):
        entries = re.findall(r"^(\S.*)\n  home ", (ROOT / "NOTICE").read_text(encoding="utf-8"), re.M)
        scripts = [ROOT / "CMakeLists.txt", *ROOT.glob("cmake/*.cmake"), *ROOT.glob("*/CMakeLists.txt")]
        lines = "\n".join(path.read_text(encoding="utf-8") for path in scripts if path.parent.name not in ("tests", "docs"))
        needed = set(re.findall(r"find_package\((\w+)\b[^)]*\)", lines)) - {"Threads", "PkgConfig", "Python3", "tutti"}
        needed |= set(re.findall(r"^\s*tutti_need\((\w+)", lines, re.M))
        for package in needed:
            self.assertIn(NAMES[package], entries)

    def test_packages_contain_them(self):
        self.assertEqual(PROJECT["license-files"], ["LICENSE", "NOTICE"])
        for name in PROJECT["license-files"]:
            self.assertTrue((ROOT / name).is_file())


if __name__ == "__main__":
    unittest.main()
