"""Starts `tutti run` for tests, which are run as: TEST.py CASE TUTTI MEMBER"""
import glob
import os
import pathlib
import signal
import subprocess
import sys
import time

TUTTI, MEMBER = sys.argv[2:4]
PATIENCE = 300  # seconds for what has to happen


def expect(condition, *facts):
    """Fails with the facts."""
    if not condition:
        raise SystemExit("FAILED: " + "\n".join(map(str, facts)))


def run(*arguments, text=None, environment=None, limit=PATIENCE):
    """Exit status, standard output and standard error."""
    done = subprocess.run([TUTTI, "run", *arguments], input=text, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL if text is None else None, check=False,
                          env={**os.environ, **(environment or {})}, timeout=limit)
    return done.returncode, done.stdout, done.stderr


def heed_signals():
    """For processes that a test ends: under nohup or behind a script's & they would ignore these."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def start(*arguments, preexec_fn=heed_signals, **more):
    """A job that runs beside the test."""
    return subprocess.Popen([TUTTI, "run", *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            stdin=subprocess.DEVNULL, preexec_fn=preexec_fn, **more)


def processes_with(mark):
    """Processes, zombies too, that have this word among theirs."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = pathlib.Path(path).read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:
            continue
        if mark in words and str(os.getpid()) not in path.split("/"):
            found.append((path, words))
    return found


def await_that(condition):
    """Waits until a condition holds. Returns whether it does."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def await_none(mark):
    """Waits until no process has this word."""
    expect(await_that(lambda: not processes_with(mark)), "left:", processes_with(mark))


def await_lines(job, count):
    """The first lines of a job's output."""
    return [job.stdout.readline().strip() for _ in range(count)]


def run_case(cases):
    """Runs the test that the command line names. cases: the global names of a test file."""
    cases["test_" + sys.argv[1]]()
