#!/usr/bin/env python3
"""Ranks on two hosts that an exchange of their own connects: cluster.py 4 exchange_test.py MEMBER TUTTI."""
import pathlib
import subprocess
import sys
import unittest

import cluster
import worlds
from worlds import Hosts, PATIENCE

import members  # isort: skip; worlds says where

# A rank: its number, and a folder that all ranks see.
RANK = """
import pathlib, sys, time
import tutti

class Folder:
    rounds = 0
    def Get_rank(self): return int(sys.argv[1])
    def Get_size(self): return 2
    def allgather(self, own):
        self.rounds += 1
        paths = [pathlib.Path(sys.argv[2], f"{self.rounds}.{rank}") for rank in range(2)]
        part = pathlib.Path(f"{paths[self.Get_rank()]}.part")
        part.write_bytes(own)
        part.rename(paths[self.Get_rank()])
        while not all(path.exists() for path in paths):
            time.sleep(0.01)
        return [path.read_bytes() for path in paths]

try:
    world = tutti.init(Folder())
    print(world.all_reduce(world.rank + 1), world.describe())
except tutti.Error as error:
    print(f"{type(error).__name__}: {error}")
"""


class Exchanges(Hosts):
    """Variables that ranks read although they need no meeting place."""

    def start(self, *variables):
        """The output of each of two ranks, with these variables of its own."""
        exchanged = self.folder / f"exchange{len(list(self.folder.iterdir()))}"
        exchanged.mkdir()
        packages = str(pathlib.Path(worlds.TUTTI).parent.parent / "python")
        ranks = [subprocess.Popen(cluster.on(f"h{rank}", [sys.executable, "-B", "-c", RANK, str(rank), str(exchanged)]),
                                  env={**members.bare_environment(), "PYTHONPATH": packages, **own},
                                  stdout=subprocess.PIPE, text=True) for rank, own in enumerate(variables)]
        return [rank.communicate(timeout=PATIENCE)[0] for rank in ranks]

    def check(self, text, *variables):
        """Both ranks say this."""
        for said in self.start(*variables):
            self.assertRegex(said, text)

    def test_the_secret(self):
        own = {"TUTTI_SECRET_FILE": self.secret}
        self.check("^3 2 ranks on 2 hosts by Folder, over .*TCP", own, own)
        self.check("^ArgumentError: .*without a secret .*TUTTI_SECRET_FILE", {}, {})
        self.check(r"^MismatchError: .*wrong secret, only one of them has one; set TUTTI_SECRET_FILE", own, {})
        other = {"TUTTI_SECRET_FILE": self.write_secret("2")}
        self.check("^MismatchError: .*do not share a secret: wrong secret$", own, other)
        absent = {"TUTTI_SECRET_FILE": "/no/such/file"}
        self.check("^ArgumentError: rank 1: the secret file /no/such/file cannot be opened", own, absent)

    def test_the_address(self):
        own = {"TUTTI_SECRET_FILE": self.secret, "TUTTI_ADDRESS": "eth0"}
        self.check("^3 2 ranks on 2 hosts by Folder", own, own)
        self.check("^ArgumentError: rank 0: TUTTI_ADDRESS, .* is 'eth7', but must be", {**own, "TUTTI_ADDRESS": "eth7"},
                   own)


if __name__ == "__main__":
    worlds.TUTTI = sys.argv.pop()
    worlds.MEMBER = sys.argv.pop()
    unittest.main()
