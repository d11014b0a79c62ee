"""Structs of the shared library that hold numbers of a program."""

from __future__ import annotations

import ctypes
from typing import Any


class Checked(ctypes.Structure):
    """A struct whose members hold what they are set to. ctypes would cut off high bits of numbers."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if type(value) is int and (getattr(self, name) or 0) != value:
            from .errors import ArgumentError  # which imports this

            bits = 8 * ctypes.sizeof(dict(self._fields_)[name])  # type: ignore[arg-type]
            raise ArgumentError(f"{name} is {value}; expected a number that {bits} bits hold")
