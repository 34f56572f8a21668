"""The exercises of lessons that have no room yet, each as a checker in the words of `checking`.

Those that a table can check are in `tables.toml`, and the hints are in `hints.toml`.
"""

import contextlib
import json
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agentlib import presets
from agentlib.auto_compact import SummaryFailed, summary_message, summary_text
from agentlib.lab import model
from agentlib.lab.api.faults import Fault
from agentlib.lab.client import client
from agentlib.lab.lessons import checking, rooms
from agentlib.lab.lessons.checking import Answer, conversation, require, shown, text_of
from agentlib.lab.lessons.rooms import Check
from agentlib.lab.model.summary import stems
from agentlib.lab.parts import results
from agentlib.lab.play import play
from agentlib.lab.replay.policies import KEEPS_ALL, engine, judge
from agentlib.lab.scoreboard import EVIDENCE, PRICED_AS
from agentlib.lab.sessions.put_back import covered, forgotten
from agentlib.lab.tasks.generated import generated
from agentlib.lab.tasks.scenarios import REVIEW
from agentlib.messages import (
    SUMMARY_END,
    SUMMARY_HEADER,
    Message,
    active_request,
    exchanges,
    of_type,
    result_text,
)
from agentlib.settings import MODEL, Settings

TABLES: dict[str, dict[str, Any]] = tomllib.loads(checking.read("tables.toml"))
"""The exercises that a table can check."""
HINTS: dict[str, list[str]] = tomllib.loads(checking.read("hints.toml"))


def exercise(name: str, passed: str = "") -> Callable[[Check], Check]:
    """Register a checker with its hints, as `rooms.exercise` does with those of a docstring."""

    def register(check: Check) -> Check:
        check.__doc__ = "\n\n".join(HINTS[name])
        return rooms.exercise(name, passed)(check)

    return register


def _register(name: str, passed: str, **table: Any) -> None:
    """Register an exercise whose table has the arguments of one method of `Answer`."""
    form = "agree" if "cases" in table else "hit"

    def check(answer: Answer) -> None:
        getattr(answer, form)(**table)

    exercise(name, passed)(check)


for _name, _table in TABLES.items():
    _register(_name, **_table)

SUMMARY = "1.py and 2.py are read."


def summarize(messages: Sequence[Message], focus: str = "") -> str:
    return SUMMARY if "toolu_1" in str(messages) else "Nothing was done."


# Lesson 03: what a summary replaces, what stays beside it, what it may not drop, two numbers

FOLLOW_UP: Message = {"role": "user", "content": "And d.py."}


@exercise("03.1", "seven messages became one.")
def _in_place_of_all(answer: Answer) -> None:
    old = conversation(400, 400, 400)
    new = answer.messages(old, SUMMARY)
    first = "the summary should be in the first message, and nothing of the old ones stays."
    require(SUMMARY in text_of(new[:1]), first)
    require(len(new) == 1, f"it returned {len(new)} messages; one with the summary will do.")
    kept = any(part in str(new) for part in ("Read every file", "toolu_", "# 1 # 1"))
    require(not kept, "the text of old messages is still there; only the summary may stay.")


@exercise("03.2", "the newest exchanges stay whole, calls with results, and the request with them.")
def _keeps(answer: Answer) -> None:
    plain = (4, 1, 0), (5, 3, 0), (4, 0, 0), (3, 3, 0), (3, 9, 0)
    for count, keep, more in (*plain, (4, 1, 1), (4, 0, 1)):
        old = [*conversation(*[400] * count), *[FOLLOW_UP] * more]
        new = answer.messages(old, SUMMARY, keep=keep)
        newest = exchanges(old)[-keep:] if keep else []
        kept = old[newest[0][0] :] if newest else []
        case = f"with keep={keep} of {count} exchanges" + (", a second request" if more else "")
        wanted = f"{case}, the last {len(kept)} messages should follow one with the summary"
        right = new[1:] == kept and SUMMARY in text_of(new[:1])
        require(right, f"{wanted}; yours returned {len(new)} messages.")
        require(str(active_request(old)) in text_of(new), f"{case}, the request is gone.")
        header = "the first message has no summary's header; make it with summary_message"
        require(summary_text(new[0]) == SUMMARY, f"{case}, {header}.")


OLD_SUMMARY, NEW_SUMMARY = (
    "## State\n- [file] rule.py\n- [file] 2.py\n- [rule] Use tabs.\n- [rule] Be brief.",
    "## State\n- [file] 2.py\n- [file] 3.py\n- [rule] Be brief.",
)


@exercise("03.3", "what the person decided comes through, and the rest may go.")
def _holds(answer: Answer) -> None:
    cases = {
        "one rule of two was dropped": (OLD_SUMMARY, NEW_SUMMARY),
        "nothing was dropped": (OLD_SUMMARY, OLD_SUMMARY),
        "both rules were dropped": (OLD_SUMMARY, "## State\n- [file] 3.py"),
        "there was no rule": ("## State\n- [file] 1.py", NEW_SUMMARY),
    }
    for case, (old, new) in cases.items():
        lines = Answer(answer.call(old, new)).typed(str, "return a text").splitlines()
        missing = [line for line in new.splitlines() if line not in lines]
        require(not missing, f"if {case}, yours lacks {missing[:1]} of the new summary.")
        again = [line for line in lines if "[file]" in line and line not in new]
        require(not again, f"if {case}, {again[:1]} is back; only rules should come back.")
        for rule in (line for line in old.splitlines() if line.startswith("- [rule]")):
            count = lines.count(rule)
            require(count == 1, f"if {case}, {rule!r} should be there once, not {count} times.")
        require("\n".join(lines).startswith(new), f"if {case}, rules should stand at the end.")


@exercise("03.4")
def _two_numbers(answer: Answer) -> str:
    numbers = answer.numbers("threshold", "summary_tokens")
    start = {"threshold": 20_800, "summary_tokens": 1_000}
    settings = replace(Settings(micro="off", manual=False).scaled(32_000), **(start | numbers))
    run = play(REVIEW, settings)
    rule = "kept" if run.checks["rule kept"] else "broken"
    report = f"{run.checks['described']} of 19 files described, {run.checks['facts']} of 4 facts"
    cost = run.dollars(PRICED_AS)
    result = f"rule {rule}, {report}, ${cost:.2f}"
    require(not run.refused, f"{result}, and the API refused a request: {run.refused}.")
    whole = rule == "kept" and run.checks["facts"] == 4 and run.checks["described"] == 19
    require(whole, f"{result}. All of it should be kept.")
    require(cost < 0.92, f"{result}. It should be under $0.92.")
    return f"{result}."


# Lesson 04: obeying the call, its siblings, its focus, and when to compact

BY_HAND = replace(EVIDENCE, auto=False, manual=False).scaled(32_000)
"""The settings of exercise 04.3: lesson 03's, but only the person compacts."""


@exercise("04.1", "None without a call, '' without a focus, and all of them joined.")
def _focus(answer: Answer) -> None:
    focus = {"focus": "auth.py"}
    cases = {
        "one call with a focus": ("auth.py", conversation([focus])),
        "no call of compact": (None, conversation(400)),
        "a call without a focus is a call all the same": ("", conversation([{}])),
        "an older call has been obeyed already": (None, conversation([focus], 400)),
        "the call stands beside another": ("auth.py", conversation([400, focus])),
        "the person asks, and the model has said nothing": (None, conversation()),
        "three calls": ("auth.py; db.py", conversation([focus, {}, {"focus": "db.py"}])),
    }
    answer.agree(cases)


@exercise("04.2", "the siblings' results stay, the API is content, and the request is there.")
def _siblings(answer: Answer) -> None:
    turns: list[list[checking.Result]] = [[600, {}], [{}], [{}, 600, "short"]]
    for place, newest in zip((0, 0, 0, 3, 5), turns + turns[:1] * 2, strict=True):
        messages = conversation(400, newest)
        messages[place:place] = [FOLLOW_UP] if place else []
        new = answer.messages(messages, summarize)
        right, given = list(results(messages[3:])), list(results(new))
        case = f"with {len(newest)} calls in the newest turn" + ", a second request" * bool(place)
        wanted = f"{case}, the model has not seen {', '.join(right)}, and only they should stay"
        require(given == right, f"{wanted}; yours keeps {', '.join(given) or 'none'}.")
        first = f"{case}, the first message should be a summary of what is replaced"
        require(SUMMARY in text_of(new[:1]), f"{first}; yours is {shown(text_of(new[:1]))}.")
        request = str(active_request(messages))
        require(request in text_of(new), f"{case}, the person's request {request!r} is gone.")


@exercise("04.3")
def _kept(answer: Answer) -> str:
    focus = answer.typed(str, "give the words of the focus, as in 'details of every file'")
    require(len(focus) <= 60, f"{len(focus)} characters; 60 have to do.")
    kept = play(REVIEW, BY_HAND, compact_after=36, focus=focus).kept(REVIEW)
    held = f"the summary holds {kept['facts']} of 4 facts and {'not ' * (not kept['rule'])}the rule"
    reason = "Look at the lines that are missing. What kind of thing is each of them?"
    if stems(focus) & stems("note file"):
        reason = "Your words also match the [file] lines, and those fill the room."
    require(kept["facts"] == 4 and kept["rule"], f"{held}. {reason}")
    return f"{held}, and the names of {kept['names']} functions and classes."


@exercise("04.4", "the call is over, the file is written, and nothing else compacts.")
def _finished(answer: Answer) -> None:
    written, failed, beside = (conversation(400, [400, 400]) for _ in range(3))
    for messages in (written, failed, beside):
        messages[-2]["content"][0]["name"] = "write_file"
    failed[-1]["content"][0]["is_error"] = beside[-1]["content"][1]["is_error"] = True
    read = conversation(400, 400)
    older = [*written, *conversation(400)[1:]]
    for case, messages, right in (
        ("if the newest turn has written a file", written, True),
        ("if the newest turn has read a file", read, False),
        ("if the file was written a turn before", older, False),
        ("if the newest write failed (is_error), and the read beside it did not", failed, False),
        ("if the read failed, and the write beside it did not", beside, True),
        ("if the model has said nothing yet", conversation(), False),
    ):
        focus = answer.call(messages)
        wanted = "a focus" if right else "None"
        fits = isinstance(focus, str) and focus.strip() if right else focus is None
        require(fits, f"{case}, the answer should be {wanted}, not {shown(focus)}.")


# Lesson 05: a line for each message, what is read back, and the calls that have no result


@exercise("05.1", "each message is one line, added behind those that were there.")
def _append(answer: Answer) -> None:
    messages = conversation("import re\n\nré = 1", 90)
    with TemporaryDirectory() as folder:
        path = Path(folder, "session.jsonl")
        for count, message in enumerate(messages, 1):
            answer.call(message, path)
            require(path.is_file(), "the file is not there; open it in a mode that makes it.")
            text = path.read_text(encoding="utf-8")
            lines = text.splitlines()
            case = f"after {count} calls"
            require(text.endswith("\n"), f'{case}, the file should end with "\\n".')
            wanted = f"{case}, the file should have {count} lines; yours has {len(lines)}"
            require(len(lines) == count, f"{wanted}. Add to the end, one line for each message.")
            written = f"{case}, the last line should be the message as JSON; it is"
            require(_parsed(lines[-1]) == message, f"{written} {shown(lines[-1])}.")
        path.write_bytes(b"\xff torn\n")
        with contextlib.suppress(UnicodeDecodeError):
            answer.call(messages[0], path)
        kept = path.read_bytes().startswith(b"\xff torn\n{")
        require(kept, "it reads what is there and writes it again; add to the file unread.")


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


@exercise("05.2", "every whole line is there, and no torn one.")
def _load(answer: Answer) -> None:
    messages = conversation(300, 90)
    whole = [json.dumps(message) for message in messages]
    torn = whole[2][: whole[2].index("}") + 1]
    resumed = [*whole[:2], torn, *whole[3:]]
    with TemporaryDirectory() as folder:
        path = Path(folder, "session.jsonl")
        for case, lines, end, right in (
            ("a file of 5 whole lines", whole, "\n", messages),
            ("a file whose last line is torn", [*whole[:2], torn], "", messages[:2]),
            ("a torn line with whole lines behind it", resumed, "\n", messages[:2] + messages[3:]),
            ("an empty file", [], "", []),
        ):
            path.write_text("\n".join(lines) + end, encoding="utf-8")
            read: Any = answer.function(path)
            wanted = f"from {case}, {len(right)} messages should come back"
            given = len(read) if hasattr(read, "__len__") else shown(read)
            require(read == right, f"{wanted}, as they were; yours returned {given}.")


@exercise("05.3", "each open call has one result now, and the API takes it.")
def _interrupted(answer: Answer) -> None:
    done = conversation(300)
    require(answer.call(done) == [], "if every call has its result, the list should be empty.")
    for sizes in ([300], [300, 90, 300]):
        messages = conversation(300, sizes)[:-1]
        calls = of_type(messages[-1], "tool_use")
        results = answer.call(messages)
        listed = Answer(results).typed(list, "give a list of blocks, not a message")
        require("role" not in str(listed), "give the blocks alone, not a message that holds them.")
        given = [block.get("tool_use_id") for block in listed]
        right, names = [call["id"] for call in calls], ", ".join(map(str, given))
        wanted = f"{', '.join(right)} should get a result; yours answers"
        require(given == right, f"{wanted} {names or 'none'}.")
        checking.require_answered(calls, {"role": "user", "content": results})
        says = all("interrupted" in result_text(block) for block in results)
        require(says, "the content should be the value of INTERRUPTED, without quotes.")
        errors = all(block.get("is_error") is True for block in results)
        require(errors, 'without "is_error": True the model takes it for the output of the tool.')


# Lesson 06: the first words, a note, an update, and who writes


@exercise("06.1", "the first words and the newest exchange stay, with the summary between them.")
def _head(answer: Answer) -> None:
    two_requests = conversation(*[300] * 5)
    two_requests.insert(7, {"role": "user", "content": "Now the tests."})
    again = conversation(*[300] * 3)
    again.insert(1, summary_message("Nothing yet.", "t.jsonl", "Now the tests."))
    for case, messages in (
        ("with four exchanges", conversation(*[300] * 4)),
        ("with a second request in the middle", two_requests),
        ("at the second compaction", again),
    ):
        new = answer.messages(messages, SUMMARY)
        newest = messages[exchanges(messages)[-1][0] :]
        require(new[:1] == messages[:1], f"{case}, the first message should stay as it is.")
        told = SUMMARY in text_of(new[1:2])
        require(told, f"{case}, the second message should have the summary.")
        wanted = f"{case}, the newest exchange should follow, {len(newest)} messages"
        require(new[2:] == newest, f"{wanted}; yours has {len(new) - 2} after the summary.")
        words = str(active_request(messages))
        require(words in text_of(new), f"{case}, the person's last words, {words!r}, are gone.")


@exercise("06.2", "the note stands before the summary, and the person's words stand outside of it.")
def _hand_off(answer: Answer) -> None:
    summary, words = checking.read("hand_off.md").strip(), "Read every Python file one by one"
    message = answer.call(summary, words)
    checking.require_messages([message])
    texts = [block["text"] for block in of_type(message, "text")]
    require(texts and message["role"] == "user", "return a user's message with two text blocks.")
    require(texts[0].startswith(SUMMARY_HEADER), "the first text should begin with HEADER.")
    before, there, after = texts[0].partition(summary)
    require(there, "the summary should stand in the first text, word for word.")
    require(SUMMARY_END in after, "the first text should end with END, after the summary.")
    wanted = f"the second text should be {words!r} alone"
    require(len(texts) > 1, f"there is no second text block; {wanted}.")
    require(texts[1:] == [words], f"{wanted}; yours is {shown(texts[1:])}.")
    note = before.partition("]")[2].strip()
    require(note, "there is no note between HEADER and the summary.")
    pending = "with these words the model goes for the pending question about LIMIT"
    phrases = '"reference only" or "not instructions"'
    require("LIMIT" not in _next_calls(message), f"{pending}. It looks for {phrases} in the note.")


def _next_calls(message: Message) -> str:
    """Give the offline model this message, and return the inputs of its calls."""
    tools = [{"name": name} for name in ("bash", "read_file", "write_file", "edit_file")]
    reply = model.reply({"messages": [message], "tools": tools})
    return str([block.get("input") for block in reply["content"]])


@exercise("06.3", "the first summary is written, and the later ones are updates.")
def _update(answer: Answer) -> None:
    first, head, quoted = (conversation(300, 300) for _ in range(3))
    first[0] = summary_message(SUMMARY, "t.jsonl")
    head.insert(1, summary_message(SUMMARY, "t.jsonl"))
    quoted[2]["content"][0]["content"] = f"{SUMMARY_HEADER}t.jsonl]"
    said = conversation(300, 300, request="Read every file, then write a summary.")
    prompt, update = "Summarize.", " Update it."
    answer.agree(
        {
            "nothing was summarised yet": (prompt, conversation(300, 300), prompt, update),
            "a summary is the first message": (prompt + update, first, prompt, update),
            "a summary stands behind the head": (prompt + update, head, prompt, update),
            "a tool's result only quotes one": (prompt, quoted, prompt, update),
            "the person only says the word": (prompt, said, prompt, update),
        }
    )


def four_costs(
    whole: int, cached: int, trimmed: int, own: dict[str, float], other: dict[str, float]
) -> dict[str, float]:
    """Return what the request for a summary costs in dollars, by its writer and its form."""
    millions = {
        "own, whole": cached * own["read"] + (whole - cached) * own["new"],
        "own, trimmed": trimmed * own["new"],
        "other, whole": whole * other["new"],
        "other, trimmed": trimmed * other["new"],
    }
    return {name: tokens / 1e6 for name, tokens in millions.items()}


@exercise("06.4", "the cache belongs to one model and ends at the first change.")
def _costs(answer: Answer) -> None:
    large, small = {"read": 0.2, "new": 5.0}, {"read": 0.01, "new": 0.1}
    for case in ((20_000, 19_000, 5_000, large, small), (8_000, 2_000, 6_000, small, large)):
        given = Answer(answer.call(*case)).typed(dict, "return a dict of four costs")
        numbers = f"with whole={case[0]:,}, cached={case[1]:,}, trimmed={case[2]:,}"
        for name, right in four_costs(*case).items():
            cost = given.get(name)
            fits = isinstance(cost, float) and abs(cost - right) < 1e-9
            wanted = f"{numbers}, {name!r} should be {right:.6f} dollars"
            require(fits, f"{wanted}; yours is {shown(cost)}.")


# Lesson 07: a bad summary, a refused prompt, no summary at all


COSTS = "each time costs a whole prompt"
PATIENCE = 5
"""The number of the request that works whatever fails, so that an endless loop ends there."""


@exercise("07.1", "a request that fails ends no session, and a bad reply is no summary.")
def _careful(answer: Answer) -> None:
    messages = conversation(800, 800)
    replies = tomllib.loads(checking.read("replies.toml"))
    good = replies.pop("good")
    for error in (SummaryFailed("overloaded"), ConnectionError("no network")):
        replies[f"ask raises {error!r}"] = error
    for case, reply in replies.items():
        outcome, asked = reply if isinstance(reply, Exception) else good | reply, list[Any]()
        new = answer.call(messages, partial(_outcome, outcome, good, asked))
        require(len(asked) < 2, f"if {case}, it asked {len(asked)} times; {COSTS}.")
        require(new == messages, f"if {case}, the messages should stay as they were.")
    for reason in ("end_turn", "stop_sequence"):
        asked = list[Any]()
        ask = partial(_outcome, good | {"stop_reason": reason}, good, asked)
        new = answer.messages(messages, ask)
        words = all(block["text"] in text_of(new) for block in of_type(good, "text"))
        case = f"if stop_reason is {reason!r} and the reply begins with a thinking block"
        require(words and len(new) == 1, f"{case}, one message with all its text should be left.")
        lost = active_request(new) != active_request(messages)
        require(not lost, f"{case}, the person's words should stand beside the summary.")
        require(len(asked) == 1, f"it asked {len(asked)} times; {COSTS}.")
    with contextlib.suppress(KeyboardInterrupt):
        answer.call(messages, partial(_outcome, KeyboardInterrupt(), good, []))
        require(False, "KeyboardInterrupt, which is Ctrl-C, should pass; catch Exception.")


def _outcome(outcome: Any, good: Any, asked: list[Any], messages: list[Message]) -> Any:
    """Stand for an `ask` that raises or returns the outcome. `asked` gets each request."""
    asked.append(messages)
    if len(asked) >= PATIENCE:
        return good
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


@exercise("07.3", "refused for its size, the prompt is made smaller and sent once more.")
def _once_more(answer: Answer) -> None:
    import anthropic

    messages, smaller = conversation(800, 800), conversation(800)
    both, struck = [messages, smaller], range(1, PATIENCE)
    empty: Message = {"role": "user", "content": []}
    unfit = [*messages, empty]  # the API refuses this, not for its size

    def shrink(_: list[Message]) -> list[Message]:
        return smaller

    for case, fault, sent, right, passes in (
        ("the API takes the prompt", Fault("too_long", at=9), messages, [messages], False),
        ("the prompt is too long", Fault("too_long", at=1), messages, both, False),
        ("both prompts are too long", Fault("too_long", at=struck), messages, both, True),
        ("the API is overloaded", Fault("529", at=struck), messages, [messages], True),
        ("the API refuses the prompt for its form", Fault("too_long", at=9), unfit, [unfit], True),
    ):
        asked = list[Any]()
        outcome: Any = "the API's error"
        ask = partial(_ask, client(faults=[fault]).with_options(max_retries=0).messages, asked)
        with contextlib.suppress(anthropic.APIError):
            outcome = answer.call(sent, ask, shrink)
        counts = f"{len(right)} request{'s' * (len(right) > 1)} should be made, not {len(asked)}"
        require(len(asked) == len(right), f"if {case}, {counts}.")
        require(asked == right, f"if {case}, the second request should have what shrink returned.")
        raised, result = outcome == "the API's error", f"yours gives {shown(outcome)}"
        require(raised or not passes, f"if {case}, the API's error should pass; {result}.")
        pair = outcome.__class__ is tuple and outcome[0] == right[-1] and "usage" in outcome[1]
        require(pair or passes, f"if {case}, return what was sent, and its reply; {result}.")


def _ask(api: Any, asked: list[Any], messages: list[Message]) -> dict[str, Any]:
    asked.append(messages)
    return api.create(model=MODEL, max_tokens=99, messages=messages).to_dict()


# Lesson 08: what forgetting costs


@exercise("08.4")
def _policy(answer: Answer) -> str:
    messages = conversation(*[4_000] * 9)
    for idle in (0.0, 3_600.0):
        view = answer.messages(messages, idle)
        case = f"with idle={idle:,.0f}"
        kept = list(results(view).values())[-1:] == list(results(messages).values())[-1:]
        require(kept, f"{case}, the newest result should stay: the model hasn't seen it yet.")
        lost = active_request(view) != active_request(messages)
        require(not lost, f"{case}, the person's words should stay.")
    sessions = [play(generated(seed), KEEPS_ALL).session for seed in range(3)]
    base = judge(sessions, KEEPS_ALL, PRICED_AS)
    own = judge(sessions, KEEPS_ALL, PRICED_AS, engine(answer.function))
    cost, need = 100 * own["dollars"].sum() / base["dollars"].sum(), own["need"].mean()
    says = f"in three sessions it costs {cost:.0f} % of forgetting nothing, and in 100 turns "
    says += f"{need:.1f} pieces are needed again"
    require(cost <= 95 and need <= 3, f"{says}; find one with at most 95 % and 3 pieces.")
    return f"{says}."


# Lesson 09: what to put back after a compaction

COMPACTS = replace(presets.CLAUDE_CODE.scaled(32_000), restore_files=0)
"""How the lesson's tasks are compacted in a replay, with nothing put back."""
ROOM = 600
"""Tokens that a rule may put back after a compaction."""


@exercise("09.3")
def _score(answer: Answer) -> str:
    sessions = [play(generated(seed), KEEPS_ALL).session for seed in range(5, 10)]
    pieces = [piece for session in sessions for piece in forgotten(session, COMPACTS)]
    odd = {"what": "thinking", "tool": "", "file": "", "tokens": 0, "age": 0}
    scored = answer.function(dict(odd))
    require(scored is not None, f"for the piece {odd} it returned nothing; return a number.")
    share = 100 * covered(answer.function, pieces, ROOM)
    says = f"on five other sessions it covers {share:.0f} % of what was needed"
    require(share >= 70, f"{says}; find a rule that covers at least 70 %.")
    return f"{says}."
