"""Common parts of all pages: style, tables, curves over sizes, the machine, and the command that repeats the
measurement. A page opens without a network.
"""

import html
import json
import shlex
import sys

from curves import settings_in_words
from drawing import AUTO_COLOR, COLORS, NAME, NATIVE_COLOR, bytes_text, convert, write
from sweep_file import records_in

try:
    import plotly.graph_objects as go
    from plotly.offline import get_plotlyjs
except ModuleNotFoundError:
    sys.exit(f"{NAME} needs plotly: pip install plotly")

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


def figure_over_sizes(title, sizes, height=520):
    """An empty figure over bytes."""
    figure = go.Figure()
    figure.update_layout(template="simple_white", height=height, margin={"t": 40, "r": 10},
                         hovermode="closest", legend={"font": {"size": 11}}, yaxis_title=title)
    figure.update_xaxes(type="log", title="bytes of the whole vector", showgrid=True,
                        tickvals=sizes, ticktext=[bytes_text(size) for size in sizes])
    figure.update_yaxes(type="log", showgrid=True)
    return figure


def error_bars(middle, low, high):
    """Error bars of an interval, which may be asymmetric."""
    return {"type": "data", "thickness": 0.8, "width": 2, "symmetric": False,
            "array": [b - a for a, b in zip(middle, high)],
            "arrayminus": [a - b for a, b in zip(middle, low)]}


def add_lines(figure, lines, styles, value, mode="lines+markers"):
    """A line per label, with the interval of its median. value maps a cell and a time to y."""
    for label, cells in lines.items():
        middle = [value(cell, cell["median_us"]) for cell in cells]
        color, dash, symbol = (styles[label][name] for name in ("color", "dash", "symbol"))
        figure.add_trace(go.Scatter(
            x=[cell["bytes"] for cell in cells], y=middle, name=html.escape(label), mode=mode,
            line={"color": color, "dash": dash, "width": 1.7},
            marker={"color": color, "symbol": symbol},
            error_y=error_bars(middle, [value(cell, cell["ci_low_us"]) for cell in cells],
                               [value(cell, cell["ci_high_us"]) for cell in cells]),
            customdata=[bytes_text(cell["bytes"]) for cell in cells],
            hovertemplate="%{customdata}: %{y:.4g}<extra>" + html.escape(label) + "</extra>"))


def picture(figure):
    """A figure as a part of the page, without the library's buttons that upload it: a wrong click would
    publish the measurement."""
    return figure.to_html(full_html=False, include_plotlyjs=False, config={
        "displaylogo": False, "showSendToCloud": False, "plotlyServerURL": ""})


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
            f"<style>{STYLE}</style><script>{get_plotlyjs()}</script></head><body>"
            f'<h1>{html.escape(title)}</h1><p class="facts">{html.escape(facts_of(context))}</p>'
            f"{sections}<h2>To measure it again</h2><pre>{html.escape(command)}</pre>"
            f"<details><summary>Machine, versions and settings</summary><pre>{settings}</pre>"
            f"</details><script>{SCRIPT}</script></body></html>")


def main(arguments, page_of, read=records_in):
    """Reads a file, makes the page, writes it. Returns the exit status."""
    return convert(arguments, "run.jsonl|- page.html", lambda text, source: page_of(read(text, source)),
                   lambda page, target: write(page.encode(), target))
