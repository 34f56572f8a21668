"""What each prediction of the lessons may say, so that `predict` can refuse at once."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Real
from typing import Any


@dataclass(frozen=True)
class Number:
    """The finite numbers from `least` to `most`.

    >>> 19 in Number(19), 20 in Number(19), True in Number(19)
    (True, False, False)
    """

    most: float = math.inf
    least: float = 0

    def __contains__(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        number: Any = value
        return self.least <= number <= self.most and number < math.inf

    def __str__(self) -> str:
        if self.most == math.inf:
            return f"a number, {self.least} or more"
        return f"a number from {self.least} to {self.most}"


Choice = str | int | bool
Answers = Number | tuple[Choice, ...]
"""A number, or one of some words, numbers or truths."""
NUMBER = Number()
PERCENT = Number(100)
TRUTH: tuple[Choice, ...] = (True, False)
MORE: tuple[Choice, ...] = ("more", "fewer")
OR_SAME: tuple[Choice, ...] = ("more", "fewer", "same")
ORDER: tuple[Choice, ...] = ("accepted", "refused")
CHANGE: tuple[Choice, ...] = (1, 2, "neither")
TASKS: tuple[Choice, ...] = ("about half", "most")
WAY: tuple[Choice, ...] = ("whole", "trimmed")
PRICE: tuple[Choice, ...] = ("more", "less")

ASKED: Mapping[str, Mapping[str, Answers]] = {
    "00.paid": {"times": NUMBER},
    "00.twice": {"answered": NUMBER},
    "00.outline": {"finishes": TRUTH, "remarks": ("all", "fewer")},
    "00.packages": {"finishes": TRUTH},
    "01.rings": {"tokens": NUMBER},
    "01.anchor": {"rings": NUMBER, "finishes": TRUTH},
    "01.cleared": {"tokens": ("more", "fewer", "the same")},
    "01.score": {"turns": MORE},
    "02.in_place": {"finishes": TRUTH, "turns": MORE},
    "02.transcript": {"percent_left": PERCENT},
    "02.one": {"tokens": MORE, "finishes": TRUTH},
    "02.cost": {"dollars": MORE},
    "03.all": {"finishes": TRUTH, "again": MORE},
    "03.twenty": {"told_last": Number(20), "facts_lost": MORE},
    "04.moment": {"after_36": MORE, "after_37": Number(19)},
    "04.siblings": {"at_once": ORDER, "then": ORDER},
    "04.tool": {"described": Number(19)},
    "04.focus": {"rule_in_summary": TRUTH, "files": OR_SAME},
    "05.kill": {"calls_in_flight": NUMBER, "torn_lines": NUMBER},
    "05.torn": {"accepted": TRUTH},
    "05.resume": {"turns": NUMBER},
    "05.recall": {"files": ("more", "as many"), "rule_kept": TRUTH},
    "06.head": {"rule_kept": TRUTH, "facts": OR_SAME},
    "06.stale": {"report": TRUTH},
    "06.update": {"facts": OR_SAME, "files": OR_SAME},
    "06.twenty": {"rule_kept": MORE, "worst": ("head", "hand-off", "update")},
    "06.writer": {"own": WAY, "other": WAY},
    "07.call": {"crashes": TRUTH, "files_described": Number(8)},
    "07.careful": {"finishes": TRUTH, "asks": ("once", "every turn")},
    "07.breaker": {"asked": NUMBER},
    "07.disaster": {"finishes": TRUTH},
    "08.bill": {"reading": PERCENT, "after_pauses": PERCENT},
    "08.size": {"pays": ("sooner", "later", "same")},
    "08.alive": {"minutes": NUMBER},
    "08.signs": {"dearer_sessions": Number(10)},
    "08.ratio": {"repeats_save": PRICE},
    "09.falls": {"because": ("full", "away")},
    "09.kinds": {"most_often": ("calls", "results", "the model's words")},
    "09.window": {"cost": ("cheaper", "more expensive")},
    "10.kinds": {"kept": Number(20), "told": Number(20)},
    "10.pin": {"kinds": Number(6), "costs_more": ("pin", "edits")},
    "10.gate": {"compactions": Number(8, least=2)},
    "11.changes": {"left": CHANGE, "down": CHANGE},
    "11.pairs": {"tasks": TASKS},
    "11.again": {"summaries": ("1", "a few", "more than ten")},
    "11.rented": {"clearing": PRICE, "summary": PRICE},
    "12.live": {"programs": ("few", "most")},
    "12.shallow": {"strands": ("few", "most")},
    "hour.clear": {"finishes": TRUTH},
    "hour.summary": {"rule_kept": TRUTH},
    "hour.early": {"turns": MORE},
}
"""By the prediction's name, each value that it asks for and what it may be."""


def settled(name: str, values: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the values that the prediction asks for, and what is wrong with the
    others.

    A word in other capitals, or a label in quotes, is the one that it means.

    >>> settled("07.careful", {"asks": "Every turn", "finishes": "maybe"})
    ({'asks': 'every turn'}, ["finishes: 'maybe' is no answer; say True or False"])
    >>> settled("04.tool", {"described": 20})[1]
    ['described: 20 is no answer; say a number from 0 to 19']
    >>> settled("07.carefull", {"finishes": True})[1]
    ["'07.carefull' is no prediction; you may mean '07.careful'"]
    """
    asked = ASKED.get(name)
    if asked is None:
        near = get_close_matches(name, ASKED, n=1, cutoff=0.8)
        meant = [f"{name!r} is no prediction; you may mean {each!r}" for each in near]
        return dict(values), meant
    good = dict[str, Any]()
    wrong = list[str]()
    for key, value in values.items():
        if key not in asked:
            wrong.append(f"{key}: not asked, only {', '.join(asked)}")
            continue
        choices = asked[key]
        meant = _meant(value, choices)
        if meant is None and value is not None:
            wrong.append(f"{key}: {value!r:.40} is no answer; say {_listed(choices)}")
        else:
            good[key] = meant
    return good, wrong


def is_label(name: str, key: str) -> bool:
    """Tell whether a prediction's value is one of some answers, and no amount."""
    return isinstance(ASKED.get(name, {}).get(key), tuple)


def _meant(value: Any, answers: Answers) -> Any:
    """Return the answer that a value means, or None."""
    if isinstance(answers, Number):
        return value if value in answers else None
    same_type = [
        each for each in answers if isinstance(each, bool) == isinstance(value, bool)
    ]
    text = str(value).strip().casefold()
    return next((each for each in same_type if str(each).casefold() == text), None)


def _listed(answers: Answers) -> str:
    if isinstance(answers, Number):
        return str(answers)
    words = [f'"{each}"' if isinstance(each, str) else str(each) for each in answers]
    return f"{', '.join(words[:-1])} or {words[-1]}"
