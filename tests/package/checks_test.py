#!/usr/bin/env python3
"""Checks what others run: checks_test.py ROOT

The workflows of a public CI and the hooks of pre-commit call files of the repository, with options that these have. The files of YAML
are read by lines, since a Python may lack a parser.
"""
import os
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop()).resolve()


class Checks(unittest.TestCase):
    def test_workflows_call_scripts(self):
        for file in sorted((ROOT / ".github" / "workflows").iterdir()):
            commands = re.findall(r"^\s*-? *run: *(.*)$", file.read_text(encoding="utf-8"), re.M)
            self.assertTrue(commands)
            for script, *options in map(str.split, commands):
                self.assertTrue(os.access(ROOT / script, os.X_OK), f"{file}: {script}")
                for option in options:
                    if option.startswith("--"):
                        self.assertIn(f"    {option})", (ROOT / script).read_text(encoding="utf-8"))

    def test_presets_exist(self):
        presets = re.search(r"preset: \[(.*)\]", (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))[1]
        self.assertIn(f"^({presets.replace(', ', '|')})$", (ROOT / "tests" / "run.sh").read_text(encoding="utf-8"))

    def test_hooks_call_tests(self):
        """Each hook but the formatter is a test of ctest too."""
        scripts = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/CMakeLists.txt"))
        hooks = re.findall(r"^ *entry: (.*)$", (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"), re.M)
        self.assertGreater(len(hooks), 3)
        for words in map(str.split, hooks):
            for word in words:
                if "/" in word:
                    self.assertTrue((ROOT / word).is_file(), word)
            if words[0] == "python3":
                name = pathlib.Path(words[2]).name
                pattern = rf"{re.escape(name)}|IN ITEMS[^)]*\b{name.removesuffix('_test.py')}"
                self.assertTrue(re.search(pattern, scripts), f"no test runs {name}")


if __name__ == "__main__":
    unittest.main()
