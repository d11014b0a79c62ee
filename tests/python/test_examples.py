"""The programs of examples/python run on two ranks."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest

from tutti import __main__ as command

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"


def run(name: str, *arguments: str) -> str:
    words = [command.path(), "run", "-n", "2", sys.executable, str(EXAMPLES / name), *arguments]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_average() -> None:
    assert "3.14" in run("average.py")


def test_pipeline() -> None:
    assert run("pipeline.py")


def test_first_training() -> None:
    pytest.importorskip("torch", reason="PyTorch is missing: pip install 'tutti[torch]'")
    lines = run("first_training.py").splitlines()
    assert len(lines) == 2 and lines[0] == lines[1]
    weights = re.findall(r"\d+\.\d+", lines[0])
    assert [round(float(weight), 2) for weight in weights] == [1.0] * 4


def test_train() -> None:
    pytest.importorskip("torch", reason="PyTorch is missing: pip install 'tutti[torch]'")
    sums = {re.findall(r"sum of weights (\S+)", run("train.py", "--steps", "3", "--sync", sync))[0] for sync in ("attach", "gloo")}
    assert len(sums) == 1
