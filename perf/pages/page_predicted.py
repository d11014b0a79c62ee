"""The figure of a page that compares predicted times with measured ones."""

import html
import math

from curves import (are_assumed, crossovers, measured_times, predicted_times, stretches, times_of,
                    worth_comparing)
from drawing import bytes_text, time_text
from page import error_bars, figure_over_sizes, go

ROWS = {"measured": 1, "predicted": 0}  # of the strip with the names of the winners
LETTER = 6.6  # width of a letter, in pixels
PICTURE = 850  # width of the axis of sizes, in pixels


def add_curves(figure, label, style, measured, predicted, how):
    """Points with their intervals, and a dashed line."""
    sizes = sorted(measured)
    middle = [measured[size][0] for size in sizes]
    name = html.escape(label)
    figure.add_trace(go.Scatter(
        x=sizes, y=middle, name=name, mode="markers", legendgroup=label,
        marker={"color": style["color"], "symbol": style["symbol"], "size": 7},
        error_y=error_bars(middle, [measured[size][1] for size in sizes],
                           [measured[size][2] for size in sizes]),
        customdata=[[bytes_text(size), time_text(measured[size][0])] for size in sizes],
        hovertemplate="%{customdata[0]}: %{customdata[1]}<extra>" + name + "</extra>"))
    sizes = sorted(predicted)
    dash = "dash" if style["symbol"] == "circle" else "dashdot"
    line = {"color": style["color"], "dash": dash, "width": 1.4}
    if label == "auto":  # a wide line, which stays visible below that of the algorithm it runs
        line = {"color": "rgba(119,119,119,0.3)", "width": 8}
    figure.add_trace(go.Scatter(
        x=sizes, y=[predicted[size][0] for size in sizes], name=name + ", " + how, mode="lines",
        legendgroup=label, line=line,
        customdata=[[bytes_text(size), time_text(predicted[size][0])] for size in sizes],
        hovertemplate="%{customdata[0]}: %{customdata[1]}<extra>" + name + f", {how}</extra>"))


def add_reigns(figure, times, styles, kind):
    """A row of the strip: a bar with the winner's name for each range of sizes."""
    bars = stretches(times)
    octaves = math.log2(bars[-1][1] / bars[0][0]) if bars else 1
    for left, right, label in bars:
        color = styles[label]["color"] if label in styles else "#bbbbbb"  # it was not measured
        middle = (left * right) ** 0.5
        figure.add_shape(type="rect", x0=left, x1=right, y0=ROWS[kind] + 0.06,
                         y1=ROWS[kind] + 0.94, xref="x", yref="y2", fillcolor=color, opacity=0.4,
                         layer="below",
                         line={"width": 1, "color": "white"})
        fits = PICTURE * math.log2(right / left) / octaves > LETTER * len(label)
        figure.add_trace(go.Scatter(
            x=[middle], y=[ROWS[kind] + 0.5], yaxis="y2", showlegend=False,
            mode="text" if fits else "markers", text=[html.escape(label)],
            marker={"color": color, "size": 9}, textfont={"size": 11},
            hovertemplate=f"{kind}: {html.escape(label)} is the fastest from "
                          f"{bytes_text(left, digits=3)} to {bytes_text(right, digits=3)}"
                          "<extra></extra>"))


def figure_of(lines, choices, styles, sizes):
    """The figure, or nothing without predictions."""
    measured, predicted = measured_times(lines), predicted_times(choices)
    shown = worth_comparing(measured, predicted)
    if not shown:
        return None
    figure = figure_over_sizes("time, us", sizes, 640)
    figure.update_layout(yaxis={"domain": [0.27, 1]}, xaxis={"anchor": "y2"},
                         yaxis2={"domain": [0, 0.17], "range": [0, 2], "type": "linear",
                                 "tickvals": [1.5, 0.5], "ticktext": list(ROWS), "ticks": "",
                                 "showline": False, "title": "fastest", "fixedrange": True,
                                 "showgrid": False})
    how = "predicted, assumed costs" if are_assumed(choices) else "predicted"
    if "auto" in lines and "auto" in predicted:
        add_curves(figure, "auto", styles["auto"], times_of(lines["auto"]), predicted["auto"], how)
    for label in shown:
        add_curves(figure, label, styles[label], measured[label], predicted[label], how)
    for kind, times in (("measured", measured), ("predicted", predicted)):
        add_reigns(figure, times, styles, kind)
        for size, _, _ in crossovers(times):
            figure.add_shape(type="line", x0=size, x1=size, y0=0, y1=1, xref="x",
                             yref="y domain", layer="below", opacity=1,
                             line={"color": "#444444", "width": 1,
                                   "dash": "solid" if kind == "measured" else "dot"})
    return figure


def crossovers_in_words(lines, choices):
    """The crossovers as a list of sentences."""
    parts = []
    for kind, times in (("Measured", measured_times(lines)),
                        ("Predicted", predicted_times(choices))):
        marks = [f"{html.escape(before)} → {html.escape(after)} at {bytes_text(size, digits=3)}"
                 for size, before, after in crossovers(times)]
        parts.append(f"<li>{kind}: {'; '.join(marks) or 'none'}</li>")
    return f"<p>Where another of ours becomes the fastest:</p><ul>{''.join(parts)}</ul>"
