"""Ends or stops one rank of a running job and checks what the others say.

Usage: survivors.py kill|die|hybrid|stop|setup|init openmpi|mpich LAUNCHER PROGRAM

kill   A rank is killed. The launcher sees it and ends the job.
die    A rank kills itself and the launcher does not see it, as where a node is lost: each rank runs
       under a shell that outlives it. (Hydra 4.0 kills all ranks of a host where one was killed,
       with -disable-auto-cleanup as well; Open MPI always does.)
hybrid As die, but over memory inside hosts and MPI between them: the control plane tells.
stop   A rank stops itself.
setup  A rank never takes part in making the communicator.
init   As setup, for a world of an MPI's ranks.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

RANKS = 3
VICTIM = 1
DIE, STOP = signal.SIGUSR2, signal.SIGTSTP  # what survivors.cpp does outside of the MPI
STRIKES = {"kill": signal.SIGKILL, "stop": STOP}  # others: DIE
SETUPS = ("setup", "init")  # in which a rank is absent from the start
SECONDS = 150  # in which a job must end
PATIENCE = 60  # after which a rank that has said nothing is looked at


def fail(reason, lines):
    sys.exit(f"FAILED: {reason}\noutput of the job:\n" + "".join(lines))


def start(case, mpi, launcher, program, end, ranks=RANKS):
    """Starts the job. Shells that outlive their ranks end when there is a file `end`."""
    unseen = case in ("die", "hybrid", "mixed")
    flags = ["-disable-auto-cleanup"] if mpi == "mpich" and unseen else []
    wait = f"until [[ -e {end} ]] || ((SECONDS > 3 * {SECONDS})); do sleep 0.1; done"
    shell = ["bash", "-c", f'"$@"; status=$?; {wait}; exit $status', "rank"]
    shell = shell if unseen else []
    mode = case if case in (*SETUPS, "hybrid", "mixed") else "loop"
    return subprocess.Popen([launcher, *flags, "-n", str(ranks), *shell, program, mode],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            stdin=subprocess.DEVNULL, start_new_session=True)


def strike(case, processes):
    time.sleep(0.2)  # let the ranks be amid their loop
    os.kill(processes[VICTIM], STRIKES.get(case, DIE))
    return time.monotonic()


def what_it_does(process):
    """The stack of each thread of a process, to find the reason for its silence."""
    if shutil.which("gdb"):
        command = ["gdb", "-p", str(process), "-batch", "-ex", "thread apply all backtrace 20"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = ""
    for thread in os.listdir(f"/proc/{process}/task"):
        for name in ("stat", "wchan", "syscall"):
            with open(f"/proc/{process}/task/{thread}/{name}", encoding="ascii") as file:
                found += f"{thread} {name}: {file.read().strip()}\n"
    return found


def look_at_silent(processes, errors, lines, end):
    """Called at the deadline of the ranks' output: prints the stacks of silent ranks, and ends the job."""
    for rank, process in processes.items():
        if rank != VICTIM and rank not in errors and os.path.exists(f"/proc/{process}"):
            lines.append(f"rank {rank} has said nothing for {PATIENCE} s:\n{what_it_does(process)}\n")
    let_end(end)


def let_end(end):
    with open(end, "w", encoding="ascii"):
        pass


def check_survivors(case, errors, lines):
    expected = [0, 1] if case in SETUPS else [r for r in range(RANKS) if r != VICTIM]
    if sorted(errors) != expected:
        fail(f"ranks {expected} must report an error, ranks {sorted(errors)} did", lines)
    if case not in SETUPS and VICTIM not in [culprit for _, culprit, _ in errors.values()]:
        fail(f"nobody names rank {VICTIM}", lines)
    for rank, (code, _, text) in errors.items():
        if code not in ("timeout", "aborted", "peer_dead", "transport"):
            fail(f"rank {rank} reports {code}", lines)
        if case == "hybrid" and (code != "peer_dead" or f"rank {VICTIM} " not in text):
            fail(f"rank {rank} does not say that rank {VICTIM} has ended", lines)
        if case in SETUPS and (code != "timeout" or "has not taken part" not in text):
            fail(f"rank {rank} does not say that a rank is missing", lines)


def watch(case, job, end):
    """Reads what the job prints, and strikes. Returns the lines, processes and errors of the ranks,
    and when it struck."""
    lines, processes, errors, struck = [], {}, {}, time.monotonic()
    looker = threading.Timer(PATIENCE, look_at_silent, (processes, errors, lines, end))
    for line in job.stdout:
        lines.append(line)
        if found := re.search(r"rank (\d+) has process (\d+)", line):
            processes[int(found[1])] = int(found[2])
            if len(processes) == RANKS:
                struck = strike(case, processes)
                looker.start()
        if found := re.search(r"rank (\d+): (\w+), culprit (-?\d+): (.*)", line):
            errors[int(found[1])] = (found[2], int(found[3]), found[4])
            if len(errors) == RANKS - 1:
                let_end(end)
                if case == "stop":
                    os.kill(processes[VICTIM], signal.SIGKILL)  # a stopped process never ends itself
    looker.cancel()
    return lines, processes, errors, struck


def main():
    case, mpi, launcher, program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        end = os.path.join(folder, "end")
        job = start(case, mpi, launcher, program, end)
        guard = threading.Timer(2 * SECONDS, lambda: os.killpg(job.pid, signal.SIGKILL))
        guard.start()
        lines, processes, errors, struck = watch(case, job, end)
        status = job.wait()
        guard.cancel()
    took = time.monotonic() - struck
    if case not in SETUPS and len(processes) != RANKS:
        fail("the job did not come up", lines)
    if status == 0:
        fail("the job must end with a non-zero status", lines)
    if took > SECONDS:
        fail(f"the job took {took:.0f} s to end", lines)
    if case != "kill":
        check_survivors(case, errors, lines)
    print(f"status {status} after {took:.1f} s\n" + "".join(lines))


if __name__ == "__main__":
    main()
