"""Run a scenario from its first prompt to its last, and count what it took."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anthropic

from agentlib.lab.api.server import Model
from agentlib.lab.client import client
from agentlib.lab.tasks.scenarios import Clock, Scenario
from agentlib.loop import Turn, run
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session


@dataclass
class Played:
    """What a run took, and what came of it."""

    session: Session
    folder: Path
    turns: list[Turn] = field(default_factory=list[Turn])
    error: str | None = None
    checks: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def usages(self) -> list[Mapping[str, Any]]:
        return [usage for turn in self.turns for usage in turn.usages]

    @property
    def compactions(self) -> list[int]:
        """The turns before which a compaction was carried out."""
        done = ("auto", "manual", "reactive")
        return [n for n, turn in enumerate(self.turns, 1) if turn.step.compaction in done]


def play(
    scenario: Scenario,
    settings: Settings,
    folder: Path,
    *,
    window: int | None = None,
    model: Model | None = None,
    max_turns: int = 400,
) -> Played:
    """The scenario under these settings, in a window of the API's of `window` tokens (theirs)."""
    work, clock = folder / "work", Clock()
    work.mkdir(parents=True)
    scenario.make_workspace(work)
    session = Session.create(folder, settings=settings, session_id=scenario.name, clock=clock)
    api = client(window=window or settings.context_window, clock=clock, model=model)
    played = Played(session, work)
    options: dict[str, Any] = {"settings": settings, "session": session, "clock": clock}
    try:
        for n, prompt in enumerate(scenario.prompts):
            clock.pause(scenario.pauses[n] if scenario.pauses else 0)
            for turn in run(api, prompt, Workspace(work), max_turns=max_turns, **options):
                played.turns.append(turn)
    except anthropic.APIStatusError as error:
        played.error = error.message
    played.checks = scenario.checks(work, session.history)
    return played
