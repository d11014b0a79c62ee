"""One rank of tutti.spawn, in its own process."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import pickle
import signal
import sys
import threading
import traceback
from multiprocessing.connection import Connection
from typing import Any, Callable, NamedTuple

from . import _stacks

# Variables of launchers; a rank of tutti.spawn that a launcher's process started is not the launcher's.
_PREFIXES = (
    "TUTTI_RANK", "TUTTI_SIZE", "TUTTI_LOCAL_", "TUTTI_URL", "TUTTI_HOSTS", "OMPI_COMM_WORLD_", "OMPI_MCA_ess",
    "PMIX_", "PMI_", "MV2_COMM_WORLD_", "MPI_LOCAL", "TORCHELASTIC_",
)  # fmt: skip
_NAMES = frozenset(
    "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT GROUP_RANK HYDI_CONTROL_FD SLURM_PROCID "
    "SLURM_STEP_ID SLURM_STEPID SLURM_STEP_NUM_TASKS SLURM_LOCALID SLURM_STEP_NODELIST PALS_LOCAL_RANKID".split()
)
_PR_SET_PDEATHSIG = 1
STACKS_SIGNAL = signal.SIGUSR2


class RankStart(NamedTuple):
    """The place of a process in its world."""

    rank: int
    size: int
    url: str
    parent: int  # process
    stacks: int  # descriptor of a file for stacks that faulthandler writes

    def set_environment(self) -> None:
        for name in [name for name in os.environ if name.startswith(_PREFIXES) or name in _NAMES]:
            del os.environ[name]
        for name, value in (("RANK", self.rank), ("SIZE", self.size)):
            os.environ["TUTTI_" + name] = os.environ["TUTTI_LOCAL_" + name] = str(value)
        os.environ["TUTTI_URL"] = self.url
        os.environ.setdefault("OMP_NUM_THREADS", "1")


class Failure(NamedTuple):
    """An exception of a rank."""

    pickled: bytes | None  # the exception; None if it cannot be pickled
    summary: str
    text: str  # its traceback
    consequence: bool  # whether it reports another rank's end


def pickler() -> Any:
    """Returns cloudpickle if it is installed, which also has functions and classes of notebooks; otherwise pickle."""
    try:
        import cloudpickle
    except ImportError:
        return pickle
    return cloudpickle


def failure_of(error: BaseException) -> Failure:
    """Describes the exception that is being handled."""
    trace = error.__traceback__
    own = (__name__, "tutti._pytest_plugin")  # whose frames mean nothing to the reader
    while trace is not None and trace.tb_frame.f_globals.get("__name__") in own:
        trace = trace.tb_next
    text = "".join(traceback.format_exception(type(error), error, trace))
    pickled = None
    if not isinstance(error, (SystemExit, KeyboardInterrupt)):  # they would end the parent
        with contextlib.suppress(Exception):
            data = pickler().dumps(error)
            pickle.loads(data)
            pickled = data
    return Failure(pickled, f"{type(error).__name__}: {error}", text, is_consequence(error))


def is_consequence(error: BaseException) -> bool:
    """Whether an exception reports the end of another rank."""
    return getattr(error, "code", "") in ("peer_dead", "aborted")


def call_with_world(fn: Callable[..., Any], args: tuple[Any, ...], world: Any) -> Any:
    """Calls the function of a rank."""
    return fn(world, *args)


_stacks.bottoms.add(call_with_world.__code__)


class Rank:
    """A rank, connected to the process that started it."""

    def __init__(self, start: RankStart, connection: Connection) -> None:
        self._start = start
        self._connection = connection
        self._sending = threading.Lock()

    def begin(self) -> None:
        """Makes this process end with its parent, and answer questions for its stacks."""
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != self._start.parent:
            os._exit(1)
        if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:  # the parent's wish; a rank waits for its children
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        faulthandler.enable(self._start.stacks)
        faulthandler.register(STACKS_SIGNAL, self._start.stacks)
        self._start.set_environment()
        threading.Thread(target=self._answer, name="tutti.spawn", daemon=True).start()

    def run(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        """Calls a function, and sends its result or exception."""
        import tutti

        from . import _handles

        try:
            world = tutti.world()
            value = call_with_world(fn, args, world)
            message = ("result", pickler().dumps(value))
        except BaseException as error:
            message = ("failure", failure_of(error))
            self.send(message)
        else:
            self.send(message)
            _handles.close_all()  # one that stays open, such as a group, would make peers take this end for a death

    def send(self, message: Any) -> None:
        data = pickle.dumps(message)
        with self._sending:
            self._connection.send_bytes(data)

    def _answer(self) -> None:
        """Sends stacks whenever the parent asks for them; ends this process when the parent is gone."""
        try:
            while True:
                self._connection.recv_bytes()
                self.send(("stacks", _stacks.waits_text() + _stacks.threads_text()))
        except (EOFError, OSError):
            os._exit(1)


_stacks.bottoms.add(Rank.run.__code__)


def flush() -> None:
    """Flushes the output of the program, since no exit of the interpreter does it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass


def run_fresh(connection: Connection) -> None:
    """Runs a rank in an interpreter that was started for it."""
    start, sys.argv, preparation, task = pickle.loads(connection.recv_bytes())
    rank = Rank(RankStart(*start), connection)
    rank.begin()
    try:
        if preparation is not None:
            from . import _spawn
            from multiprocessing.spawn import prepare

            with _spawn.importing_main():
                prepare(preparation)
        fn, args = pickle.loads(task)
    except BaseException as error:
        rank.send(("failure", failure_of(error)))
    else:
        rank.run(fn, args)
    flush()
    os._exit(0)


def run_forked(start: RankStart, connection: Connection, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Runs a rank in a process that was just forked, and never returns."""
    status = 1
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        rank = Rank(start, connection)
        rank.begin()
        rank.run(fn, args)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        flush()
        os._exit(status)
