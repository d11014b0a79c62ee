"""Runs tests of mpi4py, from its source distribution, on tutti, which stands in for mpi4py.MPI.

    pip download --no-binary :all: --no-deps mpi4py==4.1.2 && tar xf mpi4py-4.1.2.tar.gz
    python tests/python/with_mpi4py/suite.py --source mpi4py-4.1.2 [--ranks N] [FILE...]

Each test runs in processes of its own, on 1, 2, 3 and 4 ranks. A test that fails, and one that is skipped for a
reason that is not in this file, makes the command fail. Needs numpy, whose threads must not start: this program
sets OPENBLAS_NUM_THREADS.
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import os
import pathlib
import sys
import time
import unittest
from typing import Any, Iterator

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # tests run in copies of this process

import numpy  # noqa: E402

import exceptions  # noqa: E402
import tutti  # noqa: E402

FILES = """
test_msgspec test_buffer test_cco_buf test_cco_vec test_cco_obj test_cco_nb_buf test_cco_nb_vec test_p2p_buf
test_p2p_obj test_pickle test_util_pkl5
""".split()
RANKS = [1, 2, 3, 4]
DEADLINE = 60.0  # seconds of a test

assert numpy  # imported here once, and not by every rank of every test


def load(source: pathlib.Path, names: str) -> unittest.TestSuite:
    """Loads tests on a rank, which has a world."""
    sys.path[:0] = [str(pathlib.Path(__file__).parent / "standin"), str(source / "test")]
    import arrayimpl

    arrayimpl.ArrayBackends[:] = [one for one in arrayimpl.ArrayBackends if not one.__name__.startswith("FakeGPU")]
    return unittest.defaultTestLoader.loadTestsFromName(names)


def tests_in(suite: Any) -> Iterator[str]:
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from tests_in(one)
        else:
            yield one.id()


def list_tests(world: tutti.Communicator, source: pathlib.Path, file: str) -> list[str]:
    return list(tests_in(load(source, file)))


def run_test(world: tutti.Communicator, source: pathlib.Path, name: str) -> str:
    """Returns why a test was skipped, or nothing. Raises if it failed."""
    result = unittest.TestResult()
    load(source, name).run(result)
    failures = [text for _, text in result.failures + result.errors]
    if failures or result.testsRun != 1:
        raise AssertionError(f"rank {world.rank}: {failures[0] if failures else 'no test ran'}")
    return result.skipped[0][1] if result.skipped else ""


class Counts:
    def __init__(self) -> None:
        self.passed: collections.Counter[tuple[str, int]] = collections.Counter()
        self.failed: list[str] = []
        self.excepted: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)

    def run(self, source: pathlib.Path, file: str, size: int, only: str) -> None:
        for name in tutti.spawn(list_tests, size, source, file, start="fork", timeout=DEADLINE)[0]:
            if not fnmatch.fnmatch(name, f"*{only}*"):
                continue
            reason = exceptions.of(name)
            begin = time.monotonic()
            if reason is None:
                try:
                    skips = tutti.spawn(run_test, size, source, name, start="fork", timeout=DEADLINE)
                    reason = exceptions.of_skip(skips[0])
                except Exception as error:
                    self.failed.append(f"{name} on {size} ranks")
                    print(f"FAILED {self.failed[-1]}, {time.monotonic() - begin:.1f} s\n{error}", flush=True)
                    continue
            if reason is None:
                self.passed[file, size] += 1
            else:
                self.excepted[reason][file] += 1

    def show(self, files: list[str], sizes: list[int]) -> None:
        head = ["file", *(f"passed on {size}" for size in sizes), "failed", "excepted"]
        print("", f"| {' | '.join(head)} |", "|---" * len(head) + "|", sep="\n")
        for file in files:
            failed = sum(name.startswith(file + ".") for name in self.failed)
            excepted = sum(count[file] for count in self.excepted.values())
            row = [file, *(self.passed[file, size] for size in sizes), failed, excepted]
            print(f"| {' | '.join(map(str, row))} |")
        print("", "| excepted, over all numbers of ranks | times |", "|---|---|", sep="\n")
        for reason, count in sorted(self.excepted.items(), key=lambda item: -item[1].total()):
            print(f"| {reason} | {count.total()} |")
        print(f"\n{self.passed.total()} passed, {len(self.failed)} failed", *self.failed, sep="\n", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, required=True, help="the unpacked source distribution")
    parser.add_argument("--ranks", type=int, action="append", help="a number of ranks; may be repeated")
    parser.add_argument("--only", default="", help="a part of the names of tests")
    parser.add_argument("files", nargs="*", metavar="FILE", help=f"of {', '.join(FILES)}")
    arguments = parser.parse_args()
    files = [pathlib.Path(file).stem for file in arguments.files] or FILES
    counts = Counts()
    for size in arguments.ranks or RANKS:
        for file in files:
            counts.run(arguments.source.resolve(), file, size, arguments.only)
    counts.show(files, arguments.ranks or RANKS)
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
