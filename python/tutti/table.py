"""tutti.sweep: the command's measurements as a table."""

from __future__ import annotations

import contextlib
import html
import subprocess
import sys
import tempfile
from typing import Any, Iterator, Sequence

from . import __main__ as command
from ._sweep_file import Malformed, Sweep, lines_of

_COLUMNS = ("collective", "bytes", "label", "median_us", "ci_low_us", "ci_high_us", "standing", "wrong")
_STATUS_OF_WRONG_DATA = 1
_STATUS_OF_SLOWER = 3


def sweep(*args: str) -> Table:
    """Runs `tutti sweep` with these arguments, such as "--ranks", "4", "-C", "all_reduce". Returns its cells.

    What the command prints appears while it runs. Wrong elements are in the table. Raises RuntimeError with the
    command's message if it measures nothing.
    """
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        program = [command.path(), "sweep", "--json", file.name, *map(str, args)]
        status, output = _run(program)
        if status not in (0, _STATUS_OF_WRONG_DATA, _STATUS_OF_SLOWER):
            raise RuntimeError(f"tutti sweep ended with status {status}: {_last_line(output)}")
        with contextlib.suppress(Malformed):  # a program that ignores SIGCHLD gets no status
            if table := Table.read(file.name):
                return table
        raise RuntimeError(f"tutti sweep measured nothing: {_last_line(output)}")


def _run(program: Sequence[str]) -> tuple[int, str]:
    """Runs a program, and writes what it prints to this program's standard error: in notebooks its own
    descriptors are not shown."""
    kept: list[str] = []
    with subprocess.Popen(
        program,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=command.environment(),
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                kept.append(line)
                sys.stderr.write(line)
                sys.stderr.flush()
        except BaseException:  # the command ends its ranks
            process.terminate()
            raise
    return process.returncode, "".join(kept)


def _last_line(output: str) -> str:
    return next((line for line in reversed(output.splitlines()) if line.strip()), "it printed nothing")


class Table(Sequence[dict[str, Any]]):
    """The cells of a sweep: one dictionary for each algorithm and size, with the columns of the JSON file.

    context: versions, hosts, arguments and settings of the sweep.
    choices: the choice of `auto` for each collective and size, and its reasons.
    summary: numbers about the whole sweep.
    """

    def __init__(self, sweep: Sweep) -> None:
        self._cells = sweep.cells
        self.context = sweep.context
        self.choices = list(sweep.choices.values())
        self.summary = sweep.summary

    @classmethod
    def read(cls, path: str) -> Table:
        """Reads a file that `tutti sweep --json` wrote. Raises a ValueError that names the wrong line."""
        return cls(Sweep.read(path))

    def __len__(self) -> int:
        return len(self._cells)

    def __getitem__(self, index: Any) -> Any:
        return self._cells[index]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._cells)

    def __repr__(self) -> str:
        rows = [list(_COLUMNS), *self._texts()]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
        return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(column)}</th>" for column in _COLUMNS)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self._texts()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _texts(self) -> list[list[str]]:
        return [
            [f"{value:.4g}" if isinstance(value, float) else str(value) for value in map(cell.get, _COLUMNS)]
            for cell in self._cells
        ]

    def to_pandas(self) -> Any:
        """Returns a pandas.DataFrame with a row for each cell. Needs pandas."""
        import pandas

        return pandas.DataFrame(self._cells).drop(columns="record", errors="ignore")

    def plot(self, collective: str | None = None) -> Any:
        """Returns a plotly figure of the median times over sizes: a line for each algorithm, with the interval
        of the median. Needs plotly: pip install tutti[pages].

        collective: which one, if the sweep measured several.
        """
        import plotly.graph_objects as graphs

        measured = sorted({cell["collective"] for cell in self._cells})
        if collective is None:
            if len(measured) != 1:
                raise ValueError(f"the sweep measured {', '.join(measured) or 'nothing'}: name one collective")
            collective = measured[0]
        elif collective not in measured:
            raise ValueError(f"the sweep did not measure {collective}, but {', '.join(measured)}")
        figure = graphs.Figure()
        for label, cells in lines_of(cell for cell in self._cells if cell["collective"] == collective).items():
            figure.add_scatter(name=label, **_line(cells))
        figure.update_layout(title=f"{collective}, {self.context.get('ranks')} ranks")
        figure.update_xaxes(type="log", title="bytes")
        figure.update_yaxes(type="log", title="median us")
        return figure


def _line(cells: list[dict[str, Any]]) -> dict[str, Any]:
    interval = {
        "array": [cell["ci_high_us"] - cell["median_us"] for cell in cells],
        "arrayminus": [cell["median_us"] - cell["ci_low_us"] for cell in cells],
    }
    return {
        "x": [cell["bytes"] for cell in cells],
        "y": [cell["median_us"] for cell in cells],
        "error_y": {"type": "data", "symmetric": False, **interval},
    }
