"""A verdict for people: in a terminal, and as a page that loads nothing."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from agentlib.cli.render import plain
from windtunnel.judge import Row, Verdict
from windtunnel.judge.spreads import BASE, MEASURES, alike, counted
from windtunnel.runner import EVIDENCE
from windtunnel.tasks.mechanisms import in_words

_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>A verdict</title>
<style>:root {{ color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }}
body {{ max-width: 62rem; margin: 2rem auto; padding: 0 1rem }} img {{ max-width: 100% }}
pre {{ overflow-x: auto }}</style><h1>{name}</h1>
<img width="720" alt="cost against what was kept" src="data:image/png;base64,{picture}">
<pre>{text}</pre></html>
"""


def lines(
    verdict: Verdict, passes: bool, least: str | Sequence[Row] = ""
) -> Iterator[str]:
    """Say the four parts, each in its sentences, and the table.

    `least`: the name of another, or its rows, to be compared task by task.
    """
    broke = verdict.protocol
    shown: Any = verdict.standing[[*MEASURES]]
    yield shown.to_string(float_format="{:.4g}".format)
    yield (
        "cost: percent of what forgetting nothing costs. kept: percent, the mean of rule, "
        "facts and files. done: share of tasks whose report names every file, even one "
        "of which nothing is left. again: calls made again."
    )
    yield EVIDENCE + "."
    yield f"{verdict.name}: {'passes' if passes else 'does not pass'}, in {verdict.seconds:.0f} s."
    yield (
        f"It breaks the protocol. {broke['what']}"
        if broke
        else "It keeps the protocol."
    )
    for number, turn in enumerate(broke.get("case", ()), 1):
        yield f"  exchange {number}: {turn}"
    for words in dict.fromkeys(verdict.faults.values()):
        places = [where for where, each in verdict.faults.items() if each == words]
        yield f"{', '.join(places)}: {words}"
    for row in verdict.needs:
        need = f"needed again {row['need']:.1f} in 100 turns"
        yield f"{row['session']}, {row['engine']}: ${row['dollars']:.2f}, {need}"
    if verdict.name in verdict.spreads:
        others = verdict.standing.drop(verdict.name)
        yield f"Compared on {len(verdict.rows)} tasks:"
        for words, names in others.groupby("yours is").groups.items():
            yield f"{str(words).capitalize()}: {', '.join(names)}."
    yield from _beside(verdict, least)
    if unshown := [name for name in alike(verdict.spreads) if name != verdict.name]:
        names = ", ".join(unshown)
        yield f"As default with {BASE} in every task, because no task needs what they do: {names}."
        yield from (f"{name}: {told}" for name in unshown if (told := in_words(name)))


def _beside(verdict: Verdict, least: str | Sequence[Row]) -> Iterator[str]:
    """Say in how many tasks yours does better and worse than another."""
    name = least if isinstance(least, str) else "the earlier verdict"
    rows = verdict.others if isinstance(least, str) else least
    theirs = {
        row["seed"]: row
        for row in rows
        if not isinstance(least, str) or row["engine"] == least
    }
    mine = [row for row in verdict.rows if row["seed"] in theirs]
    if not mine:
        return
    for measure in ("dollars", "kept"):
        pair = (
            [row[measure] for row in mine],
            [theirs[row["seed"]][measure] for row in mine],
        )
        yield f"Beside {name}, task by task: {measure} {counted(*pair)}."


def text(verdict: Verdict, passes: bool, least: str | Sequence[Row] = "") -> str:
    """Return all of it as lines for a terminal."""
    return plain("\n".join(lines(verdict, passes, least)))


def page(verdict: Verdict, passes: bool) -> str:
    """Return all of it as a page, with the picture."""
    picture = b64encode(verdict.picture().png()).decode()
    words = escape(text(verdict, passes))
    return _PAGE.format(name=escape(verdict.name), picture=picture, text=words)
