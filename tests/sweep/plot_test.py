#!/usr/bin/env python3
"""Draws pictures of made-up sweeps: plot_test.py PLOT.PY. Without matplotlib it fails."""

import json
import os
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


def run(python, script, arguments, text=None):
    """Exit status and standard error."""
    done = subprocess.run([python, script, *arguments], input=text, text=True, check=False,
                          stderr=subprocess.PIPE, timeout=100)
    return done.returncode, done.stderr


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

        alone = [{"record": "cell", "label": cell["algorithm"], "standing": "best", **cell,
                  "ranks": 1, "busbw_gb_s": 0} for cell in cells(["all_reduce"])]
        status, errors = run(python, script, ["-", png], "\n".join(map(json.dumps, alone)))
        assert (status, errors) == (0, ""), errors

        assert run(python, script, [])[0] == 2
        status, errors = run(python, script, ["-", png], json.dumps(records[0]))
        assert status == 2 and "no sizes" in errors, errors
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
