"""Runs PyTorch's own tests over one of three backends, and keeps the outcome of each test in a file.

The backends are "tutti"; "gloo", a name under which tutti runs too, since many tests ask for it; and
"real-gloo", to compare.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import pathlib
import time
import types
import unittest
from dataclasses import asdict, dataclass
from typing import Any, Callable, Iterable

BACKENDS = ("real-gloo", "gloo", "tutti")
WORDS = ("passed", "skipped", "FAILED")
DEADLINE = 100  # seconds of a test


@dataclass
class Outcome:
    """The outcome of a test. word: one of WORDS. text: the reason."""

    test: str
    word: str
    text: str = ""
    seconds: float = 0.0


class Results:
    """The outcomes of one file of tests, in a file with a line for each run; the last one counts.

    A run that was interrupted goes on where it ended.
    """

    def __init__(self, folder: pathlib.Path, suite: str, version: str, ranks: int, backend: str) -> None:
        self.path = folder / f"{suite}@{version}@{ranks}@{backend}.jsonl"
        self.outcomes: dict[str, Outcome] = {}
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                outcome = Outcome(**json.loads(line))
                self.outcomes[outcome.test] = outcome

    def add(self, outcome: Outcome) -> None:
        self.outcomes[outcome.test] = outcome
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(asdict(outcome)) + "\n")

    def forget_failures(self) -> None:
        """Lets tests that have failed run again."""
        self.outcomes = {name: outcome for name, outcome in self.outcomes.items() if outcome.word != "FAILED"}

    def names_of(self, word: str) -> list[str]:
        return [name for name, outcome in self.outcomes.items() if outcome.word == word]


def version_of_torch() -> str:
    """Such as "2.15.0"."""
    import torch

    return torch.__version__.split("+")[0]


def run_test(case: unittest.TestCase) -> Outcome:
    """Runs a test, with its class's own preparations."""
    import torch.distributed as dist

    if dist.is_initialized():  # of a test that ran in this process
        dist.destroy_process_group()
    result = unittest.TestResult()
    begin = time.monotonic()
    unittest.TestSuite([case]).run(result)
    failures = [text for _, text in result.failures + result.errors]
    reasons = [text for _, text in result.skipped]
    word = "FAILED" if failures else "skipped" if reasons else "passed"
    return Outcome(case.id().split(".")[-1], word, "\n".join(failures + reasons), round(time.monotonic() - begin, 1))


def run_tests(names: Iterable[str], make: Callable[[str], unittest.TestCase], results: Results | None) -> bool:
    """Runs the tests that have no outcome yet, and prints a line for each. Returns whether none failed."""
    counts = dict.fromkeys(WORDS, 0)
    for name in names:
        if results is not None and name in results.outcomes:
            continue
        outcome = run_test(make(name))
        outcome.test = name
        if results is not None:
            results.add(outcome)
        counts[outcome.word] += 1
        end = f"\n{outcome.text}" if outcome.word == "FAILED" else outcome.text
        print(f"{outcome.word:8} {name} {outcome.seconds:.0f} s {end}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in counts.items()), flush=True)
    return counts["FAILED"] == 0


def prepare_backend(backend: str) -> None:
    """Lets the tests, which are imported afterwards, use a backend."""
    from torch.testing._internal import common_distributed

    os.environ["BACKEND"] = backend.removeprefix("real-")
    for feature in ("plugin", "ddp", "subgroup"):
        common_distributed.DistTestCases.backend_feature[feature].add("tutti")
    common_distributed.TIMEOUT_DEFAULT = DEADLINE
    _mend_data_parallel()
    if backend != "real-gloo":
        import tutti.torch  # registers tutti

        if backend == "gloo":
            _replace_gloo()


def _mend_data_parallel() -> None:
    """PyTorch 1.13 cannot import replicated tensors in Python 3.11. DistributedDataParallel does without them."""
    try:
        import torch.distributed._shard
    except ValueError:
        utilities = importlib.import_module("torch.nn.parallel._replicated_tensor_ddp_utils")
        setattr(utilities, "_set_ddp_with_replicated_tensor", lambda is_wanted: None)


def fork_ranks() -> None:
    """Lets tests fork their ranks, which begin sooner than new interpreters."""
    import torch
    from torch.testing._internal import common_distributed

    def fork(case: Any) -> None:
        case._start_processes(torch.multiprocessing.get_context("fork").Process)

    setattr(common_distributed.MultiProcessTestCase, "_spawn_processes", fork)


def _replace_gloo() -> None:
    """Lets tutti have the name of Gloo."""
    import torch.distributed as dist

    from tutti.torch._group_calls import GroupCalls
    from tutti.torch.backend import create

    setattr(GroupCalls, "create_device", lambda group, interface: None)  # some tests tell Gloo the network card

    def create_as_gloo(opts: Any, _: Any = None) -> Any:
        names = ("store", "group_rank", "group_size", "timeout", "global_ranks_in_group")
        return create(types.SimpleNamespace(**{name: getattr(opts, name) for name in names}))

    if "ProcessGroupGloo" in dist.distributed_c10d._new_process_group_helper.__code__.co_names:
        _hide_gloo()
    dist.Backend._plugins["GLOO"] = dist.Backend._BackendPlugin(create_as_gloo, True)


class _HiddenName(str):
    """A name that does not equal itself while a group is made: only a plugin can then make it."""

    is_hidden = False

    def __eq__(self, other: object) -> bool:
        return not (_HiddenName.is_hidden and other is self) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def _hide_gloo() -> None:
    """For versions of PyTorch that make groups of Gloo themselves."""
    import torch.distributed as dist

    c10d: Any = dist.distributed_c10d
    make = c10d._new_process_group_helper

    @functools.wraps(make)
    def make_by_plugin(*arguments: Any, **named: Any) -> Any:
        _HiddenName.is_hidden = True
        try:
            return make(*arguments, **named)
        finally:
            _HiddenName.is_hidden = False

    setattr(dist.Backend, "GLOO", _HiddenName("gloo"))
    c10d._new_process_group_helper = make_by_plugin
