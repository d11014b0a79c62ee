#!/usr/bin/env python3
"""Faults at calls of CUDA and NCCL: faults_test.py PROGRAM [--transport NAME] [--library NAME] [--most CALLS]
[--sample RUNS]

PROGRAM is that of faulted.cpp or faulted_gradients.cpp, on the stand-ins. It runs once to count calls,
then once for each of the first CALLS (default: 2) of every function, or of those whose names begin with that
of a library, or for RUNS of all these, equally spaced; that call then fails. It must end in time, by itself, with
nothing left that was not itself to be given back by the call that failed; of a library's call a rank must report
the failure. Several run at once, since most of them wait for deadlines.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

PATIENCE = 300
AT_ONCE = 4
# These calls end an object. It stays if they fail, or if its context cannot be made current.
ENDS = {"cuMemFreeAsync", "cuStreamDestroy_v2", "cuEventDestroy_v2", "cuModuleUnload", "cuMemPoolDestroy",
        "cuDevicePrimaryCtxRelease_v2",
        "cuCtxSetCurrent", "cuCtxGetCurrent", "ncclCommDestroy", "ncclCommFinalize",
        "ncclCommAbort", "ncclCommWindowDeregister", "ncclCommDeregister", "ncclMemFree", "cuMemFree_v2",
        "cuMemFreeHost"}


def run(program, **variables):
    """Runs it: a list of words. Returns its status, and what it wrote."""
    named = {f"CUDA_STANDIN_{name}": value for name, value in variables.items()}
    try:
        done = subprocess.run(program, env={**os.environ, **named}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired as late:
        return "no end", str(late.stdout)
    return done.returncode, done.stdout


def main():
    """Runs all. Returns how many went wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--transport", default="nccl")
    parser.add_argument("--library", default="")
    parser.add_argument("--most", type=int, default=2)
    parser.add_argument("--sample", type=int)
    arguments = parser.parse_args()
    program = [arguments.program, arguments.transport]
    with tempfile.TemporaryDirectory() as folder:
        calls, leaks = pathlib.Path(folder, "calls"), pathlib.Path(folder, "leaks")
        status, said = run(program, CALLS=str(calls), LEAKS=str(leaks))
        if status != 0 or leaks.read_text(encoding="utf-8"):
            print(f"FAILED without a fault, {status}: {said}")
            return 1
        counts = dict(line.split() for line in calls.read_text(encoding="utf-8").splitlines())
        faults = [(function, call) for function, count in counts.items() if function.startswith(arguments.library)
                  for call in range(1, min(int(count), arguments.most) + 1)]
        if arguments.sample:
            faults = faults[::max(1, len(faults) // arguments.sample)]
        def fail(fault):
            """Runs it with a fault. Returns its status, what it wrote and what it left."""
            function, call = fault
            report = pathlib.Path(folder, f"leaks-{function}-{call}")
            status, said = run(program, FAULT=f"{function}:{call}", LEAKS=str(report))
            return status, said, report.read_text(encoding="utf-8") if report.exists() else "no report"

        wrong = met = 0
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for (function, call), (status, said, left) in zip(faults, pool.map(fail, faults)):
                met += "cannot" in said
                is_lost = arguments.library and function not in ENDS and "cannot" not in said
                if status != 0 or is_lost or (left and function not in ENDS):
                    wrong += 1
                    print(f"FAILED {function} call {call}, {status}: {said}left: {left}", flush=True)
    print(f"{len(faults)} faults in {len(counts)} functions, {met} of which a rank tells; {wrong} went wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(min(main(), 1))
