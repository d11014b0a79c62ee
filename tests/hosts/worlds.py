"""Worlds of several hosts, for hosts_test.py, which sets MEMBER and TUTTI."""
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import cluster

sys.path.append(str(pathlib.Path(__file__).parent.parent / "runtime" / "world"))
import members  # pylint: disable=wrong-import-position

MEMBER = ""
TUTTI = ""
PATIENCE = members.PATIENCE


def bytes_sent(device, host):
    """The bytes that a host has sent by a device."""
    return json.loads(cluster.ip("-s", "-j", "link", "show", device,
                                 host=host))[0]["stats64"]["tx"]["bytes"]


# Takes the ports from 20000 to 29999 until its input ends.
SQUAT = """
import resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, [resource.getrlimit(resource.RLIMIT_NOFILE)[1]] * 2)
sockets = [socket.socket() for port in range(20000, 30000)]
for port, one in enumerate(sockets, 20000):
    one.bind(("", port))
print("here", flush=True)
sys.stdin.read()
"""


def run(*arguments, **variables):
    """A finished `tutti run` whose agent reaches the hosts of the cluster."""
    agent = f"{sys.executable} {cluster.__file__} on"
    return subprocess.run([TUTTI, "run", "--agent", agent, "--env", "TUTTI_TIMEOUT", *arguments],
                          env={**members.bare_environment(), **variables}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)


def seeing(names, command):
    """The words that run a command with this file as its /etc/hosts."""
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c",
            'mount --bind "$0" /etc/hosts && exec "$@"', str(names), *command]


class World:
    """Ranks on hosts, of which each may have variables of its own."""

    def __init__(self, hosts, mode, url, **variables):
        self.hosts = hosts
        self.mode = mode
        self.variables = {"TUTTI_SIZE": str(len(hosts)), "TUTTI_URL": url, **variables}
        self.processes = []
        self.names = {}  # files to stand for /etc/hosts, by host

    def start(self, rank, **own):
        """Starts a rank."""
        environment = {**members.bare_environment(), **self.variables,
                       "TUTTI_RANK": str(rank), **own}
        host = self.hosts[rank]
        command = [MEMBER, self.mode, str(int(signal.SIGKILL))]
        if host in self.names:
            command = seeing(self.names[host], command)
        self.processes.append(subprocess.Popen(
            cluster.on(host, command), env=environment, stdout=subprocess.PIPE, text=True))
        return self

    def start_all(self, **own):
        """Starts those that are not started yet, all alike."""
        for rank in range(len(self.processes), len(self.hosts)):
            self.start(rank, **own)
        return self

    def run(self):
        """Starts all and waits for them."""
        return self.start_all().finish()

    def finish(self):
        """As members.finish."""
        return members.finish(self.processes)


class Hosts(unittest.TestCase):
    """The needs of every test: secrets, and unused ports of the first host."""
    port = 20000

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.secret = self.write_secret("1")
        self.begin = time.monotonic()

    def write_secret(self, digit):
        """A file with a secret. Returns its path."""
        path = self.folder / digit
        path.touch(mode=0o600)
        path.write_text(digit * 64, encoding="utf-8")
        return str(path)

    def world(self, hosts, mode="collectives", **variables):
        """Ranks that meet at rank 0's host."""
        Hosts.port += 1
        url = f"tcp://h0:{Hosts.port}"
        return World(hosts, mode, url, **{"TUTTI_SECRET_FILE": self.secret, "TUTTI_TIMEOUT": str(PATIENCE),
                                          **variables})

    def enduring(self, hosts):
        """A world amid collectives. Heartbeats are missed after 1 s."""
        world = self.world(hosts, "endure").start_all()
        for process in world.processes:
            self.assertEqual(process.stdout.readline(), "ready\n")
        return world

    def reports(self, world, since):
        """The ranks' errors, and the seconds until them."""
        statuses, said = world.finish()
        self.assertEqual({status for status in statuses if status != -signal.SIGKILL}, {0}, said)
        lines = [text.split(" ", 3) for text in said if text]
        return [(int(line[0]) * 1e-9 - since, line[1], int(line[2]), line[3]) for line in lines]

    def lose(self, hosts, host, spoil):
        """The ranks' errors after the loss of a host, and the seconds until them."""
        world = self.enduring(hosts)
        time.sleep(0.2)
        spoilt = time.monotonic()
        spoil(host)
        self.addCleanup(cluster.plug, host)
        return self.reports(world, spoilt)
