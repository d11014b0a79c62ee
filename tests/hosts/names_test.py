#!/usr/bin/env python3
"""How hosts are found: cluster.py 4 names_test.py MEMBER TUTTI.

Each process sees an /etc/hosts of its own test, in a mount namespace.
"""
import re
import subprocess
import sys
import threading
import time
import unittest

import cluster
import worlds
from worlds import Hosts, PATIENCE

import members  # isort: skip; worlds says where


def address_of(host):
    """The address of a host."""
    return cluster.address(int(host[1:]))


class Names(Hosts):
    """Names of hosts: the addresses, the time of the look-up, and errors if no rank is found."""

    def names(self, **lines):
        """A file for /etc/hosts. Returns its path."""
        path = self.folder / f"names{len(list(self.folder.iterdir()))}"
        self.write_names(path, **lines)
        return path

    @staticmethod
    def write_names(path, **lines):
        """Hosts and their addresses, in the order given."""
        text = "127.0.0.1 localhost\n"
        for host, addresses in lines.items():
            text += "".join(f"{address} {host}\n" for address in addresses)
        path.write_text(text, encoding="utf-8")

    def as_debian(self, world):
        """Each host looks up its own name at 127.0.1.1."""
        for host in set(world.hosts):
            lines = {other: [address_of(other)] for other in ("h0", "h1", "h2")}
            world.names[host] = self.names(**{**lines, host: ["127.0.1.1"]})
        return world

    def check(self, world):
        """A world starts, long before its deadline."""
        statuses, said = world.run()
        self.assertEqual(set(statuses), {0}, said)
        self.assertLess(time.monotonic() - self.begin, PATIENCE / 2)

    def refused(self, world, text):
        """All ranks get the same error, long before their default deadline."""
        statuses, said = world.finish()
        self.assertEqual(set(statuses), {4}, said)
        for words in said:
            self.assertRegex(words, text)
        self.assertLess(time.monotonic() - self.begin, PATIENCE / 2)

    @staticmethod
    def await_listener(world):
        """Waits until rank 0 of a world on h0 listens."""
        port = f":{int(world.variables['TUTTI_URL'].rpartition(':')[2]):04X} "
        while port not in subprocess.run(cluster.on("h0", ["cat", "/proc/net/tcp"]), text=True,
                                         stdout=subprocess.PIPE, check=True).stdout:
            time.sleep(0.01)

    def test_the_own_name_is_a_loopback(self):
        self.check(self.as_debian(self.world(["h0", "h0", "h1"])))

    def test_the_own_name_is_a_loopback_under_torchrun(self):
        world = self.as_debian(self.world(["h0", "h0", "h1", "h2"]))
        port = world.variables.pop("TUTTI_URL").rpartition(":")[2]
        size = world.variables.pop("TUTTI_SIZE")
        for rank in range(4):
            world.start(rank, TUTTI_RANK="", RANK=str(rank), WORLD_SIZE=size, MASTER_ADDR="h0",
                        MASTER_PORT=port)
        self.check(world)

    def test_the_own_name_is_a_loopback_under_slurm(self):
        world = self.as_debian(self.world(["h0", "h0", "h1"]))
        world.variables.pop("TUTTI_URL")
        size = world.variables.pop("TUTTI_SIZE")
        for rank in range(3):
            world.start(rank, TUTTI_RANK="", SLURM_PROCID=str(rank), SLURM_STEP_NUM_TASKS=size,
                        SLURM_STEP_ID="0", SLURM_JOB_ID=str(4294967000 + worlds.Hosts.port % 200),
                        SLURM_STEP_NODELIST="h[0-1]")
        self.check(world)

    def test_one_host_needs_no_secret_for_its_own_name(self):
        self.check(self.as_debian(self.world(["h0", "h0"], TUTTI_SECRET_FILE="")))

    def test_an_address_is_chosen_beside_the_own_name(self):
        world = self.as_debian(self.world(["h0", "h0", "h1"]))
        world.start(0, TUTTI_ADDRESS="eth0")
        self.check(world)

    def test_every_address_of_a_name_is_tried(self):
        for nowhere in ("10.77.0.99", "192.0.2.1"):  # on the link, and behind no route
            for addresses in ([nowhere, address_of("h0")], [address_of("h0"), nowhere]):
                self.begin = time.monotonic()
                world = self.world(["h0", "h0", "h1"])
                names = self.names(h0=addresses)
                world.names = {host: names for host in world.hosts}
                self.check(world)

    def listen_as_another_program(self, host, port):
        """A program on a host answers each connection with bytes of no meaning."""
        listen = ("import socket, sys\n"
                  f"server = socket.create_server(('{address_of(host)}', {port}))\n"
                  "print('here', flush=True)\n"
                  "while True:\n"
                  "    server.accept()[0].sendall(bytes(200))\n")
        other = subprocess.Popen(cluster.on(host, [sys.executable, "-c", listen]),
                                 stdout=subprocess.PIPE, text=True)
        self.addCleanup(other.stdout.close)
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        self.assertEqual(other.stdout.readline(), "here\n")

    def test_what_listens_at_one_address_may_be_something_else(self):
        for rank_0_is_late in (False, True):
            self.begin = time.monotonic()
            world = self.world(["h0", "h1"])
            self.listen_as_another_program("h2", world.variables["TUTTI_URL"].rpartition(":")[2])
            world.names["h1"] = self.names(h0=[address_of("h2"), address_of("h0")])
            if rank_0_is_late:
                world.start(1)
                time.sleep(1)
                world.processes.insert(0, world.start(0).processes.pop())
            self.check(world)

    def test_what_listens_at_every_address_is_something_else(self):
        world = self.world(["h0", "h1"])
        world.names["h1"] = self.names(h0=[address_of("h2"), address_of("h3")])
        for host in ("h2", "h3"):
            self.listen_as_another_program(host, world.variables["TUTTI_URL"].rpartition(":")[2])
        world.processes.append(world.start(1).processes.pop())
        self.refused(world, "^mismatch: the program that answers as rank 0 .* does not use tutti's protocol")

    def test_an_address_goes_while_something_else_listens_at_the_other(self):
        world = self.world(["h0", "h1"])
        self.listen_as_another_program("h2", world.variables["TUTTI_URL"].rpartition(":")[2])
        world.names["h1"] = self.names(h0=[address_of("h2"), "10.77.0.99"])
        world.start(1)
        time.sleep(1)
        self.write_names(world.names["h1"], h0=[address_of("h2")])
        self.refused(world, "^mismatch: the program that answers as rank 0 .* does not use tutti's protocol")

    def test_a_name_becomes_known_late(self):
        for late in ({"h0"}, {"h1"}, {"h0", "h1"}):
            world = self.world(["h0", "h0", "h1"])
            for host in ("h0", "h1"):
                world.names[host] = self.names(**({} if host in late else {"h0": [address_of("h0")]}))
            timer = threading.Timer(1.5, lambda: [
                self.write_names(path, h0=[address_of("h0")]) for path in world.names.values()])
            timer.start()
            self.addCleanup(timer.join)
            self.begin = time.monotonic()
            self.check(world)
            self.assertGreater(time.monotonic() - self.begin, 1.4)

    def test_an_address_changes_while_rank_0_starts(self):
        world = self.world(["h0", "h1"])
        world.names["h1"] = self.names(h0=["10.77.0.99"])
        world.start(1)
        time.sleep(1)
        self.write_names(world.names["h1"], h0=[address_of("h0")])
        world.processes.insert(0, world.start(0).processes.pop())
        self.check(world)

    def test_a_name_that_never_becomes_known(self):
        world = self.world(["h0", "h1"], TUTTI_TIMEOUT="2")
        world.variables["TUTTI_URL"] = "tcp://nowhere:20000"
        self.refused(world.start_all(), r'^timeout: cannot look up the host "nowhere": .*, for [12](\.\d)? s')
        self.assertGreater(time.monotonic() - self.begin, 1.9)

    def test_several_hosts_without_a_secret(self):
        text = (r"^invalid_argument: .*secret.*openssl rand -hex 32 > FILE.*"
                "set TUTTI_SECRET_FILE to its path on all ranks")
        hosts = ["h0", "h0", "h1", "h2"]
        self.refused(self.world(hosts, TUTTI_SECRET_FILE="").start_all(), text)
        world = self.as_debian(self.world(hosts, TUTTI_SECRET_FILE="")).start(0)
        self.await_listener(world)
        self.begin = time.monotonic()
        self.refused(world.start_all(), text)

    def test_a_rank_0_that_comes_late_to_several_hosts_without_a_secret(self):
        world = self.as_debian(self.world(["h0", "h1"], TUTTI_SECRET_FILE="", TUTTI_TIMEOUT="2"))
        world.processes.append(world.start(1).processes.pop())
        self.refused(world, "^invalid_argument: rank 1 connects to rank 0 at .* over a network")
        world.processes = []
        self.refused(world.start(0), "^timeout: .* for rank 1 of 2; .* on other hosts need a secret: "
                     ".*TUTTI_SECRET_FILE")

    def test_an_address_that_the_host_does_not_have(self):
        world = self.world(["h1", "h0"])  # rank 0 is not on h0
        self.refused(world.start(0), "^transport: rank 0 cannot listen at tcp://h0:.* does not have "
                     r"10\.77\.0\.1:.* set TUTTI_ADDRESS .* eth0 \(10\.77\.0\.2\)")
        for address in ("eth7", "10.77.0.9"):
            self.begin = time.monotonic()
            world = self.world(["h0", "h1"])
            world.start(0, TUTTI_ADDRESS=address)
            self.refused(world, f"^invalid_argument: TUTTI_ADDRESS, .* is '{address}', but must be")

    def test_an_address_that_cannot_be_reached(self):
        """Rank 1 listens at an address to which rank 2 has no way. All ranks learn that at once, also
        rank 1, to which nobody can connect, and rank 0, to which everybody has."""
        cluster.ip("addr", "add", "172.31.0.1/24", "dev", "eth0", host="h1")
        self.addCleanup(cluster.ip, "addr", "del", "172.31.0.1/24", "dev", "eth0", host="h1")
        world = self.world(["h0", "h1", "h2"])
        world.start(0).start(1, TUTTI_ADDRESS="172.31.0.1").start(2)
        self.refused(world, "172.31.0.1:.*set TUTTI_ADDRESS on its ranks")

    def test_tutti_run_at_the_own_name(self):
        names = self.names(h0=["127.0.1.1"])
        Hosts.port += 1
        command = worlds.seeing(names, [worlds.TUTTI, "run", "-n", "2", "--url", f"tcp://h0:{Hosts.port}",
                                        worlds.MEMBER, "collectives"])
        done = subprocess.run(cluster.on("h0", command), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


class Addresses6(Hosts):
    """Numbers of IPv6."""

    def setUp(self):
        super().setUp()
        for host in range(3):
            cluster.ip("addr", "add", f"fd77::{host + 1}/64", "dev", "eth0", "nodad", host=f"h{host}")

    def tearDown(self):
        for host in range(3):
            cluster.ip("addr", "del", f"fd77::{host + 1}/64", "dev", "eth0", host=f"h{host}")
        super().tearDown()

    def test_numbers_are_printed_as_they_are_read(self):
        world = self.world(["h0", "h0", "h1"])
        port = world.variables["TUTTI_URL"].rpartition(":")[2]
        world.variables["TUTTI_URL"] = f"tcp://[fd77::1]:{port}"
        statuses, said = world.run()
        self.assertEqual(set(statuses), {0}, said)
        self.assertIn(f"tcp://[fd77::1]:{port}", said[0])
        world = self.world(["h0", "h1"], TUTTI_TIMEOUT="1")
        world.variables["TUTTI_URL"] = f"tcp://[fd77::1]:{port}"
        world.processes.append(world.start(1).processes.pop())
        statuses, said = world.finish()
        self.assertIn(f"for rank 0 at tcp://[fd77::1]:{port}", said[0])

    def test_tutti_run_on_hosts_by_numbers(self):
        agent = self.folder / "agent"
        agent.write_text("#!/bin/sh\nhost=$1\nshift\n"
                         f"exec {sys.executable} {cluster.__file__} on h$((${{host##*:}} - 1)) \"$@\"\n",
                         encoding="utf-8")
        agent.chmod(0o700)
        done = subprocess.run([worlds.TUTTI, "run", "-n", "2", "--agent", str(agent), "--hosts",
                               "fd77::1,fd77::2", worlds.MEMBER, "collectives"],
                              env=members.bare_environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(re.search(r"tcp://\[fd77::1\]:\d+", done.stdout), done.stdout)


if __name__ == "__main__":
    worlds.TUTTI = sys.argv.pop()
    worlds.MEMBER = sys.argv.pop()
    unittest.main()
