"""Ranks that meet by a store of torch.distributed.

A store may outlive an attempt to meet over it. Ranks that failed or were killed have left keys there, and a rank may
try again while others still wait. So the store counts the attempts of each rank. Rank 0 proposes the newest attempts
of all ranks, and again whenever they change. A rank accepts a proposal that contains its own attempt; when all ranks
have accepted the same one, they go on, and exchange bytes under its name. So no rank reads bytes of an earlier attempt.
If a rank begins a new attempt later, the ranks that wait for its old one notice it, and begin new attempts too.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from datetime import timedelta
from typing import Any, Iterator

from .. import _init
from ..communicator import Communicator
from ..errors import Error, MismatchError, TimeoutError, TransportError

_LONGEST_PAUSE = 0.1  # seconds between two looks at the store
_LONGEST_LEAVE = 1.0  # seconds
_TIMEOUT = 60.0  # of tutti.init


class _Superseded(Exception):
    """A rank of this attempt has begun a new one."""


class _StoreRanks:
    """One attempt of a rank to meet the others. Raises TimeoutError, MismatchError, TransportError."""

    def __init__(self, store: Any, rank: int, size: int, start: float, end: float) -> None:
        self._store = store
        self._rank = rank
        self._size = size
        self._start = start
        self._end = end
        self._round = 0
        self._name = ""  # of the proposal that this rank has accepted
        self._total = 0  # attempts of all ranks before that proposal
        with self._store_errors():
            self._add("attempts")
            self._own = self._add(f"attempts/{rank}")
            self._meet()

    def Get_rank(self) -> int:
        return self._rank

    def Get_size(self) -> int:
        return self._size

    def allgather(self, own: bytes) -> list[bytes]:
        self._round += 1
        keys = [f"tutti/{self._name}/{self._round}/{rank}" for rank in range(self._size)]
        with self._store_errors():
            self._store.set(keys[self._rank], own.hex())
            self._arrive()
            for _ in self._looks():
                if self._have_all_arrived():
                    break
                if self._count("attempts") != self._total:
                    raise _Superseded
            all_bytes = [bytes.fromhex(text) for text in self._read(keys)]
            self._add(f"{self._name}/reads")
            return all_bytes

    def leave(self) -> None:
        """Waits for a moment until all ranks have read the last exchange: the store may end with this process."""
        end = min(self._end, time.monotonic() + _LONGEST_LEAVE)
        with contextlib.suppress(RuntimeError):
            while (
                time.monotonic() < end
                and self._count(f"{self._name}/reads") < self._size * self._round
                and self._count("attempts") == self._total
            ):
                time.sleep(0.001)

    def _meet(self) -> None:
        proposed: list[int] = []
        seen = 0, 0
        for _ in self._looks():
            if self._count(f"attempts/{self._rank}") != self._own:
                raise MismatchError(
                    f"another process has begun to meet as rank {self._rank} of {self._size}: start each rank once",
                    rank=self._rank,
                )
            if self._rank == 0:
                proposed = self._propose(proposed)
            leader = self._count("attempts/0")
            latest = leader, self._count(f"proposals/{leader}")
            if latest[1] > 0 and latest != seen:
                self._consider("{}.{}".format(*latest))
                seen = latest
            if self._name and self._have_all_arrived():
                return

    def _propose(self, proposed: list[int]) -> list[int]:
        """Proposes the newest attempts, on rank 0, unless it has done so. Returns them."""
        attempts = [self._count(f"attempts/{rank}") for rank in range(self._size)]
        if attempts == proposed or not all(attempts):
            return proposed
        total = self._count("attempts")  # behind the others: any attempt that is not among them makes it larger
        number = self._count(f"proposals/{self._own}") + 1
        self._store.set(f"tutti/{self._own}.{number}", json.dumps([total, *attempts]))
        self._add(f"proposals/{self._own}")
        return attempts

    def _consider(self, name: str) -> None:
        """Accepts a proposal that contains this attempt."""
        total, *attempts = json.loads(self._read([f"tutti/{name}"])[0])
        if attempts[self._rank : self._rank + 1] != [self._own]:
            return
        if len(attempts) != self._size:
            raise MismatchError(
                f"rank {self._rank} counts {self._size} ranks, but rank 0 counts {len(attempts)}", rank=0
            )
        self._name, self._total = name, total
        self._arrive()

    def _arrive(self) -> None:
        """Counts the steps of the attempt that this rank has taken: the acceptance, and its exchanges."""
        self._add(f"{self._name}/steps/{self._rank}")
        self._add(f"{self._name}/steps")

    def _have_all_arrived(self) -> bool:
        """Waits until all ranks have taken the previous step."""
        return self._count(f"{self._name}/steps") >= self._size * (self._round + 1)

    def _looks(self) -> Iterator[None]:
        """The time until the deadline."""
        pause = 0.001
        while True:
            yield
            left = self._end - time.monotonic()
            if left <= 0:
                raise self._timeout()
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _timeout(self) -> TimeoutError:
        others = [rank for rank in range(self._size) if rank != self._rank]
        missing = [rank for rank in others if self._count(f"attempts/{rank}") == 0]
        fate = "not come"
        if not missing:
            fate = "come, but ended or failed since" if self._round > 0 else "come for an earlier attempt only"
            late = [rank for rank in others if self._count(f"{self._name}/steps/{rank}") <= self._round]
            missing = late if self._name else others if self._rank == 0 else [0]
        have = "has" if len(missing) == 1 else "have"
        return TimeoutError(
            f"rank {self._rank} waited {time.monotonic() - self._start:.3g} s "
            f"for {_names_of(missing)} of {self._size}, which {have} {fate}, at the store of torch.distributed",
            rank=missing[0] if missing else -1,
        )

    # add() is the one call of all stores and versions that does not wait for a key.

    def _add(self, counter: str, amount: int = 1) -> int:
        return int(self._store.add(f"tutti/{counter}", amount))

    def _count(self, counter: str) -> int:
        return self._add(counter, 0)

    def _read(self, keys: list[str]) -> list[str]:
        """The keys that exist, unless the store was removed."""
        self._store.wait(keys, timedelta(seconds=max(self._end - time.monotonic(), 0.001)))
        return [bytes(self._store.get(key)).decode() for key in keys]

    @contextlib.contextmanager
    def _store_errors(self) -> Iterator[None]:
        try:
            yield
        except Error:
            raise
        except RuntimeError as error:
            raise TransportError(f"the store of torch.distributed has failed: {error}") from error


def _names_of(ranks: list[int]) -> str:
    """A text such as "rank 2" or "ranks 1, 2 and 5"."""
    if not ranks:
        return "the others"
    *some, last = map(str, ranks)
    return f"ranks {', '.join(some)} and {last}" if some else f"rank {last}"


def _patience(timeout: float) -> float:
    """Seconds for which ranks wait for each other: TUTTI_TIMEOUT, or those of the group."""
    try:
        return float(os.environ.get("TUTTI_TIMEOUT") or timeout)
    except ValueError:  # init says what is wrong
        return timeout


def world_over_store(store: Any, rank: int, size: int, timeout: float, **options: Any) -> Communicator:
    """A communicator of the ranks of a group, which exchange bytes by its store. Every process that reaches the store
    can read them: on networks that are not trusted, set TUTTI_SECRET_FILE.

    timeout: seconds of a call, and of the meeting unless TUTTI_TIMEOUT is set; 0: the usual ones.
    """
    start = time.monotonic()
    end = start + (options.pop("timeout", None) or _patience(timeout) or _TIMEOUT)
    while True:
        ranks = _StoreRanks(store, rank, size, start, end)
        left = max(end - time.monotonic(), 0.001)
        try:
            return _init.init(ranks, timeout=left, **{"call_timeout": timeout or None, **options})
        except _Superseded:
            continue
        finally:
            ranks.leave()
