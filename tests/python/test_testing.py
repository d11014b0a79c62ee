"""tutti.testing, and the plugin of pytest, whose own tests run pytest."""

import os
import subprocess
import sys

import pytest
import tutti
from installed import PYTEST
from tutti.testing import parallel_assert, run

PATIENCE = 120


def test_run_takes_functions_within_tests():
    base = 5
    assert run(2, lambda world, x: base + x + world.rank, 10) == [15, 16]
    assert run(2, lambda world: world.all_reduce(1), threads=True) == [2, 2]


def test_run_has_a_deadline():
    with pytest.raises(TimeoutError, match="had not ended"):
        run(2, lambda world: world.barrier() if world.rank else world.recv(bytearray(1), 1), timeout=1)


@pytest.mark.parallel(3)
def test_parallel_assert_fails_on_all_ranks(world):
    parallel_assert(True)
    parallel_assert(lambda: world.rank < 3)
    with pytest.raises(AssertionError, match="^false on rank 1, 2 of 3: it is 1; it is 2$"):
        parallel_assert(world.rank == 0, f"it is {world.rank}", world)
    with pytest.raises(
        AssertionError, match="^false on rank 2 of 3: ZeroDivisionError: integer division or modulo by zero$"
    ):
        parallel_assert(lambda: 1 // (2 - world.rank) >= 0, "not so")


MODULE = """
import os, time, unittest, pytest, tutti
from tutti.testing import parallel_assert

@pytest.mark.parallel
def test_default(world): assert world.size == 3

@pytest.mark.parallel([1, 2])
def test_list(world, tmp_path):
    (tmp_path / str(world.rank)).touch()
    world.barrier()
    assert len(list(tmp_path.iterdir())) == world.size

@pytest.mark.parallel(nprocs=2, threads=True)
def test_threads(world): assert world.all_reduce(world.rank) == 1 and tutti.world() is world

def test_one(world): assert world.size == 1

@pytest.mark.parallel(2)
@pytest.mark.parametrize("x", [1, 2])
def test_more_parameters(x, world): assert world.all_reduce(x) == 2 * x

class TestClass:
    @pytest.mark.parallel(2)
    def test_method(self): assert tutti.world().size == 2

@pytest.mark.parallel(2)
def test_skips(world): pytest.skip("not today")

@pytest.mark.parallel(2)
@pytest.mark.xfail(strict=True)
def test_xfails(world): assert world.rank == 0

@pytest.mark.parallel(2, timeout=2)
def test_hangs(world):
    if world.rank == 1:
        time.sleep(1000)
    world.barrier()

@pytest.mark.parallel(2)
def test_fails(world):
    values = [world.rank, 7]
    assert values == [0, 7]

@pytest.mark.parallel(2)
async def test_awaits(world):
    x = bytearray([world.rank + 1])
    assert bytes(await world.start.all_reduce(x)) == bytes([3])

class TestUnit(unittest.TestCase):
    @pytest.mark.parallel(2)
    def test_unit(self): pass

@pytest.fixture
def early(world): return world.size

def test_fixture(early): pass

@pytest.mark.parallel(2)
def test_prints(world):
    print(f"rank {world.rank} prints")
    world.barrier()
    assert world.rank == 0

@pytest.mark.parallel(2)
def test_dies(world):
    if world.rank == 1:
        os.abort()
    world.barrier()
"""


def run_pytest(tmp_path, text, *arguments):
    module = tmp_path / "test_module.py"
    module.write_text(text)
    return subprocess.run(
        [sys.executable, *PYTEST, *arguments, module],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=tmp_path,
    )


def test_plugin(tmp_path):
    done = run_pytest(tmp_path, MODULE, "-v")
    output = done.stdout
    assert done.returncode == 1, output + done.stderr
    for line in (
        "test_default[nprocs=3] PASSED",
        "test_list[nprocs=1] PASSED",
        "test_list[nprocs=2] PASSED",
        "test_threads[nprocs=2] PASSED",
        "test_one PASSED",
        "test_more_parameters[nprocs=2-1] PASSED",
        "test_method[nprocs=2] PASSED",
        "test_skips[nprocs=2] SKIPPED (not today)",
        "test_xfails[nprocs=2] XFAIL",
        "test_awaits[nprocs=2] PASSED",
        "test_unit ERROR",
        "test_fixture ERROR",
        "test_hangs[nprocs=2] FAILED",
        "test_fails[nprocs=2] FAILED",
        "test_dies[nprocs=2] FAILED",
    ):
        assert line in output, f"{line}\n{output}"
    assert "4 failed" in output and "2 errors" in output
    for text in (
        "TimeoutError: after 2 s 2 of 2 ranks had not ended",
        "barrier #1 waits for rank 1",
        "time.sleep(1000)",
        "assert [1, 7] == [0, 7]",
        "raised by rank 1 of 2",
        "rank 1 was ended by SIGABRT",
        "the marker parallel is for functions",
        "the world has no size in fixtures",
        "rank 0 prints",
        "rank 1 prints",
    ):
        assert text in output, f"{text}\n{output}"
    assert "_spawn.py" not in output and "_plugin.py" not in output, "frames of tutti"


@pytest.mark.parametrize(
    "marker, text",
    [("0", "number of ranks"), ("'two'", "number of ranks"), ("2, 3", "takes nprocs"), ("ranks=2", "takes nprocs")],
)
def test_wrong_markers_are_errors(tmp_path, marker, text):
    done = run_pytest(tmp_path, f"import pytest\n@pytest.mark.parallel({marker})\ndef test_x(): pass\n")
    assert done.returncode != 0 and text in done.stdout + done.stderr


def test_the_deadline_is_an_option_of_the_ini_file(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\ntutti_timeout = 1.5\n")
    text = "import pytest, time\n@pytest.mark.parallel(2)\ndef test_x(): time.sleep(1000)\n"
    assert "after 1.5 s 2 of 2 ranks had not ended" in run_pytest(tmp_path, text).stdout


def test_the_world_of_a_test_is_not_the_callers():
    with tutti.init("unix://tutti-test-" + os.urandom(8).hex(), rank=0, size=1) as world:
        assert run(2, lambda other: other.size + other.all_reduce(1)) == [4, 4]
        assert world.all_reduce(1) == 1
