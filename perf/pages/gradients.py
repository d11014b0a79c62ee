#!/usr/bin/env python3
"""Writes the results of tutti gradients as one page that opens without a network:
gradients.py steps.jsonl|- page.html

The page has a bar per setting, as --plot draws them, the cost of communication by bucket size, the table
that the command prints, the machine, and the command that repeats the measurement.
"""

import html
import sys

from drawing import COLORS, bytes_text, time_text
from page import error_bars, go, launched, main, page_around, picture, table_of

STANDINGS = {"best": COLORS[2], "tie": COLORS[5], "slower": COLORS[1]}
WORDS = {"best": "exposed, best", "tie": "exposed, as good", "slower": "exposed, slower"}
COMPUTING = "#bbbbbb"
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


def add_bars(figure, settings, computing):
    """Bars of the time of computing, and of the time that communication adds."""
    labels = [html.escape(one["label"]) for one in settings]
    figure.add_trace(go.Bar(
        y=labels, x=[min(computing, one["overlapped_us"]) / 1000 for one in settings],
        orientation="h", name="computing", marker={"color": COMPUTING}, hoverinfo="skip"))
    for standing, color in STANDINGS.items():
        here = [one for one in settings if one["standing"] == standing]
        if not here:
            continue
        steps = [one["overlapped_us"] / 1000 for one in here]
        figure.add_trace(go.Bar(
            y=[html.escape(one["label"]) for one in here], orientation="h", name=WORDS[standing],
            x=[max(one["overlapped_us"] - computing, 0) / 1000 for one in here],
            base=[min(computing, one["overlapped_us"]) / 1000 for one in here],
            marker={"color": color},
            error_x=error_bars(steps, [one["overlapped_q1_us"] / 1000 for one in here],
                               [one["overlapped_q3_us"] / 1000 for one in here]),
            customdata=[[time_text(one["overlapped_us"]), time_text(one["exposed_us"])]
                        for one in here],
            hovertemplate="%{y}: a step of %{customdata[0]}, %{customdata[1]} exposed"
                          "<extra></extra>"))


def bars_of(settings, computing):
    """The figure of bars, with marks at the end of the ideal step and of the serial one."""
    figure = go.Figure()
    add_bars(figure, settings, computing)
    labels = [html.escape(one["label"]) for one in settings]
    for name, field, symbol, color in (("ideal step", "ideal_us", "line-ns-open", "#222222"),
                                       ("not overlapped", "serial_us", "diamond", COLORS[6])):
        figure.add_trace(go.Scatter(
            y=labels, x=[one[field] / 1000 for one in settings], mode="markers", name=name,
            marker={"symbol": symbol, "color": color, "size": 12 if "line" in symbol else 7,
                    "line": {"width": 2, "color": color}},
            hovertemplate="%{y}: " + name + " %{x:.4g} ms<extra></extra>"))
    figure.update_layout(template="simple_white", barmode="overlay", bargap=0.35,
                         height=180 + 30 * len(settings), margin={"t": 30, "r": 10},
                         legend={"orientation": "h", "y": 1, "yanchor": "bottom", "font": {"size": 11}})
    figure.update_yaxes(autorange="reversed", automargin=True, ticks="", showline=False)
    figure.update_xaxes(title="time of a step, ms (median, line: quartiles)", showgrid=True,
                        rangemode="tozero")
    return figure


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
    figure = go.Figure()
    for place, (kind, line) in enumerate(curves.items()):
        line.sort(key=lambda one: one["bucket_bytes"])
        middle = [one["exposed_us"] / 1000 for one in line]
        figure.add_trace(go.Scatter(
            x=[one["bucket_bytes"] for one in line], y=middle, name=html.escape(kind),
            mode="lines+markers", line={"color": COLORS[place % len(COLORS)], "width": 1.7},
            error_y=error_bars(middle,
                               [one["exposed_q1_us"] / 1000 for one in line],
                               [one["exposed_q3_us"] / 1000 for one in line]),
            customdata=[bytes_text(one["bucket_bytes"]) for one in line],
            hovertemplate="%{customdata}: %{y:.4g} ms exposed<extra>" + html.escape(kind) + "</extra>"))
    figure.update_layout(template="simple_white", height=420, margin={"t": 30, "r": 10},
                         showlegend=True, legend={"font": {"size": 11}},
                         yaxis_title="exposed, ms (median, line: quartiles)")
    figure.update_xaxes(type="log", title="bytes of a bucket", showgrid=True, tickvals=sizes,
                        ticktext=[bytes_text(size) for size in sizes])
    figure.update_yaxes(showgrid=True)
    return figure


def page_of(records):
    """The page, or nothing if no step was measured."""
    context, summary = records[0], records[-1]
    settings = [record for record in records if record["record"] == "setting"]
    if not settings:
        return None
    computing = summary["computing_us"]
    text = (f"<p><b>{html.escape(context['model'])}</b>: {context['tensors']} tensors of "
            f"{context['elements']:,} elements, {context['bytes'] / 1e6:.1f} MB; a step "
            f"{'sleeps' if context['computing'] == 'sleep' else 'computes'} "
            f"{time_text(context['compute_us'])}, and took {time_text(computing)} without "
            f"communication; {summary['steps']} steps of each setting.</p>"
            f"<p>{html.escape(summary['sentence'])}</p>")
    if summary["interrupted"]:
        text += '<p class="warning">The run was interrupted: steps are fewer than were asked for.</p>'
    text += f"<h2>Steps</h2>{picture(bars_of(settings, computing))}"
    curves = buckets_of(settings)
    if curves:
        text += f"<h2>Exposed communication by the size of buckets</h2>{picture(curves)}"
    text += (f"<h2>All settings</h2><p>{MEANINGS}</p>{table_of(COLUMNS, rows_of(settings, summary))}")
    return page_around("tutti gradients", context, text,
                       launched(context, "gradients", takes_ranks=False))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], page_of))
