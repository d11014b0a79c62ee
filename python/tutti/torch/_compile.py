"""Compiled programs, whose calls of tutti run uncompiled: dynamo would trace into them."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from typing import Any, Sequence

_MODULES = ("torch._dynamo.trace_rules", "torch._dynamo.skipfiles")  # one of the two says what dynamo leaves alone


class _Finder(importlib.abc.MetaPathFinder):
    """Configures dynamo when the program imports it, since an import by tutti would take seconds."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in _MODULES:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            run: Any = spec.loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                run(module)
                _tell(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _tell(rules: Any) -> None:
    rules.add("tutti")


def leave_untraced() -> None:
    """Keeps dynamo from tracing tutti, now or once it is imported."""
    loaded = [sys.modules[name] for name in _MODULES if name in sys.modules]
    if loaded:
        _tell(loaded[0])
    else:
        sys.meta_path.insert(0, _Finder())
