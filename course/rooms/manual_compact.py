"""Lesson 04: obeying the call, its siblings, its focus, and when to compact."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pandas has no complete types.

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pandas import DataFrame

from agentlib.auto_compact import summary_message
from agentlib.manual_compact import COMPACT_TOOL, requested_focus
from agentlib.messages import (
    Message,
    active_request,
    blocks,
    is_summary,
    last_assistant,
    of_type,
    waiting,
)
from agentlib.pipeline import ContextEngine, Layer, Now, run_engine
from agentlib.settings import Settings
from agentlib.step import Step
from agentlib.tools import DEFINITIONS
from course.checking import (
    OF_THE_USER,
    SUMMARY,
    Answer,
    conversation,
    exercise,
    require,
    text_of,
)
from course.figures import moments
from course.page import run_sentence
from course.panels.panel import Panel, slider, words
from course.rooms.museum import said
from course.scoreboard import EVIDENCE
from offline_api.model.summary import stems
from session_report.amounts import many
from session_report.style import wrapped
from windtunnel.parts import results
from windtunnel.runner import Run, play
from windtunnel.tasks.scenarios import REVIEW, TRACE, Scenario, fill, report_checks

AUTO = replace(EVIDENCE, manual=False).scaled(32_000)
"""Lesson 03's settings."""
BY_HAND = replace(AUTO, auto=False)
"""The same, but only the person compacts."""

# -- the exercises ---------------------------------------------------------------------


@exercise("04.1", "None without a call, '' without a focus.", finished=requested_focus)
def _focus(answer: Answer) -> None:
    """Before the model has said anything, last_assistant(messages) is -1.

    Take the calls of its newest message whose name is "compact". If there are none,
    return None.

    An input may have no focus: call["input"].get("focus"). '; '.join([]) is ''.
    """
    focus = {"focus": "auth.py"}
    beside = conversation([400, focus])
    named = conversation([focus])
    beside[-2]["content"][0]["input"] = {"focus": "the middle of the picture"}
    named[-2]["content"][0]["name"] = "compact_files"
    spoken = [*conversation([focus]), *conversation(request="Go on.")]
    cases = {
        "one call with a focus": ("auth.py", conversation([focus])),
        "no call of compact": (None, conversation(400)),
        "a call without a focus is a call all the same": ("", conversation([{}])),
        "an older call has been obeyed already": (None, conversation([focus], 400)),
        "the call stands behind another": ("auth.py", conversation([400, focus])),
        "the call stands before another": ("auth.py", conversation([focus, 400])),
        "the person asks, and the model has said nothing": (None, conversation()),
        "three calls": (
            "db.py; auth.py",
            conversation([{"focus": "db.py"}, {}, focus]),
        ),
        "another tool has an input of that name": ("auth.py", beside),
        "a tool's name only has the word in it": (None, named),
        "the person has spoken behind the results": ("auth.py", spoken),
    }
    answer.agree(cases)


def keep_newest(
    messages: list[Message], summarize: Callable[..., str]
) -> list[Message]:
    """Put a summary and the request in place of all but the newest exchange."""
    newest = last_assistant(messages)
    words = active_request(messages)
    summary = summary_message(summarize(messages), "saved", words)
    return [summary, *messages[newest:]]


def clears_only(engine: ContextEngine) -> Layer:
    """Make a layer of an agent so far: it clears, and others compact."""

    def so_far(now: Now, step: Step) -> Step:
        settings = replace(now.settings, auto=False)
        quiet = replace(now, settings=settings, reason="auto", focus="")
        return run_engine(engine, quiet)

    return so_far


@exercise(
    "04.2",
    "the siblings' results stay, and the request is there.",
    finished=keep_newest,
)
def _siblings(answer: Answer) -> None:
    """The newest exchange begins at messages[last_assistant(messages)].

    summary_message(text, name, words) puts the words of a request after the summary.

    A list can be put together: [summary, *messages[newest:]].
    """
    asked: list[Sequence[Message]] = []

    def summarize(messages: Sequence[Message], focus: str = "") -> str:
        asked.append(messages)
        return SUMMARY if "toolu_1" in str(messages) else "Nothing was done."

    turns: list[list[Any]] = [[600, {}], [{}], [{}, 600, "short"]]
    for place, newest in zip((0, 0, 0, 3, 5), turns + turns[:1] * 2, strict=True):
        messages = conversation(400, newest)
        messages[place:place] = conversation(request="And d.py.") if place else []
        asked.clear()
        new = answer.messages(messages, summarize)
        right = list(results(messages[3:]))
        given = list(results(new))
        case = (
            f"with {len(newest)} calls in the newest turn"
            + ", a second request" * bool(place)
        )
        wanted = f"{case}, the model has not seen {', '.join(right)}, and only they should stay"
        require(given == right, f"{wanted}; yours keeps {', '.join(given) or 'none'}.")
        times = f"{case}, summarize was called {many(len(asked), 'time')}; call it once"
        require(len(asked) == 1, f"{times}, because each call is a request to pay.")
        open_call = f"{case}, summarize got messages that end with a call and not with its results"
        require(
            bool(asked[0]),
            f"{case}, summarize got no messages; give it what is replaced.",
        )
        require(asked[0][-1]["role"] == "user", f"{open_call}; the API refuses that.")
        first = f"{case}, the first message should be a summary of what is replaced"
        require(
            SUMMARY in text_of(new[:1]), f"{first}; yours is {text_of(new[:1])!r:.60}."
        )
        require(new[0]["role"] == "user", f"{case}, {OF_THE_USER}.")
        lost = [text for _, text in waiting(messages) if text not in text_of(new)]
        require(
            not lost, f"{case}, the person's request {''.join(lost[:1])!r} is gone."
        )
        header = f"{case}, the first message has no summary's header; make it with summary_message"
        require(any(map(is_summary, blocks(new[0]))), f"{header}.")
        whole = new[1:] == messages[last_assistant(messages) :]
        require(
            whole,
            f"{case}, the newest exchange should follow the one message, as it was.",
        )


@exercise("04.3", finished="rules, decisions and facts")
def _kept(answer: Answer) -> str:
    """Vague words match nothing. Use the word that stands before the thing: FACT,
    DECISION.

    Several topics may stand in one focus, as in 'tests and errors'.
    """
    focus = answer.typed(
        str, "give the words of the focus, as in 'details of every file'"
    )
    require(len(focus) <= 60, f"{len(focus)} characters; 60 have to do.")
    run = play(REVIEW, BY_HAND, compact_after=36, focus=focus)
    held = summary_holds(run, REVIEW)
    kept = run.kept(REVIEW)
    reason = "Which kinds of line should come first? Name them."
    if stems(focus) & stems("note file"):
        reason = "Your words also match the [file] lines, and those fill the room."
    require(kept["facts"] == 4 and kept["rule"], f"{held}. {reason}")
    return f"{held}, and the names of {kept['names']} functions and classes."


def report_written(messages: list[Message]) -> str | None:
    """Return a focus if the newest turn has written a file, else None."""
    newest = last_assistant(messages)
    calls = of_type(messages[newest], "tool_use") if newest >= 0 else []
    ids = [call["id"] for call in calls if call["name"] == "write_file"]
    for result in of_type(messages[-1], "tool_result"):
        if result["tool_use_id"] in ids and not result.get("is_error"):
            return "rules, decisions and facts"
    return None


@exercise(
    "04.4", "the file is written, and nothing else compacts.", finished=report_written
)
def _finished(answer: Answer) -> None:
    """Begin as in 04.1, and look for calls of write_file.

    Its result is in the last message: of_type(messages[-1], 'tool_result').

    A failed call has result.get('is_error'). Compare result['tool_use_id'] with
    call['id'].
    """

    def turn(*names: str, fails: int | None = None) -> list[Message]:
        messages = conversation(400, [400] * len(names))
        calls, answers = (message["content"] for message in messages[-2:])
        for name, call in zip(names, calls, strict=True):
            call["name"] = name
        if fails is not None:
            answers[fails]["is_error"] = True
        return messages

    read = "read_file"
    write = "write_file"
    earlier = [*turn(write), *conversation(400)[1:]]
    edited = turn("edit_file")
    failed = turn(write, read, fails=0)
    fine = turn(write)
    second = turn(read, write)
    turned = turn(write, read)
    fine[-1]["content"][0]["is_error"] = False
    turned[-1]["content"][0]["is_error"] = True
    turned[-1]["content"].reverse()
    for case, messages, right in (
        ("if the newest turn has written a file", turn(write, read), True),
        ("if the newest turn has read a file", turn(read), False),
        ("if the file was written a turn before", earlier, False),
        ("if the newest write failed, and the read beside it did not", failed, False),
        (
            "if the read failed, and the write beside it did not",
            turn(write, read, fails=1),
            True,
        ),
        (
            "if a read came first, and the write after it failed",
            turn(read, write, fails=1),
            False,
        ),
        ("if a read came first, and the write after it did not fail", second, True),
        ("if the first of two writes failed", turn(write, write, fails=0), True),
        ("if the second of two writes failed", turn(write, write, fails=1), True),
        ("if the write came third", turn(read, read, write), True),
        ("if the newest turn has edited a file, and written none", edited, False),
        ("if the result says that it is no error", fine, True),
        ("if the results come in another order than the calls", turned, False),
        ("if the model has said nothing yet", conversation(), False),
    ):
        focus = answer.call(messages)
        wanted = "a focus" if right else "None"
        fits = isinstance(focus, str) and focus.strip() if right else focus is None
        require(fits, f"{case}, the answer should be {wanted}, not {focus!r:.60}.")


# -- what the cells show ---------------------------------------------------------------


def _both_packages(folder: Path) -> None:
    REVIEW.make_workspace(folder)
    fill(folder, project="fetch")


TWO = replace(
    REVIEW,
    name="two pieces of work",
    prompts=(*REVIEW.prompts, *TRACE.prompts),
    make_workspace=_both_packages,
    checks=partial(
        report_checks, below="packaging", facts=REVIEW.facts, first=REVIEW.rule
    ),
    pauses=(*REVIEW.pauses, 400.0),
)
"""The report, and then a question that has nothing to do with it."""


def ask(messages: list[Message]) -> str:
    """Send messages to the simulated API, and return its refusal or "accepted"."""
    answer = said(messages, tools=[*DEFINITIONS, COMPACT_TOOL])
    return wrapped(f"refused, {answer}") if answer.startswith("400") else "accepted"


def moment_panel(
    scenario: Scenario, settings: Settings, curve: DataFrame, after: int
) -> Panel:
    """A person compacts `after` a turn, and the agent goes on to the end of its task.

    The sliders are `after` and `summary_tokens`, and the field `words` is the focus.
    `curve`: the files described for each turn, as `figures.moments` draws them.
    """

    def draw(after: int, summary_tokens: int, words: str) -> tuple[bytes, str]:
        chosen = replace(settings, summary_tokens=summary_tokens)
        run = play(scenario, chosen, compact_after=after, focus=words.strip())
        files = int(run.checks["described"])
        title = f"Compacted after turn {after}: {files} of {total} files described"
        chart = moments.moment(
            curve, title=title, at=(after, files), name=f"yours: {files}"
        )
        sizes = f"{run.step.tokens_before:,} -> {run.step.tokens_after:,} tokens"
        return chart.png(), run_sentence(run, sizes, summary_holds(run, scenario))

    turns = (2, int(curve["turn"].max()), 1)
    tokens = settings.summary_tokens
    total = curve["files"].iloc[0]
    controls = {
        "after": slider("after turn", after, turns, "when you compact", waits=True),
        "summary_tokens": slider("summary", tokens, (200, 1_600, 40), waits=True),
        "words": words(
            "focus", "words for the summary to keep, e.g. rules of the user"
        ),
    }
    return Panel(controls, draw)


def summary_holds(run: Run, task: Scenario) -> str:
    """Say what a compaction by hand kept, or why there was none."""
    if not run.summary:
        return f"nothing was compacted: {run.step.failure or 'there is nothing to replace yet'}"
    kept = run.kept(task)
    facts = len(task.facts)
    rule = "the rule" if kept["rule"] else "not the rule"
    return f"the summary holds {kept['facts']} of {facts} facts and {rule}"
