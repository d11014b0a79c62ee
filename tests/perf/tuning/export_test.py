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
import unittest

from exports import ALL_GATHER, ALL_REDUCE, BROADCAST, REDUCE, REDUCE_SCATTER, ExportCase, cell, table
from read_exported import READERS

MPIRUN = sys.argv.pop()
TUTTI = ExportCase.tutti = sys.argv.pop()
COMPARE = pathlib.Path(__file__).parents[3] / "perf" / "studies" / "compare_exported.py"


class Export(ExportCase):
    def text(self, to, *tables):
        """A file that can be exported."""
        code, text, said = self.export(to, *tables)
        self.assertEqual(code, 0, said)
        return text

    def test_open_mpi_reads_numbers(self):
        text = self.text("openmpi", BROADCAST, ALL_REDUCE)
        words = [line.split("#")[0].split() for line in text.splitlines()]
        below, above = ([[ranks], ["1"], ["0", "0", "0", "0"]] for ranks in "05")  # Open MPI's choice
        self.assertEqual(words, [["2"],
                                 ["2"], ["3"], *below, ["4"], ["2"],
                                 ["0", "4", "0", "0"], ["2048", "3", "0", "0"], *above,
                                 ["7"], ["3"], *below, ["4"], ["2"],
                                 ["0", "6", "0", "0"], ["8192", "3", "0", "131072"], *above])

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

    def test_open_mpi_6_knows_the_words(self):
        known = json.loads(self.text("openmpi6", ALL_GATHER, BROADCAST, REDUCE_SCATTER))
        chosen = {name: [rule for table in tables for rule in table["rules"]]
                  for name, tables in known["collectives"].items()}
        self.assertEqual(set(chosen), {"allgather", "bcast", "reduce_scatter_block"})
        self.assertEqual(chosen["allgather"][0]["alg"], "bruck-k-fanout")  # "bruck" until 5.0
        self.assertEqual(chosen["bcast"][1]["seg_size"], 131072)

    def test_mpich_reads_a_tree(self):
        tree = json.loads(self.text("mpich", ALL_REDUCE, table("all_reduce", [
            cell(65536, "rabenseifner", 1)], ranks=8)))["collective=allreduce"]
        self.assertEqual(list(tree), ["comm_size<=3", "comm_size<=4", "comm_size<=7", "comm_size<=8",
                                      "comm_size=any"])
        self.assertEqual(tree["comm_size<=3"], tree["comm_size<=7"])
        one = {"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}}
        between = {"algorithm=MPIR_Allreduce_inter_reduce_exchange_bcast": {}}
        self.assertEqual(tree["comm_size<=4"], {"comm_type=inter": between,
                                                "comm_size=any": {"comm_size=any": one}})
        # with what an algorithm needs
        self.assertEqual(list(tree["comm_size<=8"]["comm_size=any"].items()), [
            ("is_op_built_in=no", one), ("count<pow2", one),
            ("comm_size=any", {"algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather": {}})])

    def test_mpich_sees_sizes_of_two_kinds(self):
        tree = json.loads(self.text("mpich", REDUCE, ALL_GATHER, table("all_to_all", [
            cell(4096, "bruck:k=2", 1), cell(65536, "pairwise", 5)])))
        for collective, conditions in [
                ("reduce", ["comm_type=inter", "avg_msg_size<=2047", "comm_size=any"]),
                ("allgather", ["comm_type=inter", "total_msg_size<=16383", "comm_size=any"]),
                ("alltoall", ["comm_type=inter", "is_sendbuf_inplace=yes", "total_msg_size<=16383",
                              "comm_size=any"])]:
            self.assertEqual(list(tree["collective=" + collective]["comm_size<=4"]), conditions)

    def test_mpich_5_has_more(self):
        for to, barrier, names in [
                ("mpich", "dissemination", {"recursive_doubling"}),
                ("mpich5", "k_dissemination", {"recursive_doubling", "ring"})]:
            text = self.text(to, ALL_REDUCE, BROADCAST)
            self.assertIn(f"MPIR_Barrier_intra_{barrier}\"", text)
            tuned = json.dumps(json.loads(text)["collective=allreduce"]["comm_size<=4"])
            self.assertEqual(set(re.findall(r"MPIR_Allreduce_intra_(\w+)", tuned)), names)
        chain = json.loads(text)["collective=bcast"]["comm_size<=4"]["comm_size=any"]
        told = chain["comm_size=any"]["algorithm=MPIR_Bcast_intra_pipelined_tree"]
        self.assertEqual(set(told), {"tree_type=kary", "k=1", "is_non_blocking=1",
                                     "recv_pre_posted=0", "chunk_size=131072"})

    def test_mpich_always_finds_something(self):
        """Its integers have 32 bits; conditions end with one that holds always."""
        huge = table("broadcast", [cell(64, "binomial", 1), cell(1 << 33, "scatter_all_gather", 1)])
        for to in "mpich", "mpich5":
            tree = json.loads(self.text(to, ALL_REDUCE, REDUCE, BROADCAST, REDUCE_SCATTER))
            self.assertEqual(len(tree), 44)  # 17 collectives and 5 of neighbours, and nonblocking
            for branch in tree.values():
                self.ends_well(branch)
            tree = json.loads(self.text(to, huge))["collective=bcast"]["comm_size<=4"]
            self.assertRegex(json.dumps(tree), "MPIR_Bcast_intra_binomial")
            for number in re.findall(r"<=(\d+)", json.dumps(tree)):
                self.assertLess(int(number), 2**31)

    def ends_well(self, branch):
        """Whether each way leads to an algorithm, and thresholds rise."""
        if list(branch)[0].startswith("algorithm="):
            return
        self.assertRegex(list(branch)[-1], "=any$")
        sizes = [int(key.split("<=")[1]) for key in branch if "msg_size<=" in key]
        self.assertEqual(sizes, sorted(sizes))
        for inner in branch.values():
            self.ends_well(inner)

    def test_open_mpi_does_not_ask_for_blocks(self):
        text = self.text("openmpi", table("gather", [cell(64, "linear:k=4", 1),
                                                     cell(64, "direct", 2)]))
        self.assertIn("0 1 0 0 # basic_linear", text)

    def test_intel_mpi_reads_variables(self):
        text = self.text("intel", ALL_REDUCE, ALL_GATHER)
        variables = dict(re.findall(r'^export (\w+)="(.*)"$', text, re.MULTILINE))
        self.assertEqual(variables, {
            "I_MPI_ADJUST_ALLREDUCE": "8:0-2047;1:2048-2147483647",
            # a rank's own block counts
            "I_MPI_ADJUST_ALLGATHER": "2:0-4095;3:4096-2147483647"})

    def test_intel_mpi_has_one_number_of_ranks(self):
        eight = table("all_reduce", [cell(64, "ring", 1)], ranks=8)
        code, text, said = self.export("intel", ALL_REDUCE, eight)
        self.assertEqual((code, text), (2, ""))
        self.assertIn("measured on 4 and 8 ranks", said)
        code, text, said = self.export("intel", ALL_REDUCE, eight, arguments=["--ranks", "8"])
        self.assertEqual(code, 0, said)
        self.assertIn('I_MPI_ADJUST_ALLREDUCE="8:0-2147483647"', text)

    def test_ucc_reads_a_string(self):
        self.assertIn('UCC_TL_UCP_TUNE="allgather:0-16384:[4-4]:inf:@bruck'
                      '#allgather:16384-inf:[4-4]:inf:@ring"', self.text("ucc", ALL_GATHER))

    def test_ucc_counts_a_block_of_a_reduce_scatter(self):
        self.assertIn('"reduce_scatter:0-512:[4-4]:inf:@knomial'
                      '#reduce_scatter:512-inf:[4-4]:inf:@ring"', self.text("ucc", REDUCE_SCATTER))

    def test_ucc_calls_it_srg(self):
        text = self.text("ucc", table("reduce", [cell(64, "reduce_scatter_gather", 1)]))
        self.assertRegex(text, r"@srg\b(?!_)")

    def nccl(self, *tables):
        """Rows of the plugin's file."""
        lines = self.text("nccl", *tables).splitlines()
        return list(csv.reader(line for line in lines if not line.startswith("#")))

    def test_nccl_reads_lines(self):
        most = str(2**63 - 1)
        rows = self.nccl(table("all_reduce", [cell(64, "double_binary_tree", 1),
                                              cell(1 << 20, "ring", 5)]))
        own = [row for row in rows if row[-1] == "4"]
        self.assertEqual(rows[:len(own)], own)  # the first that fits counts
        self.assertEqual(own, [
            ["allreduce", "0", "8191", "tree", "ll", "0", "1", "4"],
            ["allreduce", "8192", "65535", "ring", "ll", "0", "1", "4"],
            ["allreduce", "65536", most, "ring", "simple", "0", "1", "4"]])

    def test_nccl_has_its_channels_and_no_unknown_words(self):
        """With -1, or where no row fits, the plugin gives one channel; words unknown to it become
        allreduce, ring and simple."""
        rows = self.nccl(table("all_gather", [cell(64, "pat:a=8", 1), cell(1 << 20, "ring", 5)]))
        self.assertEqual({row[5] for row in rows}, {"0"})
        names = {"allreduce", "broadcast", "reduce", "allgather", "reducescatter"}
        for name in names:
            fits_all = [row for row in rows if row[0] == name and row[6:] == ["-1", "-1"]]
            self.assertEqual(fits_all[0][1], "0")
            self.assertEqual(int(fits_all[0][2]) + 1, int(fits_all[1][1]))
            self.assertEqual(fits_all[-1][2], str(2**63 - 1))
        self.assertEqual({row[0] for row in rows}, names)
        for row in rows:
            self.assertIn(tuple(row[3:5]), {("ring", "ll"), ("ring", "simple"), ("pat", "simple")})

    def test_an_algorithm_with_other_parameters_is_another_one(self):
        cells = [cell(64, "bruck:k=4", 1), cell(64, "bruck:k=2", 2), cell(64, "ring", 3)]
        for to, name in [("openmpi6", "bruck-k-fanout"), ("mpich", "brucks"),
                         ("mpich5", "k_brucks")]:
            self.assertIn(name, self.text(to, table("all_gather", cells)))
        self.assertIn('"ring"', self.text("openmpi6", table("all_gather", [cells[0], cells[2]])))
        tree = json.loads(self.text("mpich", table("all_gather", [cells[0], cells[2]])))
        self.assertEqual(tree["collective=allgather"]["comm_size<=4"]["comm_size=any"],
                         {"comm_size=any": {"algorithm=MPIR_Allgather_intra_ring": {}}})

    def test_exports_only_what_is_asked_for(self):
        code, text, said = self.export("intel", ALL_REDUCE, BROADCAST, ALL_GATHER,
                                       arguments=["-C", "broadcast,all_gather"])
        self.assertEqual((code, re.findall(r"ADJUST_(\w+)", text)), (0, ["BCAST", "ALLGATHER"]), said)

    def test_says_what_is_left_out(self):
        only_ours = table("all_reduce", [cell(64, "one_shot", 1)])
        code, text, said = self.export("openmpi", only_ours, BROADCAST)
        self.assertEqual((code, "allreduce" in text), (0, False))
        self.assertIn("left out all_reduce on 4 ranks", said)

    def test_leaves_sizes_without_a_counterpart(self):
        """In each format, sizes of which nothing that was measured is there have the library's own choice, at
        either end and in the middle, and are reported."""
        known = {"openmpi": ("ring", 4), "openmpi6": ("ring", "ring"), "mpich": ("rabenseifner", "reduce_scatter_allgather"),
                 "mpich5": ("ring", "ring"), "intel": ("ring", 8), "ucc": ("rabenseifner", "sra_knomial"),
                 "nccl": ("ring", "ring")}  # fmt: skip
        sizes = [64 << 2 * i for i in range(8)]  # to a megabyte
        other = table("all_gather", [cell(64, "ring", 1)])
        for to, (ours, theirs) in known.items():
            for missing in ([0], [7], [3, 4], [0, 1, 5], [0, 2, 4, 6], range(8)):
                cells = [cell(size, "one_shot" if i in missing else ours, 5) for i, size in enumerate(sizes)]
                code, text, said = self.export(to, table("all_reduce", cells), other)
                self.assertEqual(code, 0, said)
                nothing = self.text(to, other)
                reported = re.findall(r"left out all_reduce on 4 ranks(?: (?:up|from).*?)?: no (?:measured )?algorithm", said)
                gaps = [i for i in missing if i - 1 not in missing]
                if to == "intel":  # which has no rule that leaves a size
                    missing, gaps = range(8), [0]
                self.assertEqual(len(reported), len(gaps), (to, said))
                for i, size in enumerate(sizes):
                    for near in size, size // 2 + 1, 2 * size - 1:  # up to the boundaries
                        own = READERS[to](nothing, "allreduce", 4, near)
                        self.assertEqual(READERS[to](text, "allreduce", 4, near),
                                         own if i in missing else theirs, (to, near, text))

    def test_leaves_a_broadcast_that_only_tutti_has(self):
        cells = [cell(1024, "chain", 1), cell(1024, "binomial", 2), *(cell(1 << i, "bine", 1) for i in (14, 16, 20))]
        for to, theirs in [("openmpi", 3), ("openmpi6", "pipeline")]:
            code, text, said = self.export(to, table("broadcast", cells))
            self.assertEqual(code, 0, said)
            self.assertIn("left out broadcast on 4 ranks from 4096 bytes on: no measured algorithm has a "
                          "counterpart there, so the library decides", said)
            found = [READERS[to](text, "bcast", 4, size) for size in (0, 1024, 4095, 4096, 1 << 16, 1 << 30)]
            self.assertEqual(found, [theirs] * 3 + [None] * 3)
        code, text, said = self.export("intel", table("broadcast", cells), ALL_REDUCE)
        self.assertEqual((code, READERS["intel"](text, "bcast", 4, 1024)), (0, None), said)
        self.assertIn("left out broadcast on 4 ranks: no algorithm that was measured from 4096 bytes on has a "
                      "counterpart there, and no rule leaves sizes to the library", said)

    def test_leaves_other_numbers_of_ranks(self):
        ranks = (1, 2, 3, 4, 5, 6, 7, 8, 9, 100)
        for to, ours in ("openmpi", "ring"), ("openmpi6", "ring"), ("ucc", "rabenseifner"), ("nccl", "ring"):
            text = self.text(to, *(table("all_reduce", [cell(64, ours, 1)], ranks=n) for n in (4, 5, 8)))
            found = [n for n in ranks if READERS[to](text, "allreduce", n, 64) is not None]
            self.assertEqual(found, [4, 5, 8], to)

    def test_mpich_names_no_sizes_of_a_gather(self):
        for collective in "gather", "scatter":
            cells = [cell(64, "binomial", 1), cell(1 << 20, "bine", 1)]
            code, text, said = self.export("mpich", table(collective, cells), REDUCE)
            self.assertEqual((code, json.loads(text)), (0, json.loads(self.text("mpich", REDUCE))))
            self.assertIn(f"left out {collective} on 4 ranks: the fastest algorithm depends on the size", said)

    def test_refuses(self):
        over_tcp = table("all_reduce", [cell(64, "ring", 1)], transport="tcp")
        for to, tables, arguments, words in [
                ("opnmpi", [ALL_REDUCE], [], "did you mean openmpi?"),
                ("openmpi", [], [], "has nothing to export"),
                ("openmpi", [ALL_REDUCE, over_tcp], [], "measured over shm and tcp"),
                ("openmpi", [ALL_REDUCE], ["--transport", "mpi"], "nothing to export over mpi"),
                ("openmpi", [ALL_REDUCE], ["--buffers", "hidden"], "choose from private, visible"),
                ("openmpi", [ALL_REDUCE], ["-C", "broadcast"], "nothing to export"),
                ("openmpi", [ALL_REDUCE], ["--ranks", "5"], "nothing to export"),
                ("openmpi", [{"collective": "all_reduce"}], [], '/tables/0: "ranks" is missing')]:
            code, text, said = self.export(to, *tables, arguments=arguments)
            self.assertEqual((code, text), (2, ""), said)
            self.assertIn(words, said)
        self.assertEqual(self.export("openmpi", over_tcp, ALL_REDUCE,
                                     arguments=["--transport", "tcp"])[0], 0)
        code, _, said = self.export("openmpi", ALL_REDUCE, arguments=["-o", "/dev/null/file"])
        self.assertEqual((code, "cannot write" in said), (4, True), said)

    def compare(self, *arguments):
        """Lets perf/studies/compare_exported.py believe a launcher that says what the MPI's calls take: 10 us,
        and with settings half as much at 64 bytes, and at 64 KiB three times as much."""
        launcher = pathlib.Path(self.folder.name, "launcher.py")
        launcher.write_text("""
import json, os, sys
words = sys.argv
loaded = "I_MPI_ADJUST_ALLREDUCE" in os.environ
with open(words[words.index("--json") + 1], "w") as file:
    print('{"record": "context", "schema": "tutti sweep/1", "ranks": 4, "hosts": []}', file=file)
    for size, median in ((64, 5), (4096, 10), (65536, 30)):
        cell = {"record": "cell", "collective": words[words.index("-C") + 1], "bytes": size}
        cell.update(dict.fromkeys(("label", "runs", "transport", "buffers", "dtype", "op"), ""))
        cell.update(dict.fromkeys(("median_us", "ci_low_us", "ci_high_us"), median if loaded else 10))
        print(json.dumps(cell), file=file)
sys.exit(0 if "50ms" in words else 1)
""")
        done = subprocess.run([COMPARE, str(self.path), "--to", "intel", "--tutti", TUTTI, "--pairs",
                               "2", *arguments, "--", sys.executable, str(launcher)], text=True,
                              capture_output=True, check=False, timeout=300)
        return done.returncode, done.stdout, done.stderr

    def test_compares_what_was_exported(self):
        self.export("intel", ALL_REDUCE)
        code, text, said = self.compare()
        self.assertEqual(code, 0, said)
        self.assertRegex(text, r"all_reduce +1\.145 +1\.145 to 1\.145\n")  # the cube root of 1.5
        self.assertIn("1 of 3 sizes became slower:\n  all_reduce of 65536 bytes: 10 us without, "
                      "30 us with, ratio 3.00\n", text)
        self.assertIn("1 of 3 sizes became faster:\n  all_reduce of 64 bytes", text)

    def test_compares_nothing_that_fails(self):
        self.export("intel", ALL_REDUCE)
        for arguments, words in [(["--budget", "1ms"], "ended with 1"),
                                 (["-C", "broadcast"], "has nothing to compare")]:
            code, text, said = self.compare(*arguments)
            self.assertEqual((code, text), (1, ""), said)
            self.assertIn(words, said)

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
                              timeout=300, env={**os.environ, "TUTTI_TUNING": "none"})
        self.assertEqual(done.returncode, 0, done.stderr)
        text = pathlib.Path(monitored + ".1.prof").read_text()
        sent = re.findall(r"^I\t1\t(\d+)\t\d+ bytes\t(\d+) msgs", text, re.MULTILINE)
        return {int(peer): int(count) for peer, count in sent}


if __name__ == "__main__":
    unittest.main()
