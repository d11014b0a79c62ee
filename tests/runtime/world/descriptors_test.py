#!/usr/bin/env python3
"""Worlds of ranks that may open few files: descriptors_test.py MEMBER

MEMBER is the program of member.cpp. What is open before a world starts is the same in all processes,
so that limits can be counted from there.
"""
import os
import resource
import subprocess
import sys
import tempfile
import time
import unittest

import members

N = 3
ODD = 1  # the rank whose limit is low


class Descriptors(unittest.TestCase):
    """Soft and hard limits of one rank."""
    member = ""

    def start(self, url, soft, hard, transport="auto"):
        """Runs a world. Returns statuses, what was said, and the seconds it took."""
        begin = time.monotonic()
        limits = (soft, hard)
        ranks = []
        for rank in range(N):
            def limit(rank=rank):
                if rank == ODD:
                    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            variables = {**members.bare_environment(), "TUTTI_URL": url, "TUTTI_RANK": str(rank),
                         "TUTTI_SIZE": str(N), "TUTTI_TIMEOUT": str(members.PATIENCE)}
            ranks.append(subprocess.Popen([self.member, "sum", "1", transport], text=True,
                                          stdout=subprocess.PIPE, env=variables, preexec_fn=limit))
        statuses, said = members.finish(ranks)
        return statuses, said, time.monotonic() - begin

    def places(self, folder):
        """One of each kind."""
        return [f"unix://descriptors-{os.getpid()}", f"tcp://127.0.0.1:{members.free_port()}",
                f"file://{folder}/world"]

    def test_the_soft_limit_is_raised(self):
        with tempfile.TemporaryDirectory() as folder:
            for url in self.places(folder):
                statuses, said, _ = self.start(url, 7, 200)
                self.assertEqual(statuses, [0] * N, (url, said))

    def test_a_hard_limit_is_told_to_all_as_that_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            for transport in ("auto", "tcp"):
                for limit in (9, 11):
                    for url in self.places(folder):
                        statuses, said, seconds = self.start(url, limit, limit, transport)
                        self.assertEqual(statuses, [4] * N, (limit, url, said))
                        self.assertEqual(len(set(said)), 1, (limit, url, said))
                        self.assertRegex(said[0], rf"^transport: rank {ODD} \(host .*\) has too few "
                                         rf"file descriptors for a world of {N} ranks: \d+ are "
                                         rf"needed .*`ulimit -n` allows {limit}; raise it$")
                        self.assertLess(seconds, members.PATIENCE / 2, (limit, url))

    def test_no_peer_is_blamed_whatever_the_limit(self):
        for limit in range(5, 40):
            url = f"unix://descriptors-{os.getpid()}-{limit}"
            statuses, said, _ = self.start(url, limit, limit)
            if statuses == [0] * N:
                return
            self.assertEqual(statuses, [4] * N, (limit, said))
            for words in said:
                self.assertRegex(words, rf"^transport: rank {ODD} \(host .*\) has (no|too few) file "
                                 "descriptors", (limit, said))
        self.fail("no limit was enough")


if __name__ == "__main__":
    Descriptors.member = sys.argv.pop()
    unittest.main()
