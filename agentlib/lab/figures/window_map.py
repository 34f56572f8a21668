"""The window map: a rectangle for each block of a request, its area the block's tokens.

Blocks stand in their order, in rows from the top; below them the room that is still free. With
`history`, what the layers took away keeps its place and is hatched. Computes the layout and
nothing else: tokens are the estimate's, or in proportion to it. Not here: tokens over the turns
(charts).
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib.style
from matplotlib.patches import Patch, Rectangle

from agentlib.estimation import message_tokens
from agentlib.lab.figures.artists import COLUMNS, LOOKS
from agentlib.lab.figures.charts import DPI, WIDTH, Chart
from agentlib.messages import Message, blocks, kinds_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GONE: dict[str, Any] = {
    "facecolor": "#FFFFFF",
    "edgecolor": "#E69F00",
    "hatch": "//",
    "linewidth": 0,
}
ACROSS, _HIGH, _APART, _COLUMNS = 2.0, 1.5, 0.5, 72


@dataclass(frozen=True)
class Tile:
    """One block: its kind, its tokens, and the tokens that the layers took away from it."""

    kind: str
    tokens: float
    gone: float = 0.0


@dataclass(frozen=True)
class Box:
    """Where a tile is drawn: in units of which the window has `ACROSS` from left to right."""

    left: float
    top: float
    width: float
    height: float


def tiles(
    messages: Sequence[Message],
    history: Sequence[Message] | None = None,
    billed: int | None = None,
) -> list[Tile]:
    """The blocks of `messages` in order, each with what it had more of in `history`.

    `billed`: tokens that the API counted for the history; the estimates are scaled to them, and
    system prompt and tools, which are in that count, are spread over the blocks. Raises
    ValueError where the two do not pair off: after a compaction no block has its place.

    >>> tiles([{"role": "user", "content": "x" * 100}])
    [Tile(kind='user', tokens=30.0, gone=0.0)]
    """
    now, before = _weights(messages), _weights(messages if history is None else history)
    if len(now) != len(before):
        raise ValueError(
            f"{len(now)} blocks against {len(before)} in the history; the map compares a view "
            "with the messages it was made of, block by block"
        )
    scale = billed / sum(was for _, was in before) if billed else 1.0
    pairs = zip(now, before, strict=True)
    return [Tile(k, scale * size, scale * max(0.0, was - size)) for (k, size), (_, was) in pairs]


def _weights(messages: Iterable[Message]) -> list[tuple[str, float]]:
    alone: list[Message] = [{**m, "content": [block]} for m in messages for block in blocks(m)]
    return [(next(iter(kinds_of(one)))[0], message_tokens(one)) for one in alone]


def layout(areas: Sequence[float], width: float) -> list[Box]:
    """Boxes of these areas in rows as wide as `width`, in order; a row closes when it is worse.

    A row takes one more box as long as that makes its boxes squarer (Bederson, Shneiderman and
    Wattenberg's strip treemap, 2002).

    >>> layout([2, 2, 4], 2)
    [Box(left=0.0, top=0.0, width=1.0, height=2.0), Box(left=1.0, top=0.0, width=1.0, height=2.0), \
Box(left=0.0, top=2.0, width=2.0, height=2.0)]
    """
    rows: list[list[float]] = []
    for area in areas:
        if rows and _slenderness([*rows[-1], area], width) <= _slenderness(rows[-1], width):
            rows[-1].append(area)
        else:
            rows.append([area])
    boxes: list[Box] = []
    top = 0.0
    for row in rows:
        height, left = sum(row) / width, 0.0
        for area in row:
            boxes.append(Box(left, top, area / height if height else 0.0, height))
            left += boxes[-1].width
        top += height
    return boxes


def _slenderness(row: Sequence[float], width: float) -> float:
    """How far the boxes of a row are from squares, the large ones counting more; 1 is square."""
    height = sum(row) / width
    ratios = [(max(height**2 / a, a / height**2), a) for a in row if a]
    return sum(ratio * a for ratio, a in ratios) / sum(row) if ratios else float("inf")


def window_map(
    messages: Sequence[Message],
    *,
    window: int,
    history: Sequence[Message] | None = None,
    billed: int | None = None,
    title: str = "",
) -> Chart:
    """The map of one request: the whole frame is the window, `window` tokens."""
    return window_maps({title: messages}, window=window, history=history, billed=billed)


def window_maps(
    views: Mapping[str, Sequence[Message]],
    *,
    window: int,
    history: Sequence[Message] | None = None,
    billed: int | None = None,
) -> Chart:
    """Maps below each other, to the same scale; the names are their titles.

    `history`: what all the views were made of; `billed` as in `tiles`. Raises ValueError for no
    view.
    """
    if not views:
        raise ValueError("there is nothing to draw: no view")
    found = {name: tiles(view, history, billed) for name, view in views.items()}
    total = max(sum(t.tokens + t.gone for t in each) for each in found.values())
    plot = _HIGH * max(1.0, total / window)
    kinds = {t.kind for each in found.values() for t in each}
    entries = [Patch(label=kind, **look(kind)) for kind in LOOKS if kind in kinds]
    if any(t.gone for each in found.values() for t in each):
        entries.append(Patch(label="taken away", **GONE))
    foot = 0.15 + 0.22 * -(-len(entries) // COLUMNS)
    high = foot + len(found) * (plot + _APART)
    with matplotlib.style.context("default"):
        figure = Chart(figsize=(WIDTH, high), dpi=DPI, facecolor="white")
        for n, (name, each) in enumerate(found.items()):
            bottom = high - (n + 1) * (plot + _APART) + 0.1
            axes = figure.add_axes((0.02, bottom / high, 0.96, plot / high))
            _draw(axes, each, window, plot / _HIGH)
            axes.set_title(name, loc="left", fontsize=10, fontweight="bold")
        figure.legend(handles=entries, loc="lower left", ncols=COLUMNS, fontsize=9, frameon=False)
    return figure


def _draw(axes: "Axes", found: Sequence[Tile], window: int, height: float) -> None:
    axes.set(xlim=(0, ACROSS), ylim=(height, 0), xticks=[], yticks=[])
    areas = [ACROSS * (tile.tokens + tile.gone) / window for tile in found]
    for tile, box in zip(found, layout(areas, ACROSS), strict=True):
        share = tile.tokens / ((tile.tokens + tile.gone) or 1)
        full, corner = box.width * share, (box.left, box.top)
        # An artist, not a patch: the limits stand, and are not worked out anew for each.
        axes.add_artist(Rectangle(corner, full, box.height, **look(tile.kind)))
        if tile.gone:
            rest = (box.left + full, box.top)
            axes.add_artist(Rectangle(rest, box.width - full, box.height, **GONE))
        edge = Rectangle(corner, box.width, box.height, fill=False, linewidth=0.4)
        axes.add_artist(edge)
    axes.axhline(1.0, color="#111111", linewidth=3.5)  # the window ends here
    axes.set_title(f"black line: window {window:,}", loc="right", fontsize=9)


def look(kind: str) -> dict[str, Any]:
    look = LOOKS[kind]
    return {
        "facecolor": look.colour,
        "edgecolor": "#333333",
        "hatch": look.pattern or None,
        "linewidth": 0,
    }


def sentence(found: Sequence[Tile], window: int) -> str:
    """What a map shows, in words.

    >>> print(sentence([Tile("user", 10), Tile("placeholder", 5, 35)], 100))
    2 blocks, 15 tokens, 15% of the window of 100; 35 tokens taken away from
    1 block.
    """
    total, gone = sum(t.tokens for t in found), sum(t.gone for t in found)
    text = f"{_count(len(found))}, {total:,.0f} tokens, {100 * total // window:.0f}% of the window"
    text += f" of {window:,}"
    if less := sum(tile.gone > 0 for tile in found):
        text += f"; {gone:,.0f} tokens taken away from {_count(less)}"
    return textwrap.fill(text + ".", _COLUMNS)


def _count(number: int) -> str:
    return f"{number:,} block" + ("" if number == 1 else "s")
