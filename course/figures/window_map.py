"""The window map: a rectangle for each block of a request, its area the block's tokens.

Blocks stand in reading order, in rows from the top. Below them is the room that is
still free. What the layers took away keeps its place and is hatched. The largest block
of a kind has its name.
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.transforms import Bbox, BboxTransformTo

from agentlib.estimation import breakdown, message_tokens
from agentlib.messages import Message, blocks, kinds_of
from agentlib.transcripts import Session
from session_report import style
from session_report.amounts import many
from session_report.style import DARK, GREY, LOOKS, NAMES, RED, WIDTH, Chart

_GONE: Any = {
    "facecolor": "#FFFFFF",
    "edgecolor": "#C9A96B",
    "hatch": "//",
    "linewidth": 0,
}
_TAKEN = "taken away"
_WORDS: Any = {"va": "center", "ha": "center", "color": DARK,
               "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 1.5}}  # fmt: skip
ACROSS = 2.0
_APART = 0.5
_HIGH = 1.5


@dataclass(frozen=True)
class Tile:
    """One block: its kind, its tokens, and the tokens that the layers took away from
    it."""

    kind: str
    tokens: float
    gone: float = 0.0


def tiles(
    messages: Sequence[Message],
    history: Sequence[Message] | None = None,
    billed: int | None = None,
    session: Session | None = None,
) -> list[Tile]:
    """List the blocks of `messages` in order, each with what it had more of in
    `history`.

    `session`: its system prompt and tools come first. The sizes are estimates.
    `billed`: tokens that the API counted for the request with the history. The
    estimates are scaled to them. Raises ValueError if the two don't have the same
    blocks: after a compaction no block has its place.

    >>> tiles([{"role": "user", "content": "x" * 100}])
    [Tile(kind='user', tokens=30.0, gone=0.0)]
    """
    now = _weights(messages)
    before = _weights(messages if history is None else history)
    if len(now) != len(before):
        raise ValueError(
            f"{len(now)} blocks against {len(before)} in the history; the map compares a view "
            "with the messages it was made of, block by block"
        )
    shared = (
        breakdown([], system=session.system, tools=session.tools) if session else {}
    )
    base = [(kind, size) for kind, size in shared.items() if size]
    scale = billed / sum(size for _, size in (*base, *before)) if billed else 1.0
    return [Tile(kind, scale * size) for kind, size in base] + [
        Tile(kind, scale * size, scale * max(0.0, whole - size))
        for (kind, size), (_, whole) in zip(now, before, strict=True)
    ]


def _weights(messages: Iterable[Message]) -> list[tuple[str, float]]:
    alone: list[Message] = [
        {**m, "content": [block]} for m in messages for block in blocks(m)
    ]
    return [(next(iter(kinds_of(one)))[0], message_tokens(one)) for one in alone]


def layout(areas: Sequence[float], width: float) -> list[Bbox]:
    """Place boxes of these areas in rows of this width, in order. Heights grow
    downwards.

    A row takes one more box as long as that makes its boxes squarer (the strip treemap
    of Bederson, Shneiderman and Wattenberg, 2002).

    >>> print(*[[*map(float, box.bounds)] for box in layout([2, 2, 4], 2)])
    [0.0, 0.0, 1.0, 2.0] [1.0, 0.0, 1.0, 2.0] [0.0, 2.0, 2.0, 2.0]
    """
    rows: list[list[float]] = []
    for area in areas:
        if rows and _slenderness([*rows[-1], area], width) <= _slenderness(
            rows[-1], width
        ):
            rows[-1].append(area)
        else:
            rows.append([area])
    boxes = list[Bbox]()
    top = 0.0
    for row in rows:
        height = sum(row) / width
        left = 0.0
        for area in row:
            boxes.append(
                Bbox.from_bounds(left, top, area / height if height else 0.0, height)
            )
            left = boxes[-1].x1
        top += height
    return boxes


def _slenderness(row: Sequence[float], width: float) -> float:
    """Measure how far the boxes of a row are from squares. Large ones count more; 1 is
    square."""
    height = sum(row) / width
    ratios = [(max(height**2 / a, a / height**2), a) for a in row if a]
    return sum(ratio * a for ratio, a in ratios) / sum(row) if ratios else float("inf")


def window_map(
    messages: Sequence[Message], window: int, title: str = "", **known: Any
) -> Chart:
    """Map one request. The other arguments are those of `tiles`."""
    return maps({title: tiles(messages, **known)}, window)


@style.plain
def maps(rows: Mapping[str, Sequence[Tile]], window: int) -> Chart:
    """Map tiles. Kinds too small for their names are in the legend."""
    top = max(
        1.0, *(sum(t.tokens + t.gone for t in row) / window for row in rows.values())
    )
    foot = 0.59
    plot = _HIGH * top
    chart = Chart(foot + len(rows) * (plot + _APART))
    for n, (name, row) in enumerate(rows.items(), 1):
        bottom = foot + (len(rows) - n) * (plot + _APART) + 0.1
        limits: Any = {
            "xlim": (0, ACROSS),
            "ylim": (top, 0),
            "xticks": [],
            "yticks": [],
        }
        axes = chart.frame(0.15, bottom, 6.9, plot, name, **limits)
        axes.spines[["top", "right"]].set_visible(True)
        _draw(axes, row, window)
    # Below the last map, because a title may be as wide as the picture.
    read = f"row by row; thick line: window of {window:,}"
    place: Any = {"ha": "right", "va": "top", "fontsize": 9, "color": GREY}
    chart.figure.text(7.05 / WIDTH, (foot + 0.06) / chart.height, read, **place)
    chart.key()
    return chart


def _draw(axes: Axes, row: Sequence[Tile], window: int) -> None:
    """Draw the tiles of a kind as one path. The legend has the kinds without room for a
    name."""
    boxes = layout(
        [ACROSS * (tile.tokens + tile.gone) / window for tile in row], ACROSS
    )
    full: dict[str, list[Bbox]] = {kind: [] for kind in (*LOOKS, _TAKEN)}
    for tile, box in zip(row, boxes, strict=True):
        part = tile.tokens / ((tile.tokens + tile.gone) or 1)
        kept, gone = box.splitx(part)
        if kept.width > 0.002:  # a pixel
            full[tile.kind].append(kept)
        if tile.gone:
            full[_TAKEN].append(gone)
    for kind, areas in full.items():
        if areas:
            label = f"_{kind}" if _named(axes, kind, areas) else NAMES.get(kind, kind)
            looks = _GONE if kind == _TAKEN else LOOKS[kind].fill()
            axes.add_patch(PathPatch(_path(areas), label=label, **looks))
    axes.add_artist(
        PathPatch(_path(boxes), facecolor="none", edgecolor="#333333", linewidth=0.4)
    )
    axes.axhline(1.0, color=DARK, linewidth=2.5, zorder=9)  # the window ends here
    if sum(tile.tokens for tile in row) > window:
        axes.axhspan(1.0, axes.get_ylim()[0], color=RED, alpha=0.5, zorder=8)


def _named(axes: Axes, kind: str, areas: Sequence[Bbox]) -> bool:
    """Write the name of a kind into its largest tile that is clear of the line, if it
    has room."""
    clear = [box for box in areas if box.y1 < 0.99 or box.y0 > 1]
    box = max(clear, key=lambda box: box.width * box.height, default=Bbox.null())
    name = NAMES.get(kind, kind)
    wide = 72 * 6.9 / ACROSS * box.width
    high = 72 * _HIGH * box.height
    has_room = bool(clear) and high >= 13 and wide >= style.points(name) + 8
    if has_room:
        ink = (
            {"color": style.ink_on(LOOKS[kind].colour), "bbox": None}
            if kind in LOOKS
            else {}
        )
        axes.text((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2, name, **(_WORDS | ink))
    return has_room


def _path(boxes: Iterable[Bbox]) -> Path:
    squares = (Path.unit_rectangle().transformed(BboxTransformTo(box)) for box in boxes)
    return Path.make_compound_path(*squares)


def sentence(row: Sequence[Tile], window: int) -> str:
    """Say what a map shows.

    >>> print(sentence([Tile("user", 10), Tile("placeholder", 5, 35)], 100))
    2 blocks, 15 tokens, 15% of the window of 100; 35 tokens taken away from
    1 block.
    """
    total = sum(t.tokens for t in row)
    gone = sum(t.gone for t in row)
    share = 100 * total // window
    text = f"{many(len(row), 'block')}, {total:,.0f} tokens, "
    text += f"{share:.0f}% of the window of {window:,}"
    if less := sum(tile.gone > 0 for tile in row):
        text += f"; {gone:,.0f} tokens taken away from {many(less, 'block')}"
    return style.wrapped(f"{text}.")
