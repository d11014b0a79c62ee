#!/usr/bin/env python3
"""Runs `tutti run` as a user does: run_test.py CASE TUTTI MEMBER"""
import glob
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time

from runs import (PATIENCE, TUTTI, await_lines, await_none, expect, processes_with, run, run_case,
                  start)

SHOW = "echo $TUTTI_RANK/$TUTTI_SIZE $TUTTI_LOCAL_RANK/$TUTTI_LOCAL_SIZE $TUTTI_URL"


def test_variables():
    """Ranks get their place, and no variables of the outer launcher."""
    status, output, errors = run("-n", "3", "sh", "-c", SHOW)
    lines = sorted(output.splitlines())
    expect(status == 0 and errors == "" and len(lines) == 3, status, output, errors)
    expect([line.split()[:2] for line in lines] == [[f"{r}/3", f"{r}/3"] for r in range(3)], lines)
    urls = {line.split()[2] for line in lines}
    expect(len(urls) == 1 and urls.pop().startswith("unix://tutti-run-"), lines)
    around = {"RANK": "1", "PMI_RANK": "5", "OMPI_COMM_WORLD_RANK": "2", "SLURM_PROCID": "3"}
    status, output, _ = run("-n", "2", "env", environment=around)
    expect(status == 0 and not re.search("^(RANK|PMI_|OMPI_COMM|SLURM_PROCID)", output, re.M),
           output)
    threads = ["sh", "-c", "echo $OMP_NUM_THREADS"]
    clean = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
    for ranks, before, wanted in [("2", {}, "1\n1\n"), ("1", {}, "\n"),
                                  ("2", {"OMP_NUM_THREADS": "3"}, "3\n3\n")]:
        output = subprocess.run([TUTTI, "run", "-n", ranks, *threads], env={**clean, **before},
                                capture_output=True, text=True, check=True).stdout
        expect(output == wanted, ranks, before, output)
    status, output, _ = run("--url", "tcp://h:1", "sh", "-c", "echo $TUTTI_URL")
    expect(output == "tcp://h:1\n", output)


def test_statuses():
    """The exit status is the first failing rank's, which is named in one line."""
    cases = [("exit 0", 0, None), ("[ $TUTTI_RANK != 1 ] || exit 7", 7, "rank 1 exited with status 7"),
             ("[ $TUTTI_RANK != 2 ] || kill -SEGV $$; sleep 600", 139,
              "rank 2 was killed by signal 11"),
             ("[ $TUTTI_RANK = 0 ] && { sleep 0.3; exit 4; }; sleep 600", 4,
              "rank 0 exited with status 4")]
    for script, wanted, said in cases:
        begin = time.monotonic()
        status, _, errors = run("-n", "3", "sh", "-c", script)
        expect(status == wanted, script, status, errors)
        expect(errors.count("\n") == (said is not None) and (said or "") in errors, script, errors)
        expect(time.monotonic() - begin < PATIENCE / 2, script, "took too long")
    for ranks, others in (("1", ""), ("2", "; the others are ended")):
        status, _, errors = run("-n", ranks, "sh", "-c", "[ $TUTTI_RANK = 1 ] || exit 3")
        expect(status == 3 and errors == f"tutti run: rank 0 exited with status 3{others}\n", errors)
    with tempfile.NamedTemporaryFile() as plain:  # mode 0600
        runs = [(program, run("-n", "2", program)) for program in ("/nowhere/program", plain.name,
                                                                   "/tmp")]
    for (program, (status, _, errors)), wanted, said in zip(
            runs, (127, 126, 126), ("No such file", "Permission denied", "Permission denied")):
        expect(status == wanted and errors.count("\n") == 1 and program in errors and
               said in errors, status, errors)
    for arguments, said in [([], "the program is missing"), (["-n", "0", "true"], "-n '0'"),
                            (["-n", "x", "true"], "-n 'x'"), (["--timeout", "0", "true"], "--timeout"),
                            (["--labl", "true"], "did you mean --label?"),
                            (["--hosts", "a,b", "true"], "too many"),
                            (["--hosts", "a,,b", "-n", "9", "true"], "'' is not a host"),
                            (["--agent", "x", "true"], "--hosts"),
                            (["--url", "http://x", "true"], "tcp://host:port")]:
        status, output, errors = run(*arguments)
        expect(status == 2 and output == "" and errors.count("\n") == 1 and said in errors,
               arguments, status, errors)
    # This command says itself why it fails, here on rank 0 and in a job of its own.
    for arguments in (["run", "-n", "2", TUTTI], ["run", "-n", "2", "tutti"], []):
        words = [TUTTI, *arguments, "sweep", "--ranks", "2", "--root", "7", "-C", "broadcast"]
        path = os.path.dirname(TUTTI) + ":" + os.environ["PATH"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False,
                              stdin=subprocess.DEVNULL, env={**os.environ, "PATH": path})
        expect(done.returncode == 2 and done.stderr.count("\n") == 1 and "--root 7" in done.stderr,
               words, done.returncode, done.stderr)
    status, _, errors = run("-n", "2", "--timeout", "1", "sleep", "60")
    expect(status == 5 and errors.count("\n") == 1 and "after 1 s" in errors, status, errors)


def test_streams():
    """Output comes whole and in order, and rank 0 reads the input."""
    script = "for i in 1 2 3 4 5 6 7 8 9; do echo $TUTTI_RANK.$i; echo e$TUTTI_RANK.$i >&2; done"
    for label in ([], ["--label"]):
        status, output, errors = run("-n", "4", *label, "sh", "-c", script)
        expect(status == 0, errors)
        for text, before in ((output, ""), (errors, "e")):
            for rank in range(4):
                prefix = f"[{rank}] " if label else ""
                lines = [line for line in text.splitlines()
                         if line.startswith(f"{prefix}{before}{rank}.")]
                expect(lines == [f"{prefix}{before}{rank}.{i}" for i in range(1, 10)], lines)
    status, output, _ = run("-n", "2", "--label", "printf", "no line end")
    expect(sorted(output.splitlines()) == ["[0] no line end", "[1] no line end"], output)
    status, output, _ = run("-n", "1", "--label", "sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x")
    expect(output.count("x") == 300000, len(output))
    status, output, _ = run("-n", "3", "cat", text="typed\n")
    expect(status == 0 and output == "typed\n", output)
    status, output, _ = run("-n", "2", "--", "echo", "--label")
    expect(output == "--label\n--label\n", output)
    leader, terminal = pty.openpty()  # read for rank 0, which is in no foreground group
    job = subprocess.Popen([TUTTI, "run", "-n", "2", "head", "-n1"], stdin=terminal, text=True,
                           stdout=subprocess.PIPE, preexec_fn=lambda: own_terminal(terminal))
    os.write(leader, b"by hand\n")
    expect(job.stdout.read() == "by hand\n" and job.wait(PATIENCE) == 0, "the terminal was not read")


def own_terminal(terminal):
    """Makes this the foreground process of a session of its own."""
    import fcntl  # pylint: disable=import-outside-toplevel
    import termios  # pylint: disable=import-outside-toplevel
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


def test_ends():
    """Every end leaves no process and no folder."""
    # A rank, a child of it, and one that left its process group; the last two ignore SIGHUP.
    tree = ("sleep {0} & setsid sleep {0} & echo up; sleep {0}")
    mark = f"{40000 + os.getpid() % 10000}"
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        times = []
        while not times or min(times) >= 3 and len(times) < 3:  # a loaded machine may need another try
            job = start("-n", "2", "sh", "-c", tree.format(mark))
            await_lines(job, 2)
            begin = time.monotonic()
            job.send_signal(number)
            expect(job.wait(PATIENCE) == 128 + number, number, job.returncode)
            times.append(time.monotonic() - begin)
            expect(not processes_with(mark), number, processes_with(mark))
        expect(min(times) < 3, number, "took as long as where SIGTERM does not help:", times)
    job = start("-n", "2", "sh", "-c", tree.format(mark))
    await_lines(job, 2)
    job.kill()
    await_none(mark)
    job = start("-n", "2", "sh", "-c", tree.format(mark))  # the guard is the runner's only child
    await_lines(job, 2)
    guard = [path.split("/")[2] for path in glob.glob("/proc/[0-9]*/stat")
             if parent_of(path) == job.pid]
    expect(len(guard) == 1, guard)
    os.kill(int(guard[0]), signal.SIGKILL)
    expect(job.wait(PATIENCE) == 137, job.returncode)
    await_none(mark)
    # A process that ignores SIGTERM is killed five seconds later.
    begin = time.monotonic()
    status, _, _ = run("-n", "2", "sh", "-c",
                       f"trap '' TERM; [ $TUTTI_RANK = 0 ] && sleep 0.5 && exit 3; "
                       f"sleep {mark}; sleep {mark}")
    expect(status == 3 and 4 < time.monotonic() - begin < PATIENCE / 2, status, time.monotonic() - begin)
    await_none(mark)
    # A process in the background that outlives all ranks.
    status, _, _ = run("-n", "2", "sh", "-c", f"setsid sleep {mark} >/dev/null 2>&1 & exit 0")
    expect(status == 0, status)
    await_none(mark)


def parent_of(path):
    """The parent of the process whose stat file this is."""
    try:
        return int(pathlib.Path(path).read_text("utf-8").rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return 0


AGENT = """#!/bin/sh
# Stands for ssh: one host name, then one line for a shell, in an environment of its own.
echo "$@" >> "$(dirname "$(realpath "$0")")/agent.log"
shift
exec env -i PATH="$PATH" HOME="$HOME" sh -c "$*"
"""


def test_hosts():
    """Remote ranks: by an agent, with the secret nowhere to be seen."""
    with tempfile.TemporaryDirectory(prefix="tutti run ") as folder:
        agent = pathlib.Path(folder, "agent")
        agent.write_text(AGENT, "utf-8")
        agent.chmod(0o700)
        link = f"/tmp/tutti-agent-{os.getpid()}"  # the agent's command is split at blanks
        os.symlink(agent, link)
        try:
            remote(link, pathlib.Path(folder, "agent.log"))
        finally:
            os.unlink(link)


def remote(agent, log):
    """The cases of test_hosts."""
    script = SHOW + " $(stat -L -c %a $TUTTI_SECRET_FILE) $(cat $TUTTI_SECRET_FILE) $OTHER '$KEPT'"
    status, output, errors = run(
        "-n", "5", "--hosts", "user@a,b", "--agent", agent, "--env", "KEPT", "sh", "-c",
        script.replace("'$KEPT'", '"$KEPT"'), "it's", environment={"KEPT": "a 'b' \"c\" $d", "OTHER": "x"})
    lines = sorted(line.split(" ", 5) for line in output.splitlines())
    expect(status == 0 and len(lines) == 5, status, output, errors)
    expect([line[0] for line in lines] == [f"{r}/5" for r in range(5)], lines)
    expect([line[1] for line in lines] == ["0/2", "1/2", "0/3", "1/3", "2/3"], lines)
    expect(all(re.fullmatch(r"tcp://a:\d+", line[2]) for line in lines), lines)
    expect(len({tuple(line[2:5]) for line in lines}) == 1 and lines[0][3] == "600", lines)
    secret = lines[0][4]
    expect(re.fullmatch("[0-9a-f]{64}", secret), lines)
    expect(all(line[5] == "a 'b' \"c\" $d" for line in lines), lines)
    said = log.read_text("utf-8")
    expect(secret not in said and "user@a cd" in said, said)
    # A failure on one host ends the other, and so does the end of the runner.
    mark = f"{50000 + os.getpid() % 10000}"
    status, _, errors = run("-n", "2", "--hosts", "a,b", "--agent", agent, "sh", "-c",
                            f"[ $TUTTI_RANK = 1 ] && exit 9; sleep {mark}")
    failure = "tutti run: host b: rank 1 exited with status 9; the others are ended\n"
    expect(status == 9 and errors == failure, status, errors)
    await_none(mark)
    # This holds if the other host's rank fails because of it, and amid output without line ends.
    script = "head -c 100000 /dev/zero | tr '\\0' x; exit 9"
    status, output, errors = run("-n", "2", "--hosts", "a,b", "--agent", agent, "sh", "-c", script)
    expect(status == 9 and re.fullmatch("tutti run: host [ab]: rank [01] exited with status 9; the "
                                        "others are ended\n", errors), status, errors)
    expect(set(output) == {"x"} and len(output) >= 100000, len(output), set(output))
    status, output, _ = run("--hosts", "a", "--agent", agent, "printf", "\\036tutti-run\\036")
    expect(status == 0 and output == "\x1etutti-run\x1e", status, output)
    status, _, errors = run("-n", "2", "--hosts", "a,b", "--agent", agent, "/nowhere/program")
    expect(status == 127 and re.fullmatch("tutti run: host [ab]: cannot run '/nowhere/program': "
                                          "No such file or directory; the others are ended\n",
                                          errors), status, errors)
    status, _, errors = run("-n", "2", "--hosts", "a,b", "--agent", "false", "true")
    expect(status == 1 and re.fullmatch("tutti run: host [ab] exited with status 1; the others are "
                                        "ended\n", errors), status, errors)
    for number in (signal.SIGKILL, signal.SIGTERM):
        job = start("-n", "2", "--hosts", "a,b", "--agent", agent, "sh", "-c", f"echo up; sleep {mark}")
        await_lines(job, 2)
        job.send_signal(number)
        job.wait(PATIENCE)
        await_none(mark)
    status, _, errors = run("-n", "2", "--hosts", "a,b", "--agent", "/nowhere/ssh", "true")
    expect(status == 127 and errors.count("\n") == 1, status, errors)


def test_secret():
    """Ranks that meet at an address of the user's have a secret, drawn or the user's own."""
    show = "echo $TUTTI_URL; stat -Lc %a $TUTTI_SECRET_FILE; cat $TUTTI_SECRET_FILE"
    url = ["--url", "tcp://127.0.0.1:23456"]
    status, output, errors = run("-n", "1", *url, "sh", "-c", show)
    lines = output.split()
    expect(status == 0 and errors == "" and lines[:2] == [url[1], "600"], status, output, errors)
    expect(re.fullmatch("[0-9a-f]{64}", lines[2]), lines)
    expect(run("-n", "1", *url, "sh", "-c", show)[1].split()[2] != lines[2], "it is the same")
    status, output, _ = run("-n", "1", *url, "sh", "-c", "echo $TUTTI_SECRET_FILE",
                            environment={"TUTTI_SECRET_FILE": "/some/file"})
    expect(status == 0 and output.strip() == "/some/file", status, output)
    # The folder in which ranks meet otherwise belongs to this user alone.
    status, output, _ = run("-n", "1", "sh", "-c", "echo has ${TUTTI_SECRET_FILE-none}")
    expect(status == 0 and output.strip() == "has none", status, output)


LAST_NUMBER = pathlib.Path("/proc/sys/kernel/ns_last_pid")


def may_choose_numbers():
    try:
        LAST_NUMBER.write_text(LAST_NUMBER.read_text("ascii"), "ascii")
        return True
    except OSError:
        return False


def choose_numbers_as_root():
    """A user other than root becomes root among processes of its own, if the system allows that."""
    alone = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    if os.getuid() == 0 or subprocess.run([*alone, "true"], stderr=subprocess.DEVNULL).returncode:
        print("no process may choose its number here")
        sys.exit(77)
    sys.exit(subprocess.run([*alone, sys.executable, *sys.argv]).returncode)


def test_numbers():
    """When a job ends, a stranger who got the number of a rank that ended long ago goes on."""
    if not may_choose_numbers():
        choose_numbers_as_root()
    for _ in range(20):  # another process may be quicker to get the number
        with tempfile.TemporaryDirectory() as folder:
            mark = os.path.join(folder, "go")
            job = start("-n", "2", "sh", "-c", "if [ $TUTTI_RANK = 0 ]; then echo $$; else "
                        f"until [ -e {mark} ]; do sleep 0.05; done; exit 3; fi")
            number = int(job.stdout.readline())
            while os.path.exists(f"/proc/{number}"):
                time.sleep(0.01)
            LAST_NUMBER.write_text(str(number - 1), "ascii")
            stranger = subprocess.Popen(["sleep", "600"], start_new_session=True)
            pathlib.Path(mark).touch()
            job.communicate(timeout=PATIENCE)
            lives = stranger.poll() is None
            stranger.kill()
            stranger.wait()
            expect(job.returncode == 3, job.returncode)
            if stranger.pid == number:
                expect(lives, "a stranger was ended")
                return
    print("the number was never had")
    sys.exit(77)


if __name__ == "__main__":
    run_case(globals())
