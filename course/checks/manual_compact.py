"""The exercises of lesson 04."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from agentlib.auto_compact import summary_message
from agentlib.manual_compact import requested_focus
from agentlib.messages import (
    Message,
    active_request,
    blocks,
    is_summary,
    last_assistant,
    of_type,
    waiting,
)
from course.checking import (
    OF_THE_USER,
    SUMMARY,
    Answer,
    conversation,
    exercise,
    require,
    text_of,
)
from course.parts_list import EVIDENCE
from offline_api.model.summary import stems
from session_report.amounts import many
from windtunnel.parts import results
from windtunnel.runner import Run, play
from windtunnel.tasks.scenarios import REVIEW, Scenario

AUTO = replace(EVIDENCE, manual=False).scaled(32_000)
"""Lesson 03's settings."""
BY_HAND = replace(AUTO, auto=False)
"""The same, but only the person compacts."""


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
    plain: list[Message] = [
        *conversation([focus]),
        {"role": "assistant", "content": "It is compacted."},
        *conversation(request="Go on."),
    ]
    nothing: list[Message] = []
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
        "two calls with the same focus": (
            "auth.py; auth.py",
            conversation([focus, focus]),
        ),
        "the model's newest message is a plain text": (None, plain),
        "there is no message yet": (None, nothing),
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

    def told() -> str:
        """Return another summary each time, so that none stands in the answer."""
        return f"{SUMMARY}\n- [count] {len(messages)}" + "\n- [fact] 7 litres." * 20

    def summarize(messages: Sequence[Message], focus: str = "") -> str:
        asked.append(messages)
        return told() if "toolu_1" in str(messages) else "Nothing was done."

    answered: Message = {"role": "assistant", "content": "It is read."}
    turns: list[list[Any]] = [[600, {}], [{}], [{}, 600, "short"]]
    places = (0, 0, 0, 3, 5, -1)
    for place, newest in zip(places, turns + turns[:1] * 3, strict=True):
        messages = conversation(400, newest)
        more = conversation(request="And d.py.")
        if place < 0:  # the first request is answered before the second comes
            messages[3:3] = [answered, *more]
        elif place:
            messages[place:place] = more
        asked.clear()
        new = answer.messages(messages, summarize)
        right = list(results(messages[3:]))
        given = list(results(new))
        case = (
            f"with {len(newest)} calls in the newest turn"
            + ", a second request" * bool(place)
            + ", the first one answered" * (place < 0)
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
        least = last_assistant(messages)
        whole = list(asked[0]) == messages[: len(asked[0])] and len(asked[0]) >= least
        require(
            whole,
            f"{case}, summarize should get the messages from the first on, as they are, "
            "and all that are replaced.",
        )
        first = f"{case}, the first message should be a summary of what is replaced"
        require(
            told() in text_of(new[:1]),
            f"{first}, word for word; yours is {text_of(new[:1])!r:.60}.",
        )
        require(new[0]["role"] == "user", f"{case}, {OF_THE_USER}.")
        lost = [text for _, text in waiting(messages) if text not in text_of(new)]
        require(
            not lost, f"{case}, the person's request {''.join(lost[:1])!r} is gone."
        )
        header = f"{case}, the first message has no summary's header; make it with summary_message"
        require(any(map(is_summary, blocks(new[0]))), f"{header}.")
        name = f'{case}, the header should name "saved", where the history is'
        require("Transcript: saved]" in text_of(new[:1]), f"{name}.")
        whole = new[1:] == messages[last_assistant(messages) :]
        require(
            whole,
            f"{case}, the newest exchange should follow the one message, as it was.",
        )
    messages = [*conversation(400), answered, *conversation([{}], request="And d.py.")]
    for talk in ([*conversation(400), answered], messages):
        beside = waiting(answer.call(talk, summarize)[:1])
        require(
            "Read every" not in str(beside),
            "a request that was answered stands beside the summary, where the model takes "
            "it for one that waits.",
        )


@exercise("04.3", finished="rules, decisions and facts")
def _kept(answer: Answer) -> str:
    """Vague words match nothing. Look under "Key decisions" in the picture of the two
    summaries: with which words do the lines begin?

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
    return f"{held}.{_unnamed(focus)}"


def _unnamed(focus: str) -> str:
    """Say why the rule came in if the focus doesn't name it."""
    if stems(focus) & stems(f"rule constraint {REVIEW.rule}"):
        return ""
    return ' You didn\'t name the rule: this model finds it by "decision", too.'


def report_written(messages: list[Message]) -> str | None:
    """Return a focus if the newest turn has written a file, else None."""
    newest = last_assistant(messages)
    if newest < 0:
        return None
    calls = of_type(messages[newest], "tool_use")
    ids = [call["id"] for call in calls if call["name"] == "write_file"]
    for result in of_type(messages[newest + 1], "tool_result"):
        if result["tool_use_id"] in ids and not result.get("is_error"):
            return "rules, decisions and facts"
    return None


@exercise(
    "04.4", "the file is written, and nothing else compacts.", finished=report_written
)
def _finished(answer: Answer) -> None:
    """Begin as in 04.1, and look for calls of write_file.

    Its result is in the message behind: of_type(messages[newest + 1], 'tool_result').

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
    odd = turn(write)
    odd[-1]["content"][0]["content"] = "Wrote 9 bytes to errors.py"
    spoken = [*turn(write), *conversation(request="Go on.")]
    open_call = turn(write, read)
    del open_call[-1]["content"][0]
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
        ("if the file that was written is called errors.py", odd, True),
        ("if the write has no result yet", open_call, False),
        ("if the model has said nothing yet", conversation(), False),
        ("if the person has spoken behind the results", spoken, True),
        ("if there is no message yet", [], False),
    ):
        focus = answer.call(messages)
        wanted = "a focus" if right else "None"
        fits = isinstance(focus, str) and focus.strip() if right else focus is None
        require(fits, f"{case}, the answer should be {wanted}, not {focus!r:.60}.")


def summary_holds(run: Run, task: Scenario) -> str:
    """Say what a compaction by hand kept, or why there was none."""
    if not run.summary:
        return f"nothing was compacted: {run.step.failure or 'there is nothing to replace yet'}"
    kept = run.kept(task)
    facts = len(task.facts)
    rule = "the rule" if kept["rule"] else "not the rule"
    return f"the summary holds {kept['facts']} of {facts} facts and {rule}"
