"""The parts of a learner's agent: which exercises they come from, and how they fit.

`compact_of` writes the `compact` that puts the solved ones together. A part that isn't
solved is absent, with its line.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

NUMBERS = "NUMBERS"
WINDOW = 32_000
"""Tokens of the window in which the lessons' numbers are found."""


@dataclass(frozen=True)
class Part:
    """A function of the learner's file."""

    name: str
    """What the function is called there, as in the exercise's stub."""
    title: str
    is_of_engine: bool = True
    """Whether `compact` calls it."""


PARTS = {
    "00.1": Part("loop", "Ask and act until there are no calls", is_of_engine=False),
    "01.3": Part("next_prompt", "How large is the next prompt?"),
    "02.2": Part("clear_view", "Clear old results"),
    "04.1": Part("focus_of", "Has the model asked to compact?"),
    "04.4": Part("finished", "Is a piece of work finished?"),
    "06.3": Part("request_for", "Ask for a summary, or for an update"),
    "03.3": Part("hold", "Hold the rules that a summary dropped"),
    "07.4": Part("stand_in", "No summary: keep both ends of what was said"),
    "06.2": Part("hand_off", "Hand it over, so that nobody obeys it"),
    "03.2": Part("keep_last", "The newest exchanges stay"),
    "06.1": Part("with_head", "The first words stay"),
}
"""By exercise, in the order in which an engine needs them."""

FILLED = ("02.2", "03.2")
"""Parts that no agent of a lesson does without: unsolved, the finished function runs."""
_SHARES = ("threshold", "summary_tokens")


def numbers_of(exercise: str, answer: Any) -> dict[str, Any]:
    """Return what an answer sets of the agent's own numbers, {} if it sets none.

    Tokens become shares of the window, so that the agent works in any window.

    >>> numbers_of("03.4", {"threshold": 27_200, "summary_tokens": 1_600})
    {'threshold': 0.85, 'summary_tokens': 0.05}
    """
    if exercise == "04.3":
        return {"focus": answer}
    if exercise in ("02.3", "03.4"):
        return {
            name: round(value / WINDOW, 4) if name in _SHARES else value
            for name, value in answer.items()
        }
    return {}


def compact_of(parts: Sequence[str], has_numbers: bool) -> str:
    """Write the `compact` that puts these parts together, and its helpers."""
    has = {PARTS[name].name for name in parts}
    functions = [_compact(has, has_numbers)]
    if has & {"keep_last", "with_head"}:
        functions.append(_summary(has))
        if "stand_in" in has:
            functions.append(_WITHOUT_MODEL)
    return "\n\n\n".join(functions) + "\n"


def _compact(has: set[str], has_numbers: bool) -> str:
    lines = ["def compact(now):"]
    if has_numbers:
        lines.append("    now = now.sized(**NUMBERS)")
    lines.append("    step = now.unchanged()")
    if "clear_view" in has:
        lines += [
            "    if now.may_clear:",
            "        recent, length = now.settings.keep_recent, now.settings.min_chars",
            "        view = clear_view(now.messages, keep_recent=recent, min_chars=length)",
            "        step = now.cleared(view)",
        ]
    if not has & {"keep_last", "with_head"}:
        return "\n".join([*lines, "    return step"])
    lines.append("    messages = step.applied(now.messages)")
    if "next_prompt" in has:
        lines.append("    size = next_prompt(*now.meter.billed(messages), messages)")
    else:
        lines.append("    size = now.meter.estimate(messages)")
    lines += _wishes(has)
    no_wish = " and wish is None" if has & {"focus_of", "finished"} else ""
    lines += [
        f'    if now.reason == "auto"{no_wish} and not now.is_full(size):',
        "        return step",
        "    if len(exchanges(messages)) < 2:  # nothing to put a summary in place of",
        "        return step",
    ]
    wish = "wish or " if no_wish else ""
    lines += [f"    focus = {wish}now.focus", "    archive = now.archive()"]
    lines += _attempt(has)
    made = "hand_off" if "hand_off" in has else "summary_message"
    if "with_head" in has and "keep_last" in has:
        view = "with_head(messages, top({}), keep_last)"
    else:
        view = (
            "with_head" if "with_head" in has else "keep_last"
        ) + "(messages, top({}))"
    lines += [
        "",
        "    def top(words=None):",
        f"        return {made}(harmless(text), archive, words)",
        "",
        f"    view = {view.format('')}",
        f"    view = {view.format('now.unheard(view)')}",
        "    done = now.compacted(view, archive, after=step)",
        "    return replace(done, failure=failure, focus=focus)",
    ]
    return "\n".join(lines)


def _wishes(has: set[str]) -> list[str]:
    triggers = [name for name in ("focus_of", "finished") if name in has]
    if not triggers:
        return []
    lines = [f"    wish = {triggers[0]}(messages)"]
    if len(triggers) == 2:
        lines += ["    if wish is None:", "        wish = finished(messages)"]
    return lines


def _attempt(has: set[str]) -> list[str]:
    lines = [
        "    failure = None",
        "    try:",
        "        text = summary(now, messages, focus)",
        "    except SummaryFailed as error:",
    ]
    if "stand_in" not in has:
        return [
            *lines,
            "        return replace(step, failure=str(error), archive=archive)",
        ]
    return [
        *lines,
        '        if size < now.settings.emergency_tokens and now.reason != "reactive":',
        "            return replace(step, failure=str(error), archive=archive)",
        "        text = without_model(messages, now.settings.summary_tokens)",
        "        failure = str(error)",
    ]


def _summary(has: set[str]) -> str:
    lines = [
        "def summary(now, messages, focus):",
        "    sent = messages[: last_assistant(messages)]  # it fits, and the cache has it",
    ]
    if "request_for" in has:
        lines += [
            "    prompt = handoff_prompt(now.settings.summary_tokens, focus)",
            "    update = handoff_prompt(now.settings.summary_tokens, focus, update=True)",
            "    wish = request_for(sent, prompt, update.removeprefix(prompt))",
            '    sent = [*sent, {"role": "user", "content": wish}]',
        ]
    if "hold" not in has:
        return "\n".join([*lines, "    return now.summarize(sent, focus)"])
    return "\n".join(
        [
            *lines,
            "    text = now.summarize(sent, focus)",
            '    old = next((each for each in map(summary_text, messages) if each), "")',
            "    return hold(old, text)",
        ]
    )


_WITHOUT_MODEL = """\
def without_model(messages, tokens):
    lines = spoken_lines(messages)
    texts = ("\\n".join(stand_in(lines, most)) for most in range(len(lines), -1, -1))
    return next(text for text in texts if estimate_text(text, "summary") <= tokens)"""

COMPACT_IMPORTS = """\
from dataclasses import replace

from agentlib.auto_compact import SummaryFailed, harmless, summary_message, summary_text
from agentlib.estimation import estimate_text
from agentlib.head_and_tail import handoff_prompt
from agentlib.messages import exchanges, last_assistant
from agentlib.recovery import spoken_lines
"""
"""Whatever `compact` and its helpers may need. The file keeps those that they use."""
