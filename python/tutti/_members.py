"""The ranks of one call of tutti.spawn, in its caller: processes or threads."""

from __future__ import annotations

import contextlib
import ctypes
import json
import multiprocessing.spawn
import os
import pickle
import queue
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Callable, Sequence, TypeAlias

from . import _init, _rank, _stacks
from .communicator import Communicator

Inbox: TypeAlias = "queue.SimpleQueue[tuple[int, str, Any]]"  # rank, kind, contents


class Process:
    """A rank in a process."""

    def __init__(
        self, rank: int, pid: int, connection: Connection, stacks: int, messages: Sequence[bytes] = ()
    ) -> None:
        self.rank = rank
        self.pid = pid
        self.connection = connection
        self.popen: subprocess.Popen[bytes] | None = None
        self._stacks = stacks
        self._messages = messages
        self._reader: threading.Thread | None = None

    def listen(self, inbox: Inbox) -> None:
        reader = threading.Thread(target=self._read, args=(inbox,), name="tutti.spawn", daemon=True)
        reader.start()
        self._reader = reader

    def _read(self, inbox: Inbox) -> None:
        try:
            for message in self._messages:
                self.connection.send_bytes(message)
            while True:
                # Processes that the rank left behind may keep its connection open.
                if self.connection.poll(0.2):
                    kind, contents = pickle.loads(self.connection.recv_bytes())
                    inbox.put((self.rank, kind, pickle.loads(contents) if kind == "result" else contents))
                elif self._status(os.WNOHANG) is not None:
                    break
        except (EOFError, OSError):
            pass
        except Exception as error:  # of a result's class
            error.add_note(f"while the result of rank {self.rank} was unpickled")
            inbox.put((self.rank, "raised", error))
        inbox.put((self.rank, "end", None))

    def _status(self, options: int) -> Any | None:
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | options)

    def describe(self) -> str:
        return f"process {self.pid}"

    def ask_for_stacks(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.send_bytes(b"stacks")

    def silent_stacks(self) -> str:
        """Returns the stacks of a rank that runs no Python code, and so cannot answer."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, _rank.STACKS_SIGNAL)
        time.sleep(0.2)
        return "  does not run Python code now\n" + self.fault_text()

    def fault_text(self) -> str:
        """Returns the text of faulthandler, without the threads and the frames of this package."""
        text = os.pread(self._stacks, 1 << 16, 0).decode(errors="replace")
        parts = [
            part
            for part in text.split("\n\n")
            if not re.search(r"/tutti/_\w+.py\", line \d+ in (_answer|_serve)\n", part)
        ]
        bottom = "|".join(code.co_name for code in _stacks.bottoms)
        own = rf"\n[^\n]*/tutti/_\w+\.py\", line \d+ in ({bottom})\n"
        cut = [re.split(own, part)[0] for part in parts]
        return textwrap.indent("\n".join(cut).strip(), "  ")

    def death(self) -> str:
        """Waits for the end of a rank that sent no result, and describes it."""
        try:
            status = self._status(0)
        except ChildProcessError:  # the program has waited for it
            status = None
        if status is None:
            text = f"rank {self.rank} has ended; its status is lost, as the program ignores SIGCHLD or has waited"
        elif status.si_code == os.CLD_EXITED:
            text = f"rank {self.rank} ended with status {status.si_status} before it had a result"
        else:
            name = signal.Signals(status.si_status).name
            text = f"rank {self.rank} was ended by {name}"
        return f"{text}\n{self.fault_text()}".rstrip()

    def end(self) -> None:
        """Ends the rank and the processes that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # the process is a zombie at least, so the number is its own
        with contextlib.suppress(ChildProcessError):
            if self.popen is not None:
                self.popen.wait()
            else:
                os.waitpid(self.pid, 0)
        if self._reader is not None:
            self._reader.join()
        self.connection.close()
        os.close(self._stacks)


def forked(
    rank: int, size: int, url: str, members: list[Any], fn: Callable[..., Any], args: tuple[Any, ...]
) -> Process:
    mine, its = Pipe()
    stacks = os.memfd_create("tutti-stacks")
    parent = os.getpid()
    _rank.flush()
    pid = os.fork()
    if pid == 0:
        try:
            mine.close()
            for member in members:
                member.connection.close()
            _rank.run_forked(_rank.RankStart(rank, size, url, parent, stacks), its, fn, args)
        finally:
            os._exit(1)
    its.close()
    return Process(rank, pid, mine, stacks)


class Fresh:
    """Starts interpreters for the ranks of one call."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        executable = multiprocessing.spawn.get_executable()
        if not executable:
            raise ValueError(
                "spawn cannot start an interpreter, since sys.executable does not name one: call "
                "multiprocessing.set_executable, or use start='fork'"
            )
        self._executable = executable
        pickler = _rank.pickler()
        self._preparation = None if pickler is not pickle else _main_module()
        try:
            self._task = pickler.dumps((fn, args))
            if self._preparation == {} and fn.__module__ == "__main__":
                raise TypeError("it is a function of an interactive session")
        except Exception as error:
            raise TypeError(
                f"spawn cannot pickle {fn!r} and its arguments: {error}. "
                "Define the function at the top of a module, install cloudpickle, or use start='fork'"
            ) from error

    def __call__(self, rank: int, size: int, url: str, *_: Any) -> Process:
        mine, its = Pipe()
        stacks = os.memfd_create("tutti-stacks")
        code = (
            "import sys; sys.path[:] = filter(None, sys.path); "  # without this folder and its json.py, if any
            "import json; from multiprocessing.connection import Connection; "
            "connection = Connection(int(sys.argv.pop())); sys.path[:] = json.loads(connection.recv_bytes()); "
            "from tutti._rank import run_fresh; run_fresh(connection)"
        )
        flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        with its:
            popen = subprocess.Popen(
                [self._executable, *flags, "-c", code, str(its.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[its.fileno(), stacks],
                start_new_session=True,
            )
        start = _rank.RankStart(rank, size, url, os.getpid(), stacks)
        task = pickle.dumps((tuple(start), sys.argv, self._preparation, self._task))
        folders = json.dumps([folder for folder in sys.path if isinstance(folder, str)])  # Python ignores others
        process = Process(rank, popen.pid, mine, stacks, [folders.encode(), task])
        process.popen = popen
        return process


def _main_module() -> dict[str, Any]:
    """Returns the data that a process needs to import this one's script, as in multiprocessing."""
    data = multiprocessing.spawn.get_preparation_data("tutti.spawn")
    if os.path.isfile(data.get("init_main_from_path", "")):
        return {"init_main_from_path": data["init_main_from_path"]}
    return {key: value for key, value in data.items() if key == "init_main_from_name"}


class RankThread:
    """A rank in a thread."""

    def __init__(self, rank: int, size: int, url: str, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.rank = rank
        self._place = (rank, size, url)
        self._task = (fn, args)
        self._thread = threading.Thread(target=self._run, name=f"rank {rank}", daemon=True)
        self._inbox: Inbox = queue.SimpleQueue()
        self._world: Communicator | None = None

    def listen(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._thread.start()

    def _run(self) -> None:
        import tutti

        rank, size, url = self._place
        try:
            with tutti.init(url, rank=rank, size=size) as world:
                _init.own.world = self._world = world
                value = _rank.call_with_world(self._task[0], self._task[1], world)
            self._inbox.put((rank, "result", value))
        except (SystemExit, KeyboardInterrupt) as error:  # they would end the caller
            reason = f"rank {rank} raised {type(error).__name__}: {error}"
            self._inbox.put((rank, "raised", ChildProcessError(reason)))
        except BaseException as error:
            self._inbox.put((rank, "raised", error))
        self._inbox.put((rank, "end", None))

    def describe(self) -> str:
        return "thread"

    def ask_for_stacks(self) -> None:
        waits = "" if self._world is None else _stacks.waits_text(self._world._handle)
        self._inbox.put((self.rank, "stacks", waits + _stacks.threads_text(self._thread.ident)))

    def silent_stacks(self) -> str:
        return ""

    def end(self) -> None:
        """Raises SystemExit in a thread that still runs, when it next runs Python code."""
        if self._thread.ident is None:
            return
        self._thread.join(0.1)
        if self._thread.is_alive():
            ident = ctypes.c_ulong(self._thread.ident)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(SystemExit))
            return
        # Until the system has ended a thread, it may have locks of libraries, which a fork would copy.
        limit = time.monotonic() + 1
        while os.path.exists(f"/proc/self/task/{self._thread.native_id}") and time.monotonic() < limit:
            time.sleep(0.001)
