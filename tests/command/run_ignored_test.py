#!/usr/bin/env python3
"""Runs `tutti run` from a parent that ignores signals: run_ignored_test.py CASE TUTTI MEMBER"""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from runs import (PATIENCE, TUTTI, await_lines, await_none, await_that, expect, processes_with,
                  run_case, start)

MARK = f"{70000 + os.getpid() % 10000}"


def ignoring(*numbers):
    """Runs in a process before it executes the command."""
    def ignore():
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
    return ignore


def end_of(*words, numbers=(signal.SIGCHLD,)):
    """Status, output and errors of the command, whose parent ignores signals."""
    job = subprocess.Popen([TUTTI, *words], text=True, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=ignoring(*numbers))
    try:
        output, errors = job.communicate(timeout=PATIENCE)
    finally:
        job.kill()
    return job.returncode, output, errors


def test_ignored_child():
    """A parent that ignores SIGCHLD does not take away the exit statuses of the children."""
    for label in ([], ["--label"]):
        expect(end_of("run", "-n", "2", *label, "true") == (0, "", ""), label)
        status, _, errors = end_of("run", "-n", "2", *label, "sh", "-c", "[ $TUTTI_RANK = 0 ] || exit 3")
        expect(status == 3 and "rank 1 exited with status 3" in errors, status, errors)
        # A rank can wait for its children too.
        status, _, errors = end_of("run", *label, "sh", "-c", "sh -c 'exit 7'; [ $? = 7 ] || exit 4; exit 5")
        expect(status == 5, status, errors)
    status, output, errors = end_of("sweep", "--ranks", "2", "-C", "broadcast", "-a", "binomial", "-b", "8", "-e", "8")
    expect(status == 0 and "binomial" in output, status, output, errors)
    job = start("-n", "2", "sleep", MARK, preexec_fn=ignoring(signal.SIGCHLD))
    await_ranks(2)
    job.terminate()
    expect(job.wait(PATIENCE) == 128 + signal.SIGTERM, job.returncode)
    await_none(MARK)


def await_ranks(count):
    """Waits until this number of ranks runs."""
    def is_there():
        return [words[0] for _, words in processes_with(MARK)].count("sleep") == count
    expect(await_that(is_there), "the ranks do not run", processes_with(MARK))


def send_all(job, number):
    """Sends a signal to a process and to all that descend from it."""
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text("utf-8").rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            pass
    found = [job.pid]
    for parent in found:
        found += [child for child, its in parents.items() if its == parent]
        with contextlib.suppress(ProcessLookupError):
            os.kill(parent, number)


def test_ignored_end():
    """A signal that the parent ignores ends neither the command nor its ranks."""
    script = "echo up; until [ -e {0} ]; do sleep 0.05; done; echo done"
    nohup = shutil.which("nohup")
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        with tempfile.TemporaryDirectory() as folder:
            mark = os.path.join(folder, "go")
            words = ["run", "-n", "2", "sh", "-c", script.format(mark)]
            first = [nohup, TUTTI] if number == signal.SIGHUP and nohup else [TUTTI]
            job = subprocess.Popen([*first, *words], text=True, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   stdout=subprocess.PIPE, preexec_fn=ignoring(number))
            await_lines(job, 2)
            send_all(job, number)
            time.sleep(1)  # for one that would end
            pathlib.Path(mark).touch()
            output, errors = job.communicate(timeout=PATIENCE)
            expect((job.returncode, output, errors) == (0, "done\n" * 2, ""), number, job.returncode,
                   output, errors)


def test_ignored_death():
    """Ranks end with a launcher that is killed, even if it ignored all signals that can be ignored."""
    job = start("-n", "2", "sleep", MARK,
                preexec_fn=ignoring(signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD))
    await_ranks(2)
    job.kill()
    await_none(MARK)


def test_ignored_given():
    """A rank ignores what the parent of the command ignores, except SIGCHLD."""
    everything = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGTERM, signal.SIGUSR1,
                  signal.SIGXFSZ)
    for numbers in ((), (signal.SIGUSR1,), everything):
        wanted = sum(1 << number - 1 for number in numbers)
        for label in ([], ["--label"]):
            status, output, errors = end_of("run", *label, "grep", "^SigIgn", "/proc/self/status",
                                            numbers=(*numbers, signal.SIGCHLD))
            expect(status == 0 and int(output.split()[-1], 16) == wanted, numbers, status, output, errors)


def test_ignored_sweep():
    """A sweep in the background of a script ignores Ctrl-C."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "run.jsonl")
        job = subprocess.Popen([TUTTI, "sweep", "--ranks", "2", "-C", "broadcast", "-b", "8", "-e", "64M", "--json",
                                str(path)], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, preexec_fn=ignoring(signal.SIGINT))
        def has_begun():
            return job.poll() is not None or path.exists() and '"cell"' in path.read_text("utf-8")
        expect(await_that(has_begun) and job.poll() is None, "no cell", job.poll())
        send_all(job, signal.SIGINT)
        output, errors = job.communicate(timeout=PATIENCE)
        expect(job.returncode == 0 and "interrupted" not in output, job.returncode, output, errors)


if __name__ == "__main__":
    run_case(globals())
