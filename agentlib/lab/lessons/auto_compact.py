"""The exercises of lesson 03: what a summary replaces, what stays, when, and in what words."""

from agentlib.lab.client import client
from agentlib.lab.lessons import checking
from agentlib.lab.lessons.checking import Answer, conversation, exercise, require, shown, text_of
from agentlib.messages import Message, active_request, exchanges
from agentlib.requests import request, send
from agentlib.settings import MODEL

SUMMARY = "1.py and 2.py are read."
FOLLOW_UP: Message = {"role": "user", "content": "And d.py."}


@exercise("03.1", "seven messages became one or two.")
def _in_place_of_all(answer: Answer) -> None:
    old = conversation(400, 400, 400)
    new = checking.require_messages(answer.call(old, SUMMARY))
    count = sum(message in old for message in new)
    require(not count, f"{count} of the 7 old messages are still there; none may stay.")
    require(SUMMARY in text_of(new[:1]), "the summary should be in the first message.")
    require(len(new) <= 2, f"it returned {len(new)} messages; one with the summary will do.")


@exercise("03.2", "it ends with the user, and the request is there word for word.")
def _goes_on(answer: Answer) -> None:
    old = conversation(400, 400, 400)
    for case, messages in {"one": old, "a second": [*old, FOLLOW_UP]}.items():
        new = answer.messages(messages, SUMMARY)
        before, _, after = text_of(new).partition(SUMMARY)
        words = str(active_request(messages))
        wanted = f"with {case} request, the summary and then {words!r} should be in one message"
        require(words in after and words not in before, f"{wanted}; yours is {shown(new)}.")
        require(len(new) == 1, f"{wanted}; yours returned {len(new)}.")


@exercise("03.3", "the newest exchanges stay whole, calls with results, and the request with them.")
def _keeps(answer: Answer) -> None:
    for count, keep, more in ((4, 1, []), (5, 3, []), (3, 3, []), (4, 1, [FOLLOW_UP])):
        old = [*conversation(*[400] * count), *more]
        new = answer.messages(old, SUMMARY, keep)
        kept = old[exchanges(old)[-keep][0] :]
        case = f"with keep={keep} of {count} exchanges" + (", a second request" if more else "")
        wanted = f"{case}, the last {len(kept)} messages should follow one with the summary"
        right = new[1:] == kept and SUMMARY in text_of(new[:1])
        require(right, f"{wanted}; yours returned {len(new)} messages.")
        require(str(active_request(old)) in text_of(new), f"{case}, the request is gone.")


@exercise("03.4", "a compaction comes when the next prompt is over the threshold, never at it.")
def _sawtooth(answer: Answer) -> None:
    cases = {
        "the prompts are 1,000, 1,500, 2,000, 2,500, 3,000": (0, 1_000, 500, 3_000, 1_900, 5),
        "the sixth would be 3,500 and is compacted": (1, 1_000, 500, 3_000, 1_900, 6),
        "1,900, 2,400 and 2,900 follow each compaction": (5, 1_000, 500, 3_000, 1_900, 20),
        "no prompt comes near 9,000": (0, 1_000, 500, 9_000, 1_900, 10),
    }
    answer.agree(cases)


@exercise("03.5")
def _watched(answer: Answer) -> str:
    run, sizes = answer.typed(tuple, "give the run and the list: (small, sizes)")
    threshold = run.settings.threshold_tokens
    require(threshold <= 6_000, f"{threshold:,} is not small; take a threshold of about 5,000.")
    pairs = [(each.tokens_before, each.tokens_after) for each in run.session.compactions]
    wanted = f"the run was compacted {len(pairs)} times, and sizes should have a pair for each"
    require(list(sizes) == pairs, f"{wanted}; yours is {shown(sizes)}.")
    over = sum(after > threshold for _, after in pairs)
    return f"{len(pairs)} compactions in {run.turns} turns; {over} stayed over the threshold."


@exercise("03.6", "the answer stands under your headings, and the rule under the last.")
def _by_category(answer: Answer) -> None:
    prompt = answer.call(700)
    sized = "700" in prompt and "950" in answer.call(950)
    require(sized, "with tokens=700 the prompt should say 700, and with tokens=950, 950.")
    wanted = ["## Files", "## To do", "## Decisions"]
    headings = [line.strip() for line in prompt.splitlines() if line.startswith("## ")]
    require(headings == wanted, f"the headings should be {wanted}; yours are {headings}.")
    summary = _summary(prompt)
    kept = "docstring" in summary.partition(wanted[-1])[2]
    require(kept, f"the rule isn't under the last heading of the summary: {summary[:200]!r}")


def _summary(prompt: str) -> str:
    """Ask the offline model with this prompt to sum up a conversation with a rule in it."""
    rule = "A rule for all that follows: every function must have a docstring."
    messages = [*conversation(400, 400, 400), {"role": "user", "content": prompt}]
    messages[0] = {"role": "user", "content": f"{rule} Read 1.py, 2.py and 3.py."}
    read = {"name": "read_file", "description": "", "input_schema": {"type": "object"}}
    reply = send(client(), request(MODEL, "You are an agent.", [read], messages, 2_800))
    return text_of([reply.to_dict()])
