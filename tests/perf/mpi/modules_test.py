"""One command serves each MPI: modules_test.py TUTTI LAUNCHER..., or the launchers of $TUTTI_TEST_MPIS as well, whose
prefixes are separated by colons."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile


def expect(condition, *context):
    if not condition:
        raise SystemExit(f"failed: {context}")


def run(words, **variables):
    environment = {**os.environ, "TUTTI_TUNING": "none", **variables}
    return subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, timeout=300)


def family_of(launcher):
    version = run([launcher, "--version"]).stdout
    return "openmpi" if any(name in version for name in ("Open MPI", "OpenRTE", "PRRTE")) else "mpich"


def check_sweep(tutti, launcher):
    """Sweeps beside the launcher's MPI, over shared memory and over the MPI's messages."""
    for transport in ("auto", "mpi"):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "sweep.jsonl")
            done = run([launcher, "-n", "2", tutti, "sweep", "-C", "all_reduce", "-b", "8", "-e", "64K", "-f", "64",
                        "--budget", "5ms", "--transport", transport, "--json", str(path)])
            expect(done.returncode == 0, launcher, transport, done.stdout, done.stderr)
            records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        algorithms = {record.get("algorithm") for record in records}
        expect({"native", "auto"} <= algorithms, launcher, transport, algorithms)
    print(f"{launcher}: a sweep of {len(records)} records", flush=True)


def check_info(tutti, launcher):
    done = run([launcher, "-n", "1", tutti, "info", "--json"])
    expect(done.returncode == 0, launcher, done.stderr)
    mpi = json.loads(done.stdout)["mpi"]
    expect(("Open MPI" in mpi) == (family_of(launcher) == "openmpi") and mpi, launcher, mpi)
    print(f"{launcher}: {mpi}", flush=True)


def check_refusals(tutti, launchers):
    done = run([tutti, "sweep", "--transport", "mpi"], TUTTI_MPI_LIBRARY="/nowhere/libmpi.so")
    expect(done.returncode == 4 and "/nowhere/libmpi.so" in done.stderr, done.returncode, done.stderr)
    done = run([tutti, "sweep", "--transport", "mpi"], TUTTI_MPI_LIBRARY="libc.so.6")
    expect(done.returncode == 4 and "it has no MPI_Init" in done.stderr, done.returncode, done.stderr)
    done = run([launchers[0], "-n", "1", tutti, "info"], TUTTI_MPI_LIBRARY="/nowhere/libmpi.so")
    expect(done.returncode == 0 and "/nowhere/libmpi.so" in done.stdout, done.returncode, done.stdout)


def main():
    tutti, launchers = sys.argv[1], sys.argv[2:]
    for prefix in filter(None, os.environ.get("TUTTI_TEST_MPIS", "").split(":")):
        launchers.append(str(pathlib.Path(prefix, "bin", "mpiexec")))
    for launcher in launchers:
        check_info(tutti, launcher)
        check_sweep(tutti, launcher)
    check_refusals(tutti, launchers)


main()
