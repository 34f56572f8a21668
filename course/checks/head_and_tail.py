"""The exercises of lesson 06."""

import re
from collections.abc import Callable, Sequence
from itertools import product
from numbers import Real
from random import Random
from typing import Any

from agentlib.auto_compact import summary_message
from agentlib.messages import (
    SUMMARY_END,
    SUMMARY_HEADER,
    Message,
    active_request,
    blocks,
    is_summary,
    of_type,
)
from course.checking import (
    SUMMARY,
    Answer,
    conversation,
    drawn,
    exercise,
    read,
    require,
    shown,
)
from course.checks.auto_compact import newest_stay as keep_last
from offline_api import model

ARCHIVE = "t.jsonl"
"""The name of the saved history in this lesson's summaries."""
OTHER = "monday.jsonl"
"""Another name, for a check."""

ORDERS = ("not reference", "call any", "resume", "ignore", "do nothing", "no tool")
"""Words of a note that command something, or take the tools away."""
_COMMAND = re.compile(
    r"(?:^|[.!?:;,\n]\s*|\b(?:please|then|and|now|but|you must|you should)\s+)"
    r"(?:(?:please|now|then)\s+)*"
    r"(?:answer|begin|carry on|carry out|complete|continue|do(?!n't| not)|execute|finish"
    r"|follow|go on|handle|obey|proceed|reply|respond|start|work on)\b"
    r"|(?:not|n't|never|without)\s+(?:any\s+)?(?:us|call)\w*\s+(?:\w+\s+)?tool"
    r"|(?:not|n't|never)\s+(?:for |as |a |just |only |mere )*reference"
)
"""A verb that commands, at the beginning of a sentence, a ban on tools, or a text that
says of itself that it isn't for reference.

"Do not answer what it asks" is no such command, and passes.
"""
_WORK = re.compile(
    r"\b(?:orders|dut(?:y|ies)|to-dos?|your (?:tasks?|work|job)|wants?|must"
    r"|ha(?:s|ve) to|carr(?:y|ies) out|obeys?|executes?)\b"
)
"""Words for work to be done. A clause that denies it may have them."""
_CLAUSE = re.compile(r"[.!?:;\n]|\bbut\b|, and\b")
_DENIES = re.compile(r"\b(?:no|not|never|nothing|none|nor|without)\b|n't\b")


def asks_for(note: str) -> list[str]:
    """Return the words with which a note asks for something.

    This compares words. An order in any others passes.
    """
    lowered = note.lower()
    found = [each for each in ORDERS if each in lowered]
    found += [each.strip(" .!?:;,\n") for each in _COMMAND.findall(lowered)]
    claims = [each for each in _CLAUSE.split(lowered) if not _DENIES.search(each)]
    found += [word for each in claims for word in _WORK.findall(each)]
    return list(dict.fromkeys(found))


Keep = Callable[[list[Message], Message], list[Message]]
"""What stays at the end, behind the message with the summary (03.2)."""


def head_stays(
    messages: list[Message], top: Message, keep: Keep = keep_last
) -> list[Message]:
    """Keep the first message, too."""
    return [messages[0], *keep(messages[1:], top)]


@exercise(
    "06.1", "the summary stands between head and newest exchange.", finished=head_stays
)
def _head(answer: Answer) -> None:
    """messages[0] stays. The rest is messages[1:].

    keep(messages, top) puts `top` in place of all but what stays at the end of these
    messages.
    """
    behind = [*conversation(300, 300), *conversation(request="Now the tests.")]
    two_requests = conversation(*[300] * 5)
    two_requests.insert(7, {"role": "user", "content": "Now the tests."})
    again = conversation(*[300] * 3)
    again.insert(1, summary_message("Nothing yet.", "t.jsonl", "Now the tests."))
    two_blocks = conversation(300, 300)
    texts = ({"type": "text", "text": each} for each in ("Read these.", "# Ada first."))
    two_blocks[0] = {"role": "user", "content": [*texts]}
    said: Message = {"role": "assistant", "content": "Both are read."}
    said_again = [*conversation(300, 300), said, *conversation()]
    for case, messages, keep in (
        ("with four exchanges", conversation(*[300] * 4), keep_last),
        ("with a second request in the middle", two_requests, keep_last),
        ("at the second compaction", again, keep_last),
        ("with words of the person behind the newest result", behind, keep_last),
        ("with one exchange", conversation(300), keep_last),
        ("with a first message of two blocks", two_blocks, keep_last),
        ("with a `keep` of two exchanges", conversation(*[300] * 4), _two_stay),
        ("with a `keep` that keeps all it gets", conversation(300, 300), _all_stay),
        ("with the first words said again later", said_again, keep_last),
    ):
        top = summary_message(SUMMARY, "t.jsonl", active_request(messages[1:]))
        given = {} if keep is keep_last else {"keep": keep}
        new = answer.messages(messages, top, **given)
        newest = keep(messages[1:], top)[1:]
        require(
            new[:1] == messages[:1], f"{case}, the first message should stay as it is."
        )
        require(new[1:2] == [top], f"{case}, `top` should come second, as it is.")
        wanted = f"{case}, {len(newest)} messages of the end should follow"
        require(new[2:] == newest, f"{wanted}; yours has {len(new) - 2} after `top`.")


def _two_stay(messages: list[Message], top: Message) -> list[Message]:
    return keep_last(messages, top, keep=2)


def _all_stay(messages: list[Message], top: Message) -> list[Message]:
    return [top, *messages]


def with_note(summary: str, archive: str, words: str | None) -> Message:
    """Make the message of a summary that says it is no instruction."""
    note = "For reference only. These are notes, not instructions."
    text = f"{SUMMARY_HEADER}{archive}]\n\n{note}\n\n{summary}\n{SUMMARY_END}"
    texts = [text] if words is None else [text, words]
    return {"role": "user", "content": [{"type": "text", "text": t} for t in texts]}


@exercise(
    "06.2", "the note stands first, the person's words outside.", finished=with_note
)
def _hand_off(answer: Answer) -> None:
    """Each block is {'type': 'text', 'text': ...}. The first begins with
    f"{SUMMARY_HEADER}{archive}]", then come note, summary and SUMMARY_END.

    What is the text for the next model? Say that in the note, and ask for nothing.

    If `words` is None, there is one block.
    """
    words = "Read every Python file one by one.\nThe first line of every report must be '# Ada'."
    summary = read("hand_off.md").strip() + "\n- [fact] The gauge holds 7 litres." * 9

    def listed(*given: str | None) -> list[Message]:
        return [answer.call(*given)]

    header = f"{SUMMARY_HEADER}{ARCHIVE}]"
    [message] = Answer(listed).messages(summary, ARCHIVE, words)
    texts = [block["text"] for block in of_type(message, "text")]
    require(
        texts and message["role"] == "user",
        "return a user's message with two text blocks.",
    )
    require(
        texts[0].startswith(header),
        f"the first text should begin with {header!r}, with the name in `archive`.",
    )
    before, there, after = texts[0].partition(summary)
    require(there, "the summary should stand in the first text, word for word.")
    require(summary not in after, "the summary should stand in the first text once.")
    require(
        SUMMARY_END in after,
        "the first text should end with SUMMARY_END, after the summary.",
    )
    wanted = f"the second text should be {words!r} alone"
    require(len(texts) > 1, f"there is no second text block; {wanted}.")
    require(texts[1:] == [words], f"{wanted}; yours is {texts[1:]!r:.60}.")
    require(
        words not in texts[0],
        "the person's words should stand in the second text only.",
    )
    note = before.partition("]")[2].strip()
    require(note, "there is no note between SUMMARY_HEADER and the summary.")
    asked = asks_for(note)
    wrong = "which says the opposite, asks for something, or takes the tools away"
    wrong += "; say only what the text is"
    require(not asked, f"the note has {str(asked)[1:-1]}, {wrong}.")
    require(
        after.strip() == SUMMARY_END,
        "behind the summary only SUMMARY_END should stand in the first text.",
    )
    pending = "with these words the model goes for the pending question about LIMIT"
    phrases = '"reference only" or "not instructions"'
    require(
        "LIMIT" not in _next_calls(message),
        f"{pending}. It looks for {phrases} in the note.",
    )
    other = f"{SUMMARY}\n- [fact] The tank holds 9 litres."
    alone = of_type(Answer(listed).messages(other, OTHER, None)[0], "text")
    none = "without words of the person, None, there should be one text block"
    require(len(alone) == 1, f"{none}; yours has {len(alone)}.")
    header = f"{SUMMARY_HEADER}{OTHER}]"
    named = f"with archive={OTHER!r} the first text should begin with {header!r}"
    begins = alone[0]["text"].startswith(header)
    require(begins, f"{named}; yours begins with {alone[0]['text'][: len(header)]!r}.")
    given = f"given {other!r:.40}, the first text should have this summary"
    require(other in alone[0]["text"], f"{given}.")


def _next_calls(message: Message) -> str:
    """Give the offline model this message, and return the inputs of its calls."""
    tools = [
        {"name": name} for name in ("bash", "read_file", "write_file", "edit_file")
    ]
    reply = model.reply({"messages": [message], "tools": tools})
    return str([block.get("input") for block in reply["content"]])


def update_last(messages: Sequence[Message], prompt: str, update: str) -> str:
    """Ask for an update if there is a summary already."""
    there = any(is_summary(b) for m in messages for b in blocks(m))
    return prompt + update if there else prompt


@exercise(
    "06.3", "the first summary is new, later ones are updates.", finished=update_last
)
def _update(answer: Answer) -> None:
    """is_summary(block) tells whether a block is one; blocks(message) gives those of a
    message.

    any(is_summary(block) for message in messages for block in blocks(message))
    """
    first, head, quoted, late, twice = (conversation(300, 300) for _ in range(5))
    words_behind = conversation(300, 300)
    words_behind[0] = summary_message(SUMMARY, "t.jsonl", "Go on.")
    late.insert(3, summary_message(SUMMARY, "t.jsonl", "Go on."))
    late[3]["content"].reverse()
    twice[:1] = [summary_message(SUMMARY, "t.jsonl")] * 2
    first[0] = summary_message(SUMMARY, "t.jsonl")
    head.insert(1, summary_message(SUMMARY, "t.jsonl"))
    quoted[2]["content"][0]["content"] = f"{SUMMARY_HEADER}{ARCHIVE}]\n{SUMMARY_END}"
    said = conversation(300, 300, request="Read every file, then write a summary.")
    cases = {
        "nothing was summarised yet": (False, conversation(300, 300)),
        "a summary is the first message": (True, first),
        "a summary stands behind the head": (True, head),
        "a summary is a message's first block, and the person's words follow it": (
            True,
            words_behind,
        ),
        "a summary stands late, as a message's last block": (True, late),
        "there are two summaries": (True, twice),
        "a tool's result only quotes one": (False, quoted),
        "the person only says the word": (False, said),
    }
    wishes = (
        ("Summarize.", " Update it."),
        ("List what was done.", "\nKeep what holds."),
    )
    for (case, (is_update, messages)), (prompt, update) in product(
        cases.items(), wishes
    ):
        result = answer.call(messages, prompt, update)
        text = f"{case}: return a text, not {shown(result)}."
        require(isinstance(result, str), text)
        asks = f"{case}: the request, {prompt!r}, should be whole and come first"
        require(result.startswith(prompt), f"{asks}; yours is {shown(result)}.")
        rest = result.removeprefix(prompt)
        again = f"{case}: there is no summary to update, so the request should end"
        require(
            is_update or not rest, f"{again} as it was; yours goes on {rest!r:.40}."
        )
        behind = f"{case}: {update!r} should stand behind the request, once"
        more = f"{rest!r:.40}" if rest.strip() else "nothing"
        fits = not is_update or rest.split() == update.split()
        require(fits, f"{behind}; yours has {more} there.")


def four_costs(
    whole: int,
    cached: int,
    trimmed: int,
    own: dict[str, float],
    other: dict[str, float],
) -> dict[str, float]:
    """Return what the request for a summary costs in dollars, by its writer and its
    form."""
    million = 1_000_000
    read = cached * own["read"] + (whole - cached) * own["new"]
    return {
        "own, whole": read / million,
        "own, trimmed": trimmed * own["new"] / million,
        "other, whole": whole * other["new"] / million,
        "other, trimmed": trimmed * other["new"] / million,
    }


@exercise(
    "06.4", "the cache is one model's, up to the first change.", finished=four_costs
)
def _costs(answer: Answer) -> None:
    """Tokens from the cache cost own['read'], all others own['new'].

    Has the other model ever seen this conversation? And where does the cache end if one
    is cut?
    """
    large = {"read": 0.2, "new": 5.0}
    small = {"read": 0.01, "new": 0.1}
    more = [tuple(each) for _, *each in drawn(four_costs, _sizes_and_prices).values()]
    cases: list[tuple[Any, ...]] = [
        (20_000, 19_000, 5_000, large, small),
        (8_000, 2_000, 6_000, small, large),
        (8_000, 0, 6_000, large, small),
        *more,
    ]
    for case in cases:
        given = Answer(answer.call(*case)).typed(dict, "return a dict of four costs")
        numbers = f"with whole={case[0]:,}, cached={case[1]:,}, trimmed={case[2]:,}"
        for name, right in four_costs(*case).items():
            cost = given.get(name)
            fits = isinstance(cost, Real) and abs(float(cost) - right) < 1e-9
            wanted = f"{numbers}, {name!r} should be {right:.6f} dollars"
            require(fits, f"{wanted}; yours is {cost!r:.60}.")


def _sizes_and_prices(random: Random) -> tuple[Any, ...]:
    whole = random.randint(2, 90_000)
    own, other = ({"read": random.random(), "new": 5 * random.random()} for _ in "12")
    return whole, random.randint(0, whole), random.randint(1, whole), own, other
