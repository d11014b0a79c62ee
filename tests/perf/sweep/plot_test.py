#!/usr/bin/env python3
"""Draws pictures of made-up sweeps: plot_test.py PLOT.PY. Without matplotlib it fails. With --parts
before the script, asks the script's functions."""

import html
import importlib.util
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

COLUMNS = ("collective,algorithm,parameters,transport,ranks,hosts,bytes,count,dtype,op,in_place,"
           "buffers,segment_bytes,iterations,min_us,p10_us,median_us,ci_low_us,ci_high_us,p90_us,"
           "p99_us,max_us,algbw_gb_s,busbw_gb_s,wrong").split(",")


def find_python():
    """The interpreter that `tutti sweep --plot` would find."""
    for python in ("python3", "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import matplotlib"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0:
            return python
    raise SystemExit("no python3 with matplotlib: apt-get install python3-matplotlib")


def cells(collectives):
    """A sweep in which direct wins small sizes and ring wins large ones."""
    for collective in collectives:
        for name, latency, per_byte in (("ring", 9, 1e-4), ("direct", 3, 3e-4),
                                        ("native", 6, 4e-4)):
            for bytes_ in (8, 512, 32768, 2097152):
                time = latency + per_byte * bytes_
                cell = dict.fromkeys(COLUMNS, 0)
                cell.update(collective=collective, algorithm=name, label=name, runs=name, parameters="",
                            transport="mpi", buffers="private", ranks=4, hosts=1, bytes=bytes_, dtype="f32", op="sum", median_us=time,
                            ci_low_us=time * 0.97, ci_high_us=time * 1.03,
                            busbw_gb_s=bytes_ / time / 1e3)
                yield cell


def run(python, script, arguments, text=None, **how):
    """Exit status and standard error."""
    done = subprocess.run([python, script, *arguments], input=text, text=True, check=False,
                          stderr=subprocess.PIPE, timeout=300, **how)
    return done.returncode, done.stderr


def load(script):
    """The script as a module, and those that it needs."""
    sys.path.insert(0, os.path.dirname(script))
    spec = importlib.util.spec_from_file_location("plot", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_texts(plot):
    """Numbers on axes."""
    sizes = {0.5: "0.5", 1023: "1023", 1024: "1K", 65536: "64K", 3 << 20: "3M", 1 << 40: "1T"}
    times = {0.5: "500 ns", 1: "1 us", 999: "999 us", 1e3: "1 ms", 2e4: "20 ms", 3e6: "3 s"}
    rates = {2: "2 GB/s", 1: "1 GB/s", 0.03: "30 MB/s", 4e-6: "4 kB/s", 5e-9: "5 B/s"}
    for text, cases in ((plot.bytes_text, sizes), (plot.time_text, times), (plot.rate_text, rates)):
        assert {value: text(value) for value in cases} == cases, cases
    told = ("collective,algorithm,parameters,buffers,in_place,bytes,median_us,wrong,align\n"
            "scan,auto,,cuda,true,8,1.5,,page\nscan,auto,k=2,cuda,false,8,1,0,16\n")
    cells = plot.cells_in_csv(told, "a")
    assert [cell["label"] for cell in cells] == ["auto@page", "auto:k=2@16"], cells
    assert [cells[0][name] for name in ("in_place", "bytes", "median_us", "wrong")] == [True, 8, 1.5, None], cells
    assert plot.cells_in_csv(told.replace("16", "page"), "a")[0]["label"] == "auto"
    assert plot.bandwidth({"busbw_gb_s": 6, "median_us": 2}, 4) == 3


def check_winners(plot):
    """The winners, and the ties."""
    def cell(median, low, high, **more):
        return [{"bytes": 8, "median_us": median, "ci_low_us": low, "ci_high_us": high, **more}]
    lines = {"ring": cell(10, 9, 11), "auto": cell(1, 1, 1)}
    assert plot.winners(lines) == [(8, "ring", False)], "auto is one of the others"
    assert plot.winners({"auto": cell(1, 1, 1)}) == [(8, "auto", False)]
    assert plot.winners(lines | {"x": cell(12, 11, 13)}) == [(8, "ring", True)]
    assert plot.winners(lines | {"x": cell(13, 12, 14)}) == [(8, "ring", False)]
    told = {"ring": cell(10, 9, 11, standing="best"), "x": cell(10, 9, 11, standing="slower")}
    assert plot.winners(told) == [(8, "ring", False)], "what the sweep says counts"
    told["y"] = cell(20, 19, 21, standing="tie")
    assert plot.winners(told) == [(8, "ring", True)]
    lines = {"ring": cell(10, 9, 11), "x": cell(12, 11.5, 13)}
    for label, later in (("ring", cell(12, 11, 13)), ("x", cell(11, 10, 12))):
        lines[label].append({**later[0], "bytes": 64})
    assert plot.winners(lines) == [(8, "ring", False), (64, "ring", True)], "no change within the noise"
    ours = sys.modules["curves"].reigns(sys.modules["curves"].measured_times(lines))
    assert ours == [(8, "ring"), (64, "ring")], "the two strips agree"
    lines["x"][1]["standing"] = lines["ring"][1]["standing"] = "best"
    lines["x"][1]["ci_high_us"] = 10.5
    assert plot.winners(lines)[1] == (64, "x", False), plot.winners(lines)


def check_refusals(python, script, source, folder):
    """A picture that cannot be written gives one line, and no half picture stays."""
    limited = os.path.join(folder, "limited.svg")
    for target, words, how in (
            (limited, "File too large", {"preexec_fn": limit_files}),
            (os.path.join(folder, "no", "run.svg"), "No such file", {})):
        status, errors = run(python, script, [source, target], **how)
        assert status == 4 and errors.count("\n") == 1, (target, status, errors)
        assert f"cannot write '{target}': {words}" in errors, errors
    assert not os.path.exists(limited)


def limit_files():
    """No file may grow beyond 4 KiB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def check_ratios(plot):
    """The baselines of times."""
    def line(*times):
        return [{"bytes": 8 ** i, "median_us": time} for i, time in enumerate(times)]
    lines = {"ring": line(4, 1), "tree": line(2, 3), "auto": line(1, 1)}
    assert plot.yardsticks(lines) == ("best", {1: 2, 8: 1}), plot.yardsticks(lines)
    assert plot.yardsticks(lines | {"native": line(5, 6)}) == ("native", {1: 5, 8: 6})
    assert plot.yardsticks({"auto": line(7)}) == ("best", {1: 7})


def line_of(times):
    """{bytes: (median, low, high)} with intervals of a tenth."""
    return {8 ** i: (time, time * 0.9, time * 1.1) for i, time in enumerate(times)}


def check_crossovers(plot):
    """The sizes at which another algorithm becomes the fastest."""
    curves = sys.modules["curves"]
    times = {"tree": line_of([1, 1, 4, 16]), "ring": line_of([4, 4, 1, 1]), "auto": line_of([0.1] * 4)}
    assert curves.reigns(times) == [(1, "tree"), (8, "tree"), (64, "ring"), (512, "ring")]
    (size, before, after), = curves.crossovers(times)
    assert (before, after) == ("tree", "ring") and abs(size - 8 * 8 ** 0.5) < 1e-9, size
    # From 1 : 2 to 8 : 1, the curves meet after a quarter of the way.
    times = {"tree": line_of([1, 8]), "ring": line_of([2, 1])}
    assert abs(curves.crossovers(times)[0][0] - 8 ** 0.25) < 1e-9
    # A difference within the intervals is no crossover.
    times = {"tree": line_of([1, 1.05, 1]), "ring": line_of([2, 1, 1.05])}
    assert curves.crossovers(times) == []
    # One that is missing where another begins to win: in the middle.
    times = {"tree": line_of([1]), "ring": {8: (1, 1, 1)}}
    assert curves.crossovers(times) == [(8 ** 0.5, "tree", "ring")]
    assert plot.winners is curves.winners, "the page says the same"


def check_predictions(plot):
    """The model's predictions, and the curves beside them."""
    curves = sys.modules["curves"]
    def candidate(name, time):
        return {"label": name, "predicted_us": time}
    choices = [{"bytes": size, "label": "ring", "candidates": [
        candidate("ring", size), candidate("tree", 2.5), candidate("bine", None)]}
        for size in (0, 1, 8)]
    predicted = curves.predicted_times(choices)
    assert set(predicted) == {"ring", "tree", "auto"}, predicted
    assert predicted["auto"] == predicted["ring"] == {1: (1, 1, 1), 8: (8, 8, 8)}
    measured = {"tree": line_of([3, 2]), "ring": line_of([2, 9]), "swing": line_of([1, 1])}
    assert curves.worth_comparing(measured, predicted) == ["tree", "ring"], "swing has no prediction"
    predicted |= {name: line_of([9, 9]) for name in ("a", "b", "c", "d", "e")}
    measured |= {name: line_of([time, time]) for name, time in
                 (("a", 5), ("b", 4), ("c", 7), ("d", 6), ("e", 8))}
    assert curves.worth_comparing(measured, predicted) == ["tree", "ring", "b", "a"]
    lines = {"native": [{"bytes": 8, "median_us": 1, "ci_low_us": 0, "ci_high_us": 2}]}
    assert curves.measured_times(lines | {"auto": lines["native"]}) == {}
    predicting = sys.modules["plot_predicted"]
    times = {"tree": line_of([1, 8]), "ring": line_of([2, 1])}
    (left, middle, first), (same, right, last) = curves.stretches(times)
    assert (first, last, middle) == ("tree", "ring", same), (first, last)
    assert abs(left - 8 ** -0.5) < 1e-9 and abs(right - 8 ** 1.5) < 1e-9, (left, right)
    assert curves.stretches({}) == []
    assert predicting.in_two_lines("recursive_doubling") == "recursive_\ndoubling"
    assert predicting.in_two_lines("double_tree") == "double_tree"
    assert list(plot.by_collective([{"collective": "c", "bytes": 8}, {"collective": "barrier", "bytes": 0}])) == ["c"]


class Strip:
    """An axis that notes what is drawn on it."""

    def __init__(self):
        self.spans = []
        self.spines = dict.fromkeys(("top", "right", "left"), self)
        self.xaxis = self

    def axvspan(self, left, right, **_how):
        """A winner's stretch."""
        self.spans.append((left, right))

    def __getattr__(self, _name):
        return lambda *_arguments, **_named: None


def check_drawing(plot):
    """Places and colours."""
    strip = Strip()
    one = {"ci_low_us": 1, "ci_high_us": 1, "median_us": 1}
    plot.draw_strip(strip, {"ring": [{"bytes": 4 ** i, **one} for i in (2, 3, 5)]},
                    {"ring": {"color": "#000000"}})
    assert strip.spans == [(8, 32), (32, 256), (256, 2048)], strip.spans

    labels = [f"a{i}" for i in range(len(plot.COLORS) + 1)]
    styles = plot.styles_of({"all_reduce": labels + ["native"], "reduce": ["b", "a1"]})
    first, last = styles["all_reduce"]["a0"], styles["all_reduce"][labels[-1]]
    assert first["color"] == last["color"] and first["linestyle"] != last["linestyle"]
    assert (first["marker"], last["marker"]) == (plot.MARKERS[0], plot.MARKERS[5])
    assert len({style["color"] for style in styles["all_reduce"].values()}) == len(labels) + 1
    assert styles["reduce"]["a1"] == styles["all_reduce"]["a1"]
    assert styles["reduce"]["b"]["color"] == plot.COLORS[0], "the first that is free here"

    for number, inches in ((1, (7.2, 9)), (2, (11.2, 9)), (4, (11.2, 17.4)), (5, (16.8, 17.4))):
        rows = [dict(cell, busbw_gb_s=0, bytes=bytes_) for cell in
                cells([f"c{i}" for i in range(number)]) for bytes_ in (0, cell["bytes"])]
        figure = plot.draw(plot.group(rows), plot.subtitle_of(rows, {"mpi": "M"}))
        assert [round(inch, 6) for inch in figure.get_size_inches()] == list(inches), number
    long = "   ".join(["4 ranks on 1 host", "f32 sum", "transport shm", "arrays: malloc", "calls back to back",
                       "Open MPI v4.1.4", "AMD EPYC", "OVERSUBSCRIBED"])
    figure = plot.draw(plot.group(cells(["c"])), long)
    figure.canvas.draw()
    for text in figure.texts:
        assert text.get_window_extent().x1 <= figure.bbox.x1, f"{text.get_text()} leaves the picture"
    assert "OVERSUBSCRIBED" in figure.texts[-1].get_text()
    assert plot.subtitle_of([rows[0] | {"ranks": 4.0, "hosts": "2"}], {"oversubscribed": True}) == (
        "4 ranks on 2 hosts   f32 sum   transport mpi   OVERSUBSCRIBED"), "an older file"
    said = plot.subtitle_of([rows[0] | {"ranks": 4.0, "align": "malloc", "pattern": "isolated"}], {})
    assert said.endswith("transport mpi   arrays: malloc   isolated calls"), said


def words_in(path):
    """The texts of a picture."""
    with open(path, encoding="utf-8") as file:
        return [html.unescape(text) for text in re.findall(r"<text[^>]*>(.*?)</text>", file.read(), re.DOTALL)]


def check_predicted_picture(python, script, records, folder):
    """A panel of choices shows the prediction, and the winner from each size on."""
    choices = [{"record": "choice", "collective": "reduce", "bytes": size, "chosen": "ring",
                "basis": "least predicted time",
                "candidates": [{"algorithm": "ring", "predicted_us": 5 + size * 1e-5},
                               {"algorithm": "direct", "predicted_us": 4 + size * 1e-4},
                               {"algorithm": "bine", "predicted_us": 3 + size * 1e-4}]}
               for size in (8, 512, 32768, 2097152)]
    svg = os.path.join(folder, "predicted.svg")
    status, errors = run(python, script, ["-", svg],
                         "\n".join(map(json.dumps, records[:1] + choices + records[1:])))
    assert (status, errors) == (0, ""), errors
    words = words_in(svg)
    for word in ("measured and predicted", "fastest of ours", "predicted", "crossover, predicted"):
        assert words.count(word) >= 1, (word, words)
    assert words.count("fastest of ours") == 1, "one collective has predictions"
    assert "bine" in words, "the winner that was predicted, and not measured"
    svg = os.path.join(folder, "measured.svg")
    status, errors = run(python, script, ["-", svg], "\n".join(map(json.dumps, records)))
    assert status == 0 and "fastest of ours" not in words_in(svg), errors


def main(script):
    """Exits with 1 and a reason where a picture is not as it should be."""
    python = find_python()
    with tempfile.TemporaryDirectory() as folder:
        csv_path = os.path.join(folder, "run.csv")
        with open(csv_path, "w", encoding="utf-8") as file:
            file.write(",".join(COLUMNS) + "\n")
            for cell in cells(["all_reduce"]):
                file.write(",".join(str(cell[name]) for name in COLUMNS) + "\n")
        svg = os.path.join(folder, "run.svg")
        status, errors = run(python, script, [csv_path, svg])
        assert (status, errors) == (0, ""), errors
        with open(svg, encoding="utf-8") as file:
            content = file.read()
        assert "<svg" in content and content.rstrip().endswith("</svg>")
        assert content.lower().count("#0072b2") > 2, "the first line's colour is not in the picture"

        records = [{"record": "context", "schema": "tutti sweep/1", "ranks": 4, "hosts": [{}], "mpi": "an MPI",
                    "oversubscribed": True}]
        records += [{"record": "cell", "standing": "slower", **cell}
                    for cell in cells(["all_reduce", "reduce", "broadcast", "scatter"])]
        records += [{"record": "cell", "standing": "best", **next(cells(["barrier"])), "bytes": 0},
                    {"record": "summary"}]
        check_predicted_picture(python, script, records, folder)
        png = os.path.join(folder, "run.png")
        status, errors = run(python, script, ["-", png], "\n".join(map(json.dumps, records)))
        assert (status, errors) == (0, ""), errors
        with open(png, "rb") as file:
            assert file.read(8) == b"\x89PNG\r\n\x1a\n"

        check_refusals(python, script, csv_path, folder)
        status, errors = run(python, __file__, ["--parts", script])
        assert (status, errors) == (0, ""), errors
        assert run(python, script, [])[0] == 2
        status, errors = run(python, script, ["-", png], json.dumps(records[0]))
        assert (status, errors) == (2, "plot.py: '-' has nothing to show\n"), errors
        status, errors = run(python, script, ["-", png], "{")
        assert (status, errors.count("\n"), "'-' line 1" in errors) == (2, 1, True), errors
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--parts":
        for check in (check_texts, check_winners, check_ratios, check_crossovers, check_predictions,
                      check_drawing):
            check(load(sys.argv[2]))
    else:
        sys.exit(main(sys.argv[1]))
