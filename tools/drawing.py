"""Record charts as paths and words, so that a web page can draw them.

A page's unit is a tenth of a pixel of a picture that is 720 pixels wide. A style, and a
path or words in it, are stored once however many pictures share them.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.colors import to_hex
from matplotlib.path import Path

from session_report.style import DPI, SHOWN, WIDTH, Chart, taken_by

UNITS = 10 * SHOWN / (WIDTH * DPI)
"""Units in a pixel of matplotlib's."""
LETTERS = {Path.MOVETO: "M", Path.LINETO: "l", Path.CURVE3: "q", Path.CURVE4: "c"}
CAPS = {"butt": 0, "round": 1, "projecting": 2}
ANCHORS = {"left": 0, "center": 1, "right": 2}


class Sheet:
    """The styles and marks of some pictures, each once. A picture is its height and its
    marks.

    A style is [fill, line, width, dashes, hatch, opacity, cap, clip]. A mark is [style,
    path], or [style, x, y, words, size, is bold, anchor, angle] with the baseline's
    place.
    """

    def __init__(self) -> None:
        self.styles: dict[tuple[Any, ...], int] = {}
        self.marks: dict[tuple[Any, ...], int] = {}

    @matplotlib.style.context("default")
    def picture(self, chart: Chart) -> list[Any]:
        """Record a chart as it is now: what `Chart.png` would draw, in the same
        order."""
        recorder = Recorder(chart, self)
        ground = chart.figure.patch
        ground.set_visible(False)
        chart.figure.draw(recorder)
        for artist in chart.moving:
            artist.draw(recorder)
        ground.set_visible(True)
        return [round(chart.figure.bbox.height * UNITS), recorder.picture]

    def tables(self) -> dict[str, list[Any]]:
        return {"styles": [*self.styles], "marks": [*self.marks]}


class NotRecorded(BaseException):
    """A chart can't be recorded. No panel takes this for an error of its own and shows
    it."""


@contextmanager
def recording(sheet: Sheet, pictures: list[Any]) -> Iterator[None]:
    """Let `Chart.png` append a picture to a list, in place of making a PNG."""

    def take(chart: Chart) -> bytes:
        try:
            pictures.append(sheet.picture(chart))
        except Exception as error:
            raise NotRecorded(repr(error)) from error
        return b"recorded"

    token = taken_by.set(take)
    try:
        yield
    finally:
        taken_by.reset(token)


class Recorder(RendererBase):
    """Take what a figure draws."""

    def __init__(self, chart: Chart, sheet: Sheet) -> None:
        super().__init__()
        self.box = chart.figure.bbox
        self.sheet = sheet
        self.picture = list[int]()

    def get_canvas_width_height(self) -> tuple[float, float]:
        return self.box.width, self.box.height

    def points_to_pixels(self, points: Any) -> Any:
        return points * DPI / 72

    def get_text_width_height_descent(self, s: str, prop: Any, ismath: Any) -> Any:
        return _measured(s, prop.copy(), ismath)

    def draw_path(
        self, gc: Any, path: Path, transform: Any, rgbFace: Any = None
    ) -> None:
        words, (left, top, right, bottom) = self._path(path, transform)
        line = gc.get_linewidth() * DPI / 72 * UNITS
        hatch = gc.get_hatch() or ""
        face = to_hex(rgbFace) if rgbFace is not None and (*rgbFace, 1)[3] else ""
        ink = to_hex(gc.get_rgb()) if line and gc.get_rgb()[3] else ""
        if hatch:
            hatch += f" {to_hex(gc.get_hatch_color())} {self._scaled(gc.get_hatch_linewidth())}"
        if not words or not (face or ink or hatch):
            return
        _, dashes = gc.get_dashes()
        pattern = " ".join(str(self._scaled(dash)) for dash in dashes or ())
        face_alpha = 1 if rgbFace is None else float((*rgbFace, 1)[3])
        see = gc.get_alpha() if gc.get_forced_alpha() else face_alpha
        cap = CAPS[str(gc.get_capstyle())] if ink else 0
        edge = line / 2 if ink else 0
        clip = self._clip(gc, left - edge, top - edge, right + edge, bottom + edge)
        self._mark(
            (face, ink, round(line) if ink else 0, pattern, hatch, see, cap, clip),
            words,
        )

    def draw_text(
        self, gc: Any, x: float, y: float, s: str, prop: Any, angle: float,
        ismath: Any = False, mtext: Any = None,
    ) -> None:  # fmt: skip
        wide, high, _ = self.get_text_width_height_descent(s, prop, ismath)
        anchor = ANCHORS[mtext.get_horizontalalignment()] if mtext and not angle else 1
        turn = math.radians(angle)
        along = wide * anchor / 2
        x = UNITS * (x + along * math.cos(turn))
        y = UNITS * (y - along * math.sin(turn))
        left = x - UNITS * along
        clip = self._clip(gc, left, y - UNITS * high, left + UNITS * wide, y)
        size = self._scaled(prop.get_size_in_points())
        bold = int(prop.get_weight() == "bold")
        ink = to_hex(gc.get_rgb())
        see = gc.get_alpha() if gc.get_forced_alpha() else 1
        style = (ink, "", 0, "", "", see, 0, "" if angle else clip)
        self._mark(style, round(x), round(y), s, size, bold, anchor, round(angle))

    def _scaled(self, points: float) -> int:
        return round(points * DPI / 72 * UNITS)

    def _mark(self, style: tuple[Any, ...], *rest: Any) -> None:
        styles = self.sheet.styles
        marks = self.sheet.marks
        mark = styles.setdefault(style, len(styles)), *rest
        self.picture.append(marks.setdefault(mark, len(marks)))

    def _clip(self, gc: Any, *corners: float) -> str:
        """Return the rectangle that cuts something with these corners, as words, or
        nothing."""
        box = gc.get_clip_rectangle()
        if box is None:
            return ""
        (x0, y0), (x1, y1) = UNITS * box.get_points()
        high = UNITS * self.box.height
        left, top, right, bottom = corners
        if (
            left >= x0 - 5
            and right <= x1 + 5
            and top >= high - y1 - 5
            and bottom <= high - y0 + 5
        ):
            return ""
        return f"{x0:.0f} {high - y1:.0f} {x1 - x0:.0f} {y1 - y0:.0f}"

    def _path(self, path: Path, transform: Any) -> tuple[str, tuple[float, ...]]:
        """Write a path as in SVG: whole units, each step from where the last one
        ended."""
        words = list[str]()
        at = np.zeros(2, int)
        start = np.zeros(2, int)
        corners: list[Any] = []
        flip = np.array([0, UNITS * self.box.height])
        for points, code in path.iter_segments(transform, simplify=False):
            if code == Path.CLOSEPOLY:
                words.append("z")
                at = start
                continue
            places = np.rint(
                flip + np.reshape(points, (-1, 2)) * (UNITS, -UNITS)
            ).astype(int)
            corners += [*places]
            words.append(_step(LETTERS[code], places, at))
            at = places[-1]
            start = at if code == Path.MOVETO else start
        if not corners:
            return "", (0, 0, 0, 0)
        low = np.min(corners, axis=0)
        high = np.max(corners, axis=0)
        return "".join(words), (*low, *high)


@lru_cache(maxsize=10_000)
def _measured(words: str, font: Any, is_formula: Any) -> tuple[float, float, float]:
    """Return the width, height and descent of words in pixels.

    Most words stand in many pictures of a sheet, and matplotlib keeps what it has
    measured only as long as the picture. The size of the renderer makes no difference.
    """
    renderer = RendererAgg(1, 1, DPI)
    return renderer.get_text_width_height_descent(words, font, is_formula)


def _step(letter: str, places: Any, at: Any) -> str:
    """Write one step of a path. A step straight across or down needs one number."""
    if letter == "M":
        return f"M{places[0][0]} {places[0][1]}"
    (across, down) = places[-1] - at
    steps = (places - at).ravel()
    if letter == "l" and not down:
        return f"h{across}" if across else ""
    if letter == "l" and not across:
        return f"v{down}"
    return letter + " ".join(map(str, steps))
