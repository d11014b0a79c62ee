"""Runs tutti sweep, and reads its files, for scripts that compare its times."""

import pathlib
import shlex
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "pages"))
from drawing import bytes_text  # noqa: E402, F401
from sweep_file import Malformed, Sweep, cells_in_csv, read_text  # noqa: E402, F401


class Unmeasured(Exception):
    """A sweep that failed; the message has the reason."""


def run_sweep(words):
    """Runs a command, given as a list of words, and hides its table."""
    try:
        done = subprocess.run(words, stdout=subprocess.DEVNULL, check=False)
    except OSError as error:
        raise Unmeasured(f"cannot run '{words[0]}': {error.strerror}") from None
    if done.returncode != 0:
        raise Unmeasured(f"'{shlex.join(words)}' failed with status {done.returncode}")


def measure(command, files):
    """Runs a sweep once for each file, with different orders of the rounds."""
    for seed, path in enumerate(files, 1):
        run_sweep([*shlex.split(command), "--seed", str(seed), "--json", path])


def add_cells(parser, collectives, begin, end, budget):
    """Declares the flags that select the measured and the printed cells."""
    parser.add_argument("-C", "--collective", default=collectives, help="a,b,...")
    parser.add_argument("-b", "--begin", default=begin, help="least bytes")
    parser.add_argument("-e", "--end", default=end, help="greatest bytes")
    parser.add_argument("-f", "--factor", default="4", help="factor between sizes")
    parser.add_argument("--budget", default=budget, help="time per size and algorithm")
    parser.add_argument("--pattern", default="isolated", help="or back_to_back, see tutti sweep")
    parser.add_argument("--worst", type=int, default=20, help="how many cells are listed at most")
    parser.add_argument("--json", action="store_true", help="print JSON")


def words_of(wanted):
    """The arguments of tutti sweep that measure these cells."""
    return ["-C", wanted.collective, "-b", wanted.begin, "-e", wanted.end, "-f", wanted.factor,
            "--budget", wanted.budget, "--pattern", wanted.pattern]
