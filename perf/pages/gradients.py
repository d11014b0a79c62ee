#!/usr/bin/env python3
"""Writes the results of tutti gradients as one page that opens without a network:
gradients.py steps.jsonl|- page.html

The page has a bar per setting, as --plot draws them, the cost of communication by bucket size, the table
that the command prints, the machine, and the command that repeats the measurement.
"""

import html
import sys

from drawing import COLORS, bytes_text, time_text
from figure import (RIGHT, WIDTH, Figure, Scale, band, line_at, linear_ticks, mark, polyline, rectangle,
                    text_at)
from page import launched, main, page_around, table_of

STANDINGS = {"best": COLORS[2], "tie": COLORS[5], "slower": COLORS[1]}
WORDS = {"best": "exposed, best", "tie": "exposed, as good", "slower": "exposed, slower"}
COMPUTING = "#bbbbbb"
LETTER = 6.2  # width of a letter, in pixels
COLUMNS = [("setting", "label"), ("step, ms", "step"), ("from", "low"), ("to", "high"),
           ("exposed, ms", "exposed"), ("serial, ms", "serial"), ("hidden", "hidden"),
           ("ideal, ms", "ideal"), ("of ideal", "of_ideal"), ("buckets", "buckets"), ("MB", "mb"),
           ("", "verdict")]
MEANINGS = ("Medians and quartiles of the slowest rank. Exposed: by how much communication makes a step "
            "longer. Serial: a step that communicates when all is computed. Hidden: the share of "
            "communication that overlapping hides. Ideal: a step in which communication disturbs nothing. "
            "Of ideal: the share of what that saves. MB: what a rank sends in a step. "
            "-: too little to tell.")


def milliseconds(microseconds):
    """Rounds as the command does."""
    return round(microseconds / 1000, 2)


def rows_of(settings, summary):
    """The table. A share of a difference has no meaning if the difference is within the variation of
    computing."""
    noise = summary["computing_q3_us"] - summary["computing_q1_us"]
    rows = []
    for one in settings:
        is_clear = one["serial_us"] - summary["computing_us"] > noise
        shares = {}
        for field, name in (("hidden", "hidden"), ("of_ideal", "overlap_efficiency")):
            is_told = is_clear and one[name] is not None
            shares |= {field: one[name] if is_told else None,
                       field + "_text": f"{one[name]:.0%}" if is_told else "-"}
        rows.append({**shares, "label": one["label"], "step": milliseconds(one["overlapped_us"]),
                     "low": milliseconds(one["overlapped_q1_us"]),
                     "high": milliseconds(one["overlapped_q3_us"]),
                     "exposed": milliseconds(one["exposed_us"]),
                     "serial": milliseconds(one["serial_us"]),
                     "ideal": milliseconds(one["ideal_us"]),
                     "buckets": one["buckets"], "mb": round(one["sent_bytes"] / 1e6, 1),
                     "standing": one["standing"],
                     "verdict": {"best": "best", "tie": "as good"}.get(one["standing"], "")})
    return rows


def add_bars(figure, settings, computing, places):
    """Bars of the time of computing, and of the time that communication adds, with its quartiles."""
    key = figure.key("computing", {"color": COMPUTING})
    figure.trace(key, [rectangle(figure.x(0), places[i] - 9, figure.x(min(computing, one["overlapped_us"])),
                                 places[i] + 9, COMPUTING) for i, one in enumerate(settings)])
    for standing, color in STANDINGS.items():
        here = [(place, one) for place, one in zip(places, settings) if one["standing"] == standing]
        if not here:
            continue
        parts = []
        for place, one in here:
            step = one["overlapped_us"]
            tip = f"{one['label']}: a step of {time_text(step)}, {time_text(one['exposed_us'])} exposed"
            parts += [rectangle(figure.x(min(computing, step)), place - 9, figure.x(step), place + 9, color, tip),
                      line_at(figure.x(one["overlapped_q1_us"]), place, figure.x(one["overlapped_q3_us"]), place,
                              "#222222")]
        figure.trace(figure.key(WORDS[standing], {"color": color}), parts)


def bars_of(settings, computing):
    """The figure of bars, with marks at the end of the ideal step and of the serial one."""
    most = max(one[field] for one in settings for field in ("overlapped_q3_us", "ideal_us", "serial_us"))
    left = 20 + LETTER * max(len(one["label"]) for one in settings)
    height = 60 + 30 * len(settings)
    figure = Figure(Scale(0, most * 1.05, left, WIDTH - RIGHT), Scale(0, 1, height - 42, 8), height)
    figure.ticks_of_x([(tick * 1000, f"{tick:g}") for tick in linear_ticks(most / 1000)],
                      "time of a step, ms (median, line: quartiles)")
    places = [23 + 30 * i for i in range(len(settings))]
    for place, one in zip(places, settings):
        figure.parts.append(text_at(left - 6, place + 4, one["label"], "end"))
    add_bars(figure, settings, computing, places)
    for name, field, symbol, color in (("ideal step", "ideal_us", "bar", "#222222"),
                                       ("not overlapped", "serial_us", "diamond", COLORS[6])):
        style = {"symbol": symbol, "color": color}
        figure.trace(figure.key(name, style), [
            mark(figure.x(one[field]), place, style, f"{one['label']}: {name} {time_text(one[field])}")
            for place, one in zip(places, settings)])
    return figure.picture()


def buckets_of(settings):
    """Exposed time by bucket size, a curve for each combination of the other options; nothing if there
    are fewer than two sizes."""
    curves = {}
    for one in settings:
        if isinstance(one["bucket_bytes"], int) and one["bucket_bytes"] > 0:
            rest = one["label"].partition(", ")[2]  # the options after bucket_bytes
            curves.setdefault(rest, []).append(one)
    sizes = sorted({one["bucket_bytes"] for line in curves.values() for one in line})
    if len(sizes) < 2:
        return None
    most = max(one["exposed_q3_us"] for line in curves.values() for one in line)
    most = max(most, 1) * 1.05
    figure = Figure(Scale(sizes[0] / 1.1, sizes[-1] * 1.1, 84, WIDTH - RIGHT, is_log=True),
                    Scale(0, most, 380, 10), 420)
    figure.ticks_of_y([(tick, time_text(tick) if tick else "0") for tick in linear_ticks(most)],
                      "exposed (median, band: quartiles)")
    figure.ticks_of_x([(size, bytes_text(size)) for size in sizes], "bytes of a bucket")
    for place, (kind, line) in enumerate(curves.items()):
        style = {"color": COLORS[place % len(COLORS)], "dash": "solid", "symbol": "circle"}
        line.sort(key=lambda one: one["bucket_bytes"])
        points = [(figure.x(one["bucket_bytes"]), *(figure.y(one[name]) for name in
                                                    ("exposed_us", "exposed_q1_us", "exposed_q3_us")))
                  for one in line]
        marks = [mark(x, y, style, f"{kind}, {bytes_text(one['bucket_bytes'])}: {time_text(one['exposed_us'])} "
                                   "exposed") for (x, y, _, _), one in zip(points, line)]
        figure.trace(figure.key(kind, style), [
            band([(x, low, high) for x, _, low, high in points], style["color"]),
            polyline([(x, y) for x, y, _, _ in points], style), *marks])
    return figure.picture()


def page_of(records):
    """The page, or nothing if no step was measured."""
    settings = [record for record in records if record["record"] == "setting"]
    if not settings:
        return None
    context, summary = records[0], records[-1]
    computing = summary["computing_us"]
    text = (f"<p><b>{html.escape(context['model'])}</b>: {context['tensors']} tensors of "
            f"{context['elements']:,} elements, {context['bytes'] / 1e6:.1f} MB; a step "
            f"{'sleeps' if context['computing'] == 'sleep' else 'computes'} "
            f"{time_text(context['compute_us'])}, and took {time_text(computing)} without "
            f"communication; {summary['steps']} steps of each setting.</p>"
            f"<p>{html.escape(summary['sentence'])}</p>")
    if summary["interrupted"]:
        text += '<p class="warning">The run was interrupted: steps are fewer than were asked for.</p>'
    text += f"<h2>Steps</h2>{bars_of(settings, computing)}"
    curves = buckets_of(settings)
    if curves:
        text += f"<h2>Exposed communication by the size of buckets</h2>{curves}"
    text += (f"<h2>All settings</h2><p>{MEANINGS}</p>{table_of(COLUMNS, rows_of(settings, summary))}")
    return page_around("tutti gradients", context, text,
                       launched(context, "gradients", takes_ranks=False))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], page_of))
