#!/usr/bin/env python3
"""Runs the commands of docs/install.md and docs/cluster.md: commands_test.py SOURCE BUILD CMAKE TUTTI

Each block of a shell runs in bash, beside the files of SOURCE. `tutti` is the built one. Programs that install, that compile for
minutes, or that need a cluster are stand-ins, which launch what they are told to launch, once. The test checks that files,
options, targets and variants of their other words exist.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD = (pathlib.Path(word) for word in sys.argv[1:3])
CMAKE, TUTTI = sys.argv[3:]
LAUNCHERS = ("srun", "mpirun")
STANDINS = ("apt-get", "module", "spack", "eb", "conda", "docker", "apptainer", "pip", "python", "cmake",
            "g++", "cc", "mpicxx.openmpi", "packaging/deb.sh", "./program", *LAUNCHERS)
STANDIN = f"""#!{sys.executable}
import json, os, re, sys
name = os.path.basename(sys.argv[0])
with open(os.environ["LOG"], "a") as log:
    log.write(json.dumps([name, *sys.argv[1:]]) + "\\n")
if name in {LAUNCHERS}:
    words = re.sub(r"^((-n \\d+|-\\S+) )*", "", " ".join(sys.argv[1:])).split()
    os.execvp(words[0], words)
"""
# Ranks of other hosts cannot start here, and short samples suffice.
COMMAND = f"""#!/bin/bash
case "$*" in
  *--hosts*) for word; do [[ $word != --* ]] || "{TUTTI}" run --help | grep -q -- "$word" || exit 2; done ;;
  sweep*) exec "{TUTTI}" "$@" --budget 1ms ;;
  *) exec "{TUTTI}" "$@" ;;
esac
"""


def blocks():
    for page in ("install.md", "cluster.md"):
        text = (SOURCE / "docs" / page).read_text(encoding="utf-8")
        for block in re.findall(r"^```sh\n(.*?)^```", text, re.S | re.M):
            yield page, block


def write_program(path, text):
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(text, "utf-8")
    path.chmod(0o755)


class Commands(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.clone = self.folder / "clone"
        self.clone.mkdir()
        for entry in SOURCE.iterdir():
            if entry.name not in ("build", "packaging"):
                (self.clone / entry.name).symlink_to(entry)
        (self.clone / "packaging").mkdir()
        for entry in (SOURCE / "packaging").iterdir():
            (self.clone / "packaging" / entry.name).symlink_to(entry)
        (self.clone / "install_manifest.txt").touch()
        secret = self.folder / ".tutti-secret"  # which the page has written before
        secret.write_text("ab" * 32, "utf-8")
        secret.chmod(0o600)
        for name in STANDINS:
            write_program((self.clone if "/" in name else self.folder / "bin") / name, STANDIN)
        write_program(self.folder / "bin" / "tutti", COMMAND)

    def run_block(self, block):
        """Runs a block, and returns the words of each stand-in."""
        log = self.folder / "log"
        log.write_text("", "utf-8")
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("TUTTI_", "OMPI_", "PMI", "SLURM_"))}
        environment |= {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "HOME": str(self.folder), "LOG": str(log),
                        "PBS_O_WORKDIR": str(self.clone), "TUTTI_TUNING": "none"}
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=self.clone, env=environment, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout)
        return [json.loads(line) for line in log.read_text("utf-8").splitlines()]

    def check_words(self, words):
        """The files, options, targets and variants of one command exist."""
        program, *rest = words
        cache = (BUILD / "CMakeCache.txt").read_text("utf-8")
        for before, word in zip(words, rest):
            option = re.match(r"-D(\w+)=", word)
            if option and not option[1].startswith("CMAKE_INSTALL_"):
                self.assertRegex(cache, rf"(?m)^{option[1]}:", words)
            if before == "--target":
                shown = subprocess.run([CMAKE, "--build", BUILD, "--target", "help"], capture_output=True, text=True, check=True)
                self.assertRegex(shown.stdout, rf"(?m)^{word}:", words)
            if program == "spack" and word.startswith("+"):
                recipe = next(SOURCE.glob("packaging/spack/**/package.py")).read_text("utf-8")
                self.assertIn(f'variant("{word[1:]}"', recipe, words)
            if re.match(r"(packaging|python|docs)/", word):
                self.assertTrue((SOURCE / word).exists(), words)
            if program == "module" and word.startswith("/opt/"):
                self.assertIn("share/modulefiles", word)

    def test_commands_work(self):
        programs = set()
        for page, block in blocks():
            with self.subTest(page, block=block):
                for words in self.run_block(block):
                    programs.add(words[0])
                    self.check_words(words)
        self.assertEqual({os.path.basename(name) for name in STANDINS} - programs, set(), "stand-ins that no page needs")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
