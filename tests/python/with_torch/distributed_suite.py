"""Runs the tests of torch.distributed that every PyTorch has. Needs expecttest and hypothesis.

    python tests/python/with_torch/distributed_suite.py [--as BACKEND] [--ranks N] [--all | TEST...]

BACKEND: "tutti" (default), "gloo" or "real-gloo", see suite.py. Without tests a choice of them runs.
--results FOLDER keeps outcomes, and leaves out tests that have one; suite_page.py makes a page of them.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import tempfile
from typing import Any

import suite

CHOICE = """
all_reduce_sum all_reduce_max all_reduce_complex_unsupported_ops all_reduce_coalesced_sum all_reduce_full_group_sum
all_gather all_gather_object_default_pg all_gather_coalesced_simple all_gather_coalesced_complex reduce_sum broadcast
gather gather_object scatter scatter_complex scatter_object_list send_recv send_recv_any_source isend irecv
batch_isend_irecv_gloo barrier barrier_timeout_global monitored_barrier_gloo monitored_barrier_gloo_subgroup
monitored_barrier_gloo_rank_0_timeout DistributedDataParallelCPU DistributedDataParallelCPU_grad_is_view
DistributedDataParallel_requires_grad ddp_create_graph sparse_all_reduce_sum get_backend
""".split()


def prepare(backend: str) -> type[Any]:
    """The tests, for a backend."""
    suite.prepare_backend(backend)
    suite.fork_ranks()
    from torch.testing._internal.distributed import distributed_test

    for kind in ("", "SEND_RECV_"):  # they ask for events that only C++ can record
        getattr(distributed_test, f"{kind}PROFILING_SUPPORTED_BACKENDS").clear()

    class TuttiDistributedTest(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
        def setUp(self) -> None:
            super().setUp()
            self._spawn_processes()

    return TuttiDistributedTest


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--as", dest="backend", default="tutti", choices=suite.BACKENDS)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--again", action="store_true", help="also tests that have failed before")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("tests", nargs="*")
    return parser.parse_args(arguments)


def main() -> None:
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        for part in ("barrier", "test_dir"):
            os.mkdir(os.path.join(folder, part))
        open(os.path.join(folder, "lockfile"), "w").close()
        os.environ.setdefault("INIT_METHOD", f"file://{folder}/store")
        os.environ.update(WORLD_SIZE=str(arguments.ranks), TEMP_DIR=folder, MASTER_ADDR="127.0.0.1")
        tests = prepare(arguments.backend)
        names = arguments.tests or [f"test_{name}" for name in CHOICE]
        if arguments.all:
            names = dir(tests)
        known = [name for name in names if name.startswith("test_") and hasattr(tests, name)]
        results = None
        if arguments.results:
            version = suite.version_of_torch()
            results = suite.Results(
                arguments.results, "distributed_test", version, arguments.ranks, arguments.backend
            )
            if arguments.again:
                results.forget_failures()
        sys.exit(0 if suite.run_tests(known, tests, results) else 1)


if __name__ == "__main__":
    main()
