#!/usr/bin/env python3
"""Many deaths, at random moments: who survives names the dead, and nothing is left behind.

Usage: campaign_test.py CLASS MEMBER TUTTI TRIALS. MEMBER is the program of member.cpp, TUTTI the
command. What is random comes from the number of the trial; when a process gets the processor does
not.
"""
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import members

MEMBER = ""
TUTTI = ""
TRIALS = 3
RANKS = 4
MARK = "CAMPAIGN_JOB"


def marked(mark):
    """The processes whose variables have a mark."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue  # it has ended, or is another user's
    return found


def kill(process):
    """Kills a process, if it is still there."""
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Deaths(unittest.TestCase):
    """A rank of four is killed amid collectives."""

    def trial(self, number):
        """Kills one. Returns after how many milliseconds each of the others reported it."""
        chance = random.Random(number)
        victim = chance.randrange(RANKS)
        with tempfile.TemporaryDirectory() as folder:
            ranks = members.start(MEMBER, RANKS, "endure", number, TUTTI_URL=f"file://{folder}/world")
            for rank in ranks:
                self.assertEqual(rank.stdout.readline(), "ready\n")
            time.sleep(chance.uniform(0, 0.1))
            killed = time.monotonic_ns()
            ranks[victim].kill()
            statuses, said = members.finish(ranks)
        self.assertEqual(statuses.pop(victim), -signal.SIGKILL, said)
        said.pop(victim)
        self.assertEqual(statuses, [0] * (RANKS - 1), said)
        reports = [text.split(" ", 1) for text in said]
        causes = {report[1] for report in reports}
        self.assertEqual(len(causes), 1, f"trial {number}: {causes}")
        self.assertRegex(causes.pop(), rf"^peer_dead {victim} rank {victim} \(host [^()]*\) has ended")
        return [(int(report[0]) - killed) * 1e-6 for report in reports]

    def test_survivors_name_the_dead(self):
        delays = [delay for number in range(TRIALS) for delay in self.trial(number)]
        print(f"{TRIALS} deaths, {len(delays)} reports:", members.distribution(delays, 50))


class Jobs(unittest.TestCase):
    """All processes of a job of `tutti run` are killed while they start, or compute."""

    def trial(self, number):
        """Kills one job."""
        chance = random.Random(number)
        mark = f"{os.getpid()}.{number}"
        launcher = subprocess.Popen([TUTTI, "run", "-n", "2", MEMBER, "endure", str(number)],
                                    env={**members.bare_environment(), MARK: mark},
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, 0.2))
        processes = marked(f"{MARK}={mark}\0")
        chance.shuffle(processes)
        for process in processes:
            kill(process)
        launcher.kill()
        launcher.wait(timeout=members.PATIENCE)
        end = time.monotonic() + members.PATIENCE
        while left := marked(f"{MARK}={mark}\0"):
            self.assertLess(time.monotonic(), end, f"{left} still run")
            time.sleep(0.001)
        return len(processes)

    def test_nothing_is_left_of_the_killed(self):
        before = members.names()
        killed = [self.trial(number) for number in range(TRIALS)]
        print(f"{TRIALS} jobs killed, {killed.count(4)} of them with both ranks,",
              f"{killed.count(1)} before anything else was there")
        self.assertEqual(members.left_since(before), set())


if __name__ == "__main__":
    TRIALS = int(sys.argv.pop())
    TUTTI = sys.argv.pop()
    MEMBER = sys.argv.pop()
    unittest.main()
