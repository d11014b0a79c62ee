#!/usr/bin/env python3
"""Writes the results of tutti tune as one page that opens without a network: tune.py run.jsonl|- page.html

For each table, the page has the rules, the choices of the model and their loss, the cells behind the
rules, as curves and as a table, and predictions.
"""

import html
import math
import sys

from curves import drawn_lines
from drawing import bytes_text
from page import launched, main, page_around, styles_of, table_of, times_of_lines
from page_predicted import predictions_of
from sweep_file import lines_of

RULES = [("from bytes", "from_bytes"), ("algorithm", "label")]
MODEL = [("bytes", "bytes"), ("fastest", "label"), ("us", "median_us"), ("the model's choice", "model"),
         ("us", "model_us"), ("over the fastest", "loss"), ("", "verdict")]
CELLS = [("bytes", "bytes"), ("algorithm", "label"), ("median, us", "median_us"),
         ("from, us", "ci_low_us"), ("to, us", "ci_high_us"), ("over the best", "ratio_to_best"),
         ("arrays", "align"), ("calls", "pattern")]


def label_of(algorithm, segment_bytes):
    """As the command prints it: ring, or ring/64K if it runs in segments."""
    return algorithm + (f"/{bytes_text(segment_bytes)}" if segment_bytes else "")


def with_standing(cells):
    """The cells with their labels, and their time relative to the best of their size."""
    least = {}
    for cell in cells:
        least[cell["bytes"]] = min(least.get(cell["bytes"], math.inf), cell["median_us"])
    result = []
    for cell in cells:
        best = least[cell["bytes"]]
        result.append({**cell, "label": label_of(cell["algorithm"], cell["segment_bytes"]),
                       "ratio_to_best": cell["median_us"] / best if best else 1.0,
                       "standing": "best" if cell["median_us"] == best else "slower"})
    return result


def with_labels(choice):
    """A choice, with the same names of algorithms as the cells."""
    chosen = label_of(choice["chosen"], choice["segment_bytes"])
    candidates = []
    for one in choice["candidates"]:
        label = label_of(one["algorithm"], one["segment_bytes"])
        candidates.append({**one, "algorithm": label, "label": label})
    return {**choice, "chosen": chosen, "label": chosen, "candidates": candidates}


def verdict_of(fastest, label, time):
    """A verdict on the model's choice."""
    if fastest["label"] == label:
        return "the same"
    if time is None:
        return "left out after a few rounds, 1.5 times as long or more"
    return "as good" if time["ci_low_us"] <= fastest["ci_high_us"] else "slower"


def model_rows(cells, choices, automatic):
    """A row per size: the fastest, and the model's choice. The time of that choice is the one that this
    run measured; else that of the file, if it has one."""
    measured = {time["bytes"]: time for time in automatic}
    rows = []
    for choice in sorted(choices, key=lambda choice: choice["bytes"]):
        here = [cell for cell in cells if cell["bytes"] == choice["bytes"]]
        fastest = next(cell for cell in here if cell["standing"] == "best")
        label = choice["chosen"]
        own = next((cell for cell in here if cell["label"] == label), None)
        time = measured.get(choice["bytes"], own)
        loss = time and max(time["median_us"] / fastest["median_us"], 1.0)
        rows.append({"bytes": choice["bytes"], "label": fastest["label"],
                     "median_us": fastest["median_us"], "model": label,
                     "model_us": time and time["median_us"], "loss": loss,
                     "verdict": verdict_of(fastest, label, time)})
    return rows


def summary_of(rows):
    """The gain of the rules, in a sentence."""
    losses = [row["loss"] for row in rows if row["loss"]]
    differing = sum(row["verdict"] not in ("the same", "as good") for row in rows)
    text = f"The model chooses something slower at {differing} of {len(rows)} sizes."
    if losses:
        mean = math.exp(sum(map(math.log, losses)) / len(losses))
        text += (f" Its choices take {mean:.3f} times the best time in the geometric mean, "
                 f"{max(losses):.2f} times at the worst.")
    return text


def section_of(records, collective, buffers):
    """One table of the file, with the choice of the model at each size."""
    def of(kind):
        return [record for record in records if record["record"] == kind
                and (record["collective"], record["buffers"]) == (collective, buffers)]
    cells, automatic = with_standing(of("cell")), of("automatic")
    choices = [with_labels(choice) for choice in of("choice")]
    rows = model_rows(cells, choices, automatic)
    rules = [{**rule, "label": label_of(rule["algorithm"], rule["segment_bytes"])}
             for rule in of("rule")]
    lines = lines_of(cells + [{**time, "label": "auto"} for time in automatic])
    text = (f"<section><h2>{html.escape(collective)}, {html.escape(buffers)} buffers</h2>"
            f"<p>{summary_of(rows)}</p><h3>Rules</h3>{table_of(RULES, rules)}"
            f"<h3>The model's choices</h3>{table_of(MODEL, rows)}")
    if lines:
        text += curves_of(lines, choices)
    rows = sorted(cells, key=lambda cell: (cell["bytes"], cell["median_us"]))
    return f"{text}<h3>All that was measured</h3>{table_of(CELLS, rows)}</section>"


def curves_of(lines, choices):
    """Measured and predicted times."""
    styles = styles_of(lines)
    return (f"<h3>Times</h3>{times_of_lines(lines, styles, drawn_lines(lines))}"
            f"{predictions_of(lines, choices, styles)}")


def page_of(records):
    """The page, or nothing if the file has no cell of these ranks."""
    context = next((record for record in records if record["record"] == "context"), {})
    places = dict.fromkeys((record["collective"], record["buffers"]) for record in records
                           if record["record"] == "cell")
    if not places:
        return None
    sections = "".join(section_of(records, *place) for place in places)
    file = (f"<p>The file is {html.escape(str(context.get('file', '')))}; a program loads it by "
            f"<code>TUTTI_TUNING</code>, or from where <code>init</code> looks.</p>")
    return page_around("tutti tune", context, file + sections, launched(context, "tune"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], page_of))
