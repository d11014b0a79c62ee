#!/usr/bin/env python3
"""Draws a sweep, or what tutti gradients measured: plot.py run.jsonl|run.csv|- picture.svg|picture.png

Of a sweep, one column of panels per collective: time over size, bandwidth over size, time over that of
the MPI's own call (of the best of ours without one), since lines over five decades lie on one another,
and a strip that names the winner of every size. A line is the median, its band the 95% interval of the
median.

Of gradients, one bar per setting: what a step computes, and what communication adds to it.
"""

import csv
import io
import json
import os
import sys

SYSTEM_PYTHON = "/usr/bin/python3"  # a user's own often lacks what the system's has

try:
    import matplotlib
except ModuleNotFoundError:
    if os.path.exists(SYSTEM_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(
            SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
    sys.exit("plot.py needs matplotlib: apt-get install python3-matplotlib")

matplotlib.use("Agg")  # no display is needed

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402
from matplotlib.ticker import FuncFormatter, NullLocator  # noqa: E402

# Okabe and Ito's colours, which people with any colour vision can tell apart.
COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#999933",
          "#6a3d9a", "#117733", "#aa4499", "#b15928"]
MARKERS = "osD^vP<>Xhp*"
DASHED = (0, (6, 1.5))
NATIVE = {"color": "#222222", "linestyle": (0, (4, 2)), "marker": "x", "zorder": 4}
AUTO = {"color": "#777777", "linestyle": (0, (1, 1.5)), "marker": ".", "zorder": 3}
CANNOT_WRITE = 4  # exit status
MOST_RATIO = 4  # what is slower is no choice
NUMBERS = ("bytes", "median_us", "ci_low_us", "ci_high_us", "busbw_gb_s", "ranks")


def read_rows(text):
    """The cells of a file in either format, and its context record if it has one."""
    if text.lstrip().startswith("{"):
        records = [json.loads(line) for line in text.splitlines() if line.strip()]
        context = next((r for r in records if r["record"] == "context"), {})
        return [r for r in records if r["record"] == "cell"], context
    return list(csv.DictReader(io.StringIO(text))), {}


def label_of(row):
    """The name of a line: the algorithm with its parameters."""
    if "label" in row:
        return row["label"]
    return row["algorithm"] + (":" + row["parameters"] if row["parameters"] else "")


def group(rows):
    """collective -> label -> cells, ascending in bytes."""
    collectives = {}
    for row in rows:
        for name in NUMBERS:
            row[name] = float(row[name])
        if row["bytes"] > 0:  # a barrier has no size to draw over
            collectives.setdefault(row["collective"], {}).setdefault(label_of(row), []).append(row)
    for lines in collectives.values():
        for cells in lines.values():
            cells.sort(key=lambda row: row["bytes"])
    return collectives


def styles_of(collectives):
    """collective -> label -> line style: the same label looks alike where colours allow it."""
    known = {}
    result = {}
    for collective, lines in collectives.items():
        styles = {"native": NATIVE, "auto": AUTO}
        taken = {known[label] for label in lines if label in known}
        for label in lines:
            if label in styles:
                continue
            if label not in known:
                free = (i for i in range(2 * len(COLORS)) if i not in taken)
                known[label] = next(free, len(known) % len(COLORS))
                taken.add(known[label])
            again, i = divmod(known[label], len(COLORS))  # the second time dashed, other markers
            styles[label] = {"color": COLORS[i], "linestyle": DASHED if again else "-", "zorder": 2,
                             "marker": MARKERS[(i + 5 * again) % len(MARKERS)]}
        result[collective] = styles
    return result


def bytes_text(value, _position=None):
    """8, 64K, 4M."""
    for unit in ("", "K", "M", "G"):
        if value < 1024:
            return f"{value:.4g}{unit}"
        value /= 1024
    return f"{value:.4g}T"


def time_text(value, _position=None):
    """1 us, 20 ms, 3 s."""
    for scale, unit in ((1e6, "s"), (1e3, "ms"), (1, "us")):
        if value >= scale * 0.9995:
            return f"{value / scale:.4g} {unit}"
    return f"{value * 1e3:.4g} ns"


def rate_text(value, _position=None):
    """2 GB/s, 30 MB/s."""
    for scale, unit in ((1, "GB/s"), (1e-3, "MB/s"), (1e-6, "kB/s")):
        if value >= scale * 0.9995:
            return f"{value / scale:.4g} {unit}"
    return f"{value * 1e9:.4g} B/s"


def draw_lines(axis, lines, styles, value):
    """One line and one band per candidate; value maps a cell and a time to what is drawn."""
    for label, cells in lines.items():
        style = styles[label]
        sizes = [cell["bytes"] for cell in cells]
        low = [value(cell, cell["ci_low_us"]) for cell in cells]
        high = [value(cell, cell["ci_high_us"]) for cell in cells]
        axis.fill_between(sizes, low, high, color=style["color"], alpha=0.14, linewidth=0)
        axis.plot(sizes, [value(cell, cell["median_us"]) for cell in cells], label=label,
                  linewidth=1.6, markersize=4.5, **style)
    axis.set_xscale("log", base=2)
    drawn = [value(cell, cell["median_us"]) for cells in lines.values() for cell in cells]
    if min(drawn) > 0:  # one rank alone moves nothing
        axis.set_yscale("log")
        axis.set_ylim(min(drawn) / 2, max(drawn) * 2)  # wild intervals must not squeeze the lines
    axis.yaxis.set_minor_locator(NullLocator())
    axis.grid(True, which="major", color="#e3e3e3", linewidth=0.8)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def bandwidth(cell, time_us):
    """Bus bandwidth had the cell taken this long."""
    return cell["busbw_gb_s"] * cell["median_us"] / time_us


def yardsticks(lines):
    """What times are compared with: a name, and the time of every size."""
    if "native" in lines:
        return "native", {cell["bytes"]: cell["median_us"] for cell in lines["native"]}
    least = {}
    for label, cells in lines.items():
        for cell in cells:
            if label != "auto" or len(lines) == 1:
                best = least.get(cell["bytes"], cell["median_us"])
                least[cell["bytes"]] = min(best, cell["median_us"])
    return "best", least


def draw_ratios(axis, lines, styles):
    """Times over those of the yardstick; what takes more than MOST_RATIO times as long is cut off."""
    name, least = yardsticks(lines)
    known = {label: [cell for cell in cells if least.get(cell["bytes"], 0) > 0]
             for label, cells in lines.items()}
    draw_lines(axis, {label: cells for label, cells in known.items() if cells}, styles,
               lambda cell, time_us: time_us / least[cell["bytes"]])
    drawn = [cell["median_us"] / least[cell["bytes"]] for cells in known.values() for cell in cells]
    axis.set_ylim(min(min(drawn) / 1.15, 0.9), min(max(max(drawn) * 1.15, 1.1), MOST_RATIO))
    axis.axhline(1, color="#555555", linewidth=0.9, zorder=1)
    ticks = [tick for tick in (0.1, 0.2, 0.5, 0.75, 1, 1.5, 2, 3)
             if axis.get_ylim()[0] <= tick <= axis.get_ylim()[1]]
    axis.set_yticks(ticks, [f"{tick:g}x" for tick in ticks])
    axis.set_ylabel(f"time / {name}")


def winners(lines):
    """(bytes, label, is a tie) of every size. `auto` runs one of the others, so it is left out."""
    racers = {label: cells for label, cells in lines.items() if label != "auto"} or lines
    result = []
    for size in sorted({cell["bytes"] for cells in racers.values() for cell in cells}):
        here = [(cell, label) for label, cells in racers.items() for cell in cells
                if cell["bytes"] == size]
        best, label = min(here, key=lambda pair: pair[0]["median_us"])
        if "standing" in best:
            tie = any(cell["standing"] == "tie" for cell, _ in here)
        else:  # a CSV file tells intervals only
            tie = any(cell is not best and cell["ci_low_us"] <= best["ci_high_us"]
                      for cell, _ in here)
        result.append((size, label, tie))
    return result


def draw_strip(axis, lines, styles):
    """The winner of every size by colour and name, hatched where it is a tie."""
    sizes = winners(lines)
    for i, (size, label, tie) in enumerate(sizes):
        left = (sizes[i - 1][0] * size) ** 0.5 if i > 0 else size / 2
        right = (sizes[i + 1][0] * size) ** 0.5 if i + 1 < len(sizes) else size * 2
        axis.axvspan(left, right, facecolor=styles[label]["color"], alpha=0.35 if tie else 0.9,
                     hatch="////" if tie else None, edgecolor="white", linewidth=1.5)
        # Its name too, since there may be more lines than colours.
        axis.text((left * right) ** 0.5, 0.5, label, transform=axis.get_xaxis_transform(),
                  rotation=90, ha="center", va="center", fontsize=6.5, clip_on=True,
                  bbox={"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.8})
    axis.set_yticks([])
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.set_xlabel("bytes of the whole vector")
    axis.xaxis.set_major_formatter(FuncFormatter(bytes_text))
    axis.xaxis.set_minor_locator(NullLocator())


def subtitle_of(rows, context):
    """Where the numbers come from, one line."""
    row = rows[0]
    facts = [f"{row['ranks']:.0f} ranks on {row['hosts']} host" + "s" * (str(row["hosts"]) != "1"),
             f"{row['dtype']}" + (f" {row['op']}" if row["op"] else ""),
             f"transport {row['transport']}"]
    facts += [context[name] for name in ("mpi", "processor") if context.get(name)]
    if context.get("oversubscribed"):
        facts.append("OVERSUBSCRIBED")
    return "   ".join(facts)


def draw_collective(figure, collective, lines, styles):
    """One collective: time, bandwidth, ratios, winners."""
    time_axis, rate_axis, ratio_axis, strip = figure.subplots(
        4, 1, sharex=True, gridspec_kw={"height_ratios": [10, 6, 8, 4]})
    draw_lines(time_axis, lines, styles, lambda _cell, time_us: time_us)
    draw_lines(rate_axis, lines, styles, bandwidth)
    draw_ratios(ratio_axis, lines, styles)
    draw_strip(strip, lines, styles)
    time_axis.set_title(collective, fontsize=12, fontweight="bold", loc="left")
    time_axis.yaxis.set_major_formatter(FuncFormatter(time_text))
    rate_axis.yaxis.set_major_formatter(FuncFormatter(rate_text))
    time_axis.set_ylabel("time (median, 95% band)")
    rate_axis.set_ylabel("bus bandwidth")
    strip.set_ylabel("winner", rotation=0, ha="right", va="center")
    handles, labels = time_axis.get_legend_handles_labels()
    handles.append(Patch(facecolor="#bbbbbb", hatch="////", edgecolor="white"))
    time_axis.legend(handles, labels + ["tie"], loc="upper left", fontsize=8, framealpha=0.85,
                     edgecolor="none", ncols=1 if len(labels) < 7 else 2, labelspacing=0.35)


def draw(collectives, subtitle):
    """The figure: up to three collectives side by side."""
    columns = min(len(collectives), 2 if len(collectives) == 4 else 3)
    rows = -(-len(collectives) // columns)
    width = 7.2 if columns == 1 else 5.6 * columns
    height = 10.4 * rows + 0.6
    figure = plt.figure(figsize=(width, height), layout="constrained")
    figure.suptitle("tutti sweep\n", x=0.1 / width, ha="left", fontsize=15, fontweight="bold")
    figure.text(0.1 / width, 1 - 0.36 / height, subtitle, fontsize=9, color="#555555", va="top")
    panels = figure.subfigures(rows, columns, squeeze=False)
    styles = styles_of(collectives)
    for panel, (collective, lines) in zip(panels.flat, collectives.items()):
        panel.set_facecolor("none")  # else it covers the line above it
        draw_collective(panel, collective, lines, styles[collective])
    return figure


def records_of_gradients(text):
    """The records of tutti gradients, or nothing where the text is of a sweep."""
    lines = text.splitlines()
    if not lines or "tutti gradients/" not in lines[0]:
        return None
    return [json.loads(line) for line in lines if line.strip()]


def draw_bars(axis, settings, computing):
    """A bar per setting, the best one on top; a mark where its ideal step ends."""
    colors = {"best": COLORS[2], "tie": COLORS[5], "slower": COLORS[1]}
    for place, row in enumerate(settings):
        step = row["overlapped_us"]
        axis.barh(place, min(computing, step), color="#bbbbbb", height=0.62)
        axis.barh(place, max(step - computing, 0), left=computing, height=0.62,
                  color=colors[row["standing"]])
        axis.plot([row["overlapped_q1_us"], row["overlapped_q3_us"]], [place, place],
                  color="#222222", linewidth=1.1)
        axis.plot([row["ideal_us"]] * 2, [place - 0.4, place + 0.4], color="#222222",
                  linewidth=1.6, linestyle=(0, (2, 1)))
        axis.plot(row["serial_us"], place, marker="|", color=COLORS[6], markersize=9,
                  markeredgewidth=1.8)
    axis.set_yticks(range(len(settings)), [f"{row['label']}   {time_text(row['overlapped_us'])}"
                                           for row in settings])
    axis.set_ylim(len(settings) - 0.5, -0.6)  # the first one on top
    axis.set_xlim(0, 1.03 * max(max(row["overlapped_q3_us"], row["serial_us"])
                                for row in settings))


def draw_gradients(records):
    """The figure of tutti gradients, or nothing where no step was measured."""
    context, summary = records[0], records[-1]
    settings = [record for record in records if record["record"] == "setting"]
    if not settings:
        return None
    height = 2.3 + 0.36 * len(settings)
    figure, axis = plt.subplots(figsize=(9.4, height), layout="constrained")
    figure.suptitle("tutti gradients: " + context["model"], x=0.01, ha="left", fontsize=14,
                    fontweight="bold")
    facts = [f"{context['ranks']} rank" + "s" * (context["ranks"] != 1),
             f"{context['bytes'] / 1e6:.1f} MB of gradients", f"{summary['steps']} steps"]
    facts += [context[name] for name in ("mpi", "processor") if context.get(name)]
    if context.get("oversubscribed"):
        facts.append("OVERSUBSCRIBED")
    axis.set_title("   ".join(facts), fontsize=9, color="#555555", loc="left")
    draw_bars(axis, settings, summary["computing_us"])
    axis.set_xlabel("time of a step (median, line: quartiles)")
    axis.xaxis.set_major_formatter(FuncFormatter(time_text))
    axis.grid(True, axis="x", color="#e3e3e3", linewidth=0.8)
    axis.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    below = -0.58 / (0.36 * len(settings) + 0.2)  # of the axis, whose height is some inches
    axis.legend(handles=[
        Patch(color="#bbbbbb", label="computing"), Patch(color=COLORS[2], label="exposed, best"),
        Patch(color=COLORS[5], label="as good"), Patch(color=COLORS[1], label="slower"),
        Line2D([], [], color="#222222", linestyle=(0, (2, 1)), label="ideal step"),
        Line2D([], [], color=COLORS[6], linestyle="none", marker="|", markeredgewidth=1.8,
               label="not overlapped")], loc="upper right", bbox_to_anchor=(1, below), ncols=6,
        fontsize=8, frameon=False, borderaxespad=0, columnspacing=1.2)
    return figure


def save(figure, target):
    """Writes the picture, and leaves no half one. Returns the exit status."""
    opened = False
    try:
        with open(target, "wb") as file:
            opened = True
            figure.savefig(file, dpi=150, format=os.path.splitext(target)[1][1:] or None)
    except OSError as error:
        if opened and os.path.isfile(target):  # and no device
            os.remove(os.path.realpath(target))
        print(f"plot.py: cannot write '{target}': {error.strerror}", file=sys.stderr)
        return CANNOT_WRITE
    return 0


def main(arguments):
    """Reads, draws, writes. Returns the exit status."""
    if len(arguments) != 2:
        print("usage: plot.py run.jsonl|run.csv|- picture.svg|picture.png", file=sys.stderr)
        return 2
    source, target = arguments
    if source == "-":
        text = sys.stdin.read()
    else:
        with open(source, encoding="utf-8") as file:
            text = file.read()
    plt.rcParams.update({"font.family": "DejaVu Sans", "font.size": 9, "svg.fonttype": "path",
                         "hatch.linewidth": 0.8, "axes.edgecolor": "#999999"})
    records = records_of_gradients(text)
    if records is not None:
        figure = draw_gradients(records)
        if figure is None:
            print(f"plot.py: '{source}' has no settings to draw", file=sys.stderr)
            return 2
        return save(figure, target)
    rows, context = read_rows(text)
    collectives = group(rows)
    if not collectives:
        print(f"plot.py: '{source}' has no sizes to draw", file=sys.stderr)
        return 2
    return save(draw(collectives, subtitle_of(rows, context)), target)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
