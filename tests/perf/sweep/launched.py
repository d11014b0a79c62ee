"""`tutti sweep` under a launcher, for command_test.py."""
import json
import os
import signal
import subprocess
import sys


class Command:
    """The command under test and its launcher."""

    def __init__(self, launcher, tutti):
        self.launcher = launcher
        self.tutti = tutti

    def line(self, ranks, *arguments):
        """The command line."""
        return [self.launcher, "-n", str(ranks), self.tutti, "sweep", *arguments]

    def run(self, ranks, *arguments, **variables):
        """Exit status, standard output, and what the command, not the launcher, complained of."""
        for _ in range(3):
            done = subprocess.run(self.line(ranks, *arguments), stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False,
                                  timeout=300, env={**os.environ, **variables})
            # Hydra 4.0 itself does, once in some 200 starts of any program that ends at once.
            if done.returncode != -signal.SIGPIPE:
                break
        if done.returncode != 0:
            print(f"{arguments}: status {done.returncode}\n{done.stderr}", file=sys.stderr)
        said = [line for line in done.stderr.splitlines()
                if line.startswith("tutti") and "configurations done" not in line]
        return done.returncode, done.stdout, said


def expect(condition, *facts):
    """Fails with the facts."""
    if not condition:
        raise SystemExit("FAILED: " + "\n".join(map(str, facts)))


def records_of(path):
    """All records; every line must be one."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]
