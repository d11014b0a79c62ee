"""Ctrl-C in calls that wait: a real SIGINT."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import uuid
from typing import Any, Callable

import numpy as np
import pytest

import ranks
import tutti

PROMPT = 0.1  # seconds from SIGINT to KeyboardInterrupt
TRIES = 20  # of which a loaded machine has to let one be prompt


def interrupt_soon(seconds: float = 0.3) -> None:
    threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


def interrupt(world: tutti.Communicator, call: str) -> Any:
    if world.rank == 1:
        time.sleep(0.1)
        with pytest.raises(tutti.AbortedError) as caught:
            world.recv(np.ones(3), 0, tag=1)
        return caught.value.rank
    begin = time.monotonic()
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        if call == "blocking":
            world.all_reduce(np.ones(3))
        elif call == "batch":
            with tutti.batch():
                world.recv(np.ones(3), 1)
        elif call == "wait_all":
            tutti.wait_all([world.start.recv(np.ones(3), 1)])
        elif call == "plan":
            with world.plan.recv(np.ones(3), 1) as plan:
                plan.start().wait()
        else:
            world.start.recv(np.ones(3), 1).wait()
    assert time.monotonic() - begin < ranks.AMPLE
    if call == "blocking":
        with pytest.raises(tutti.AbortedError):
            world.barrier()
    return None


@pytest.mark.parametrize("call", ["blocking", "batch", "plan", "request", "wait_all"])
def test_ctrl_c_in_a_wait(call: str) -> None:
    results = ranks.answers(2, interrupt, call)
    assert results == [(True, None), (True, 0)]


def interrupt_a_probe(world: tutti.Communicator) -> None:
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        world.probe()
    assert world.all_reduce(1) == world.size  # a probe fails nothing


def test_ctrl_c_in_a_probe() -> None:
    assert ranks.answers(2, interrupt_a_probe) == [(True, None)] * 2


def prompt_seconds(wait: Callable[[], Any]) -> float:
    """The time from SIGINT, while `wait` waits, to KeyboardInterrupt: the least of two or more."""
    least = float("inf")
    for number in range(TRIES):
        sent: list[float] = []

        def interrupt_now() -> None:
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.2, interrupt_now)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            wait()
        least = min(least, time.monotonic() - sent[0])
        if number > 0 and least < PROMPT:
            break
    return least


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("scheme", ["unix", "tcp", "file"])
def test_in_init(rank: int, scheme: str, tmp_path: pathlib.Path) -> None:
    """The other rank does not come. Each try uses the same place, which the one before has left."""
    url = {"unix": f"unix://{uuid.uuid4()}", "tcp": f"tcp://localhost:{free_port()}", "file": f"file://{tmp_path}"}
    assert ranks.answers(1, interrupt_init, rank, url[scheme]) == [(True, None)]


def free_port() -> int:
    import socket

    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        port: int = listener.getsockname()[1]
        return port


def interrupt_init(_: tutti.Communicator, rank: int, url: str) -> None:
    def wait() -> None:
        tutti.init(url, rank=rank, size=2, timeout=60)

    seconds = prompt_seconds(wait)
    assert seconds < PROMPT
    assert sum(thread.name == "tutti" for thread in threading.enumerate()) == 1, "no call is left behind"


def test_init_after_an_interrupted_one() -> None:
    """Nobody answers in the place of a rank that gave up, and its place is free."""
    assert ranks.answers(2, init_again, f"unix://{uuid.uuid4()}") == [(True, 2)] * 2


def init_again(world: tutti.Communicator, url: str) -> int:
    def init(timeout: float) -> tutti.Communicator:
        return tutti.init(url, rank=world.rank, size=2, timeout=timeout)

    if world.rank == 0:
        interrupt_soon()
        with pytest.raises(KeyboardInterrupt):
            init(60)
    world.barrier()
    with init(60) as other:
        return int(other.all_reduce(1))


def interrupt_split(world: tutti.Communicator) -> Any:
    if world.rank == 1:
        time.sleep(1)
        with pytest.raises(tutti.AbortedError, match="rank 0 was interrupted while it waited") as caught:
            world.split(0)
        return caught.value.rank
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        world.split(0)
    with pytest.raises(tutti.AbortedError):
        world.barrier()
    time.sleep(2)  # its end is no news to rank 1
    return None


def test_in_split() -> None:
    assert ranks.answers(2, interrupt_split) == [(True, None), (True, 0)]


def interrupt_gradient_sync(world: tutti.Communicator, call: str, news: pathlib.Path) -> Any:
    """Rank 1 does not come before rank 0 has been interrupted, and has closed what it can."""
    gradients = {"x": np.ones(3)}
    sync = tutti.GradientSync(world, gradients) if call != "init" else None
    if world.rank == 1:
        end = time.monotonic() + ranks.AMPLE
        while not news.exists():
            assert time.monotonic() < end, "rank 0 waits for rank 1"
            time.sleep(0.01)
        return None
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        if sync is None:
            tutti.GradientSync(world, gradients)
        elif call == "wait":
            sync.ready(0)
            sync.wait()
        else:
            sync.broadcast_state({"y": np.ones(3)})
    if sync is not None:
        sync.close()
    news.touch()
    return None


@pytest.mark.parametrize("call", ["init", "wait", "broadcast_state"])
def test_in_gradients(call: str, tmp_path: pathlib.Path) -> None:
    assert ranks.answers(2, interrupt_gradient_sync, call, tmp_path / "news") == [(True, None)] * 2


def test_exit_after_an_interrupted_init() -> None:
    """A program that Ctrl-C ends in init ends at once."""
    program = f"import tutti; print('begins', flush=True); tutti.init('unix://{uuid.uuid4()}', rank=0, size=2)"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT, errors
    assert errors.decode().splitlines()[-1] == "KeyboardInterrupt"
