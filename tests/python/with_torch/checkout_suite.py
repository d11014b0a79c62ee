"""Runs tests of PyTorch's sources, which are not in its packages, with tutti under Gloo's name.

    python tests/python/with_torch/checkout_suite.py CHECKOUT [--as BACKEND] [--results FOLDER] [FILE...]

CHECKOUT: a folder with PyTorch's sources of the version that is installed, of which test/distributed is
enough. BACKEND: "gloo" (default) or "real-gloo", see suite.py. FILE: such as test_c10d_gloo.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import os
import pathlib
import sys
import tempfile
import types
import unittest
from typing import Any

import suite

# The classes of a file whose groups are made by name. Others have groups of their own, or none.
CLASSES = {
    "test_c10d_backend_collectives": ["BackendCollectivesTest"],
    "test_c10d_gloo": [
        "DistributedDataParallelTest",
        "CommTest",
        "GlooProcessGroupWithDispatchedCollectivesTests",
        "LargeCommTest",
        "CompilerTest",
        "TimeoutTest",
        "ReducerTest",
    ],
    "test_c10d_object_collectives": ["TestObjectCollectives"],
    "test_c10d_pypg": ["TestDDPWithWorkWrapper"],
    "test_c10d_spawn_gloo": ["DistributedDataParallelSingleProcessTest", "TestDistributedNNFunctionsGloo"],
    "tensor.test_redistribute": ["RedistributeTest", "MultiDimRedistributeTest"],
    "_tensor.test_redistribute": ["RedistributeTest", "MultiDimRedistributeTest"],  # its older place
}


def tests_of(file: str, backend: str) -> dict[str, unittest.TestCase]:
    """The tests of a file, by class and name."""
    module = importlib.import_module(file)
    if file == "test_c10d_pypg" and backend != "real-gloo":
        setattr(module, "LonelyRankProcessGroup", _group_of_one)
    found = {}
    for name in CLASSES[file]:
        case = getattr(module, name, None)  # not every version has all
        for test in unittest.defaultTestLoader.getTestCaseNames(case) if case else []:
            found[f"{name}.{test}"] = case(test)
    return found


def _group_of_one(rank: int, size: int, use_wrapper: bool) -> Any:
    """Takes the place of a group in Python that the tests have."""
    import torch.distributed as dist

    from tutti.torch.backend import create

    store, timeout = dist.HashStore(), datetime.timedelta(seconds=60)
    return create(
        types.SimpleNamespace(
            store=store, group_rank=rank, group_size=size, timeout=timeout, global_ranks_in_group=[rank]
        )
    )


def _suite_name(checkout: pathlib.Path, file: str) -> str:
    """The file, and the version of its sources if another one is installed."""
    version = (checkout / "version.txt").read_text().strip() if (checkout / "version.txt").exists() else ""
    installed = suite.version_of_torch()
    is_same = not version or version.split(".")[:2] == installed.split(".")[:2]
    return file if is_same else f"{file} of {version}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--as", dest="backend", default="gloo", choices=suite.BACKENDS[:2])
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--again", action="store_true", help="also tests that have failed before")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    tests = arguments.checkout.resolve() / "test" / "distributed"
    sys.path[:0] = [str(tests), str(tests.parent)]
    os.environ.update(MASTER_ADDR="127.0.0.1", TEMP_DIR=tempfile.gettempdir())
    suite.prepare_backend(arguments.backend)
    suite.fork_ranks()
    is_good = True
    for file in arguments.files or list(CLASSES):
        if not (tests / (file.replace(".", "/") + ".py")).exists():
            continue
        cases = tests_of(file, arguments.backend)
        results = None
        if arguments.results:
            name = _suite_name(arguments.checkout, file)
            results = suite.Results(arguments.results, name, suite.version_of_torch(), 0, arguments.backend)
            if arguments.again:
                results.forget_failures()
        print(f"{file}:", flush=True)
        is_good &= suite.run_tests(cases, cases.__getitem__, results)
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
