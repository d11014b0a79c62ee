"""Reads output of `tutti sweep --json`, for regret.py and regret_mpi.py."""

import json
import math

NUMBERS = ("median_us", "ci_low_us", "ci_high_us")
TEXTS = ("collective", "label", "runs", "transport", "buffers", "dtype", "op")


class Malformed(Exception):
    """A file that is not a JSON file of a sweep; the message names it."""


class Sweep:
    """One file: its context, its cells and its choices, both by collective and bytes."""

    def __init__(self, path):
        self.path = str(path)
        self.context, self.summary = {}, {}
        self.cells, self.choices = {}, {}
        try:
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise Malformed(f"cannot read '{path}': {reason}") from None
        for place, line in enumerate(lines, 1):
            if line.strip():
                try:
                    self._take(json.loads(line))
                except json.JSONDecodeError as error:
                    raise Malformed(f"'{path}' line {place}: {error.msg}") from None
                except (KeyError, TypeError, ValueError, AttributeError) as error:
                    raise Malformed(f"'{path}' line {place}: {_in_words(error)}") from None
        if not self.context:
            raise Malformed(f"'{path}' has no context record: is it what tutti sweep --json wrote?")

    def _take(self, record):
        kind = record["record"]
        if kind == "context":
            if record["schema"] != "tutti sweep/1":
                raise ValueError(f"the schema is '{record['schema']}', not 'tutti sweep/1'")
            if not isinstance(record["ranks"], int) or not isinstance(record["hosts"], list):
                raise ValueError("'ranks' is no whole number, or 'hosts' no list")
            self.context = record
        elif kind == "cell":
            self._take_cell(record)
        elif kind == "choice":
            _require_texts(record, ("collective", "chosen", "basis"))
            for candidate in record["candidates"]:
                _require_texts(candidate, ("algorithm",))
                if candidate["predicted_us"] is not None:
                    _require_numbers(candidate, ("predicted_us",), least=0)
            self.choices[_key(record)] = record
        elif kind == "summary":
            self.summary = record

    def _take_cell(self, record):
        _require_texts(record, TEXTS)
        _require_numbers(record, NUMBERS)
        here = self.cells.setdefault((*_key(record), bool(record.get("in_place"))), {})
        if record["label"] in here:
            raise ValueError(f"a second cell of {record['collective']} {record['label']} "
                             f"with {record['bytes']} bytes")
        here[record["label"]] = record

    def is_interrupted(self):
        """Whether the sweep is incomplete."""
        return bool(self.summary.get("interrupted", True))

    def world(self):
        """The facts that must be equal in files that are compared, in words."""
        cells = [cell for here in self.cells.values() for cell in here.values()]
        names = {name: "/".join(sorted({cell[name] for cell in cells}))
                 for name in ("transport", "buffers", "dtype")}
        ops = "/".join(sorted({cell["op"] for cell in cells if cell["op"]}))
        hosts = len(self.context["hosts"])
        facts = [f"{self.context['ranks']} ranks on {hosts} host" + "s" * (hosts != 1),
                 names["transport"], f"{names['buffers']} buffers", f"{names['dtype']} {ops}".strip()]
        facts += sorted({f"arrays: {cell['align']}" for cell in cells if cell.get("align") not in (None, "page")})
        facts += ["isolated calls"] if any(cell.get("pattern") == "isolated" for cell in cells) else []
        places = {bool(cell.get("in_place")) for cell in cells}
        facts += ["out of place and in place" if len(places) > 1 else "in place"] if True in places else []
        facts += [str(self.context[name]) for name in ("determinism", "mpi") if self.context.get(name)]
        facts += ["oversubscribed"] if self.context.get("oversubscribed") else []
        return ", ".join([*facts, f"tutti {self.context.get('tutti')}"])


def bytes_text(value):
    """8, 64K, 4M."""
    for unit in ("", "K", "M", "G"):
        if value < 1024:
            return f"{value:.4g}{unit}"
        value /= 1024
    return f"{value:.4g}T"


def _key(record):
    if not isinstance(record["bytes"], int):
        raise ValueError("'bytes' is no whole number")
    return record["collective"], record["bytes"]


def _require_texts(record, names):
    for name in names:
        if not isinstance(record[name], str):
            raise ValueError(f"'{name}' is no text")


def _require_numbers(record, names, least=1e-12):
    for name in names:
        value = record[name]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"'{name}' is no number")
        if not math.isfinite(value) or value < least:
            raise ValueError(f"'{name}' is {value}, which is no time")


def _in_words(error):
    if isinstance(error, KeyError):
        return f"'{error.args[0]}' is missing"
    return str(error) if isinstance(error, ValueError) else "it is no record of a sweep"
