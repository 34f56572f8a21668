"""The exercises of lesson 02: what is cleared, what is not, and what the numbers do.

Each checker tries the answer on small conversations of its own, with sizes that fit on paper.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

from agentlib.lab.lessons.checking import Exercise, Wrong
from agentlib.lab.play import play
from agentlib.lab.tasks.scenarios import RENAME
from agentlib.messages import Block, Message, changes, of_type, with_results
from agentlib.settings import Settings

WINDOW, ENOUGH, SHORT = 32_000, 400_000, 2_000


def batch(first: int, *sizes: int) -> list[Message]:
    """An exchange: one call for each size, and its result of so many characters.

    >>> batch(1, 3)[1]["content"]
    [{'type': 'tool_result', 'tool_use_id': 'toolu_1', 'content': 'xxx'}]
    """
    ids = [f"toolu_{n}" for n in range(first, first + len(sizes))]
    calls: list[Block] = [
        {"type": "tool_use", "id": i, "name": "read_file", "input": {}} for i in ids
    ]
    answers: list[Block] = [
        {"type": "tool_result", "tool_use_id": i, "content": "x" * size}
        for i, size in zip(ids, sizes, strict=True)
    ]
    return [{"role": "assistant", "content": calls}, {"role": "user", "content": answers}]


def conversation(*batches: list[Message]) -> list[Message]:
    """A person's request and the exchanges after it."""
    return [{"role": "user", "content": "Read."}, *(m for each in batches for m in each)]


def results(messages: Sequence[Message]) -> dict[str, Any]:
    """tool_use id -> content, oldest first."""
    return {
        r["tool_use_id"]: r["content"]
        for m in messages
        if m["role"] == "user"
        for r in of_type(m, "tool_result")
    }


def cleared(before: Sequence[Message], after: Sequence[Message]) -> set[str]:
    """Ids of the results that differ. Wrong where a result is gone, or its content no text."""
    old, new = results(before), results(after)
    if list(old) != list(new):
        raise Wrong(
            f"of {len(old)} results {len(new)} are left, or their ids changed. Each call needs its "
            "result with the same tool_use_id, or the API refuses the request: change the content."
        )
    bare = dict.fromkeys(old, "")
    if with_results(before, bare) != with_results(after, bare):
        raise Wrong(
            "something else has changed: only the content of a result may, and all else stays."
        )
    for name, content in new.items():
        if content != old[name] and not str(content).startswith("[Previous: used "):
            raise Wrong(
                f"the content of {name} is now {str(content)[:40]!r}. Put '[Previous: used ' and "
                "the tool's name there, so that the model knows that something stood here."
            )
    return {name for name in old if old[name] != new[name]}


def expect(found: set[str], wanted: set[str], why: Mapping[str, str], doing: str) -> None:
    """Wrong with the reason for the first id that is cleared or stays against what is wanted."""
    for name in sorted(found ^ wanted):
        did = "was cleared" if name in found else "was not cleared"
        raise Wrong(f"{doing}, {name} {did}, but {why[name]}.")


def _function(answer: Any) -> None:
    """Wrong where it is none, as the value of a call."""
    if not callable(answer):
        raise Wrong(f"it is {answer!r}; give check the function itself: its name, no parentheses.")


def _in_place(answer: Callable[..., Any]) -> str:
    _function(answer)
    sizes = (500, 80, 500, 500, 500, 500)
    for numbers, gone in (
        ({}, {"toolu_1", "toolu_3"}),
        ({"keep_recent": 1}, {"toolu_1", "toolu_3", "toolu_4", "toolu_5"}),
        ({"min_chars": 500}, set[str]()),
    ):
        before = conversation(*(batch(n, size) for n, size in enumerate(sizes, 1)))
        after = deepcopy(before)
        returned = answer(after, **numbers)
        if after == before and returned not in (None, before):
            raise Wrong("it returns other messages. This first version edits those it is given.")
        keep, small = numbers.get("keep_recent", 3), numbers.get("min_chars", 100)
        old = f"it is long, and old: keep_recent is {keep}, and at least as many newer ones follow"
        recent = f"keep_recent is {keep}, and it is recent"
        why = {f"toolu_{n}": recent if n > 6 - keep else old for n in range(1, 7)}
        short = ((n, size) for n, size in enumerate(sizes, 1) if size <= small)
        why |= {f"toolu_{n}": f"its {size} characters are not over {small}" for n, size in short}
        given = "".join(f", with {name}={value}" for name, value in numbers.items())
        doing = f"of six results (500, 80, 500, 500, 500, 500 characters){given}"
        expect(cleared(before, after), gone, why, doing)
    return "the old, long results are cleared; the short one and the newest stay."


def _old_results(answer: Callable[..., Any]) -> str:
    _function(answer)
    five = [block for m in batch(1, 1, 2, 3, 4, 5) for block in of_type(m, "tool_result")]
    for keep in (3, 0, 5, 9):
        expected = five[: max(0, 5 - keep)]
        found: Any = answer(list(five), keep)
        if not isinstance(found, list | tuple):
            raise Wrong(f"it returned {found!r}; return a list: the results to be cleared.")
        given: list[Block] = [*found]
        if given != expected:
            raise Wrong(
                f"with keep_recent={keep} of 5 results, {len(expected)} are old; it gave "
                f"{len(given)}. {_why_not_old(len(given) == len(expected), keep)}"
            )
    return "right for 3 of 5, for 0, for 5 and for more than there are."


def _why_not_old(as_many: bool, keep: int) -> str:
    if as_many:
        return "As many, but not the oldest: the list begins with those."
    if keep > 5:
        return f"5 - {keep} is below 0, and a slice with a negative number counts from the end."
    return f"Count from the front: how many are left when {keep} stay?"


PAPER = conversation(batch(1, 300, 90), batch(3, 500, 250), batch(5, 150, 400, 600))
"""What exercise 02.3 asks about, with keep_recent 4 and min_chars 100."""

_PAPER_WHY = {
    "toolu_1": "it is old and has 300 characters",
    "toolu_2": "its 90 characters are not over 100",
    "toolu_3": "four results are newer, and it has 500 characters",
    "toolu_4": "it is the fourth result from the end, and keep_recent is 4",
    **dict.fromkeys(("toolu_5", "toolu_6", "toolu_7"), "the model has not seen it yet"),
}


def _on_paper(answer: Iterable[str]) -> str:
    if isinstance(answer, str) or not isinstance(answer, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Wrong(f"{answer!r} is no list; put the ids into one, as in ['toolu_1'].")
    found = {str(each) for each in answer}
    if not found:
        raise Wrong(
            "the list is empty, but some of the seven are long, and older than four others."
        )
    if strange := found - set(_PAPER_WHY):
        raise Wrong(f"there is no result {min(strange)!r}; they are toolu_1 to toolu_7.")
    expect(found, {"toolu_1", "toolu_3"}, _PAPER_WHY, "in your list")
    return "toolu_2 is too short, toolu_4 is the fourth from the end, the rest is unseen."


def _view(answer: Callable[..., Any]) -> str:
    _function(answer)
    for keep, sizes, wanted in (
        (3, (200, 200, 200, 200, 200), {"toolu_1", "toolu_2"}),
        (0, (200, 200), {"toolu_1", "toolu_2"}),
        (4, (200, 200), set[str]()),
    ):
        before = conversation(batch(1, 200), batch(2, 200), batch(3, *sizes))
        given = deepcopy(before)
        returned: Any = answer(given, keep_recent=keep)
        if not isinstance(returned, list | tuple):
            raise Wrong(f"it returned {returned!r}; return a list: the new messages.")
        after: list[Message] = [*returned]
        if given != before:
            raise Wrong("it edited the messages that it was given: the history is damaged.")
        seen = f"the model has seen it, and {len(sizes)} unseen ones count among the keep_recent"
        reasons = dict.fromkeys(results(before), "it is unseen: no model's message stands after it")
        reasons |= dict.fromkeys(("toolu_1", "toolu_2"), "four stay" if keep == 4 else seen)
        expect(cleared(before, after), wanted, reasons, f"with keep_recent={keep}")
        _shared(given, after)
    _names_the_tool(answer)
    return "unseen results stay, 0 means 0, and the history is as it was."


def _names_the_tool(answer: Callable[..., Any]) -> None:
    """Wrong where the placeholder has another tool's name, or exactly min_chars is too many."""
    before = conversation(batch(1, 101), batch(2, 100), [{"role": "assistant", "content": "Done."}])
    before[1]["content"][0]["name"] = "bash"
    after = answer(deepcopy(before), keep_recent=0)
    why = {
        "toolu_1": "its 101 characters are over 100",
        "toolu_2": "100 characters are not over 100",
    }
    expect(cleared(before, after), {"toolu_1"}, why, "with keep_recent=0 and min_chars=100")
    if (text := results(after)["toolu_1"]) != "[Previous: used bash]":
        raise Wrong(
            f"the result of a call of bash became {text!r}. tool_names(messages) gives the name "
            "for '[Previous: used bash]'."
        )


def _shared(before: Sequence[Message], after: Sequence[Message]) -> None:
    """Wrong where messages that did not change are copies."""
    if any(before[i] == after[i] for i in changes(before, after)):
        raise Wrong("it copied messages that do not change; put the same objects into the view.")


def _settings(answer: Mapping[str, int]) -> str:
    if not isinstance(answer, Mapping) or not set(answer) <= {"keep_recent", "min_chars"}:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Wrong('give a dict with two numbers, "keep_recent" and "min_chars".')
    if strange := [value for value in answer.values() if type(value) is not int]:
        raise Wrong(f"{strange[0]!r} is no whole number.")
    run = play(RENAME, replace(Settings(auto=False, manual=False).scaled(WINDOW), **dict(answer)))
    told = f"{run.turns} turns, {run.repeated} calls made again, {run.sent:,} tokens sent"
    if run.refused:
        told = f"the API ended the run after {run.turns} turns: {run.refused}"
    elif not run.checks["done"]:
        told += f"; places left: {run.checks['left']}; the tests have not passed"
    elif run.sent < ENOUGH:
        return f"done with {told}."
    else:
        told += f". It is done, but not with fewer than {ENOUGH:,}"
    raise Wrong(f"{told}. {_direction(run.session.history)}")


def _direction(history: Sequence[Message]) -> str:
    """Which number to move, from what the calls made again brought."""
    calls = [c for m in history if m["role"] == "assistant" for c in of_type(m, "tool_use")]
    made, texts = [(c["name"], c["input"]) for c in calls], results(history)
    again = [len(texts.get(c["id"], "")) for n, c in enumerate(calls) if made[n] in made[:n]]
    short = sum(size < SHORT for size in again)
    told = "of the calls made again brought"
    if short > 1:  # the last search, whether anything is left, is always made again
        return f"{short} {told} fewer than {SHORT:,} characters: a larger min_chars lets them stay."
    if len(again) - short > 4:
        return f"{len(again) - short} {told} whole files: a larger keep_recent lets them stay."
    return "Little is fetched again, so results stay longer than they must: try a smaller number."


EXERCISES = {
    "02.1": Exercise(
        check=_in_place,
        hints=(
            "Collect all tool_result blocks of all messages in one list, oldest first.",
            "All but the last keep_recent of that list are old: results[:-keep_recent].",
            "Put a new content into those that are longer than min_chars.",
        ),
    ),
    "02.2": Exercise(
        check=_old_results,
        hints=(
            "What is -0? And what is everything before it?",
            "Say how many go, not how many stay: len(results) - keep_recent, but never below 0.",
        ),
    ),
    "02.3": Exercise(
        check=_on_paper,
        hints=(
            "Which results has the model not seen yet? Those after its last message.",
            "Count four from the end, the unseen ones too. What is older and over 100 characters?",
        ),
    ),
    "02.4": Exercise(
        check=_view,
        hints=(
            "How many results stand after the last assistant message? At least as many stay.",
            "Collect {tool_use_id: new content} for the old ones over min_chars.",
            "with_results(messages, that) makes the new messages; it edits nothing.",
        ),
    ),
    "02.5": Exercise(
        check=_settings,
        hints=(
            "A short result costs few tokens to keep, and a turn to get again.",
            "Leave keep_recent at 3 and move min_chars up in steps of 1,000.",
        ),
    ),
}
