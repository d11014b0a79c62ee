#!/usr/bin/env python3
"""Writes a sweep as one page that opens without a network: sweep.py run.jsonl|- page.html

Curves show values under the pointer, and the table sorts. The page has ratios to the MPI's own call,
predicted and measured times, the choice of `auto` at each size with its reasons, the machine, and the
command that repeats the measurement.
"""

import html
import sys

from curves import in_one_form, yardsticks
from drawing import bytes_text, time_text
from page import (add_lines, figure_over_sizes, launched, main, page_around, picture, styles_of,
                  table_of)
from page_predicted import crossovers_in_words, figure_of
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


def curves_of(lines, choices):
    """Times, times over a yardstick, and predictions."""
    sizes = sorted({cell["bytes"] for cells in lines.values() for cell in cells})
    styles = styles_of(lines)
    times = figure_over_sizes("median time, us", sizes)
    add_lines(times, lines, styles, lambda _cell, time: time)
    name, least = yardsticks(lines)
    name = "native" if name == "native" else "the best"
    ratios = figure_over_sizes(f"time over that of {name}", sizes)
    known = {label: [cell for cell in line if cell["bytes"] in least]
             for label, line in lines.items()}
    add_lines(ratios, known, styles, lambda cell, time: time / least[cell["bytes"]])
    ratios.add_hline(y=1, line={"color": "#555555", "width": 1})
    text = (f"<h3>Times</h3>{picture(times)}"
            f"<h3>Times over those of {name}</h3>{picture(ratios)}")
    compared = figure_of(lines, choices, styles, sizes)
    if compared:
        text += (f"<h3>Measured and predicted</h3>{crossovers_in_words(lines, choices)}"
                 f"{picture(compared)}")
    return text


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
