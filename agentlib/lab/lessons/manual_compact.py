"""The exercises of lesson 04: obeying the call, its focus, its siblings, and when to compact."""

from collections.abc import Sequence
from dataclasses import replace

from agentlib.lab.lessons import checking
from agentlib.lab.lessons.checking import Answer, conversation, exercise, require, text_of
from agentlib.lab.play import play
from agentlib.lab.tasks.scenarios import REVIEW
from agentlib.messages import Message
from agentlib.settings import Settings

HAND = replace(Settings(auto=False, manual=False).scaled(32_000), summary_tokens=600)
"""The settings of exercise 04.5: only the person compacts, and a summary is short."""

SUMMARY = "Read the old file."


def _summarize(messages: Sequence[Message], focus: str) -> str:
    return SUMMARY


@exercise("04.1", "the call is obeyed, and without one nothing happens.")
def _obey(answer: Answer) -> None:
    for case, messages in {
        "if no turn calls compact": conversation(400),
        "if only an older turn calls compact": conversation([{"focus": "a.py"}], 400),
    }.items():
        new = answer.call(messages, _summarize)
        require(new == messages, f"{case}, the messages should stay as they are.")
    new = answer.messages(conversation(400, [{}]), _summarize)
    right = len(new) == 1 and SUMMARY in text_of(new)
    wanted = "if the newest turn calls compact, one message with the summary should be left"
    require(right, f"{wanted}; yours returned {len(new)}.")


@exercise("04.2", "the three calls of the newest turn were replaced, so their results are orphans.")
def _orphans(answer: Answer) -> None:
    before, now = "it was answered a turn before, with its call", "its call was replaced"
    ids = ["toolu_1", "toolu_2", "toolu_3", "toolu_4", "toolu_5"]
    answer.choose(ids[2:], dict(zip(ids, [before, before, now, now, now], strict=True)))


@exercise("04.3", "the siblings' results stay, the API is content, and the old messages are gone.")
def _siblings(answer: Answer) -> None:
    turns: list[list[checking.Result]] = [[600, {}], [{}], [{}, 600, "short"]]
    for newest in turns:
        messages = conversation(400, newest)
        new = answer.messages(messages, _summarize)
        right, given = list(checking.results(messages[-1:])), list(checking.results(new))
        case = f"with {len(newest)} calls in the newest turn"
        wanted = f"{case}, the model has not seen {', '.join(right)}, and only they should stay"
        require(given == right, f"{wanted}; yours keeps {', '.join(given) or 'none'}.")
        require(SUMMARY in text_of(new[:1]), f"{case}, the first message should be the summary.")


@exercise("04.4", "None without a call, '' without a focus, and all of them joined.")
def _focus(answer: Answer) -> None:
    focus = {"focus": "auth.py"}
    cases = {
        "one call with a focus": ("auth.py", conversation([focus])),
        "no call of compact": (None, conversation(400)),
        "a call without a focus is a call all the same": ("", conversation([{}])),
        "an older call has been obeyed already": (None, conversation([focus], 400)),
        "the call stands beside another": ("auth.py", conversation([400, focus])),
        "three calls": ("auth.py; db.py", conversation([focus, {}, {"focus": "db.py"}])),
    }
    answer.agree(cases)


@exercise("04.5")
def _when(answer: Answer) -> str:
    after, focus = answer.typed(tuple, "give a turn and a focus, as in (20, 'facts')")
    require(16 <= after <= 36, f"turn {after} is not from 16 to 36.")
    run = play(REVIEW, HAND, compact_after=after, focus=focus)
    facts, files = run.kept(REVIEW)["facts"], run.checks["described"]
    rule = "kept" if run.checks["constraint"] else "broken"
    result = f"the summary holds {facts} of 4 facts, the report {files} of 19 files, rule {rule}"
    kept = facts == 4 and rule == "kept"
    require(kept, f"{result}. Name in the focus what must not go: facts, decisions, rules.")
    require(files >= 18, f"{result}. It should describe 18 files: compact earlier.")
    return f"{result}."
