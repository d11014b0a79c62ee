"""What scripts that draw with matplotlib share: finding it, and writing a picture."""

import os
import sys

from drawing import CANNOT_WRITE

SYSTEM_PYTHON = "/usr/bin/python3"  # a user's own often lacks what the system's has
NAME = os.path.basename(sys.argv[0])

try:
    import matplotlib
except ModuleNotFoundError:
    if os.path.exists(SYSTEM_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(
            SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
    sys.exit(f"{NAME} needs matplotlib: apt-get install python3-matplotlib")

matplotlib.use("Agg")  # no display is needed

import matplotlib.pyplot as plt  # noqa: E402

plt.rcParams.update({"font.family": "DejaVu Sans", "font.size": 9, "svg.fonttype": "path",
                     "svg.hashsalt": "tutti", "hatch.linewidth": 0.8, "axes.edgecolor": "#999999"})


def save(figure, target):
    """Writes the picture, and leaves no half one. Returns the exit status."""
    opened = False
    kind = os.path.splitext(target)[1][1:] or None
    dateless = {"Date": None} if kind == "svg" else None  # equal inputs, equal files
    try:
        with open(target, "wb") as file:
            opened = True
            figure.savefig(file, dpi=150, format=kind, metadata=dateless)
    except OSError as error:
        if opened and os.path.isfile(target):  # and no device
            os.remove(os.path.realpath(target))
        print(f"{NAME}: cannot write '{target}': {error.strerror}", file=sys.stderr)
        return CANNOT_WRITE
    return 0


def read_text(source):
    """All of a file, or of the standard input where it is called -."""
    if source == "-":
        return sys.stdin.read()
    with open(source, encoding="utf-8") as file:
        return file.read()
