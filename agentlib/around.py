"""What stands around an agent's engine: the breaker, the hooks, other models, the bills.

An `Agent` alone has none of it. `loop.equipped` puts an `Around` in the place of its
engine. See `events` for what is told about a turn.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from agentlib.breaker import breaker
from agentlib.engine_check import run_engine
from agentlib.estimation import TokenMeter
from agentlib.hooks import Hooks
from agentlib.messages import Block
from agentlib.pipeline import ContextEngine, Now
from agentlib.settings import Settings
from agentlib.step import Step
from agentlib.summaries import SummaryCall
from agentlib.tools import Workspace
from agentlib.transcripts import Session

if TYPE_CHECKING:
    import anthropic


class Working(Protocol):
    """What this reads of an `Agent`."""

    client: "anthropic.Anthropic"
    workspace: Workspace
    session: Session
    settings: Settings
    model: str
    system: str
    tools: list[Block]
    meter: TokenMeter


@dataclass(eq=False)
class Around:
    """An engine with all that stands around it."""

    agent: Working
    engine: ContextEngine
    hooks: Hooks
    full: str = ""
    """What fills the window while compaction rests. Empty: it doesn't rest."""

    def __call__(self, now: Now) -> Step:
        """Let the breaker, the hooks and the other models stand around one step of the
        engine, and add up its bills."""
        agent = self.agent
        session = agent.session
        rest = breaker(session.compactions, session.requests, agent.settings)
        if now.reason == "manual":  # the breaker never stops that
            rest = replace(rest, failures=0)
        summarize = SummaryCall(
            client=agent.client,
            model=agent.model,
            system=agent.system,
            tools=agent.tools,
            settings=agent.settings,
            meter=now.meter,
            breaker=rest,
            hooks=self.hooks,
            read=agent.workspace.text_of,
            persons=now.persons,
        )
        settings = rest.in_force(now.settings)
        inner = replace(now, settings=settings, summarize=summarize)
        step = replace(run_engine(self.engine, inner), usage=tuple(summarize.bills))
        step = self.hooks.put_beside(step, now.messages, now.meter)
        if now.reason == "auto":
            step, self.full = rest.told(
                step, now.messages, now.meter, agent.settings, now.persons
            )
        return step

    def after(self, step: Step) -> None:
        """Call the hook once a compaction is in the session."""
        if step.compaction:
            self.hooks.after(step)
