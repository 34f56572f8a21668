"""Lesson 10: six kinds of thing, the pin, the threads of a summary, and the gate."""

from typing import Any

from agentlib.auto_compact import summary_message
from agentlib.lab.lessons.checking import Answer, call_block, exercise, require, result_block
from agentlib.lab.lessons.page import print_lines
from agentlib.lab.model.prompts import rules_in
from agentlib.lab.play import Run
from agentlib.lab.tasks.kinds import claim, spoken
from agentlib.messages import Block, Message

# -- the exercises -------------------------------------------------------------------------------


def pin(messages: list[Message]) -> list[str]:
    """Return the person's rules in their own words, each once."""
    lines: list[str] = []
    for message in messages:
        for speaker, text in spoken(message):
            if speaker == "person":
                lines += rules_in(text)
    return list(dict.fromkeys(lines))


RULE, TESTS = "Rule: never edit files under vendor/.", "Decision: the tests are `make test`."
CONSENT = "Yes, you may edit files under lib/."


def said(*texts: str) -> Message:
    """Make a message of the person's."""
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def did(text: str, result: str, **inputs: str) -> list[Message]:
    """Make a text of the model with a call, and its result."""
    words: list[Block] = [{"type": "text", "text": text}] if text else []
    call = call_block(1, "bash" if "command" in inputs else "read_file", **inputs)
    answer: Message = {"role": "user", "content": [result_block(1, result)]}
    return [{"role": "assistant", "content": [*words, call]}, answer]


READ = did("", f"# {RULE}\nLIMIT = 7", path="a.py")


@exercise("10.1", "only the person's rules stay, each once and word for word.", finished=pin)
def _pin(answer: Answer) -> None:
    """spoken(message) gives pairs of speaker and text. Whose texts count?

    rules_in(text) is a list. Add it for the texts of the "person", and leave out what you have.
    """
    work, summary = "Read every file.", summary_message(f"- [rule] {RULE}", "t", RULE)
    telling = did(f"- [rule] {TESTS}", "1 file", command="ls")
    also = [*READ[:1], {**READ[1], "content": [*READ[1]["content"], *said(TESTS)["content"]]}]
    cases: dict[str, Any] = {
        "a rule beside a request": ([RULE], [said(f"{RULE} {work}")]),
        "a file has a rule of its own": ([], [said(work), *READ]),
        "the model says a rule": ([], [said(work), *telling]),
        "a summary tells a rule": ([], [summary_message(f"- [rule] {RULE}", "t", work)]),
        "the rule stands beside a summary": ([RULE], [summary, *telling]),
        "a second rule comes later": ([RULE, TESTS], [said(RULE), *READ, said(TESTS)]),
        "a second rule comes with a result": ([RULE, TESTS], [said(RULE), *also]),
        "the person says it twice": ([RULE, TESTS], [said(RULE), said(f"{RULE} {TESTS}")]),
    }
    answer.agree(cases)


def rests_on(line: str, messages: list[Message]) -> int | None:
    """Return the place of the first message that says what a line claims."""
    witness, words = claim(line)
    for place, message in enumerate(messages):
        for speaker, text in spoken(message):
            if speaker in (witness, "summary") and words in text:
                return place
    return None


@exercise("10.2", "each line rests on its own witness, an invented one on none.", finished=rests_on)
def _rests_on(answer: Answer) -> None:
    """The line's words stand in a text of its witness, or in the summary that was there before.

    for place, message in enumerate(messages), and in it for speaker, text in spoken(message).
    """
    migrated = did("I run it.", "(no output)", command="python migrate.py")
    talk = [said(RULE), *READ, said("Run migrate.py."), *migrated, said(CONSENT)]
    cases = {
        "the person said it first": (0, f"- [rule] {RULE}", talk),
        "the person said it last": (6, f"- [rule] {CONSENT}", talk),
        "a summary has it, too": (0, f"- [rule] {RULE}", [*talk, summary_message(RULE, "t")]),
        "nobody said it": (None, "- [rule] Yes, you may edit files under vendor/.", talk),
        "only a file says this rule": (None, f"- [rule] {RULE}", talk[1:]),
        "a file has it": (2, "- [fact] LIMIT = 7", talk),
        "only the model said it": (None, "- [fact] I run it.", talk),
        "the model ran it": (4, "- [ran] migrate.py", talk),
        "the person only asked for it": (None, "- [ran] migrate.py", talk[:4]),
        "the last summary has it": (0, f"- [rule] {RULE}", [summary_message(RULE, "t"), *READ]),
    }
    answer.agree(cases)


trace = rests_on
"""The lesson's name for the function that `use` chose."""


def gate(summary: str, messages: list[Message]) -> str | None:
    """Drop the lines that rest on nobody. Refuse a summary in which most lines are such."""
    lines = summary.splitlines()
    claims = [line for line in lines if any(claim(line))]
    invented = [line for line in claims if trace(line, messages) is None]
    if 2 * len(invented) > len(claims):
        return None
    return "\n".join(line for line in lines if line not in invented)


@exercise("10.3", "it drops what nobody said, and refuses a bad summary.", finished=gate)
def _gate(answer: Answer) -> None:
    """any(claim(line)) is False for a heading or a count, and such a line stays.

    Collect the claims for which `trace(line, messages)` is None. More than half? Return None.
    """
    talk, head = [said(f"{RULE} {CONSENT}"), *READ], "## Key decisions"
    good = [head, *(f"- [rule] {r}" for r in (RULE, CONSENT)), "- [fact] LIMIT = 7"]
    bad = ["- [rule] Yes, you may edit files under vendor/.", "- [ran] migrate.py", "- [fact] X."]
    for case, lines, right in (
        ("each line rests on a message", good, good),
        ("one line is invented", [*good, bad[0]], good),
        ("half of the claims are invented", [*bad, *good], good),
        ("most claims are invented", [*[head] * 3, f"- [rule] {RULE}", *bad[:2]], None),
    ):
        result = answer.call("\n".join(lines), talk)
        wanted = "the answer is None, so that the model is asked again"
        if right is None:
            require(result is None, f"{case}: {wanted}.")
            continue
        always = "with a gate that always refuses the agent never compacts" * (lines == good)
        require(isinstance(result, str), f"{case}: return the summary; {always or 'not None'}.")
        lost = [line for line in right if line not in result.splitlines()]
        kept = [line for line in bad if line in result.splitlines()]
        require(not lost, f"{case}: {lost[:1]} is gone.")
        require(not kept, f"{case}: {kept[:1]} is still there.")


# -- what the cells show -------------------------------------------------------------------------

ON: dict[str, Any] = {"none": {}, "pin": {"pin": pin}, "both": {"pin": pin, "gate": gate}}
"""The finished functions of the stored runs, by the name of the layers that are on."""


def print_said(run: Run) -> None:
    """Print the person's words in order, and where the agent compacted."""
    seen = [each.seen for each in run.session.compactions]
    for place, message in enumerate(run.session.history, 1):
        for speaker, text in spoken(message):
            if speaker == "person":
                print("   -- a summary takes the place of all this --\n" * (place in seen), end="")
                print_lines(f"> {text}", 3)
