"""How objects of messages become bytes: mpi4py.MPI.pickle."""

from __future__ import annotations

import pickle as _pickle
from typing import Any, Callable


class Pickle:
    def __init__(self, dumps: Any = None, loads: Any = None, protocol: int | None = None) -> None:
        self._dumps: Callable[..., bytes] = dumps or _pickle.dumps
        self._loads: Callable[[Any], Any] = loads or _pickle.loads
        default = _pickle.HIGHEST_PROTOCOL if dumps is None else None
        self.PROTOCOL = default if protocol is None else protocol

    def dumps(self, obj: Any) -> bytes:
        return self._dumps(obj) if self.PROTOCOL is None else self._dumps(obj, self.PROTOCOL)

    def loads(self, data: Any) -> Any:
        return self._loads(data)


pickle = Pickle()
