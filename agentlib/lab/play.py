"""The closed loop: a task done again from its start by the offline agent, under given settings.

A replay keeps the recorded messages; here the agent itself works again, so that what a setting
made it forget shows in what it does. The same settings give the same run, so each is run once and
remembered. Illustrates a mechanism; it is no evidence about language models.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from agentlib import loop
from agentlib.estimation import prompt_tokens
from agentlib.lab.api.faults import Fault
from agentlib.lab.client import client
from agentlib.lab.replay import replay, table
from agentlib.lab.spending import dollars
from agentlib.lab.tasks.scenarios import Clock, Scenario
from agentlib.messages import Message, of_type
from agentlib.pipeline import compact
from agentlib.settings import Settings
from agentlib.step import ContextEngine
from agentlib.tools import Workspace
from agentlib.transcripts import Session

if TYPE_CHECKING:
    import anthropic
    from pandas import DataFrame

MAX_TURNS = 200


@dataclass(frozen=True, kw_only=True)
class Rerun:
    """One run and what came of it."""

    settings: Settings
    session: Session
    usages: tuple[Mapping[str, Any], ...]
    """What was billed: a usage a response, those of summaries too."""
    checks: Mapping[str, Any]
    """The scenario's own measures, `done` first."""
    refused: str = ""
    """The API's words where it ended the run with an error."""

    @property
    def turns(self) -> int:
        return len(self.session.requests)

    @property
    def sent(self) -> int:
        """Tokens of all prompts together."""
        return sum(map(prompt_tokens, self.usages))

    @property
    def repeated(self) -> int:
        """Calls that had been made before, word for word."""
        return repeated(self.session.history)

    def dollars(self, model: str) -> float:
        """What the run would have cost at this model's prices. ValueError for an unknown one."""
        return sum(dollars(usage, model) for usage in self.usages)

    def table(self) -> "DataFrame":
        """A row a turn, as the charts take it."""
        return table(replay(self.session, self.settings))


def repeated(history: Sequence[Message]) -> int:
    """How many calls had been made before, word for word.

    >>> call = {"type": "tool_use", "name": "bash", "input": {"command": "ls"}}
    >>> repeated([{"role": "assistant", "content": [call]}] * 3)
    2
    """
    calls = Counter(
        f"{call['name']} {call['input']}"
        for message in history
        if message["role"] == "assistant"
        for call in of_type(message, "tool_use")
    )
    return calls.total() - len(calls)


@lru_cache(maxsize=64)
def rerun(
    scenario: Scenario,
    settings: Settings,
    engine: ContextEngine = compact,
    *,
    live: bool = False,
    max_usd: float | None = None,
    faults: tuple[Fault, ...] = (),
) -> Rerun:
    """Do the task in a fresh workspace, at most `MAX_TURNS` requests for each of its prompts.

    The window on the wire is `settings.context_window`; `live`, `max_usd` and `faults` as in
    `client`, and live, commands run in bubblewrap or not at all. An error of the API ends the run
    and stands in `refused`; every other one propagates.
    """
    import anthropic

    clock, usages, refused = Clock(), list[Mapping[str, Any]](), ""
    window = settings.context_window
    llm = client(live, window=window, max_usd=max_usd, faults=faults, clock=clock)
    with TemporaryDirectory() as name:
        place = Path(name, "work")
        scenario.make_workspace(place)
        workspace = Workspace(place, sandbox=live)
        session = Session.create(name, settings=settings, session_id=scenario.name, clock=clock)
        try:
            for turn in _turns(llm, scenario, workspace, session, engine, clock):
                usages += turn.usages
        except anthropic.APIStatusError as error:
            body: Any = error.body
            refused = body["error"]["message"]
        checks = scenario.checks(place, session.history)
    known: dict[str, Any] = {"settings": settings, "session": session, "checks": checks}
    return Rerun(usages=tuple(usages), refused=refused, **known)


def _turns(
    llm: "anthropic.Anthropic",
    scenario: Scenario,
    workspace: Workspace,
    session: Session,
    engine: ContextEngine,
    clock: Clock,
) -> Iterator[loop.Turn]:
    known: dict[str, Any] = {"settings": session.settings, "session": session, "clock": clock}
    for number, prompt in enumerate(scenario.prompts):
        clock.pause(scenario.pauses[number] if scenario.pauses else 0)
        yield from loop.run(llm, prompt, workspace, engine=engine, max_turns=MAX_TURNS, **known)
