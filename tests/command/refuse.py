"""Runs a command of whose system calls one is refused, as containers do: refuse.py CALL COMMAND...

Exits with 77 where that cannot be done.
"""
import ctypes
import errno
import os
import struct
import sys

# By their numbers on x86-64.
CALLS = {"poll": 7, "rt_sigaction": 13, "rt_sigprocmask": 14, "dup2": 33, "clone": 56, "wait4": 61,
         "kill": 62, "fcntl": 72, "setpgid": 109, "rt_sigtimedwait": 128, "prctl": 157,
         "getdents64": 217, "signalfd4": 289, "pipe2": 293, "memfd_create": 319, "fchmod": 91}


def reject(number):
    """Lets the call with this number fail in this process and those that it starts."""
    libc = ctypes.CDLL(None, use_errno=True)
    load, jump, end = 0x20, 0x15, 0x06
    refused, allowed = 0x00050000 | errno.EPERM, 0x7FFF0000
    code = b"".join(struct.pack("HBBI", *line) for line in (
        (load, 0, 0, 0), (jump, 0, 1, number), (end, 0, 0, refused), (end, 0, 0, allowed)))
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer))
    no_new_privileges, seccomp, filtered = 38, 22, 2
    return (libc.prctl(no_new_privileges, 1, 0, 0, 0) == 0 and
            libc.prctl(seccomp, filtered, ctypes.create_string_buffer(program), 0, 0) == 0)


if __name__ == "__main__":
    if os.uname().machine != "x86_64" or not reject(CALLS[sys.argv[1]]):
        sys.exit(77)
    os.execvp(sys.argv[2], sys.argv[2:])
