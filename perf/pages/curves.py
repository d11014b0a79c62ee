"""Computes what pictures and pages show of a sweep's curves: yardsticks, winners, predictions, crossovers.

A line is a list of cells, ascending in bytes; lines are a dictionary from label to line.
"""

import math

MOST_COMPARED = 4  # curves beside `auto`: more cannot be distinguished
MOST_DRAWN = 5  # curves beside `auto` and `native` in a picture


def settings_in_words(record):
    """Start of arrays and pattern of calls, if the file has them. Older files have neither, and on GPUs
    the driver places arrays."""
    words = [f"arrays: {record['align']}"] if record.get("align") else []
    if record.get("pattern"):
        words.append("isolated calls" if record["pattern"] == "isolated" else "calls back to back")
    return words


def in_one_form(cells):
    """The cells out of place, if a sweep on GPUs also measured sizes in place; else all cells."""
    return [cell for cell in cells if not cell.get("in_place")] or cells


def yardsticks(lines):
    """The times for comparison: a name, and the time at every size."""
    if "native" in lines:
        return "native", {cell["bytes"]: cell["median_us"] for cell in lines["native"]}
    least = {}
    for label, cells in lines.items():
        for cell in cells:
            if label != "auto" or len(lines) == 1:
                best = least.get(cell["bytes"], cell["median_us"])
                least[cell["bytes"]] = min(best, cell["median_us"])
    return "best", least


def winners(lines):
    """(bytes, label, is a tie) at every size: the labels of `reigns`, of all lines. `auto` runs one of the
    others, so it is left out."""
    racers = {label: cells for label, cells in lines.items() if label != "auto"} or lines
    result = []
    for size, label in _reigns({label: times_of(cells) for label, cells in racers.items()}):
        here = [cell for cells in racers.values() for cell in cells if cell["bytes"] == size]
        best = min(here, key=lambda cell: cell["median_us"])
        if "standing" in best:
            tie = any(cell["standing"] == "tie" for cell in here)
        else:  # a CSV file has only intervals
            tie = any(cell is not best and cell["ci_low_us"] <= best["ci_high_us"] for cell in here)
        result.append((size, label, tie))
    return result


def times_of(cells):
    """{bytes: (median, lower bound, upper bound)}."""
    return {cell["bytes"]: (cell["median_us"], cell["ci_low_us"], cell["ci_high_us"])
            for cell in cells}


def measured_times(lines):
    """label -> times of the algorithms that the model predicts too."""
    return {label: times_of(cells) for label, cells in lines.items()
            if label not in ("auto", "native")}


def predicted_times(choices):
    """label -> {bytes: (prediction, the same, the same)}; `auto` is the prediction for the algorithm
    that it chose."""
    times = {}
    for choice in choices:
        for candidate in choice["candidates"]:
            time, label = candidate["predicted_us"], candidate["label"]
            if not time or choice["bytes"] <= 0:
                continue
            times.setdefault(label, {})[choice["bytes"]] = (time, time, time)
            if label == choice["label"]:
                times.setdefault("auto", {})[choice["bytes"]] = (time, time, time)
    return times


def are_assumed(choices):
    """Whether predicted times use costs that were assumed, not measured on that machine. Files without
    this information are older than measured costs."""
    return any(choice.get("times", "assumed") == "assumed" for choice in choices)


def reigns(times):
    """(bytes, label) at every size: the fastest. If the interval of the previous size's winner overlaps
    that of the fastest, it stays the winner, so that noise makes no crossovers. `auto` is left out."""
    return _reigns({label: line for label, line in times.items() if label != "auto"})


def _reigns(racers):
    result = []
    for size in sorted({size for line in racers.values() for size in line}):
        here = {label: line[size] for label, line in racers.items() if size in line}
        best = min(here, key=lambda label: here[label][0])
        before = result[-1][1] if result else best
        goes_on = before in here and here[before][1] <= here[best][2]
        result.append((size, before if goes_on else best))
    return result


def meeting(times, before, after, a, b):
    """The size between a and b at which two curves meet, if both are straight between these."""
    ends = [(times[before].get(size), times[after].get(size)) for size in (a, b)]
    where = 0.5
    if all(one and other for one, other in ends):
        ahead, behind = (math.log(one[0] / other[0]) for one, other in ends)
        if ahead < 0 < behind:
            where = -ahead / (behind - ahead)
    return a * (b / a) ** where


def crossovers(times):
    """(bytes, previous winner, next winner)."""
    reign = reigns(times)
    return [(meeting(times, before, after, a, b), before, after)
            for (a, before), (b, after) in zip(reign, reign[1:]) if before != after]


def stretches(times):
    """(from, to, label) of each winner. The first and the last range extend by half a step."""
    reign = reigns(times)
    if not reign:
        return []
    sizes = [size for size, _ in reign]
    marks = crossovers(times)
    step = sizes[1] / sizes[0] if len(sizes) > 1 else 4
    ends = [sizes[0] / step ** 0.5, *(size for size, _, _ in marks), sizes[-1] * step ** 0.5]
    names = [reign[0][1], *(after for _, _, after in marks)]
    return list(zip(ends, ends[1:], names))


def worth_comparing(measured, predicted):
    """The labels that win most sizes, measured or predicted; then those that are almost as fast."""
    wins = [label for times in (measured, predicted) for _, label in reigns(times)]
    return [label for label in leaders(measured, wins) if label in predicted][:MOST_COMPARED]


def leaders(times, wins):
    """The labels, those with most wins first; then those that lose least against the best of each size."""
    least = {size: min(line[size][0] for line in times.values() if size in line)
             for line in times.values() for size in line}

    def rank(label):
        line = times[label]
        loss = sum(math.log(time[0] / least[size]) for size, time in line.items()) / len(line)
        return -wins.count(label), loss
    return sorted(times, key=rank)


def drawn_lines(lines):
    """The lines that a picture shows: `native`, `auto`, and the best of the others."""
    measured = measured_times(lines)
    wins = [label for _, label, _ in winners(lines)]
    shown = {"native", "auto", *leaders(measured, wins)[:MOST_DRAWN]}
    return {label: cells for label, cells in lines.items() if label in shown}
