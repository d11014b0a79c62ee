"""Exceptions at the places where the interpreter raises those of signals' handlers: after calls, at the entries of
functions, and at the ends of loops."""

from __future__ import annotations

import dis
import os
import sys
from types import CodeType
from typing import Any, Callable

import tutti

_PACKAGE = os.path.dirname(tutti.__file__) + os.sep
_AFTER = {"RESUME", "CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD"}
_names: dict[CodeType, dict[int, str]] = {}


class Interrupted(BaseException):
    """The exception of an interruption."""


def _name_at(code: CodeType, offset: int) -> str:
    if code not in _names:
        _names[code] = {each.offset: each.opname for each in dis.get_instructions(code)}
    return _names[code].get(offset, "")


def _handler_at(code: CodeType, offset: int) -> Any:
    entries = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    return next((entry.target for entry in entries if entry.start <= offset < entry.end), None)


def _is_in_finalizer(frame: Any) -> bool:
    """Whether the interpreter would drop an exception."""
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


class _Interrupter:
    """Raises Interrupted at one place of the code of tutti in this thread."""

    def __init__(self, number: int) -> None:
        self._left = number
        self.has_raised = False
        self._last: dict[int, int] = {}  # by the frame

    def trace(self, frame: Any, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return None
        frame.f_trace_opcodes = True
        self._last.pop(id(frame), None)
        return self._trace_code

    def _trace_code(self, frame: Any, event: str, arg: Any) -> Any:
        if event == "return" and not frame.f_code.co_name.startswith("__"):  # a call without C in between
            self._last[id(frame.f_back)] = -1
        if event != "opcode" or _is_in_finalizer(frame):
            return self._trace_code
        code, offset = frame.f_code, frame.f_lasti
        before = self._last.get(id(frame), 0)
        self._last[id(frame)] = offset
        # An exception after a call belongs to the call, and the trace function's belongs to what comes next.
        if _name_at(code, before) in _AFTER and _handler_at(code, before) == _handler_at(code, offset):
            if self._left == 0:
                sys.settrace(None)
                self.has_raised = True
                raise Interrupted(f"{code.co_filename}:{frame.f_lineno}")
            self._left -= 1
        return self._trace_code


def interrupted(number: int, call: Callable[[], Any]) -> tuple[bool, Any]:
    """Calls a function, which is interrupted at place `number`. Returns whether there was one, and the result or the
    exception."""
    interrupter = _Interrupter(number)
    result: Any
    before = sys.gettrace()
    sys.settrace(interrupter.trace)
    try:
        result = call()
    except (Interrupted, tutti.Error) as error:
        result = error.with_traceback(None)
    finally:
        sys.settrace(before)
    return interrupter.has_raised, result
