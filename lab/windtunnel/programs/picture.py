"""One run as a picture: the size of each prompt, with compactions, refusals and the
summaries' own requests."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Mapping
from typing import Any

from session_report.style import (
    BLUE,
    DARK,
    GREY,
    PALE,
    RED,
    Chart,
    Look,
    level,
    patches,
    plain,
)

_LOOKS = {
    "main": Look(BLUE),
    "summary": Look("#8757A8"),
    "other": Look(PALE),
    "refused": Look(RED, "////"),
}
_NAMES = {
    "main": "prompt",
    "summary": "request for a summary",
    "other": "title and the like",
    "refused": "refused",
}


@plain
def prompts(row: Mapping[str, Any]) -> Chart:
    """Draw the prompts of a verdict's row, which `Reading.row` makes.

    The picture says that one scripted model was used, because it names a product.
    """
    name = f"{row['program']} {row['version']}".strip()
    times = len(row["compactions"])
    chart = Chart(
        4.4, f"{name} compacts {times} time{'' if times == 1 else 's'} in this task"
    )
    sizes = row["prompts"]
    kinds = row["kinds"]
    numbers = row["numbers"]
    axes = chart.frame(
        0.85,
        1.15,
        5.2,
        2.5,
        xlabel="request",
        ylabel="tokens of the prompt",
        xlim=(0, max(numbers, default=1) + 1),
        ylim=(0, 1.1 * max([*sizes, row["window"]])),
    )
    for kind, look in _LOOKS.items():
        chosen = [
            (n, s) for n, s, k in zip(numbers, sizes, kinds, strict=True) if k == kind
        ]
        if chosen:
            axes.bar(*zip(*chosen, strict=True), width=0.9, **look.fill())
    level(axes, "window\n", row["window"], color=GREY, linestyle="--", linewidth=1)
    for each in row["compactions"]:
        axes.annotate(
            "",
            (each["request"], each["after"]),
            (each["request"], each["before"]),
            arrowprops={"arrowstyle": "->", "color": DARK, "linewidth": 1.2},
        )
    used = {_NAMES[kind]: look for kind, look in _LOOKS.items() if kind in kinds}
    chart.key(patches(used), columns=4)
    chart.figure.text(
        0.99,
        0.01,
        "One scripted model, the same for every program; sizes as the offline API counts",
        ha="right",
        fontsize=7,
        color=GREY,
    )
    return chart
