"""A session on a bad day: the real loop, with faults, hooks or a model of your own.

`rerun` is the same for good days, and remembers; here the turns are kept too, so that what the
loop told on the way can be read. Illustrates a mechanism; it is no evidence about language models.
Not here: the faults themselves (offline.faults).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from agentlib import loop
from agentlib.hooks import NO_HOOKS, Hooks, notes_file
from agentlib.lab.api.faults import Fault
from agentlib.lab.api.server import Model
from agentlib.lab.client import client
from agentlib.lab.tasks.scenarios import Checks, Clock, Scenario
from agentlib.pipeline import compact
from agentlib.settings import Settings
from agentlib.step import ContextEngine
from agentlib.tools import Workspace
from agentlib.transcripts import Session

if TYPE_CHECKING:
    import anthropic

MAX_TURNS = 60


@dataclass(frozen=True, kw_only=True)
class Day:
    """How the session went."""

    session: Session
    turns: tuple[loop.Turn, ...]
    checks: Checks
    """The scenario's own measures, `done` first."""
    ended: str
    """What ended it before its time: the error's name and words; "" where nothing did."""

    def told(self, *kinds: str) -> Iterator[str]:
        """What the loop told, a line each with the number of the turn; of these kinds, or all."""
        for number, turn in enumerate(self.turns, 1):
            for event in turn.events:
                if not kinds or event.kind in kinds:
                    yield f"turn {number}: {event.kind}: {event.text}"


def day(
    scenario: Scenario,
    settings: Settings,
    *,
    faults: Sequence[Fault] = (),
    hooks: Hooks = NO_HOOKS,
    notes: str = "",
    model: Model | None = None,
    retries: int = 2,
    engine: ContextEngine = compact,
    max_turns: int = MAX_TURNS,
) -> Day:
    """Do the task offline, at most `max_turns` requests for each prompt; an error ends it.

    `notes`: what NOTES.md in the workspace holds; it is put back after each compaction. `model`:
    body -> reply, in place of the course's policy. `retries`: the SDK's.
    """
    clock = Clock()
    llm = client(window=settings.context_window, faults=faults, clock=clock, model=model)
    with TemporaryDirectory() as name:
        place = Path(name, "work")
        scenario.make_workspace(place)
        if notes:
            (place / "NOTES.md").write_text(notes, encoding="utf-8", newline="\n")
            hooks = Hooks(
                before=hooks.before,
                after=hooks.after,
                restore=(notes_file(place / "NOTES.md"), *hooks.restore),
            )
        session = Session.create(name, settings=settings, session_id=scenario.name, clock=clock)
        known: dict[str, Any] = {"settings": settings, "session": session, "clock": clock}
        known |= {"hooks": hooks, "engine": engine, "max_turns": max_turns}
        turns, ended = _worked(llm.with_options(max_retries=retries), scenario, place, known)
        checks = scenario.checks(place, session.history)
    return Day(session=session, turns=turns, checks=checks, ended=ended)


def _worked(
    llm: "anthropic.Anthropic", scenario: Scenario, place: Path, known: dict[str, Any]
) -> tuple[tuple[loop.Turn, ...], str]:
    turns, workspace = list[loop.Turn](), Workspace(place)
    try:
        for prompt in scenario.prompts:
            turns += loop.run(llm, prompt, workspace, **known)
    except (Exception, KeyboardInterrupt) as error:  # how it ended is what is asked for
        words = str(error)
        return tuple(turns), f"{type(error).__name__}: {words}".rstrip(": ")
    return tuple(turns), ""


def outcomes(session: Session) -> Counter[str]:
    """The compactions of a session by what became of them: done, cut to size, failed."""
    return Counter(
        "failed" if each.message is None else "cut to size" if each.failure else "done"
        for each in session.compactions
    )


def asked(session: Session) -> list[int]:
    """Before which requests, the first being 1, a model was asked for a summary."""
    return [
        1 + sum(sent.seen < each.seen for sent in session.requests)
        for each in session.compactions
        if not each.rested
    ]
