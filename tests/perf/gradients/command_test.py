#!/usr/bin/env python3
"""Runs `tutti gradients` as a user does: command_test.py CASE TUTTI USER PLOT"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

MODEL = {"compute_us": 8000, "parameters": [
    {"name": "weight", "count": 10000, "rows": 100, "ready_us": 8000},
    {"name": "bias", "count": 50000, "type": "f32", "ready_us": 6000},
    {"name": "head", "count": 3, "ready_us": 4000}]}


def expect(condition, *facts):
    """Fails with the facts."""
    if not condition:
        raise SystemExit("FAILED: " + "\n".join(map(str, facts)))


def line(ranks, *arguments):
    """The command line."""
    start = [TUTTI, "run", "-n", str(ranks)] if ranks > 1 else []
    return [*start, TUTTI, "gradients", *arguments]


def run(ranks, *arguments):
    """Exit status, standard output, and what was complained of."""
    done = subprocess.run(line(ranks, *arguments), capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=300, cwd=FOLDER)
    said = [text for text in done.stderr.splitlines() if "rounds done" not in text]
    return done.returncode, done.stdout, said


def write_model(name, model=None, text=None):
    """A file of a model."""
    path = os.path.join(FOLDER, name)
    pathlib.Path(path).write_text(json.dumps(model) if text is None else text, encoding="utf-8")
    return path


def records_of(path):
    """All records; every line must be one."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(text) for text in file]


def expect_refusals(cases, wanted=2):
    """Each case is one line on the part of one rank, and a status."""
    for ranks, text, arguments in cases:
        status, output, said = run(ranks, *arguments)
        expect(status == wanted, arguments, status, said)
        expect(len(said) == 1 and text in said[0] and "(rank" not in said[0], arguments, said)
        expect("exposed" not in output, "a table was begun", arguments)


def test_usage():
    """Wrong flags give one line from one rank."""
    small = ["--model", write_model("small.json", MODEL)]
    expect_refusals([
        (1, "choose a model", []),
        (2, "did you mean resnet50?", ["--model", "resnet5", "--compute", "1ms"]),
        (2, "give the time of a step", ["--model", "vgg16"]),
        (2, "did you mean --model?", ["--modle", "vgg16"]),
        (2, "is not a size", [*small, "--bucket-bytes", "5X"]),
        (2, "did you mean views?", [*small, "--storage", "view"]),
        (2, "does not exist", [*small, "--storage", "views", "--order", "observed"]),
        (2, "has no parameter", [*small, "--algorithms", "ring:k=3"]),
        (2, "compression 'int3'", [*small, "--compression", "int3"]),
        (2, "not an .svg or .png", [*small, "--plot", "x.pdf"]),
        (2, "not an .html file", [*small, "--html", "x.pdf"])])
    expect_refusals([(2, "cannot write '/nowhere/at/all", [*small, flag, "/nowhere/at/all" + name])
                     for flag, name in (("--json", ".jsonl"), ("--settings", ".txt"),
                                        ("--plot", ".svg"), ("--html", ".html"))], wanted=4)


def test_files():
    """A wrong file of a model gives one line from one rank, which names it."""
    huge = {"compute_us": 9, "parameters": [{"name": "x", "count": 10**12, "ready_us": 1}]}
    mixed = {**MODEL, "parameters": [*MODEL["parameters"],
                                     {"name": "d", "count": 3, "type": "f64", "ready_us": 1}]}
    expect_refusals([
        (2, "missing.json: no such file", ["--model", "missing.json"]),
        (1, "missing.json: no such file", ["--model", "missing.json"]),
        (2, "it is not JSON", ["--model", write_model("bad.json", text="{")]),
        (2, "it is not a model", ["--model", write_model("other.json", {"a": 1})]),
        (2, "GiB free", ["--model", write_model("huge.json", huge)]),
        (2, "flat storage", ["--model", write_model("mixed.json", mixed), "--storage", "flat"])])


def test_run():
    """A small run has all records, and its settings are loaded."""
    model = write_model("small.json", {"traceEvents": [], "tutti": MODEL})
    status, output, said = run(
        2, "--model", model, "--compute", "5ms", "--steps", "3", "--warmup", "1",
        "--bucket-bytes", "0,64K,flat", "--storage", "copies,views,flat",
        "--compression", "none,bf16", "--json", "out.jsonl", "--settings", "best.json")
    expect(status == 0 and not said, status, said, output)
    expect("18 settings in 4 rounds take about" in output, output)
    context, *settings, summary = records_of(os.path.join(FOLDER, "out.jsonl"))
    expect(context["schema"] == "tutti gradients/1" and context["ranks"] == 2, context)
    expect(context["elements"] == 60003 and context["compute_us"] == 5000, context)
    expect(context["processor"] and context["hosts"] and context["compiler"], context)
    expect("--compute=5ms" in context["arguments"], context)
    expect(len(settings) == 18 and len({row["label"] for row in settings}) == 18, settings)
    expect(summary["steps"] == 3 and not summary["interrupted"], summary)
    expect(summary["best"] == settings[0]["label"] and settings[0]["standing"] == "best", summary)
    expect(summary["computing_us"] > 0 and summary["best"] in summary["sentence"], summary)
    before = 0
    for row in settings:
        expect(before <= row["overlapped_us"], "they are sorted", row)
        before = row["overlapped_us"]
        expect(row["overlapped_q1_us"] <= row["overlapped_us"] <= row["overlapped_q3_us"], row)
        expect(row["exposed_q1_us"] <= row["exposed_us"] <= row["exposed_q3_us"], row)
        expect(abs(row["over_ideal_us"] - (row["exposed_us"] + summary["computing_us"] -
                                           row["ideal_us"])) < 0.5, row)
        expect(row["far_from_ideal"] in (True, False), row)
        expect(row["ideal_us"] >= summary["computing_us"] and row["serial_us"] > 0, row)
        expect(row["plain_bytes"] == 240012, "2 (n - 1) / n of the gradients", row)
        half = 2 if row["compression"] == "bf16" else 1
        expect(abs(row["sent_bytes"] * half - row["plain_bytes"]) < 1000, row)
        expect(row["buckets"] == {0: 3, 65536: 3, "flat": 1}[row["bucket_bytes"]], row)
    expect(summary["best"] in output and "wrote best.json" in output, output)
    read = subprocess.run([USER, "--load", os.path.join(FOLDER, "best.json")], capture_output=True,
                          text=True, check=True).stdout.split()
    best = settings[0]
    expect(read == [str(best["bucket_bytes"]),
                    str(["copies", "views", "flat"].index(best["storage"])), "2"], read, best)
    expect_alone(model)
    expect_prediction(model)
    expect_trace()
    expect_plot()


def expect_alone(model):
    """One rank, orders, and time that is slept."""
    status, output, said = run(1, "--model", model, "--steps", "2", "--bucket-bytes", "64K",
                               "--computing", "sleep", "--order", "observed,negotiated,reversed",
                               "--in-flight", "1,2")
    expect(status == 0 and not said and "a single rank" in output, status, said, output)
    expect("left out: storage views with order observed" in output, output)


def expect_prediction(model):
    """A predicted size is printed, measured once, and marked; compression leaves it out."""
    status, output, said = run(2, "--model", model, "--steps", "1", "--computing", "sleep",
                               "--bucket-bytes", "0,64K,128K,flat,predicted", "--storage", "views",
                               "--compression", "none,bf16", "--json", "predicted.jsonl")
    expect(status == 0 and not said, status, said, output)
    expect("# predicted for views: bucket_bytes" in output, output)
    expect("left out: bucket_bytes predicted with compression" in output, output)
    rows = records_of(os.path.join(FOLDER, "predicted.jsonl"))[1:-1]
    expect(len(rows) in (8, 9), "none is measured twice", rows)  # 256K is none of the list
    marked = [row for row in rows if row["predicted"]]
    expect(len(marked) == 1 and "(predicted)" in marked[0]["label"], rows)


def expect_trace():
    """GradientSync::write_trace writes a model."""
    trace = os.path.join(FOLDER, "trace.json")
    subprocess.run([TUTTI, "run", "-n", "2", USER, "--trace", trace], check=True, timeout=300)
    status, output, said = run(2, "--model", trace, "--compute", "2ms", "--steps", "1",
                               "--bucket-bytes", "0", "--storage", "views", "--json", "trace.jsonl")
    expect(status == 0 and not said, status, said, output)
    context, setting, _ = records_of(os.path.join(FOLDER, "trace.jsonl"))
    expect(context["tensors"] == 2 and context["bytes"] == 4 * 3000 + 8 * 5, context)
    expect(setting["buckets"] == 2, setting)


def expect_plot():
    """The records are drawn, where matplotlib is."""
    picture = os.path.join(FOLDER, "out.svg")
    done = subprocess.run([sys.executable, PLOT, os.path.join(FOLDER, "out.jsonl"), picture],
                          capture_output=True, text=True, check=False)
    if "needs matplotlib" in done.stderr:
        return
    expect(done.returncode == 0 and "<svg" in pathlib.Path(picture).read_text(encoding="utf-8"),
           done)


def interrupted_after(seconds):
    """Interrupts a job that long after it has begun to measure. Returns its summary."""
    model = write_model("small.json", MODEL)
    job = subprocess.Popen(line(2, "--model", model, "--steps", "100000", "--bucket-bytes", "64K",
                                "--json", "out.jsonl"), stdout=subprocess.PIPE, text=True,
                           stderr=subprocess.PIPE, cwd=FOLDER, start_new_session=True,
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    for text in job.stdout:
        if "take about" in text:
            break
    time.sleep(seconds)
    os.killpg(job.pid, signal.SIGINT)
    output, errors = job.communicate(timeout=300)
    expect("interrupted:" in output, output, errors)
    expect(job.returncode in (128 + signal.SIGINT, -signal.SIGINT), job.returncode, errors)
    summary = records_of(os.path.join(FOLDER, "out.jsonl"))[-1]
    expect(summary["record"] == "summary" and summary["interrupted"], summary)
    return summary


def test_ends():
    """An interrupt ends all ranks after a step, with what was measured."""
    for seconds in (1, 4, 12):  # where other tests have the processors, the first step may take long
        summary = interrupted_after(seconds)
        if summary["steps"] > 0:
            break
    expect(0 < summary["steps"] < 100000, summary)


if __name__ == "__main__":
    CASE, TUTTI, USER, PLOT = sys.argv[1:]
    with tempfile.TemporaryDirectory() as FOLDER:
        {"usage": test_usage, "files": test_files, "run": test_run, "ends": test_ends}[CASE]()
