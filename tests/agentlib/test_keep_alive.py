"""Keeping the prompt cache alive: the last request again, billed, noted, and ended in
time."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentlib.api.spending import dollars
from agentlib.loop import Agent
from agentlib.presets import DEFAULT
from agentlib.session.keep_alive import repeat
from agentlib.settings import MODEL
from agentlib.tools import Workspace
from agentlib.transcripts import Session, load
from offline_api import client
from offline_api.model import reply
from offline_api.server import Headers, Reply, Server
from session_report import bills
from session_report.playback import replay
from tests.loopback import response, served
from windtunnel.runner import Run, play
from windtunnel.tasks.scenarios import REVIEW, Clock

LONG = (
    "Rule: every report begins with '# For Ada'. " + "And so it has always been. " * 400
)


def started(folder: Path, **settings: int) -> tuple[Agent, Clock]:
    """An agent that has answered one prompt, and its clock."""
    clock = Clock()
    own = replace(DEFAULT, **settings)
    session = Session.create(folder, settings=own, session_id="alive", clock=clock)
    agent = Agent(client(clock=clock), Workspace(folder), session, own, clock=clock)
    list(agent.run(LONG))
    return agent, clock


def test_a_repeat_reads_the_whole_prompt_and_keeps_no_answer(tmp_path: Path) -> None:
    agent, clock = started(tmp_path)
    sent = agent.session.requests[-1]
    history = list(agent.session.history)
    clock.pause(270)
    again = repeat(agent)
    assert again.usage["output_tokens"] == again.usage["input_tokens"] == 0
    assert again.usage["cache_creation_input_tokens"] == 0
    written = sent.usage["cache_creation_input_tokens"]
    assert again.usage["cache_read_input_tokens"] == written > 512
    assert agent.session.history == history
    assert agent.session.path
    assert load(agent.session.path).extras.repeats == [again]


@pytest.mark.parametrize(("times", "alive"), [(0, False), (1, True), (2, True)])
def test_the_cache_lives_as_long_as_it_is_repeated(
    tmp_path: Path, times: int, alive: bool
) -> None:
    agent, clock = started(tmp_path)
    for _ in range(times):
        clock.pause(270)
        repeat(agent)
    clock.pause(270 if times else 310)
    list(agent.run("Which rule holds?"))
    assert bool(agent.session.requests[-1].usage["cache_read_input_tokens"]) == alive


def test_the_layers_know_that_the_cache_is_warm(tmp_path: Path) -> None:
    agent, clock = started(tmp_path)
    clock.pause(270)
    repeat(agent)
    clock.pause(100)
    idle: list[float] = []
    engine = agent.engine
    agent.engine = lambda now: (idle.append(now.idle), engine(now))[1]
    agent.context(agent.now())
    assert 100 < idle[0] < 110


def test_before_a_request_or_after_another_beginning_there_is_nothing_to_repeat(
    tmp_path: Path,
) -> None:
    session = Session.create(tmp_path, settings=DEFAULT, session_id="new")
    with pytest.raises(ValueError, match="no request to repeat"):
        repeat(Agent(client(), Workspace(tmp_path), session))
    agent, _ = started(tmp_path)
    agent.session.context[0] = {"role": "user", "content": "Another."}
    with pytest.raises(ValueError, match="begins differently"):
        repeat(agent)
    assert agent.session.extras.repeats == []


class Strict(Server):
    """A provider that wants at least one token of an answer."""

    refused = 0

    def answer(self, method: str, path: str, headers: Headers, raw: bytes) -> Reply:
        if json.loads(raw or b"{}").get("max_tokens") == 0:
            self.refused += 1
            return response({"type": "error"}, 400)
        return super().answer(method, path, headers, raw)


def test_where_no_answer_is_refused_it_is_one_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict = Strict(reply)
    with served(strict) as wire:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", wire.url)
        session = Session.create(tmp_path, settings=DEFAULT, session_id="strict")
        agent = Agent(client(True, max_usd=1), Workspace(tmp_path), session)
        list(agent.run(LONG))
        assert repeat(agent).usage["cache_read_input_tokens"] > 512
        assert strict.refused == len(agent.session.extras.repeats) == 1


class Counted(Server):
    """A provider that counts what reaches it."""

    count = 0

    def answer(self, *asked: Any) -> Reply:
        self.count += 1
        return super().answer(*asked)


@pytest.mark.parametrize("change", ["tools", "system", "noted", "asleep", "none"])
def test_what_the_cache_does_not_hold_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    with served(Counted(reply)) as wire:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", wire.url)
        agent, clock = started(tmp_path)
        agent.client = client(True, max_usd=1)
        system, tools = agent.system, agent.tools
        match change:
            case "tools":
                agent.tools = tools[:-1]
            case "system":
                agent.system += " Be brief."
            case "noted":  # as a resumed session whose next request failed
                agent.session.begin(agent.settings, "Be brief.", tools, at=agent.now())
                agent.session.begin(agent.settings, system, tools, at=agent.now())
            case "asleep":  # the machine was, between two repeats
                clock.pause(330)
            case _:
                clock.pause(300)
        if change == "none":
            repeat(agent)
            assert wire.server.count == 1
            return
        with pytest.raises(ValueError, match=r"^the (tools or|last request was 33\d)"):
            repeat(agent)
        assert wire.server.count == 0
        assert agent.session.extras.repeats == []


# -- in runs and replays ---------------------------------------------------------------


def review(repeats: int) -> Run:
    return play(REVIEW, replace(DEFAULT.scaled(32_000), keep_alive=repeats))


def test_a_run_is_repeated_in_its_pause_and_replayed_so() -> None:
    run = review(3)
    assert len(run.session.extras.repeats) == 1  # the pause of 400 s has room for one
    frames = replay(run.session, run.settings)
    assert [frame.context for frame in frames] == [
        r.context for r in run.session.requests
    ]
    billed = bills.bills(run.session, frames)
    total = sum(dollars(usage, MODEL) for each in billed for usage in each.usages)
    assert total == pytest.approx(run.dollars(MODEL), rel=0.04)


def test_a_replay_repeats_what_the_recording_did_not() -> None:
    session = review(0).session
    own = replace(session.settings, clear_at_least=0, keep_recent=0)
    plain, alive = (replay(session, replace(own, keep_alive=n)) for n in (0, 3))
    billed = bills.bills(session, alive)
    assert sum(len(each.repeats) for each in billed) == 1
    cleared = [sum(f.step.tokens_cleared for f in frames) for frames in (plain, alive)]
    assert cleared[1] < cleared[0]  # fewer results go where the cache is warm
