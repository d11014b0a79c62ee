#!/usr/bin/env python3
"""Exports tuning files, and lets an MPI load one: export_test.py TUTTI MPIRUN

MPIRUN is Open MPI's, or empty where there is none.
"""

import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

MPIRUN = sys.argv.pop()
TUTTI = sys.argv.pop()


def cell(size, algorithm, median, segment=0):
    """One measured choice, known to a tenth of a microsecond."""
    return {"bytes": size, "algorithm": algorithm, "segment_bytes": segment, "median_us": median,
            "low_us": median - 0.1, "high_us": median + 0.1}


def table(collective, cells, ranks=4, transport="shm"):
    """What was measured in one place."""
    return {"collective": collective, "ranks": ranks, "hosts": 1, "transport": transport,
            "buffers": "private", "cells": cells,
            "rules": [{"from_bytes": 0, "algorithm": cells[0]["algorithm"], "segment_bytes": 0}]}


# The fastest has no counterpart in any library; the next one is the ring, then recursive doubling.
ALL_REDUCE = table("all_reduce", [
    cell(64, "one_shot", 1), cell(64, "ring", 2), cell(64, "recursive_doubling", 3),
    cell(65536, "ring", 20), cell(65536, "recursive_doubling", 10)])
BROADCAST = table("broadcast", [cell(64, "binomial", 1), cell(1 << 20, "chain", 5, 131072),
                                cell(1 << 20, "binomial", 9)])
ALL_GATHER = table("all_gather", [cell(4096, "bruck:k=2", 1), cell(65536, "ring", 5)])


class Export(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name, "tuning.json")

    def export(self, to, *tables, arguments=()):
        """Status, text, complaints."""
        self.path.write_text(json.dumps({
            "format": "tutti-tuning", "version": 1, "machine": {"processor": "any", "cores": 1},
            "costs": [], "tables": tables}))
        done = subprocess.run([TUTTI, "export", str(self.path), "--to", to, *arguments], text=True,
                              capture_output=True, check=False, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def text(self, to, *tables):
        """Of a file that can be exported."""
        code, text, said = self.export(to, *tables)
        self.assertEqual(code, 0, said)
        return text

    def test_open_mpi_reads_numbers(self):
        text = self.text("openmpi", BROADCAST, ALL_REDUCE)
        words = [line.split("#")[0].split() for line in text.splitlines()]
        self.assertEqual(words, [["2"],
                                 ["2"], ["1"], ["4"], ["2"],
                                 ["0", "4", "0", "0"], ["2048", "3", "0", "0"],
                                 ["7"], ["1"], ["4"], ["2"],
                                 ["0", "6", "0", "0"], ["8192", "3", "0", "131072"]])

    def test_open_mpi_6_reads_json(self):
        known = json.loads(self.text("openmpi6", ALL_REDUCE, table("all_reduce", [
            cell(64, "ring", 1)], ranks=8)))
        self.assertEqual((known["rule_file_version"], known["module"]), (3, "tuned"))
        self.assertEqual(known["collectives"]["allreduce"], [
            {"comm_size_min": 4, "comm_size_max": 4, "rules": [
                {"msg_size_min": 0, "msg_size_max": 2047, "alg": "ring"},
                {"msg_size_min": 2048, "msg_size_max": "inf", "alg": "recursive_doubling"}]},
            {"comm_size_min": 8, "comm_size_max": 8, "rules": [
                {"msg_size_min": 0, "msg_size_max": "inf", "alg": "ring"}]}])

    def test_intel_mpi_reads_variables(self):
        text = self.text("intel", ALL_REDUCE, ALL_GATHER)
        variables = dict(re.findall(r'^export (\w+)="(.*)"$', text, re.MULTILINE))
        self.assertEqual(variables, {
            "I_MPI_ADJUST_ALLREDUCE": "8:0-2047@4-4;1:2048-2147483647@4-4",
            # a rank's own block counts
            "I_MPI_ADJUST_ALLGATHER": "2:0-4095@4-4;3:4096-2147483647@4-4"})

    def test_ucc_reads_a_string(self):
        self.assertIn('UCC_TL_UCP_TUNE="allgather:0-16384:[4-4]:inf:@bruck'
                      '#allgather:16384-inf:[4-4]:inf:@ring"', self.text("ucc", ALL_GATHER))

    def test_nccl_reads_lines(self):
        text = self.text("nccl", table("all_reduce", [cell(64, "double_binary_tree", 1),
                                                      cell(65536, "ring", 5)]))
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        self.assertEqual(list(csv.reader(lines)), [
            ["allreduce", "0", "2047", "tree", "simple", "-1", "1", "4"],
            ["allreduce", "2048", "4294967295", "ring", "simple", "-1", "1", "4"]])

    def test_says_what_is_left_out(self):
        only_ours = table("all_reduce", [cell(64, "one_shot", 1)])
        code, text, said = self.export("openmpi", only_ours, BROADCAST)
        self.assertEqual((code, "allreduce" in text), (0, False))
        self.assertIn("left out all_reduce on 4 ranks", said)

    def test_refuses(self):
        over_tcp = table("all_reduce", [cell(64, "ring", 1)], transport="tcp")
        for to, tables, arguments, words in [
                ("opnmpi", [ALL_REDUCE], [], "did you mean openmpi?"),
                ("openmpi", [], [], "has nothing to export"),
                ("openmpi", [ALL_REDUCE, over_tcp], [], "measured over shm and tcp"),
                ("openmpi", [ALL_REDUCE], ["--transport", "mpi"], "nothing to export over mpi"),
                ("openmpi", [ALL_REDUCE], ["--buffers", "hidden"], "choose from private, visible"),
                ("openmpi", [{"collective": "all_reduce"}], [], '/tables/0: "ranks" is missing')]:
            code, text, said = self.export(to, *tables, arguments=arguments)
            self.assertEqual((code, text), (2, ""), said)
            self.assertIn(words, said)
        self.assertEqual(self.export("openmpi", over_tcp, ALL_REDUCE,
                                     arguments=["--transport", "tcp"])[0], 0)
        code, _, said = self.export("openmpi", ALL_REDUCE, arguments=["-o", "/dev/null/file"])
        self.assertEqual((code, "cannot write" in said), (4, True), said)

    @unittest.skipIf(not MPIRUN, "no Open MPI")
    def test_open_mpi_does_as_the_file_says(self):
        rules = pathlib.Path(self.folder.name, "rules")
        rules.write_text(self.text("openmpi", ALL_REDUCE))
        for size, partners in [(64, {2}), (65536, {0, 3})]:
            counts = self.messages_of_rank_1(rules, size)
            busy = {peer for peer, count in counts.items() if count > max(counts.values()) / 2}
            self.assertEqual(busy, partners, counts)

    def messages_of_rank_1(self, rules, size):
        """How many messages it sends to whom, as Open MPI itself counts them."""
        monitored = os.path.join(self.folder.name, "messages")
        parameters = {"coll_tuned_use_dynamic_rules": "1",
                      "coll_tuned_dynamic_rules_filename": str(rules),
                      "pml_monitoring_enable": "2", "pml_monitoring_enable_output": "3",
                      "pml_monitoring_filename": monitored}
        words = [word for name, value in parameters.items() for word in ("--mca", name, value)]
        done = subprocess.run([MPIRUN, "-n", "4", *words, TUTTI, "sweep", "-C", "all_reduce", "-a",
                               "native", "-b", str(size), "-e", str(size), "-n", "100", "-w", "1",
                               "--transport", "shm"], capture_output=True, text=True, check=False,
                              timeout=100, env={**os.environ, "TUTTI_TUNING": "none"})
        self.assertEqual(done.returncode, 0, done.stderr)
        text = pathlib.Path(monitored + ".1.prof").read_text()
        sent = re.findall(r"^I\t1\t(\d+)\t\d+ bytes\t(\d+) msgs", text, re.MULTILINE)
        return {int(peer): int(count) for peer, count in sent}


if __name__ == "__main__":
    unittest.main()
