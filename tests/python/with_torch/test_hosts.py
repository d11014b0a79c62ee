"""Ranks on two hosts, which are network namespaces without names: cluster.py in tests/hosts makes them."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

CLUSTER = pathlib.Path(__file__).parent.parent.parent / "hosts" / "cluster.py"
SKIP = 77
PATIENCE = 240

# The program of a rank, as under torchrun or with variables set by hand.
TRAIN = """
import sys
import torch, torch.distributed as dist
import tutti.torch
try:
    dist.init_process_group("tutti", init_method=sys.argv[1])
    dist.all_reduce(x := torch.ones(4))
    print("sum", int(x[0]), tutti.torch.backend._default().describe(), flush=True)
except tutti.Error as error:
    print(f"{type(error).__name__}: {error}", flush=True)
"""


def start(method: str, own: dict[str, Any]) -> list[str]:
    """The output of each of two ranks, with these variables. The cluster runs this file."""
    done = subprocess.run(
        [sys.executable, str(CLUSTER), "2", sys.executable, "-B", __file__, method],
        env={**os.environ, "TUTTI_TUNING": "none", **own},
        stdout=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
    )
    if done.returncode == SKIP:
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()


def run_on_hosts(method: str) -> None:
    """Runs inside the cluster, with an empty /etc/hosts."""
    sys.path.insert(0, str(CLUSTER.parent))
    import cluster

    subprocess.run(["mount", "--bind", "/dev/null", "/etc/hosts"], check=True)
    processes = []
    for rank in range(2):
        variables = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": cluster.address(0), "MASTER_PORT": "29400"}
        command = cluster.on(f"h{rank}", [sys.executable, "-B", "-c", TRAIN, method])
        processes.append(subprocess.Popen(command, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True))
    for process in processes:
        print(process.communicate(timeout=PATIENCE)[0], end="")
    sys.exit(max(process.returncode for process in processes))


@pytest.fixture
def secret(tmp_path: pathlib.Path) -> str:
    path = tmp_path / "secret"
    path.touch(mode=0o600)
    path.write_text("1" * 64)
    return str(path)


def test_the_secret_of_the_environment(secret: str) -> None:
    for said in start("env://", {"TUTTI_SECRET_FILE": secret}):
        assert said.startswith("sum 2 2 ranks on 2 hosts by _StoreRanks, over "), said
    for said in start("env://", {}):
        assert "without a secret" in said and "TUTTI_SECRET_FILE" in said, said


def test_hosts_without_names(secret: str) -> None:
    for said in start("tutti://", {"TUTTI_SECRET_FILE": secret}):
        assert said.startswith("sum 2 2 ranks on 2 hosts by _StoreRanks, over "), said


if __name__ == "__main__":
    run_on_hosts(sys.argv[1])
