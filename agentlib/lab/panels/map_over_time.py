"""The window map over time: a session walked turn by turn, and what each layer took away.

Every request is a map of its blocks, in their order. What a layer took from it is hatched for
this one turn; what the prompt cache held is outlined. Not here: what stands where (scenes), the
layout of a map and its looks (window_map).
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# ipywidgets has no types, matplotlib's keyword arguments neither.

import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib.style
from ipywidgets import Button, HBox, Play, jslink
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from agentlib.estimation import prompt_tokens
from agentlib.lab.figures.artists import COLUMNS, LOOKS
from agentlib.lab.figures.charts import DPI, WIDTH, Chart, Kept
from agentlib.lab.figures.window_map import ACROSS, GONE, Box, layout, look
from agentlib.lab.panels.ahead import Ahead
from agentlib.lab.panels.wall import Panel, slider
from agentlib.lab.replay import replay
from agentlib.lab.replay.map_frames import Scene, scenes
from agentlib.settings import Settings
from agentlib.transcripts import Session

_CACHED: dict[str, Any] = {"color": "#111111", "linewidth": 2.4, "linestyle": (0, (3, 1.5))}
_CASING: dict[str, Any] = {"color": "#FFFFFF", "linewidth": 5.0}
_COLUMNS = 72


class MapChart:
    """One map, kept, that `update` turns to another scene. `top`: windows that it has room for."""

    def __init__(self, found: Sequence[Scene], title: str) -> None:
        window = found[0].frame.window
        total = max(sum(t.tokens + t.gone for t in scene.tiles) for scene in found)
        self.top = min(2.0, max(1.02, total / window))
        kinds = {tile.kind for scene in found for tile in scene.tiles}
        plot = 2.3 * self.top
        rows = -(-(len(kinds) + 2) // COLUMNS)
        high = plot + 0.45 + 0.22 * rows + 0.15
        with matplotlib.style.context("default"):
            self.figure = Chart(figsize=(WIDTH, high), dpi=DPI, facecolor="white")
            bottom = (0.22 * rows + 0.15) / high
            self.axes = self.figure.add_axes((0.02, bottom, 0.96, plot / high))
            self.axes.set(xlim=(0, ACROSS), ylim=(self.top, 0), xticks=[], yticks=[])
            self.axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
            self.axes.set_title(f"black line: window {window:,}", loc="right", fontsize=9)
            self._make(kinds)
        self.kept = Kept(self.figure)
        self.update(found[0])

    def _make(self, kinds: set[str]) -> None:
        shown = [kind for kind in LOOKS if kind in kinds]
        self.fills = {kind: self._add(**look(kind)) for kind in shown}
        self.gone = self._add(**GONE)
        self.edges = self._add(facecolor="none", edgecolor="#333333", linewidth=0.4)
        self.outlines = [
            *self.axes.plot([], [], animated=True, zorder=7, clip_on=False, **_CASING),
            *self.axes.plot([], [], animated=True, zorder=8, clip_on=False, **_CACHED),
        ]
        self.wall = self.axes.axhline(1.0, color="#111111", linewidth=3.5, zorder=9, animated=True)
        entries: list[Any] = [Patch(label=kind, **look(kind)) for kind in shown]
        entries += [Patch(label="taken away", **GONE), Line2D([], [], label="in cache", **_CACHED)]
        self.figure.legend(
            handles=entries, loc="lower left", ncols=COLUMNS, fontsize=9, frameon=False
        )

    def _add(self, **known: Any) -> PathPatch:
        made = PathPatch(_path([]), animated=True, **known)
        self.axes.add_patch(made)
        return made

    def update(self, scene: Scene) -> None:
        """Give the artists another scene; `png` draws them."""
        areas = [ACROSS * (t.tokens + t.gone) / scene.frame.window for t in scene.tiles]
        boxes = layout(areas, ACROSS)
        full: dict[str, list[Any]] = {kind: [] for kind in self.fills}
        gone: list[Any] = []
        for tile, box in zip(scene.tiles, boxes, strict=True):
            share = box.width * tile.tokens / ((tile.tokens + tile.gone) or 1)
            full[tile.kind].append(_corners(box, 0, share))
            if tile.gone:
                gone.append(_corners(box, share, box.width))
        for kind, fill in self.fills.items():
            fill.set_path(_path(full[kind]))
        self.gone.set_path(_path(gone))
        self.edges.set_path(_path([_corners(box, 0, box.width) for box in boxes]))
        for line in self.outlines:
            line.set_data(*outline(boxes[: scene.cached]))

    def png(self) -> bytes:
        """The picture as it is now."""
        shown = [*self.fills.values(), self.gone, self.edges, *self.outlines, self.wall]
        return self.kept.png(shown)


def _corners(box: Box, start: float, end: float) -> list[tuple[float, float]]:
    left, right, low = box.left + start, box.left + end, box.top + box.height
    return [(left, box.top), (right, box.top), (right, low), (left, low), (left, box.top)]


def _path(rectangles: Sequence[list[tuple[float, float]]]) -> Path:
    """All of them as one path: hatched at once, which is what makes a step quick."""
    corners = [corner for rectangle in rectangles for corner in rectangle]
    codes = [Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY] * len(rectangles)
    return Path(corners or [(0, 0)], codes or None)


def outline(boxes: Sequence[Box]) -> tuple[list[float], list[float]]:
    """The line around the first boxes of a map: whole rows, and a part of the last one.

    >>> outline([Box(0.0, 0.0, 2.0, 1.0)])
    ([0.0, 2.0, 2.0, 2.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0])
    """
    if not boxes:
        return [], []
    last = boxes[-1]
    right, low = last.left + last.width, last.top + last.height
    wide = ACROSS if last.top else right
    return [0.0, wide, wide, right, right, 0.0, 0.0], [0.0, 0.0, last.top, last.top, low, low, 0.0]


def sentence(scene: Scene, turns: int) -> str:
    """What a map shows, and what the layers did before its request, in words."""
    frame, step = scene.frame, scene.frame.step
    parts = [
        f"Turn {frame.turn} of {turns}: {sum(t.tokens > 0 for t in scene.tiles)} blocks, "
        f"{frame.prompt_tokens:,} tokens, {100 * frame.prompt_tokens // frame.window}% of the "
        f"window of {frame.window:,}."
    ]
    gone = sum(tile.gone for tile in scene.tiles)
    if step.cleared and frame.compaction in (None, "failed"):
        parts.append(f"Micro-compact took {gone:,.0f} tokens from {_results(len(step.cleared))}.")
    if frame.compaction == "failed":
        parts.append("A compaction failed; the messages stayed.")
    elif frame.compaction:
        parts.append(
            f"A compaction ({frame.compaction}) put a summary of {scene.summary:,.0f} tokens in "
            f"place of {scene.replaced} messages, {gone:,.0f} tokens."
        )
    read = scene.usage.get("cache_read_input_tokens") or 0
    new = prompt_tokens(scene.usage) - read
    parts.append(f"{read:,} tokens were read from the cache, {new:,} were not in it.")
    return textwrap.fill(" ".join(parts), _COLUMNS)


def _results(number: int) -> str:
    return f"{number} result" + ("" if number == 1 else "s")


def map_over_time(session: Session, settings: Settings | None = None) -> Panel:
    """The map with a slider over the turns, a Play button and two for single steps.

    `settings`: what the session is replayed under; by default its own. Raises ValueError for a
    session without requests.
    """
    frames = replay(session, settings or session.settings)
    if not frames:
        raise ValueError("there is no turn to draw: the session has no request")
    found = scenes(session, frames)
    chart = MapChart(found, "The window, request by request")

    def draw(turn: int) -> tuple[bytes, str]:
        chart.update(found[turn - 1])
        return chart.png(), sentence(found[turn - 1], len(found))

    turn = slider("turn", 1, (1, len(found), 1), "which request of the session")
    panel = Panel({"turn": turn}, Ahead(draw))
    panel.children = [_player(turn), *panel.children]
    return panel


def _player(turn: Any) -> HBox:
    """Play, stop and single steps. Play moves the slider in the browser, the slider draws."""
    play = Play(min=turn.min, max=turn.max, value=turn.value, interval=400)
    jslink((play, "value"), (turn, "value"))

    def step(name: str, by: int) -> Button:
        button = Button(description=name, tooltip=f"{name}: one turn", layout={"width": "7em"})

        def go(button: object) -> None:
            turn.value += by

        button.on_click(go)
        return button

    return HBox([play, step("Step back", -1), step("Step on", 1)])
