"""Tool results, the main colour of every picture, stand out from the page: 3 : 1 or more.

The rule is WCAG 2.2's 1.4.11. A notebook's dark theme turns the pictures over
(tools/lab_style/custom.css), and the web page turns the lightness of each colour
(tools/play.css). Both are repeated here.
"""

import math

import pytest

from course.figures.wall import FAINT
from session_report.style import LOOKS

Colour = tuple[float, float, float]
"""Red, green and blue, 0 to 1."""


def colour(name: str) -> Colour:
    red, green, blue = (int(name[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


def linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def light(shown: Colour) -> float:
    red, green, blue = map(linear, shown)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Colour, other: Colour) -> float:
    dark, bright = sorted((light(one), light(other)))
    return (bright + 0.05) / (dark + 0.05)


def as_it_is(shown: Colour) -> Colour:
    return shown


def turned_over(shown: Colour) -> Colour:
    """Do what `invert(1) hue-rotate(180deg)` does."""
    red, green, blue = (1 - part for part in shown)
    grey = 2 * (0.213 * red + 0.715 * green + 0.072 * blue)
    return tuple(min(1.0, max(0.0, grey - part)) for part in (red, green, blue))  # pyright: ignore[reportReturnType]


def with_its_lightness_turned(shown: Colour) -> Colour:
    """Give a grey with the lightness that `--shade` gives this colour."""
    red, green, blue = map(linear, shown)
    cones = (
        (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue),
        (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue),
        (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue),
    )
    weights = (0.2104542553, 0.7936177850, -0.0040720468)
    lightness = sum(w * math.cbrt(cone) for w, cone in zip(weights, cones, strict=True))
    shade = 1.12 - 0.7 * lightness - 0.25 * lightness**12
    grey = shade**3  # of a grey, all three cones see the same
    part = 12.92 * grey if grey <= 0.0031308 else 1.055 * grey ** (1 / 2.4) - 0.055
    return part, part, part


PAGES = {
    "light": ("#FFFFFF", as_it_is),
    "JupyterLab, dark": ("#111111", turned_over),
    "web, dark": ("#14181D", with_its_lightness_turned),
}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("veil", [0, FAINT], ids=["new", "older"])
def test_tool_results_stand_out_from_the_page(page: str, veil: float):
    ground, theme = PAGES[page]
    red, green, blue = (
        part * (1 - veil) + veil for part in colour(LOOKS["tool_result"].colour)
    )
    assert contrast(theme((red, green, blue)), colour(ground)) >= 3
