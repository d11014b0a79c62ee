"""Lightning and Accelerate on the backend "tutti": one line of a program names it."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

_FOLDER = pathlib.Path(__file__).parent


def _run(package: str, backend: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return subprocess.run(
        [*command, str(_FOLDER / f"train_with_{package}.py"), backend],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=600,
    )


def _weights(output: str) -> dict[tuple[str, str], str]:
    """The weights at the end, by rank and backend."""
    lines = re.findall(r"^rank (\d) (\w+) (.*)$", output, re.MULTILINE)
    return {(rank, used): weights for rank, used, weights in lines}


@pytest.mark.parametrize("package", ["lightning", "accelerate"])
def test_the_backend_is_one_line(package: str) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed")
    done = _run(package, "tutti")
    assert done.returncode == 0, done.stdout + done.stderr
    found = _weights(done.stdout)
    assert set(found) == {("0", "tutti"), ("1", "tutti")}, done.stdout
    reference = _run(package, "gloo")  # whose processes abort at times when they end
    assert set(found.values()) == set(_weights(reference.stdout).values()), reference.stdout + reference.stderr
