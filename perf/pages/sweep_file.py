"""Reads files of `tutti sweep` and other files of JSON lines, for pages, studies and the Python package.

The package has a link to this file, so it imports nothing beside the standard library.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import sys
from typing import Any, Callable, Iterable, Iterator

Record = dict[str, Any]

_SCHEMA = "tutti sweep/1"
_TEXTS = ("collective", "label", "runs", "transport", "buffers", "dtype", "op")
_TIMES = ("median_us", "ci_low_us", "ci_high_us")
# Columns of CSV files that are texts. JSON can read the others.
_CSV_TEXTS = (*_TEXTS, "algorithm", "parameters", "align", "pattern")


class Malformed(ValueError):
    """A file that cannot be read; the message names it."""


def read_text(path: str) -> str:
    """The text of a file, or of standard input if its name is -."""
    try:
        if path == "-":
            return sys.stdin.read()
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise Malformed(f"cannot read '{path}': {error.strerror}") from None
    except UnicodeDecodeError:
        raise Malformed(f"cannot read '{path}': it is no text") from None


@contextlib.contextmanager
def _line(path: str, place: int) -> Iterator[None]:
    """Errors within name the line."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = str(getattr(error, "msg", error)) if isinstance(error, ValueError) else "it is no record"
        reason = f"'{error.args[0]}' is missing" if isinstance(error, KeyError) else reason
        raise Malformed(f"'{path}' line {place}: {reason}") from None


def records_in(text: str, path: str, check: Callable[[Record], object] = len) -> list[Record]:
    """The records of JSON lines. `check` raises a ValueError or a KeyError for a wrong record."""
    records: list[Record] = []
    for place, line in enumerate(text.splitlines(), 1):
        if line.strip():
            with _line(path, place):
                records.append(json.loads(line))
                check(records[-1])
    return records


def cells_in_csv(text: str, path: str) -> list[Record]:
    """The cells of a CSV file, with the values and the labels that a JSON file has."""
    cells: list[Record] = []
    rows = csv.DictReader(io.StringIO(text))
    for row in rows:
        with _line(path, rows.line_num):
            cell = {name: value if name in _CSV_TEXTS else json.loads(value or "null") for name, value in row.items()}
            _require_texts(cell, ("collective", "algorithm", "buffers"))
            _require_numbers(cell, ("median_us",))
            _key_of(cell)
            parameters = cell.get("parameters")
            cells.append({"label": cell["algorithm"] + (f":{parameters}" if parameters else ""), **cell})
    if len({cell.get("align") for cell in cells}) > 1:
        cells = [{**cell, "label": f"{cell['label']}@{cell['align']}"} for cell in cells]
    return cells


class Sweep:
    """One file of JSON lines.

    context, summary: versions, hosts and settings of the sweep, and numbers about all of it.
    cells: in the order of the file.
    sizes: (collective, bytes, is in place) -> label -> cell.
    choices: (collective, bytes) -> the choice of `auto`.
    """

    def __init__(self, text: str, path: str) -> None:
        self.path = path
        self.context: Record = {}
        self.summary: Record = {}
        self.cells: list[Record] = []
        self.sizes: dict[tuple[str, int, bool], dict[str, Record]] = {}
        self.choices: dict[tuple[str, int], Record] = {}
        records_in(text, path, self._add)
        if not self.context:
            raise Malformed(f"'{path}' has no context record: is it what tutti sweep --json wrote?")

    @classmethod
    def read(cls, path: str) -> Sweep:
        """Reads a file, or standard input if its name is -."""
        return cls(read_text(path), path)

    def _add(self, record: Record) -> None:
        kind = record["record"]
        if kind == "context":
            if record["schema"] != _SCHEMA:
                raise ValueError(f"the schema is '{record['schema']}', not '{_SCHEMA}'")
            if not isinstance(record["ranks"], int) or not isinstance(record["hosts"], list):
                raise ValueError("'ranks' is no whole number, or 'hosts' no list")
            self.context = record
        elif kind == "cell":
            _require_texts(record, _TEXTS)
            _require_numbers(record, _TIMES)
            here = self.sizes.setdefault((*_key_of(record), bool(record.get("in_place"))), {})
            if record["label"] in here:
                raise ValueError(f"a second cell of {record['collective']} {record['label']} "
                                 f"with {record['bytes']} bytes")
            here[record["label"]] = record
            self.cells.append(record)
        elif kind == "choice":
            _require_texts(record, ("collective", "chosen", "basis"))
            record.setdefault("label", record["chosen"])  # which older files lack
            for candidate in record["candidates"]:
                _require_texts(candidate, ("algorithm",))
                candidate.setdefault("label", candidate["algorithm"])
                if candidate["predicted_us"] is not None:
                    _require_numbers(candidate, ("predicted_us",), least=0)
            self.choices[_key_of(record)] = record
        elif kind == "summary":
            self.summary = record


def lines_of(cells: Iterable[Record]) -> dict[str, list[Record]]:
    """label -> its cells, ascending in bytes, without those of a barrier, which has no sizes."""
    lines: dict[str, list[Record]] = {}
    for cell in sorted(cells, key=lambda cell: int(cell["bytes"])):
        if cell["bytes"] > 0:
            lines.setdefault(cell["label"], []).append(cell)
    return lines


def _key_of(record: Record) -> tuple[str, int]:
    if not isinstance(record["bytes"], int):
        raise ValueError("'bytes' is no whole number")
    return record["collective"], record["bytes"]


def _require_texts(record: Record, names: Iterable[str]) -> None:
    for name in names:
        if not isinstance(record[name], str):
            raise ValueError(f"'{name}' is no text")


def _require_numbers(record: Record, names: Iterable[str], least: float = 1e-12) -> None:
    for name in names:
        value = record[name]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"'{name}' is no number")
        if not math.isfinite(value) or value < least:
            raise ValueError(f"'{name}' is {value}, which is no time")
