"""The parts of a learner's agent: which exercises they come from, and how they fit.

`layers_of` writes the layers that the solved ones make, and the list that the file ends in.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentlib.settings import Settings

NUMBERS = "NUMBERS"
WINDOW = 32_000
"""Tokens of the window in which the lessons' numbers are found."""
EVIDENCE = Settings(threshold_pct=65, summary_tokens=3_500)
"""A threshold that did well in replays of real sessions, and the median length of a
summary there.

Lessons 03 to 06 scale both to 32,000 tokens. Files and facts aren't scaled, so the
summary is short for them."""
LESSONS = {"keep_recent": 3, "min_chars": 100}
"""Lesson 02's numbers, for a file that has no others."""


@dataclass(frozen=True)
class Part:
    """A function of the learner's file."""

    name: str
    """What the function is called there, as in the exercise's stub."""
    title: str
    beside: str = ""
    """What it is for, if no layer of the list calls it."""

    @property
    def is_of_engine(self) -> bool:
        """Whether a layer of the list calls it."""
        return not self.beside


PARTS = {
    "00.1": Part(
        "loop", "Ask and act until there are no calls", "for a loop of your own"
    ),
    "01.3": Part("next_prompt", "How large is the next prompt?"),
    "02.2": Part("clear_view", "Clear old results"),
    "08.4": Part("policy", "Clear when the cache is cold", "if `clear_cold` is listed"),
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
_SETS = {
    "02.3": ("keep_recent", "min_chars"),
    "03.4": ("threshold", "summary_tokens"),
    "04.3": ("focus",),
}
"""The exercises that set the agent's own numbers, and which."""
SHARES = _SETS["03.4"]


def numbers_of(exercise: str, answer: Any) -> dict[str, Any]:
    """Return what an answer sets of the agent's own numbers, {} if it sets none.

    Tokens become shares of the window, so that the agent works in any window.

    >>> numbers_of("03.4", {"threshold": 27_200, "summary_tokens": 1_600})
    {'threshold': 0.85, 'summary_tokens': 0.05}
    """
    if exercise not in _SETS:
        return {}
    if exercise == "04.3":
        return {"focus": answer}
    return {
        name: round(value / WINDOW, 4) if name in SHARES else value
        for name, value in answer.items()
    }


def solved_by(numbers: Mapping[str, Any]) -> list[str]:
    """Return the exercises whose answers stand in a file's numbers."""
    own = {name for name, value in numbers.items() if LESSONS.get(name) != value}
    return [exercise for exercise, names in _SETS.items() if own.intersection(names)]


# A line stays if its mark holds: all of some parts (`a b`), one of them (`a|b`), not one
# (`-a`). The mark of a function's first line counts for the whole function.
_TEMPLATE = '''\
def clear(now, step):  #? clear_view
    """Put placeholders in place of old results."""
    settings = now.settings
    if settings.micro == "off" or not settings.enabled:
        return step
    messages = step.applied(now.messages)
    view = clear_view(
        messages, keep_recent=settings.keep_recent, min_chars=settings.min_chars
    )
    return now.cleared(view)


def clear_cold(now, step):  #? policy
    """Clear as policy says. To use it, list it in the place of `clear`."""
    if now.settings.micro == "off" or not now.settings.enabled:
        return step
    return now.cleared(policy(step.applied(now.messages), now.idle))


def summarise(now, step):  #? SUMMARISES
    """Past the threshold, put a summary in place of the rest."""
    messages = step.applied(now.messages)
    size = step.tokens_after  #? -next_prompt
    size = next_prompt(*now.meter.billed(messages), messages)  #? next_prompt
    wish = wanted(messages)  #? focus_of|finished
    now = replace(now, focus=wish or now.focus)  #? focus_of|finished
    is_due = now.reason != "auto" or now.is_full(size)  #? -focus_of -finished
    asked = now.reason != "auto" or wish is not None  #? focus_of|finished
    is_due = asked or now.is_full(size)  #? focus_of|finished
    if not is_due or not now.settings.enabled or len(exchanges(messages)) < 2:
        return step
    text = now.summarize(messages, now.focus)  #? -request_for -hold
    text = summary(now, messages)  #? request_for|hold
    archive = now.archive()
    top = summary_message(text, archive)  #? -hand_off
    top = hand_off(harmless(text), archive, None)  #? hand_off
    view = [top, *messages[last_assistant(messages) :]]  #? -keep_last -with_head
    view = keep_last(messages, top)  #? keep_last -with_head
    view = with_head(messages, top)  #? -keep_last with_head
    view = with_head(messages, top, keep_last)  #? keep_last with_head
    return now.compacted(view, archive)


def wanted(messages):  #? focus_of|finished
    """Return what a summary is wanted for at this moment. None: nobody wants one."""
    wish = focus_of(messages)  #? focus_of
    wish = finished(messages)  #? -focus_of
    if wish is None:  #? focus_of finished
        wish = finished(messages)  #? focus_of finished
    return wish


def summary(now, messages):  #? request_for|hold
    """Ask for the summary of what the last prompt held: it fits, and the cache has it."""
    sent = messages[: last_assistant(messages)]
    prompt = handoff_prompt(now.settings.summary_tokens, now.focus)  #? request_for
    update = handoff_prompt(now.settings.summary_tokens, now.focus, update=True)  #? request_for
    wish = request_for(sent, prompt, update.removeprefix(prompt))  #? request_for
    sent = [*sent, {"role": "user", "content": wish}]  #? request_for
    text = now.summarize(sent, now.focus)
    old = next((each for each in map(summary_text, messages) if each), "")  #? hold
    return hold(old, text)  #? hold
    return text  #? -hold


def cut(now, step):  #? stand_in
    """If the summary failed and the window is nearly full, do without a model."""
    full = now.settings.emergency_tokens
    is_urgent = now.reason == "reactive" or step.tokens_after > full
    if step.failure is None or not is_urgent:
        return step
    lines = spoken_lines(step.applied(now.messages))
    texts = ("\\n".join(stand_in(lines, most)) for most in range(len(lines), -1, -1))
    room = now.settings.summary_tokens
    text = next(each for each in texts if estimate_text(each, "summary") <= room)
    by_hand = now.asking(lambda messages, focus: text)
    done = summarise(by_hand, replace(step, failure=None))
    return replace(done, failure=step.failure, rested=step.rested)'''

IMPORTS = """\
from dataclasses import replace

from agentlib.auto_compact import harmless, summary_message, summary_text
from agentlib.estimation import estimate_text
from agentlib.head_and_tail import handoff_prompt
from agentlib.messages import exchanges, last_assistant
from agentlib.pipeline import clear, stacked, summarise
from agentlib.recovery import spoken_lines
"""
"""Whatever the layers may need. The file keeps those that it uses and doesn't define."""


def layers_of(parts: Collection[str], has_numbers: bool) -> str:
    """Write the layers of these parts, their helpers, and the list that is the engine.

    A layer that has none of the parts is the course's, by import.
    """
    has = {PARTS[name].name for name in parts}
    if any(PARTS[name].is_of_engine for name in parts if name != "02.2"):
        has.add("SUMMARISES")
    blocks = [_block(text, has) for text in _TEMPLATE.split("\n\n\n")]
    listed = ["clear", "summarise", *["cut"] * ("stand_in" in has)]
    listed += [f"numbers={NUMBERS}"] * has_numbers
    blocks.append(f"compact = stacked({', '.join(listed)})")
    return "\n\n\n".join(filter(None, blocks)) + "\n"


def _block(text: str, has: Collection[str]) -> str:
    lines = [line.partition("  #? ")[::2] for line in text.splitlines()]
    if not _holds(lines[0][1], has):
        return ""
    return "\n".join(line for line, mark in lines if _holds(mark, has))


def _holds(mark: str, has: Collection[str]) -> bool:
    return all(
        word[1:] not in has
        if word.startswith("-")
        else any(name in has for name in word.split("|"))
        for word in mark.split()
    )


def is_the_courses(text: str, words: Sequence[str]) -> bool:
    """Tell whether `layers_of` wrote this text, whose names are `words`."""
    parts = [exercise for exercise, part in PARTS.items() if part.name in words]
    return layers_of(parts, NUMBERS in words).strip() == text.strip()
