"""The figure of a page that compares predicted times with measured ones."""

import html

from curves import (are_assumed, crossovers, measured_times, predicted_times, stretches, times_of,
                    worth_comparing)
from drawing import bytes_text, time_text
from figure import band, line_at, mark, polyline, rectangle, text_at
from page import figure_over_sizes

ROW = 24  # height of a row of the strip, in pixels
LETTER = 6  # width of a letter, in pixels


def add_curves(figure, label, style, measured, predicted, how):
    """Points with their intervals, and a dashed line."""
    def tip(size, time, more=""):
        return f"{label}{more}, {bytes_text(size)}: {time_text(time)}"
    key = figure.key(label, {**style, "dash": ""})
    points = [(figure.x(size), *map(figure.y, measured[size])) for size in sorted(measured)]
    marks = [mark(x, y, style, tip(size, measured[size][0]))
             for size, (x, y, _, _) in zip(sorted(measured), points)]
    figure.trace(key, [band([(x, low, high)], style["color"]) for x, _, low, high in points] + marks)
    line = {"color": style["color"], "dash": "dash" if style["symbol"] == "circle" else "dashdot"}
    width = 1.4
    if label == "auto":  # a wide line, which stays visible below that of the algorithm it runs
        line, width = {"color": "#777777", "dash": "solid", "opacity": 0.3}, 8
    key = figure.key(f"{label}, {how}", line)
    places = [(figure.x(size), figure.y(predicted[size][0])) for size in sorted(predicted)]
    hits = [f'<circle cx="{x}" cy="{y}" r="7" fill-opacity="0" '
            f'data-tip="{html.escape(tip(size, predicted[size][0], ", " + how))}"/>'
            for size, (x, y) in zip(sorted(predicted), places)]
    figure.trace(key, [polyline(places, line, width), *hits])


def add_reigns(figure, times, styles, kind, top):
    """A row of the strip: a bar with the winner's name for each range of sizes."""
    figure.parts.append(text_at(figure.x.start - 6, top + 16, kind, "end"))
    for left, right, label in stretches(times):
        color = styles[label]["color"] if label in styles else "#bbbbbb"  # it was not measured
        x0, x1 = figure.x(left), figure.x(right)
        tip = (f"{kind}: {label} is the fastest from {bytes_text(left, digits=3)} to "
               f"{bytes_text(right, digits=3)}")
        name = text_at((x0 + x1) / 2, top + 16, label, "middle") if x1 - x0 > LETTER * len(label) else ""
        figure.parts.append(f'<g class="reign" data-tip="{html.escape(tip)}">'
                            f"{rectangle(x0, top + 2, x1 - 1, top + ROW - 2, color, opacity=0.4)}{name}</g>")


def figure_of(lines, choices, styles, shown):
    """The figure of these labels."""
    measured, predicted = measured_times(lines), predicted_times(choices)
    curves = {label: (measured[label], predicted[label]) for label in shown}
    if "auto" in lines and "auto" in predicted:
        curves = {"auto": (times_of(lines["auto"]), predicted["auto"]), **curves}
    values = [time[0] for pair in curves.values() for times in pair for time in times.values()]
    sizes = sorted({size for pair in curves.values() for times in pair for size in times})
    figure = figure_over_sizes("time", sizes, values, time_text, 590, bottom=2 * ROW + 30)
    how = "predicted, assumed costs" if are_assumed(choices) else "predicted"
    for label, (here, there) in curves.items():
        add_curves(figure, label, styles[label], here, there, how)
    top = figure.height - 32 - 2 * ROW
    figure.parts.append(text_at(figure.x.start, top - 4, "fastest of ours"))
    for kind, times in (("measured", measured), ("predicted", predicted)):
        add_reigns(figure, times, styles, kind, top)
        top += ROW
        for size, _, _ in crossovers(times):
            figure.parts.append(line_at(figure.x(size), figure.y.start, figure.x(size), figure.y.end, "#444444",
                                        "solid" if kind == "measured" else "dot"))
    return figure


def predictions_of(lines, choices, styles):
    """The part of a page that compares times; empty without predictions."""
    shown = worth_comparing(measured_times(lines), predicted_times(choices))
    if not shown:
        return ""
    return (f"<h3>Measured and predicted</h3>{crossovers_in_words(lines, choices)}"
            f"{figure_of(lines, choices, styles, shown).picture()}")


def crossovers_in_words(lines, choices):
    """The crossovers as a list of sentences."""
    parts = []
    for kind, times in (("Measured", measured_times(lines)),
                        ("Predicted", predicted_times(choices))):
        marks = [f"{html.escape(before)} → {html.escape(after)} at {bytes_text(size, digits=3)}"
                 for size, before, after in crossovers(times)]
        parts.append(f"<li>{kind}: {'; '.join(marks) or 'none'}</li>")
    return f"<p>Where another of ours becomes the fastest:</p><ul>{''.join(parts)}</ul>"
