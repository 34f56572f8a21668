"""The exercises of lesson 04: obeying the call, its focus, its siblings, and when to compact.

Each checker tries the answer on small conversations of its own; the last one runs the task.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, cast

from agentlib.lab.lessons.checking import Exercise, Wrong
from agentlib.lab.lessons.micro_compact import conversation, results
from agentlib.lab.play import play
from agentlib.lab.tasks.scenarios import REVIEW
from agentlib.messages import Block, Message, of_type, violation
from agentlib.settings import Settings

HAND = replace(Settings(auto=False, manual=False).scaled(32_000), summary_tokens=600)
"""Where exercise 04.5 is run: nobody compacts but the person, and a summary is short."""
ENOUGH, EARLIEST, LATEST = 18, 16, 36


def turn(first: int, *calls: str | Mapping[str, Any]) -> list[Message]:
    """An exchange: a call of `read_file` for each text, of `compact` for each mapping.

    >>> turn(1, "abc")[1]["content"]
    [{'type': 'tool_result', 'tool_use_id': 'toolu_1', 'content': 'abc'}]
    """
    uses: list[Block] = []
    answers: list[Block] = []
    for number, call in enumerate(calls, first):
        reads = isinstance(call, str)
        name, inputs = ("read_file", {}) if reads else ("compact", dict(call))
        uses.append({"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": inputs})
        text = call if reads else "Compacted."
        answers.append({"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text})
    return [{"role": "assistant", "content": uses}, {"role": "user", "content": answers}]


OLD, FRESH = "old " * 100, "fresh " * 100


def _said(message: Message) -> str:
    """The text of a message, whether it is a string or blocks."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in of_type(message, "text"))


def _messages(found: Any) -> list[Message]:
    """What an answer gave back, if it is a list of messages."""
    if found is None:
        raise Wrong("it returned None; return the messages to go on with.")
    if not isinstance(found, list):
        raise Wrong(f"it returned a {type(found).__name__}; return a list of messages.")
    for each in cast(list[Any], found):
        if not isinstance(each, dict):
            raise Wrong(
                f"there is a {type(each).__name__} in the list, which is no message. "
                "summary_message(text, 'saved') makes one of a text; * puts in a list's messages."
            )
    return cast(list[Message], found)


def _obey(answer: Callable[..., Any]) -> str:
    asked: list[Sequence[Message]] = []

    def summarize(messages: Sequence[Message], focus: str) -> str:
        asked.append(messages)
        return "Read the old file."

    quiet = conversation(turn(1, {"focus": "a.py"}), turn(2, OLD))
    for messages in (conversation(turn(1, OLD)), quiet, conversation()):
        if answer(deepcopy(messages), summarize) != messages or asked:
            where = "an older turn" if messages is quiet else "no turn"
            raise Wrong(
                f"{where} calls compact, and still something changed or was summarised. Look at "
                "the newest message of the model only, and return the messages as they are."
            )
    messages = conversation(turn(1, OLD), turn(2, {}))
    found = _messages(answer(deepcopy(messages), summarize))
    if not asked:
        raise Wrong("the newest turn calls compact, and no summary was asked for.")
    if len(found) != 1 or found[0]["role"] != "user":
        raise Wrong(
            f"after the call {len(found)} messages are left; the first version leaves one, of the "
            "user, which holds the summary."
        )
    if "Read the old file." not in _said(found[0]):
        raise Wrong("the summary is not in the message that is left.")
    return "the call is obeyed, and without one nothing happens."


def _focus(answer: Callable[..., Any]) -> str:
    cases: tuple[tuple[list[Message], str | None, str], ...] = (
        (turn(1, {"focus": "auth.py"}), "auth.py", "one call with a focus gives the focus"),
        (turn(1, OLD), None, "no call of compact gives None"),
        (turn(1, {}), "", "a call without a focus is a call all the same: ''"),
        (
            [*turn(1, {"focus": "auth.py"}), *turn(2, OLD)],
            None,
            "only the newest turn counts: an older call has been obeyed already",
        ),
        (turn(1, OLD, {"focus": "auth.py"}), "auth.py", "the call may stand beside others"),
        (
            turn(1, {"focus": "auth.py"}, {}, {"focus": "db.py"}),
            "auth.py; db.py",
            "of three calls in one turn two have a focus: both, joined by '; '",
        ),
    )
    for messages, wanted, why in cases:
        found = answer(conversation(messages))
        if found != wanted:
            raise Wrong(f"{why}; it gave {found!r} instead of {wanted!r}.")
    return "None without a call, '' without a focus, and all of them joined."


def _orphans(answer: Any) -> str:
    if not isinstance(answer, list | tuple | set) or not set(cast(list[Any], answer)) <= {
        f"toolu_{n}" for n in range(1, 6)
    }:
        raise Wrong("give a list of ids, each of toolu_1 to toolu_5, as in ['toolu_1'].")
    found = set(cast(list[str], answer))
    if found == {"toolu_3", "toolu_5"}:
        raise Wrong("toolu_4, the compact call, is in the replaced message like its siblings.")
    if found & {"toolu_1", "toolu_2"}:
        raise Wrong(
            "toolu_1 and toolu_2 were answered a turn before: call and result went together."
        )
    if found != {"toolu_3", "toolu_4", "toolu_5"}:
        missing = min({"toolu_3", "toolu_4", "toolu_5"} - found)
        raise Wrong(f"{missing} is not in your list, but its call was replaced, too.")
    return "all three calls of the newest turn were replaced, so all three results are orphans."


def _siblings(answer: Callable[..., Any]) -> str:
    def summarize(messages: Sequence[Message], focus: str) -> str:
        return "Read the old file."

    for newest in (turn(2, FRESH, {}), turn(2, {}), turn(2, {}, FRESH, "short")):
        messages = conversation(turn(1, OLD), newest)
        given = deepcopy(messages)
        found = _messages(answer(given, summarize))
        if given != messages:
            raise Wrong("it edited the messages that it was given: the history is damaged.")
        if refused := violation(found):
            raise Wrong(f"the API would refuse this: {refused}")
        texts = list(results(found).values())
        if lost := [text for text in results(newest).values() if text not in texts]:
            raise Wrong(
                f"a sibling's result of {len(lost[0])} characters is gone, and the model has not "
                "seen it. Keep the newest exchange: the model's message and the results after it."
            )
        if OLD in texts:
            raise Wrong("the old result is still there: the summary takes the place of the rest.")
        if "Read the old file." not in _said(found[0]):
            raise Wrong("the summary has to be the first message.")
    return "the siblings' results stay, the API is content, and the old messages are gone."


def _when(answer: Any) -> str:
    match answer:
        case (int(after), str(focus)):
            pass
        case _:
            raise Wrong("give a turn and a focus: a number and a text, as in (20, 'facts').")
    if after < EARLIEST:
        raise Wrong(f"turn {after} is before turn {EARLIEST}: all fits in without a focus there.")
    if after > LATEST:
        raise Wrong(f"after turn {LATEST} the report is written: choose an earlier turn.")
    run = play(REVIEW, HAND, compact_after=after, focus=focus)
    kept, checks = run.kept(REVIEW), run.checks
    told = (
        f"after turn {after} the summary holds {kept['facts']} of {len(REVIEW.facts)} facts; the "
        f"report describes {checks['described']} files, rule "
        f"{'kept' if checks['constraint'] else 'broken'}"
    )
    if kept["facts"] < len(REVIEW.facts) or not checks["constraint"]:
        raise Wrong(f"{told}. Name in the focus what must not go: facts, decisions, rules.")
    if checks["described"] < ENOUGH:
        raise Wrong(f"{told}. It has to describe {ENOUGH}: what has to be read later is not lost.")
    return f"{told}."


EXERCISES = {
    "04.1": Exercise(
        check=_obey,
        hints=(
            "messages[last_assistant(messages)] is the newest message of the model.",
            'Does any block of of_type(that, "tool_use") have the name "compact"?',
            "If so, return a list of one: summary_message(summarize(messages, ''), 'saved').",
        ),
    ),
    "04.2": Exercise(
        check=_orphans,
        hints=("A result is an orphan where the call with its id is in no message any more.",),
    ),
    "04.3": Exercise(
        check=_siblings,
        hints=(
            "Where does the newest exchange begin? At messages[last_assistant(messages)].",
            "A list can be put together: [summary, *messages[newest:]].",
        ),
    ),
    "04.4": Exercise(
        check=_focus,
        hints=(
            "Collect the calls of compact in the newest message of the model; if none, None.",
            'An input may be without a focus: call["input"].get("focus").',
            "'; '.join(...) of nothing is '', which is what a call without a focus gives.",
        ),
    ),
    "04.5": Exercise(
        check=_when,
        hints=(
            "The earlier, the more files are read afterwards, and so not lost.",
            "Say in the focus what they are called: facts, decisions, rules of the user.",
        ),
    ),
}
