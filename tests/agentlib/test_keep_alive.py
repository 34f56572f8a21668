"""Keeping the prompt cache alive: the last request again, billed, noted, and ended in
time."""

import io
import json
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentlib.api import requests
from agentlib.api.spending import dollars
from agentlib.cli.arguments import Arguments
from agentlib.cli.main import DONE, Terminal
from agentlib.loop import Agent
from agentlib.presets import DEFAULT
from agentlib.session import keep_alive
from agentlib.session.keep_alive import repeat
from agentlib.settings import MODEL, Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session, load
from offline_api import client
from offline_api.model import reply
from offline_api.server import Headers, Reply, Server
from session_report import bills
from session_report.playback import replay
from tests.loopback import served
from tests.runs import ctrl_c
from windtunnel.runner import Run, play
from windtunnel.tasks.scenarios import REVIEW, Clock

LONG = (
    "Rule: every report begins with '# For Ada'. " + "And so it has always been. " * 400
)
COLD = {"input_tokens": 0, "cache_read_input_tokens": 0}


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
            return Reply(400, {"content-type": "application/json"}, b'{"type":"error"}')
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


# -- in the terminal -------------------------------------------------------------------


class Slow(io.StringIO):
    """A keyboard at which a person thinks before each line."""

    pause = 0.0

    def readline(self, size: int = -1, /) -> str:
        time.sleep(self.pause)
        return super().readline()


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A live terminal on a provider of this machine, whose cache lives half a
    second."""
    with served(Server(reply)) as wire:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", wire.url)
        (tmp_path / "work").mkdir()
        arguments = Arguments(
            workspace=tmp_path / "work",
            transcripts=tmp_path / "t",
            live=True,
            keep_alive=2,
        )
        opened = Terminal(arguments)
        opened.settings = replace(opened.settings, cache_ttl=0.5)
        opened.enter(tmp_path / "work")
        opened.wire = wire
        try:
            yield opened
        finally:
            opened.close()


def think(terminal: Terminal, seconds: float, monkeypatch: pytest.MonkeyPatch) -> int:
    """Work on a prompt, let the person think, and end the conversation."""
    terminal.obey(LONG)
    keys = Slow("q\n")
    keys.pause = seconds
    monkeypatch.setattr(sys, "stdin", keys)
    return terminal.talk()


def test_while_a_person_thinks_the_terminal_repeats_so_often_and_says_so(
    terminal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert think(terminal, 0.0, monkeypatch) == DONE
    before = len(terminal.wire.headers)
    assert think(terminal, 1.6, monkeypatch) == DONE
    session = load(terminal.file)
    times = [repeat.at - session.requests[-1].at for repeat in session.extras.repeats]
    assert times == pytest.approx([0.45, 0.9], abs=0.2)
    assert len(terminal.wire.headers) == before + 1 + 2
    printed = capsys.readouterr().out
    assert "the cache is kept alive: 1 of 2; tokens sent: " in printed
    assert "the cache is kept alive: 2 of 2; tokens sent: " in printed


def test_a_cap_ends_it(terminal, monkeypatch, capsys) -> None:
    terminal.client = client(True, max_usd=0.000_01)
    think(terminal, 0.8, monkeypatch)
    assert load(terminal.file).extras.repeats == []
    assert "kept alive no longer: the cap of" in capsys.readouterr().err


def test_another_model_has_no_cache_to_keep(terminal, monkeypatch) -> None:
    think(terminal, 0.0, monkeypatch)
    assert terminal.obey("/model claude-sonnet-5-5") == DONE
    keys = Slow("q\n")
    keys.pause = 0.8
    monkeypatch.setattr(sys, "stdin", keys)
    terminal.talk()
    assert load(terminal.file).extras.repeats == []


def test_ctrl_c_ends_it_until_the_next_request(terminal, monkeypatch) -> None:
    think(terminal, 0.0, monkeypatch)
    terminal.left_alone = len(terminal.session.requests)  # as talk() notes it
    keys = Slow("q\n")
    keys.pause = 0.8
    monkeypatch.setattr(sys, "stdin", keys)
    terminal.talk()
    assert load(terminal.file).extras.repeats == []


class Held(Server):
    """A provider that answers a repeat only when it is told to."""

    def __init__(self) -> None:
        super().__init__(reply)
        self.asked = threading.Event()
        self.free = threading.Event()

    def answer(self, method: str, path: str, headers: Headers, raw: bytes) -> Reply:
        if json.loads(raw)["max_tokens"] == 0:
            self.asked.set()
            self.free.wait(9)
        return super().answer(method, path, headers, raw)


@pytest.fixture
def held(terminal, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    """The terminal's provider. Each line is typed while a repeat is under way."""
    server = terminal.wire.server = Held()
    terminal.settings = replace(terminal.settings, cache_ttl=0.1)
    terminal.obey(LONG)

    class Typing(io.StringIO):
        def readline(self, size: int = -1, /) -> str:
            assert server.asked.wait(9)
            return super().readline()

    monkeypatch.setattr(sys, "stdin", Typing("Which rule holds?\nq\n"))
    yield server
    server.free.set()
    terminal.repeating.join()


def test_ctrl_c_during_a_repeat_sends_no_second_request_and_keeps_the_line(
    terminal, held: Held, monkeypatch, capsys
) -> None:
    steps = list[str]()
    send = requests.send
    join = threading.Thread.join

    def watched(*request):
        steps.append("sent")
        answer = send(*request)
        steps.append("answered")
        return answer

    def interrupted(thread, timeout=None):
        if not held.free.is_set():
            held.free.set()
            signal.raise_signal(signal.SIGINT)
        join(thread, timeout)

    for sender in (requests, keep_alive):
        monkeypatch.setattr(sender, "send", watched)
    with ctrl_c(), monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "join", interrupted)
        terminal.talk()
    assert "your line is sent after the repeat" in capsys.readouterr().out
    assert steps[:4] == ["sent", "answered"] * 2
    said = [m["content"] for m in load(terminal.file).history if m["role"] == "user"]
    assert said == [LONG, "Which rule holds?"]
    assert load(terminal.file).damage == []


def test_a_second_ctrl_c_leaves(terminal, held: Held, monkeypatch) -> None:
    def interrupted(thread, timeout=None):
        signal.raise_signal(signal.SIGINT)

    with ctrl_c(), monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "join", interrupted)
        with pytest.raises(KeyboardInterrupt):
            terminal.talk()
    assert terminal.repeating.is_alive()


def test_q_does_not_wait_for_a_repeat(
    terminal, held: Held, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("q\n"))
    with terminal._kept_alive(awaited=False):
        assert held.asked.wait(9)
    assert terminal.talk() == DONE
    terminal.close()
    assert "a repeat is under way; it may be billed" in capsys.readouterr().out


def test_while_a_permission_and_a_command_take_long_it_repeats_and_then_no_more(
    terminal,
) -> None:
    terminal.obey(LONG)

    def permitted(command: str) -> bool:
        time.sleep(0.6)
        return True

    bench = replace(terminal.workspace, sandbox=False, confirm=permitted)
    assert bench.run("bash", {"command": "sleep 0.6; echo done"}) == "done"
    session = load(terminal.file)
    sent = len(terminal.wire.headers)
    times = [repeat.at - session.requests[-1].at for repeat in session.extras.repeats]
    assert times == pytest.approx([0.45, 0.9], abs=0.2)
    time.sleep(0.6)
    assert len(terminal.wire.headers) == sent


def test_an_argument_starts_it_or_live_a_price_at_which_it_pays() -> None:
    live = Arguments(live=True)
    recorded = Settings(keep_alive=5)
    assert live.settings(recorded, "claude-opus-5-5").keep_alive == 3
    assert live.settings(recorded, "claude-haiku-5-5").keep_alive == 0
    assert live.settings(recorded, "no-such-model").keep_alive == 0
    off = Arguments(live=True, keep_alive=0)
    assert off.settings(recorded, "claude-opus-5-5").keep_alive == 0
    assert Arguments().settings(recorded).keep_alive == 0
    assert Arguments(keep_alive=3).settings(recorded).keep_alive == 3
    assert Arguments(preset="default").settings().keep_alive == 0
