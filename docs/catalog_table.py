#!/usr/bin/env python3
"""Writes the table of algorithms into a page: tutti list --json | catalog_table.py PAGE [--check]

The table stands between the two marker lines. With --check nothing is written; the exit status is 1
if the page is out of date.
"""
import fractions
import json
import pathlib
import sys

BEGIN = "<!-- begin: tutti list -->"
END = "<!-- end: tutti list -->"
RANKS = 8  # of the costs of a row that serves this number
PLAIN = {"ranks": "ranks"}
# Order of operands, rounding and expression trees are facts about reductions only.
REDUCING = {**PLAIN, "ordered": "in order", "rank_identical": "same bits on all ranks",
            "size_invariant": "size-invariant"}
WORDS = {"never": "no", "always": "yes", "power_of_two": "powers of two", "root_is_zero": "root 0",
         "any": "any", "even": "even", "slim_fly": "2q^2"}


def name_of(row):
    """The choice that has the costs of the row."""
    return f"`{row['costs']['choice']}{':skips=' if row['key'] == 'skips' else ''}`"


def rounds_of(row):
    costs = row["costs"]
    segment = " per segment" if row["segment_bytes"] else ""
    ranks = "" if costs["ranks"] == RANKS else f" on {costs['ranks']} ranks"
    return f"{costs['rounds']}{segment}{ranks}"


def sent_of(row):
    sent = fractions.Fraction(row["costs"]["vectors_sent"]).limit_denominator(10 ** 6)
    return "*m*" if sent == 1 else f"{sent} *m*"


def table(rows):
    lines = []
    collective = None
    for row in rows:
        facts = REDUCING if row["reduces"] else PLAIN
        has_bytes = "vectors_sent" in row["costs"]
        if row["collective"] != collective:
            collective = row["collective"]
            heads = ["algorithm", "rounds", *(["bytes sent"] if has_bytes else []), *facts.values(),
                     "for"]
            lines += ["", f"### {collective}", "", f"| {' | '.join(heads)} |",
                      "|---" * len(heads) + "|"]
        words = {key: WORDS[row[key]] for key in facts}
        if row["same_tree_as"]:
            words["size_invariant"] += f", as `{row['same_tree_as']}`"
        sent = [sent_of(row)] if has_bytes else []
        cells = [name_of(row), rounds_of(row), *sent, *words.values(), row["summary"]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def main():
    page = pathlib.Path(sys.argv[1])
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN + "\n")
    after = rest.split(END)[1]
    current = f"{before}{BEGIN}\n{table(json.load(sys.stdin))}\n{END}{after}"
    if "--check" not in sys.argv[2:]:
        page.write_text(current, encoding="utf-8")
    elif current != text:
        print(f"{page} is out of date: tutti list --json | docs/catalog_table.py docs/algorithms.md")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
