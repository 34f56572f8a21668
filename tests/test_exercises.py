"""Each exercise fails as delivered, passes with its published solution, refuses wrong answers.

Every lesson is run from top to bottom with the solution of each exercise after its stub. The
wrong answers are a table: a plausible mistake, and the case that the verdict has to name.
"""

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode

from agentlib.auto_compact import excess, summary_message
from agentlib.estimation import estimate_tokens
from agentlib.lab.lessons import check, checking, exercises
from agentlib.lab.lessons.exercises import four_costs
from agentlib.lab.play import play
from agentlib.lab.sessions.table import rows
from agentlib.lab.tasks.scenarios import REVIEW
from agentlib.messages import (
    SUMMARY_END,
    SUMMARY_HEADER,
    active_request,
    blocks,
    exchanges,
    is_summary,
    last_assistant,
    of_type,
    tool_names,
    unanswered,
    with_results,
)
from agentlib.micro_compact import micro_compact as clear
from agentlib.micro_compact import replacements
from agentlib.settings import Settings
from agentlib.tools import result
from agentlib.transcripts import INTERRUPTED

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
CHECK = re.compile(r'^check\("(\d\d\.\d+)", .+\)\s*\Z', re.MULTILINE)
SOLUTION = re.compile(r"<summary>Solution</summary>\s*```python\n(.*?)```", re.DOTALL)
RUN = """
import json, os, sys, tempfile
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from agentlib.lab import lessons

judge, pick = lessons.check, lessons.use
shell, outcomes = InteractiveShell.instance(), {}

def check(name, answer):
    verdict = judge(name, answer)
    verdicts.setdefault(name, []).append(verdict.passed)
    return verdict

def use(name, function, otherwise):
    chosen = pick(name, function, otherwise)
    used.setdefault(name, []).append(chosen is function)
    return chosen

lessons.check, lessons.use = check, use
for lesson, cells in json.load(sys.stdin).items():
    os.chdir(tempfile.mkdtemp(dir=sys.argv[1]))
    shell.reset()
    verdicts, used, error = {}, {}, None
    for cell in cells:
        with capture_output():
            result = shell.run_cell(cell)
        if not result.success:
            error = f"{result.error_in_exec or result.error_before_exec!r} in {cell}"
            break
    outcomes[lesson] = verdicts, used, error
print(json.dumps(outcomes))
"""


def stubs(notebook: NotebookNode) -> dict[str, int]:
    """Return the place of each exercise's cell by the exercise's name."""
    places = {}
    for place, cell in enumerate(notebook.cells):
        if "exercise" in cell.metadata.get("tags", []):
            line = CHECK.search(cell.source)
            assert line, f"the last line of an exercise is a check: {cell.source!r}"
            places[line[1]] = place
    return places


def solved(notebook: NotebookNode, place: int) -> str:
    """Return the exercise's cell with the solution from the next markdown cell put in."""
    following = (cell for cell in notebook.cells[place:] if cell.cell_type == "markdown")
    [solution] = SOLUTION.findall(next(following).source)
    line = CHECK.search(notebook.cells[place].source)
    assert line
    return f"{solution}\n\n{line[0]}"


def with_solutions(notebook: NotebookNode) -> list[str]:
    """Return the lesson's code, each exercise followed by its solution."""
    places, sources = stubs(notebook).values(), []
    for place, cell in enumerate(notebook.cells):
        sources += [cell.source] if cell.cell_type == "code" else []
        sources += [solved(notebook, place)] if place in places else []
    return sources


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Run all lessons in one process, so that they share their runs of the offline agent."""
    lessons = {p.stem: with_solutions(nbformat.read(p, as_version=4)) for p in NOTEBOOKS}
    run = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path_factory.mktemp("lessons"))],
        input=json.dumps(lessons),
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "MPLBACKEND": "agg"},
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_lesson_runs_with_its_solutions_and_every_stub_fails(path: Path, outcomes: dict):
    verdicts, used, error = outcomes[path.stem]
    assert error is None
    first_two = {name: each[:2] for name, each in verdicts.items()}
    assert first_two == {name: [False, True] for name in exercises.of_lesson(path.name[:2])}
    assert all(map(all, used.values())), "the finished function ran in place of the learner's"
    assert used, "no function of the learner's ran in the agent"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_asks_every_exercise_of_its_lesson_and_shows_that_it_is_open(path: Path):
    notebook = nbformat.read(path, as_version=4)
    places = stubs(notebook)
    assert list(places) == exercises.of_lesson(path.name[:2])
    for name, place in places.items():
        [output] = notebook.cells[place].outputs
        assert output.data["text/plain"].startswith(f"{name} not yet: ")


def test_every_exercise_has_a_hint_and_two_wrong_answers():
    names = [name for lesson in checking.LESSONS for name in exercises.of_lesson(lesson)]
    assert list(checking.HINTS) == names
    assert all(checking.HINTS.values())
    assert [name for name in names if len(WRONG[name]) < 2] == []


# 00: the loop, and a tool

DEFINITION = {
    "name": "outline",
    "description": "List what a file defines.",
    "input_schema": {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    },
}


def outline(source: str, starts: tuple[str, ...] = ("def ", "class ", "async def ")) -> str:
    lines = enumerate(source.splitlines(), 1)
    return "\n".join(f"{n}: {line}" for n, line in lines if line.lstrip().startswith(starts))


def looping(act: Callable[..., list[Any]], *, whole: bool = True, ends: bool = True):
    """A loop that answers calls with `act`, notes the `whole` reply or none, and may never end."""

    def loop(messages, ask, workspace):
        while messages[-1]["role"] == "user" or not ends:
            reply = ask(messages)
            if whole:
                messages.append({"role": "assistant", "content": reply["content"]})
            if calls := of_type(reply, "tool_use"):
                messages.append({"role": "user", "content": act(calls, workspace)})

    return loop


def carried_out(calls, workspace):
    return [result(call, workspace) for call in calls]


def made_up(calls, workspace):
    return answers([call["id"] for call in calls])


def only_once(messages, ask, workspace):
    messages.append({"role": "assistant", "content": ask(messages)["content"]})


def one_turn(messages, ask, workspace):
    only_once(messages, ask, workspace)
    if calls := of_type(messages[-1], "tool_use"):
        messages.append({"role": "user", "content": carried_out(calls, workspace)})


def elsewhere(messages, ask, workspace):
    """Work well, on a list of its own."""
    looping(carried_out)(list(messages), ask, workspace)


def a_message_each(messages, ask, workspace):
    while messages[-1]["role"] == "user":
        only_once(messages, ask, workspace)
        for each in carried_out(of_type(messages[-1], "tool_use"), workspace):
            messages.append({"role": "user", "content": [each]})


# 01 and 02: estimates, and results that are cleared


def words_only(messages):
    return sum(len(str(m)) + 2 for m in messages if isinstance(m["content"], str)) // 4


def in_place(messages, keep_recent=3, min_chars=100):
    blocks = [block for message in messages for block in of_type(message, "tool_result")]
    for block in blocks[:-keep_recent]:
        if len(block["content"]) > min_chars:
            block["content"] = "[Previous: used read_file]"


def longest_first(messages, keep_recent=3, min_chars=100):
    """Pick the long results first, so that short ones don't count among the newest."""
    blocks = [block for message in messages for block in of_type(message, "tool_result")]
    long = [block for block in blocks if len(block["content"]) > min_chars]
    for block in long[:-keep_recent]:
        block["content"] = "[Previous: used read_file]"


def longest(messages, keep_recent):
    """The same mistake in a view that is right in every other way."""
    ids = list(replacements(messages, clear(messages, keep_recent=0)))
    blocks = [b for m in messages for b in of_type(m, "tool_result") if len(b["content"]) > 100]
    new = [b["tool_use_id"] for b in blocks[max(0, len(blocks) - keep_recent) :]]
    view = clear(messages, keep_recent=0)
    texts = {b["tool_use_id"]: b["content"] for m in view for b in of_type(m, "tool_result")}
    return with_results(messages, {name: texts[name] for name in ids if name not in new})


def edited(messages, keep_recent):
    in_place(messages, keep_recent)
    return messages


def every_tool_read_file(messages, keep_recent):
    view = clear(messages, keep_recent=keep_recent)
    for block in (block for message in view for block in of_type(message, "tool_result")):
        block["content"] = block["content"].replace("used bash", "used read_file")
    return view


# 03 and 04: what a summary replaces, and the call of compact


def user(text):
    return {"role": "user", "content": text}


def head(messages, summary):
    return summary_message(summary, "t", active_request(messages))


def assistant(text):
    return {"role": "assistant", "content": text}


def kept_until_nine(messages, summary, keep=1):
    """Right, but for more exchanges than there are."""
    kept = messages[exchanges(messages)[-keep][0] :] if keep else []
    return [head(messages, summary), *kept]


def by_hand(messages, summary, keep=1):
    """Right, but for the header of a summary."""
    kept = messages[exchanges(messages)[-keep:][0][0] :] if keep else []
    return [user(f"{summary}\n{active_request(messages)}"), *kept]


def held_all(old, new, mark="", known=None):
    known = new if known is None else known
    lines = [line for line in old.splitlines() if mark in line and line not in (known or [])]
    return "\n".join([new, *lines])


def rules_before(old, new):
    rules = [line for line in old.splitlines() if line.startswith("- [rule]")]
    return "\n".join([*(rule for rule in rules if rule not in new), new])


def whole_summary(messages, summarize):
    return [user(summarize(messages))]


def results_only(messages, summarize):
    return [user(summarize(messages)), messages[-1]]


def request_gone(messages, summarize):
    return [user(summarize(messages)), *messages[last_assistant(messages) :]]


def first_request(messages, summarize):
    summary = summary_message(summarize(messages), "saved", messages[0]["content"])
    return [summary, *messages[last_assistant(messages) :]]


def newest_two(messages, summarize):
    summary = summary_message(summarize(messages), "saved", active_request(messages))
    return [summary, *messages[-2:]]


def nothing_summarised(messages, summarize):
    words = f"{summarize([])} {active_request(messages)}"
    return [user(words), *messages[last_assistant(messages) :]]


def any_focus(messages):
    calls = [call for message in messages for call in of_type(message, "tool_use")]
    return next((c["input"].get("focus", "") for c in calls if c["name"] == "compact"), None)


def newest_focus(messages):
    newest = last_assistant(messages)
    return any_focus(messages[newest:]) if newest >= 0 else None


def first_call_only(messages):
    newest = last_assistant(messages)
    call = of_type(messages[newest], "tool_use")[0] if newest >= 0 else {"name": ""}
    return call["input"].get("focus", "") if call["name"] == "compact" else None


def any_write(messages):
    calls = [call for message in messages for call in of_type(message, "tool_use")]
    return "rules" if any(call["name"] == "write_file" for call in calls) else None


def newest_write(messages):
    newest = last_assistant(messages)
    return any_write(messages[newest:]) if newest >= 0 else None


def written(messages, good=None, focus="rules"):
    """Solve exercise 04.4, or look at all results of the turn, or give another focus."""
    if newest_write(messages) is None:
        return None
    blocks = of_type(messages[-1], "tool_result")
    fine = [not block.get("is_error") for block in blocks]
    return focus if (good(fine) if good else fine[0]) else None


def as_strings(message):
    return json.loads(json.dumps(message, default=str))


# 05: what is written down


def added(path, text):
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def written_again(message, path):
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(f"{old}{json.dumps(message)}\n", encoding="utf-8")


def emptied(message, path):
    path.write_text(json.dumps(message) + "\n", encoding="utf-8")


def all_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def but_the_last(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[:-1]]


def up_to_a_torn_line(path):
    messages = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            messages.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return messages


def ending_well(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]


def or_nothing(path):
    try:
        return all_lines(path)
    except json.JSONDecodeError:
        return []


def answers(names, text=INTERRUPTED, **more):
    return [{"type": "tool_result", "tool_use_id": n, "content": text, **more} for n in names]


def one_message(messages):
    results = answers(unanswered(messages), is_error=True)
    return [{"role": "user", "content": results}] if results else []


# 06 and 07: the parts of a hand-off, failures


def with_head(messages, summary, words=active_request, head=1):
    told = summary_message(summary, "t", words(messages[1:]))
    return [*messages[:head], told, *messages[exchanges(messages)[-1][0] :]]


def handed_over(*texts, note="Reference only.", header=f"{SUMMARY_HEADER}t]"):
    """A hand-off as a function: `texts` are formats of the summary and the person's words."""

    def hand_off(summary, words):
        given = {"summary": summary, "words": words, "note": note, "end": SUMMARY_END}
        blocks = [each.format(**given, header=header) for each in texts]
        return {"role": "user", "content": [{"type": "text", "text": each} for each in blocks]}

    return hand_off


def asks_if(there):
    return lambda messages, prompt, update: prompt + update if there(messages) else prompt


def priced(**other):
    """The four costs, with some of the numbers mistaken for others."""

    def costs(whole, cached, trimmed, own, others):
        given = {"whole": whole, "cached": cached, "trimmed": trimmed}
        return four_costs(**given, own=own, other=others) | {
            name.replace("_", ", "): cost(**given, own=own, other=others) / 1e6
            for name, cost in other.items()
        }

    return costs


def careful(messages, ask, *, whole=("end_turn", "stop_sequence"), caught=Exception, most=1.0):
    """Solve exercise 07.1, or one of its wrong answers."""
    try:
        reply = ask(messages)
    except caught:
        return messages
    text = "\n".join(block["text"] for block in of_type(reply, "text"))
    smaller = reply["usage"]["output_tokens"] < most * estimate_tokens(messages)
    if not (text.strip() and reply["stop_reason"] in whole and smaller):
        return messages
    return [summary_message(text, "t.jsonl", active_request(messages))]


def first_block(messages, ask):
    return [summary_message(ask(messages)["content"][0]["text"], "t.jsonl")]


def twice(messages, ask):
    new = careful(messages, ask)
    return new if new == messages else careful(messages, ask)


def no_bad_reason(messages, ask):
    return careful(messages, ask, whole=("end_turn", "stop_sequence", "tool_use", "pause_turn"))


def careful_until_it_works(messages, ask, caught=Exception):
    while True:
        try:
            return careful(messages, ask, caught=())
        except caught:
            continue


def is_open(outcomes, turns, limit, rest):
    return outcomes[-limit:] == ["failed"] * limit and turns < rest


def again(messages, ask, shrink, *, only=excess, most=2):
    """Solve exercise 07.3, or one of its wrong answers."""
    for _ in range(most - 1):
        try:
            return messages, ask(messages)
        except Exception as error:
            if not only(error):
                raise
            messages = shrink(messages)
    return messages, ask(messages)


def same_again(messages, ask, shrink):
    try:
        return messages, ask(messages)
    except Exception:
        shrink(messages)
        return messages, ask(messages)


def until_it_fits(messages, ask, shrink, caught=Exception):
    while True:
        try:
            return messages, ask(messages)
        except caught:
            messages = shrink(messages)


def ends(lines, room, *, share=4, gap="[{} lines left out]"):
    """Solve exercise 07.4, or one of its wrong answers."""
    old = room // share
    new = len(lines) - (room - old)
    return lines if room >= len(lines) else [*lines[:old], gap.format(new - old), *lines[new:]]


def one_at_least(lines, room):
    old, most = (room // 4 or 1), min(room, len(lines) - 1)
    gap = f"[{len(lines) - most} lines left out]"
    return lines if room >= len(lines) else [*lines[:old], gap, *lines[old - most :]]


def summary_pays(
    left: float,
    read: float,
    write: float,
    answer: float,
    answer_as: str = "answer",
    reads_it: bool = True,
    gone: Callable[[float], float] = lambda left: 1 - left,
) -> float:
    """Solve exercise 08.2, or one of its wrong answers."""
    answer = write if answer_as == "write" else answer
    return (read * reads_it + (answer + write - read) * left) / (read * gone(left))


def kept_alive(
    pause: float,
    read: float,
    write: float,
    repeats: Callable[[float], float] = lambda pause: pause // 270,
    expired: Callable[[float], bool] = lambda pause: pause >= 300,
) -> float:
    """Solve exercise 08.3, or one of its wrong answers."""
    return (write - read) * expired(pause) - repeats(pause) * read


def knows_the_end(pause: float) -> int:
    """Repeat only as often as the pause needs, as if its end were known."""
    return max(0, math.ceil((pause - 300) / 270))


def clear_unseen_too(messages: list[Any], idle: float) -> list[Any]:
    ids = [r["tool_use_id"] for m in messages for r in of_type(m, "tool_result")]
    return with_results(messages, dict.fromkeys(ids, "[gone]")) if idle > 300 else messages


def silent_falls(
    sizes: list[int],
    compacted: list[int],
    noted: bool = True,
    share: float = 0.97,
    first: int = 2,
) -> list[int]:
    """Solve exercise 09.1, or one of its wrong answers."""
    falls = (n for n, (old, new) in enumerate(pairwise(sizes), first) if new < share * old)
    return [n for n in falls if not (noted and n in compacted)]


def below_the_largest(sizes: list[int]) -> list[int]:
    return [n for n, size in enumerate(sizes, 1) if size < 0.97 * max(sizes[:n])]


def quoted(reply: str, lost: str, context: str, run: int = 40, short: int = 39) -> bool:
    """Solve exercise 09.2, or one of its wrong answers."""
    pieces = (reply[i : i + run] for i in range(len(reply) - short))
    return any(piece in lost and piece not in context for piece in pieces if len(piece) == run)


WRONG: dict[str, list[tuple[Any, str]]] = {
    "00.1": [
        (lambda messages, ask, workspace: None, "it asks nothing"),
        (only_once, "refused request 2: messages.1: `tool_use` ids were found without"),
        (looping(lambda calls, place: carried_out(calls[:1], place)), "ids were found without"),
        (looping(carried_out, whole=False), "refused request 2: messages.1.content.0: unexpected"),
        (looping(carried_out, ends=False), "must end with a user message"),
        (looping(made_up), "does every call get its own result"),
        (elsewhere, "append to that list, don't make a new one"),
        (one_turn, "the last message is still the user's: go on asking"),
        (a_message_each, "two calls got two messages"),
    ],
    "00.2": [
        (lambda base, growth, turns: base + growth * (turns - 1), "is 3,000, not 1,400"),
        (lambda base, growth, turns: base * turns, "is 3,000, not 1,800"),
    ],
    "00.3": [
        (outline, "give a pair"),
        (({**DEFINITION, "description": "Lists"}, outline), "say in two words or more"),
        (
            ({**DEFINITION, "description": "This tool is very good."}, outline),
            "what the tool lists: a file's definitions",
        ),
        (
            ({**DEFINITION, "description": "Delete functions, classes."}, outline),
            "this tool changes files",
        ),
        (({**DEFINITION, "name": "list"}, outline), "should stay 'outline'"),
        (({**DEFINITION, "input_schema": {"properties": {}}}, outline), "path, a string"),
        ((DEFINITION, lambda path: Path(path).read_text()), "it raised"),
        ((DEFINITION, lambda source: "1: class Parcel:"), "the line '2:     async def weigh"),
        ((DEFINITION, lambda source: source), "should have the line '1: class"),
        ((DEFINITION, lambda source: f"{outline(source)}\n3: return"), "4 lines"),
        ((DEFINITION, lambda source: outline(source).splitlines()), "return text"),
        ((DEFINITION, lambda source: outline(source, ("def", "class ", "async def "))), "4 lines"),
        ((DEFINITION, lambda source: outline(source, ("def ", "class ", "async "))), "4 lines"),
        (
            (DEFINITION, lambda source: outline(source).replace("     ", " ")),
            "with its indent",
        ),
    ],
    "01.1": [
        (words_only, "a call in a list"),
        (lambda messages: 0, "a request"),
        (lambda messages: len(json.dumps(messages)) // 4, "a result in Chinese"),
        (lambda messages: len(str(messages)) / 4, "the answer is 15, not 15."),
        (lambda messages: round(len(str(messages)) / 4), "the answer is"),
    ],
    "01.2": [
        (lambda threshold, off: threshold * (1 + off / 100), "is 200, not 50"),
        (lambda threshold, off: threshold * (1 - off / 100), "is 200, not 150"),
        (lambda threshold, off: threshold / (-off / 100), "20 % low"),
        (lambda threshold, off: threshold / (1 - abs(off) / 100), "it raised ZeroDivisionError"),
    ],
    "01.3": [
        (lambda billed, sent, messages: estimate_tokens(messages), "the first 3 messages"),
        (lambda billed, sent, messages: billed, "before any bill"),
        (lambda billed, sent, messages: billed + estimate_tokens(messages), "the first 3 messages"),
        (
            lambda billed, sent, messages: billed + 1_000 if billed else estimate_tokens(messages),
            "the first 3 messages",
        ),
        (
            lambda billed, sent, messages: int(billed * 1.1) or estimate_tokens(messages),
            "the first 3 messages",
        ),
        (
            lambda billed, sent, m: billed + estimate_tokens(m[-1:] if billed else m),
            "the first 3 messages",
        ),
        (
            lambda billed, sent, m: billed + estimate_tokens(m[max(0, sent - 1) :]),
            "the first 3 messages",
        ),
        (
            lambda billed, sent, m: billed + estimate_tokens(m[-2:] if billed else m),
            "only 4 have to be guessed",
        ),
    ],
    "01.4": [
        (-14, "with -14 the alarm rings past 184,000"),
        (-6, "with -6 the alarm rings in time"),
        (7, "negative means low"),
        ("-7", "is no whole number; give whole percent"),
        (-6.5, "-6.5 is no whole number; give whole percent"),
    ],
    "02.1": [
        (lambda messages: None, "toolu_1 should read"),
        (lambda messages: in_place(messages, keep_recent=1), "toolu_4 should be left whole"),
        (lambda messages: in_place(messages, min_chars=0), "toolu_2 should be left whole"),
        (longest_first, "two short results among the newest three"),
    ],
    "02.2": [
        (edited, "it edited what it was given"),
        (lambda messages, keep_recent: messages, "(toolu_3 to toolu_7), result toolu_1 should"),
        (lambda m, keep_recent: clear(m, keep_recent=keep_recent + 5), "toolu_1 should read"),
        (
            lambda m, keep_recent: clear(m, keep_recent=keep_recent, keep_unseen=False),
            "toolu_3 should be left whole",
        ),
        (every_tool_read_file, "used bash"),
        (lambda m, keep_recent, min_chars=0: clear(m, keep_recent=keep_recent), "min_chars=200"),
        (lambda m, keep_recent, min_chars=100: longest(m, keep_recent), "short results among"),
        (
            lambda m, keep_recent, min_chars=100: as_strings(
                clear(m, keep_recent=keep_recent, min_chars=min_chars)
            ),
            "it copies",
        ),
    ],
    "02.3": [
        ({"keep_recent": 3}, "should be under 400,000"),
        ({"min_chars": 13_000}, "too long: 36535"),
        ((3, 3_000), "give {"),
        ({"keep_recent": 40, "context_window": 10**6}, "and no other number"),
    ],
    "02.4": [
        (lambda behind, cleared, read, write: write * behind / (read * cleared), "not 12.5"),
        (
            lambda behind, cleared, read, write: (write - read) / read,
            "at the prices of Opus 5.5",
        ),
        (lambda behind, cleared, read, write: 24 * behind / cleared, "Haiku 4.5"),
        (
            lambda behind, cleared, read, write: (
                (write - read) * (behind + cleared) / (read * cleared)
            ),
            "the answer is 12.0, not 36",
        ),
    ],
    "03.1": [
        (lambda m, s: [*m[:1], user(s)], "nothing of the old ones stays"),
        (lambda m, s: [user("Compressed.")], "the summary should be in the first"),
        (lambda m, s: [user(s), assistant("Understood."), user("Go on.")], "returned 3 messages"),
        (lambda m, s: [user(s), assistant("Understood.")], "prefill"),
        (lambda m, s: [user(f"{s} {m}")], "the text of old messages is still there"),
    ],
    "03.2": [
        (lambda m, s, keep=1: [head(m, s)], "with keep=1 of 4 exchanges"),
        (lambda m, s, keep=1: [head(m, s), *m[-keep:]], "the API would refuse this"),
        (lambda m, s, keep=1: [head(m, s), *m[-2:]], "with keep=3 of 5 exchanges"),
        (lambda m, s, keep=1: [head(m, s), *m[exchanges(m)[-keep][0] :]], "with keep=0"),
        (kept_until_nine, "list index out of range"),
        (lambda m, s, keep=1: [user(s), *kept_until_nine(m, s, keep)[1:]], "the request is gone"),
        (by_hand, "the first message has no summary's header"),
    ],
    "03.3": [
        (lambda old, new: new, "'- [rule] Use tabs.' should be there once, not 0 times"),
        (lambda old, new: f"{old}\n{new}", "'- [file] rule.py'] is back; only rules should"),
        (lambda old, new: held_all(old, new, "rule"), "'- [file] rule.py'] is back"),
        (lambda old, new: held_all(old, f"{new}\n", "- [rule]", ""), "once, not 2 times"),
        (rules_before, "rules should stand at the end"),
        (lambda old, new: old, "yours lacks ['- [file] 3.py']"),
        (held_all, "'- [file] rule.py'] is back"),
    ],
    "03.4": [
        ({"threshold": 27_200}, "All of it should be kept"),
        ({"summary_tokens": 1_500}, "It should be under $0.92"),
        ((27_200, 1_500), "give {"),
        ({"threshold": 27_200, "head_tokens": 600}, "and no other number"),
    ],
    "04.1": [
        (any_focus, "an older call"),
        (newest_focus, "three calls"),
        (first_call_only, "the call stands beside another"),
    ],
    "04.2": [
        (whole_summary, "toolu_2, toolu_3, and only they should stay; yours keeps none"),
        (results_only, "the API would refuse this"),
        (lambda m, summarize: [user(summarize(m)), *m[1:]], "yours keeps toolu_1, toolu_2"),
        (request_gone, "the person's request 'Read every file, then report.' is gone"),
        (nothing_summarised, "a summary of what is replaced"),
        (first_request, "a second request, the person's request 'And d.py.' is gone"),
        (newest_two, "the API would refuse this"),
    ],
    "04.3": [
        ("keep everything important", "2 of 4 facts and not the rule"),
        ("rules of the user", "2 of 4 facts and the rule"),
        ("FACT: the probe for musl may take 7 seconds. " * 2, "60 have to do"),
        ("rules of the user; facts and decisions found in files", "match the [file] lines"),
    ],
    "04.4": [
        (any_write, "if the file was written a turn before"),
        (newest_write, "if the newest write failed"),
        (lambda messages: "rules", "if the newest turn has read a file"),
        (partial(written, good=any), "and the read beside it did not"),
        (partial(written, good=all), "if the read failed, and the write"),
        (partial(written, focus=""), "the answer should be a focus, not ''"),
    ],
    "05.1": [
        (lambda message, path: None, "the file is not there"),
        (emptied, "after 2 calls, the file should have 2 lines; yours has 1"),
        (lambda message, path: added(path, json.dumps(message)), "should end with"),
        (lambda message, path: added(path, f"{message}\n"), "the last line should be the"),
        (lambda message, path: added(path, f"{json.dumps(message, indent=1)}\n"), "1 lines"),
        (written_again, "it reads what is there and writes it again"),
    ],
    "05.2": [
        (all_lines, "it raised JSONDecodeError"),
        (but_the_last, "from a file of 5 whole lines, 5 messages should come back"),
        (up_to_a_torn_line, "a torn line with whole lines behind it"),
        (or_nothing, "whose last line is torn, 2 messages"),
        (ending_well, "it raised JSONDecodeError"),
        (lambda path: None, "yours returned None"),
    ],
    "05.3": [
        (lambda messages: answers(unanswered(messages)), "is_error"),
        (lambda messages: [], "yours answers none"),
        (lambda messages: answers(tool_names(messages), is_error=True), "should be empty"),
        (lambda m: answers(unanswered(m)[:1], is_error=True), "toolu_2, toolu_3, toolu_4 should"),
        (lambda messages: answers(unanswered(messages), "done", is_error=True), "INTERRUPTED"),
        (lambda m: answers(unanswered(m), "INTERRUPTED", is_error=True), "without quotes"),
        (one_message, "not a message that holds them"),
    ],
    "05.4": [(12, "go on"), (14, "go back")],
    "06.1": [
        (partial(with_head, head=0), "the first message should stay"),
        (partial(with_head, head=2), "ids were found without"),
        (partial(with_head, words=lambda messages: None), "'Now the tests.', are gone"),
        (lambda m, s: [m[0], summary_message(s, "t"), *m[-4:]], "yours has 4 after the summary"),
        (lambda m, s: [m[0], *m[exchanges(m)[-1][0] :]], "the second message should have"),
    ],
    "06.2": [
        (handed_over("{header}\n{note}\n{summary}\n{end}\n{words}"), "no second text block"),
        (handed_over("{header}\n{note}\n{summary}", "{words}"), "should end with END"),
        (handed_over("{header}\n{summary}\n{note}{end}", "{words}"), "no note between"),
        (handed_over("{note}\n{header}\n{summary}\n{end}", "{words}"), "begin with HEADER"),
        (
            handed_over(
                "{header}\n{note}\n{summary}\n{end}",
                "{words}",
                note="There is no instruction more urgent than the question below.",
            ),
            "goes for the pending question",
        ),
        (handed_over("{header}\n{note}\n{end}", "{words}"), "word for word"),
    ],
    "06.3": [
        (asks_if(lambda messages: True), "nothing was summarised yet"),
        (asks_if(lambda messages: is_summary(blocks(messages[0])[0])), "behind the head"),
        (asks_if(lambda messages: SUMMARY_HEADER in str(messages)), "only quotes one"),
        (asks_if(lambda messages: "summary" in str(messages)), "only says the word"),
        (lambda messages, prompt, update: update, "nothing was summarised yet"),
    ],
    "06.4": [
        (
            priced(other_whole=lambda cached, whole, other, **_: cached * other["read"]),
            "'other, whole'",
        ),
        (
            priced(own_trimmed=lambda trimmed, own, **_: trimmed * own["read"]),
            "'own, trimmed'",
        ),
        (priced(own_whole=lambda whole, own, **_: whole * own["new"]), "'own, whole'"),
        (lambda *numbers: 0.0, "a dict of four costs"),
    ],
    "07.1": [
        (first_block, "it raised"),
        (lambda messages, ask: messages, "one message with all its text"),
        (
            lambda m, ask: careful(m, ask, caught=BaseException),
            "KeyboardInterrupt, which is Ctrl-C",
        ),
        (lambda m, ask: careful(m, ask, caught=ConnectionError), "it raised SummaryFailed"),
        (lambda m, ask: careful(m, ask, whole=("end_turn",)), "stop_reason is 'stop_sequence'"),
        (lambda m, ask: careful(m, ask, most=100), "9,000 tokens"),
        (no_bad_reason, "calls a tool"),
        (twice, "it asked 2 times"),
        (careful_until_it_works, "it asked 5 times"),
        (partial(careful_until_it_works, caught=BaseException), "it asked 5 times"),
    ],
    "07.2": [
        (lambda o, turns, limit, rest: o.count("failed") >= limit and turns < rest, "a success"),
        (lambda o, turns, limit, rest: o[-limit:] == ["failed"] * limit, "the probe goes through"),
        (lambda o, turns, limit, rest: is_open(o, turns, 3, rest), "if the limit is 1"),
        (is_open, "with a limit of 0"),
    ],
    "07.3": [
        (lambda messages, ask, shrink: (messages, ask(messages)), "2 requests should be made"),
        (partial(again, only=lambda error: True), "overloaded, 1 request should be made, not 2"),
        (partial(again, most=4), "both prompts are too long, 2 requests"),
        (same_again, "what shrink returned"),
        (until_it_fits, "both prompts are too long, 2 requests should be made, not 5"),
        (
            partial(until_it_fits, caught=BaseException),
            "both prompts are too long, 2 requests should be made, not 5",
        ),
        (lambda messages, ask, shrink: ask(messages), "return what was sent, and its reply"),
    ],
    "07.4": [
        (lambda lines, room: lines[-room:], "not ['e', 'f', 'g', 'h']"),
        (lambda lines, room: lines[:room], "not ['a', 'b', 'c', 'd']"),
        (partial(ends, share=2), "not ['a', 'b', '[4 lines left out]', 'g', 'h']"),
        (partial(ends, gap="[lines left out]"), "not ['a', '[lines left out]'"),
        (lambda lines, room: ends(lines, min(room, 7)), "all lines fit"),
        (one_at_least, "3 // 4 is 0"),
    ],
    "08.1": [
        (lambda gone, behind, read, write: write * behind / (read * gone), "not 12.5"),
        (lambda gone, behind, read, write: (write - read) * gone / (read * behind), "not 48.0"),
        (lambda gone, behind, read, write: 24 * behind / gone, "at Haiku 4.5"),
    ],
    "08.2": [
        (
            lambda left, read, write, answer: (write - read) * left / (read * (1 - left)),
            "half is left",
        ),
        (
            lambda *given: summary_pays(*given) + given[0] / (1 - given[0]),
            "the answer is 126.0, not 12",
        ),
        (partial(summary_pays, answer_as="write"), "half is left"),
        (partial(summary_pays, reads_it=False), "half is left"),
        (partial(summary_pays, gone=lambda left: 1.0), "half is left"),
        (partial(summary_pays, gone=lambda left: 0.5), "a tenth is left"),
        (lambda left, *prices: (1 + 124 * left) / (1 - left), "at the prices of Haiku 4.5"),
    ],
    "08.3": [
        (partial(kept_alive, repeats=lambda pause: math.ceil(pause / 270)), "takes one repeat"),
        (lambda pause, read, write: kept_alive(pause, read, write + read), "takes one repeat"),
        (partial(kept_alive, expired=lambda pause: True), "after 200 seconds"),
        (partial(kept_alive, repeats=knows_the_end), "is -0.2, not 0.0"),
        (lambda *given: max(0.0, kept_alive(*given)), "a repeat was sent at 270"),
        (partial(kept_alive, expired=lambda pause: pause > 300), "at 300 it is gone"),
        (
            partial(kept_alive, repeats=lambda pause: knows_the_end(pause) or pause // 270),
            "at 270 and 540",
        ),
    ],
    "08.4": [
        (lambda messages, idle: messages, "it costs 100 % of forgetting nothing"),
        (lambda messages, idle: clear(messages, keep_recent=5), "at most 95 %"),
        (lambda messages, idle: clear(messages, keep_recent=0), "4.5 pieces are needed again"),
        (
            lambda messages, idle: clear(messages, keep_recent=0) if idle > 300 else messages,
            "4.5 pieces are needed again",
        ),
        (
            lambda messages, idle: messages if idle > 300 else clear(messages, keep_recent=5),
            "at most 95 %",
        ),
        (lambda messages, idle: messages[-5:], "the API would refuse this"),
        (
            lambda messages, idle: [messages[0], *messages[-4:]] if idle > 300 else messages,
            "pieces are needed again",
        ),
        (clear_unseen_too, "the newest result should stay"),
    ],
    "09.1": [
        (lambda sizes, compacted: [], "has 60 tokens after 100"),
        (partial(silent_falls, noted=False), "the file notes a compaction before prompt 2"),
        (partial(silent_falls, share=1.0), "not less than 97 %"),
        (partial(silent_falls, first=1), "has 60 tokens after 100"),
        (lambda sizes, compacted: below_the_largest(sizes), "has 60 tokens after 100"),
    ],
    "09.2": [
        (lambda reply, lost, context: reply in lost, "what only the lost text has"),
        (lambda reply, lost, context: quoted(reply, lost, ""), "still has the same words"),
        (partial(quoted, run=20), "27 characters are the same"),
        (partial(quoted, short=40), "40 last characters"),
        (
            lambda reply, lost, context: quoted(reply, lost, "") and not quoted(reply, context, ""),
            "the context has the other one",
        ),
        (lambda reply, lost, context: False, "what only the lost text has"),
    ],
    "09.3": [
        (lambda piece: -piece["age"], "it covers 62 %"),
        (lambda piece: -piece["tokens"], "at least 70 %"),
        (lambda piece: piece["tokens"], "at least 70 %"),
        (lambda piece: piece["what"] == "the model's words", "at least 70 %"),
        (lambda piece: piece["needed"], "it raised KeyError"),
        (lambda piece: {"calls": 1}[piece["what"]], "it raised KeyError('thinking')"),
        (lambda piece: 1 / piece["tokens"], "it raised ZeroDivisionError"),
        (lambda piece: None, "it returned nothing"),
    ],
}


@pytest.mark.parametrize(
    ("name", "number"), [(name, n) for name, rows in WRONG.items() for n in range(len(rows))]
)
def test_a_plausible_wrong_answer_fails_and_the_verdict_names_the_case(
    name: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    answer, case = WRONG[name][number]
    verdict = check(name, answer)
    assert not verdict
    assert case in verdict.says


def test_an_answer_that_is_no_function_is_told_so():
    assert "give check the function's name" in check("02.2", None).says


def test_the_turn_of_exercise_05_4_is_the_last_with_the_file_in_view():
    start = replace(Settings(manual=False), keep_recent=6).scaled(32_000)
    session = play(REVIEW, start).session
    sought = "the oldest glibc that our users have is 2.17"
    seen = [
        turn
        for turn in range(1, len(session.requests) + 1)
        for row in rows(session, turn)
        if row.kind == "tool_result" and sought in row.text and row.state == "in view"
    ]
    assert max(seen) == exercises.TABLES["05.4"]["right"]
