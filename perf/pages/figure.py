"""Figures of a page, as SVG: lines over scales, bars, texts. A page needs no library to show them.

A click on a name in the legend hides its marks, and a button shows the marks that a figure leaves out at first.
`STYLE` and `SCRIPT` belong to the page.
"""

import html
import math

WIDTH = 980
RIGHT = 14
DASHES = {"solid": "", "dash": "6 3", "dot": "2 3", "dashdot": "6 3 2 3"}

STYLE = """
.figure { position: relative; } .figure svg { width: 100%; height: auto; display: block; }
.figure text { font: 11px system-ui, sans-serif; fill: #333; } .figure text.title { font-size: 12px; }
.legend { font-size: 12px; margin: .2rem 0; }
.legend button { font: inherit; background: none; border: 0; cursor: pointer; padding: 0 .7rem 0 0; white-space: nowrap; }
.legend svg { width: 26px; height: 10px; display: inline-block; vertical-align: middle; margin-right: 3px; }
.legend button.switch { border: 1px solid #999; border-radius: 3px; padding: 0 .5rem; }
.figure:not(.all) .more, .figure .off { display: none; } .legend .struck { opacity: .35; }
.tip { position: absolute; background: #222; color: #fff; font-size: 12px; padding: 1px 6px; border-radius: 3px;
       pointer-events: none; white-space: nowrap; }
.tip:empty { display: none; }
"""

SCRIPT = """
document.querySelectorAll('.figure').forEach(figure => {
  figure.addEventListener('click', event => {
    const key = event.target.closest('button');
    if (!key) return;
    if (key.className.includes('switch')) {
      figure.classList.toggle('all');
      [key.textContent, key.dataset.other] = [key.dataset.other, key.textContent];
      return;
    }
    key.classList.toggle('struck');
    figure.querySelectorAll(`[data-line="${key.dataset.key}"]`).forEach(mark => mark.classList.toggle('off'));
  });
  const tip = figure.querySelector('.tip');
  figure.addEventListener('mousemove', event => {
    const mark = event.target.closest('[data-tip]');
    tip.textContent = mark ? mark.dataset.tip : '';
    const place = figure.getBoundingClientRect();
    const left = event.clientX - place.left;
    tip.style.left = `${left > place.width / 2 ? left - 12 - tip.offsetWidth : left + 12}px`;
    tip.style.top = `${event.clientY - place.top + 12}px`;
  });
});
"""


def escaped(text):
    """A text as part of an element or of an attribute."""
    return html.escape(str(text), quote=True)


def log_ticks(low, high):
    """1, 2, 5, 10, ... or, over many decades, only powers of 10, or, within one decade, more of them."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low <= 1000 else (1,)
    if high / low <= 10:
        steps = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
    ticks = [step * 10.0 ** decade for decade in decades for step in steps]
    return [tick for tick in ticks if low <= tick <= high]


def linear_ticks(high):
    """0 and round numbers, at most ten."""
    step = 10.0 ** math.floor(math.log10(high / 5))
    step *= next(factor for factor in (1, 2, 5, 10) if high / (step * factor) <= 9)
    return [step * i for i in range(int(high / step) + 1)]


class Scale:
    """Maps values to pixels."""

    def __init__(self, low, high, start, end, is_log=False):
        self.low, self.high, self.is_log = low, high, is_log
        self.start, self.end = start, end

    def __call__(self, value):
        """The pixel of a value. Values beyond the ends are cut off."""
        value = min(max(value, self.low), self.high)
        low, high = self.low, self.high
        if self.is_log:
            value, low, high = math.log(value), math.log(low), math.log(high)
        share = (value - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 1)


class Figure:
    """An SVG with axes that a caller draws on. x and y are scales of values."""

    def __init__(self, x, y, height):
        self.x, self.y, self.height = x, y, height
        self.parts = []
        self.keys = []  # (name, sample, is left out at first)

    def key(self, name, style, more=False):
        """Adds a name to the legend. Returns its number, for marks."""
        self.keys.append((name, sample_of(style), more))
        return len(self.keys) - 1

    def trace(self, key, parts):
        """Marks that belong to a name of the legend."""
        more = " more" if self.keys[key][2] else ""
        self.parts.append(f'<g class="trace{more}" data-line="{key}">{"".join(parts)}</g>')

    def ticks_of_x(self, ticks, title, grid=True):
        """(value, text) below the lower end of y."""
        bottom, top = max(self.y.start, self.y.end), min(self.y.start, self.y.end)
        self._ticks_below(ticks, bottom, top if grid else bottom)
        self.parts.append(text_at((self.x.start + self.x.end) / 2, self.height - 6, title, "middle", "title"))

    def _ticks_below(self, ticks, bottom, top):
        for value, text in ticks:
            left = self.x(value)
            self.parts.append(line_at(left, top, left, bottom, "#e3e3e3"))
            self.parts.append(text_at(left, bottom + 14, text, "middle", "xtick"))

    def ticks_of_y(self, ticks, title):
        """(value, text) to the left of the lower end of x."""
        for value, text in ticks:
            self.parts.append(line_at(self.x.start, self.y(value), self.x.end, self.y(value), "#e3e3e3"))
            self.parts.append(text_at(self.x.start - 6, self.y(value) + 4, text, "end", "ytick"))
        middle = (self.y.start + self.y.end) / 2
        self.parts.append(f'<g transform="translate(12 {middle}) rotate(-90)">'
                          f'{text_at(0, 0, title, "middle", "title")}</g>')

    def picture(self, switch=None):
        """The figure as a part of the page. switch: texts of the button that shows all, and of the same
        button afterwards."""
        keys = "".join(
            f'<button class="key{" more" if more else ""}" data-key="{number}">{sample}{escaped(name)}</button>'
            for number, (name, sample, more) in enumerate(self.keys))
        if switch and any(more for _, _, more in self.keys):
            keys += f'<button class="switch" data-other="{escaped(switch[1])}">{escaped(switch[0])}</button>'
        return (f'<div class="figure"><div class="legend">{keys}</div>'
                f'<svg viewBox="0 0 {WIDTH} {self.height}" role="img">{"".join(self.parts)}</svg>'
                f'<div class="tip"></div></div>')


def line_at(x0, y0, x1, y1, color, dash="solid", width=1.0):
    """A straight line between pixels."""
    return (f'<line x1="{x0}" y1="{y0}" x2="{x1}" y2="{y1}" stroke="{color}" stroke-width="{width}" '
            f'stroke-dasharray="{DASHES[dash]}"/>')


def text_at(x, y, text, anchor="start", kind=""):
    """A text at pixels."""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" class="{kind}">{escaped(text)}</text>'


def rectangle(x0, y0, x1, y1, color, tip="", opacity=1.0):
    """A filled rectangle between pixels."""
    return (f'<rect x="{min(x0, x1):g}" y="{min(y0, y1):g}" width="{abs(x1 - x0):g}" height="{abs(y1 - y0):g}" '
            f'fill="{color}" fill-opacity="{opacity}"{tip_of(tip)}/>')


def polyline(points, style, width=1.7):
    """A line through pixels."""
    return (f'<polyline fill="none" stroke="{style["color"]}" stroke-width="{width}" '
            f'stroke-opacity="{style.get("opacity", 1)}" stroke-dasharray="{DASHES[style["dash"]]}" '
            f'points="{" ".join(f"{x},{y}" for x, y in points)}"/>')


def band(points, color):
    """The area between (x, low, high) in pixels; of one point, a line."""
    if len(points) == 1:
        x, low, high = points[0]
        return line_at(x, low, x, high, color)
    outline = [(x, low) for x, low, _ in points] + [(x, high) for x, _, high in reversed(points)]
    return (f'<polygon fill="{color}" fill-opacity="0.13" '
            f'points="{" ".join(f"{x},{y}" for x, y in outline)}"/>')


def mark(x, y, style, tip=""):
    """A symbol at pixels, with a text under the pointer."""
    color, r = style["color"], 3
    shape = {"circle": f'<circle cx="{x}" cy="{y}" r="{r}" fill="{color}"/>',
             "x": f'<path d="M{x - r} {y - r}l6 6m0 -6l-6 6" stroke="{color}" stroke-width="1.6"/>',
             "bar": f'<path d="M{x} {y - 8}v16" stroke="{color}" stroke-width="2.5"/>',
             "diamond": f'<path d="M{x} {y - 4}l4 4l-4 4l-4 -4z" fill="{color}"/>',
             "diamond-open": f'<path d="M{x} {y - 4}l4 4l-4 4l-4 -4z" fill="#fff" stroke="{color}"/>'}
    return (f'<g class="point"{tip_of(tip)}>{shape[style["symbol"]]}'
            f'<circle cx="{x}" cy="{y}" r="9" fill-opacity="0"/></g>')


def tip_of(tip):
    """The attribute with the text under the pointer."""
    return f' data-tip="{escaped(tip)}"' if tip else ""


def sample_of(style):
    """A small picture of a style, for the legend."""
    parts = []
    if style.get("dash"):
        parts.append(line_at(0, 5, 26, 5, style["color"], style["dash"], 1.7))
    elif not style.get("symbol"):
        parts.append(rectangle(4, 0, 22, 10, style["color"]))
    if style.get("symbol"):
        parts.append(mark(13, 5, style))
    return f'<svg viewBox="0 0 26 10">{"".join(parts)}</svg>'
