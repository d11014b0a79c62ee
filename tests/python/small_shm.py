"""Runs a program where /dev/shm is small and nearly full, as in many containers."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = "/dev/shm"
BYTES = 64 << 20  # Docker's default
NAMESPACES = (["--mount"], ["--mount", "--user", "--map-root-user"])
MOUNT = f"mount -t tmpfs -o size={BYTES} small {FOLDER}"


def run(file: str, name: str) -> None:
    """Runs `python FILE NAME` with its own /dev/shm. Skips the test where nothing can be mounted."""
    complaints = []
    for namespaces in NAMESPACES:
        words = ["unshare", *namespaces, "sh", "-c", f'{MOUNT} && exec "$@"', "sh"]
        try:
            trial = subprocess.run([*words, "true"], stderr=subprocess.PIPE, text=True)
        except FileNotFoundError as error:
            pytest.skip(f"nothing can be mounted here: {error}")
        if trial.returncode == 0:
            paths = [str(pathlib.Path(__file__).parent), *sys.path]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
            result = subprocess.run([*words, sys.executable, "-B", file, name], env=environment, timeout=300)
            assert result.returncode == 0
            return
        complaints.append(trial.stderr.strip())
    pytest.skip(f"nothing can be mounted here: {'; '.join(complaints)}")


def left() -> int:
    """Bytes that /dev/shm has left."""
    status = os.statvfs(FOLDER)
    assert status.f_blocks * status.f_frsize <= BYTES
    return status.f_bavail * status.f_frsize


def fill(left_bytes: int) -> None:
    """Leaves at most this number of bytes."""
    with open(f"{FOLDER}/full", "ab") as file:
        os.posix_fallocate(file.fileno(), file.tell(), left() - left_bytes)
