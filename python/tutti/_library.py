"""The shared library libtutti_c.so: its functions, and its place.

`library` has one attribute for each function of tutti.h. It loads the shared library when the first
of them is used, so that `import tutti` is quick.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from ._declarations import functions

# Functions that never block: they keep the interpreter's lock, which costs more than they do.
QUICK = frozenset(
    {
        "tutti_last_error",
        "tutti_call_defaults",
        "tutti_options_defaults",
        "tutti_rank",
        "tutti_size",
        "tutti_memory_data",
        "tutti_plan_algorithm",
        "tutti_operator_error",
        "tutti_gradient_ready",
        "tutti_gradient_accumulated",
    }
)


def path() -> str:
    """The file of the shared library: the one of this package, or the system's."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_lib")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    found = sorted(name for name in names if name.startswith("libtutti_c.so"))
    return os.path.join(folder, found[0]) if found else "libtutti_c.so.0"


class _Library:
    """The functions of the shared library, by their names."""

    def __getattr__(self, name: str) -> Any:
        if name not in functions():
            raise AttributeError(f"tutti.h has no function {name}")
        if "tutti_init" not in self.__dict__:
            self._load()
        if name not in self.__dict__:
            raise ImportError(f"{path()} has no function {name}: it belongs to another version of tutti")
        return self.__dict__[name]

    def _load(self) -> None:
        file = path()
        try:
            loaded = ctypes.CDLL(file, mode=ctypes.RTLD_LOCAL)
        except OSError as error:
            raise ImportError(
                f"the shared library of tutti, {file}, cannot be loaded: {error}. "
                "Install a wheel of tutti for this machine, or the library libtutti_c."
            ) from error
        quick = ctypes.PyDLL(file, mode=ctypes.RTLD_LOCAL)
        for name, (result, *arguments) in functions().items():
            function = getattr(quick if name in QUICK else loaded, name, None)
            if function is not None:
                function.restype = result
                function.argtypes = arguments
                self.__dict__[name] = function


library = _Library()
