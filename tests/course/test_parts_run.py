"""The parts of a learner's file run: what they return stands in a later request.

The file is written from the published solutions, and each part then leaves its mark in what
it returns. The requests are read where they reach the API: from the terminal, from the judge,
from the loop of docs/your-agent.md, and from the scorecards.
"""

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anthropic import APIError

import offline_api
from agentlib.cli.main import main
from agentlib.cli.program import engine_named
from course import scoreboard, yours
from course.parts_list import PARTS
from offline_api.faults import Fault
from offline_api.server import Server
from tests.adapters.test_docs import EXAMPLES
from tools import my_agent
from windtunnel import judge, play, runner
from windtunnel.tasks.scenarios import REVIEW, TRACE

PROMPT = "Read every Python file one by one and write a report"
MESSAGES = {
    "clear_view": '[marked(m, "MARK") for m in made]',
    "hold": 'made + "\\nMARK"',
    "request_for": 'made + " MARK"',
    "hand_off": 'with_block(made, "MARK")',
    "keep_last": '[with_block(made[0], "MARK"), *made[1:]]',
    "with_head": '[made[0], with_block(made[1], "MARK"), *made[2:]]',
}
"""Parts whose marks one run can show, and how each leaves its own."""
OTHERS = {
    "stand_in": '["MARK", *made][:given[1]]',
    "focus_of": '"MARK"',
    "finished": '"MARK"',
}
"""Parts that need a run of their own: no summary ever comes, or there is always a wish."""
HELPERS = """

def with_block(message, text):
    return {**message, "content": [*message["content"], {"type": "text", "text": text}]}


def marked(message, mark):
    if isinstance(message["content"], str):
        return message
    content = [_marked(block, f"[Previous: used {mark}]") for block in message["content"]]
    return {**message, "content": content}


def _marked(block, text):
    old = block.get("content")
    is_cleared = isinstance(old, str) and old.startswith("[Previous: used")
    return {**block, "content": text} if is_cleared else block
"""
NO_SUMMARY = [Fault("tool_use", only="summary")]


def file_of(exercises: Sequence[str], returns: dict[str, str]) -> str:
    """Write the file of some exercises, in which parts return something else."""
    text = my_agent.written(only=tuple(exercises))
    for name, expression in returns.items():
        if f"def {name}(" in text:
            code = expression.replace("MARK", f"MARK-{name}")
            wrapped = (
                f"{HELPERS}\n\ndef {name}(*given, **options):\n"
                f"    made = plain_{name}(*given, **options)\n    return {code}\n"
            )
            text = text.replace(f"def {name}(", f"def plain_{name}(")
            start = text.index(f"def plain_{name}(")
            end = text.index("\n# -- ", start)
            text = f"{text[:end].rstrip()}\n{wrapped}\n{text[end:]}"
    return text


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What reaches the API, request by request."""
    bodies = list[str]()
    answer = Server.answer

    def listening(server: Server, method: str, path: str, headers: Any, raw: bytes):
        bodies.append(raw.decode())
        return answer(server, method, path, headers, raw)

    monkeypatch.setattr(Server, "answer", listening)
    return bodies


@pytest.fixture
def workbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr("course._refusal", lambda exercise, function: "")
    monkeypatch.setattr(scoreboard, "_OWN", {})
    # The scorecard's session is four times as long. This fills its window as well.
    monkeypatch.setattr(scoreboard, "LONG", REVIEW)
    monkeypatch.setattr(scoreboard, "WINDOW", 16_000)
    (tmp_path / yours.MARK).write_text("{}", "utf-8")
    (tmp_path / "work").mkdir()
    for n in range(24):
        lines = [
            f"def f{n}_{i}(left, right):  # {'add ' * 6}" for i in range(60 + 5 * n)
        ]
        text = "\n    return left + right\n\n\n".join(lines)
        (tmp_path / f"work/m{n:02}.py").write_text(f'"""Module {n}."""\n{text} ...\n')
    return tmp_path


def in_the_terminal(folder: Path) -> None:
    given = ["--engine", yours.FILE, "--window", "16000", "--workspace", "work"]
    main([*given, "--transcripts", str(folder / "t"), PROMPT])


def before_the_judge(folder: Path) -> None:
    judge.work((yours.FILE, 100))


def in_a_loop_of_ones_own(folder: Path) -> None:
    """The example of the page, with the file's engine as its third argument."""
    code = EXAMPLES["A loop of your own"]
    code = code.replace("from anthropic import Anthropic", "")
    code = code.replace("Anthropic()", "offline_client()")
    code = code.replace('("sessions", settings)', '("sessions", settings, compact)')
    code = code.replace("32_000", "16_000")
    client = partial(offline_api.client, window=16_000)
    names = {"offline_client": client, "compact": engine_named(yours.FILE)}
    with suppress(APIError):  # another size can let the window overflow
        exec(compile(code, "pasted.py", "exec"), names)


def on_the_scorecard(lesson: str, folder: Path) -> None:
    assert scoreboard.yours(lesson)


ELSEWHERE = [in_the_terminal, before_the_judge, in_a_loop_of_ones_own]
CARDS = [name for name in scoreboard.STAGES if name >= scoreboard.FROM]
PLACES: dict[str, tuple[str, Callable[[Path], None]]] = {
    **{place.__name__: ("12", place) for place in ELSEWHERE},
    **{f"scorecard {name}": (name, partial(on_the_scorecard, name)) for name in CARDS},
}
"""By name: up to which lesson the file goes, and what runs it."""


def exercises(upto: str) -> list[str]:
    """Everything that stands in the file after a lesson, numbers apart."""
    return [name for name in PARTS if name[:2] <= upto and name != "08.4"]


def marks(bodies: Sequence[str], names: Sequence[str]) -> list[str]:
    return [name for name in names if any(f"MARK-{name}" in body for body in bodies)]


@pytest.mark.parametrize("place", PLACES)
def test_what_the_parts_return_stands_in_a_later_request(
    place: str, workbook: Path, sent: list[str]
):
    upto, run = PLACES[place]
    solved = exercises(upto)
    (workbook / yours.FILE).write_text(file_of(solved, MESSAGES), "utf-8")
    run(workbook)
    there = [PARTS[name].name for name in solved if PARTS[name].name in MESSAGES]
    assert marks(sent, there) == there


LAST = [*(place.__name__ for place in ELSEWHERE), f"scorecard {CARDS[-1]}"]
"""Where each part that needs a run of its own gets one. All scorecards are wired alike."""


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("place", LAST)
def test_a_wish_and_words_without_a_model_stand_in_a_later_request(
    place: str,
    name: str,
    workbook: Path,
    sent: list[str],
    monkeypatch: pytest.MonkeyPatch,
):
    upto, run = PLACES[place]
    solved = exercises(upto)
    if (place, name) == ("in_the_terminal", "stand_in"):
        solved.remove("02.2")  # clearing alone keeps this window from filling
    text = file_of(solved, {name: OTHERS[name]})
    (workbook / yours.FILE).write_text(text, "utf-8")
    if name == "stand_in":
        failing = partial(offline_api.client, faults=NO_SUMMARY)
        monkeypatch.setattr(offline_api, "client", failing)
        monkeypatch.setattr(
            runner,
            "client",
            lambda live, **given: failing(live, **{**given, "faults": NO_SUMMARY}),
        )
    run(workbook)
    assert marks(sent, [name]) == [name]


@pytest.mark.parametrize("place", LAST)
def test_another_size_changes_a_later_request(
    place: str, workbook: Path, sent: list[str]
):
    upto, run = PLACES[place]
    requests = list[list[str]]()
    for returns in ({}, {"next_prompt": "0"}):
        (workbook / yours.FILE).write_text(file_of(exercises(upto), returns), "utf-8")
        run(workbook)
        sys.modules.pop("my_agent", None)
        requests.append([json.dumps(json.loads(each)["messages"]) for each in sent])
        sent.clear()
        shutil.rmtree(workbook / "sessions", ignore_errors=True)
    assert requests[0] != requests[1]


@pytest.mark.parametrize("name", [*MESSAGES, "next_prompt"])
def test_each_part_runs_alone(name: str, workbook: Path, sent: list[str]):
    [exercise] = [each for each, part in PARTS.items() if part.name == name]
    solved = {exercise, "03.2"} if name == "with_head" else {exercise}
    returns = {**MESSAGES, "next_prompt": "10**6"}
    (workbook / yours.FILE).write_text(file_of([*solved], returns), "utf-8")
    in_the_terminal(workbook)
    if name == "next_prompt":  # over the threshold at each turn
        assert sum("# Handoff" in each or "summary" in each for each in sent) > 9
    elif name != "hold":  # without a rule there is nothing to hold
        assert marks(sent, [name]) == [name]


def test_a_loop_runs_where_a_loop_can_be_given(workbook: Path, sent: list[str]):
    loop = my_agent.published()["00.1"]
    called = list[str]()

    def own(messages: Any, ask: Any, workspace: Any) -> None:
        called.append("own")
        loop(messages, ask, workspace)

    play(TRACE, scoreboard.STAGES["00"].settings.scaled(32_000), loop=own)
    assert called
    assert len(sent) > 2
