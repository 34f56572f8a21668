"""The style of every figure, and how a figure becomes a picture.

Each kind of block keeps its colour and pattern through the whole course. The colours are those of
Okabe and Ito, which people can tell apart whatever their colour vision.
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

import io
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import matplotlib.style
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, StrMethodFormatter
from PIL import Image, ImageColor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, DPI = 7.2, 200
"""Inches, and pixels per inch: 1,440 pixels."""
SHOWN = 720
"""Pixels of the page that a picture takes: half of its own, so it is crisp on any screen."""
COLUMNS = 4
"""Columns of a legend."""
LINE = 72
"""Characters of a printed line, as many as fit beside JupyterLab's file list."""
DARK, RED, ROOM = "#111111", "#A02C00", "#B9E0D3"
GHOST: Any = {"color": "#555555", "gapcolor": "white", "linestyle": (0, (1, 1)), "linewidth": 2.0}
"""The line of the same session with nothing forgotten."""

plain = matplotlib.style.context("default")
"""Decorate a function that draws: it uses matplotlib's own style, whatever the reader has set."""


@dataclass(frozen=True)
class Look:
    """A colour and a pattern, so that no area depends on its colour alone."""

    colour: str
    pattern: str = ""

    def fill(self, edge: float = 0) -> dict[str, Any]:
        """Return keyword arguments for a filled area whose edge is so many points wide."""
        return {
            "fill": True,
            "facecolor": self.colour,
            "edgecolor": "#333333",
            "hatch": self.pattern or None,
            "hatch_linewidth": 0.6,
            "linewidth": edge,
        }


LOOKS: Mapping[str, Look] = {
    "system": Look("#8C8C8C"),
    "tools": Look("#D0D0D0", "////"),
    "user": Look("#D55E00"),
    "assistant": Look("#0072B2"),
    "thinking": Look("#56B4E9", "++++"),
    "tool_use": Look("#009E73", "\\\\\\\\"),
    "tool_result": Look("#E69F00"),
    "image": Look("#CC79A7", "xxxx"),
    "placeholder": Look("#FFFFFF", "...."),
    "summary": Look("#F0E442", "----"),
}
"""The kinds of block, from the bottom of a stack to its top."""


def patches(looks: Mapping[str, Look], edge: float = 0) -> list[Artist]:
    """Return an entry of the legend for each look, by name."""
    return [Patch(label=name, **look.fill(edge)) for name, look in looks.items()]


def kinds_in(shown: Collection[str]) -> list[Artist]:
    """Return an entry of the legend for each of these that is a kind of block, in their order."""
    return patches({kind: look for kind, look in LOOKS.items() if kind in shown})


class Chart:
    """A matplotlib figure that a notebook shows as a picture. `height` is in inches.

    `png` draws the whole figure. Once artists have been given to `move`, it draws only these
    again, over the rest as it was.
    """

    def __init__(self, height: float) -> None:
        self.figure = Figure(figsize=(WIDTH, height), dpi=DPI, facecolor="white")
        self.page, self.height = FigureCanvasAgg(self.figure), height
        self.moving: list[Artist] = []
        self._ground: Any = None

    def frame(self, left: float, bottom: float, width: float, height: float, title: str) -> "Axes":
        """Add axes at a place given in inches, with grid, title and thousands in the style."""
        place = (left / WIDTH, bottom / self.height, width / WIDTH, height / self.height)
        axes = self.figure.add_axes(place)
        axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
        axes.grid(axis="y", color="#E4E4E4", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.xaxis.set_major_locator(MaxNLocator(10, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 4, 5, 10]))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.tick_params(labelsize=9)
        axes.spines[["top", "right"]].set_visible(False)
        return axes

    def key(self, entries: Sequence[Artist], left: float = 0.02) -> None:
        """Put the legend at the foot of the figure."""
        self.figure.legend(
            handles=entries, loc="lower left", bbox_to_anchor=(left, 0), ncols=COLUMNS,
            fontsize=9, frameon=False, handlelength=1.6, columnspacing=1.4,
        )  # fmt: skip

    def move(self, artists: Iterable[Artist]) -> None:
        """Draw these artists, back to front, apart from the rest of the figure from now on."""
        self.moving, self._ground = list(artists), None
        for artist in self.moving:
            artist.set_animated(True)

    @plain
    def png(self) -> bytes:
        """Draw the figure as it is now. The same numbers give the same bytes."""
        if self._ground is None or not self.moving:
            self.page.draw()
            self._ground = self.page.copy_from_bbox(self.figure.bbox)
        self.page.restore_region(self._ground)
        for artist in self.moving:
            artist.draw(self.page.get_renderer())
        return encoded(self.page)

    def __repr__(self) -> str:
        return f"<Chart {SHOWN} x {round(SHOWN * self.height / WIDTH)}>"

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        return self.png(), {"width": SHOWN}


def _palette() -> Image.Image:
    """Mix the colours of a picture: greys, and each colour on its way to white and to black."""
    colours = [(grey, grey, grey) for grey in (*range(0, 252, 4), 255)]
    named = {look.colour for look in LOOKS.values()} | {RED, ROOM}
    for name in sorted(named):
        for end, tenth in product((255, 0), range(1, 11)):
            parts = ImageColor.getrgb(name)
            red, green, blue = (round(end + tenth / 10 * (part - end)) for part in parts)
            if len({red, green, blue}) > 1 and min(red, green, blue) < 244:
                colours.append((red, green, blue))
    image = Image.new("P", (1, 1))
    image.putpalette([part for colour in colours for part in colour])
    return image


_PALETTE = _palette()


def encoded(page: FigureCanvasAgg) -> bytes:
    """The pixels as PNG with a palette: a quarter of the bytes, and four times as quick."""
    pixels: Any = page.buffer_rgba()
    picture = Image.frombuffer("RGBA", page.get_width_height(), pixels)
    buffer = io.BytesIO()
    few = picture.convert("RGB").quantize(palette=_PALETTE, dither=Image.Dither.NONE)
    few.save(buffer, "png", compress_level=4)
    return buffer.getvalue()


def many(count: int, thing: str) -> str:
    """Count things in words.

    >>> many(1, "turn"), many(2_000, "turn")
    ('1 turn', '2,000 turns')
    """
    return f"{count:,} {thing}" + ("" if count == 1 else "s")


def wrapped(text: str, indent: str = "") -> str:
    """Break a sentence into printed lines; those after the first begin with `indent`."""
    return textwrap.fill(text, LINE, subsequent_indent=indent, break_on_hyphens=False)
