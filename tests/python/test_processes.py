"""Forked children, and the exit of the process."""

from __future__ import annotations

import copy
import importlib.util
import os
import pathlib
import pickle
import subprocess
import sys
import threading
import time
import traceback
from typing import Any

import numpy as np
import pytest

import ranks
import tutti
from installed import IS_INSTALLED


def check_no_copies(world: tutti.Communicator) -> None:
    for thing in (world, world.plan.barrier(), world.start.recv(np.ones(1), 0), world.empty(3)):
        for copies in (pickle.dumps, copy.deepcopy):
            with pytest.raises(TypeError, match="belongs to its process, and is neither pickled nor copied"):
                copies(thing)


def test_no_copies() -> None:
    assert ranks.answers(1, check_no_copies) == [(True, None)]


def call_in_child(world: tutti.Communicator, request: Any, plan: Any) -> None:
    for use in (world.barrier, lambda: world.start.barrier(), request.wait, plan.start, world.describe):
        with pytest.raises(tutti.ArgumentError, match="belongs to the parent process.*spawn"):
            use()
    world.close()
    assert not tutti.is_initialized()
    with tutti.init(rank=0, size=1, tuning="none") as own:
        assert own.all_reduce(2) == 2


def fork(world: tutti.Communicator) -> int:
    request = world.start.recv(np.ones(1), world.rank)
    plan = world.plan.all_reduce(np.ones(1))
    thread = threading.Thread(target=lambda: world.recv(np.ones(1), world.rank, tag=4))  # has a turn, mostly
    thread.start()
    time.sleep(0.2)
    child = os.fork()
    if child == 0:
        try:
            call_in_child(world, request, plan)
            del request, plan
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    world.send(np.ones(1), world.rank)
    world.send(np.ones(1), world.rank, tag=4)
    thread.join()
    request.wait()
    assert world.all_reduce(1) == world.size
    plan.close()
    return status


@pytest.mark.parametrize("size", [1, 2])
def test_fork(size: int) -> None:
    assert ranks.answers(size, fork) == [(True, 0)] * size


PROGRAMS = {
    "nothing is closed": "world.barrier(); x = world.empty(3); plan = world.plan.all_reduce(x); plan.start().wait()",
    "with a group": "group = world.group(range(world.size)); group.all_reduce(1); world.close()",
    "a done request": "r = world.start.all_reduce(1); r.wait()",
    "a pending request": "import array; r = world.start.recv(array.array('d', [1]), 0)",
    "a thread that waits": (
        "import array, threading; a = array.array('d', [1])\n"
        "threading.Thread(target=lambda: world.recv(a, world.rank), daemon=True).start()\n"
        "import time; time.sleep(0.2)"
    ),
    "a thread that waits for a request": (
        "import array, threading; a = array.array('d', [1]); r = world.start.recv(a, world.rank)\n"
        "threading.Thread(target=r.wait, daemon=True).start()\n"
        "import time; time.sleep(0.2)"
    ),
    "gradients": (
        "import array; g = array.array('f', [1]); s = tutti.GradientSync(world, {'g': g}); s.ready(0); s.wait()"
    ),
    "an array of memory": "import numpy; m = world.empty(3); a = numpy.asarray(m); b = numpy.from_dlpack(m)",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_exit_prints_nothing(name: str) -> None:
    program = f"import tutti\nworld = tutti.init(tuning='none')\n{PROGRAMS[name]}\n"
    size = 1 if "wait" in name or "pending" in name else 2  # a rank that ends early fails what others wait for
    url = f"unix://exit-{os.getpid()}-{name.replace(' ', '-')}"
    processes = []
    for rank in range(size):
        environment = dict(os.environ, TUTTI_RANK=str(rank), TUTTI_SIZE=str(size), TUTTI_URL=url)
        command = [sys.executable, "-X", "dev", "-c", program]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        processes.append(process)
    for process in processes:
        output, _ = process.communicate(timeout=30)
        assert (process.returncode, output.decode()) == (0, "")


def import_alone(module: str, cache: pathlib.Path) -> tuple[float, set[str]]:
    """The processor's seconds that an import of a module takes, and what it imports."""
    program = (
        "import sys; before = set(sys.modules); import time; begin = time.process_time(); "
        f"import {module}; print(time.process_time() - begin, *(set(sys.modules) - before))"
    )
    environment = dict(os.environ, PYTHONPYCACHEPREFIX=str(cache))
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", program]
    output = subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout
    seconds, *modules = output.split()
    return float(seconds), set(modules)


def test_import_is_quick_and_small(tmp_path: pathlib.Path) -> None:
    """As quick as that of asyncio, which takes 30 ms where that of tutti takes 20."""
    seconds: dict[str, list[float]] = {"tutti": [], "asyncio": []}
    for _ in range(5):  # the first compiles
        for module, taken in seconds.items():
            took, modules = import_alone(module, tmp_path)
            taken.append(took)
            assert module != "tutti" or not {"numpy", "torch", "asyncio", "multiprocessing"} & modules
    assert min(seconds["tutti"]) < 1.5 * min(seconds["asyncio"]), seconds


def test_a_subinterpreter_gets_one_error() -> None:
    program = """if True:
        import sys
        try:
            import _interpreters as module
            kinds, run = [("isolated",), ("legacy",)], module.exec
        except ImportError:  # before Python 3.13
            import _xxsubinterpreters as module
            kinds, run = [()], module.run_string
        code = f\"\"\"if True:
            import sys
            sys.path[:] = {sys.path}
            try:
                import tutti
            except ImportError as error:
                print(error)
        \"\"\"
        for kind in kinds:
            run(module.create(*kind), code)
    """
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    assert set(output.splitlines()) == {
        "tutti cannot be imported in a subinterpreter: use processes, as tutti.spawn starts them"
    }


def check_by_mypy(folder: pathlib.Path, *arguments: str) -> None:
    """Runs a module of mypy, in a folder without modules. It finds an installed package itself."""
    pytest.importorskip("mypy")
    environment = dict(os.environ)
    if not IS_INSTALLED:
        environment["MYPYPATH"] = str(pathlib.Path(tutti.__file__).parents[1])
    command = [sys.executable, "-m", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert result.returncode == 0, result.stdout + result.stderr


def test_types(tmp_path: pathlib.Path) -> None:
    missing = [] if importlib.util.find_spec("torch") else ["--exclude", "tutti/torch/"]
    pages = ["--exclude", "tutti/share/"]  # scripts of a wheel
    config = pathlib.Path(__file__).parents[2] / "pyproject.toml"  # which packages may be missing
    check_by_mypy(tmp_path, "mypy", "--config-file", str(config), *missing, *pages, "-p", "tutti")


def test_the_stub_of_the_extension(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("tutti._fast", reason="the package has no extension")
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nignore_missing_imports = true\nfollow_imports = silent\n")
    check_by_mypy(tmp_path, "mypy.stubtest", "tutti._fast", "--mypy-config-file", str(config))
