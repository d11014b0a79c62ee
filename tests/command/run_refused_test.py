#!/usr/bin/env python3
"""Has the system refuse what `tutti run` needs: run_refused_test.py CASE TUTTI MEMBER"""
import os
import pathlib
import re
import subprocess
import sys

from refuse import CALLS
from runs import PATIENCE, TUTTI, await_none, expect, run_case

REFUSING = [sys.executable, "-B", str(pathlib.Path(__file__).with_name("refuse.py"))]


def ends_in_a_line(command, **more):
    """A command that does its work in silence, or says in one line why not."""
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=PATIENCE, check=False, **more)
    silent = done.returncode == 0 and done.stderr == ""
    told = done.returncode in (4, 126) and re.fullmatch("tutti(: | run: ).+\n", done.stderr)
    expect(silent or told, command, more, done.returncode, done.stderr)
    return done


def test_refused():
    """Every system call may fail: the command says so in one line and ends, and so do its ranks."""
    if subprocess.run([*REFUSING, "kill", "true"], check=False).returncode == 77:
        print("no system call can be refused here")
        sys.exit(77)
    for call in CALLS:
        for arguments in ([], ["--label"], ["--url", "tcp://127.0.0.1:9"]):
            ends_in_a_line([*REFUSING, call, TUTTI, "run", "-n", "2", *arguments, "true"])
    for call, said in (("signalfd4", "signalfd"), ("rt_sigtimedwait", "wait for signals"),
                       ("poll", "poll"), ("wait4", "wait for"), ("prctl", "cannot "),
                       ("rt_sigprocmask", "block signals"), ("setpgid", "process group")):
        mark = f"{60000 + os.getpid() % 10000}"
        done = ends_in_a_line([*REFUSING, call, TUTTI, "run", "-n", "2", "sleep", mark])
        expect(done.returncode == 4 and said in done.stderr, call, done.stderr)
        await_none(mark)
    for number in range(5, 16):
        for arguments in ([], ["--label"]):
            ends_in_a_line(["sh", "-c", f'ulimit -n {number} && exec "$0" "$@"', TUTTI, "run",
                            "-n", "2", *arguments, "true"])
    closed = subprocess.run(["sh", "-c", 'exec "$0" run -n 2 --label echo here <&- 2>&-', TUTTI],
                            capture_output=True, text=True, timeout=PATIENCE, check=False)
    expect(sorted(closed.stdout.splitlines()) == ["[0] here", "[1] here"], closed.stdout)
    alone = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*alone, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        script = 'mount -t tmpfs none /dev && exec "$0" "$@"'
        done = ends_in_a_line([*alone, "sh", "-c", script, TUTTI, "run", "-n", "2", "true"])
        expect("/dev/null" in done.stderr or done.returncode == 0, done.stderr)


if __name__ == "__main__":
    run_case(globals())
