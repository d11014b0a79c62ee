#!/usr/bin/env python3
"""Reads the manual and the completions that the command writes of itself: share_test.py TUTTI"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TUTTI = sys.argv.pop()


def output(*words, text=None):
    """Standard output of a command that succeeds without an error."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, input=text)
    assert (done.returncode, done.stderr) == (0, ""), (words, done.stderr)
    return done.stdout


def completed(script, *words):
    """The completions of the last word, in bash."""
    line = " ".join(words)
    answer = output("bash", "--norc", "--noprofile", "-c", f"""
        source {script}
        COMP_WORDS=({line}{" ''" if words[-1] == "" else ""}) COMP_CWORD={len(words) - 1}
        $(complete -p tutti | sed 's/.*-F \\([^ ]*\\).*/\\1/')
        printf '%s\\n' "${{COMPREPLY[@]}}" """)
    return answer.split()


class Share(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.share = pathlib.Path(folder.name)
        output(TUTTI, "help", "--share", folder.name)
        cls.commands = re.findall(r"^  (\w+) ", output(TUTTI, "--help").partition("Subcommands:")[2].partition("\n\n")[0],
                                  re.MULTILINE)

    def test_has_a_page_for_each_command(self):
        pages = {page.name for page in (self.share / "man/man1").iterdir()}
        self.assertEqual(pages, {"tutti.1", *(f"tutti-{command}.1" for command in self.commands)})
        self.assertEqual([page.name for page in (self.share / "man/man7").iterdir()], ["tutti-mpi.7"])
        self.assertTrue({"sweep", "run", "help"} <= set(self.commands), self.commands)

    def test_pages_have_all_flags_and_examples_of_help(self):
        for command in self.commands:
            page = (self.share / f"man/man1/tutti-{command}.1").read_text(encoding="utf-8")
            plain = re.sub(r"\\f[BIR]", "", page).replace("\\-", "-")
            text = output(TUTTI, command, "--help")
            for flag in re.findall(r"^  (?:-\w,)?(--?[\w-]+)", text, re.MULTILINE):
                self.assertIn(flag, plain, command)
            examples = re.findall(r"^  (.+)$", text.partition("Examples:\n")[2], re.MULTILINE)
            self.assertTrue(examples, command)
            for example in examples:
                self.assertIn(example, plain)
                for flag in re.findall(r" (--?[a-zA-Z][\w-]*)", example.partition(f"tutti {command}")[2].partition("|")[0]):
                    self.assertRegex(text, rf"(?m)^  (\S+,)?{flag}\b", example)

    @unittest.skipUnless(shutil.which("groff"), "groff is missing")
    def test_groff_has_no_warning(self):
        for page in (self.share / "man").glob("man?/*"):
            text = output("groff", "-ww", "-man", "-Tutf8", "-P-cbou", str(page))
            self.assertIn("SYNOPSIS", text)
        text = output("groff", "-ww", "-man", "-Tascii", "-P-cbou", str(self.share / "man/man1/tutti-sweep.1"))
        self.assertRegex(text, r"-C, --collective value\s+a,b,\.\.\. or all")

    def test_bash_completes(self):
        script = self.share / "bash-completion/completions/tutti"
        self.assertEqual(completed(script, "tutti", "swe"), ["sweep"])
        self.assertEqual(completed(script, "tutti", "sweep", "--coll"), ["--collective"])
        self.assertEqual(completed(script, "tutti", "sweep", "-C", "broad"), ["broadcast"])
        self.assertEqual(completed(script, "tutti", "help", "top"), ["topology"])
        self.assertEqual(set(completed(script, "tutti", "")), set(self.commands))
        self.assertEqual(completed(script, "tutti", "run", "./pro"), [], "files, by bash itself")

    def test_other_shells_accept_their_scripts(self):
        for shell, file in (("zsh", "zsh/site-functions/_tutti"), ("fish", "fish/vendor_completions.d/tutti.fish")):
            path = self.share / file
            text = path.read_text(encoding="utf-8")
            self.assertEqual(text, output(TUTTI, "help", "--completion", shell))
            for command in self.commands:
                self.assertIn(command, text)
            if shutil.which(shell):
                output(shell, "-n", str(path))


if __name__ == "__main__":
    unittest.main()
