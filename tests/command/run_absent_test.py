#!/usr/bin/env python3
"""Ends ranks that others wait for: run_absent_test.py CASE TUTTI MEMBER"""
import os
import pathlib
import re
import socket
import tempfile
import time

from runs import MEMBER, expect, run, run_case

# A rank ignores the request to end, so that it prints its error. None may fail before.
READY = "until [ $(ls $MARKS | wc -l) = {waiting} ]; do sleep 0.02; done; "
WAIT = f"trap '' TERM; touch $MARKS/$TUTTI_RANK; {READY}"
SOON = 20  # seconds; init waits for 60


def free_port():
    """An unused port of the loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def check(ends, meeting, wanted, said, late=None):
    """Runs 4 ranks, of which some end by the lines of shell in `ends`, and one may join late. The
    others get an error that matches `said`; `wanted` is the exit status."""
    waiting = 4 - len(ends)
    script = "".join(f"[ $TUTTI_RANK = {rank} ] && {{ {line}; }}\n" for rank, line in ends.items())
    script += f"{WAIT} [ $TUTTI_RANK = {late} ] && sleep 1; exec {MEMBER} collectives"
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as marks:
        status, output, errors = run("-n", "4", *meeting, "sh", "-c",
                                     script.replace("{waiting}", str(waiting)),
                                     environment={"MARKS": marks})
    lines = output.splitlines()
    facts = (ends, meeting, status, output, errors, time.monotonic() - begin)
    expect(status == wanted and time.monotonic() - begin < SOON, *facts)
    expect(len(lines) == waiting, *facts)
    expect(all(re.match("peer_dead: .*" + said, line) for line in lines), *facts)


def check_all(*meeting):
    """Every way in which ranks can end before the others have come together."""
    end = r"rank {} \(host .*\) has ended and did not join the world: it {}$"
    for rank in (0, 1):
        check({rank: "exit 0"}, meeting, 4, end.format(rank, "exited with status 0"))
        check({rank: READY + "exit 3"}, meeting, 3, end.format(rank, "exited with status 3"))
        check({rank: READY + "kill -KILL $$"}, meeting, 137,
              end.format(rank, r"was killed by signal 9 \(Killed\)"), late=3)
    either = end.format("[02]", "exited with status 0")
    for first, second in ((0, 2), (2, 0)):
        check({first: "exit 0", second: READY + "sleep 0.5; exit 0"}, meeting, 4, either, late=3)


def test_absent():
    """The ranks that wait get an error for a rank that ends and does not join."""
    check_all()
    # Ranks that end after the others have joined, and those of programs without tutti, disturb no rank.
    for rank in (0, 1):
        ends = f"[ $TUTTI_RANK = {rank} ] && exit 0; "
        for script in (f"{MEMBER} collectives; {ends} {MEMBER} collectives || exit 0",
                       ends + "sleep 1"):
            status, _, errors = run("-n", "3", "sh", "-c", script)
            expect(status == 0 and errors == "", script, status, errors)


def test_absent_port():
    """So it is where the ranks meet at a port."""
    check_all("--url", f"tcp://localhost:{free_port()}")
    check_all("--url", f"tcp://127.0.0.1:{free_port()}")


def test_absent_folder():
    """So it is where the ranks meet in a folder, of which nothing is left."""
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent, "folder")
        check_all("--url", f"file://{folder}")
        # SIGKILL ends the last of some jobs, which then leave notes.
        status, _, errors = run("-n", "4", "--url", f"file://{folder}", MEMBER, "collectives")
        expect(status == 0 and not folder.exists(), status, errors,
               [*pathlib.Path(parent).rglob("*")])
        run("-n", "2", "--url", f"file://{folder}", "sh", "-c", "[ $TUTTI_RANK = 0 ] || sleep 1")
        expect(not folder.exists(), "the folder was made by the launcher")


AGENT = """#!/bin/sh
shift
exec sh -c "$*"
"""


def test_absent_hosts():
    """So it is where the ranks are on several hosts, as long as that of rank 0 has a rank left."""
    with tempfile.TemporaryDirectory(prefix="tutti-run-") as folder:
        agent = pathlib.Path(folder, "agent")
        agent.write_text(AGENT, "utf-8")
        agent.chmod(0o700)
        meeting = ["--hosts", "127.0.0.1,localhost", "--agent", str(agent), "--env", "MARKS"]
        end = r"rank {} \(host .*\) has ended and did not join the world: it exited with status 0$"
        check({3: "exit 0"}, meeting, 4, end.format(3))
        check({0: "exit 0", 1: "trap '' TERM; sleep 3; exit 0"}, meeting, 4, end.format(0))


if __name__ == "__main__":
    run_case(globals())
