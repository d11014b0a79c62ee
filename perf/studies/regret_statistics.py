"""Statistics of medians, for regret.py and regret_mpi.py.

A cell is one collective at one size; its times map the name of an algorithm to a median in microseconds.
"""

import math
import statistics

MUCH = 1.3  # algorithms that take longer than the best by this factor are listed


def geometric_mean(ratios):
    """Geometric mean, or None without ratios."""
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else None


def median(values):
    """Median, or None without values."""
    return statistics.median(values) if values else None


def share(truths):
    """Share of true values, from 0 to 1, or None without values."""
    return sum(truths) / len(truths) if truths else None


def places(values):
    """The rank of each value among all, from 1; equal values share the mean of their ranks."""
    order = sorted(values)
    return [order.index(value) + (order.count(value) + 1) / 2 for value in values]


def rank_correlation(one, other):
    """Spearman's, or None for fewer than three pairs or if one side is constant."""
    if len(one) < 3 or len(set(one)) == 1 or len(set(other)) == 1:
        return None
    x, y = places(one), places(other)
    mean = (len(x) + 1) / 2
    product = sum((a - mean) * (b - mean) for a, b in zip(x, y))
    return product / math.sqrt(sum((a - mean) ** 2 for a in x) * sum((b - mean) ** 2 for b in y))


def difference(one, other):
    """The ratio of two times, at least 1."""
    return max(one, other) / min(one, other)


def regret(times, chosen):
    """The time of the choice divided by the least time. The least of many noisy times is too low, so
    this is too high if differences are small."""
    return times[chosen] / min(times.values())


def crossed_regrets(parts, chosen):
    """The regret without that bias: one part is compared, and the other parts decide which algorithm is
    best. `parts` are separate measurements of the same cell. Returns pairs of the best one's name and
    the ratio, one per part. Noise can decide for an algorithm that is not the best, so their mean is
    at most slightly too low."""
    common = sorted(set.intersection(*(set(part) for part in parts)))
    pairs = []
    for held, part in enumerate(parts):
        others = parts[:held] + parts[held + 1:]
        best = min(common, key=lambda name: statistics.median(other[name] for other in others))
        pairs.append((best, part[chosen] / part[best]))
    return pairs


def number(value, form):
    """A number of a table, or a dash where there is none."""
    return "-" if value is None else format(value, form)


def table(header, rows):
    """Lines of a table: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    return ["  ".join(cell.rjust(width) if i else cell.ljust(width)
                      for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
            for row in [header, *rows]]
