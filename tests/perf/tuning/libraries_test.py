#!/usr/bin/env python3
"""Exports for libraries of a user's own file: libraries_test.py TUTTI"""

import json
import pathlib
import shutil
import sys
import unittest

from exports import ALL_GATHER, ALL_REDUCE, ExportCase

ExportCase.tutti = sys.argv.pop()
LIBRARIES = pathlib.Path(__file__).parents[3] / "perf" / "tuning" / "libraries.json"


class Libraries(ExportCase):
    def installed(self, change):
        """A command that is installed with another file of libraries, which `change` makes."""
        prefix = pathlib.Path(self.folder.name, "prefix")
        for name in "bin", "share/tutti":
            (prefix / name).mkdir(parents=True, exist_ok=True)
        shutil.copy(self.tutti, prefix / "bin" / "tutti")
        file = prefix / "share" / "tutti" / "libraries.json"
        file.write_text(change(LIBRARIES.read_text(encoding="utf-8")))
        return prefix / "bin" / "tutti", file

    def test_a_user_adds_a_version(self):
        """It has the entries of another one, and its own before them."""
        def add(text):
            file = json.loads(text)
            file["libraries"]["mine"] = {"like": "openmpi6", "writer": "openmpi", "algorithms": {
                "all_reduce": {"one_shot": {"theirs": "new", "number": 9}}}}
            return json.dumps(file)
        code, text, said = self.export("mine", ALL_REDUCE, ALL_GATHER, tutti=self.installed(add)[0])
        self.assertEqual(code, 0, said)
        for line in "0 9 0 0 # new", "2048 3 0 0 # recursive_doubling", "0 2 0 0 # bruck-k-fanout":
            self.assertIn(line, text)

    def test_names_a_wrong_file_of_libraries(self):
        for old, new, words in [('"calls"', "calls", "syntax error in line"), ('"calls"', '"call"', "'calls'"),
                                ('"number": 2', '"number": "2"', "number"), ('"all_to_all": {', '"all": {', "'all'"),
                                ('"writer": "openmpi"', '"writer": "opnmpi"', "unknown writer 'opnmpi'"),
                                ('"writer": "openmpi"', '"like": "openmpi"', "'writer'"),
                                ('"theirs": "linear"', '"their": "linear"', "'theirs'")]:
            tutti, file = self.installed(lambda text, old=old, new=new: text.replace(old, new))
            code, text, said = self.export("openmpi", ALL_REDUCE, tutti=tutti)
            self.assertEqual((code, text, said.count("\n")), (4, "", 1), said)
            self.assertIn(f"{file}: ", said)
            self.assertIn(words, said)


if __name__ == "__main__":
    unittest.main()
