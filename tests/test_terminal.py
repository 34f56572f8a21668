"""The conversation at a terminal: what a person types, what they read, what is kept."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentlib.cli.conversation import DONE, FAILED, STOPPED, Terminal, resumed, sentence
from agentlib.cli.render import Bill
from agentlib.lab.api.faults import Fault
from agentlib.lab.client import client
from agentlib.settings import MODEL, Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session, load

Body = dict[str, Any]


def say(text: str) -> Body:
    return {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}


def use(name: str, **inputs: Any) -> Body:
    call = {"type": "tool_use", "name": name, "input": inputs}
    return {"content": [call], "stop_reason": "tool_use"}


def last_text(body: Body) -> str:
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else content[-1].get("text", "")


def parrot(body: Body) -> Body:
    """Reads a.txt when told to; summarises in a word; else says back what it was told."""
    text = last_text(body)
    if text.startswith("Summarize this conversation"):
        return say("Nothing but parroting.")
    if text == "read":
        return use("read_file", path="a.txt")
    return say(f"You said {text!r}." if text else "Read it.")


class Desk:
    """A terminal over a fresh folder, and what it said."""

    def __init__(self, folder: Path, model: Callable[[Body], Body] = parrot, **more: Any):
        self.lines: list[str] = []
        self.warnings: list[str] = []
        self.folder = folder
        root = folder / "work"
        root.mkdir()
        (root / "a.txt").write_text("one\ntwo\nthree", encoding="utf-8", newline="\n")
        settings = more.pop("settings", Settings().scaled(32_000))
        self.terminal = Terminal(
            client=client(model=model, window=32_000, **more),
            session=self.session(settings),
            workspace=Workspace(root),
            settings=settings,
            model=MODEL,
            renew=lambda workspace: (self.session(settings), workspace),
            notice=self.notice,
            cost=lambda usages, model: f"{len(usages)} answers by {model}",
            say=self.lines.append,
            warn=self.warnings.append,
        )

    def session(self, settings: Settings) -> Session:
        return Session.create(self.folder, settings=settings)

    @staticmethod
    def notice(model: str) -> str:
        if model == "unheard-of":
            raise ValueError(f"no model {model!r}")
        return "free of charge"

    def type(self, *lines: str, patient: bool = True) -> int:
        """What `converse` returns when these lines are typed and then Ctrl-D."""
        keys = iter(lines)

        def ask() -> str:
            try:
                return next(keys)
            except StopIteration:
                raise EOFError from None

        return self.terminal.converse(ask, patient=patient)


def test_a_prompt_shows_calls_text_and_the_bill(tmp_path):
    desk = Desk(tmp_path)
    assert desk.terminal.work("read") == DONE
    call, text, bill, session = desk.lines
    assert call == "> read_file a.txt  3 lines, 13 characters"
    assert text == "Read it."
    assert bill.startswith("[2 turns; ")
    assert bill.endswith(f"; 2 answers by {MODEL}]")
    assert session == f"[session: {desk.terminal.path}; files: {tmp_path / 'work'}]"


@pytest.mark.parametrize("word", ["q", "exit", "quit", " EXIT ", "", "   "])
def test_these_words_quit(tmp_path, word):
    desk = Desk(tmp_path)
    assert desk.type("first", word, "never said") == DONE
    assert [line for line in desk.lines if line.startswith("You said")] == ["You said 'first'."]


def test_the_next_line_goes_on_with_the_same_session(tmp_path):
    desk = Desk(tmp_path)
    desk.type("one", "two")
    said = [m["content"] for m in load(desk.terminal.path).history if m["role"] == "user"]
    assert said == ["one", "two"]


def test_a_path_is_a_prompt_and_no_command(tmp_path):
    desk = Desk(tmp_path)
    assert desk.terminal.obey("/workspace/a.txt says what?") == DONE
    assert desk.lines[0] == "You said '/workspace/a.txt says what?'."


def test_an_unknown_command_names_those_there_are(tmp_path):
    desk = Desk(tmp_path)
    assert desk.terminal.obey("/compress now") == FAILED
    known = "/compact, /context, /model, /new, /help"
    assert desk.warnings == [f"there is no command /compress; there are {known}"]
    assert desk.terminal.session.history == []


def test_help_lists_every_command(tmp_path):
    desk = Desk(tmp_path)
    desk.terminal.obey("/help")
    assert [line.split()[0] for line in desk.lines[:-1]] == [
        "/compact",
        "/context",
        "/model",
        "/new",
        "/help",
    ]


def test_compact_by_hand_tells_tokens_and_keeps_the_focus(tmp_path):
    desk = Desk(tmp_path)
    desk.type(*(f"{n} " + "word " * 300 for n in range(4)), "/compact the words")
    at = desk.lines.index("[manual compact]")
    path = desk.terminal.path
    assert desk.lines[at + 1].startswith(f"[transcript saved: {path.name}#")
    before, after = desk.lines[at + 1].split("] ")[1].removesuffix(" tokens").split(" -> ")
    assert int(after.replace(",", "")) < int(before.replace(",", ""))
    assert desk.lines[at + 2].startswith("[0 turns; ")
    (compaction,) = load(path).compactions
    assert (compaction.trigger, compaction.focus) == ("manual", "the words")


def test_compact_with_nothing_to_compact_says_so(tmp_path):
    desk = Desk(tmp_path)
    assert desk.terminal.obey("/compact") == DONE
    assert desk.lines == [
        "[manual compact]",
        "[nothing to compact yet: the newest exchanges stay as they are]",
    ]


def test_compact_where_compaction_is_off_says_so(tmp_path):
    desk = Desk(tmp_path, settings=Settings(enabled=False).scaled(32_000))
    desk.type("one")
    desk.terminal.obey("/compact")
    assert desk.lines[-1] == "[nothing was compacted: compaction is off (DISABLE_COMPACT)]"


@pytest.mark.parametrize("more", range(6))
def test_context_adds_up_to_the_estimate(tmp_path, more):
    desk = Desk(tmp_path)
    desk.type("read", *["more"] * more)
    desk.lines.clear()
    desk.terminal.obey("/context")
    total = int(desk.lines[0].split()[1].replace(",", ""))
    rows = {line.split()[0]: int(line.split()[1].replace(",", "")) for line in desk.lines[1:]}
    assert {"system", "tools", "user", "assistant", "tool_use", "tool_result", "free"} == set(rows)
    assert rows.pop("free") == 32_000 - total
    assert sum(rows.values()) == total
    billed = desk.terminal.session.requests[-1].usage
    assert abs(total - Bill(turns=1, usages=[billed]).sent) < 30


def test_context_of_an_empty_session_counts_system_and_tools(tmp_path):
    desk = Desk(tmp_path)
    desk.terminal.obey("/context")
    assert [line.split()[0] for line in desk.lines[1:]] == ["system", "tools", "free"]


def test_context_tells_what_a_coarse_estimator_misses(tmp_path):
    desk = Desk(tmp_path, settings=Settings(estimator="chars").scaled(32_000))
    desk.terminal.obey("/context")
    assert int(desk.lines[0].split()[1]) > 500
    assert desk.lines[1] == "the policy itself counts 0 (estimator='chars')"


def test_another_model_is_asked_from_here_on(tmp_path):
    desk = Desk(tmp_path)
    assert desk.terminal.obey("/model unheard-of") == FAILED
    assert desk.warnings.pop() == "[error: no model 'unheard-of']"
    desk.terminal.obey("/model")
    assert desk.terminal.obey("/model other") == DONE
    assert desk.lines == [f"[model: {MODEL}]", "free of charge", "[model: other]"]
    assert desk.terminal.obey("one") == FAILED
    assert desk.warnings == ["[error: 404 not_found_error: model: other]"]


def test_new_begins_a_session_and_keeps_the_old_one(tmp_path):
    desk = Desk(tmp_path)
    desk.type("one")
    old = desk.terminal.path
    desk.type("/new", "two")
    assert desk.terminal.path != old
    assert len(load(old).history) == len(load(desk.terminal.path).history) == 2


def interrupted_once(brain: Callable[[Body], Body], at: int) -> Callable[[Body], Body]:
    """The brain, but its request number `at` is met by Ctrl-C."""
    count: Iterator[int] = iter(range(1, 1_000))

    def answer(body: Body) -> Body:
        if next(count) == at:
            raise KeyboardInterrupt
        return brain(body)

    return answer


def test_ctrl_c_stops_the_run_and_keeps_the_session(tmp_path):
    desk = Desk(tmp_path, interrupted_once(parrot, at=2))
    assert desk.terminal.work("read") == STOPPED
    assert "\n[stopped by Ctrl-C; the session is kept]" in desk.lines
    assert desk.lines[-1].startswith(f"[session: {desk.terminal.path} (go on with --resume); ")
    assert desk.terminal.work("go on") == DONE
    roles = [m["role"] for m in load(desk.terminal.path).history]
    assert roles == ["user", "assistant", "user", "user", "assistant"]


def test_ctrl_c_goes_back_to_what_is_on_disk(tmp_path):
    desk = Desk(tmp_path, interrupted_once(parrot, at=1))
    before = desk.terminal.session
    desk.terminal.work("read")
    assert desk.terminal.session is not before
    assert desk.terminal.session.history == load(desk.terminal.path).history


def test_a_call_cut_off_by_ctrl_c_is_answered_as_interrupted(tmp_path):
    desk = Desk(tmp_path, lambda body: use("bash", command="true"))

    def refuse(_: str) -> bool:
        raise KeyboardInterrupt

    desk.terminal.workspace = Workspace(desk.terminal.workspace.root, confirm=refuse)
    assert desk.terminal.work("run") == STOPPED
    assert len(desk.terminal.session.pending) == 1


def test_ctrl_c_ends_piped_prompts_and_not_a_persons(tmp_path):
    desk = Desk(tmp_path, interrupted_once(parrot, at=1))
    assert desk.type("one", "two", patient=False) == STOPPED
    assert len(desk.terminal.session.history) == 1
    assert desk.type("three", patient=True) == DONE


def test_ctrl_c_at_the_prompt_quits_when_it_comes_twice_in_a_row(tmp_path):
    desk = Desk(tmp_path)
    keys: Iterator[str | None] = iter([None, "one", None, None, "never said"])

    def ask() -> str:
        if (key := next(keys)) is None:
            raise KeyboardInterrupt
        return key

    assert desk.terminal.converse(ask, patient=True) == STOPPED
    assert len(desk.terminal.session.history) == 2
    assert next(keys) == "never said"


def test_an_error_of_the_api_is_one_line_and_the_session_goes_on(tmp_path):
    desk = Desk(tmp_path, faults=[Fault("too_long", at=1)])
    assert desk.type("one", "two", patient=False) == FAILED
    (warning,) = desk.warnings
    assert warning.startswith("[error: 400 invalid_request_error: prompt is too long")
    assert desk.lines[0].startswith(f"[session: {desk.terminal.path} (go on with --resume); ")
    assert desk.lines[1] == "You said 'two'."


def test_a_fault_of_the_offline_model_is_one_line_too(tmp_path):
    desk = Desk(tmp_path, lambda _: {}["nothing"])
    assert desk.terminal.work("one") == FAILED
    (warning,) = desk.warnings
    assert warning == "[error: the offline model failed, a fault of its own: KeyError: 'nothing']"


@pytest.mark.parametrize("reason", ["max_tokens", "refusal", "stop_sequence"])
def test_an_answer_that_stops_early_is_not_done(tmp_path, reason):
    desk = Desk(tmp_path, model=lambda _: {**say("And so"), "stop_reason": reason})
    assert desk.terminal.work("go") == FAILED
    assert f"[stopped: the answer stopped with {reason}]" in desk.lines
    assert "(go on with --resume)" in desk.lines[-1]
    assert desk.terminal.work(None) == DONE  # nothing was left open, so nothing was asked


def test_a_prompt_larger_than_the_window_says_both_numbers(tmp_path):
    desk = Desk(tmp_path)
    assert desk.terminal.work("word " * 40_000) == FAILED
    assert "the budget is 29,440" in desk.warnings[0]
    assert desk.terminal.session.history == []


def test_only_files_of_this_agent_are_resumed(tmp_path):
    with pytest.raises(ValueError, match="there is no session file"):
        resumed(tmp_path / "none.jsonl")
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_text('{"type": "user", "sessionId": "s", "message": {"content": "x"}}\n')
    with pytest.raises(ValueError, match="not a session of this agent"):
        resumed(foreign)


def test_an_unexpected_error_says_its_kind():
    assert sentence(KeyError("path")) == "KeyError: 'path'"
    assert sentence(RuntimeError("no\nkey")) == "no key"
