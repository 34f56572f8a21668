"""What the adapters share, by the one that needs no framework: lists in OpenAI's shape
and in Anthropic's."""

import asyncio
import copy
import doctest
import json
import logging
import operator
import pickle
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from agentlib.adapters import chat, shapes
from agentlib.adapters.chat import Compaction
from agentlib.adapters.thread import Recorded, Thread, entries
from agentlib.compaction.engine_check import NoEngine
from agentlib.messages import Block, blocks, is_summary, of_type, tool_names
from agentlib.pipeline import ContextEngine, Now
from agentlib.settings import Settings
from agentlib.step import Event, Step
from agentlib.transcripts import load
from offline_api import violation

SETTINGS = Settings(context_window=4_000, output_reserve=500, buffer=500, micro="off")
SUMMARY = "All was read."
Listed = list[dict[str, Any]]


def anthropic(
    count: int, *before: Block, first: Any = "Read the files.", ids: str = "t{}"
) -> Listed:
    """A conversation of so many calls, each with its result, in Anthropic's shape."""
    messages: Listed = [{"role": "user", "content": first}]
    for n in range(count):
        name = ids.format(n)
        call = {"type": "tool_use", "id": name, "name": "read", "input": {"n": n}}
        outcome = {"type": "tool_result", "tool_use_id": name, "content": f"{n} " * 500}
        messages += [
            {"role": "assistant", "content": [*before, call]},
            {"role": "user", "content": [outcome]},
        ]
    return messages


def openai(count: int, *, first: Any = "Read the files.", ids: str = "t{}") -> Listed:
    """The same in OpenAI's shape, with a system message in front."""
    messages: Listed = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": first},
    ]
    for n in range(count):
        function = {"name": "read", "arguments": json.dumps({"n": n})}
        call = {"id": ids.format(n), "type": "function", "function": function}
        outcome = {"role": "tool", "tool_call_id": call["id"], "content": f"{n} " * 500}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            outcome,
        ]
    return messages


SHAPES = pytest.mark.parametrize("shape", [anthropic, openai])


class Asked(list[Listed]):
    """Answers each request for a summary, and keeps it."""

    def __init__(self, answer: Any = SUMMARY) -> None:
        self.answer = answer

    def __call__(self, messages: Listed) -> Any:
        self.append(messages)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def grown(compaction: Compaction, given: Listed, ask: Any, start: int = 1) -> Listed:
    """Ask for a view at each point at which the agent would send a request."""
    view: Listed = []
    for size in range(start, len(given) + 1):
        if size == len(given) or given[size]["role"] == "assistant":
            view = compaction.view(given[:size], ask)
    return view


def words(view: Listed) -> str:
    return json.dumps(view)


def unpaired(view: Listed) -> set[str]:
    """The ids of calls without a result and of results without a call, in either
    shape."""
    calls = set[str]()
    results = set[str]()
    for message in view:
        calls |= {call["id"] for call in message.get("tool_calls") or ()}
        if message["role"] == "tool":
            results.add(message["tool_call_id"])
        for block in blocks({"content": message["content"] or ""}):
            calls |= {block["id"]} if block["type"] == "tool_use" else set()
            if block["type"] == "tool_result":
                results.add(block["tool_use_id"])
    return calls ^ results


# -- the view ----------------------------------------------------------------------------


@SHAPES
def test_a_view_fits_is_remembered_and_keeps_its_pairs(
    shape: Callable[..., Listed], tmp_path: Path
):
    compaction = Compaction(tmp_path, SETTINGS)
    ask = Asked()
    view = grown(compaction, shape(12), ask)
    assert 1 <= len(ask) < 6
    assert SUMMARY in words(view)
    assert "Read the files." in words(view)
    assert len(words(view)) < 12_000
    assert unpaired(view) == set()
    session = load(tmp_path / "chat.jsonl")
    assert session.damage == session.skipped == []
    assert len(session.compactions) == len(ask)
    assert len(tool_names(session.history)) == 12


def test_a_view_keeps_the_rules_of_the_api(tmp_path: Path):
    compaction = Compaction(tmp_path, SETTINGS)
    ask = Asked()
    given = anthropic(12)
    for size in range(1, len(given), 2):
        assert violation(compaction.view(given[:size], ask)) is None
    assert all(violation(asked) is None for asked in ask)


@SHAPES
def test_a_list_from_which_nothing_went_is_sent_as_it_is(
    shape: Callable[..., Listed], tmp_path: Path
):
    given = shape(2)
    view = Compaction(tmp_path, SETTINGS).view(given, Asked())
    assert view == given
    assert all(map(operator.is_, view, given))
    assert view is not given  # a host that keeps it has what was sent


@SHAPES
def test_a_message_that_stays_is_the_frameworks_object(
    shape: Callable[..., Listed], tmp_path: Path
):
    given = shape(8)
    view = Compaction(tmp_path, SETTINGS).view(given, Asked())
    new = [message for message in view if not any(message is m for m in given)]
    assert len(new) == 1
    assert SUMMARY in words(new)


def test_the_request_for_a_summary_begins_like_the_request_before_it(tmp_path: Path):
    ask = Asked()
    given = anthropic(8)
    Compaction(tmp_path, SETTINGS).view(given, ask)
    assert ask[0][: len(given)] == given


def test_system_messages_keep_their_places(tmp_path: Path):
    given = openai(8)
    late = {"role": "developer", "content": "Never push."}
    given.insert(-2, late)
    settings = replace(SETTINGS, keep_exchanges=2)
    view = Compaction(tmp_path, settings).view(given, Asked())
    assert view[0] is given[0]
    assert view[-5:] == given[-5:]
    newer = {"role": "system", "content": "The list is empty."}
    early = [given[0], given[1], late, newer, *given[2:-3], *given[-2:]]
    view = Compaction(tmp_path, settings).view(early, Asked())
    assert view[:2] == [given[0], newer]  # of the program's notes the newest stays
    assert late not in view


def test_a_blank_message_of_the_person_stays_as_it_is(tmp_path: Path):
    given = anthropic(8)
    given[-2:-2] = [
        {"role": "user", "content": " "},
        {"role": "assistant", "content": "Yes?"},
    ]
    settings = replace(SETTINGS, keep_exchanges=2)
    view = Compaction(tmp_path, settings).view(given, Asked())
    assert SUMMARY in words(view)
    late = {"role": "user", "content": "\n"}
    view = Compaction(tmp_path, settings).view([*given, late], Asked())
    assert SUMMARY in words(view)
    assert view[-1] is late


def test_a_changed_result_has_its_new_text(tmp_path: Path):
    compaction = Compaction(tmp_path, replace(SETTINGS, micro="clear"))
    for shape in (anthropic, openai):
        given = shape(8)
        view = compaction.view(given, Asked())
        assert view[-1] is given[-1]
        assert "[Previous: used read]" in words(view)


def test_thinking_goes_where_something_before_it_changed(tmp_path: Path):
    seal = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    compaction = Compaction(tmp_path, SETTINGS)
    ask = Asked()
    views = [compaction.view(anthropic(n, seal), ask) for n in range(9)]
    after = next(n for n, view in enumerate(views) if SUMMARY in words(view)) + 1
    replies = [m for m in views[after] if m["role"] == "assistant"]
    assert [len(of_type(reply, "thinking")) for reply in replies] == [0, 1]
    assert violation(views[after]) is None


def test_an_engine_gets_the_moment_and_knows_the_persons_words(tmp_path: Path):
    moments = list[Now]()

    def engine(now: Now) -> Step:
        moments.append(now)
        return now.compact()

    compaction = Compaction(tmp_path, SETTINGS, engine)
    for n in range(2):
        compaction.view(anthropic(n), Asked())
    assert [len(now.messages) for now in moments] == [1, 3]
    assert {now.persons for now in moments} == {frozenset({"Read the files."})}


def test_the_system_prompt_and_the_tools_have_a_weight(tmp_path: Path):
    compaction = Compaction(tmp_path, SETTINGS)
    ask = Asked()
    compaction.view(anthropic(3), ask)
    assert len(ask) == 0
    compaction.view(anthropic(3), ask, system="Be careful. " * 600)
    assert len(ask) == 1


# -- the list is the truth ---------------------------------------------------------------


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 3_500, "completion_tokens": 40},
        {"input_tokens": 500, "cache_read_input_tokens": 3_000, "output_tokens": 40},
    ],
)
def test_the_newest_bill_takes_the_place_of_a_guess(usage: Any, tmp_path: Path):
    given = anthropic(2) if "input_tokens" in usage else openai(2)
    guessed = Compaction(tmp_path / "a", SETTINGS)
    assert guessed.view(given, Asked()) == given
    assert guessed.view(given, Asked(), usage=7) == given
    billed = Compaction(tmp_path / "b", SETTINGS)
    answer = {**completion(SUMMARY, "stop"), "usage": usage}
    assert SUMMARY in words(billed.view(given, Asked(answer), usage=usage))


@SHAPES
def test_a_fork_and_another_process_go_on_with_the_compaction_in_their_beginning(
    shape: Callable[..., Listed], tmp_path: Path
):
    ask = Asked()
    given = shape(9)
    view = grown(Compaction(tmp_path, SETTINGS), given, ask)
    count = len(ask)
    assert count >= 1
    for compaction in (Compaction(tmp_path, SETTINGS), Compaction(tmp_path, SETTINGS)):
        assert compaction.view(given, ask) == view
        fork = [*given, {"role": "assistant", "content": "Half way."}]
        for other in ("Go on.", "Stop."):
            forked = compaction.view([*fork, {"role": "user", "content": other}], ask)
            assert SUMMARY in words(forked)
            assert forked[-1]["content"] == other
        assert len(ask) == count
    files = [load(path) for path in tmp_path.glob("*.jsonl")]
    assert [session.damage for session in files] == [[]] * len(files)


def noted(given: Listed, n: int) -> Listed:
    return [*given, {"role": "user", "content": f"[reminder {n}] Keep the list."}]


def stamped(given: Listed, n: int) -> Listed:
    first = {**given[0], "content": f"Read the files. (12:{n:02d}, 2026-08-{n:02d})"}
    return [first, *given[1:]]


def stamped_last(given: Listed, n: int) -> Listed:
    [result] = given[-1]["content"][:1]
    if len(given) == 1:
        return given
    content = [result, {"type": "text", "text": f"It is step {n}."}]
    return [*given[:-1], {**given[-1], "content": content}]


def marked(given: Listed, n: int) -> Listed:
    """With a cache marker on the picture in the last message."""
    picture = {"type": "image", "source": {"type": "url", "url": "http://a"}}
    listed = copy.deepcopy(given)
    for message in listed[2::2]:
        message["content"][0]["content"] = [
            {"type": "text", "text": message["content"][0]["content"]},
            picture,
        ]
    if len(listed) > 1:
        listed[-1]["content"][0]["content"][1] = {
            **picture,
            "cache_control": {"type": "ephemeral"},
        }
    return listed


ENDS = {each.__name__: each for each in (noted, stamped, stamped_last, marked)}


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("keep", [0, 1])
def test_an_end_that_changes_costs_nothing_but_itself(
    name: str, keep: int, tmp_path: Path
):
    given = anthropic(30)
    settings = replace(SETTINGS.scaled(16_000), keep_exchanges=keep)
    asked = list[int]()
    for change in (lambda given, n: given, ENDS[name]):
        folder = tmp_path / change.__name__
        compaction = Compaction(folder, settings)
        ask = Asked()
        for size in range(1, len(given) + 1, 2):
            listed = change(given[:size], size)
            view = compaction.view(listed, ask)
            assert view[-1] is listed[-1]
            assert unpaired(view) == set()
        asked.append(len(ask))
        (path,) = folder.glob("*.jsonl")
        session = load(path)
        assert session.damage == session.skipped == []
        assert len(tool_names(session.history)) == 30
        assert len([c for c in session.compactions if c.message]) == len(ask)
        # Another process knows the decisions, too.
        other = Compaction(folder, settings)
        assert SUMMARY in words(other.view(change(given, 99), ask))
        assert len(ask) == asked[-1]
    assert 1 <= asked[1] <= asked[0] + (4 if change is marked else 1)


def test_a_reply_is_never_replaced_in_the_file(tmp_path: Path):
    compaction = Compaction(tmp_path, SETTINGS)
    given = anthropic(2)
    compaction.view(given, Asked())
    fork = [*given[:3], {"role": "assistant", "content": "Another way."}]
    compaction.view([*fork, {"role": "user", "content": "Go on."}], Asked())
    sessions = [load(path) for path in sorted(tmp_path.glob("*.jsonl"))]
    assert [len(tool_names(each.history)) for each in sessions] == [1, 2]


def test_words_that_another_branch_leaves_out_stay_on_disk(tmp_path: Path):
    compaction = Compaction(tmp_path, SETTINGS)
    done = [*anthropic(2), {"role": "assistant", "content": "Done."}]
    for said in ("Go on.", "Stop."):
        compaction.view([*done, {"role": "user", "content": said}], Asked())
    ends = [load(path).history[-1]["content"][0] for path in tmp_path.glob("*.jsonl")]
    assert sorted(end["text"] for end in ends) == ["Go on.", "Stop."]


def test_a_decision_at_an_earlier_point_leaves_the_later_ones_as_they_were(
    tmp_path: Path,
):
    answers = iter(["", SUMMARY, "Another."])
    compaction = Compaction(tmp_path, SETTINGS)
    given = anthropic(12)
    ask = Asked()
    for size in (17, 21):
        ask.answer = next(answers)
        compaction.view(given[:size], ask)
    ask.answer = next(answers)
    assert "Another." in words(compaction.view(given[:17], ask))
    view = compaction.view(given[:23], ask)
    assert SUMMARY in words(view)
    assert unpaired(view) == set()
    assert all(load(path).damage == [] for path in tmp_path.glob("*.jsonl"))


def edited(given: Listed) -> Listed:
    return [*given[:2], {"role": "user", "content": "Read them slowly."}, *given[3:]]


HISTORIES: dict[str, Callable[[Listed], Listed]] = {
    "trimmed": lambda given: given[-5:],
    "edited": edited,
    "a message gone": lambda given: [*given[:4], *given[6:]],
    "a greeting first": lambda given: [
        {"role": "assistant", "content": "Hello!"},
        *given,
    ],
    "two replies in a row": lambda given: [
        *given,
        {"role": "assistant", "content": "Alice was here."},
        {"role": "assistant", "content": "Bob was here."},
    ],
    "the same request again": lambda given: given,
    "a call that nobody answered": lambda given: [
        *given[:-1],
        {"role": "user", "content": "Stop."},
    ],
    "nothing": lambda given: [],
}


@pytest.mark.parametrize("name", HISTORIES)
@SHAPES
def test_whatever_becomes_of_a_list_the_agent_goes_on(
    name: str, shape: Callable[..., Listed], tmp_path: Path
):
    told = list[Event]()
    compaction = Compaction(tmp_path, SETTINGS, tell=told.append)
    ask = Asked()
    grown(compaction, shape(9), ask, start=12)
    given = HISTORIES[name](shape(9))
    view = compaction.view(given, ask)
    assert compaction.view(given, ask) == view
    assert unpaired(view) <= unpaired(given)
    assert {event.kind for event in told} <= {"compaction_done"}
    for path in tmp_path.glob("*.jsonl"):
        session = load(path)
        assert session.damage == []
        last = {"role": "user", "content": "Go on."}
        closed = session.history[-1:] and session.history[-1]["role"] == "user"
        assert (
            violation(session.history if closed else [*session.history, last]) is None
        )


PICTURE = {"type": "image", "source": {"type": "url", "url": "http://a"}}
CHANGES: dict[str, Callable[[Listed, int], Listed]] = {
    "a call": lambda given, n: [*given, *anthropic(1, ids=f"c{n}-{{}}")[1:]],
    "two calls": lambda given, n: [*given, *anthropic(2, ids=f"c{n}-{{}}")[1:]],
    "thinking": lambda given, n: [
        *given,
        *anthropic(1, {"type": "thinking", "thinking": "Hm.", "signature": "s"})[1:],
    ],
    "words": lambda given, n: [*given, {"role": "user", "content": f"Words {n}."}],
    "a reply": lambda given, n: [*given, {"role": "assistant", "content": f"So {n}."}],
    "a picture": lambda given, n: [*given, {"role": "user", "content": [PICTURE]}],
    "a note": lambda given, n: [*given, {"role": "system", "content": f"Step {n}."}],
    "an open call": lambda given, n: [*given, anthropic(1, ids=f"o{n}-{{}}")[1]],
    "nothing": lambda given, n: given,
    "a fork": lambda given, n: given[: -1 - n % 3],
    "an edit": lambda given, n: [
        *given[: n % 5],
        {"role": "user", "content": f"Edited {n}."},
        *given[n % 5 + 1 :],
    ],
    "a mark": lambda given, n: [
        *given[:-1],
        {**given[-1], "cache_control": {"type": "ephemeral"}},
    ],
    "another time": stamped,
    "no system": lambda given, n: [m for m in given if m["role"] != "system"],
}


@for_all(
    changes=st.lists(st.sampled_from(sorted(CHANGES)), min_size=5, max_size=40),
    micro=st.sampled_from(["off", "clear"]),
)
def test_a_view_that_goes_on_is_the_view_of_the_whole_list(
    changes: list[str], micro: Any, tmp_path_factory: pytest.TempPathFactory
):
    class Whole(Compaction):
        def __post_init__(self) -> None:
            super().__post_init__()
            self._record.begun = lambda name: None

    settings = replace(SETTINGS, micro=micro)
    both = [
        each(tmp_path_factory.mktemp("sessions"), settings)
        for each in (Compaction, Whole)
    ]
    given = anthropic(1)
    for number, change in enumerate(changes):
        given = CHANGES[change](given, number) or anthropic(1)
        views = [each.view(copy.deepcopy(given), Asked()) for each in both]
        assert views[0] == views[1], change
    lines = [
        [
            {key: line[key] for key in line if key not in ("timestamp", "crc32")}
            for path in sorted(Path(each.folder).glob("*.jsonl"))
            for line in map(json.loads, path.read_text().splitlines())
        ]
        for each in both
    ]
    assert lines[0] == lines[1]


def test_what_became_known_of_a_beginning_is_not_passed_over(tmp_path: Path):
    ours = Compaction(tmp_path, SETTINGS).ours
    listed = list(entries(anthropic(3), ours))
    thread = Thread(Recorded(session_id="s", settings=SETTINGS), 0.0)
    thread.read(listed, {})
    begun = thread.begun
    assert begun
    longer = list(entries(anthropic(4), ours))
    first, last = listed[0].digest, longer[-1].digest
    assert begun.goes_on("s", longer, {last: [Step()]})
    assert not begun.goes_on("s", longer, {first: [Step()]})
    assert not begun.goes_on("another", longer, {})
    assert not begun.goes_on("s", listed[:3], {})


def test_what_another_process_wrote_in_the_meantime_stays(tmp_path: Path):
    given = anthropic(9)
    compaction = Compaction(tmp_path, SETTINGS)
    compaction.view(given[:3], Asked())
    (path,) = tmp_path.glob("*.jsonl")
    fork = [*given[:3], {"role": "assistant", "content": "Half way."}]

    def ask(messages: Listed) -> str:
        said = {"role": "user", "content": "Stop."}
        Compaction(tmp_path, SETTINGS).view([*fork, said], Asked())
        return SUMMARY

    assert SUMMARY in words(compaction.view(given, ask))
    assert load(path).history[-1]["content"][0]["text"] == "Stop."
    assert SUMMARY in words(compaction.view([*given, *anthropic(1)[1:]], Asked()))
    assert load(path).history[-1]["content"][0]["text"] == "Stop."


def test_replies_of_two_agents_in_turn_keep_the_compaction(tmp_path: Path):
    compaction = Compaction(tmp_path, SETTINGS)
    ask = Asked()
    given = anthropic(9)
    for n in range(6):
        compaction.view(given, ask)
        given.append({"role": "assistant", "content": f"Agent {n} is done."})
    assert len(ask) == 1
    assert load(tmp_path / "chat.jsonl").damage == []


@pytest.mark.parametrize("damage", ["empty", "torn", "folder", "gone", "line"])
def test_a_session_file_is_never_a_condition(damage: str, tmp_path: Path):
    ask = Asked()
    given = anthropic(9)
    grown(Compaction(tmp_path, SETTINGS), given, ask)
    path = tmp_path / "chat.jsonl"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    if damage == "empty":
        path.write_text("", "utf-8")
    elif damage == "torn":
        path.write_text("".join(lines)[:-40], "utf-8")
    elif damage == "line":
        path.write_text("".join([*lines[:3], "nonsense\n", *lines[5:]]), "utf-8")
    else:
        path.unlink()
        if damage == "folder":
            path.mkdir()
    told = list[Event]()
    compaction = Compaction(tmp_path, SETTINGS, tell=told.append)
    view = compaction.view(given, ask)
    assert SUMMARY in words(view)
    assert compaction.view(given, ask) == view
    assert len(ask) <= 3
    assert {event.kind for event in told} <= {"compaction_done"}


def test_a_folder_that_cannot_be_written_is_told_once(tmp_path: Path):
    told = list[Event]()
    compaction = Compaction(tmp_path / "a", SETTINGS, tell=told.append)
    (tmp_path / "a").write_text("a file", "utf-8")
    view = grown(compaction, anthropic(9), Asked())
    assert SUMMARY in words(view)
    assert [event.kind for event in told].count("adapter_failed") <= 2


def test_two_runs_at_once_on_one_conversation_both_go_on(tmp_path: Path):
    compaction = Compaction(tmp_path, SETTINGS)
    both = threading.Barrier(2, timeout=10)
    views = dict[str, Listed]()

    def ask(messages: Listed) -> str:
        both.wait()
        return SUMMARY

    def work(name: str) -> None:
        given = [*anthropic(9), {"role": "user", "content": name}]
        views[name] = compaction.view(given, ask)

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(SUMMARY in words(view) for view in views.values())
    assert {view[-1]["content"] for view in views.values()} == {"a", "b"}
    sessions = [load(path) for path in tmp_path.glob("*.jsonl")]
    assert [session.damage for session in sessions] == [[], []]


# -- replies that are no summary, and failures ---------------------------------------------


def completion(content: str | None, reason: str, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **more}
    return {"choices": [{"message": message, "finish_reason": reason}]}


CALL = {"id": "x", "type": "function", "function": {"name": "read", "arguments": "{}"}}
NO_SUMMARIES: dict[str, Any] = {
    "a call": completion("Let me read on.", "tool_calls", tool_calls=[CALL]),
    "a call that ends with stop": completion("On.", "stop", tool_calls=[CALL]),
    "cut off": completion("## Accomplished\nfile 0 w", "length"),
    "refused": completion("I can't.", "content_filter"),
    "empty": completion("", "stop"),
    "none": completion(None, "stop"),
    "too long": completion("word " * 40_000, "stop"),
    "a call of Anthropic's": {
        "content": [{"type": "tool_use", "id": "x", "name": "read", "input": {}}],
        "stop_reason": "tool_use",
    },
    "nonsense": 7,
    "no connection": RuntimeError("no connection"),
}


@pytest.mark.parametrize("name", NO_SUMMARIES)
def test_what_is_no_summary_is_not_taken_for_one(name: str, tmp_path: Path):
    told = list[Event]()
    settings = replace(SETTINGS, emergency_at=None)
    compaction = Compaction(tmp_path, settings, tell=told.append)
    ask = Asked(NO_SUMMARIES[name])
    given = anthropic(14)
    grown(compaction, given, ask, start=13)
    assert compaction.view(given, ask) == given
    assert {event.kind for event in told} == {"compaction_failed"}
    assert len(ask) <= 4  # the breaker rests after three
    session = load(tmp_path / "chat.jsonl")
    assert all(each.message is None for each in session.compactions)


def test_an_answer_without_a_bill_is_no_summary_if_earlier_ones_had_bills(
    tmp_path: Path,
):
    told = list[Event]()
    given = anthropic(24)
    ask = Asked({**completion(SUMMARY, "stop"), "usage": {"prompt_tokens": 900}})
    Compaction(tmp_path, SETTINGS).view(given[:19], ask)
    ask.answer = "Model call failed after 2 attempts: 503 service unavailable"
    again = Compaction(tmp_path, SETTINGS, tell=told.append)  # reads the bill back
    view = again.view(given, ask)
    assert len(ask) == 2
    assert SUMMARY in words(view)
    assert "503" not in words(view)
    assert "isn't the model's; put retries before us" in told[0].text
    fresh = Compaction(tmp_path / "fresh", SETTINGS)  # knows of no bill
    assert "503" in words(fresh.view(given, ask))


def test_reasoning_in_tags_is_no_part_of_a_summary(tmp_path: Path):
    ask = Asked(completion(f"<think>Hm.\nWhat?</think>\n{SUMMARY} <think>", "stop"))
    view = words(Compaction(tmp_path, SETTINGS).view(anthropic(9), ask))
    assert f"\\n\\n{SUMMARY} <think>" in view
    assert "Hm." not in view


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((word for word in "abc"), "a generator; return the whole answer, without"),
        (None, "a NoneType; return the whole answer"),
        ({"error": {"code": 429}}, "an error: {'code': 429}"),
        ({"output": [], "object": "response"}, "of the Responses API"),
    ],
)
def test_what_is_no_answer_is_named(answer: Any, told: str, tmp_path: Path):
    events = list[Event]()
    compaction = Compaction(tmp_path, SETTINGS, tell=events.append)
    compaction.view(anthropic(9), Asked(answer))
    assert told in events[0].text


def test_a_list_of_the_responses_api_is_refused_by_name(tmp_path: Path):
    call = {"type": "function_call", "call_id": "c", "name": "read", "arguments": "{}"}
    told = {"type": "function_call_output", "call_id": "c", "output": "word " * 9_000}
    given = [{"role": "user", "content": "Go."}, call, told]
    events = list[Event]()
    compaction = Compaction(tmp_path, SETTINGS, tell=events.append)
    assert compaction.view(given, Asked()) == given
    assert "'function_call' of the Responses API" in events[0].text


def test_a_request_that_is_too_long_is_made_again_with_less(tmp_path: Path):
    class TooLong(Exception):
        status_code = 400

    asked = list[Listed]()

    def ask(messages: Listed) -> str:
        asked.append(messages)
        if len(asked) == 1:
            try:
                raise TooLong("prompt is too long: 9000 tokens > 4000 maximum")
            except TooLong as error:
                raise RuntimeError("the framework's own") from error
        return SUMMARY

    view = Compaction(tmp_path, SETTINGS).view(anthropic(9), ask)
    assert SUMMARY in words(view)
    assert len(words(asked[1])) < len(words(asked[0]))


def test_what_a_summary_cost_is_in_the_sessions_bills(tmp_path: Path):
    usage = {"prompt_tokens": 900, "completion_tokens": 40}
    details = {"prompt_tokens_details": {"cached_tokens": 600}}
    answer = {**completion(SUMMARY, "stop"), "usage": {**usage, **details}}
    Compaction(tmp_path, SETTINGS).view(anthropic(9), Asked(answer))
    [compaction] = load(tmp_path / "chat.jsonl").compactions
    [bill] = compaction.usage
    assert (bill["input_tokens"], bill["output_tokens"]) == (300, 40)
    assert bill["cache_read_input_tokens"] == 600


def test_a_failure_of_ours_leaves_the_agent_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    def engine(now: Now) -> Step:
        raise ZeroDivisionError("in the engine")

    def wild(now: Now) -> Step:
        return Step(kept=(99,), summary={"role": "user", "content": "x"})

    def deaf(event: Event) -> None:
        raise RuntimeError("tell is broken")

    given = anthropic(9)
    for each in (engine, wild):
        with caplog.at_level(logging.WARNING, "agentlib.adapters"):
            compaction = Compaction(tmp_path, SETTINGS, each, deaf)
            assert compaction.view(given, Asked()) == given
    assert "in the engine" in caplog.text
    odd: list[Any] = [*given, object()]
    assert compaction.view(odd, Asked()) == odd
    assert "the whole list is sent" in caplog.text


def test_wrong_arguments_raise_when_it_is_made(tmp_path: Path):
    def old(messages: Any, settings: Any, **given: Any) -> Step:
        return Step()

    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(NoEngine, match=r"`def old\(now\):`"):
        Compaction(tmp_path, SETTINGS, cast(ContextEngine, old))
    with pytest.raises(ValueError, match="file"):
        Compaction(tmp_path / "file")
    for wrong in ({"folder": 7}, {"settings": 7}, {"engine": 7}, {"tell": 7}):
        with pytest.raises(TypeError, match=next(iter(wrong))):
            Compaction(**{"folder": tmp_path, **wrong})


def test_an_agent_can_be_copied_and_stored_with_it(tmp_path: Path):
    compaction = Compaction(tmp_path, SETTINGS)
    for other in (copy.deepcopy(compaction), pickle.loads(pickle.dumps(compaction))):
        assert (other.folder, other.settings) == (tmp_path, SETTINGS)
        assert other.view(anthropic(1), Asked()) == anthropic(1)


# -- what isn't text, and what is odd ------------------------------------------------------

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
PARTS: dict[str, dict[str, Any]] = {
    "a picture of OpenAI's": PICTURE,
    "a picture of Anthropic's": {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
    },
    "a document": {"type": "document", "source": {"type": "url", "url": "http://a"}},
    "sound": {"type": "input_audio", "input_audio": {"data": "A" * 40_000}},
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_the_request_is_carried_like_the_words(name: str, tmp_path: Path):
    part = PARTS[name]
    compaction = Compaction(tmp_path, SETTINGS)
    ask = Asked()
    text = {"type": "text", "text": "Build this page."}
    for number, first in enumerate(([text, part], [part])):
        given = anthropic(9, first=first)
        view = compaction.view(given, ask, name=str(number))
        content = view[0]["content"]
        assert is_summary(content[0])
        assert content[1:] == first
        assert ask[-1][0]["content"] == first
    history = load(tmp_path / "0.jsonl").history
    assert "··" not in words(history)


TASK = "Read the numbers; never touch prod.cfg."
NUDGE = "You did not use a tool. Go on with the task."
WORDS = replace(SETTINGS, words_tokens=200)


@pytest.mark.parametrize("shape", [anthropic, openai])
def test_nudges_never_cost_the_task_and_take_one_line(shape: Any, tmp_path: Path):
    compaction = Compaction(tmp_path, WORDS)
    ask = Asked()
    given = shape(0, first=TASK)
    for n in range(9):
        given += shape(3, ids=f"{n}-{{}}")[len(shape(0)) :]
        view = grown(compaction, given, ask, start=max(1, len(given) - 6))
        assert words(view).count(TASK) == 1
        given += [
            {"role": "assistant", "content": "I will go on."},
            {"role": "user", "content": NUDGE},
        ]
        view = compaction.view(given, ask)
        assert words(view).count(TASK) == 1
    assert len(ask) >= 3
    assert words(view).count(NUDGE) <= 3  # the block's, and those of the tail


def test_actions_written_as_text_never_cost_the_task(tmp_path: Path):
    compaction = Compaction(tmp_path, WORDS)
    ask = Asked()
    given: Listed = [{"role": "user", "content": TASK}]
    for n in range(60):
        assert words(compaction.view(given, ask)).count(TASK) == 1
        given += [
            {"role": "assistant", "content": f"```bash\ncat {n}\n```"},
            {"role": "user", "content": f"Output: file {n} " + "lorem ipsum " * 90},
        ]
    assert len(ask) >= 3


@pytest.mark.parametrize("with_words", [False, True])
def test_screenshots_that_a_loop_adds_age_like_results(
    with_words: bool, tmp_path: Path
):
    told = list[Event]()
    settings = SETTINGS.scaled(16_000)
    compaction = Compaction(tmp_path, settings, tell=told.append)
    given = openai(0, first=[{"type": "text", "text": TASK}, PICTURE])
    ask = Asked()
    text = {"type": "text", "text": "The screen:"}
    for n in range(30):
        view = compaction.view(given, ask)
        assert words(view).count("image_url") <= 2 * 11
        assert TASK in words(view)
        assert words(view).count("AAAA") >= 1
        given += openai(1, ids=f"u{n}")[2:]
        given[-1]["content"] = "clicked"
        shot = {"type": "image_url", "image_url": {"url": f"data:x;base64,BB{n}"}}
        given += [{"role": "user", "content": [text, shot] if with_words else [shot]}]
    assert 2 <= len(ask) <= 8
    assert {event.kind for event in told} == {"compaction_done"}
    assert "[On the way]" not in words(view)


def test_nothing_is_done_while_the_view_is_over_the_window(tmp_path: Path):
    told = list[Event]()
    first = [{**PICTURE, "image_url": {"url": f"http://{n}"}} for n in range(9)]
    Compaction(tmp_path, SETTINGS, tell=told.append).view(
        openai(9, first=first), Asked(), system="Be brief. " * 100
    )
    [event] = told
    assert event.kind == "full"
    assert " of a window of 4,000: pictures and other parts 13," in event.text


def test_a_part_of_words_that_were_answered_is_not_in_the_block(tmp_path: Path):
    first = [{"type": "text", "text": "Build this page."}, PICTURE]
    given = [
        *anthropic(3, first=first),
        {"role": "assistant", "content": "It is built."},
        *anthropic(9, first="And this?", ids="u{}"),
    ]
    view = Compaction(tmp_path, WORDS).view(given, Asked())
    content = view[0]["content"]
    assert "[said] Build this page.\n" in content
    assert "AAAA" not in words(view)
    assert content.endswith("And this?")


def test_the_person_is_told_which_words_had_no_room(tmp_path: Path):
    told = list[Event]()
    compaction = Compaction(tmp_path, replace(WORDS, words_tokens=60), tell=told.append)
    given = [
        *anthropic(3, first=TASK + " Take care." * 30),
        {"role": "assistant", "content": "Done."},
        *anthropic(9, first="And this?", ids="u{}"),
    ]
    compaction.view(given, Asked())
    [done] = [event.text for event in told if event.kind == "compaction_done"]
    assert done.endswith(": 1 (words_tokens)")


THOUGHT = "Let me think about it again. " * 60
BESIDE: dict[str, Any] = {
    "reasoning_content": THOUGHT,
    "reasoning_details": [{"type": "reasoning.text", "text": THOUGHT}],
    "whatever comes next": {"deep": [THOUGHT]},
}


@pytest.mark.parametrize("key", BESIDE)
def test_what_stands_under_another_key_has_a_weight_and_stays(key: str, tmp_path: Path):
    given = openai(20)
    for message in given:
        if message["role"] == "assistant":
            message[key] = BESIDE[key]
        elif message["role"] == "tool":
            message["content"] = "short"
    ask = Asked()
    view = grown(Compaction(tmp_path, SETTINGS), given, ask)
    assert len(ask) >= 2
    assert len(words(view)) < 14_000
    assert all(key in message for message in view if message["role"] == "assistant")
    assert view[-1] is given[-1]
    assert view[-2] is given[-2]


def test_the_pictures_of_a_request_in_ollamas_shape_stay(tmp_path: Path):
    given = openai(9)
    given[1]["images"] = ["AAAA", "BBBB"]
    view = Compaction(tmp_path, SETTINGS).view(given, Asked())
    assert is_summary({"type": "text", "text": view[1]["content"].split("\n\n")[0]})
    assert view[1]["images"] == ["AAAA", "BBBB"]
    assert "[image" not in view[1]["content"]


@pytest.mark.parametrize("role", ["tool", "function"])
def test_a_cleared_result_is_a_text_and_loses_what_stood_beside_it(
    role: str, tmp_path: Path
):
    given = openai(3)
    last = {"role": role, "tool_call_id": "t0", "name": "read", "content": "0 " * 500}
    given[3] = {**last, "images": ["AAAA"], "status": "ok"}

    def clear(now: Now) -> Step:
        return Step(texts={"t0": "[cleared]"})

    view = Compaction(tmp_path, SETTINGS, engine=clear).view(given, Asked())
    assert view[3] == {**last, "status": "ok", "content": "[cleared]"}


def test_pictures_in_results_have_a_weight(tmp_path: Path):
    given = openai(30)
    for message in given:
        if message["role"] == "tool":
            message["content"] = [PICTURE]
    ask = Asked()
    settings = SETTINGS.scaled(16_000)
    view = grown(Compaction(tmp_path, settings), given, ask)
    assert len(ask) >= 2
    assert words(view).count("image_url") < 20
    assert load(tmp_path / "chat.jsonl").damage == []


@pytest.mark.parametrize(
    "ids", ["functions.read:{}", "call_{0}|fc_{0}", "the same", "a b/{}", "{}\ud83d"]
)
@SHAPES
def test_ids_of_any_kind_cost_nothing(
    ids: str, shape: Callable[..., Listed], tmp_path: Path
):
    ask = Asked()
    given = shape(10, ids=ids)
    view = grown(Compaction(tmp_path, SETTINGS), given, ask)
    assert 1 <= len(ask) <= 8
    assert all(
        any(message is m for m in given) or SUMMARY in words([message])
        for message in view
    )
    session = load(tmp_path / "chat.jsonl")
    assert session.damage == []
    assert len(session.history) == 21


@pytest.mark.parametrize(
    "blank", ["", "\n", "  \t", "\u2028", None, [], "a\ud83d", "nul\0"]
)
def test_blank_results_and_half_characters_are_sent_as_they_are(
    blank: Any, tmp_path: Path
):
    given = openai(3)
    given[3]["content"] = blank
    compaction = Compaction(tmp_path, SETTINGS)
    assert grown(compaction, given, Asked()) == given
    assert load(tmp_path / "chat.jsonl").damage == []


@pytest.mark.parametrize("given", ['{"n": 1', "[1]", '"x"', "null", "", '{"n": NaN}'])
def test_arguments_of_any_kind_are_sent_as_they_are(given: str, tmp_path: Path):
    messages = openai(8)
    messages[2]["tool_calls"][0]["function"]["arguments"] = given
    messages[-2]["tool_calls"][0]["function"]["arguments"] = given
    view = grown(Compaction(tmp_path, SETTINGS), messages, Asked())
    assert view[-2:] == messages[-2:]
    assert load(tmp_path / "chat.jsonl").damage == []


def test_records_of_an_sdk_are_read_and_sent_as_they_are(tmp_path: Path):
    from anthropic.types import ServerToolUseBlock, TextBlock, ToolUseBlock

    given = anthropic(8)
    search: dict[str, Any] = {"id": "s", "name": "web_search", "input": {"query": "x"}}
    for message in given[1::2]:
        use = ToolUseBlock(**message["content"][0])
        own = ServerToolUseBlock(type="server_tool_use", **search)
        message["content"] = [TextBlock(type="text", text="Now."), own, use]
    view = Compaction(tmp_path, SETTINGS).view(given, Asked())
    assert view[-2] is given[-2]
    assert len(load(tmp_path / "chat.jsonl").compactions) == 1


# -- async ---------------------------------------------------------------------------------


def test_an_async_loop_gets_the_same_view(tmp_path: Path):
    async def ask(messages: Listed) -> str:
        await asyncio.sleep(0)
        return SUMMARY

    async def both() -> list[Listed]:
        compaction = Compaction(tmp_path, SETTINGS)
        given = anthropic(9)
        return [await compaction.aview(given, ask) for _ in range(2)]

    first, second = asyncio.run(both())
    assert first == second
    assert SUMMARY in words(first)


def test_many_views_wait_without_a_thread_of_the_loop(tmp_path: Path):
    async def ask(messages: Listed) -> str:
        await asyncio.to_thread(lambda: None)
        return SUMMARY

    async def many() -> list[Listed]:
        compaction = Compaction(tmp_path, SETTINGS)
        views = (compaction.aview(anthropic(9), ask, name=str(n)) for n in range(40))
        return await asyncio.wait_for(asyncio.gather(*views), 60)

    assert all(SUMMARY in words(view) for view in asyncio.run(many()))


def test_a_cancellation_passes_and_nothing_is_noted(tmp_path: Path):
    cancelled = list[bool]()

    async def stop() -> None:
        compaction = Compaction(tmp_path, SETTINGS)
        begun = asyncio.Event()

        async def slow(messages: Listed) -> str:
            begun.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.append(True)
                raise
            return SUMMARY

        async def quick(messages: Listed) -> str:
            return "The second one."

        task = asyncio.create_task(compaction.aview(anthropic(9), slow))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        view = await compaction.aview(anthropic(9), quick)
        assert "The second one." in words(view)

    asyncio.run(stop())
    assert cancelled == [True]
    [session] = [load(path) for path in tmp_path.glob("*.jsonl")]
    assert len(session.compactions) == 1


@pytest.mark.parametrize("module", [shapes, chat])
def test_the_examples_of_the_functions_run(module: Any):
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner()
    for test in finder.find(module):
        if test.name != module.__name__ or module is shapes:
            runner.run(test)
    assert runner.failures == 0
