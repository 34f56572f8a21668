"""The window as it fills: a row for each request, and a column for each block that
stays in it."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Sequence

from matplotlib.patches import Rectangle

from course.figures.window_map import Tile
from session_report.style import DARK, LOOKS, NAMES, RED, Chart, patches, plain

FAINT = 0.15
"""How much of older requests a white veil hides."""


class Wall(Chart):
    """A run up to one of its requests, which stands out; at first, up to the last.

    `added`: the blocks that each request brought. What is past the window is red.
    """

    @plain
    def __init__(self, added: Sequence[Sequence[Tile]], window: int) -> None:
        super().__init__(3.96)
        self.window = window
        self.sizes = [sum(tile.tokens for tile in tiles) for tiles in added]
        rows = len(added)
        room = max(1.12 * window, 1.03 * sum(self.sizes))
        axes = self.frame(0.56, 0.92, 6.5, 2.6, xlabel="tokens", ylabel="request")
        axes.grid(visible=False)
        axes.set(xlim=(0, room), ylim=(rows + 0.5, 0.5))
        axes.xaxis.set_major_formatter(axes.yaxis.get_major_formatter())
        axes.text(window, 0.4, f"window {window:,}", ha="center", va="bottom")
        shown = {tile.kind for tiles in added for tile in tiles}
        self.key(
            patches({NAMES[kind]: LOOKS[kind] for kind in LOOKS if kind in shown}),
            left=0.05,
        )
        self.blocks: list[Rectangle] = []
        left = 0.0
        for row, tile in (
            (row, tile) for row, tiles in enumerate(added) for tile in tiles
        ):
            look = LOOKS[tile.kind].fill(0.5)
            self.blocks.append(Rectangle((left, row + 0.5), tile.tokens, 0, **look))
            left += tile.tokens
        self.faint = Rectangle((0, 0.5), room, 0, facecolor="white", alpha=FAINT)
        self.new = Rectangle((0, 0), 0, 1, fill=False, linewidth=1.8)
        self.over = Rectangle((window, 0), 0, 1, facecolor=RED)
        for patch in (*self.blocks, self.faint, self.new, self.over):
            axes.add_artist(patch)
        apart = [row + 0.5 for row in range(1, rows)]
        lines = axes.hlines(apart, 0, room, "white", linewidth=22 / rows)
        wall = axes.axvline(window, color=DARK, linewidth=3)
        self.move(
            *self.blocks, self.faint, lines, wall, self.new, self.over, self.headline
        )
        self.show(rows)

    def show(self, request: int) -> None:
        """Go to a request, counted from 1."""
        size = sum(self.sizes[:request])
        old = sum(self.sizes[: request - 1])
        for block in self.blocks:
            block.set_height(max(0, request + 0.5 - block.get_y()))
            block.set_visible(block.get_height() > 0)
        self.faint.set_height(request - 1)
        self.new.set(y=request - 0.5, x=old, width=size - old)
        self.over.set(y=request - 0.5, width=max(0, size - self.window))
        again = f", {old:,.0f} of them again" if old else ""
        sent = f"Request {request} sends {size:,.0f} tokens{again}"
        refused = f"Request {request} is too long: {size:,.0f} tokens"
        self.headline.set_text(refused if size > self.window else sent)
