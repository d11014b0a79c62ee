"""Ranks of a function: results, failures, deadlines and ends of processes."""

import contextlib
import multiprocessing.spawn
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
import tutti

WAYS = [{"start": "fork"}, {"start": "fresh"}, {"threads": True}]
PROCESSES = WAYS[:2]
PATIENCE = 60


def number(world, base):
    return base + world.all_reduce(world.rank) * 10 + tutti.world().rank


def fail(world):
    if world.rank == 1:
        raise KeyError("the key")
    world.barrier()


def wait_for_rank_1(world):
    if world.rank != 1:
        world.barrier()
    for _ in range(1000):
        time.sleep(0.1)


def end(world, kind):
    if world.rank == 1:
        if kind == "signal":
            os.kill(os.getpid(), signal.SIGSEGV)
        if kind == "status":
            os._exit(7)
        sys.exit("enough")
    world.barrier()


def ids(way):
    return way.get("start", "threads")


def children_of(pid):
    return subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()


@pytest.mark.parametrize("way", WAYS, ids=ids)
def test_results_are_in_the_order_of_ranks(way):
    assert tutti.spawn(number, 3, 100, timeout=PATIENCE, **way) == [130, 131, 132]


kept = []


def end_first(world):
    """Rank 1 ends with a communicator that was made of the world, and rank 0 gets its last broadcast later."""
    kept.append(world.group([world.rank]))
    world.barrier()
    if world.rank == 0:
        time.sleep(0.5)
    return bytes(world.broadcast(bytearray([world.rank]), root=1))


@pytest.mark.parametrize("way", PROCESSES, ids=ids)
def test_a_rank_that_ends_with_open_communicators_has_not_died(way):
    assert tutti.spawn(end_first, 2, timeout=PATIENCE, **way) == [b"\1", b"\1"]


@pytest.mark.parametrize("way", WAYS, ids=ids)
def test_the_first_failure_is_raised(way):
    with pytest.raises(KeyError, match="the key") as caught:
        tutti.spawn(fail, 3, timeout=PATIENCE, **way)
    assert "raised by rank 1 of 3" in caught.value.__notes__
    assert any("rank 0: PeerDeadError" in note for note in caught.value.__notes__), caught.value.__notes__
    if not way.get("threads"):
        assert 'raise KeyError("the key")' in str(caught.value.__cause__)


@pytest.mark.parametrize("way", PROCESSES, ids=ids)
@pytest.mark.parametrize(
    "kind, text",
    [
        ("signal", r"(?s)rank 1 was ended by SIGSEGV.*in end"),
        ("status", "rank 1 ended with status 7 before"),
        ("exit", "rank 1 raised SystemExit: enough"),
    ],
)
def test_the_end_of_a_rank_is_a_failure(way, kind, text):
    with pytest.raises(ChildProcessError, match=text):
        tutti.spawn(end, 2, kind, timeout=PATIENCE, **way)


@pytest.mark.parametrize("way", [WAYS[0], WAYS[2]], ids=ids)
def test_a_deadline_shows_stacks_and_waits(way):
    with pytest.raises(TimeoutError) as caught:
        tutti.spawn(wait_for_rank_1, 2, timeout=3, **way)
    text = str(caught.value)
    assert "after 3 s 2 of 2 ranks had not ended" in text
    zero, one = re.split(r"rank 1 \(", text)
    assert "in wait_for_rank_1" in zero and "in barrier" in zero
    assert "in wait_for_rank_1" in one and "sleep" in one
    assert "barrier #1 waits for rank 1" in text
    assert "pytest" not in text.replace(sys.prefix, "").replace("site-packages", ""), "frames of the caller"


def test_a_rank_outside_of_python_shows_its_stack():
    def loop(world):
        re.match(r"(a+)+b", "a" * 40)

    with pytest.raises(TimeoutError, match=r"(?s)does not run Python code now.*re/__init__.*in loop"):
        tutti.spawn(loop, 1, timeout=0.5, start="fork")


@pytest.mark.parametrize("way", PROCESSES, ids=ids)
def test_no_process_is_left(way, tmp_path):
    before = children_of(os.getpid())

    def leave_behind(world):
        child = subprocess.Popen(["sleep", "1000"])
        (tmp_path / str(world.rank)).write_text(str(child.pid))

    tutti.spawn(leave_behind, 2, timeout=PATIENCE, start="fork")
    with pytest.raises(TimeoutError):
        tutti.spawn(wait_for_rank_1, 2, timeout=0.5, **way)
    assert set(children_of(os.getpid())) <= set(before)
    for rank in "01":
        assert not is_running(int((tmp_path / rank).read_text()))


def is_running(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


SCRIPT = """
import os, signal, sys, time
import tutti
def hang(world):
    open(os.path.join(sys.argv[1], str(world.rank)), "w").write(str(os.getpid()))
    time.sleep(1000)
if __name__ == "__main__":
    tutti.spawn(hang, 2, start=sys.argv[2])
"""


@pytest.mark.parametrize("way", ["fork", "fresh"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_ranks_end_with_their_parent(tmp_path, way, how):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    parent = subprocess.Popen(
        [sys.executable, script, tmp_path, way],
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    )
    files = [tmp_path / rank for rank in "01"]
    until(lambda: parent.poll() is not None or all(file.exists() and file.read_text() for file in files))
    parent.send_signal(how)
    parent.wait(PATIENCE)
    until(lambda: not any(is_running(int(file.read_text())) for file in files))


def until(condition):
    limit = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


UNGUARDED = """
import sys
sys.modules["cloudpickle"] = None  # not installed
import tutti
def answer(world): return 42
{guard}print(tutti.spawn(answer, 2, timeout=60))
"""


def run_script(tmp_path, text):
    script = tmp_path / "script.py"
    script.write_text(text)
    return subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=PATIENCE)


def test_a_script_without_cloudpickle_needs_a_guard(tmp_path):
    guarded = run_script(tmp_path, UNGUARDED.format(guard='if __name__ == "__main__": '))
    assert guarded.stdout == "[42, 42]\n", guarded.stderr
    bare = run_script(tmp_path, UNGUARDED.format(guard=""))
    assert bare.returncode == 1 and 'if __name__ == "__main__":' in bare.stderr


def test_an_interactive_session_needs_cloudpickle():
    text = UNGUARDED.format(guard="")
    done = subprocess.run([sys.executable, "-"], input=text, capture_output=True, text=True, timeout=PATIENCE)
    assert "interactive session" in done.stderr and "cloudpickle" in done.stderr
    pytest.importorskip("cloudpickle")
    text = text.replace("sys.modules", "{}")
    done = subprocess.run([sys.executable, "-"], input=text, capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout == "[42, 42]\n", done.stderr


def test_what_cannot_be_pickled_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(TypeError, match="start='fork'"):
        tutti.spawn(lambda world: 1, 2)
    with pytest.raises(ChildProcessError, match="rank 0 raised LockError: no"):
        tutti.spawn(raise_lock, 1, start="fork", timeout=PATIENCE)
    with pytest.raises(TypeError, match="lock"):
        tutti.spawn(lambda world: threading.Lock(), 1, start="fork", timeout=PATIENCE)


class LockError(Exception):
    def __init__(self, text):
        super().__init__(text)
        self.lock = threading.Lock()


def raise_lock(world):
    raise LockError("no")


def test_variables_of_a_launcher_around_do_not_matter(monkeypatch):
    for name, value in {"RANK": "3", "WORLD_SIZE": "8", "MASTER_ADDR": "h", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    assert tutti.spawn(number, 2, 0, start="fork", timeout=PATIENCE) == [10, 11]


@pytest.mark.parametrize("wrong", [{"n": 0}, {"n": 1, "start": "thread"}])
def test_wrong_arguments_are_rejected(wrong):
    with pytest.raises(ValueError):
        tutti.spawn(number, wrong.pop("n"), 0, **wrong)


def test_large_results_arrive():
    results = tutti.spawn(lambda world: bytes([world.rank]) * (5 << 20), 2, start="fork", timeout=PATIENCE)
    assert [(len(result), result[0]) for result in results] == [(5 << 20, 0), (5 << 20, 1)]


def path_of_rank(world):
    return sys.path, sys.executable


def test_fresh_ranks_have_the_path_of_their_parent(monkeypatch, tmp_path):
    (tmp_path / "json.py").write_text("raise ImportError('a module of the current folder')")
    monkeypatch.chdir(tmp_path)
    strange = ["/nowhere/\udcff", "/nowhere/" + 200_000 * "x"]  # which is longer than an argument may be
    monkeypatch.setattr(sys, "path", [*sys.path, *strange, pathlib.Path("/nowhere"), None])
    [(found, _)] = tutti.spawn(path_of_rank, 1, timeout=PATIENCE)
    assert found == [folder for folder in sys.path if isinstance(folder, str)]


def test_fresh_ranks_run_the_interpreter_of_multiprocessing(monkeypatch, tmp_path):
    monkeypatch.setattr(multiprocessing.spawn, "_python_exe", multiprocessing.spawn.get_executable())
    other = tmp_path / "python"
    other.symlink_to(sys.executable)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    for executable in (None, ""):  # of a program with an interpreter inside
        monkeypatch.setattr(sys, "executable", executable)
        multiprocessing.set_executable(str(other))
        [(_, found)] = tutti.spawn(path_of_rank, 1, timeout=PATIENCE)
        assert found == str(other)
        multiprocessing.set_executable(executable)
        with pytest.raises(ValueError, match="multiprocessing.set_executable"):
            tutti.spawn(path_of_rank, 1)


def end_of_child(world):
    if world.rank == 0:
        return subprocess.run(["sh", "-c", "exit 3"]).returncode
    os._exit(7)


@pytest.mark.parametrize("way", PROCESSES, ids=ids)
def test_ranks_can_wait_for_children_though_their_parent_does_not(way):
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert tutti.spawn(end_of_child, 1, timeout=PATIENCE, **way) == [3]
        with pytest.raises(ChildProcessError, match="rank [12] has ended; its status is lost, as the program ignores"):
            tutti.spawn(end_of_child, 3, timeout=PATIENCE, **way)
    finally:
        signal.signal(signal.SIGCHLD, before)
