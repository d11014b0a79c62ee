"""Runs PyTorch's own tests of torch.distributed, from its wheel, on tutti. Needs expecttest and hypothesis.

    python tests/python/with_torch/distributed_suite.py [--as NAME] [--ranks N] [--all | TEST...]

NAME: "tutti" (default); "gloo", under which tutti runs too, since 24 tests ask for that name; or
"real-gloo", to compare. Without tests a choice of them runs. Each takes 10 to 40 s.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import types
import unittest
from typing import Any

CHOICE = """
all_reduce_sum all_reduce_max all_reduce_complex_unsupported_ops all_reduce_coalesced_sum all_reduce_full_group_sum
all_gather all_gather_object_default_pg all_gather_coalesced_simple all_gather_coalesced_complex reduce_sum broadcast
gather gather_object scatter scatter_complex scatter_object_list send_recv send_recv_any_source isend irecv
batch_isend_irecv_gloo barrier barrier_timeout_global monitored_barrier_gloo monitored_barrier_gloo_subgroup
monitored_barrier_gloo_rank_0_timeout DistributedDataParallelCPU DistributedDataParallelCPU_grad_is_view
DistributedDataParallel_requires_grad ddp_create_graph sparse_all_reduce_sum get_backend
""".split()
DEADLINE = 100  # seconds of a test


def _prepare() -> type[Any]:
    """The tests, for the backend of the environment."""
    name = os.environ["TORCH_SUITE_AS"]
    os.environ["BACKEND"] = name.removeprefix("real-")
    from torch.testing._internal import common_distributed

    for feature in ("plugin", "ddp", "subgroup"):
        common_distributed.DistTestCases.backend_feature[feature].add("tutti")
    common_distributed.TIMEOUT_DEFAULT = DEADLINE
    if name != "real-gloo":
        import tutti.torch.backend  # registers tutti

        if name == "gloo":
            _replace_gloo(tutti.torch.backend.create)
    from torch.testing._internal.distributed import distributed_test

    for kind in ("", "SEND_RECV_"):  # they ask for events that only C++ can record
        getattr(distributed_test, f"{kind}PROFILING_SUPPORTED_BACKENDS").clear()

    class TuttiDistributedTest(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
        def setUp(self) -> None:
            super().setUp()
            self._spawn_processes()

    return TuttiDistributedTest


def _replace_gloo(create: Any) -> None:
    import torch.distributed as dist

    def create_as_gloo(opts: Any, _: Any) -> Any:
        names = ("store", "group_rank", "group_size", "timeout", "global_ranks_in_group")
        return create(types.SimpleNamespace(**{name: getattr(opts, name) for name in names}))

    dist.Backend._plugins["GLOO"] = dist.Backend._BackendPlugin(create_as_gloo, True)


if "TORCH_SUITE_AS" in os.environ:  # a rank of a test
    TuttiDistributedTest = _prepare()
    TuttiDistributedTest.__module__ = __name__


def _run(names: list[str]) -> bool:
    """Runs tests, and prints a line for each."""
    global TuttiDistributedTest
    TuttiDistributedTest = _prepare()
    TuttiDistributedTest.__module__ = "__main__"
    TuttiDistributedTest.__qualname__ = "TuttiDistributedTest"
    counts = {"passed": 0, "skipped": 0, "FAILED": 0}
    for name in names or [n for n in dir(TuttiDistributedTest) if n.startswith("test_")]:
        result = unittest.TestResult()
        begin = time.monotonic()
        if not hasattr(TuttiDistributedTest, name):  # of another version of PyTorch
            continue
        TuttiDistributedTest(name).run(result)
        word = "FAILED" if result.failures or result.errors else "skipped" if result.skipped else "passed"
        counts[word] += 1
        reason = result.skipped[0][1] if result.skipped else ""
        print(f"{word:8} {name} {time.monotonic() - begin:.0f} s {reason}", flush=True)
        for _, text in result.failures + result.errors:
            print(text, flush=True)
    print(", ".join(f"{count} {word}" for word, count in counts.items()), flush=True)
    return counts["FAILED"] == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--as", dest="name", default="tutti", choices=["tutti", "gloo", "real-gloo"])
    parser.add_argument("--ranks", default="2")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for part in ("barrier", "test_dir"):
            os.mkdir(os.path.join(folder, part))
        open(os.path.join(folder, "lockfile"), "w").close()
        os.environ.setdefault("INIT_METHOD", f"file://{folder}/store")
        os.environ.update(
            TORCH_SUITE_AS=arguments.name, WORLD_SIZE=arguments.ranks, TEMP_DIR=folder, MASTER_ADDR="127.0.0.1"
        )
        chosen = arguments.tests or ([] if arguments.all else [f"test_{name}" for name in CHOICE])
        sys.exit(0 if _run(chosen) else 1)


if __name__ == "__main__":
    main()
