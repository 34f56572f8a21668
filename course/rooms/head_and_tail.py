"""Lesson 06: the first words, a note, an update, and who writes."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from agentlib.api.spending import PRICED_AS, dollars
from agentlib.api.spending import rates as rates
from agentlib.auto_compact import summary_message, summary_text
from agentlib.estimation import prompt_tokens
from agentlib.head_and_tail import handoff_prompt
from agentlib.messages import Message, active_request
from agentlib.pipeline import Layer
from agentlib.session.file import CompactionRecord
from agentlib.settings import Settings
from course.checks.auto_compact import newest_stay as keep_last
from course.checks.head_and_tail import ARCHIVE
from course.checks.head_and_tail import with_note as with_note
from course.figures.survival import sentence as sentence
from course.figures.survival import survival as survival
from course.generations import places, planted
from course.page import print_lines, survived
from course.panels.panel import Panel, choice, knobs
from session_report.style import cut as cut
from windtunnel.parts import layer_of
from windtunnel.runner import MAX_TURNS, Run, play
from windtunnel.tasks.generated import PARTS as PARTS
from windtunnel.tasks.scenarios import REVIEW, Scenario, last_words

START = Settings(
    micro="off", manual=False, threshold_pct=65, summary_tokens=2_813
).scaled(32_000)
"""Summaries are the only layer in this lesson: nothing is cleared."""


# -- what the cells show ---------------------------------------------------------------

PLAIN = handoff_prompt(START.summary_tokens)
UPDATE = handoff_prompt(START.summary_tokens, update=True).removeprefix(PLAIN)
"""What asks for an update, after the prompt for a summary."""
HERMES_ONCE = {
    "Earlier questions": "Pending questions",
    "Progress notes": "Remaining work",
}
"""What Hermes called two headings of its prompt."""
_first, _report = REVIEW.prompts
_question = "Where is `EF_ARM_ABIMASK` set? Follow it through the files."
BROKEN_OFF = replace(REVIEW, prompts=(_first, _question, _report), pauses=())
"""A question that the person breaks off after one turn, and then the report."""


def no_note(summary: str, archive: str, words: str | None) -> Message:
    """Make the message of a summary without a note."""
    return summary_message(summary, archive, words, reference_only=False)


def always_new(messages: Sequence[Message], prompt: str, update: str) -> str:
    """Ask for a summary as if there had been none."""
    return prompt


def parts(
    messages: list[Message],
    summarize: Callable[[list[Message]], str],
    head: Callable[..., list[Message]] = keep_last,
    message: Callable[..., Message] = no_note,
    ask: Callable[..., str] = always_new,
    names: Mapping[str, str] | None = None,
    summary_tokens: int = START.summary_tokens,
) -> list[Message]:
    """Compact with these parts; `names` are other words for headings of the prompt."""
    prompt = ask(messages, handoff_prompt(summary_tokens), UPDATE)
    for heading, other in (names or {}).items():
        prompt = prompt.replace(heading, other)
    summary = summarize([*messages, {"role": "user", "content": prompt}])
    return head(messages, message(summary, ARCHIVE, active_request(messages)))


def layer(**given: Any) -> Layer:
    """Make a layer of `parts`, with these of them."""
    return layer_of(partial(parts, **given), given="summarize")


def fates(run: Run) -> dict[str, list[str]]:
    """Say where each compaction of a run left the rule and the facts."""
    return places(run.session, planted(REVIEW))


def summary_of(run: Run, number: int) -> CompactionRecord:
    """Return a run's compaction with this number. Raises ValueError if there is
    none."""
    count = len(run.session.compactions)
    if not 0 < number <= count:
        raise ValueError(
            f"no summary {number}: this run of {run.turns} turns has {count}"
        )
    return run.session.compactions[number - 1]


def print_section(run: Run, number: int, heading: str) -> None:
    """Print a section of a run's summary with this number."""
    text = summary_text(summary_of(run, number).message or {})
    print(f"summary {number}")
    section = text.partition(f"## {heading}")[2].partition("## ")[0]
    print_lines(f"## {heading}{section}".rstrip(), 2)


def kept_by(run: Run) -> str:
    """Say in a title what of the rule and the facts came into a run's report."""
    rule = "kept" if run.checks["rule kept"] else "lost"
    return f"rule {rule}, {run.checks['facts']} of {len(REVIEW.facts)} facts"


def missing(part: str) -> str:
    """Name a row of the stored table of parts, by the part that its runs lack."""
    names = {"nothing": "all three parts", "all three": "no part"}
    return names.get(part) or part.replace("the ", "no ")


def ending(run: Run) -> str:
    """Say how a run with the question that was broken off ended."""
    last = last_words(run.session.history).splitlines()[-1]
    return (
        "report" if run.checks["done"] else "stale answer" if "EF_ARM" in last else last
    )


def summary_bills(run: Run) -> tuple[int, int, float]:
    """Return all tokens of a run's requests for summaries, those from the cache, and
    dollars."""
    usages = [usage for each in run.session.compactions for usage in each.usage]
    cached = sum(usage["cache_read_input_tokens"] for usage in usages)
    return (
        sum(map(prompt_tokens, usages)),
        cached,
        sum(dollars(u, PRICED_AS) for u in usages),
    )


def parts_panel(
    scenario: Scenario, settings: Settings, ways: Mapping[str, Mapping[str, Any]]
) -> Panel:
    """Run the task again with some parts of a hand-off, and shorter or longer ones.

    `ways`: what `layer` is given, by the names of what is on in it.
    """

    def draw(parts: str, summary_tokens: int) -> tuple[bytes, str]:
        layers = [layer(**ways[parts], summary_tokens=summary_tokens)]
        settled = replace(settings, summary_tokens=summary_tokens)
        return survived(
            scenario, play(scenario, settled, layers=layers, max_turns=MAX_TURNS)
        )

    parts = choice("parts", next(iter(ways)), tuple(ways), "the parts that are on")
    length = knobs(settings, summary_tokens=(150, 1_600, 50))
    return Panel({"parts": parts, **length}, draw)
