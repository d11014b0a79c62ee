#!/usr/bin/env python3
"""Draws pictures of made-up sweeps: plot_test.py PLOT.PY. Without matplotlib it fails. With --parts
before the script, asks the script's functions."""

import importlib.util
import json
import os
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
                cell.update(collective=collective, algorithm=name, parameters="", transport="mpi",
                            ranks=4, hosts=1, bytes=bytes_, dtype="f32", op="sum", median_us=time,
                            ci_low_us=time * 0.97, ci_high_us=time * 1.03,
                            busbw_gb_s=bytes_ / time / 1e3)
                yield cell


def run(python, script, arguments, text=None, **how):
    """Exit status and standard error."""
    done = subprocess.run([python, script, *arguments], input=text, text=True, check=False,
                          stderr=subprocess.PIPE, timeout=100, **how)
    return done.returncode, done.stderr


def load(script):
    """The script as a module."""
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
    cell, context = {"record": "cell", "label": "x"}, {"record": "context", "mpi": "an MPI"}
    for records in ([context, cell], [cell, context]):
        assert plot.read_rows("\n".join(map(json.dumps, records))) == ([cell], context)
    assert plot.read_rows(json.dumps(cell)) == ([cell], {})
    assert plot.bandwidth({"busbw_gb_s": 6, "median_us": 2}, 4) == 3


def check_winners(plot):
    """Who is said to have won, and where a tie is."""
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


def check_refusals(python, script, source, folder):
    """What cannot be written is told in one line, and no half picture stays."""
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
    """What times are compared with."""
    def line(*times):
        return [{"bytes": 8 ** i, "median_us": time} for i, time in enumerate(times)]
    lines = {"ring": line(4, 1), "tree": line(2, 3), "auto": line(1, 1)}
    assert plot.yardsticks(lines) == ("best", {1: 2, 8: 1}), plot.yardsticks(lines)
    assert plot.yardsticks(lines | {"native": line(5, 6)}) == ("native", {1: 5, 8: 6})
    assert plot.yardsticks({"auto": line(7)}) == ("best", {1: 7})


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
    """Where things stand, and in which colour."""
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

    for number, inches in ((1, (7.2, 11)), (2, (11.2, 11)), (4, (11.2, 21.4)), (5, (16.8, 21.4))):
        rows = [dict(cell, busbw_gb_s=0, bytes=bytes_) for cell in
                cells([f"c{i}" for i in range(number)]) for bytes_ in (0, cell["bytes"])]
        figure = plot.draw(plot.group(rows), plot.subtitle_of(rows, {"mpi": "M"}))
        assert [round(inch, 6) for inch in figure.get_size_inches()] == list(inches), number
    assert plot.subtitle_of([rows[0] | {"ranks": 4.0, "hosts": "2"}], {"oversubscribed": True}) == (
        "4 ranks on 2 hosts   f32 sum   transport mpi   OVERSUBSCRIBED")


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

        records = [{"record": "context", "mpi": "an MPI", "oversubscribed": True}]
        records += [{"record": "cell", "label": cell["algorithm"], "standing": "slower", **cell}
                    for cell in cells(["all_reduce", "reduce", "broadcast", "scatter"])]
        records += [{"record": "cell", "label": "x", "standing": "best",
                     **next(cells(["barrier"])), "bytes": 0}, {"record": "summary"}]
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
        assert status == 2 and "no sizes" in errors, errors
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--parts":
        for check in (check_texts, check_winners, check_ratios, check_drawing):
            check(load(sys.argv[2]))
    else:
        sys.exit(main(sys.argv[1]))
