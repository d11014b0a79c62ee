"""Common parts of all pages: style, tables, curves over sizes, the machine, and the command that repeats the
measurement. A page opens without a network.
"""

import html
import json
import shlex
import sys

from curves import settings_in_words
import figure as drawn
from drawing import AUTO_COLOR, COLORS, NATIVE_COLOR, bytes_text, convert, time_text, write
from figure import Figure, Scale, band, mark, polyline
from sweep_file import records_in

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #1b1b1b; margin: 2rem auto; max-width: 72rem;
       padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { margin-top: 2.2rem; } h3 { margin-top: 1.6rem; }
p.facts { color: #555; margin-top: 0; } p.warning { color: #a33; margin: .2rem 0; }
pre { background: #f4f4f4; padding: .7rem; white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .55rem; text-align: right; border-bottom: 1px solid #e5e5e5; }
th { cursor: pointer; user-select: none; position: sticky; top: 0; background: #fff; }
th.words, td.words { text-align: left; } td { white-space: nowrap; } tr.best td { font-weight: 600; }
details { margin: .3rem 0; } summary { cursor: pointer; }
.scroll { max-height: 32rem; overflow: auto; }
@media print { .scroll { max-height: none; } }
"""

# A click on the head of a column sorts the rows by it, and a second click reverses them.
SCRIPT = """
document.querySelectorAll('table.cells th').forEach(head => head.addEventListener('click', () => {
  const body = head.closest('table').tBodies[0];
  const index = [...head.parentNode.children].indexOf(head);
  const sign = head.dataset.sorted === 'up' ? -1 : 1;
  head.dataset.sorted = sign === 1 ? 'up' : 'down';
  const key = row => row.children[index].dataset.value;
  const compare = (a, b) => isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b;
  [...body.rows].sort((a, b) => sign * compare(key(a), key(b))).forEach(row => body.append(row));
}));
"""


WORDS = ("label", "model", "verdict", "align", "pattern")  # fields of tables that are text


def cell_text(value):
    """The text of a value in a table."""
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def table_of(columns, rows):
    """A table that sorts. Columns are (head, field); rows are dictionaries, where a field such as
    hidden_text is the printed form of hidden. Rows whose standing is best are highlighted."""
    def kind(field):
        return "words" if field in WORDS else ""
    head = "".join(f'<th class="{kind(field)}">{html.escape(name)}</th>' for name, field in columns)
    lines = []
    for row in rows:
        cells = "".join(
            f'<td class="{kind(field)}" data-value="{html.escape(str(row.get(field)))}">'
            f'{html.escape(row.get(field + "_text", cell_text(row.get(field))))}</td>'
            for _, field in columns)
        best = "best" if row.get("standing") == "best" else ""
        lines.append(f'<tr class="{best}">{cells}</tr>')
    return (f'<div class="scroll"><table class="cells"><thead><tr>{head}</tr></thead>'
            f'<tbody>{"".join(lines)}</tbody></table></div>')


def styles_of(labels):
    """label -> colour, dash and symbol, equal in all figures of a section."""
    styles = {}
    for label in labels:
        turn, place = divmod(sum(name not in ("native", "auto") for name in styles), len(COLORS))
        styles[label] = {"color": COLORS[place], "dash": "dash" if turn else "solid",
                         "symbol": "diamond-open" if turn else "circle"}
        if label == "native":
            styles[label] = {"color": NATIVE_COLOR, "dash": "dash", "symbol": "x"}
        elif label == "auto":
            styles[label] = {"color": AUTO_COLOR, "dash": "dot", "symbol": "circle"}
    return styles


def figure_over_sizes(title, sizes, values, text_of, height=470, bottom=0):
    """An empty figure over bytes. values: what the axis of y must show. bottom: pixels that the caller
    needs below the axis of sizes."""
    ends = max(values) * 1.2, min(values) / 1.2
    x = Scale(sizes[0] / 1.3, sizes[-1] * 1.3, 84, drawn.WIDTH - drawn.RIGHT, is_log=True)
    y = Scale(ends[1], ends[0], height - 42 - bottom, 10, is_log=True)
    figure = Figure(x, y, height)
    figure.ticks_of_y([(tick, text_of(tick)) for tick in drawn.log_ticks(y.low, y.high)], title)
    figure.ticks_of_x([(size, bytes_text(size)) for size in sizes], "bytes of the whole vector")
    return figure


def add_lines(figure, lines, styles, shown, value, text_of):
    """A line per label, with the interval of its median. shown: the labels that are visible at first.
    value maps a cell and a time to y."""
    for label, cells in lines.items():
        style = styles[label]
        key = figure.key(label, style, more=label not in shown)
        points = [(figure.x(cell["bytes"]), *(figure.y(value(cell, cell[name])) for name in
                                              ("median_us", "ci_low_us", "ci_high_us"))) for cell in cells]
        marks = [mark(x, y, style, f"{label}, {bytes_text(cell['bytes'])}: "
                                   f"{text_of(value(cell, cell['median_us']))}")
                 for (x, y, _, _), cell in zip(points, cells)]
        figure.trace(key, [band([(x, low, high) for x, _, low, high in points], style["color"]),
                           polyline([(x, y) for x, y, _, _ in points], style), *marks])


def times_of_lines(lines, styles, shown):
    """The figure of times."""
    sizes = sorted({cell["bytes"] for cells in lines.values() for cell in cells})
    values = [cell["median_us"] for cells in lines.values() for cell in cells]
    figure = figure_over_sizes("median time", sizes, values, time_text)
    add_lines(figure, lines, styles, shown, lambda _cell, time: time, time_text)
    return picture(figure, lines)


def picture(figure, lines):
    """A figure of lines, with its switch."""
    return figure.picture((f"show all {len(lines)}", "show the best"))


def facts_of(context):
    """Machine, software and settings, in one line."""
    def counted(count, word):
        return f"{count} {word}" + "s" * (count != 1)
    facts = [f"{counted(context.get('ranks', '?'), 'rank')} on "
             f"{counted(len(context.get('hosts', [])), 'host')}"]
    facts += [str(context[name]) for name in ("transport", "mpi", "processor", "started")
              if context.get(name)]
    facts += settings_in_words(context)
    facts.append("tutti " + str(context.get("tutti", "")))
    if context.get("oversubscribed"):
        facts.append("more ranks than cores")
    return ", ".join(facts)


def launched(context, command, takes_ranks=True):
    """The command line that repeats the measurement with the same number of ranks: under the launcher of
    the MPI, if that started them, or by tutti itself."""
    ranks = str(context.get("ranks", 1))
    arguments = [one for one in context.get("arguments", []) if not one.startswith("--ranks=")]
    if context.get("mpi"):
        return shlex.join(["mpirun", "-n", ranks, "tutti", command, *arguments])
    if takes_ranks:
        return shlex.join(["tutti", command, "--ranks", ranks, *arguments])
    return shlex.join(["tutti", "run", "-n", ranks, "tutti", command, *arguments])


def page_around(title, context, sections, command):
    """The page."""
    settings = html.escape(json.dumps({name: context[name] for name in context if name != "record"},
                                      indent=1))
    return (f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
            f"<title>{html.escape(title)}</title>"
            f"<style>{STYLE}{drawn.STYLE}</style></head><body>"
            f'<h1>{html.escape(title)}</h1><p class="facts">{html.escape(facts_of(context))}</p>'
            f"{sections}<h2>To measure it again</h2><pre>{html.escape(command)}</pre>"
            f"<details><summary>Machine, versions and settings</summary><pre>{settings}</pre>"
            f"</details><script>{SCRIPT}{drawn.SCRIPT}</script></body></html>")


def main(arguments, page_of, read=records_in):
    """Reads a file, makes the page, writes it. Returns the exit status."""
    return convert(arguments, "run.jsonl|- page.html", lambda text, source: page_of(read(text, source)),
                   lambda page, target: write(page.encode(), target))
