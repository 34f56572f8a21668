"""Two short sessions of lesson 06: a question broken off, and a model changed in mid-session.

Both run the agent itself, offline. Not here: what a hand-off is (head_and_tail). What the offline
model does with its words shows how a mechanism works and is no evidence about language models.
"""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agentlib import loop
from agentlib.lab import model as policy
from agentlib.lab.api.server import Server
from agentlib.lab.client import client
from agentlib.lab.tasks.scenarios import REVIEW, Clock
from agentlib.messages import asks_for_summary, blocks
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session

STALE = "Where is `EF_ARM_ABIMASK` set? Follow it through the files."
"""A question that nobody wants answered any more."""
MAX_TURNS = 60


def broken_off(settings: Settings) -> tuple[bool, str, Session]:
    """`STALE` is asked and broken off after a turn; then the report of REVIEW is asked for.

    Returns whether the report was written, the agent's last words, and the session.
    """
    with TemporaryDirectory() as box:
        work, clock = Path(box, "work"), Clock()
        REVIEW.make_workspace(work)
        known: dict[str, Any] = {"settings": settings, "clock": clock}
        session = Session.create(box, session_id="broken-off", **known)
        llm = client(window=settings.context_window, clock=clock)
        for prompt, turns in ((STALE, 1), (REVIEW.prompts[1], MAX_TURNS)):
            hands = Workspace(work)
            list(loop.run(llm, prompt, hands, session=session, max_turns=turns, **known))
        last = blocks(session.history[-1])[-1]
        return (work / "REPORT.md").is_file(), str(last.get("text")), session


def asked_of(settings: Settings, models: tuple[str, str]) -> list[tuple[str, str]]:
    """(model the session ran with, model asked for the summary), one for each that compacted.

    Each prompt of REVIEW is run with the next of the models, as if the person had switched, and
    broken off after its first compaction.
    """
    import anthropic
    import httpx2

    seen: list[tuple[str, bool]] = []

    def model(body: Mapping[str, Any]) -> dict[str, Any]:
        seen.append((body["model"], asks_for_summary(body["messages"])))
        return policy.reply(body)

    offered = {*models, settings.model_for_summaries(models[0])}
    server = Server(model, window=settings.context_window, model_ids=sorted(offered))
    transport = httpx2.Client(transport=server.transport(), trust_env=False)
    llm = anthropic.Anthropic(api_key="offline", http_client=transport)
    pairs = list[tuple[str, str]]()
    with TemporaryDirectory() as box:
        work, clock = Path(box, "work"), Clock()
        REVIEW.make_workspace(work)
        known: dict[str, Any] = {"settings": settings, "clock": clock}
        session = Session.create(box, session_id="switched", **known)
        for prompt, name in zip(REVIEW.prompts, models, strict=True):
            seen.clear()
            hands = Workspace(work)
            for _ in loop.run(llm, prompt, hands, session=session, model=name, **known):
                if asked := [by for by, summary in seen if summary]:
                    pairs.append((name, asked[0]))
                    break
    return pairs
