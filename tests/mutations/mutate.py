#!/usr/bin/env python3
"""Seeded mutations of the source: do the tests notice?

Copies the committed tree, changes one place at a time (a wrong side, an off-by-one, a dropped
statement, ...), builds what the capability's tests need, runs them, and says which changes
survived. A change that does not compile does not count; another is drawn instead.

    tests/mutations/mutate.py                       every capability, ten mutations each
    tests/mutations/mutate.py --capability schedules --count 20 --seed 7
"""
import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

# The mutated files, the targets to build, the tests that must fail (a regular expression of ctest), and perhaps cases
# that they leave out (a filter of GoogleTest).
CAPABILITIES = {
    "schedules": (["algorithms/*.cpp"],
                  ["tutti_test_graph", "tutti_test_verify.*", "tutti_test_executor_matrix"],
                  "^(graph$|verify|executor_matrix$)"),
    "verify": (["proof/verify*.cpp"], ["tutti_test_verify.*", "tutti_test_executor_proved"],
               "^(verify|executor_proved$)"),
    "predict": (["selector/predict*.cpp"], ["tutti_test_predict", "tutti_test_print"],
                "^(predict|print)$"),
    "execute": (["collectives/execution/bound_program.cpp", "collectives/execution/segment_run.cpp", "collectives/lowering/layout.cpp",
                 "collectives/execution/execution.cpp", "collectives/binding/execution_state.cpp",
                 "collectives/engine/host_calls.cpp"], ["tutti_test_executor_.*"],
                "^executor_"),
    "selector": (["selector/selector.cpp", "collectives/binding/check_call.cpp"],
                 ["tutti_test_executor_(calls|matrix)", "tutti_test_determinism"],
                 "^(executor_(calls|matrix)|determinism)$"),
    "overlap": (["overlap/*.cpp"], ["tutti_test_gradient_.*"], "^gradient_(sync|memory|options)$"),
    "scratch": (["collectives/execution/scratch.cpp"],
                ["tutti_test_executor_(allocation|calls|nonblocking)"],
                "^executor_(allocation|calls|nonblocking)$"),
    "divide": (["collectives/engine/divide.cpp"],
               ["tutti_test_runtime_world", "tutti_test_mpi_openmpi"],
               r"^(runtime_world|mpi_communicator\.openmpi\.[1234])$"),
    "calls": (["collectives/engine/batch.cpp", "collectives/engine/batch_calls.cpp", "collectives/diagnosis/wait_monitor.cpp",
               "collectives/binding/point_to_point.cpp"],
              ["tutti_test_executor_(calls|nonblocking)"],
              "^executor_(calls|nonblocking)$"),
    "objects": (["objects/object*.cpp",
                 "include/tutti/cereal*.hpp", "include/tutti/codec.hpp"],
                ["tutti_test_objects_.*"], "^objects_"),
    "own": (["algorithms/added.cpp", "proof/proof.cpp", "schedules/*.cpp",
             "perf/load.cpp"],
            ["tutti_test_executor_calls", "tutti_test_written", "tutti_test_command"],
            "^(executor_calls|command|written)$"),
    "print": (["schedules/print*.cpp"],
              ["tutti_test_print", "tutti_test_command", "tutti_test_written"],
              "^(print|command|written)$"),
    "hybrid": (["backends/hybrid/*.cpp"], ["tutti_test_hybrid_.*", "tutti_test_conformance"],
               r"^(hybrid_.*|conformance_.*\.(few|most)|conformance_threads)$"),
    "kernels": (["backends/host/*.cpp", "backends/host/*.inl"], ["tutti_test_host_memory"], "^host_"),
    "sim": (["backends/sim/*.cpp"], ["tutti_test_sim", "tutti_test_executor_faults"],
            "^(sim|executor_faults)$"),
    "shm": (["backends/shm/*.cpp", "backends/shm/*.hpp"],
            ["tutti_test_shm_.*", "tutti_test_conformance(_forks)?"],
            r"^(shm_.*|conformance_.*\.(few|most)|conformance_(threads|forks))$",
            "-*/sim_*:*/tcp_*:*/hybrid*"),
    "tcp": (["backends/tcp/*.cpp", "backends/tcp/*.hpp"],
            ["tutti_test_tcp_.*", "tutti_test_conformance(_forks)?"],
            r"^(tcp_.*|conformance_.*\.(few|most)|conformance_(threads|forks))$",
            "-*/sim_*:*/shm_*:*/hybrid*"),
    "mpi": (["backends/mpi/*.cpp"], ["tutti_test_mpi_(.*_)?openmpi", "tutti_test_survivors_openmpi"],
            r"^mpi_.*\.openmpi\.([1234]|[a-z]+)$"),
    "runtime": (["runtime/*/*.cpp"],
                ["tutti_test_runtime_.*", "tutti_test_launched(_openmpi)?", "tutti_test_member",
                 "tutti_command_tutti"],
                r"^runtime_([a-oq-z]+|launched\.(openmpi|tutti)\..*|launched\.mpich\.exchange\..*)$"),
    "command": (["command/*.cpp", "perf/command_line.cpp", "perf/measured_world*.cpp", "perf/environment.cpp"],
                ["tutti_test_command", "tutti_command_tutti", "tutti_test_sweep_record",
                 "tutti_test_(survivors|liar)_openmpi"],
                r"^(command|command_run\..*|sweep_record|sweep_command\.openmpi\..*)$"),
    "plot": (["perf/pages/plot*.py", "perf/pages/curves.py", "perf/pages/drawing.py"], ["tutti_test_precompiled"], "^sweep_plot$"),
    "sweep": (["perf/statistics.cpp", "perf/sweep/*.cpp"],
              ["tutti_test_sweep.*", "tutti_command_tutti", "tutti_test_(survivors|liar)_openmpi"],
              r"^sweep_([a-z]+|command\.openmpi\..*)$"),
}

# Pairs of a pattern and what may stand there instead.
OPERATORS = [
    (r" \+ 1\b", [" - 1", " + 2", ""]), (r" - 1\b", [" + 1", ""]),
    (r" \+ ", [" - "]), (r" - ", [" + "]), (r" \* ", [" + "]),
    (r" < ", [" <= "]), (r" <= ", [" < "]), (r" > ", [" >= "]), (r" >= ", [" > "]),
    (r" == ", [" != "]), (r" != ", [" == "]), (r" && ", [" || "]), (r" \|\| ", [" && "]),
    (r"Side::left", ["Side::right"]), (r"Side::right", ["Side::left"]),
    (r"\bself\b", ["(self + 1)"]), (r"\btrue\b", ["false"]), (r"\bfalse\b", ["true"]),
    (r"RecvReduce\{", ["Recv{"]), (r"\bat\(-?1\)", ["at(2)"]), (r"\b0\b", ["1"]),
    (r" \+= ", [" -= "]), (r"\+\+", ["--"]), (r"std::max", ["std::min"]), (r"std::min", ["std::max"]),
    (r"^(\s+)[a-z_]+[.(>-].*\);$", [r"\1;"]),  # A call whose effect is dropped.
]


def sites(tree, patterns):
    """Every place where an operator applies, as (file, line number, new line)."""
    found = []
    for pattern in patterns:
        paths = sorted(tree.glob(pattern))
        if not paths:
            sys.exit(f"no source is called {pattern}; mend the table CAPABILITIES")
        for path in paths:
            in_comment = False
            for number, line in enumerate(path.read_text().split("\n")):
                code = line.split("//")[0]
                text = line.strip()
                in_comment = text.startswith("/*") or in_comment and "*/" not in text
                if in_comment or text.startswith(("//", "#", "static_assert", "template")):
                    continue
                for operator, replacements in OPERATORS:
                    for match in re.finditer(operator, code):
                        quotes = code[:match.start()].count('"')
                        if quotes % 2 == 1:  # Inside a string: messages are not behaviour.
                            continue
                        for replacement in replacements:
                            new = code[:match.start()] + match.expand(replacement) + code[match.end():]
                            found.append((path, number, new))
    return found


def end_session(leader):
    """Ends whatever a command left behind, in whichever process group a launcher put it."""
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            session = stat.read_text().rpartition(")")[2].split()[3]
            if int(session) == leader:
                os.kill(int(stat.parent.name), signal.SIGKILL)
        except OSError:
            continue  # It ended by itself.


def run(command, timeout):
    """Returns the exit status and the output; a time-out is a failure."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=timeout)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        return 124, "timed out"
    finally:  # where the campaign is ended, too
        end_session(process.pid)
        process.wait()


class Campaign:
    def __init__(self, arguments):
        self.arguments = arguments
        self.root = pathlib.Path(__file__).resolve().parents[2]
        self.work = pathlib.Path(arguments.work or self.root / "build" / "mutations").resolve()
        self.tree = self.work / "tree"
        self.build = self.work / "build"
        self.limit = arguments.timeout

    def prepare(self):
        """A copy of what is committed, configured once. All of it is newer than what was built of a
        mutant before. Reading beyond an array fails, as in the preset debug."""
        shutil.rmtree(self.tree, ignore_errors=True)
        self.tree.mkdir(parents=True)
        archive = subprocess.run(["git", "-C", self.root, "archive", "HEAD"], stdout=subprocess.PIPE,
                                 check=True)
        subprocess.run(["tar", "-x", "-m", "-C", self.tree], input=archive.stdout, check=True)
        status, output = run(["cmake", "-S", self.tree, "-B", self.build, "-G", "Ninja",
                              "-DCMAKE_BUILD_TYPE=Release", "-DTUTTI_COMPILE_TOGETHER=OFF",
                              "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -D_GLIBCXX_ASSERTIONS"], 300)
        if status != 0:
            sys.exit("the unchanged tree does not configure:\n" + output)

    def targets(self, patterns):
        _, listing = run(["ninja", "-C", self.build, "-t", "targets", "all"], 60)
        names = {line.split(":")[0] for line in listing.split("\n") if ": phony" in line}
        found = {p: {n for n in names if re.fullmatch(p, n) and not n.endswith("_long")}
                 for p in patterns}
        for pattern, matches in found.items():
            if not matches:
                sys.exit(f"no target is called {pattern}")
        return sorted(set().union(*found.values()))

    @staticmethod
    def is_python(path, text):
        """Whether files outside the build compile; the build compiles the others."""
        try:
            return path.suffix != ".py" or compile(text, path, "exec") is not None
        except SyntaxError:
            return False

    def noticed(self, targets, tests):
        """None if it does not build, else the first failing test, or an empty string."""
        status, _ = run(["cmake", "--build", self.build, "-j", str(self.arguments.jobs),
                         "--target", *targets], 1200)
        if status != 0:
            return None
        status, output = run(["ctest", "--test-dir", self.build, "-R", tests, "-LE", "long",
                              "--no-tests=error", "--stop-on-failure", "--timeout", "120"], self.limit)
        if status == 0:
            return ""
        failed = re.search(r"Test\s+#\d+: (\S+) \.+.*(Failed|Timeout|Exception|Not Run)", output)
        return failed.group(1) if failed else "time limit"

    def mutate(self, capability):
        patterns, target_patterns, tests, *rest = CAPABILITIES[capability]
        os.environ["GTEST_FILTER"] = rest[0] if rest else "*"
        targets = self.targets(target_patterns)
        self.limit = self.arguments.timeout
        test = self.noticed(targets, tests)
        if test != "":
            sys.exit(f"{capability}: the unchanged tree " +
                     ("does not build" if test is None else f"does not pass {test}"))
        began = time.time()
        self.noticed(targets, tests)
        self.limit = min(self.limit, 60 + 4 * (time.time() - began))  # A mutant that hangs costs this.
        places = sites(self.tree, patterns)
        random.Random(f"{self.arguments.seed} {capability}").shuffle(places)
        survivors, tried = [], 0
        for path, number, new in places:
            if tried == self.arguments.count:
                break
            original = path.read_text()
            lines = original.split("\n")
            old, lines[number] = lines[number], new
            if not self.is_python(path, "\n".join(lines)):
                continue
            path.write_text("\n".join(lines))
            began = time.time()
            test = self.noticed(targets, tests)
            path.write_text(original)
            if test is None:
                continue
            tried += 1
            where = f"{path.relative_to(self.tree)}:{number + 1}"
            print(f"{capability} {tried}: {'caught by ' + test if test else 'SURVIVED'} "
                  f"({time.time() - began:.0f} s) {where}\n  - {old.strip()}\n  + {new.strip()}",
                  flush=True)
            if not test:
                survivors.append(where)
        print(f"{capability}: {tried - len(survivors)} of {tried} caught", flush=True)
        return survivors


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--capability", action="append", choices=sorted(CAPABILITIES))
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="of the build")
    parser.add_argument("--timeout", type=int, default=600, help="most seconds for the tests of one mutant")
    parser.add_argument("--work", help="where the copy lives")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    campaign = Campaign(parser.parse_args())
    campaign.prepare()
    survivors = []
    for capability in campaign.arguments.capability or CAPABILITIES:
        survivors += campaign.mutate(capability)
    print("survivors: " + (", ".join(survivors) or "none"))
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
