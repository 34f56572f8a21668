"""The conversation at a terminal: what a person types, what they read, what is kept."""

import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentlib.cli.arguments import Arguments
from agentlib.cli.main import DONE, FAILED, STOPPED, Terminal
from agentlib.estimation import prompt_tokens
from agentlib.lab.api.faults import Fault
from agentlib.lab.client import client
from agentlib.settings import MODEL
from agentlib.transcripts import load

Body = dict[str, Any]
Model = Callable[[Body], Body]


def say(text: str) -> Body:
    return {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}


def use(name: str, **inputs: Any) -> Body:
    call = {"type": "tool_use", "name": name, "input": inputs}
    return {"content": [call], "stop_reason": "tool_use"}


def parrot(body: Body) -> Body:
    """Read a.txt when told to, summarise in a word, and repeat anything else."""
    content = body["messages"][-1]["content"]
    text = content if isinstance(content, str) else content[-1].get("text", "")
    if text.startswith("Summarize this conversation"):
        return say("Nothing but parroting.")
    if text == "read":
        return use("read_file", path="a.txt")
    return say(f"You said {text!r}." if text else "Read it.")


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> "Callable[..., Desk]":
    return lambda model=parrot, **more: Desk(tmp_path, capsys, model, more)


class Desk:
    """A terminal over a fresh folder, and what it printed."""

    def __init__(self, folder: Path, capsys: Any, model: Model, more: Any):
        self.capsys, self.folder = capsys, folder / "work"
        self.folder.mkdir()
        (self.folder / "a.txt").write_text("one\ntwo\nthree", encoding="utf-8", newline="\n")
        self.terminal = Terminal(
            Arguments(window=32_000, workspace=self.folder, transcripts=folder / "t", in_place=True)
        )
        self.terminal.client = client(model=model, window=32_000, **more)
        self.terminal.enter(self.folder)
        self.printed()

    def printed(self) -> list[str]:
        """The lines printed since the last time, those of errors last."""
        return "".join(self.capsys.readouterr()).splitlines()

    def obey(self, *lines: str | None) -> int:
        """The exit code of the last line."""
        return [self.terminal.obey(line) for line in lines][-1]


def test_a_prompt_shows_calls_text_and_the_bill(desk):
    here = desk()
    assert here.obey("read") == DONE
    call, text, bill = here.printed()
    assert call == "> read_file a.txt  one (lines: 3)"
    assert text == "Read it."
    assert bill.startswith("[turns: 2; ")
    assert f"would have cost $0.0002 at {MODEL} prices]" in bill
    assert here.obey("two") == DONE
    prompts = [m["content"] for m in load(here.terminal.file).history if m["role"] == "user"]
    assert (prompts[0], prompts[2]) == ("read", "two")


@pytest.mark.parametrize("word", ["q", " EXIT ", "   "])
def test_these_words_quit(desk, monkeypatch, word):
    here = desk()
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"first\n{word}\nnever said\n"))
    assert here.terminal.talk() == DONE
    assert [line for line in here.printed() if line.startswith("You")] == ["You said 'first'."]


def test_a_path_is_a_prompt_and_no_command(desk):
    here = desk()
    assert here.obey("/workspace/a.txt says what?") == DONE
    assert here.printed()[0] == "You said '/workspace/a.txt says what?'."


def test_an_unknown_command_leads_to_the_list(desk):
    here = desk()
    assert here.obey("/compress now") == FAILED
    assert here.printed() == ["[error: there is no command /compress; /help lists them]"]
    assert here.terminal.session.history == []
    here.obey("/help")
    commands = [line.split()[0] for line in here.printed() if line.startswith("    /")]
    assert commands == ["/compact", "/context", "/model", "/new", "/help"]


def test_compact_by_hand_prints_the_tokens_and_keeps_the_focus(desk):
    here = desk()
    here.obey(*(f"{n} " + "word " * 300 for n in range(4)))
    here.printed()
    assert here.obey("/compact the words") == DONE
    title, saved, bill = here.printed()
    assert title == "[manual compact]"
    assert saved.startswith(f"[transcript saved: {here.terminal.file.name}#")
    before, after = saved.split("] ")[1].removesuffix(" tokens").split(" -> ")
    assert int(after.replace(",", "")) < int(before.replace(",", ""))
    assert bill.startswith("[turns: 0; ")
    (compaction,) = load(here.terminal.file).compactions
    assert (compaction.trigger, compaction.focus) == ("manual", "the words")


def test_compact_says_why_it_did_nothing(desk, monkeypatch):
    here = desk()
    assert here.obey("/compact") == DONE
    assert here.printed()[1].startswith("[nothing to compact yet: ")
    here.terminal.settings = replace(here.terminal.settings, enabled=False)
    assert here.obey("/compact") == FAILED
    assert here.printed() == ["[error: compaction is off; unset DISABLE_COMPACT to use it]"]


def test_a_prompt_that_is_no_utf_8_loses_only_that(desk):
    here = desk()
    here.terminal.arguments = replace(here.terminal.arguments, prompt="r\udcffead")
    assert here.terminal.talk() == DONE
    assert here.printed()[0] == "You said 'r?ead'."


@pytest.mark.parametrize("more", [0, 5])
def test_context_adds_up_to_the_estimate(desk, more):
    here = desk()
    here.obey("read", *["more"] * more)
    here.printed()
    here.obey("/context")
    title, *lines = here.printed()
    total = int(title.split()[1].replace(",", ""))
    rows = {line.split()[0]: int(line.split()[1].replace(",", "")) for line in lines}
    assert {"system", "tools", "user", "assistant", "tool_use", "tool_result", "free"} == set(rows)
    assert rows.pop("free") == 32_000 - total
    assert abs(sum(rows.values()) - total) <= len(rows) / 2
    assert abs(total - prompt_tokens(here.terminal.session.requests[-1].usage)) < 30


@pytest.mark.parametrize("prompts", [(), ("read",)])
def test_context_only_reads(desk, prompts):
    here = desk()
    for prompt in prompts:
        here.obey(prompt)
    here.terminal.settings = replace(here.terminal.settings, keep_recent=1, estimator="chars")
    before = here.terminal.file.read_bytes()
    assert here.obey("/context") == DONE
    assert here.terminal.file.read_bytes() == before


def test_another_model_is_asked_from_here_on(desk):
    here = desk()
    assert here.obey("/model other") == FAILED
    assert here.printed() == [f"[error: offline there is only {MODEL}; to ask 'other' add --live]"]
    here.terminal.arguments = replace(here.terminal.arguments, live=True, max_usd=float("inf"))
    assert here.obey("/model other", "/model") == DONE
    notice, *lines = here.printed()
    assert notice.endswith("; there is no cap]")
    assert lines == ["[model: other]"] * 2
    assert here.obey("one") == FAILED
    assert here.printed() == ["[error: not_found_error: model: other]"]


def test_new_begins_a_session_and_keeps_the_old_one(desk):
    here = desk()
    here.obey("one")
    old = here.terminal.file
    here.obey("/new", "two")
    assert here.terminal.file != old
    assert len(load(old).history) == len(load(here.terminal.file).history) == 2
    here.obey("/new", "/new")
    here.terminal.close()
    assert len(list(old.parent.glob("*.jsonl"))) == 2  # nothing was said in the last


def interrupted(model: Model, at: int) -> Model:
    """The model, but Ctrl-C comes at its request number `at`."""
    numbers: Iterator[int] = iter(range(1, 1_000))

    def answer(body: Body) -> Body:
        if next(numbers) == at:
            raise KeyboardInterrupt
        return model(body)

    return answer


def test_ctrl_c_stops_the_run_and_keeps_the_session(desk):
    here = desk(interrupted(parrot, at=2))
    before = here.terminal.session
    assert here.obey("read") == STOPPED
    assert "[stopped by Ctrl-C; the session is kept]" in here.printed()
    assert here.terminal.session is not before
    assert here.terminal.session.history == load(here.terminal.file).history
    assert here.obey("go on") == DONE
    roles = [m["role"] for m in load(here.terminal.file).history]
    assert roles == ["user", "assistant", "user", "user", "assistant"]


def test_ctrl_c_ends_piped_prompts(desk, monkeypatch):
    here = desk(interrupted(parrot, at=1))
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\ntwo\n"))
    assert here.terminal.talk() == STOPPED
    assert len(here.terminal.session.history) == 1


def test_an_error_of_the_api_is_one_line_and_the_session_goes_on(desk, monkeypatch):
    here = desk(faults=[Fault("too_long", at=1)])
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\ntwo\n"))
    assert here.terminal.talk() == FAILED
    printed = here.printed()
    assert printed[0] == "You said 'two'."
    assert printed[-1].startswith("[error: invalid_request_error: prompt is too long")


def test_a_fault_of_the_offline_model_is_one_line_too(desk):
    here = desk(lambda body: {}["nothing"])
    assert here.obey("one") == FAILED
    assert here.printed() == ["[error: KeyError: 'nothing']"]


@pytest.mark.parametrize("reason", ["max_tokens", "refusal"])
def test_an_answer_that_stops_early_is_not_done(desk, reason):
    here = desk(lambda body: {**say("And so"), "stop_reason": reason})
    assert here.obey("go") == FAILED
    assert f"[stopped: the answer stopped with {reason}]" in here.printed()
    assert here.obey(None) == DONE  # nothing was left open, so nothing was asked
