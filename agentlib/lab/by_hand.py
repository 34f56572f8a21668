"""A task with one compaction by hand: stop after so many turns, compact, go on to the end.

What `/compact` does in the terminal, as a function, so that places and focuses can be compared.
The same arguments give the same run, so each is run once and remembered. Not here: the agent's
own compactions (rerun), and the button (focus_panel).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from agentlib import loop
from agentlib.auto_compact import summary_text
from agentlib.estimation import prompt_tokens
from agentlib.lab.client import client
from agentlib.lab.play import MAX_TURNS
from agentlib.lab.tasks.scenarios import Clock, Scenario
from agentlib.messages import Message
from agentlib.settings import Settings
from agentlib.step import Step
from agentlib.tools import Workspace
from agentlib.transcripts import Session

if TYPE_CHECKING:
    import anthropic


@dataclass(frozen=True, kw_only=True)
class ByHand:
    """The window before and after the compaction, and what came of the task."""

    before: Sequence[Message]
    """The context as it was compacted; the one after it is `step.messages`."""
    step: Step
    session: Session
    usages: Sequence[Mapping[str, Any]]
    """What was billed: a usage a response, that of the summary too."""
    checks: Mapping[str, Any]
    """The scenario's own measures, `done` first."""

    @property
    def summary(self) -> str:
        """What stands in place of the rest; "" where nothing was compacted."""
        done = self.step.compaction == "manual"
        return summary_text(self.step.messages[0]) if done else ""

    @property
    def turns(self) -> int:
        return len(self.session.requests)

    @property
    def sent(self) -> int:
        """Tokens of all prompts together."""
        return sum(map(prompt_tokens, self.usages))

    def kept(self, scenario: Scenario) -> dict[str, Any]:
        """What the summary holds of what was planted: `facts`, the `rule`, and how many `names`.

        A name is a line on something that a file defines: the details of the work.
        """
        return {
            "facts": sum(fact in self.summary for fact in scenario.facts),
            "rule": bool(scenario.constraint) and scenario.constraint in self.summary,
            "names": self.summary.count("\n- `"),
        }


@dataclass(kw_only=True)
class _Work:
    """A run that has a compaction in it."""

    client: "anthropic.Anthropic"
    session: Session
    workspace: Workspace
    clock: Clock
    usages: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    before: list[Message] = field(default_factory=list[Message])
    step: Step | None = None

    def turns(self, prompt: str | None, most: int) -> None:
        for turn in loop.run(
            self.client,
            prompt,
            self.workspace,
            settings=self.session.settings,
            session=self.session,
            max_turns=most,
            clock=self.clock,
        ):
            self.usages += turn.usages

    def compact(self, focus: str) -> None:
        self.before = list(self.session.context)
        self.step = loop.compact_now(
            self.client,
            self.session,
            self.workspace,
            focus,
            settings=self.session.settings,
            clock=self.clock,
        )
        self.usages += self.step.usage


@lru_cache(maxsize=64)
def by_hand(scenario: Scenario, settings: Settings, after: int, focus: str = "") -> ByHand:
    """Do the task offline, with `/compact <focus>` after turn number `after`.

    Raises ValueError where the task has no such turn. An error of the API propagates.
    """
    clock = Clock()
    with TemporaryDirectory() as name:
        place = Path(name, "work")
        scenario.make_workspace(place)
        session = Session.create(name, settings=settings, session_id=scenario.name, clock=clock)
        llm = client(window=settings.context_window, clock=clock)
        work = _Work(client=llm, session=session, workspace=Workspace(place), clock=clock)
        for prompt, most in _shares(scenario.prompts, work, after):
            work.turns(prompt, most)
            if work.step is None and len(session.requests) == after:
                work.compact(focus)
                work.turns(None, MAX_TURNS)
        checks = scenario.checks(place, session.history)
    if work.step is None:
        raise ValueError(f"after={after}; the task has turns 1 to {len(session.requests)}")
    known: dict[str, Any] = {"before": work.before, "step": work.step, "session": session}
    return ByHand(usages=work.usages, checks=checks, **known)


def _shares(prompts: Sequence[str], work: _Work, after: int) -> Iterator[tuple[str, int]]:
    """Each prompt and how many turns it may take before the compaction is due."""
    for prompt in prompts:
        left = after - len(work.session.requests)
        yield prompt, left if work.step is None and left > 0 else MAX_TURNS
