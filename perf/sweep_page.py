#!/usr/bin/env python3
"""Writes a sweep as one page that opens without a network: sweep_page.py run.jsonl|- page.html

Its curves can be hovered over and its table sorted; it has ratios to the MPI's own call, what `auto`
chose at each size and why, the machine, and the command that measures it again.
"""

import html
import json
import os
import shlex
import sys

try:
    import plotly.graph_objects as go
    from plotly.offline import get_plotlyjs
except ModuleNotFoundError:
    sys.exit("sweep_page.py needs plotly: pip install plotly")

CANNOT_WRITE = 4  # exit status
# Okabe and Ito's colours, which people with any colour vision can tell apart.
COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#999933",
          "#6a3d9a", "#117733", "#aa4499", "#b15928"]
COLUMNS = [("bytes", "bytes"), ("algorithm", "label"), ("median, us", "median_us"),
           ("from, us", "ci_low_us"), ("to, us", "ci_high_us"), ("over the best", "ratio_to_best"),
           ("GB/s on the bus", "busbw_gb_s"), ("segments, bytes", "segment_bytes"),
           ("wrong", "wrong")]

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #1b1b1b; margin: 2rem auto; max-width: 72rem;
       padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { margin-top: 2.2rem; } h3 { margin-top: 1.6rem; }
p.facts { color: #555; margin-top: 0; }
pre { background: #f4f4f4; padding: .7rem; overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .7rem; text-align: right; border-bottom: 1px solid #e5e5e5; }
th { cursor: pointer; user-select: none; position: sticky; top: 0; background: #fff; }
th.words, td.words { text-align: left; } tr.best td { font-weight: 600; }
details { margin: .3rem 0; } summary { cursor: pointer; }
.scroll { max-height: 32rem; overflow: auto; }
@media print { .scroll { max-height: none; } }
"""

# Rows are sorted by the column whose head is clicked, and backwards by a second click.
SCRIPT = """
document.querySelectorAll('table.cells th').forEach((head, column) => head.addEventListener('click', () => {
  const body = head.closest('table').tBodies[0];
  const index = [...head.parentNode.children].indexOf(head);
  const sign = head.dataset.sorted === 'up' ? -1 : 1;
  head.dataset.sorted = sign === 1 ? 'up' : 'down';
  const key = row => row.children[index].dataset.value;
  const compare = (a, b) => isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b;
  [...body.rows].sort((a, b) => sign * compare(key(a), key(b))).forEach(row => body.append(row));
}));
"""


def bytes_text(value):
    """8, 64K, 4M."""
    for unit in ("", "K", "M", "G"):
        if value < 1024:
            return f"{value:.4g}{unit}"
        value /= 1024
    return f"{value:.4g}T"


def cell_text(value):
    """What stands in the table."""
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"


def yardstick(cells):
    """What times are compared with: its name, and the time of every size."""
    native = {cell["bytes"]: cell["median_us"] for cell in cells if cell["label"] == "native"}
    if native:
        return "native", native
    least = {}
    for cell in cells:
        least[cell["bytes"]] = min(least.get(cell["bytes"], cell["median_us"]), cell["median_us"])
    return "the best", least


def lines_of(cells):
    """label -> cells, ascending in bytes."""
    lines = {}
    for cell in sorted(cells, key=lambda cell: cell["bytes"]):
        lines.setdefault(cell["label"], []).append(cell)
    return lines


def figure_of(title, sizes):
    """An empty figure over sizes."""
    figure = go.Figure()
    figure.update_layout(template="simple_white", height=520, margin={"t": 40, "r": 10},
                         hovermode="closest", legend={"font": {"size": 11}}, yaxis_title=title)
    figure.update_xaxes(type="log", title="bytes of the whole vector", showgrid=True,
                        tickvals=sizes, ticktext=[bytes_text(size) for size in sizes])
    figure.update_yaxes(type="log", showgrid=True)
    return figure


def add_lines(figure, lines, value):
    """A line per algorithm, with the interval of its median."""
    for number, (label, cells) in enumerate(lines.items()):
        color = {"native": "#222222", "auto": "#777777"}.get(label, COLORS[number % len(COLORS)])
        dash = {"native": "dash", "auto": "dot"}.get(label,
                                                     "solid" if number < len(COLORS) else "dash")
        middle = [value(cell, cell["median_us"]) for cell in cells]
        figure.add_trace(go.Scatter(
            x=[cell["bytes"] for cell in cells], y=middle, name=html.escape(label),
            mode="lines+markers", line={"color": color, "dash": dash, "width": 1.7},
            error_y={"type": "data", "thickness": 0.8, "width": 2, "symmetric": False,
                     "array": [value(cell, cell["ci_high_us"]) - here
                               for cell, here in zip(cells, middle)],
                     "arrayminus": [here - value(cell, cell["ci_low_us"])
                                    for cell, here in zip(cells, middle)]},
            customdata=[bytes_text(cell["bytes"]) for cell in cells],
            hovertemplate="%{customdata}: %{y:.4g}<extra>" + html.escape(label) + "</extra>"))


def add_predictions(figure, lines, choices):
    """Dotted: what the model takes the algorithms to need, in the colours of those measured."""
    for number, label in enumerate(lines):
        points = [(choice["bytes"], candidate["predicted_us"]) for choice in choices
                  for candidate in choice["candidates"]
                  if candidate["algorithm"] == label and candidate["predicted_us"]]
        if points:
            figure.add_trace(go.Scatter(
                x=[point[0] for point in points], y=[point[1] for point in points],
                name=html.escape(label) + ", predicted", mode="lines", visible="legendonly",
                line={"color": COLORS[number % len(COLORS)], "dash": "dot", "width": 1.2}))


def mark_crossovers(figure, lines):
    """A line where another algorithm becomes the fastest, between the two sizes."""
    winners = {}
    for label, cells in lines.items():
        for cell in cells:
            best = winners.get(cell["bytes"])
            if label != "auto" and (best is None or cell["median_us"] < best[0]):
                winners[cell["bytes"]] = (cell["median_us"], label)
    sizes = sorted(winners)
    for a, b in zip(sizes, sizes[1:]):
        if winners[a][1] != winners[b][1]:
            figure.add_vline(x=(a * b) ** 0.5, line={"color": "#bbbbbb", "dash": "dot", "width": 1})


def picture(figure):
    """A figure as a part of the page."""
    return figure.to_html(full_html=False, include_plotlyjs=False)


def table_of(cells):
    """Every cell; the best of each size stands out."""
    head = "".join(f'<th class="{"words" if field == "label" else ""}">{html.escape(name)}</th>'
                   for name, field in COLUMNS)
    rows = []
    for cell in sorted(cells, key=lambda cell: (cell["bytes"], cell["median_us"])):
        columns = "".join(
            f'<td class="{"words" if field == "label" else ""}" '
            f'data-value="{html.escape(str(cell.get(field)))}">'
            f'{html.escape(cell_text(cell.get(field)))}</td>' for _, field in COLUMNS)
        rows.append(f'<tr class="{"best" if cell.get("standing") == "best" else ""}">{columns}</tr>')
    return (f'<div class="scroll"><table class="cells"><thead><tr>{head}</tr></thead>'
            f'<tbody>{"".join(rows)}</tbody></table></div>')


def explained(choices):
    """What auto ran at every size, and what became of the others."""
    parts = []
    for choice in choices:
        items = []
        for candidate in sorted(choice["candidates"], key=lambda one: one["predicted_us"] or 1e30):
            what = candidate["refusal"] or f"{candidate['predicted_us']:.4g} us predicted"
            items.append(f"<li>{html.escape(candidate['algorithm'])}: {html.escape(what)}</li>")
        parts.append(
            f"<details><summary>{bytes_text(choice['bytes'])}: "
            f"<b>{html.escape(choice['chosen'])}</b>, {html.escape(choice['basis'])}</summary>"
            f"<p>{html.escape(choice['rests_on'])}</p><ul>{''.join(items)}</ul></details>")
    return "<h3>What auto chose, and why</h3>" + "".join(parts) if parts else ""


def section_of(collective, cells, choices):
    """One collective."""
    lines = lines_of([cell for cell in cells if cell["bytes"] > 0])
    text = f"<section><h2>{html.escape(collective)}</h2>"
    if lines:
        sizes = sorted({cell["bytes"] for cell in cells if cell["bytes"] > 0})
        times = figure_of("median time, us", sizes)
        add_lines(times, lines, lambda _cell, time: time)
        add_predictions(times, lines, choices)
        mark_crossovers(times, lines)
        name, least = yardstick(cells)
        ratios = figure_of(f"time over that of {name}", sizes)
        known = {label: [cell for cell in line if cell["bytes"] in least]
                 for label, line in lines.items()}
        add_lines(ratios, known, lambda cell, time: time / least[cell["bytes"]])
        ratios.add_hline(y=1, line={"color": "#555555", "width": 1})
        text += (f"<h3>Times</h3>{picture(times)}"
                 f"<h3>Times over those of {html.escape(name)}</h3>{picture(ratios)}")
    return text + explained(choices) + f"<h3>All that was measured</h3>{table_of(cells)}</section>"


def facts_of(context):
    """Where the numbers come from, one line."""
    hosts = len(context.get("hosts", []))
    facts = [f"{context.get('ranks', '?')} ranks on {hosts} host" + "s" * (hosts != 1)]
    facts += [str(context[name]) for name in ("mpi", "processor", "started") if context.get(name)]
    facts.append("tutti " + str(context.get("tutti", "")))
    if context.get("oversubscribed"):
        facts.append("more ranks than cores")
    return ", ".join(facts)


def page_of(records):
    """The page, or nothing where no cell was measured."""
    context = next((record for record in records if record["record"] == "context"), {})
    cells = [record for record in records if record["record"] == "cell"]
    if not cells:
        return None
    collectives = dict.fromkeys(cell["collective"] for cell in cells)
    sections = "".join(section_of(
        collective, [cell for cell in cells if cell["collective"] == collective],
        [record for record in records
         if record["record"] == "choice" and record["collective"] == collective])
        for collective in collectives)
    command = "tutti sweep --ranks " + shlex.join([str(context.get("ranks", 1)),
                                                   *context.get("arguments", [])])
    settings = html.escape(json.dumps({name: context[name] for name in context if name != "record"},
                                      indent=1))
    return (f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>tutti sweep</title>'
            f"<style>{STYLE}</style><script>{get_plotlyjs()}</script></head><body>"
            f'<h1>tutti sweep</h1><p class="facts">{html.escape(facts_of(context))}</p>'
            f"{sections}<h2>To measure it again</h2><pre>{html.escape(command)}</pre>"
            f"<details><summary>Machine, versions and settings</summary><pre>{settings}</pre>"
            f"</details><script>{SCRIPT}</script></body></html>")


def main(arguments):
    """Reads and writes. Returns the exit status."""
    if len(arguments) != 2:
        print("usage: sweep_page.py run.jsonl|- page.html", file=sys.stderr)
        return 2
    source, target = arguments
    with sys.stdin if source == "-" else open(source, encoding="utf-8") as file:
        page = page_of([json.loads(line) for line in file if line.strip()])
    if page is None:
        print(f"sweep_page.py: '{source}' has nothing to show", file=sys.stderr)
        return 2
    try:
        with open(target, "w", encoding="utf-8") as file:
            file.write(page)
    except OSError as error:
        if os.path.isfile(target):
            os.remove(os.path.realpath(target))
        print(f"sweep_page.py: cannot write '{target}': {error.strerror}", file=sys.stderr)
        return CANNOT_WRITE
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
