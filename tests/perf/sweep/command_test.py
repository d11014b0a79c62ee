#!/usr/bin/env python3
"""Runs `tutti sweep` under a launcher: command_test.py CASE LAUNCHER TUTTI ABSENT LIAR

CASE is usage, records, checks, ours, transports, ends, alone or ranks.
"""

import csv
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from launched import Command, expect, records_of


def test_usage(command):
    """One line from one rank, and the right exit status."""
    cases = [
        (2, 2, "did you mean all_reduce?", ["--collective", "al_reduce"]),
        (2, 2, "did you mean --budget?", ["--buget", "1s"]),
        (2, 2, "-n 3", ["--ranks", "3"]),
        (2, 4, "cannot write", ["--json", "/nowhere/at/all.jsonl"]),
        (1, 2, "no such file", ["--replay", "/nowhere/at/all.jsonl"]),
        (2, 2, "leave --budget out", ["--replay", "/nowhere/at/all.jsonl", "--budget", "1s"]),
        (2, 2, "the barrier has none", ["-C", "barrier", "--plot", "run.svg"]),
        (2, 2, "the probe is an all_reduce of f32", ["-C", "broadcast", "-a", "probe"]),
        (2, 2, "the probe is an all_reduce of f32", ["-C", "all_reduce", "-a", "probe", "-d", "f64"]),
        (3, 2, "even numbers of ranks", ["--collective", "all_gather", "--algorithm",
                                         "neighbor_exchange"]),
    ]
    for ranks, wanted, text, arguments in cases:
        status, output, said = command.run(ranks, *arguments)
        expect(status == wanted, arguments, status, said)
        expect(len(said) == 1 and text in said[0], arguments, said)
        expect("bytes" not in output, "a table was begun", arguments)

    with tempfile.TemporaryDirectory() as folder:  # a matplotlib that hides any other
        with open(os.path.join(folder, "matplotlib.py"), "w", encoding="utf-8") as file:
            file.write("raise ModuleNotFoundError(name='matplotlib')\n")
        picture = os.path.join(folder, "run.svg")
        status, output, said = command.run(2, "-C", "all_reduce", "--plot", picture,
                                           PYTHONPATH=folder)
        expect(status == 4 and len(said) == 1 and "python3-matplotlib" in said[0], status, said)
        expect("bytes" not in output and not os.path.exists(picture), output)


def alone(command, *arguments):
    """Without a launcher: exit status, standard output and standard error."""
    done = subprocess.run([command.tutti, "sweep", *arguments], check=False, text=True, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def test_records(command):
    """CSV, JSON lines, replay, baseline and plot belong together."""
    with tempfile.TemporaryDirectory(prefix="tutti sweep ") as folder:
        path = {name: os.path.join(folder, "run." + name) for name in ("csv", "jsonl", "svg")}
        status, output, said = command.run(
            2, "--collective", "all_reduce,barrier", "-e", "512", "-n", "4", "--seed", "5",
            "--csv", path["csv"], "--json", path["jsonl"], "--plot", path["svg"],
            OMP_NUM_THREADS="3", A_TOKEN="hunter2", MY_TUTTI_TOKEN="hunter2")
        expect(status == 0 and not said, status, said, output)
        expect("\x1b" not in output and not re.search(r"\r(?!\n)", output), "not plain text")
        records = records_of(path["jsonl"])
        cells = [r for r in records if r["record"] == "cell"]
        expect(records[0]["record"] == "context" and records[-1]["record"] == "summary", records[0])
        environment = records[0]["environment"]
        expect(environment["OMP_NUM_THREADS"] == "3", environment)
        expect("hunter2" not in pathlib.Path(path["jsonl"]).read_text(encoding="utf-8"), "a secret")
        expect(not any(name.startswith("OMPI_MCA_orte_") for name in environment), environment)
        expect(records[0]["seed"] == 5 and records[0]["hosts"][0]["ranks"] == [0, 1], records[0])
        expect(records[-1]["cells"] == len(cells) and records[-1]["wrong"] == 0, records[-1])
        expect({"auto", "native", "ring"} <= {c["label"] for c in cells}, cells)
        expect(all(c["samples"] == 4 and c["wrong"] == 0 and c["bit_equal"] for c in cells), cells)
        with open(path["csv"], encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        expect([(r["algorithm"], r["bytes"], float(r["median_us"])) for r in rows] ==
               [(c["algorithm"], str(c["bytes"]), c["median_us"]) for c in cells], rows)
        expect(os.path.getsize(path["svg"]) > 1000, "no picture")
        expect("the plot leaves it out" in output, output)

        again = os.path.join(folder, "again.jsonl")
        status, output, said = command.run(2, "--replay", path["jsonl"], "--json", again,
                                           "--baseline", path["jsonl"], "--fail-over", "100000000%")
        expect(status == 0, status, said, output)
        expect([(c["label"], c["bytes"]) for c in records_of(again) if c["record"] == "cell"] ==
               [(c["label"], c["bytes"]) for c in cells], "the replay measured something else")
        status, output, errors = alone(command, "--replay", path["jsonl"])
        expect(status == 2 and not output and errors.count("\n") == 1 and
               "mpirun -n 2 tutti sweep --replay" in errors, status, output, errors)
        with open(again, "w", encoding="utf-8") as file:
            for record in records:  # a past in which everything took a picosecond
                record.update({name: 1e-6 for name in ("median_us", "ci_high_us") if name in record})
                file.write(json.dumps(record) + "\n")
        status, output, _ = command.run(2, "--replay", path["jsonl"], "--baseline", again)
        expect(status == 3 and "slower than the baseline" in output, status, output)


def test_levels(command):
    """Only algorithms that keep the level take part; auto stays within it."""
    kept = ["-C", "all_reduce", "-b", "64K", "-e", "64K", "-n", "1", "--determinism",
            "size_invariant"]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.jsonl")
        status, output, said = command.run(3, *kept, "--json", path)
        expect(status == 0 and not said, status, said, output)
        records = records_of(path)
        expect(records[0]["determinism"] == "size_invariant", records[0])
        runs = {r["label"]: r["runs"] for r in records if r["record"] == "cell"}
        expect({"recursive_doubling", "direct", "native"} <= set(runs) and "ring" not in runs, runs)
        expect(runs["auto"] in ("recursive_doubling", "rabenseifner"), "another tree", runs)
    status, output, said = command.run(3, *kept, "-a", "direct,ring")
    expect(status == 2 and len(said) == 1 and "algorithm ring cannot serve" in said[0] and
           "size_invariant is asked for" in said[0] and "bytes" not in output, status, said, output)


def test_ours(command):
    """As test_checks, of what no MPI changes: segments, visible memory and levels."""
    status, output, said = command.run(3, "-b", "1000", "-e", "1000", "-n", "2", "--no-touch",
                                       "--segment", "128", "-C", "all_reduce,broadcast")
    expect(status == 0 and not said, status, said, output)
    expect(" 0 wrong elements, 0 differ" in output, output)
    visible = ["--buffers", "visible", "--transport", "shm", "-b", "4000", "-e", "256000", "-f", "8",
               "-n", "2", "--no-touch", "-C", "all_reduce,reduce,reduce_scatter,scan"]
    for ranks, arguments in ((3, ["-o", "average"]), (4, ["--in-place", "-d", "i16"])):
        status, output, said = command.run(ranks, *visible, *arguments)
        expect(status == 0 and not said, arguments, status, said, output)
        expect(" 0 wrong elements, 0 differ" in output, arguments, output)
    test_levels(command)


def test_checks(command, liar):
    """Every collective gives right results, in place and not, and says so; wrong ones fail."""
    few = ["-b", "1000", "-e", "1000", "-n", "2", "--no-touch"]
    for ranks, arguments in (  # three only where two would say less: they share two processors
            (3, ["-d", "f32"]), (2, ["-d", "i16", "-o", "max", "--in-place"]),
            (3, ["-d", "bf16", "-o", "average", "-r", "2", "-C", "all_reduce,reduce"]),
            (2, ["-d", "f64_index", "-o", "min_loc", "-C", "reduce_scatter"])):
        status, output, said = command.run(ranks, *few, *arguments)
        expect(status == 0 and not said, arguments, status, said, output)
        expect(" 0 wrong elements, 0 differ" in output, arguments, output)
    uneven = ["scatterv", "gatherv", "all_gatherv", "reduce_scatterv", "all_to_allv"]
    for ranks, arguments in ((3, []), (2, ["--in-place", "-r", "1", "-d", "i16"])):
        with tempfile.TemporaryDirectory(prefix="tutti sweep ") as folder:
            path = os.path.join(folder, "run.csv")
            status, output, said = command.run(ranks, *few, "-C", ",".join(uneven), "--csv", path,
                                               *arguments)
            expect(status == 0 and not said, arguments, status, said, output)
            expect(" 0 wrong elements, 0 differ" in output, arguments, output)
            with open(path, encoding="utf-8") as file:
                native = {r["collective"] for r in csv.DictReader(file)
                          if r["algorithm"] == "native"}
            # The MPIs have no reduce_scatter into the own block, and we no all_to_all in place.
            lacking = set(uneven[3:]) if arguments else set()
            expect(native == set(uneven) - lacking, arguments, native)
    with tempfile.TemporaryDirectory(prefix="tutti sweep ") as folder:
        path = os.path.join(folder, "run.csv")
        status, output, said = command.run(3, *few, "-C", "send,sendrecv", "--csv", path)
        expect(status == 0 and not said, status, said, output)
        expect("checked 4 configurations: 0 wrong elements" in output, output)
        with open(path, encoding="utf-8") as file:
            rows = [(r["collective"], r["algorithm"], r["op"]) for r in csv.DictReader(file)]
        expect(rows == [(name, who, "") for name in ("send", "sendrecv")
                        for who in ("auto", "native")], rows)
    status, output, said = command.run(1, *few, "-C", "send")
    expect(status == 2 and "two ranks" in said[0], status, said)
    status, output, said = command.run(1, *few, "-C", "all_reduce")
    expect(status == 0 and "single rank" in output, status, output, said)
    status, output, said = command.run(2, *few, "-C", "all_reduce", "-a", "ring,native",
                                       LD_PRELOAD=liar)
    expect(status == 1 and not said, status, said, output)
    expect("checked 2 configurations: 2 wrong elements, 1 differ between ranks" in output, output)
    expect("native gives 2 WRONG" in output and "native DIFFERS BETWEEN RANKS" in output, output)


def test_transports(command):
    """Each carries our algorithms; those of the MPI need its launcher."""
    small = ["-C", "all_reduce", "-a", "ring", "-b", "1000", "-e", "1000", "-n", "2"]
    for transport, name in (("shm", "shm"), ("mpi", "mpi"), ("shm+mpi", "shm")):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.jsonl")
            status, output, said = command.run(2, *small, "--transport", transport, "--json", path)
            expect(status == 0 and not said, transport, status, said, output)
            expect(f"# ours over {transport}," in output, transport, output)
            names = {r["transport"] for r in records_of(path)
                     if r["record"] == "cell" and r["label"] == "ring"}
            expect(names == {name}, "all ranks are on one host", transport, names)
    status, _, said = command.run(2, *small, "--transport", "shm+mpi", "--buffers", "visible")
    expect(status == 0 and not said, status, said)
    status, _, errors = alone(command, "--ranks", "2", *small, "--transport", "shm+mpi")
    expect(status == 2 and "the launcher starts them" in errors, status, errors)


def start(line):
    """A sweep under way in a session of its own, once its first row is there."""
    process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True, stderr=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, start_new_session=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    for line in process.stdout:
        if re.match(r" +\d", line):
            return process
    raise SystemExit("FAILED: no row; " + process.stderr.read())


def ranks_of(command, marker):
    """Process ids of the ranks whose command line has the marker."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if words[0].decode(errors="replace") == command.tutti and marker.encode() in words:
            found.append(int(name))
    return found


LONG = ["-C", "all_reduce", "-a", "ring,auto", "-b", "8", "-f", "2", "-e", "4M", "-n", "500"]


def expect_files_after(line, send):
    """Starts a sweep and ends it early: its files are whole. Exit status and standard error."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.jsonl")
        process = start([*line, *LONG, "--json", path, "--csv", path + ".csv"])
        send(process, path)
        output, errors = process.communicate(timeout=300)
        records = records_of(path)
        expect("interrupted" in output, output)
        expect(records[-1]["record"] == "summary" and records[-1]["interrupted"], records[-1])
        cells = [record for record in records if record["record"] == "cell"]
        with open(path + ".csv", encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        expect(len(rows) == 1 + len(cells) and all(len(row) == len(rows[0]) for row in rows), rows)
        expect(records[-1]["cells"] == len(cells) > 0, records[-1])
        return process.returncode, errors


def crawl(ranks, seconds):
    """Lets time pass for ranks that hardly work meanwhile, yet often enough to be taken for alive."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for sent, pause in ((signal.SIGSTOP, 1.4), (signal.SIGCONT, 0.1)):
            for rank in ranks:
                os.kill(rank, sent)
            time.sleep(pause)


def expect_progress(errors, seconds):
    """One rank said how far it was, in lines of plain text, at most every five seconds."""
    said = [line for line in errors.splitlines() if "configurations done" in line]
    expect(1 <= len(said) <= seconds / 5, seconds, errors)
    expect(all(re.fullmatch(r"tutti sweep: all_reduce \w+, \d+ of 40 configurations done, "
                            r"about [\dhms ]+ left", line) for line in said), said)
    expect("\r" not in errors.replace("\r\n", "\n") and "\x1b" not in errors, repr(errors))


def test_ends(command):
    """A signal, a stopped rank and a foreign launcher end the sweep as documented."""
    # The exit status after a signal is the launcher's own affair, the files are ours.
    def after_a_while(process, path):
        crawl(ranks_of(command, path), 6)
        process.send_signal(signal.SIGTERM)

    def by_ctrl_c(process, _):  # which reaches all who are in the terminal's foreground
        os.killpg(process.pid, signal.SIGINT)

    begin = time.monotonic()
    errors = expect_files_after(command.line(2), after_a_while)[1]
    expect_progress(errors, time.monotonic() - begin)
    expect_files_after(command.line(2), by_ctrl_c)
    status, errors = expect_files_after([command.tutti, "sweep", "--ranks", "2"], by_ctrl_c)
    expect(status == 128 + signal.SIGINT, status, errors)

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.jsonl")
        process = start([*command.line(3), *LONG, "--json", path, "--timeout", "2s"])
        victim = max(ranks_of(command, path))
        os.kill(victim, signal.SIGSTOP)
        begin = time.monotonic()
        try:
            errors = process.communicate(timeout=300)[1]
        finally:
            for rank in ranks_of(command, path):
                os.kill(rank, signal.SIGKILL)
        expect(process.returncode == 5, "exit status", process.returncode, errors)
        expect("timed out" in errors and time.monotonic() - begin < 150, errors)
        for line in map(str.strip, open(path, encoding="utf-8")):
            json.loads(line)

    # A process whose variables name more ranks than its MPI has: the other MPI's launcher began it.
    told = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}
    if "openmpi" in command.launcher:
        told = {"PMI_RANK": "0", "PMI_SIZE": "2"}
    done = subprocess.run([command.tutti, "sweep"], env={**os.environ, **told}, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    expect(done.returncode == 4 and "different MPIs" in done.stderr, done.returncode, done.stderr)


def run_unlike(command, first, second):
    """Two ranks with command lines of their own; status and what they complained of."""
    line = [command.launcher, "-n", "1", *first, ":", "-n", "1", *second]
    done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, check=False, timeout=300)
    return done.returncode, [line for line in done.stderr.splitlines() if line.startswith("tutti")]


def test_alone(command, absent):
    """A rank prints its own error, which ends the job with the status of its cause."""
    sweep = [command.tutti, "sweep"]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"record":"context","arguments":["--collective=barrier","--rounds=1"]}\n')
        for rank in (0, 1):  # as where a host lacks the file
            lines = [[*sweep, "--replay", path], [*sweep, "--replay", "/nowhere/at/all.jsonl"]]
            status, said = run_unlike(command, lines[1 - rank], lines[rank])
            expect(status == 2, rank, status, said)
            expect(len(said) == 1 and f"(rank {rank})" in said[0] and "no such file" in said[0],
                   rank, said)

    status, said = run_unlike(command, [*sweep, "--timeout", "1s"], [absent, "setup"])
    expect(status == 5, "set-up", status, said)
    expect(len(said) == 1 and "(rank 0)" in said[0] and "has not taken part" in said[0], said)

    small = [*sweep, "-C", "all_reduce", "-a", "ring", "-n", "1"]
    for _ in range(5):
        status, said = run_unlike(command, [*small, "-b", "8", "-e", "8"],
                                  [*small, "-b", "16", "-e", "16"])
        expect(status == 1 and said, "a mismatch is wrong data on every rank", status, said)


def test_ranks(command):
    """Ranks of `tutti run` start no MPI in order to end it."""
    small = ["-C", "all_reduce", "-a", "ring", "-b", "8", "-e", "8", "-n", "8"]
    for more, wanted, text in ((["--json", "/dev/full"], 4, "cannot write '/dev/full'"),
                               (["--timeout", "1us"], 5, "")):
        status, _, errors = alone(command, "--ranks", "2", *small, *more)
        said = errors.splitlines()
        expect(status == wanted and text in errors, status, said)
        expect(all(line.startswith("tutti") for line in said), "a foreign banner", said)
        for rank in (0, 1):
            own = [line for line in said if f"(rank {rank})" in line]
            expect(len(own) <= 1, "a speaker has one line", said)
    status, _, errors = alone(command, "--ranks", "2", "-C", "all_reduce", "-a", "native")
    expect(status == 2 and "no MPI launched" in errors, status, errors)
    with tempfile.TemporaryDirectory() as folder:
        path, again = os.path.join(folder, "run.jsonl"), os.path.join(folder, "again.jsonl")
        subprocess.run([command.tutti, "run", "-n", "2", command.tutti, "sweep", *small, "--json",
                        path], check=True, stdout=subprocess.DEVNULL, timeout=300)
        status, _, errors = alone(command, "--replay", path, "--json", again)
        expect(status == 0 and {r["ranks"] for r in records_of(again) if "ranks" in r} == {2},
               "the replay starts as many ranks", status, errors, records_of(again))


def main(case, launcher, tutti, absent, liar):
    """Runs one case. `absent` is a program whose last rank stays away from the set-up, `liar` a
    library that spoils what the MPI gives the last rank."""
    command = Command(launcher, tutti)
    if case == "alone":
        test_alone(command, absent)
    elif case == "ours":
        test_ours(command)
    elif case == "checks":
        test_checks(command, liar)
    else:
        {"usage": test_usage, "records": test_records, "transports": test_transports,
         "ends": test_ends, "ranks": test_ranks}[case](command)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
