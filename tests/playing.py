"""Run a scenario from its first prompt to its last, and count what it took."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anthropic

from agentlib.estimation import prompt_tokens
from agentlib.lab.api.server import Model
from agentlib.lab.client import client
from agentlib.lab.spending import dollars
from agentlib.lab.tasks.scenarios import Clock, Scenario
from agentlib.loop import Turn, run
from agentlib.messages import of_type
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session

PRICED_AS = "claude-opus-5-5"
"""Whose prices the runs are compared at; the file of prices knows it."""


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
    def tokens(self) -> int:
        """Sent in all."""
        return sum(map(prompt_tokens, self.usages))

    @property
    def usd(self) -> float:
        return sum(dollars(usage, PRICED_AS) for usage in self.usages)

    @property
    def compactions(self) -> list[int]:
        """The turns before which a compaction was carried out."""
        done = ("auto", "manual", "reactive")
        return [n for n, turn in enumerate(self.turns, 1) if turn.step.compaction in done]

    @property
    def repeats(self) -> int:
        """Calls made again with the same inputs."""
        calls = Counter(
            json.dumps([call["name"], call["input"]], sort_keys=True)
            for message in self.session.history
            if message["role"] == "assistant"
            for call in of_type(message, "tool_use")
        )
        return sum(calls.values()) - len(calls)


def play(
    scenario: Scenario,
    settings: Settings,
    folder: Path,
    *,
    window: int | None = None,
    model: Model | None = None,
    max_turns: int = 400,
    during: Callable[[Turn], None] = lambda turn: None,
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
                during(turn)
    except anthropic.APIStatusError as error:
        played.error = error.message
    played.checks = scenario.checks(work, session.history)
    return played
