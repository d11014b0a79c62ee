#!/usr/bin/env python3
"""Worlds of several hosts: cluster.py 4 hosts_test.py MEMBER TUTTI.

MEMBER is the program of tests/runtime/world/member.cpp, TUTTI the command. Hosts differ in their network,
not in their kernel: all have one boot id, as containers of one machine have.
"""
import json
import random
import re
import signal
import subprocess
import sys
import time
import unittest

import cluster
import worlds
from worlds import Hosts, World, PATIENCE, SQUAT, bytes_sent, run

import members  # isort: skip; worlds says where


class Collectives(Hosts):
    """The transport of each pair of ranks."""

    def check(self, job, hosts, origin):
        """Runs a job. No payload goes over sockets inside a host, and all of it does between.

        A job is a function, and not processes that have begun: they would not wait until it is
        known what was sent before them.
        """
        used = sorted(set(hosts))
        lines = {host: bytes_sent("eth0", host) for host in used}
        statuses, said = job()
        self.assertEqual(set(statuses), {0}, said)
        text = "".join(said)
        self.assertRegex(text, f"(?m)^{len(hosts)} ranks on {len(used)} hosts by {origin}.*, "
                               "over shared memory and TCP$")
        # The ranks have met before, but a connection to that place may be closed late.
        loops = [int(count) for count in re.findall("(?m)^([0-9]+) bytes over the loopback$", text)]
        self.assertEqual(len(loops), len(hosts), text)
        self.assertLess(max(loops), 10_000, text)
        for host in used:
            self.assertGreater(bytes_sent("eth0", host) - lines[host], 1_000_000)

    def test_a_rank_per_host(self):
        hosts = ["h0", "h1", "h2", "h3"]
        self.check(self.world(hosts).run, hosts, "tcp://h0:")

    def test_two_ranks_per_host(self):
        for hosts in (["h0", "h0", "h1", "h1"], ["h0", "h1", "h0", "h1"]):
            self.check(self.world(hosts).run, hosts, "tcp://h0:")

    def test_meeting_in_a_folder(self):
        hosts = ["h0", "h0", "h1", "h2"]
        world = World(hosts, "collectives", f"file://{self.folder}/world")
        self.check(world.run, hosts, "file://")

    def test_tutti_run(self):
        def job():
            done = run("-n", "4", "--hosts", "h1,h2", worlds.MEMBER, "collectives")
            return [done.returncode], [done.stdout]
        # The test takes all ports outside the kernel's range, so that no port is free by chance.
        squatter = subprocess.Popen(
            cluster.on("h1", [sys.executable, "-c", SQUAT]), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(squatter.communicate, "")
        self.assertEqual(squatter.stdout.readline(), "here\n")
        self.check(job, ["h1", "h1", "h2", "h2"], "tcp://h1:")


class Encryption(Hosts):
    """Worlds that use TLS between hosts, or disagree."""

    def test_collectives(self):
        statuses, said = self.world(["h0", "h0", "h1", "h2"], "tls-collectives").run()
        self.assertEqual(set(statuses), {0}, said)
        self.assertIn("over shared memory and TCP with TLS", said[0])

    def test_a_death_is_told(self):
        statuses, said = self.world(["h0", "h0", "h1", "h2"], "tls-survive").run()
        self.assertEqual(statuses, [0] * 3 + [-signal.SIGKILL], said)
        for text in said[:3]:
            self.assertIn("peer_dead, culprit 3: rank 3 (host h2) has ended", text)

    def test_a_rank_that_wants_none(self):
        world = self.world(["h0", "h1", "h2"], "tls-collectives").start(0).start(1)
        world.mode = "collectives"
        statuses, said = world.start(2).finish()
        self.assertEqual(set(statuses), {4}, said)
        self.assertEqual(set(said), {"mismatch: rank 2 (host h2) does not use TLS, but rank 0 does; "
                                     "all ranks must, or none\n"})
        self.assertLess(time.monotonic() - self.begin, PATIENCE / 2)


class CostModels(Hosts):
    """The costs for choices of algorithms."""

    def explained(self, text, rate):
        """The common output of all ranks if rank 0 sends at this rate. A network may look slower than it is while
        other programs run, so one of several attempts must be right."""
        cluster.shape("eth0", rate, "h0")
        self.addCleanup(cluster.shape, "eth0", cluster.RATE, "h0")
        for _ in range(5):
            statuses, said = self.world(["h0", "h0", "h1", "h2"], "explain").run()
            self.assertEqual(set(statuses), {0}, said)
            self.assertEqual(len(set(said)), 1, said)
            if text in said[0]:
                return
        self.assertIn(text, said[0])

    def test_a_network_is_measured(self):
        self.explained("at 25.0 us per message, 8.000 ns per byte moved, 0.050 ns per byte "
                       "reduced, measured: 1 Gbit/s between hosts; within a host ", "1gbit")

    def test_a_slow_network_is_measured(self):
        self.explained("80.000 ns per byte moved, 0.050 ns per byte reduced, "
                       "measured: 100 Mbit/s between hosts; within a host ", "100mbit")

    def test_hierarchies_are_candidates_where_ranks_share_a_host(self):
        self.explained("  hierarchical(circulant, ring):groups=2+1+1: ", "1gbit")

    def described(self, network, text=None):
        """The output of ranks, and their statuses, if rank 0 gets a network, or a file."""
        if text is not None:
            network = self.folder / network
            network.write_text(text, encoding="utf-8")
        return self.world(["h0", "h0", "h1", "h2"], "explain", TUTTI_TOPOLOGY=str(network)).run()

    def test_a_network_that_is_described_is_chosen_by(self):
        statuses, said = self.described("fat_tree:2x2")
        self.assertEqual(set(statuses), {0}, said)
        self.assertEqual(len(set(said)), 1, said)
        self.assertIn("at the speeds of network fat_tree:2x2", said[0])

    def test_hosts_are_found_in_a_file(self):
        hosts = ["h0", "h1", "h2"]
        links = [{"from": host, "to": "s"} for host in hosts]
        text = json.dumps({"hosts": hosts, "switches": ["s"], "links": links})
        statuses, said = self.described("net", text)
        self.assertEqual(set(statuses), {0}, said)
        self.assertRegex(said[0], "at the speeds of network /.*net")
        for wrong, words in [(text.replace("h1", "other"), "there is no host h1 in that network"),
                             (text[:40], "net: it is not JSON: .*line 1, column")]:
            statuses, said = self.described("net", wrong)
            self.assertNotIn(0, statuses, said)
            for told in said:
                self.assertRegex(told, words)

    def test_a_network_with_too_few_places_is_refused(self):
        statuses, said = self.described("switch:2")
        self.assertNotIn(0, statuses, said)
        for told in said:
            self.assertIn("switch:2 has places for 2 hosts, and the ranks are on 3", told)

    def test_what_cannot_be_measured_is_assumed(self):
        self.explained("assumed: 1 Gbit/s between hosts", "4mbit")


class Refusals(Hosts):
    """Worlds that do not come together. The connect deadline is 3 s."""

    def refused(self, world, told):
        """Every rank fails within its time, with the expected error."""
        statuses, said = world.finish()
        self.assertEqual(set(statuses), {4}, said)
        for rank, text in enumerate(told):
            self.assertRegex(said[rank], text)
            if said[rank].startswith("timeout: "):
                self.assertLess(members.seconds_waited(said[rank]), members.DEFAULT_WAIT / 2)

    def few(self, **variables):
        """A world of three hosts with a timeout of 3 s by default."""
        return self.world(["h0", "h1", "h2"], **{"TUTTI_TIMEOUT": "3", **variables})

    def at_once(self, process, text):
        """A rank fails long before the deadline."""
        said = process.communicate(timeout=PATIENCE)[0]
        self.assertLess(time.monotonic() - self.begin, PATIENCE / 2)
        self.assertRegex(said, text)
        return said

    def test_a_wrong_secret(self):
        world = self.few().start(0).start(1)
        intruder = self.few(TUTTI_TIMEOUT=str(PATIENCE))
        intruder.variables["TUTTI_URL"] = world.variables["TUTTI_URL"]
        intruder.start(2, TUTTI_SECRET_FILE=self.write_secret("2"))
        self.at_once(intruder.processes[0], "^mismatch: .*wrong secret")
        self.refused(world, ["^timeout: .*for rank 2 of 3; .*; refused connections: 1 wrong secret",
                             "^timeout: .*for rank 2 of 3"])

    def test_a_wrong_size(self):
        world = self.few(TUTTI_TIMEOUT=str(PATIENCE)).start(0).start(1)
        intruder = self.few(TUTTI_SIZE="4", TUTTI_TIMEOUT=str(PATIENCE))
        intruder.variables["TUTTI_URL"] = world.variables["TUTTI_URL"]
        intruder.start(2)
        self.at_once(intruder.processes[0], "^mismatch: .*counts 4 ranks, but rank 0")
        self.refused(world, 2 * ["^mismatch: rank 2 counts 4 ranks, but rank 0 .* counts 3: wrong"])

    def test_a_missing_host(self):
        world = self.few().start(0).start(1)
        self.refused(world, ["^timeout: .*for rank 2 of 3; present: 0 .host h0., 1 .host h1."] * 2)

    def test_a_rank_of_tutti_run_that_never_comes(self):
        script = f"[ $TUTTI_RANK = 2 ] && exec sleep 600; exec {worlds.MEMBER} collectives"
        done = run("-n", "4", "--hosts", "h0,h1", "sh", "-c", script, TUTTI_TIMEOUT="5")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("for rank 2 (host h1) of 4; present: 0 (host h0), 1 (host h0), 3 (host h1)",
                      done.stdout)
        # All three fail at the same time; one of them is named.
        self.assertRegex(done.stderr, r"^tutti run: host h[01]: rank [013] exited with status 4; "
                                      r"the others are ended\n$")

    def test_a_host_whose_cable_is_cut(self):
        cluster.unplug("h2")
        self.addCleanup(cluster.plug, "h2")
        world = self.few().start_all()
        self.refused(world, ["^timeout: .*for rank 2 of 3"] * 2 + ["^timeout: .*h0:"])

    def test_an_unreachable_master(self):
        for master in ("h0:9", "10.77.0.99:20000"):
            self.begin = time.monotonic()
            world = self.few()
            world.variables["TUTTI_URL"] = f"tcp://{master}"
            world.processes.append(world.start(1).processes.pop())
            self.refused(world, [f"^timeout: .*{master}"])

    def test_a_network_without_a_secret(self):
        world = self.few(TUTTI_SECRET_FILE="", TUTTI_TIMEOUT=str(PATIENCE))
        self.at_once(world.start(0).processes[0], "^invalid_argument: .*without a secret")


class Failures(Hosts):
    """Worlds that lose a host."""

    def test_every_survivor_blames_the_dead(self):
        hosts = ["h0", "h0", "h1", "h2", "h3"]
        statuses, said = self.world(hosts, "survive").run()
        self.assertEqual(statuses, [0] * 4 + [-signal.SIGKILL], said)
        for rank, text in enumerate(said[:4]):
            match = re.match(rf"rank {rank} knew after ([-0-9.]+) ms: peer_dead, culprit 4: "
                             r"rank 4 \(host h3\) has ended", text)
            self.assertTrue(match, text)

    def check_partition(self, spoil):
        """All fail by the heartbeat deadline, and each side blames the other."""
        hosts = ["h0", "h0", "h1", "h2", "h3"]
        for rank, (_, cause, culprit, text) in enumerate(self.lose(hosts, "h3", spoil)):
            self.assertEqual(cause, "peer_dead", text)
            if rank < 4:
                self.assertEqual(culprit, 4, text)
                self.assertIn("(host h3) has sent no message for 1000 ms", text)
            else:
                self.assertNotEqual(culprit, 4, text)

    def test_a_cable_that_swallows_everything(self):
        self.check_partition(cluster.unplug)

    def test_a_link_that_goes_down(self):
        self.addCleanup(cluster.restore, "h3")
        self.check_partition(cluster.cut)


class Campaigns(Hosts):
    """Many deaths and partitions, at random moments, of two hosts with two ranks each."""
    HOSTS = ["h0", "h0", "h1", "h1"]

    def test_deaths(self):
        """All fail at once, on the host of the dead rank and on the other, and blame it."""
        near, far = [], []
        for trial in range(100):
            chance = random.Random(trial)
            victim = chance.randrange(4)
            world = self.enduring(self.HOSTS)
            time.sleep(chance.uniform(0, 0.1))
            killed = time.monotonic()
            world.processes[victim].kill()
            reports = self.reports(world, killed)
            self.assertEqual(len(reports), 3, reports)
            self.assertEqual(len({report[1:] for report in reports}), 1, reports)
            self.assertEqual(reports[0][1:3], ("peer_dead", victim))
            self.assertRegex(reports[0][3], rf"^rank {victim} \(host h{victim // 2}\) has ended")
            survivors = [rank for rank in range(4) if rank != victim]
            for rank, report in zip(survivors, reports):
                (near if rank // 2 == victim // 2 else far).append(report[0] * 1e3)
        members.judge(self, "deaths on the own host:", near, members.AT_ONCE)
        members.judge(self, "deaths on another host:", far, 1000)

    def test_partitions(self):
        """Both sides fail half a second after the heartbeat deadline, and blame the other."""
        for name, spoil, mend in (("swallowed", cluster.unplug, cluster.plug),
                                  ("down", cluster.cut, cluster.restore)):
            delays = []
            for _ in range(50):
                reports = self.lose(self.HOSTS, "h1", spoil)
                mend("h1")
                self.assertEqual(len(reports), 4, reports)
                for side, host, others in ((reports[:2], "h1", (2, 3)),
                                           (reports[2:], "h0", (0, 1))):
                    self.assertEqual(len({report[1:] for report in side}), 1, side)
                    self.assertEqual(side[0][1], "peer_dead", side)
                    self.assertIn(side[0][2], others, side)
                    self.assertIn(f"(host {host}) has sent no message for 1000 ms", side[0][3])
                    delays += [report[0] * 1e3 for report in side]
            members.judge(self, f"link {name}:", delays, 1500)


if __name__ == "__main__":
    worlds.TUTTI = sys.argv.pop()
    worlds.MEMBER = sys.argv.pop()
    unittest.main()
