"""The panels of a sweep that compare predicted times with measured ones."""

import math

from curves import (are_assumed, crossovers, measured_times, predicted_times, stretches, times_of,
                    worth_comparing)
from drawing import time_text

from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

BESIDE = 0.09  # octaves between the points of one size, which would overlap
PREDICTED = {"linestyle": (0, (5, 2)), "linewidth": 1.3}
CROSSOVERS = {"measured": {"linestyle": "-"}, "predicted": {"linestyle": (0, (1.2, 1.6))}}
CROSSOVER = {"color": "#444444", "linewidth": 1.0, "zorder": 1}
LETTER = 3.9  # width of a letter of the strip, in points


def draw_curves(axis, label, style, place, measured, predicted):
    """Points with their intervals, and a dashed line. That of auto is wide, so that it stays visible
    below that of the algorithm it runs."""
    sizes = sorted(measured)
    beside = [size * 2 ** (BESIDE * place) for size in sizes]
    middle = [measured[size][0] for size in sizes]
    errors = [[measured[size][0] - measured[size][1] for size in sizes],
              [measured[size][2] - measured[size][0] for size in sizes]]
    axis.errorbar(beside, middle, yerr=errors, color=style["color"], marker=style["marker"],
                  linestyle="none", markersize=4, elinewidth=0.9, zorder=3, label=label)
    sizes = sorted(predicted)
    how = {"linewidth": 6, "alpha": 0.25, "zorder": 1} if label == "auto" else PREDICTED
    axis.plot(sizes, [predicted[size][0] for size in sizes], color=style["color"], **how)


def in_two_lines(name):
    """Breaks a name after the mark that is closest to the middle."""
    marks = [i + 1 for i, letter in enumerate(name[:-1]) if letter in "_:,("]
    if len(name) < 14 or not marks:
        return name
    at = min(marks, key=lambda place: abs(place - len(name) / 2))
    return name[:at] + "\n" + name[at:]


def draw_reigns(axis, times, styles, row, inches_per_octave):
    """A row of the strip: a bar with the winner's name for each range of sizes."""
    for left, right, label in stretches(times):
        color = styles[label]["color"] if label in styles else "#bbbbbb"  # it was not measured
        axis.fill_between([left, right], row + 0.04, row + 0.96, color=color, alpha=0.45,
                          linewidth=0)
        axis.plot([right, right], [row + 0.04, row + 0.96], color="white", linewidth=1.2)
        fits = 72 * inches_per_octave * math.log2(right / left) > LETTER * len(label)
        axis.text((left * right) ** 0.5, row + 0.5, label if fits else in_two_lines(label),
                  rotation=0 if fits else 90, ha="center", va="center", fontsize=6.5,
                  linespacing=0.95)


def draw_strip(axis, measured, predicted, styles, sizes):
    """The winners, as measured and as predicted."""
    inches = 0.8 * axis.figure.bbox.width / axis.figure.dpi / (math.log2(sizes[-1] / sizes[0]) + 2)
    for row, times in ((1, measured), (0, predicted)):
        draw_reigns(axis, times, styles, row, inches)
    axis.set_ylim(0, 2)
    axis.set_yticks([1.5, 0.5], ["measured", "predicted"])
    axis.tick_params(axis="y", length=0)
    for side in ("top", "right", "left", "bottom"):
        axis.spines[side].set_visible(False)
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_ylabel("fastest of ours")


def draw_legend(axis, predicted):
    """The labels, above the curves, where they hide none."""
    handles, labels = axis.get_legend_handles_labels()
    handles.append(Line2D([], [], color="#444444", **PREDICTED))
    handles += [Line2D([], [], **CROSSOVER, **style) for style in CROSSOVERS.values()]
    labels += [predicted, *(f"crossover, {kind}" for kind in CROSSOVERS)]
    axis.legend(handles, labels, loc="lower center", ncols=3, bbox_to_anchor=(0.5, 1.0),
                fontsize=7.5, frameon=False, handletextpad=0.4, columnspacing=1.1,
                labelspacing=0.3)


def draw_predicted(axis, strip, lines, styles, choices):
    """`auto` and the best of the others, and the sizes at which the winner changes."""
    measured, predicted = measured_times(lines), predicted_times(choices)
    shown = worth_comparing(measured, predicted)
    for kind, times in (("measured", measured), ("predicted", predicted)):
        for size, _, _ in crossovers(times):
            axis.axvline(size, **CROSSOVER, **CROSSOVERS[kind])
    if "auto" in lines and "auto" in predicted:
        draw_curves(axis, "auto", styles["auto"] | {"marker": "o"}, -len(shown) / 2,
                    times_of(lines["auto"]), predicted["auto"])
    for place, label in enumerate(shown):
        draw_curves(axis, label, styles[label], place + 1 - len(shown) / 2, measured[label],
                    predicted[label])
    drawn = [time[0] for label in shown for times in (measured, predicted)
             for time in times[label].values()]
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    if drawn:
        axis.set_ylim(min(drawn) / 2, max(drawn) * 2)  # wild intervals must not squeeze the curves
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(FuncFormatter(time_text))
    axis.set_ylabel("measured and predicted")
    axis.grid(True, which="major", axis="y", color="#e3e3e3", linewidth=0.8)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    draw_legend(axis, "predicted, assumed costs" if are_assumed(choices) else "predicted")
    draw_strip(strip, measured, predicted, styles, sorted(choice["bytes"] for choice in choices))
