"""Common parts of all pictures and pages: colours, numbers for people, files, errors."""

import os
import sys

from sweep_file import Malformed, read_text

NAME = os.path.basename(sys.argv[0])

# Okabe and Ito's colours, which people with any colour vision can distinguish, and some more.
COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#999933",
          "#6a3d9a", "#117733", "#aa4499", "#b15928"]
NATIVE_COLOR = "#222222"
AUTO_COLOR = "#777777"
CANNOT_WRITE = 4  # exit status


def bytes_text(value, _position=None, digits=4):
    """8, 64K, 4M."""
    for unit in ("", "K", "M", "G"):
        if value < 1024:
            return f"{value:.{digits}g}{unit}"
        value /= 1024
    return f"{value:.{digits}g}T"


def time_text(value, _position=None):
    """1 us, 20 ms, 3 s."""
    for scale, unit in ((1e6, "s"), (1e3, "ms"), (1, "us")):
        if value >= scale * 0.9995:
            return f"{value / scale:.4g} {unit}"
    return f"{value * 1e3:.4g} ns"


def rate_text(value, _position=None):
    """2 GB/s, 30 MB/s."""
    for scale, unit in ((1, "GB/s"), (1e-3, "MB/s"), (1e-6, "kB/s")):
        if value >= scale * 0.9995:
            return f"{value / scale:.4g} {unit}"
    return f"{value * 1e9:.4g} B/s"


def write(data, target):
    """Writes a file, and leaves no partial one. Returns the exit status."""
    opened = False
    try:
        with open(target, "wb") as file:
            opened = True
            file.write(data)
    except OSError as error:
        if opened and os.path.isfile(target):  # not a device
            os.remove(os.path.realpath(target))
        print(f"{NAME}: cannot write '{target}': {error.strerror}", file=sys.stderr)
        return CANNOT_WRITE
    return 0


def convert(arguments, usage, make, save):
    """Reads a file, makes a picture or a page of its text, and saves that. Returns the exit status."""
    if len(arguments) != 2:
        print(f"usage: {NAME} {usage}", file=sys.stderr)
        return 2
    source, target = arguments
    try:
        made = make(read_text(source), source)
    except Malformed as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        return 2
    if made is None:
        print(f"{NAME}: '{source}' has nothing to show", file=sys.stderr)
        return 2
    return save(made, target)
