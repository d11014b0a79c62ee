"""Common parts of scripts that use matplotlib: finding it, and writing a picture."""

import collections
import io
import os
import re
import sys

from drawing import NAME, write

SYSTEM_PYTHON = "/usr/bin/python3"  # may have packages that the user's Python lacks

try:
    import matplotlib
except ModuleNotFoundError:
    if os.path.exists(SYSTEM_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(
            SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
    sys.exit(f"{NAME} needs matplotlib: apt-get install python3-matplotlib")

matplotlib.use("Agg")  # no display is needed

import matplotlib.pyplot as plt  # noqa: E402

plt.rcParams.update({"font.family": "DejaVu Sans", "font.size": 9, "svg.fonttype": "none",
                     "svg.hashsalt": "tutti", "hatch.linewidth": 0.8, "axes.edgecolor": "#999999"})


def compact(svg):
    """The same picture in a fifth of the bytes: coordinates of a tenth of a point, classes of style."""
    for names, digits in (("d|points|transform|x|y", 1), ("style", 2)):
        svg = re.sub(rf' (?:{names})="[^"]*"',
                     lambda match: re.sub(rf"(\.\d{{{digits}}})\d+", r"\1", re.sub(r"\s+", " ", match[0])), svg)
    svg = re.sub(r" <metadata>.*?</metadata>\n|\n? *<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    for _ in range(3):  # groups within groups
        svg = re.sub(r"<g>\n *(<[^\n]*)\n *</g>", r"\1", svg)
    svg = re.sub(r' transform="rotate\(-0 [^"]*"', "", svg)
    svg = re.sub(r'clip-path="([^"]*)" style="', r'style="clip-path: \1; ', svg)
    uses = collections.Counter(re.findall(r' style="([^"]*)"', svg))
    classes = {style: f"c{i}" for i, (style, times) in enumerate(uses.items()) if times > 2}
    svg = re.sub(r' style="([^"]*)"',
                 lambda match: f' class="{classes[match[1]]}"' if match[1] in classes else match[0], svg)
    rules = "".join(f".{name}{{{style}}}" for style, name in classes.items())
    return re.sub(r"(?m)^ +", "", svg.replace("</style>", rules + "</style>", 1))


def save(figure, target, **options):
    """Writes the picture, and leaves no partial file. Returns the exit status."""
    kind = os.path.splitext(target)[1][1:] or None
    picture = io.BytesIO()
    figure.savefig(picture, dpi=150, format=kind, **options)
    data = picture.getvalue()
    if kind == "svg":
        data = compact(data.decode()).encode()
    return write(data, target)
