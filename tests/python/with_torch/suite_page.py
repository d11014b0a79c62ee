"""Runs PyTorch's own tests over Gloo and over tutti, and writes docs/torch_suite.md.

    python tests/python/with_torch/suite_page.py [--ranks N] [--checkout FOLDER] [--all | TEST...]
    python tests/python/with_torch/suite_page.py --write      # the page only

Run it with each version of PyTorch that the page shall have. FOLDER holds PyTorch's sources of that version:
then the files of its test/distributed run too. Outcomes are kept in the folder of --results: an interrupted
run goes on where it ended, and --again repeats failures. Fails if a test passes with Gloo, and not with tutti
without a reason in REASONS.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
from collections import Counter
from typing import Iterable, NamedTuple

import suite

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
PAGE = ROOT / "docs" / "torch_suite.md"

_OWN_NAME = "it compares the name that the backend gives itself, which is tutti, with the name of the group"
_DISPATCHED = "GlooProcessGroupWithDispatchedCollectivesTests"
REASONS = {
    "test_ddp_logging_data_cpu": f"{_OWN_NAME}; under tutti's own name it passes",
    f"{_DISPATCHED}.test_init_process_group_for_all_backends": _OWN_NAME,
    f"{_DISPATCHED}.test_all_to_all_single": "it expects an error for tensors that are not contiguous; tutti accepts them",
}

HEAD = """# PyTorch's own tests

`tests/python/with_torch/suite_page.py` writes this page. It runs PyTorch's tests of `torch.distributed` on CPUs three times:
with Gloo, with tutti under Gloo's name, and with tutti under its own name. Tests that PyTorch has for Gloo only run under
that name, and are skipped under tutti's.

"""

ALWAYS = f"""\
- `distributed_test` comes with every PyTorch; all its tests run.
- Tests that need a GPU, or more ranks, are skipped in all three runs.
- Ranks are forked from one process that has loaded PyTorch. No test may take more than {suite.DEADLINE} seconds.
- In all three runs, checks of the profiler's events are off: they ask for events that only C++ can record.
"""

OF_CHECKOUTS = """\
- The other files are those of `test/distributed` in PyTorch's sources. Their classes whose groups are made by the name of a
  backend run (`checkout_suite.py` lists them), with Gloo and under its name. "File of V" is a file of another version than the
  installed one.
- `test_c10d_pybackend` is left out: its tests make a backend of their own, which records the calls that PyTorch passes to it, and
  none of them reaches tutti.
"""

OF_1_13 = """\
- PyTorch 1.13.0a0 is Debian's package of 1.13.1.
- With PyTorch 1.13 in Python 3.11, DistributedDataParallel runs without replicated tensors, which cannot be imported there.
"""

SUMMARY = """
## Summary

Each cell has the tests that passed, were skipped, and failed.
"""

DIFFERENCES = """
## Differences

A test is listed if it passes with Gloo and, with tutti, fails under either name or does not pass under Gloo's.
"""


class Run(NamedTuple):
    """A run: a file of tests, with a version of PyTorch and a number of ranks."""

    version: str
    suite: str
    ranks: int

    @property
    def file(self) -> str:
        name, *version = self.suite.split(" ", 1)
        return " ".join([f"`{name}`", *version])

    def results(self, folder: pathlib.Path, backend: str) -> suite.Results:
        return suite.Results(folder, self.suite, self.version, self.ranks, backend)


class Difference(NamedTuple):
    run: Run
    test: str
    as_gloo: str
    as_tutti: str


def runs_in(folder: pathlib.Path) -> list[Run]:
    found = {path.stem.rsplit("@", 1)[0] for path in folder.glob("*@*@*@*.jsonl")}
    parts = [name.split("@") for name in found]
    runs = [Run(version, name, int(ranks)) for name, version, ranks in parts]
    return sorted(runs, key=lambda run: ([-int(n) for n in run.version.split(".")[:2]], run.suite, run.ranks))


def head_of(runs: Iterable[Run]) -> str:
    """The text above the table: notes about the runs that the table has."""
    runs = list(runs)
    notes = [ALWAYS]
    notes += [OF_CHECKOUTS] * any(run.suite != "distributed_test" for run in runs)
    notes += [OF_1_13] * any(run.version.startswith("1.13.") for run in runs)
    return HEAD + "".join(notes) + SUMMARY


def differences_in(folder: pathlib.Path, runs: Iterable[Run]) -> list[Difference]:
    differences = []
    for run in runs:
        gloo, as_gloo, as_tutti = (run.results(folder, backend).outcomes for backend in suite.BACKENDS)
        for name in sorted(test for test, outcome in gloo.items() if outcome.word == "passed"):
            words = [outcomes[name].word if name in outcomes else "not run" for outcomes in (as_gloo, as_tutti)]
            if words[0] != "passed" or (as_tutti and words[1] not in ("passed", "skipped")):
                differences.append(Difference(run, name, *words))
    return differences


def summary_of(folder: pathlib.Path, runs: Iterable[Run]) -> list[str]:
    lines = ["| PyTorch | file | ranks | tests | Gloo | tutti as Gloo | tutti |", "|---|---|---|---|---|---|---|"]
    for run in runs:
        cells = []
        for backend in suite.BACKENDS:
            outcomes = run.results(folder, backend).outcomes
            counts = Counter(outcome.word for outcome in outcomes.values())
            cells.append(" / ".join(str(counts[word]) for word in suite.WORDS) if outcomes else "–")
        tests = len(run.results(folder, suite.BACKENDS[0]).outcomes)
        lines.append(f"| {run.version} | {run.file} | {run.ranks or 'of the test'} | {tests} | {' | '.join(cells)} |")
    return lines


def page_of(folder: pathlib.Path) -> tuple[str, list[str]]:
    """The page, and the tests that miss a reason."""
    runs = runs_in(folder)
    lines = summary_of(folder, runs)
    text = head_of(runs) + "\n" + "\n".join(lines) + "\n" + DIFFERENCES + "\n"
    differences = differences_in(folder, runs)
    missing = [f"{d.test} ({d.run.suite}, PyTorch {d.run.version})" for d in differences if d.test not in REASONS]
    if not differences:
        return text + "There is none.\n", missing
    rows = ["| PyTorch | file | ranks | test | tutti as Gloo | tutti | reason |", "|---|---|---|---|---|---|---|"]
    for run, test, *words in differences:
        cells = (run.version, run.file, str(run.ranks or "–"), f"`{test}`", *words, REASONS.get(test, "**none**"))
        rows.append("| " + " | ".join(cells) + " |")
    return text + "\n".join(rows) + "\n", missing


def run_all(arguments: argparse.Namespace) -> None:
    """Runs the tests with each backend. A run with failures does not end this."""
    common = ["--ranks", str(arguments.ranks), "--results", str(arguments.results), *arguments.tests]
    common += ["--again"] * arguments.again + ["--all"] * arguments.all
    for backend in suite.BACKENDS:
        subprocess.run([sys.executable, str(HERE / "distributed_suite.py"), "--as", backend, *common], check=False)
        if arguments.checkout:
            command = [sys.executable, str(HERE / "checkout_suite.py"), "--as", backend, str(arguments.checkout)]
            command += ["--results", str(arguments.results)] + ["--again"] * arguments.again
            subprocess.run(command, check=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "build" / "torch_suite")
    parser.add_argument("--checkout", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="also tests that have failed before")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    if not arguments.write:
        run_all(arguments)
    text, missing = page_of(arguments.results)
    PAGE.write_text(text)
    if missing:
        sys.exit("no reason why these pass with Gloo, and not with tutti: " + ", ".join(missing))


if __name__ == "__main__":
    main()
