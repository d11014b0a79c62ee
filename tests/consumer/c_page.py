"""Checks of the programs in docs/c.md, built against an installed tree and run by the commands of the page."""
import os
import sys

from tools import blocks_of, run

RANKS = 4


def check_program(arguments, folder, prefix, language, commands, file, last):
    """Program and commands are the first block of a language and a block of sh. All ranks print the sum of `last`."""
    page = arguments.source / "docs" / "c.md"
    (folder / file).write_text(blocks_of(page, language)[0], encoding="utf-8")
    installed = folder / "local"  # without the space in the name of the prefix
    installed.symlink_to(prefix)
    libraries = str(installed / arguments.libdir)
    environment = os.environ | {"PATH": f"{installed}/bin:{os.environ['PATH']}", "CPATH": f"{installed}/include",
                                "LIBRARY_PATH": libraries, "LD_LIBRARY_PATH": libraries}
    output = run("sh", "-ec", commands.replace("/usr/local", str(installed)), cwd=folder, env=environment)
    expected = [f"rank {rank} of {RANKS}: {last * RANKS}" for rank in range(RANKS)]
    if sorted(output.splitlines()) != expected:
        sys.exit(f"the program of docs/c.md in {language} printed:\n{output}")


def check_c(arguments, folder, prefix):
    commands = blocks_of(arguments.source / "docs" / "c.md", "sh")[0]
    check_program(arguments, folder, prefix, "c", commands, "sum.c", 999)


def check_fortran(arguments, folder, prefix):
    commands = blocks_of(arguments.source / "docs" / "c.md", "sh")[1]
    check_program(arguments, folder, prefix, "fortran", commands, "total.f90", 1000)
