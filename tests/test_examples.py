"""An engine of one's own, and the layers in loops of one's own: the examples of the
reference."""

import asyncio
import re
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import nbformat
import pytest

from agentlib.auto_compact import summary_text
from agentlib.cli.main import main
from agentlib.loop import run
from agentlib.messages import asks_for_summary, of_type
from agentlib.transcripts import load
from offline_api import client
from offline_api.faults import Fault
from offline_api.server import Server
from tests.builders import call, say
from tests.runs import READ, SMALL, a_session, a_workspace
from windtunnel.tasks.scenarios import Clock

NOTEBOOK = Path(__file__).parent.parent / "notebooks/reference.ipynb"
CELLS = [cell.source for cell in nbformat.read(NOTEBOOK, as_version=4).cells]
IMPORTS, ENGINE, LOOP = (
    next(cell for cell in CELLS if start in cell)
    for start in ("import pandas", "def relevant(", "def my_loop(")
)
EXAMPLES: dict[str, Any] = {}
for _cell in (IMPORTS, ENGINE, LOOP):
    exec(_cell, EXAMPLES)
relevant = EXAMPLES["relevant"]
my_loop = EXAMPLES["my_loop"]


def brain(body):
    """Reads a.txt a dozen times, saying so; the offline API holds each request to its
    rules."""
    if asks_for_summary(body["messages"]):
        return say("Read it.")
    brain.turns += 1
    if brain.turns > 12:
        return say("Done.")
    words = f"Read once more, {brain.turns}.\nNothing else."
    return say(words, call("", "read_file", path="a.txt"))


@pytest.fixture(autouse=True)
def fresh():
    brain.turns = 0


def test_an_engine_of_ones_own_runs_is_noted_and_read_back(tmp_path):
    workspace = a_workspace(tmp_path)
    session = a_session(tmp_path)
    known = {"settings": SMALL, "session": session, "clock": Clock()}
    api = client(model=brain, window=4_000)
    turns = list(run(api, "Read a.txt.", workspace, engine=relevant, **known))
    done = [turn for turn in turns if turn.step.compaction]
    assert len(done) >= 2
    assert turns[-1].stop_reason == "end_turn"
    summary = summary_text(done[-1].context[0])
    assert "Read once more, 2.\n" in summary
    assert "Nothing" not in summary
    assert max(turn.step.tokens_after for turn in turns) < 4_000
    loaded = load(session.path)
    assert [r.context for r in loaded.requests] == [turn.context for turn in turns]
    results = [r["content"] for m in loaded.history for r in of_type(m, "tool_result")]
    assert results == [READ] * 12


def steps_of(folder, settings=SMALL, faults=()):
    api = client(
        model=brain, window=settings.context_window, faults=faults, clock=Clock()
    )
    return list(my_loop(api, "Read a.txt.", a_workspace(folder), settings))


def test_the_layers_in_a_loop_of_ones_own(tmp_path):
    steps = steps_of(tmp_path)
    assert len(steps) == 13
    assert [step.compaction for step in steps].count("auto") >= 1


def asynchronous():
    """Make `my_loop` async by the lines that the reference notebook gives for
    AsyncAnthropic."""
    text = "\n".join(CELLS)
    [lines] = re.findall(r"^now = moment.*?(?=^```)", text, re.DOTALL | re.MULTILINE)
    source = LOOP.replace("def my_loop(", "async def my_async_loop(summaries, ")
    for line in lines.splitlines():
        start = re.escape(line.split(" = ")[0])
        source, found = re.subn(
            rf"^( +){start} = .*", rf"\1{line}", source, flags=re.MULTILINE
        )
        assert found == 1, line
    names = {**EXAMPLES, "asyncio": asyncio}
    exec(source, names)
    return names["my_async_loop"]


def test_and_with_an_async_client(tmp_path):
    async def steps():
        server = Server(brain, window=SMALL.context_window, clock=Clock())
        http = httpx2.AsyncClient(transport=server.transport())
        async with anthropic.AsyncAnthropic(
            api_key="offline", http_client=http
        ) as model:
            plain = client(model=brain, window=SMALL.context_window, clock=Clock())
            workspace = a_workspace(tmp_path / "async")
            loop = asynchronous()(plain, model, "Read a.txt.", workspace, SMALL)
            return [s async for s in loop]

    found = asyncio.run(steps())
    brain.turns = 0
    told = steps_of(tmp_path / "sync")
    assert [s.compaction for s in found] == [s.compaction for s in told]
    assert [s.kept for s in found] == [s.kept for s in told]


def test_a_loop_of_ones_own_survives_a_summary_that_fails(tmp_path):
    steps = steps_of(tmp_path, faults=[Fault("empty", only="summary")])
    assert len(steps) == 13
    assert {"failed", "auto"} == {s.compaction for s in steps} - {
        None
    }  # cut to size in the end


def test_the_terminal_takes_an_engine(tmp_path, monkeypatch, capsys):
    mine = 'def quiet(now):\n    print("mine was asked")\n    return now.compact()\n'
    (tmp_path / "quietly.py").write_text(mine, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    a_workspace(tmp_path)
    folders = [
        "--workspace",
        str(tmp_path / "work"),
        "--transcripts",
        str(tmp_path / "t"),
    ]
    main(["hello", "--engine", "quietly:quiet", *folders])
    assert "mine was asked" in capsys.readouterr().out
