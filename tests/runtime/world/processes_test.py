#!/usr/bin/env python3
"""Worlds of real processes: the survivors' errors, and the resources that are left.

Usage: processes_test.py MEMBER TRIALS. MEMBER is the program of member.cpp.
"""
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import members
from members import PATIENCE, finish, left_since, names

MEMBER = ""
TRIALS = 3


def start(n, mode, number=0, folder=None, transport="auto"):
    """Starts the ranks of a world that meets in a folder. Returns their processes."""
    return members.start(MEMBER, n, mode, number, transport, TUTTI_URL=f"file://{folder}/world")


class Processes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.before = names()

    def world(self, n, mode, number=0, transport="auto"):
        return finish(start(n, mode, number, self.folder.name, transport))

    def check_survivors(self, n, number, statuses, said):
        self.assertEqual(statuses, [0] * (n - 1) + [-number], said)
        for rank in range(n - 1):
            match = re.match(rf"rank {rank} knew after ([-0-9.]+) ms: peer_dead, culprit {n - 1}: "
                             rf"rank {n - 1} \(host [^()]*\) has ended", said[rank])
            self.assertTrue(match, said[rank])
            yield float(match.group(1))

    def test_collectives_of_processes(self):
        for n in (1, 2, 3, 4):
            statuses, said = self.world(n, "collectives")
            self.assertEqual(statuses, [0] * n, said)
            self.assertIn("alone" if n == 1 else f"{n} ranks on 1 host by file://", said[0])

    def test_ranks_of_different_locales(self):
        for german in range(2):
            statuses, said = self.world(2, "locale", german)
            self.assertEqual(statuses, [0, 0], (german, said))

    def test_collectives_below_a_limit_of_addresses(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_AS, (soft, hard))
        for n, limit in ((2, 300), (2, 90), (4, 900), (4, 4)):  # as batch systems set it, in GB
            resource.setrlimit(resource.RLIMIT_AS, (limit * 10**9, hard))
            statuses, said = self.world(n, "collectives")
            self.assertEqual(statuses, [0] * n, (limit, said))

    def test_every_survivor_blames_the_dead(self):
        slowest = 0.0
        for trial in range(TRIALS):
            number = (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM)[trial % 3]
            statuses, said = self.world(4, "survive", int(number))
            slowest = max([slowest, *self.check_survivors(4, number, statuses, said)])
        print(f"{TRIALS} trials, the last survivor knew after {slowest:.1f} ms")
        self.assertEqual(left_since(self.before), set())

    def test_a_call_too_many_is_an_error(self):
        statuses, said = self.world(3, "alone")
        self.assertEqual(statuses, [0, 0, 0], said)
        self.assertRegex(said[0], r"rank [12] ")

    def check_agreement(self, mode, code, text):
        """One rank of four differs from the others. All get the same error."""
        for trial in range(min(TRIALS, 20)):
            for transport in ("auto", "tcp"):
                odd = trial % 4
                statuses, said = self.world(4, mode, odd, transport)
                self.assertEqual(statuses, [0] * 4, said)
                self.assertEqual(len(set(said)), 1, said)
                self.assertRegex(said[0], f"^{code} {odd} .*{text.format(odd)}")

    def test_all_name_the_rank_that_does_not_come(self):
        self.check_agreement("absent", "timeout",
                             r"rank {}(, which)? has not entered all_reduce #3 for [0-9.]+ m?s$")

    def test_all_name_the_rank_that_calls_something_else(self):
        self.check_agreement("different", "mismatch", "rank {0} runs another call")

    def test_all_name_the_rank_that_drops_a_request(self):
        # The number of the call depends on how many had ended as they began.
        self.check_agreement("drop", "aborted",
                             r"all_reduce #\d+ .* was dropped while pending on rank {}$")

    def test_a_late_rank_is_asked_why(self):
        statuses, said = self.world(2, "late")
        self.assertEqual(statuses, [0, 0], said)
        self.assertRegex(said[0], r"^timeout: rank 0 reports: barrier #3 .*, round 1 of 1 timed "
                                  r"out on rank 0: nothing came from rank 1, which has not entered "
                                  r"barrier #3 for [0-9.]+ m?s$")

    def test_a_stopped_rank_is_recognised(self):
        processes = start(2, "late", folder=self.folder.name)
        self.assertEqual(processes[1].stdout.readline(), "ready\n")
        processes[1].send_signal(signal.SIGSTOP)
        said = processes[0].communicate(timeout=PATIENCE)[0]
        processes[1].send_signal(signal.SIGCONT)
        finish(processes[1:])
        self.assertIn("does not answer: its process is stopped, or its host is cut off", said)

    def test_worlds_come_and_go(self):
        for n in (1, 2, 4):
            statuses, said = self.world(n, "repeat", min(30 * TRIALS, 1000))
            self.assertEqual(statuses, [0] * n, said)
            print(f"{n} ranks, the last: {said[-1]}", end="")
        self.assertEqual(left_since(self.before), set())

    def test_worlds_over_tcp_come_and_go(self):
        times = min(20 * TRIALS, 1000)
        for n in (2, 4):
            url = f"tcp://127.0.0.1:{members.free_port()}"
            statuses, said = finish(members.start(MEMBER, n, "repeat", times, "tcp", TUTTI_URL=url))
            self.assertEqual(statuses, [0] * n, said)
            print(f"{n} ranks over TCP, {times} times, the last: {said[-1]}", end="")
        self.assertEqual(left_since(self.before), set())

    def test_nothing_is_left_of_the_killed(self):
        for _ in range(TRIALS):
            processes = start(3, "sleep", 30, folder=self.folder.name)
            for process in processes:
                self.assertEqual(process.stdout.readline(), "ready\n")
            for process in processes:
                process.kill()
            finish(processes)
        self.assertEqual(left_since(self.before), set())

    def test_a_stopped_rank_holds_up_nobody_else(self):
        """Rank 2 is stopped and goes on: the world is whole again."""
        processes = start(3, "sleep", 1, folder=self.folder.name)
        for process in processes:
            self.assertEqual(process.stdout.readline(), "ready\n")
        processes[2].send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        processes[2].send_signal(signal.SIGCONT)
        statuses, said = finish(processes)
        self.assertEqual(statuses, [0, 0, 0], said)


class Launchers(unittest.TestCase):
    """Three ranks that have only a launcher's variables."""

    def check(self, told, port):
        statuses, said = finish(members.start_told(MEMBER, ["collectives"], told))
        self.assertEqual(statuses, [0, 0, 0], said)
        self.assertRegex(said[0], f"^3 ranks on 1 host by tcp://localhost:{port}, ")

    def test_srun(self):
        job = os.getpid()
        told = [{"SLURM_JOB_ID": str(job), "SLURM_STEP_ID": "1", "SLURM_STEP_NODELIST": "localhost",
                 "SLURM_NODELIST": "localhost", "SLURM_NNODES": "1", "SLURM_STEP_NUM_NODES": "1",
                 "SLURM_NTASKS": "3", "SLURM_STEP_NUM_TASKS": "3", "SLURM_NODEID": "0",
                 "SLURM_STEP_TASKS_PER_NODE": "3", "SLURM_PROCID": str(rank),
                 "SLURM_LOCALID": str(rank)} for rank in range(3)]
        self.check(told, 20000 + (job * 31 + 1) % 10000)
        for variables in told:  # the variables of older Slurm
            del variables["SLURM_STEP_NUM_TASKS"], variables["SLURM_STEP_NODELIST"]
            variables["SLURM_STEPID"] = variables.pop("SLURM_STEP_ID")
        self.check(told, 20000 + (job * 31 + 1) % 10000)

    def test_torchrun(self):
        port = members.free_port()
        self.check([{"RANK": str(rank), "WORLD_SIZE": "3", "LOCAL_RANK": str(rank),
                     "LOCAL_WORLD_SIZE": "3", "GROUP_RANK": "0", "MASTER_ADDR": "localhost",
                     "MASTER_PORT": str(port - 1), "TORCHELASTIC_RUN_ID": "none"}
                    for rank in range(3)], port)


class Refusals(unittest.TestCase):
    def refusal(self, command=None, **variables):
        done = subprocess.run([*(command or [MEMBER]), "collectives"], stdout=subprocess.PIPE, text=True,
                              env={**members.bare_environment(), **variables}, timeout=PATIENCE,
                              check=False)
        self.assertEqual(done.returncode, 4, done.stdout)
        return done.stdout.strip()

    def test_a_missing_rank_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            text = self.refusal(TUTTI_RANK="0", TUTTI_SIZE="2", TUTTI_TIMEOUT="0.5",
                                TUTTI_URL=f"file://{folder}/world")
        self.assertRegex(text, r"^timeout: rank 0 waited [0-9.]+ s for rank 1 of 2 over file://")
        self.assertLess(members.seconds_waited(text), members.DEFAULT_WAIT / 2)

    def test_an_unreachable_master_is_named(self):
        text = self.refusal(TUTTI_RANK="1", TUTTI_SIZE="2", TUTTI_TIMEOUT="0.5",
                            TUTTI_URL="tcp://127.0.0.1:1")
        self.assertIn("127.0.0.1:1", text)
        self.assertLess(members.seconds_waited(text), members.DEFAULT_WAIT / 2)

    def test_inherited_variables_are_named(self):
        """A shell stands for a rank, which starts a program."""
        ours = {"TUTTI_SIZE": "2", "TUTTI_URL": f"unix://tutti-test-{os.getpid()}"}
        torchrun = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(members.free_port() - 1)}
        command = ["sh", "-c", '"$@"; exit $?', "sh"]
        for rank, variables in (("TUTTI_RANK", ours), ("RANK", torchrun)):
            names = [rank, *(name for name in variables if not name.startswith("MASTER_"))]
            known = f"{', '.join(names[:-1])} and {names[-1]}"
            for number in "01":
                told = {**variables, rank: number, "TUTTI_TIMEOUT": "0.5"}
                text = self.refusal(command=[*command, MEMBER], **told)
                self.assertRegex(text, rf"^timeout: rank {number} waited .*; process \d+ \(sh\), which started "
                                       rf"this one, has the same {known}: if it is that rank, .* unset them")
                text = self.refusal(**told)
                self.assertNotIn("which started", text)
                alone = [*command, "env", *(f"-u{name}" for name in names), MEMBER, "collectives"]
                done = subprocess.run(alone, stdout=subprocess.PIPE, text=True, check=False, timeout=PATIENCE,
                                      env={**members.bare_environment(), **told})
                self.assertEqual((done.returncode, done.stdout.split(",")[0]), (0, "1 rank"))

    def test_wrong_values_are_named(self):
        text = self.refusal(TUTTI_RANK="3", TUTTI_SIZE="2", TUTTI_URL="file:///tmp/x")
        self.assertIn("invalid_argument: ", text)
        text = self.refusal(TUTTI_URL="carrier-pigeon://home", TUTTI_RANK="0", TUTTI_SIZE="2")
        self.assertIn("carrier-pigeon", text)


if __name__ == "__main__":
    TRIALS = int(sys.argv.pop())
    MEMBER = sys.argv.pop()
    members.leave_network()
    unittest.main()
