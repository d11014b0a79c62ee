#!/usr/bin/env python3
"""Writes a sweep as one page that opens without a network: sweep.py run.jsonl|- page.html

Curves show values under the pointer, and the table sorts. At first the curves are `native`, `auto` and the
best five of the others; a button shows all. The page has ratios to the MPI's own call,
predicted and measured times, the choice of `auto` at each size with its reasons, the machine, and the
command that repeats the measurement.
"""

import html
import sys

from curves import drawn_lines, in_one_form, yardsticks
from drawing import bytes_text, time_text
from figure import line_at
from page import (add_lines, figure_over_sizes, launched, main, page_around, picture, styles_of,
                  table_of, times_of_lines)
from page_predicted import predictions_of
from sweep_file import Sweep, lines_of

COLUMNS = [("bytes", "bytes"), ("algorithm", "label"), ("in place", "in_place"), ("median, us", "median_us"),
           ("from, us", "ci_low_us"), ("to, us", "ci_high_us"), ("over the best", "ratio_to_best"),
           ("GB/s on the bus", "busbw_gb_s"), ("segments, bytes", "segment_bytes"),
           ("wrong", "wrong")]


def explained(choices):
    """The algorithm that auto ran at every size, and the reasons against the others."""
    parts = []
    for choice in choices:
        items = []
        for candidate in sorted(choice["candidates"], key=lambda one: one["predicted_us"] or 1e30):
            what = candidate["refusal"] or f"{time_text(candidate['predicted_us'])} predicted"
            items.append(f"<li>{html.escape(candidate['label'])}: {html.escape(what)}</li>")
        parts.append(
            f"<details><summary>{bytes_text(choice['bytes'])}: "
            f"<b>{html.escape(choice['chosen'])}</b>, {html.escape(choice['basis'])}</summary>"
            f"<p>{html.escape(choice['rests_on'])}</p><ul>{''.join(items)}</ul></details>")
    return "<h3>What auto chose, and why</h3>" + "".join(parts) if parts else ""


def ratio_text(value):
    """1.5x."""
    return f"{value:.3g}x"


def ratios_of(lines, styles, shown):
    """The name of the yardstick, and the figure of times over its times."""
    name, least = yardsticks(lines)
    name = "native" if name == "native" else "the best"
    known = {label: [cell for cell in line if cell["bytes"] in least]
             for label, line in lines.items()}
    known = {label: line for label, line in known.items() if line}
    values = [cell["median_us"] / least[cell["bytes"]] for line in known.values() for cell in line]
    sizes = sorted({cell["bytes"] for cells in lines.values() for cell in cells})
    figure = figure_over_sizes(f"time over that of {name}", sizes, [1, *values], ratio_text)
    figure.parts.append(line_at(figure.x.start, figure.y(1), figure.x.end, figure.y(1), "#555555"))
    add_lines(figure, known, styles, shown, lambda cell, time: time / least[cell["bytes"]], ratio_text)
    return name, picture(figure, known)


def curves_of(lines, choices):
    """Times, times over a yardstick, and predictions."""
    styles, shown = styles_of(lines), drawn_lines(lines)
    name, ratios = ratios_of(lines, styles, shown)
    return (f"<h3>Times</h3>{times_of_lines(lines, styles, shown)}"
            f"<h3>Times over those of {name}</h3>{ratios}{predictions_of(lines, choices, styles)}")


def section_of(collective, cells, choices):
    """One collective."""
    lines = lines_of(in_one_form(cells))
    rows = sorted(cells, key=lambda cell: (cell["bytes"], cell["median_us"]))
    return (f"<section><h2>{html.escape(collective)}</h2>"
            f"{curves_of(lines, choices) if lines else ''}{explained(choices)}"
            f"<h3>All that was measured</h3>{table_of(COLUMNS, rows)}</section>")


def page_of(sweep):
    """The page, or nothing if no cell was measured."""
    sections = "".join(section_of(
        collective, [cell for cell in sweep.cells if cell["collective"] == collective],
        [choice for choice in sweep.choices.values() if choice["collective"] == collective])
        for collective in dict.fromkeys(cell["collective"] for cell in sweep.cells))
    if not sections:
        return None
    return page_around("tutti sweep", sweep.context, sections, launched(sweep.context, "sweep"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], page_of, Sweep))
