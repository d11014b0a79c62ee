#!/usr/bin/env python3
"""Ranks share memory where /dev/shm has but 64 KiB, as in many containers: small_shm.py MEMBER

MEMBER is the program of member.cpp. Exits, saying why, with 77 where a machine does not allow to
mount anything, neither as this user nor in a namespace of users.
"""
import os
import subprocess
import sys
import tempfile

import members

SKIP = 77
BYTES = 64 << 10
FOLDER = "/dev/shm"
NAMESPACES = (["--mount"], ["--mount", "--user", "--map-root-user"])
MOUNT = ["mount", "-t", "tmpfs", "-o", f"size={BYTES}", "small", FOLDER]


def run(member):
    """Two ranks add up 16 MiB. Returns the status of this program."""
    room = os.statvfs(FOLDER)
    assert room.f_blocks * room.f_frsize <= BYTES, room
    with tempfile.TemporaryDirectory() as folder:
        ranks = members.start(member, 2, "sum", 16, "shm", TUTTI_URL=f"file://{folder}/world")
        statuses, said = members.finish(ranks)
    print(statuses, said, os.listdir(FOLDER))
    return int(statuses != [0, 0] or os.listdir(FOLDER) != [])


def run_in_namespace(member):
    """Becomes this program where /dev/shm is small, or exits with SKIP."""
    complaints = []
    for namespaces in NAMESPACES:
        words = ["unshare", *namespaces, "sh", "-c", f'{" ".join(MOUNT)} && exec "$@"', "sh"]
        try:
            trial = subprocess.run([*words, "true"], stderr=subprocess.PIPE, text=True, check=False)
        except FileNotFoundError as error:
            sys.exit(skip([str(error)]))
        if trial.returncode == 0:
            os.execvp(words[0], [*words, sys.executable, "-B", __file__, member, "inside"])
        complaints.append(trial.stderr.strip())
    sys.exit(skip(complaints))


def skip(complaints):
    """Says why nothing was tried. Returns the status for it."""
    print("SKIPPED: nothing can be mounted here:", "; ".join(complaints))
    return SKIP


if __name__ == "__main__":
    if sys.argv[2:] == ["inside"]:
        sys.exit(run(sys.argv[1]))
    run_in_namespace(sys.argv[1])
