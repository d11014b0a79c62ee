#!/usr/bin/env python3
"""Draws the load of each link: heat.py loads.jsonl|- picture.svg|picture.png

`tutti simulate --heat` runs it. The first line is the network, in the form of `tutti topology --format json`,
with the simulated call; each further line is an algorithm, with the bytes of every link in both
directions. All panels have the same scale of bytes, so they can be compared.
"""

import math
import sys

from drawing import bytes_text, convert, time_text
from heat_layout import STEP, Network, places_of
from pictures import plt, save
from sweep_file import records_in

from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path

# From orange to dark red: paler colours are invisible on white paper.
HEAT = LinearSegmentedColormap.from_list(
    "heat", [plt.get_cmap("YlOrRd")(0.28 + 0.72 * i / 255) for i in range(256)])
IDLE = {"color": "#d0d0d0", "linewidth": 0.8}
LEAST_WIDTH, MOST_WIDTH = 1.1, 4.0  # points
LANE = 0.036  # inches from the middle of a link to each of its directions
WIDEST = 17.5  # inches, of a picture with several columns
MARGIN = 0.32  # inches around a panel
HEAD = 0.62  # above a panel, for its text
TITLE, FOOT = 0.9, 1.0  # above and below all panels
MOST_NUMBERED = 64  # hosts; the numbers of more cannot be read


def ends_of(network, places, is_grid):
    """link -> the two ends of each of its lines. A link that wraps around is drawn as two stubs."""
    pairs = {}
    result = []
    for a, b in network.links:
        (ax, ay), (bx, by) = places[a], places[b]
        length = math.dist((ax, ay), (bx, by))
        across, up = (bx - ax) / length, (by - ay) / length
        # Parallel links are drawn side by side.
        same = pairs.setdefault((a, b), [0, network.links.count((a, b))])
        shift = (same[0] - (same[1] - 1) / 2) * 4 * LANE
        same[0] += 1
        ax, bx, ay, by = ax + up * shift, bx + up * shift, ay - across * shift, by - across * shift
        if is_grid and length > 1.5 * STEP:
            stub = 0.5 * STEP
            result.append([((ax, ay), (ax - across * stub, ay - up * stub)),
                           ((bx + across * stub, by + up * stub), (bx, by))])
        else:
            result.append([((ax, ay), (bx, by))])
    return result


def lanes_of(network, places, is_grid):
    """channel -> its lines. Each direction is drawn on its right side of the link."""
    lanes = []
    for lines in ends_of(network, places, is_grid):
        for sign in (1, -1):
            lane = []
            for (ax, ay), (bx, by) in lines:
                length = math.dist((ax, ay), (bx, by))
                right, down = sign * LANE * (by - ay) / length, -sign * LANE * (bx - ax) / length
                lane.append(((ax + right, ay + down), (bx + right, by + down)))
            lanes.append(lane)
    return lanes


def busy_shares(network, algorithm):
    """For each channel, the share of the time that its bytes take."""
    nanoseconds = algorithm["us"] * 1000
    return [carried * 8 / network.gbit_per_s[channel // 2] / nanoseconds if nanoseconds else 0
            for channel, carried in enumerate(algorithm["carried"])]


def words_of(network, algorithm, best_us):
    """The time, and the utilisation of links."""
    shares = busy_shares(network, algorithm)
    carried = algorithm["carried"]
    inner = [share for channel, share in enumerate(shares)
             if not any(map(network.is_host, network.links[channel // 2]))]
    fullest = max(range(len(shares)), key=shares.__getitem__)
    times = f"   {algorithm['us'] / best_us:.2f} x the least" if best_us > 0 else ""
    average = sum(inner or shares) / len(inner or shares)
    where = "links between switches" if inner else "links"
    return (f"{time_text(algorithm['us'])}{times}\n"
            f"fullest link: {bytes_text(carried[fullest])}, busy {shares[fullest]:.0%}\n"
            f"{where}: busy {average:.0%} on average")


def draw_vertices(axis, network, places):
    """Hosts are circles with numbers, switches are squares."""
    hosts = [places[vertex] for vertex in range(network.hosts)]
    switches = [places[vertex] for vertex in range(network.hosts, network.vertices)]
    is_numbered = network.hosts <= MOST_NUMBERED
    axis.scatter(*zip(*hosts), s=66 if is_numbered else 12, marker="o", facecolor="white",
                 edgecolor="#444444", linewidth=0.7, zorder=4)
    if switches:
        axis.scatter(*zip(*switches), s=34, marker="s", color="#444444", linewidth=0, zorder=4)
    if is_numbered:
        for number, (x, y) in enumerate(hosts):
            axis.text(x, y - 0.004, str(number), ha="center", va="center", fontsize=5, zorder=5)


def draw_panel(axis, network, places, lanes, algorithm, norm):
    """One algorithm. Channels with equal loads form one path, which keeps files small; the largest loads
    are on top."""
    alike = {}
    for lane, carried in zip(lanes, algorithm["carried"]):
        alike.setdefault(carried, []).extend(lane)
    for carried, lines in sorted(alike.items()):
        style = IDLE if not carried else {
            "color": HEAT(norm(carried)),
            "linewidth": LEAST_WIDTH + (MOST_WIDTH - LEAST_WIDTH) * norm(carried)}
        path = Path([end for line in lines for end in line],
                    [Path.MOVETO, Path.LINETO] * len(lines))
        axis.add_patch(PathPatch(path, fill=False, capstyle="butt", zorder=2, **style))
    draw_vertices(axis, network, places)


def ticks_up_to(most):
    """A few round numbers of bytes; the last one is at least `most`."""
    step = 2.0 ** math.ceil(math.log2(most / 5)) if most > 0 else 1
    return [step * i for i in range(max(math.ceil(most / step), 1) + 1)]


def draw_legend(figure, norm, ticks, height):
    """The scale of bytes and the marks, at the foot of the picture."""
    width = figure.get_figwidth()
    bar = figure.add_axes((MARGIN / width, 0.52 / height, 2.9 / width,
                           0.13 / height))
    scale = figure.colorbar(plt.cm.ScalarMappable(norm=norm, cmap=HEAT), cax=bar,
                            orientation="horizontal", ticks=ticks)
    scale.ax.set_xticklabels([bytes_text(tick) for tick in ticks], fontsize=7.5)
    scale.outline.set_visible(False)
    scale.set_label("bytes in one direction of a link", fontsize=8, labelpad=2)
    marks = {"markerfacecolor": "white", "markeredgecolor": "#444444", "linestyle": "none"}
    figure.legend(handles=[
        Line2D([], [], marker="o", markersize=7, label="host, with its rank", **marks),
        Line2D([], [], marker="s", markersize=5, color="#444444", linestyle="none", label="switch"),
        Line2D([], [], label="nothing is carried", **IDLE)],
        loc="upper left", bbox_to_anchor=((MARGIN + 3.2) / width, 0.78 / height), fontsize=8,
        frameon=False, borderaxespad=0.2)


def draw_title(figure, record):
    """The simulated call and a reading aid, at the head of the picture."""
    width, height = figure.get_size_inches()
    figure.text(0.12 / width, 1 - 0.12 / height,
                f"{record['collective']} of {bytes_text(record['vector_bytes'])}: what links carry",
                fontsize=13, fontweight="bold", va="top")
    figure.text(0.12 / width, 1 - 0.42 / height,
                f"{record['name']}, {record['ranks']} ranks, routing {record['routing']}\n"
                "A link has two lines, one per direction: traffic keeps to the right. "
                "Busy: the share of the time that its bytes need.",
                fontsize=8, color="#555555", va="top", linespacing=1.3)


def bounds_of(lanes):
    """The least and the greatest x and y."""
    points = [point for lane in lanes for line in lane for point in line]
    return [(min(values), max(values)) for values in zip(*points)]


def draw(record, algorithms):
    """The figure: a panel per algorithm."""
    network = Network(record)
    places, is_grid = places_of(network)
    lanes = lanes_of(network, places, is_grid)
    (left, right), (low, high) = bounds_of(lanes)
    wide = max(right - left + 2 * MARGIN, 2.9)  # room for the text
    tall = high - low + 1.2 * MARGIN + HEAD
    columns = min(len(algorithms), max(int(WIDEST / wide), 1))
    rows = -(-len(algorithms) // columns)
    width, height = max(wide * columns, 6.4), tall * rows + TITLE + FOOT
    figure = plt.figure(figsize=(width, height))
    draw_title(figure, record)
    ticks = ticks_up_to(max(max(one["carried"]) for one in algorithms))
    norm = Normalize(0, ticks[-1])
    for place, algorithm in enumerate(algorithms):
        row, column = divmod(place, columns)
        x, bottom = column * wide, height - TITLE - tall * (row + 1)
        axis = figure.add_axes((x / width, bottom / height, wide / width, (tall - HEAD) / height))
        axis.set_xlim((left + right - wide) / 2, (left + right + wide) / 2)
        axis.set_ylim(low - 0.6 * MARGIN, high + 0.6 * MARGIN)
        axis.axis("off")
        draw_panel(axis, network, places, lanes, algorithm, norm)
        x, top = (x + 0.14) / width, bottom + tall
        figure.text(x, top / height, algorithm["algorithm"], fontsize=9.5, fontweight="bold",
                    va="top")
        figure.text(x, (top - 0.18) / height, words_of(network, algorithm, algorithms[0]["us"]),
                    fontsize=8, va="top", linespacing=1.25)
    draw_legend(figure, norm, ticks, height)
    return figure


def figure_of(text, source):
    """The figure, or nothing without links or algorithms."""
    records = records_in(text, source)
    return draw(records[0], records[1:]) if len(records) > 1 and records[0]["links"] else None


def main(arguments):
    """Reads, draws, writes. Returns the exit status."""
    return convert(arguments, "loads.jsonl|- picture.svg|picture.png", figure_of, save)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
