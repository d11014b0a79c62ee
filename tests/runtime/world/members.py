"""Ranks as processes: how tests start them, and what they must not leave behind."""
import ctypes
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import time

PATIENCE = 600  # seconds for what has to happen: half of what a test may take
DEFAULT_WAIT = 60  # seconds that init waits without TUTTI_TIMEOUT
AT_ONCE = 500  # milliseconds; without the system's word a death is known after a second
FOREIGN = ("TUTTI_", "OMPI_", "PMI", "SLURM_", "RANK", "WORLD_SIZE", "LOCAL_", "MASTER_")
LISTENS = "0A"
CLONE_NEWNET = 0x40000000


def leave_network():
    """Enters a network where no other tests listen, if that is allowed."""
    if shutil.which("ip") and ctypes.CDLL(None).unshare(CLONE_NEWNET) == 0:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def bare_environment():
    """The variables of this process without those of any launcher."""
    return {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}


def start_told(member, arguments, told):
    """Starts a process for each of these dictionaries of variables, with no others of launchers."""
    return [subprocess.Popen([member, *map(str, arguments)], stdout=subprocess.PIPE, text=True,
                             env={**bare_environment(), **variables}) for variables in told]


def start(member, n, mode, number=0, transport="auto", **variables):
    """Starts the ranks of a world, each as MEMBER MODE NUMBER TRANSPORT. Returns the processes."""
    return start_told(member, (mode, number, transport),
                      [{"TUTTI_RANK": str(rank), "TUTTI_SIZE": str(n), **variables}
                       for rank in range(n)])


def finish(processes):
    """Waits for all ranks, and kills those that do not end. Returns their statuses and what they said."""
    end = time.monotonic() + PATIENCE
    said = []
    for process in processes:
        try:
            said.append(process.communicate(timeout=max(1, end - time.monotonic()))[0])
        except subprocess.TimeoutExpired:
            process.kill()
            said.append(process.communicate()[0] + f"did not end in {PATIENCE} s")
    return [process.returncode for process in processes], said


def seconds_waited(text):
    """How long a rank waited in init, as its error says: a loaded machine starts processes late, but does not prolong
    their deadlines."""
    return float(re.search(r"\b(?:waited|for) ([0-9.]+) s\b", text).group(1))


def free_port():
    """A port that was free a moment ago."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def listening_ports():
    """The TCP ports at which someone listens."""
    text = "".join(pathlib.Path(f"/proc/net/{table}").read_text(encoding="ascii")
                   for table in ("tcp", "tcp6"))
    lines = [line.split() for line in text.splitlines()]
    return {f"port {int(field[1].rpartition(':')[2], 16)}" for field in lines
            if field[3] == LISTENS}


def names():
    """Things that a world must not leave behind: names of memory and files, abstract sockets, ports."""
    files = {f"/dev/shm/{name}" for name in os.listdir("/dev/shm")}
    files |= {f"/tmp/{name}" for name in os.listdir("/tmp") if "tutti" in name}
    sockets = pathlib.Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace")
    return files | set(re.findall(r"@tutti-\w+", sockets)) | listening_ports()


def left_since(before):
    """Which new names stay. Other tests' worlds come and go meanwhile."""
    left = names() - before
    end = time.monotonic() + PATIENCE
    while left and time.monotonic() < end:
        time.sleep(0.05)
        left &= names()
    return left


def distribution(delays, limit):
    """A line about times in milliseconds. LIMIT is what most should stay below."""
    ordered = sorted(delays)
    above = sum(delay > limit for delay in ordered)
    return (f"median {statistics.median(ordered):.2f} ms, p90 "
            f"{ordered[len(ordered) * 9 // 10]:.2f} ms, max {ordered[-1]:.2f} ms, "
            f"above {limit} ms: {above} of {len(ordered)}")


def judge(test, what, delays, limit):
    """Prints how long reports took. Most must take less than LIMIT milliseconds; some may not,
    where a machine does something else meanwhile."""
    print(what, distribution(delays, limit))
    test.assertLess(statistics.median(delays), limit, what)
