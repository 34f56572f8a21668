"""The course's scorecard: one session through all lessons, a row for the layers of each.

The session is `scenarios.REVIEW` at a window of 32,000 tokens, run closed loop and offline: the
agent itself works on, so what it forgets has consequences. The rule that its user states first is
the constraint. Not here: other engines and tasks, and charts. What the offline model does says
nothing about language models; it shows how a layer works.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentlib import loop, presets
from agentlib.estimation import TokenMeter, prompt_tokens
from agentlib.lab.client import client
from agentlib.lab.spending import dollars
from agentlib.lab.tasks import scenarios
from agentlib.messages import Message, of_type
from agentlib.pipeline import compact
from agentlib.settings import MODEL, Settings
from agentlib.step import ContextEngine, Step
from agentlib.tools import Workspace
from agentlib.transcripts import Session

if TYPE_CHECKING:
    import pandas

WINDOW = 32_000
DOLLARS = f"$ {MODEL.removeprefix('claude-')}"
"""The column of dollars, which names their model."""
_NO_LAYER: dict[str, Any] = {"micro": "off", "auto": False, "manual": False}


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What the agent has after a lesson."""

    settings: Settings
    stops: Callable[[Session], str] = lambda session: ""
    """After each turn: why the agent stops by itself; "" to go on."""
    engine: ContextEngine = compact
    """What stands between the messages and each request."""


@dataclass(kw_only=True)
class Played:
    """The session as it went with the layers of one lesson. A token is one that was billed."""

    session: Session
    usages: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    turns: int = 0
    ended: str = "done"
    """`done`, or what ended the run: the API's refusal, or the agent's own words."""
    checks: scenarios.Checks = field(default_factory=dict[str, Any])


def warned(session: Session) -> str:
    """What the meter says where the next request is past the compaction point, or ""."""
    meter, settings = TokenMeter(len(session.system) + len(str(session.tools))), session.settings
    for sent in session.requests:
        meter.observe(sent.context, sent.usage)
    size, point = meter.estimate(session.context), settings.threshold_tokens
    return f"stopped itself: {size:,} tokens next, {point:,} is the point" if size > point else ""


def with_focus(messages: Sequence[Message], settings: Settings, **known: Any) -> Step:
    """The layers, but that at the compaction point a person compacts by hand and says `FOCUS`."""
    step = compact(messages, replace(settings, auto=False), **known)
    if step.compaction or step.tokens_after <= settings.threshold_tokens:
        return step
    asked: dict[str, Any] = {**known, "reason": "manual", "focus": FOCUS}
    return compact(messages, settings, **asked)


EVIDENCE: dict[str, Any] = {"threshold_pct": 65, "summary_tokens": 3_500}
"""The compaction point and the length of a summary that replays of real sessions recommend."""
FOCUS = "the rules of the user"

STAGES = {
    "00": Stage(settings=Settings(enabled=False)),
    "01": Stage(settings=Settings(**_NO_LAYER), stops=warned),
    "02": Stage(settings=Settings(auto=False, manual=False)),
    "03": Stage(settings=Settings(**EVIDENCE, manual=False)),
    "04": Stage(settings=Settings(**EVIDENCE), engine=with_focus),
    "05": Stage(settings=Settings(**EVIDENCE, recall=True), engine=with_focus),
    "06": Stage(settings=Settings(**EVIDENCE, recall=True, head_tokens=4_000, tail_tokens=16_000)),
    "07": Stage(settings=presets.DEFAULT),
}
"""A lesson's number, and what the agent has when it is over; a layer more each time."""


@cache
def played(lesson: str) -> Played:
    """The run behind a row. The same in every process; made once in each.

    Raises `ValueError` for a lesson that has no row.
    """
    if lesson not in STAGES:
        raise ValueError(f"no row for lesson {lesson!r}; there are {', '.join(STAGES)}")
    stage, clock = STAGES[lesson], scenarios.Clock()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "work"
        session = Session.create(
            place, settings=stage.settings.scaled(WINDOW), session_id=lesson, clock=clock
        )
        scenarios.REVIEW.make_workspace(folder)
        run = Played(session=session)
        _play(run, stage, folder, clock)
        run.checks = scenarios.REVIEW.checks(folder, session.history)
        return run


def _play(run: Played, stage: Stage, folder: Path, clock: scenarios.Clock) -> None:
    import anthropic

    try:
        for turn in _turns(run.session, stage, folder, clock):
            run.turns += 1
            run.usages += turn.usages
            if why := stage.stops(run.session):
                run.ended = why
                return
    except anthropic.BadRequestError as error:
        body: Any = error.body
        run.ended = f"{error.status_code} {body['error']['message']}"


def _turns(
    session: Session, stage: Stage, folder: Path, clock: scenarios.Clock
) -> Iterator[loop.Turn]:
    llm, workspace = client(window=WINDOW), Workspace(folder)
    known: dict[str, Any] = {"settings": session.settings, "session": session, "clock": clock}
    for prompt in scenarios.REVIEW.prompts:
        yield from loop.run(llm, prompt, workspace, engine=stage.engine, **known)


def row(lesson: str) -> dict[str, Any]:
    """What the session came to with the layers of one lesson.

    `turns` requests answered, `tokens sent` in all of them (the summary's calls too), dollars at
    the list price of the model named, `rule kept`, `re-read` files, `done`. Raises `ValueError`.
    """
    run = played(lesson)
    return {
        "lesson": lesson,
        "turns": run.turns,
        "tokens sent": sum(map(prompt_tokens, run.usages)),
        DOLLARS: round(sum(dollars(usage, MODEL) for usage in run.usages), 4),
        "rule kept": "yes" if run.checks["constraint"] else "no",
        "re-read": reread(run.session.history),
        "done": "yes" if run.checks["done"] else "no",
    }


def reread(history: Sequence[Message]) -> int:
    """How many reads asked for the very lines that an earlier read had asked for.

    >>> read = {"type": "tool_use", "name": "read_file", "input": {"path": "a.py"}}
    >>> reread([{"role": "assistant", "content": [read]}] * 3)
    2
    """
    calls = (c for m in history if m["role"] == "assistant" for c in of_type(m, "tool_use"))
    reads = Counter(str(sorted(c["input"].items())) for c in calls if c["name"] == "read_file")
    return sum(times - 1 for times in reads.values())


def scorecard(upto: str) -> "pandas.DataFrame":
    """A row for each lesson from the first to `upto`. Raises `ValueError` as `row` does."""
    import pandas

    last = row(upto)
    before = [row(lesson) for lesson in STAGES if lesson < upto]
    return pandas.DataFrame([*before, last]).set_index("lesson")
