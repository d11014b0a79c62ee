#!/usr/bin/env python3
"""Several hosts on one machine: network namespaces on a bridge, with shaped links.

  cluster.py N [--rate RATE] COMMAND...   runs COMMAND where hosts h0 to h(N-1) exist
  cluster.py on HOST COMMAND...           there: runs a command on a host, as ssh would

Every host has its own name, its own loopback, and eth0 at 10.77.0.(1 + number). Both directions of
each link have RATE, 1gbit by default. All of it lies in namespaces of this command alone, made as
root or, where there is no root, as a user: clusters do not meet, and the kernel clears them away,
processes included, whatever happens. Exits with the status of COMMAND, with 1 where hosts cannot be
made, or, saying why, with 77 where a machine allows no namespaces at all.
"""
import os
import shutil
import subprocess
import sys

SKIP = 77
KINDS = ("--net", "--uts")
TOOLS = ("unshare", "nsenter", "ip", "tc", "mount", "hostname")
RATE = "1gbit"

# tc lies where an ordinary user's PATH does not look.
os.environ["PATH"] = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))


def address(host):
    """The address of a host, by its number."""
    return f"10.77.0.{host + 1}"


def on(host, command):
    """The words that run a command on a host, by its name. The process becomes the command."""
    return ["nsenter", *(f"{kind}=/run/{kind[2:]}/{host}" for kind in KINDS), *command]


def ip(*words, host=None):
    """Runs ip, on a host if one is named. Returns what it says."""
    where = ["-n", host] if host else []
    return subprocess.run(["ip", *where, *words], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def unplug(host):
    """Drops all packets on the link of a host, without a sign to either end."""
    ip("link", "set", f"to-{host}", "nomaster")


def plug(host):
    """The link of a host passes what it is given again."""
    ip("link", "set", f"to-{host}", "master", "bridge")


def cut(host):
    """The link of a host goes down, and the host sees it."""
    ip("link", "set", f"to-{host}", "down")


def restore(host):
    """The link of a host goes up again."""
    ip("link", "set", f"to-{host}", "up")


def shape(device, rate, host=None):
    """Limits what leaves by a device."""
    where = ["-n", host] if host else []
    subprocess.run(["tc", *where, "qdisc", "replace", "dev", device, "root", "tbf", "rate", rate,
                    "burst", "256kb", "latency", "50ms"], check=True)


def add_host(number, rate):
    """Makes a host and its link."""
    host = f"h{number}"
    names = [f"/run/{kind[2:]}/{host}" for kind in KINDS]
    for name in names:
        os.close(os.open(name, os.O_CREAT | os.O_RDONLY))
    subprocess.run(["unshare", *(f"{kind}={name}" for kind, name in zip(KINDS, names)),
                    "hostname", host], check=True)
    os.symlink(names[0], f"/run/netns/{host}")  # where ip looks
    ip("link", "add", f"to-{host}", "type", "veth", "peer", "name", "eth0", "netns", host)
    plug(host)
    ip("link", "set", f"to-{host}", "up")
    ip("addr", "add", f"{address(number)}/24", "dev", "eth0", host=host)
    ip("link", "set", "eth0", "up", host=host)
    ip("link", "set", "lo", "up", host=host)
    shape(f"to-{host}", rate)
    shape("eth0", rate, host)


def build(count, rate):
    """Makes the hosts, in namespaces that are ours."""
    subprocess.run(["mount", "-t", "tmpfs", "hosts", "/run"], check=True)
    for folder in ("net", "uts", "netns"):
        os.mkdir(f"/run/{folder}")
    with open("/run/hosts", "w", encoding="utf-8") as file:
        file.write("127.0.0.1 localhost\n")
        file.writelines(f"{address(host)} h{host}\n" for host in range(count))
    subprocess.run(["mount", "--bind", "/run/hosts", "/etc/hosts"], check=True)
    ip("link", "set", "lo", "up")
    ip("link", "add", "bridge", "type", "bridge")
    ip("link", "set", "bridge", "up")
    for host in range(count):
        add_host(host, rate)


def run_in_new_namespaces(count, rate, command):
    """Becomes the command, with hosts, or exits with SKIP."""
    own = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    complaints = [f"there is no {tool}" for tool in TOOLS if not shutil.which(tool)]
    for user in [] if complaints else ([], ["--user", "--map-root-user"]):
        words = ["unshare", *user, *own]
        # Only a machine that does not allow this is skipped. Later errors are failures.
        trial = subprocess.run([*words, "ip", "link", "set", "lo", "up"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, check=False)
        if trial.returncode == 0:
            os.execvp(words[0], [*words, sys.executable, os.path.abspath(__file__), "inside",
                                 str(count), rate, *command])
        complaints.append((trial.stderr.strip().splitlines() or ["no reason given"])[-1])
    print("SKIPPED: no network namespaces here, neither as this user nor in a user namespace:",
          "; ".join(complaints))
    sys.exit(SKIP)


def main(words):
    """See above."""
    if len(words) > 2 and words[0] == "on":  # ssh too hands one line to a shell
        os.execvp("nsenter", on(words[1], ["sh", "-c", " ".join(words[2:])]))
    if len(words) > 3 and words[0] == "inside":
        try:
            build(int(words[1]), words[2])
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(str(error))
        sys.exit(subprocess.run(words[3:], check=False).returncode)
    rate = RATE
    if len(words) > 2 and words[1] == "--rate":
        rate = words[2]
        del words[1:3]
    if len(words) < 2 or not words[0].isdigit():
        sys.exit(__doc__)
    run_in_new_namespaces(int(words[0]), rate, words[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
