"""Drawing: a :class:`Chart` becomes an SVG element to stand inside an HTML page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from markupsafe import escape
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from sluice.report import units
from sluice.report.charts import DECADES, MIB, Chart, Image, Series

PALETTE = 8
BAND_WIDTH, LINE_WIDTH = 6.5, 1.9
BAND_ALPHA = 0.38
# What is drawn as pixels cannot follow the page's palette.
HEAT_RGB = (0.85, 0.33, 0.1)
# The weakest colour is of so many times fewer misses than the strongest.
HEAT_DECADES = 1e3
# Sizes along an axis, at most.
_PLACES = 7
_MARKERS = ("o", "s", "^", "D")
# The markers in the key of a page, whose lines have no points while each has a colour of its own.
POINTS = ("", "M11 2h8v8h-8z", "M15 1l5 9h-10z", "M15 1l5 5-5 5-5-5z")
# Points along a line whose colour another line has, as a share of the picture.
_MARK_EVERY = 0.1
_DASHES = {"solid": "-", "dashed": (0, (5, 2.5)), "dotted": (0, (1.2, 2)),
           "dashdot": (0, (6, 2, 1.2, 2))}

# Matplotlib writes fixed colours; these stand for the page's own, which follow light and dark.
_STAND_INS = {"#fe0001": "var(--ink)", "#fe0002": "var(--muted)", "#fe0003": "var(--rule)",
              "#fe0004": "var(--shade)"}
_STAND_INS |= {f"#fd00{index:02x}": f"var(--c{index})" for index in range(PALETTE)}
INK, _MUTED, _RULE, _SHADE = list(_STAND_INS)[:4]

_STYLE: dict[Any, object] = {
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 12,
    # Names of users' are drawn as they are: between two dollars there would be a formula.
    "text.parse_math": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": _MUTED,
    "axes.linewidth": 0.8,
    "xtick.color": _MUTED,
    "ytick.color": _MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": _RULE,
    "grid.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "path.simplify": True,
    "path.simplify_threshold": 0.4,
}


@dataclass(frozen=True)
class Shape:
    """A size to draw for, in points: the same figure is drawn once for each."""

    name: str
    width: int
    height: int


SHAPES = (Shape("wide", 600, 350), Shape("narrow", 350, 300))


# What the pictures of pages are drawn in, by the names of their variables.
_NAMES = {"#ffffff": "paper", "#000000": "ink", "#1c2330": "ink", "#808080": "muted",
          "#5c6675": "muted", "#b0b0b0": "rule", "#1f77b4": "c0", "#d95f02": "c1"}
_SCHEMES = """
:root { --paper: #fff; --ink: #1c2330; --muted: #5c6675; --rule: #a8b0bb;
  --c0: #1f77b4; --c1: #c25400; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #12161d; --ink: #e7ebf1; --muted: #9aa6b6; --rule: #55606f;
    --c0: #4aa8e8; --c1: #ff8a3c; }
}
text { fill: var(--ink); }
"""


def draw(chart: Chart, shape: Shape) -> str:
    """One ``<svg>`` element without ids that another figure on the page could share."""
    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        _axes(axes, chart, shape)
        for line in chart.series:
            _line(axes, line)
        if chart.image:
            _image(figure, axes, chart, chart.image)
        _marks(axes, chart)

    return element(f"{chart.slug}-{shape.name}", chart.title, (shape.width, shape.height), paint)


def colour(index: int) -> str:
    """Stands for a colour of the page's palette while drawing."""
    return f"#fd00{index % PALETTE:02x}"


def brief(text: str, most: int) -> str:
    """A label in so many characters at most, without its middle: a longer one would leave a picture
    no room."""
    left = (most - 1) // 2
    return text if len(text) <= most else f"{text[:left]}…{text[left + 1 - most:]}"


def marker(index: int) -> str:
    """The form of a point: points of one colour have different ones."""
    return _MARKERS[index // PALETTE % len(_MARKERS)]


def legend(axes: Axes, lines: Sequence[Line2D], names: Sequence[str]) -> None:
    """A key of these lines; one that Matplotlib makes itself leaves out names such as ``_a``."""
    made = axes.legend(lines, [str(number) for number in range(len(names))], frameon=False)
    for text, name in zip(made.get_texts(), names, strict=True):
        text.set_text(name)


def element(name: str, label: str, size: tuple[int, int],
            paint: Callable[[Figure], None]) -> str:
    """What ``paint`` draws, as one ``<svg>`` element of the class that ``name`` ends with."""
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(size[0] / 72, size[1] / 72), layout="constrained")
        paint(figure)
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    return _inline(out.getvalue(), name, label)


def _image(figure: Figure, axes: Axes, chart: Chart, image: Image) -> None:
    """Cells in one colour, the stronger the more: it stands out from a light and a dark page."""
    cells = np.ma.masked_less_equal(image.cells, 0)
    high = float(cells.max())
    low = max(float(cells.min()), high / HEAT_DECADES)
    # Where all cells are alike each has the strongest colour, not the weakest.
    scale = LogNorm(low if low < high else high / 10, high)
    steps = [(*HEAT_RGB, alpha) for alpha in np.linspace(0.12, 1, 64)]
    colours = ListedColormap(steps).with_extremes(bad=(0, 0, 0, 0))
    drawn = axes.imshow(cells, origin="lower", aspect="auto", interpolation="nearest", cmap=colours,
                        norm=scale, extent=(chart.x_range[0], image.until, *chart.y_range))
    axes.grid(visible=False)
    bar = figure.colorbar(drawn, ax=axes, pad=0.02, fraction=0.045)
    bar.outline.set_visible(False)
    bar.ax.minorticks_off()
    numbers(bar.ax.yaxis)
    bar.set_label(image.scale)


def _line(axes: Axes, line: Series) -> None:
    style: dict[str, Any] = {
        "color": colour(line.colour),
        "linewidth": BAND_WIDTH if line.band else LINE_WIDTH,
        "alpha": BAND_ALPHA if line.band else 1.0,
        "linestyle": _DASHES[line.dash],
        "zorder": 2 if line.band else 3,
        "solid_capstyle": "butt" if line.band else "round",
    }
    if line.marker:
        style |= {"marker": marker(line.colour), "markersize": 5.5}
    elif line.colour >= PALETTE and not line.band:
        style |= {"marker": marker(line.colour), "markersize": 5.5, "markevery": _MARK_EVERY}
    if line.step:
        style |= {"drawstyle": f"steps-{line.step}"}
    # A line that runs along 0 or 1 must not lose half its width to the clip.
    axes.plot(line.xs, line.ys, clip_on=not line.marker, **style)


def _axes(axes: Axes, chart: Chart, shape: Shape) -> None:
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    axes.grid(visible=True, which="major")
    axes.set_axisbelow(True)
    axes.tick_params(length=3)
    # The lowest word of the y axis and the first of the x axis share a corner.
    axes.tick_params(axis="x", pad=9)
    if chart.x_scale == "log":
        axes.set_xscale("log")
        _log_ticks(axes, chart.x_range, shape)
    elif chart.x_scale == "time":
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g} s"))
    else:
        axes.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))
    axes.set_xlim(*chart.x_range)
    if chart.y_scale == "log":
        axes.set_yscale("log")
        _share_ticks(axes, chart.y_range)
    elif chart.y_scale == "linear":
        axes.yaxis.set_major_locator(FixedLocator([0, 0.25, 0.5, 0.75, 1]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y * 100:.0f} %"))
    elif chart.y_scale == "mebibytes":
        least, most = (edge * MIB for edge in chart.y_range)
        places = [at / MIB for at in units.round_sizes(least, most, _PLACES)]
        axes.yaxis.set_major_locator(FixedLocator(places))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: units.size(y * MIB)))
    else:
        numbers(axes.yaxis)
    low, high = chart.y_range
    # Room above 100 % and below 0 %, so that a line there is seen whole.
    room = (high - low) * 0.02 if chart.y_scale == "linear" else 0
    if chart.image:
        axes.set_ylim(low, high)
    else:
        axes.set_ylim(low - room, high + room if room else high * 1.25)


def _log_ticks(axes: Axes, limits: tuple[float, float], shape: Shape) -> None:
    low, high = limits
    decades = np.log10(high / low)
    steps = (1, 2, 5) if decades <= (2.4 if shape.name == "wide" else 1.4) else (1,)
    every = max(1, int(np.ceil(decades / (12 if shape.name == "wide" else 6))))
    ticks = [m * 10.0**k for k in range(0, DECADES, every) for m in steps]
    axes.xaxis.set_major_locator(FixedLocator([t for t in ticks if low <= t <= high * 1.001]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: units.short_duration(x)))


def _share_ticks(axes: Axes, limits: tuple[float, float]) -> None:
    exponents = range(int(np.floor(np.log10(limits[0]))), 1)
    every = 1 + (len(exponents) - 1) // 7
    axes.yaxis.set_major_locator(FixedLocator([10.0**k for k in list(exponents)[::-every]]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda y, _: f"{y * 100:.10f}".rstrip("0").rstrip(".") + " %"))


def numbers(axis: Axis) -> None:
    """Numbers along an axis without an exponent, however large."""
    axis.set_major_formatter(FuncFormatter(
        lambda value, _: units.on_axis(value, max(map(abs, axis.get_view_interval())))))


def for_both_schemes(document: str) -> str:
    """A picture of its own file whose colours follow the reader's scheme, light or dark."""
    for colour_, name in _NAMES.items():
        document = document.replace(colour_, f"var(--{name})")
    head, _, rest = document.partition("<defs>")
    return f"{head}<style>{_SCHEMES}</style>\n <defs>{rest}"


def _marks(axes: Axes, chart: Chart) -> None:
    low, high = chart.x_range
    if chart.shade_below and low < chart.shade_below:
        axes.axvspan(low, min(chart.shade_below, high), color=_SHADE, zorder=0, linewidth=0)
    top = axes.get_ylim()[1]
    for x, what in chart.marks:
        if not low < x < high:
            continue
        axes.axvline(x, color=_MUTED, linewidth=1, linestyle=_DASHES["dashed"], zorder=1)
        # Above the plot: no curve can run through the words there.
        axes.annotate(what, (x, top), xytext=(0, 3), textcoords="offset points", ha="center",
                      va="bottom", fontsize=12, color=INK, annotation_clip=False)


def _inline(document: str, name: str, label: str) -> str:
    """The ``<svg>`` of a document: page colours, ids of its own, nothing from another place."""
    svg = document[document.index("<svg"):]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # Its style rule selects "*", which inside HTML would be the whole page.
    svg = re.sub(r"<style[^>]*>.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
    svg = re.sub(r'xlink:href="#([^"]+)"', rf'href="#{name}-\1"', svg)
    svg = re.sub(r"font: ([0-9.]+)px [^;\"]*", r"font-size: \1px", svg)
    svg = re.sub(r"font-family: [^;\"]*;?", "", svg)
    for stand_in, colour in _STAND_INS.items():
        svg = svg.replace(stand_in, colour)
    view = re.search(r'viewBox="[^"]+"', svg)
    body = svg[svg.index(">") + 1:]
    return f'<svg class="{name.rsplit("-", 1)[1]}" {view[0] if view else ""} role="img"' \
           f' aria-label="{escape(label)}" xmlns="http://www.w3.org/2000/svg">{body}'
