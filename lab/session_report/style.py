"""The style of every figure, and how a figure becomes a picture.

Each kind of block keeps its colour and pattern through the whole course. The colours
are those of Okabe and Ito, which people can tell apart whatever their colour vision.
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

import io
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.textpath import TextPath
from matplotlib.ticker import MaxNLocator, StrMethodFormatter
from PIL import Image, ImageColor, ImageDraw

WIDTH = 7.2
DPI = 200
"""Inches, and pixels per inch: 1,440 pixels."""
SHOWN = 720
"""Pixels of the page that a picture takes: half of its own, so it is crisp on any
screen."""
LINE = 72
"""Characters of a printed line, as many as fit beside JupyterLab's file list."""
DARK = "#22272E"
GREY = "#5B6470"
RED = "#B23A24"
"""Ink, quiet ink, and the accent: the one thing that a picture is about."""
BLUE = "#2F5F9E"
PALE = "#BDD0E6"
OCHRE = "#D9A24B"
ROOM = "#B9E0D3"
"""Areas that are no kind of block."""

plain = matplotlib.style.context(["default", {"font.size": 9, "axes.labelsize": 10}])
"""Decorate a function that draws: it uses our sizes, whatever style the reader has
set."""


@dataclass(frozen=True)
class Look:
    """A colour and a pattern, so that no area depends on its colour alone."""

    colour: str
    pattern: str = ""

    def fill(self, edge: float = 0) -> dict[str, Any]:
        """Return keyword arguments for a filled area whose edge is so many points
        wide."""
        return {
            "fill": True,
            "facecolor": self.colour,
            "edgecolor": "#333333",
            "hatch": self.pattern or None,
            "hatch_linewidth": 0.6,
            "linewidth": edge,
        }


LOOKS: Mapping[str, Look] = {
    "system": Look("#CBCDD0"),
    "tools": Look("#7C838C"),
    "user": Look("#27406B"),
    "assistant": Look("#6F9BD8"),
    "thinking": Look("#AEE1F5"),
    "tool_use": Look("#74BBA2"),
    "tool_result": Look("#B07521"),
    "image": Look("#8F3F56"),
    "placeholder": Look("#FFFFFF", "////"),
    "summary": Look("#8757A8"),
}
"""The kinds of block, from the bottom of a stack to its top."""


NAMES = {kind: kind for kind in LOOKS} | {
    "system": "system prompt", "tools": "tools offered", "user": "user's words",
    "assistant": "model's words", "tool_use": "tool calls", "tool_result": "tool results",
    "image": "images", "placeholder": "placeholders",
}  # fmt: skip
"""What a picture calls the kinds."""


def ink_on(colour: str) -> str:
    """Return white for words on a dark colour, and ink for words on a light one.

    >>> ink_on("#27406B"), ink_on("#AEE1F5")
    ('white', '#22272E')
    """
    red, green, blue = ImageColor.getrgb(colour)[:3]
    return "white" if 3 * red + 6 * green + blue < 1_200 else DARK


@cache
def points(words: str) -> float:
    """Measure the width of words in points, at the size that labels have."""
    return TextPath((0, 0), words, size=9).get_extents().x1 if words else 0.0


def patches(looks: Mapping[str, Look]) -> list[Artist]:
    """Return an entry of the legend for each look, by name."""
    return [Patch(label=name, **look.fill()) for name, look in looks.items()]


taken_by: ContextVar["Callable[[Chart], bytes] | None"] = ContextVar(
    "taken_by", default=None
)
"""Who takes each picture in place of a PNG, such as what records the web pages."""


class Chart:
    """A matplotlib figure that a notebook shows as a picture. `height` is in inches.

    `title` is the picture's message.

    `png` draws the whole figure. Once artists have been given to `move`, it draws only
    these again, over the rest as it was: that is three times as quick.
    """

    def __init__(self, height: float, title: str = "") -> None:
        self.figure = Figure(figsize=(WIDTH, height), dpi=DPI, facecolor="white")
        looks: Any = {"fontsize": 13, "fontweight": "bold", "color": DARK, "va": "top"}
        self.headline = self.figure.text(0.014, 1 - 0.12 / height, title, **looks)
        self.page = FigureCanvasAgg(self.figure)
        self.height = height
        self.moving: list[Artist] = []
        self._ground: Any = None

    def frame(
        self,
        left: float,
        bottom: float,
        width: float,
        height: float,
        title: str = "",
        **looks: Any,
    ) -> Axes:
        """Add axes at a place in inches, with grid, title and thousands in the style.

        `looks`: limits and labels, as `Axes.set` takes them.
        """
        place = (
            left / WIDTH,
            bottom / self.height,
            width / WIDTH,
            height / self.height,
        )
        axes = self.figure.add_axes(place)
        axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=DARK)
        axes.grid(axis="y", color="#ECEEF0", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.xaxis.set_major_locator(MaxNLocator(10, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 4, 5, 10]))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.tick_params(labelsize=9, color=GREY, labelcolor=GREY)
        axes.xaxis.label.set_color(GREY)
        axes.yaxis.label.set_color(GREY)
        axes.spines[["left", "bottom"]].set_color(GREY)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set(**looks)
        return axes

    def cells(
        self, names: Sequence[str], columns: int, *place: float, title: str = ""
    ) -> Axes:
        """Add axes with a row for each name and a column for each compaction."""
        axes = self.frame(*place, title=title, xlabel="compaction")
        axes.set(xlim=(0.5, columns + 0.5), ylim=(len(names) - 0.5, -0.5))
        axes.set_xticks(range(1, columns + 1, 1 + columns // 20))
        axes.set_yticks(range(len(names)), names)
        axes.tick_params(length=0)
        axes.grid(False)
        axes.spines[["left", "bottom"]].set_visible(False)
        return axes

    def key(
        self, entries: Sequence[Artist] = (), *, left: float = 0.02, columns: int = 4
    ) -> None:
        """Put the legend at the foot of the figure.

        It has these entries, or else all artists whose label doesn't begin with "_",
        each once.
        """
        handles = {str(each.get_label()): each for each in entries}
        for axes in self.figure.axes if not entries else ():
            named = axes.get_legend_handles_labels()
            handles |= {label: each for each, label in zip(*named, strict=True)}
        self.figure.legend(
            handles=[*handles.values()], loc="lower left", bbox_to_anchor=(left, 0), ncols=columns,
            fontsize=9, frameon=False, handlelength=1.6, columnspacing=1.4,
        )  # fmt: skip

    def move(self, *artists: Artist) -> None:
        """Draw these artists, back to front, apart from the rest of the figure from now
        on."""
        self.moving = list(artists)
        self._ground = None
        for artist in artists:
            artist.set_animated(True)

    @plain
    def png(self) -> bytes:
        """Draw the figure as it is now. The same numbers give the same bytes."""
        if take := taken_by.get():
            return take(self)
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


def level(axes: Axes, name: str, size: float, va: str = "top", **line: Any) -> None:
    """Draw a line across, and write its name and its size at its right end."""
    axes.axhline(size, **line)
    looks: Any = {"color": line["color"], "linespacing": 1.1, "va": va}
    axes.text(
        1.015, size, f"{name}{size:,.0f}", transform=axes.get_yaxis_transform(), **looks
    )


def _palette() -> Image.Image:
    """Mix the colours of a picture: greys, and each colour on its way to white and to
    black."""
    named = [*(look.colour for look in LOOKS.values()), RED, BLUE, PALE, OCHRE, ROOM]
    pairs = product(map(ImageColor.getrgb, named), (0, 255))
    mixed = [np.linspace(end, colour, 8)[1:] for colour, end in pairs]
    greys = [[grey, grey, grey] for grey in (*range(0, 252, 6), 255)]
    image = Image.new("P", (1, 1))
    image.putpalette(
        np.rint(np.vstack([greys, *mixed, [255, 255, 255]])).astype("u1").tobytes()
    )
    return image


_PALETTE = _palette()
_CLEAR = len(_PALETTE.getpalette() or ()) // 3 - 1
"""The last entry of the palette: a second white, which no pixel gets by its colour."""


@cache
def _corners(size: tuple[int, int]) -> Image.Image:
    mask = Image.new("1", size, 1)
    (right, bottom) = size
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, right - 1, bottom - 1), 20, fill=0)
    return mask


def encoded(page: FigureCanvasAgg) -> bytes:
    """The pixels as PNG with a palette: a quarter of the bytes, and four times as
    quick.

    The corners are round and transparent, so that on a dark page a picture is a white
    card.
    """
    pixels: Any = page.buffer_rgba()
    picture = Image.frombuffer("RGBA", page.get_width_height(), pixels)
    buffer = io.BytesIO()
    few = picture.convert("RGB").quantize(palette=_PALETTE, dither=Image.Dither.NONE)
    few.paste(_CLEAR, mask=_corners(few.size))
    few.save(buffer, "png", compress_level=4, transparency=_CLEAR)
    return buffer.getvalue()


def cut(text: str, longest: int) -> str:
    """Cut a text to so many characters, and end what was cut with a mark.

    >>> cut("context", 7), cut("context window", 8)
    ('context', 'context…')
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def wrapped(text: str, indent: str = "") -> str:
    """Break a sentence into printed lines; those after the first begin with
    `indent`.

    A number stays on the line of its sign.

    >>> wrapped("x" * 69 + " 98 %") == "x" * 69 + "\\n98 %"
    True
    """
    tied = re.sub(r"(?<=\d) (?=[%¢])", "\u00a0", text)
    lines = textwrap.fill(tied, LINE, subsequent_indent=indent, break_on_hyphens=False)
    return lines.replace("\u00a0", " ")
