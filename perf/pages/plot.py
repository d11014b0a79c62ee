#!/usr/bin/env python3
"""Draws a sweep, or results of tutti gradients: plot.py run.jsonl|run.csv|- picture.svg|picture.png

A sweep has one column of panels per collective, with the MPI's own call, `auto`, and the best five of the
other algorithms (the strips and the yardstick know all): time by size; bandwidth by size; time divided by that of
the MPI's own call (without an MPI, by that of the best of tutti's algorithms), since lines over five decades
are hard to distinguish; predicted and measured times, if the file has predictions; and a strip with the
winner at every size. A line is the median, its band the 95% interval of the median.

Gradients have one bar per setting: the time of computing, and the time that communication adds.
"""

import sys

from curves import drawn_lines, in_one_form, settings_in_words, winners, yardsticks
from drawing import AUTO_COLOR, COLORS, NATIVE_COLOR, bytes_text, convert, rate_text, time_text
from pictures import plt, save
from plot_gradients import draw_gradients
from plot_predicted import draw_predicted, in_two_lines
from sweep_file import Sweep, cells_in_csv, lines_of, records_in

from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullLocator

MARKERS = "osD^vP<>Xhp*"
DASHED = (0, (6, 1.5))
NATIVE = {"color": NATIVE_COLOR, "linestyle": (0, (4, 2)), "marker": "x", "zorder": 4}
AUTO = {"color": AUTO_COLOR, "linestyle": (0, (1, 1.5)), "marker": ".", "zorder": 3}
MOST_RATIO = 4  # slower algorithms are not shown


def by_collective(records):
    """collective -> its records with sizes: a barrier has none to draw over."""
    collectives = {}
    for record in records:
        if record["bytes"] > 0:
            collectives.setdefault(record["collective"], []).append(record)
    return collectives


def group(cells):
    """collective -> label -> cells, ascending in bytes."""
    return {name: lines_of(here) for name, here in by_collective(in_one_form(cells)).items()}


def styles_of(collectives):
    """collective -> label -> line style: a label has the same style in all panels, as far as colours
    suffice."""
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


def draw_lines(axis, lines, styles, value):
    """One line and one band per candidate; value maps a cell and a time to y."""
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
    if min(drawn) > 0:  # one rank alone has no bandwidth
        axis.set_yscale("log")
        axis.set_ylim(min(drawn) / 2, max(drawn) * 2)  # wild intervals must not squeeze the lines
    axis.yaxis.set_minor_locator(NullLocator())
    axis.grid(True, which="major", color="#e3e3e3", linewidth=0.8)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def bandwidth(cell, time_us):
    """Bus bandwidth of the cell for a given time."""
    return cell["busbw_gb_s"] * cell["median_us"] / time_us


def draw_ratios(axis, lines, styles, yardstick):
    """Times divided by those of the yardstick; larger ratios than MOST_RATIO are cut off."""
    name, least = yardstick
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


def draw_strip(axis, lines, styles):
    """The winner at every size by colour and name; hatched if it is a tie."""
    sizes = winners(lines)
    for i, (size, label, tie) in enumerate(sizes):
        left = (sizes[i - 1][0] * size) ** 0.5 if i > 0 else size / 2
        right = (sizes[i + 1][0] * size) ** 0.5 if i + 1 < len(sizes) else size * 2
        axis.axvspan(left, right, facecolor=styles[label]["color"], alpha=0.35 if tie else 0.9,
                     hatch="////" if tie else None, edgecolor="white", linewidth=1.5)
        # With its name, since there may be more lines than colours.
        axis.text((left * right) ** 0.5, 0.5, in_two_lines(label), rotation=90, ha="center", va="center",
                  transform=axis.get_xaxis_transform(), fontsize=6.5, clip_on=True, linespacing=0.95,
                  bbox={"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.8})
    axis.set_yticks([])
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.set_xlabel("bytes of the whole vector")
    axis.xaxis.set_major_formatter(FuncFormatter(bytes_text))
    axis.xaxis.set_minor_locator(NullLocator())


def subtitle_of(rows, context):
    """Machine, software and settings, in one line."""
    row = rows[0]
    facts = [f"{row['ranks']:.0f} ranks on {row['hosts']} host" + "s" * (str(row["hosts"]) != "1"),
             f"{row['dtype']}" + (f" {row['op']}" if row["op"] else ""),
             f"transport {row['transport']}"]
    facts += settings_in_words(row)
    facts += [context[name] for name in ("mpi", "processor") if context.get(name)]
    facts += [f"tutti {context['tutti']}"] if "tutti" in context else []
    facts += [context["started"].partition("T")[0]] if "started" in context else []
    if context.get("oversubscribed"):
        facts.append("OVERSUBSCRIBED")
    return "   ".join(facts)


def wrapped(subtitle, width):
    """The facts of a subtitle, in lines that fit a width in inches."""
    lines = []
    for fact in subtitle.split("   "):
        if lines and len(lines[-1]) + 3 + len(fact) <= width * 13:
            lines[-1] += " · " + fact
        else:
            lines.append(fact)
    return lines


def draw_legend(axis):
    """The labels of a collective's panels, above them, where they hide no curve."""
    handles, labels = axis.get_legend_handles_labels()
    handles.append(Patch(facecolor="#bbbbbb", hatch="////", edgecolor="white"))
    columns = 2 if max(map(len, labels)) > 16 else 3  # wider legends would make the panels narrow
    axis.legend(handles, labels + ["tie"], loc="lower left", bbox_to_anchor=(-0.05, 1),
                fontsize=7.5, frameon=False, ncols=columns, labelspacing=0.35, columnspacing=1.2)


def draw_collective(figure, collective, lines, styles, choices):
    """One collective: time, bandwidth, ratios, predictions if there are any, winners."""
    heights = [8, 4, 6, 8, 4, 4] if choices else [8, 4, 6, 4]
    axes = figure.subplots(len(heights), 1, sharex=True, gridspec_kw={"height_ratios": heights})
    time_axis, rate_axis, ratio_axis, strip = *axes[:3], axes[-1]
    drawn = drawn_lines(lines)
    draw_lines(time_axis, drawn, styles, lambda _cell, time_us: time_us)
    draw_lines(rate_axis, drawn, styles, bandwidth)
    draw_ratios(ratio_axis, drawn, styles, yardsticks(lines))
    if choices:
        draw_predicted(axes[3], axes[4], lines, styles, choices)
    draw_strip(strip, lines, styles)
    others = len(lines) - len(drawn)
    title = collective + (f" · {others} slower lines are only in the file" if others else "")
    figure.suptitle(title, fontsize=12, fontweight="bold", x=0.02, ha="left")
    time_axis.yaxis.set_major_formatter(FuncFormatter(time_text))
    rate_axis.yaxis.set_major_formatter(FuncFormatter(rate_text))
    time_axis.set_ylabel("time (median, 95% band)")
    rate_axis.set_ylabel("bus bandwidth")
    strip.set_ylabel("fastest of all")
    draw_legend(time_axis)
    figure.align_ylabels(axes)
    for axis in axes[:-1]:
        axis.tick_params(axis="x", labelbottom=True, labelsize=7.5)
    for axis in axes:
        axis.tick_params(left=False, bottom=False)  # the grid shows where


def draw(collectives, subtitle, choices=None):
    """The figure: up to three collectives side by side."""
    choices = choices or {}
    columns = min(len(collectives), 2 if len(collectives) == 4 else 3)
    rows = -(-len(collectives) // columns)
    width = 7.2 if columns == 1 else 5.6 * columns
    texts = wrapped(subtitle, width)
    height = (12.6 if choices else 8.4) * rows + 0.4 + 0.2 * len(texts)
    figure = plt.figure(figsize=(width, height), layout="constrained")
    figure.suptitle("tutti sweep" + "\n" * len(texts), x=0.1 / width, ha="left", fontsize=15,
                    fontweight="bold")
    figure.text(0.1 / width, 1 - 0.36 / height, "\n".join(texts), fontsize=9, color="#555555", va="top")
    panels = figure.subfigures(rows, columns, squeeze=False)
    styles = styles_of(collectives)
    for panel, (collective, lines) in zip(panels.flat, collectives.items()):
        panel.set_facecolor("none")  # otherwise it covers the line above it
        draw_collective(panel, collective, lines, styles[collective], choices.get(collective))
    return figure


def figure_of(text, source):
    """The figure of a file, or nothing if there is nothing to draw."""
    if "tutti gradients/" in text.partition("\n")[0]:
        return draw_gradients(records_in(text, source))
    if text.lstrip().startswith("{"):
        sweep = Sweep(text, source)
        cells, context, choices = sweep.cells, sweep.context, by_collective(sweep.choices.values())
    else:
        cells, context, choices = cells_in_csv(text, source), {}, {}
    collectives = group(cells)
    return draw(collectives, subtitle_of(cells, context), choices) if collectives else None


def main(arguments):
    """Reads, draws, writes. Returns the exit status."""
    return convert(arguments, "run.jsonl|run.csv|- picture.svg|picture.png", figure_of, save)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
