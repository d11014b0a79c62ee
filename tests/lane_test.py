#!/usr/bin/env python3
"""Checks that the tests of a lane have what they run: lane_test.py CTEST BUILD LANE

A program that no target of the lane builds is missing in a new folder alone."""
import json
import pathlib
import subprocess
import sys
import unittest

CTEST, BUILD, LANE = sys.argv[1:]


def files_of(test):
    """The programs and modules of this build that a test's command names."""
    words = " ".join(test.get("command", [])).replace("=", " ").replace(";", " ").split()
    for word in words:
        path = pathlib.Path(word)
        if path.is_relative_to(BUILD) and path.suffix in ("", ".so"):
            yield path


def is_made_by_another(test):
    """Whether a test needs what another one makes, such as the site of the documentation."""
    return any(one["name"] == "FIXTURES_REQUIRED" for one in test["properties"])


class Lane(unittest.TestCase):
    def test_every_file_is_built(self):
        shown = subprocess.run([CTEST, "--show-only=json-v1", "--label-regex", f"^{LANE}$"], cwd=BUILD,
                               capture_output=True, check=True, text=True)
        tests = json.loads(shown.stdout)["tests"]
        self.assertGreater(len(tests), 10)
        missing = {f"{test['name']}: {path}" for test in tests for path in files_of(test)
                   if not path.exists() and not is_made_by_another(test)}
        self.assertEqual(missing, set(), f"build them in lane {LANE}: tutti_build_in_lane")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
