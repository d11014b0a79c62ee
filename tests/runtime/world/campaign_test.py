#!/usr/bin/env python3
"""Many deaths, at random moments: who survives names the dead, and nothing is left behind.

Usage: campaign_test.py CLASS MEMBER ATTACKED TUTTI TRIALS. MEMBER is the program of member.cpp,
ATTACKED that of attacked.cpp, TUTTI the command. The number of the trial seeds all random
choices; the times at which processes run differ from run to run.
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
ATTACKED = ""
TUTTI = ""
TRIALS = 3
RANKS = 4
LIMIT = 50  # milliseconds until ranks of one host fail
MANY = 100  # trials, of which it is asked how long they took
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
            ranks = members.start(MEMBER, RANKS, "endure", number,
                                  TUTTI_URL=f"file://{folder}/world")
            for rank in ranks:
                self.assertEqual(rank.stdout.readline(), "ready\n")
            time.sleep(chance.uniform(0, 0.1))
            killed = time.monotonic_ns()
            ranks[victim].kill()
            ranks[victim].wait(members.PATIENCE)
            dead = time.monotonic_ns()
            statuses, said = members.finish(ranks)
        self.assertEqual(statuses.pop(victim), -signal.SIGKILL, said)
        said.pop(victim)
        self.assertEqual(statuses, [0] * (RANKS - 1), said)
        reports = [text.split(" ", 1) for text in said]
        causes = {report[1] for report in reports}
        self.assertEqual(len(causes), 1, f"trial {number}: {causes}")
        self.assertRegex(causes.pop(),
                         rf"^peer_dead {victim} rank {victim} \(host [^()]*\) has ended")
        delays = [(int(report[0]) - killed) * 1e-6 for report in reports]
        if max(delays) > LIMIT:
            times = ", ".join(f"{delay:.1f}" for delay in delays)
            print(f"trial {number}: reported after {times} ms; the rank took",
                  f"{(dead - killed) * 1e-6:.1f} ms to die")
        return delays

    def test_survivors_name_the_dead(self):
        delays = [delay for number in range(TRIALS) for delay in self.trial(number)]
        what = f"{TRIALS} deaths, {len(delays)} reports:"
        if TRIALS < MANY:
            print(what, members.distribution(delays, LIMIT))
        else:
            members.judge(self, what, delays, members.AT_ONCE)


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


class Sieges(unittest.TestCase):
    """Intruders attack three processes: at the store and at every acceptor, then at the store of
    another world while they compute. See attacked.cpp for who listens when."""

    def start(self, rank, port):
        """Starts a rank."""
        process = subprocess.Popen([ATTACKED, "rank", str(rank), "3", str(port)], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1)
        self.addCleanup(process.kill)
        return process

    def intruders(self, places, seed):
        """Two processes attack places. Returns how many attacks were accepted."""
        intruders = [subprocess.Popen([ATTACKED, "attack", str(TRIALS // 8), f"{seed}{half}0000000"],
                                      text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                     for half in (1, 2)]
        said = [intruder.communicate(places, timeout=900)[0] for intruder in intruders]
        self.assertEqual([intruder.returncode for intruder in intruders], [0, 0], said)
        return sum(int(text) for text in said)

    def places(self, ranks, count):
        """The places where ranks listen, once there are enough of them."""
        end = time.monotonic() + members.PATIENCE
        while True:
            places = subprocess.run([ATTACKED, "places", *(str(rank.pid) for rank in ranks)],
                                    stdout=subprocess.PIPE, text=True, check=True).stdout
            if len(places.splitlines()) == count:
                return places
            self.assertLess(time.monotonic(), end, places)
            time.sleep(0.01)

    def expect(self, ranks, word):
        """Every rank says a word."""
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), word + "\n")

    def attack_meeting(self, ranks, seed):
        """Intruders attack a meeting at all listeners. Returns how many were accepted."""
        heard = self.intruders(self.places(ranks[:1], 1), seed)
        ranks[2].stdin.write("come\n")
        self.expect(ranks, "listening")
        self.places(ranks, 6)  # a port and a Unix socket of each; the store is closed
        heard += self.intruders(self.places(ranks[:2], 4), seed + 1)  # the last rank accepts none
        ranks[2].stdin.write("connect\n")
        return heard

    def test_strangers_do_no_harm(self):
        port = members.free_port()
        before = members.names()
        ranks = [self.start(rank, port) for rank in range(3)]
        starting = self.attack_meeting(ranks, 1)
        self.expect(ranks, "computing")
        # Another world, of the same processes: it shares their connections, so only its store listens.
        running = self.intruders(self.places(ranks[:1], 1), 3)
        ranks[2].stdin.write("come\n")
        self.expect(ranks, "connected")
        self.assertEqual(self.places(ranks, 0), "")
        ranks[0].stdin.write("end\n")
        said = [rank.communicate(timeout=members.PATIENCE)[0] for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0] * 3, said)
        print(f"{starting} inputs heard by a job that starts, {running} by one that computes, of",
              f"which {said[0].strip()} calls were all right")
        self.assertGreaterEqual(min(starting, 2 * running), TRIALS // 8 * 4)
        self.assertEqual(members.left_since(before), set())


if __name__ == "__main__":
    TRIALS = int(sys.argv.pop())
    TUTTI = sys.argv.pop()
    ATTACKED = sys.argv.pop()
    MEMBER = sys.argv.pop()
    members.leave_network()
    unittest.main()
