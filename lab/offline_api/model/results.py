"""Read what a tool returned, in whichever form an agent shows it.

A result may be plain, in JSON, in tags, below a label, with numbers before its lines,
or with a hint that there is more. `shown` takes all of that off, so that the model sees
the text as our own tools would return it.
"""

import re
from functools import lru_cache
from typing import Any, NamedTuple, cast

from offline_api.model.conversation import value_of
from offline_api.model.prompts import TABLE

_FORMS = {
    name: re.compile("|".join(forms), re.IGNORECASE)
    for name, forms in TABLE["results"].items()
}
_OURS = re.compile(r"\.\.\. \(\d+ more|\[Previous: used ")
"""Results of the course's own agent."""
_TEXTS = ("output", "content", "stdout", "result", "text", "data")
_BESIDE = re.compile(
    r"(?i)(?:exit|return|total|line|size|file|trunc|error|stderr|status|success|hint|is_|meta|"
    r"warn|path|elided|more|next|offset|limit|time|duration|signal|type|mode|dedup|_|message|"
    r"query|command).*|code|ok"
)
"""Keys that may stand beside the text of a result."""
_TAGGED = re.compile(
    r"<(content|file_content|file-content|file|output|stdout|result|document_content)\b[^>\n]*>"
    r"\n?(.*?)\n?</\1>",
    re.DOTALL,
)
_NUMBERED = re.compile(r" *(\d+)(\t|→|: |:$|\|)")
_SHORT = 500
"""Characters of a text that may be a failure."""


class Shown(NamedTuple):
    """A result as our own tools return it."""

    text: str
    start: int = 0
    """Lines of the file before it."""
    failed: bool = False


@lru_cache(maxsize=4_096)
def shown(
    text: str,
    *,
    reads: bool = False,
    acts: bool = False,
    start: int = 0,
    limit: int = 0,
    first: int = 0,
) -> Shown:
    """Return a result as our own tools would show it.

    `reads`: it holds lines of a file. `acts`: it says what became of a file. `start`,
    `limit`: the lines that were asked for. `first`: the number that the tool gives to
    the first line.

    >>> shown("<content>\\n3: x = 1\\n4: y = 2\\n(12 lines)\\n</content>", reads=True)
    Shown(text='x = 1\\ny = 2\\n... (8 more lines; continue with offset=4)', start=2, failed=False)
    """
    if _OURS.search(text):
        return Shown(text, start)
    inner, around, failed = _unwrapped(text)
    if (reads or acts) and len(inner) <= _SHORT:
        failed = failed or bool(_FORMS["failure"].match(inner))
    if acts:
        failed = failed or _denies(inner[:_SHORT])
    if failed or not reads:
        return Shown(inner, start, failed)
    lines, hints = _without_hints(inner)
    is_foreign = bool(hints) or inner != text
    whole = lines[:-1] if lines and not lines[-1] else lines
    numbers = _numbers(whole, least=1 if is_foreign else 2)
    if numbers:
        lines = whole
        start = numbers[0] - 1
        lines = [_bare(line) for line in lines]
    if not (numbers or is_foreign):
        return Shown(inner, start)
    if numbers and (stated := _stated_end("\n".join([*hints, around]))) > start:
        del lines[stated - start :]
    end = start + len(lines)
    following = _following("\n".join([*hints, around]), end, first)
    if following is None:
        following = end if numbers and limit and len(lines) >= limit else 0
    if following:
        left = _left("\n".join([*hints, around]), end)
        lines.append(f"... ({left} more lines; continue with offset={following})")
    return Shown("\n".join(lines), start)


def _denies(told: str) -> bool:
    """Tell whether a tool that writes says that it hasn't.

    >>> _denies("Path must be absolute"), _denies("Wrote 3 lines. No errors.")
    (True, False)
    """
    is_done = _FORMS["done"].search(told) and not _FORMS["undone"].search(told)
    return bool(_FORMS["denied"].search(told)) and not is_done


def _left(told: str, end: int) -> int:
    """Return how many lines are left, 1 if nobody says it."""
    rest = _FORMS["rest"].search(told)
    return int(rest[1]) if rest else max(1, _total(told) - end)


def _total(told: str) -> int:
    if part := _FORMS["part"].search(told):
        return int(part[3])
    whole = _FORMS["whole"].search(told)
    return int(whole[1] or whole[2]) if whole else 0


def _stated_end(told: str) -> int:
    """Return the last line that is shown, as far as somebody says it, else 0."""
    part = _FORMS["part"].search(told)
    return int(part[2]) if part else _total(told)


def _following(told: str, end: int, first: int) -> int | None:
    """Return the offset at which a file goes on, 0 at its end, None if nobody says."""
    if part := _FORMS["part"].search(told):
        return 0 if int(part[2]) >= int(part[3]) else end
    if _FORMS["end"].search(told):
        return 0
    if following := _FORMS["next"].search(told):
        return int(following[1]) - first
    if total := _total(told):
        return 0 if end >= total else end
    return end if _FORMS["more"].search(told) else None


# -- what stands around a text ---------------------------------------------------------


def _unwrapped(text: str) -> tuple[str, str, bool]:
    """Return the text in a result, what is said around it, and whether it failed."""
    if text.startswith(("{", "[{")):
        match value_of(text):
            case {**values} if told := _in_object(values):
                return told
            case [{"success": bool(), **values}] if told := _in_object(values):
                return told
            case _:
                return text, "", False
    if text.startswith("<") and (tagged := _TAGGED.search(text)):
        around = f"{text[: tagged.start()]}\n{text[tagged.end() :]}"
        outside = re.sub(r"<(\w+)[^>\n]*>[^<\n]*</\1>|</?\w+[^>\n]*>", "", around)
        if not outside.strip() or _FORMS["hint"].search(outside):
            return tagged[2], outside.strip(), False
    if label := _FORMS["label"].match(text):
        return _FORMS["label_after"].sub("", text[label.end() :]), "", False
    return text, "", False


def _in_object(values: dict[Any, Any]) -> tuple[str, str, bool] | None:
    """Return the text in an object, None if it is no result but a file of JSON."""
    keys = [str(key) for key in values]
    name = next((key for key in _TEXTS if isinstance(values.get(key), str)), "")
    beside = [key for key in keys if key != name]
    if not all(map(_BESIDE.fullmatch, beside)):
        return None
    error = values.get("error")
    if values.get("success") is False and not error:
        return str(values.get(name) or values.get("message") or "failed"), "", True
    if isinstance(error, str) and error and not values.get(name):
        return error, "", True
    if name and beside:
        hints = cast(str, values.get("hint") or values.get("_hint") or "")
        total = values.get("total_lines")
        told = f"{hints}\n{f'total {total}' if isinstance(total, int) else ''}"
        more = "truncated" if values.get("truncated") is True else ""
        return str(values[name]).removesuffix("\n"), f"{told}\n{more}".strip(), False
    return ("[too long to be shown]", "", False) if "returncode" in values else None


def _without_hints(text: str) -> tuple[list[str], list[str]]:
    """Return the lines of a file, and the lines around them that tell about it."""
    lines = text.split("\n")
    hints = list[str]()
    while lines:
        rest = len(lines)
        while rest and not lines[rest - 1].strip():
            rest -= 1
        if not rest or not _FORMS["hint"].match(lines[rest - 1]):
            break
        hints.append(lines[rest - 1])
        del lines[rest - 1 :]
        if lines and not lines[-1].strip():
            del lines[-1]
    while lines and len(hints) < 6 and _FORMS["head"].match(lines[0]):
        hints.append(lines.pop(0))
        if lines and not lines[0].strip():
            del lines[0]
    return lines, hints


def _numbers(lines: list[str], least: int) -> list[int]:
    """Return the numbers before the lines, none unless they count on, in one form."""
    matches = [match for line in lines if (match := _NUMBERED.match(line))]
    numbers = [int(match[1]) for match in matches]
    if len(numbers) < max(least, len(lines)) or not numbers:
        return []
    forms = {match[2][0] for match in matches}
    counts_on = numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return numbers if counts_on and len(forms) == 1 and numbers[0] else []


def _bare(line: str) -> str:
    return _NUMBERED.sub("", line, count=1)


def is_stuck(text: str) -> bool:
    """Tell whether a failure isn't about one file, so that the next file won't cure it.

    >>> is_stuck("Error: the session is closed"), is_stuck("Error: a.png is binary")
    (True, False)
    """
    return bool(text) and not _FORMS["about_a_file"].search(text)
