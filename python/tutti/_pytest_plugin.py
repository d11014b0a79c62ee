"""The plugin of pytest: the marker `parallel`, and the fixture `world`.

A test with the marker runs on several ranks, each a copy of the process of pytest with the fixtures that the test
got. It passes if it passes on all ranks, and fails with the stacks of all ranks if they miss the deadline.

    @pytest.mark.parallel               three ranks
    @pytest.mark.parallel(2)            two
    @pytest.mark.parallel([1, 2, 4])    once for each of these numbers
    @pytest.mark.parallel(2, timeout=5, threads=True, start="fresh")    see tutti.testing.run
"""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from . import _stacks

DEFAULT_RANKS = 3
_PARAMETER = "_tutti_ranks"
_OPTIONS = ("timeout", "threads", "start")


class _World:
    """Stands for the world of a rank until the rank runs."""

    def __getattr__(self, name: str) -> Any:
        __tracebackhide__ = True
        raise AttributeError(f"the world has no {name} in fixtures: it exists only on the ranks of a test")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("tutti_timeout", "seconds that a test with the marker `parallel` may take", default="60")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "parallel(nprocs=3, timeout=60, threads=False, start='fork'): run the test on that many ranks of tutti, "
        "or once for each number of a list",
    )
    if config.pluginmanager.has_plugin("pytest_mpi"):
        raise pytest.UsageError(
            "the plugins of tutti and of mpi-pytest both have the marker 'parallel': "
            "leave one out by -p no:tutti or by -p no:pytest_mpi"
        )


def _numbers_of(marker: pytest.Mark) -> list[int]:
    given = [*marker.args, *(value for name, value in marker.kwargs.items() if name == "nprocs")]
    unknown = set(marker.kwargs) - {"nprocs", *_OPTIONS}
    if len(given) > 1 or unknown:
        raise pytest.UsageError(f"the marker parallel takes nprocs, {', '.join(_OPTIONS)}, not {marker.kwargs}")
    numbers = given[0] if given else DEFAULT_RANKS
    numbers = [numbers] if isinstance(numbers, int) else list(numbers)
    if not numbers or not all(isinstance(number, int) and number > 0 for number in numbers):
        raise pytest.UsageError(f"the marker parallel takes a number of ranks or a list of them, not {given[0]!r}")
    return numbers


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("parallel")
    if marker is None:
        return
    numbers = _numbers_of(marker)
    metafunc.fixturenames.append(_PARAMETER)
    metafunc.parametrize(_PARAMETER, numbers, ids=[f"nprocs={number}" for number in numbers])


@pytest.fixture
def world() -> Any:
    """The world of the rank that runs the test; without the marker `parallel` a world of one rank."""
    return _World()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("parallel") is not None and not hasattr(item, "callspec"):
        pytest.fail("the marker parallel is for functions and for methods of plain classes", pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    __tracebackhide__ = True
    names = pyfuncitem._fixtureinfo.argnames
    marker = pyfuncitem.get_closest_marker("parallel")
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    options: dict[str, Any] = {"timeout": float(pyfuncitem.config.getini("tutti_timeout"))}
    if marker is None:
        if not any(isinstance(value, _World) for value in arguments.values()):
            return None
        ranks = 1
    else:
        options |= {name: value for name, value in marker.kwargs.items() if name in _OPTIONS}
        ranks = int(str(pyfuncitem.callspec.params[_PARAMETER]))
    from . import testing

    failure: BaseException | None = None
    outcomes: list[Any] = []
    try:
        outcomes += testing.run(ranks, _run_test, pyfuncitem.obj, arguments, **options)
    except BaseException as error:
        failure = error
    if failure is not None:
        raise failure.with_traceback(None)  # frames of this process mean nothing to the reader
    for outcome in outcomes:
        if outcome is not None:
            kind, reason = outcome
            getattr(pytest, kind)(reason)
    return True


def _run_test(world: Any, test: Any, arguments: dict[str, Any]) -> tuple[str, str] | None:
    """Runs a test on a rank. Returns its outcome if it is not that it passed."""
    try:
        result = test(**{name: world if isinstance(value, _World) else value for name, value in arguments.items()})
        if inspect.iscoroutine(result):
            asyncio.run(result)
    except pytest.skip.Exception as error:  # their classes cannot be pickled
        return "skip", str(error)
    except pytest.xfail.Exception as error:
        return "xfail", str(error)
    except pytest.fail.Exception as error:
        raise AssertionError(str(error)) from None
    return None


_stacks.bottoms.add(_run_test.__code__)
