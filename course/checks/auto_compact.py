"""The exercises of lesson 03."""

from dataclasses import replace

from agentlib.api.spending import PRICED_AS
from agentlib.auto_compact import summary_message
from agentlib.messages import Message, active_request, exchanges
from agentlib.settings import Settings
from course.checking import (
    SUMMARY,
    Answer,
    apart,
    conversation,
    exercise,
    require,
    shown,
    text_of,
)
from windtunnel.runner import play
from windtunnel.tasks.scenarios import REVIEW


def one_summary(messages: list[Message], summary: str) -> list[Message]:
    """Put a summary in place of everything."""
    return [{"role": "user", "content": summary}]


@exercise("03.1", "seven messages became one.", finished=one_summary)
def _in_place_of_all(answer: Answer) -> None:
    """A new list with one message in it: its role is user, and its content is the
    summary."""
    long = SUMMARY + "\n- [fact] The gauge holds 7 litres." * 60
    _only_the_summary(answer, conversation(400, 400, 400), long)
    _only_the_summary(answer, conversation(400), f"{SUMMARY} 3.py isn't.")


def _only_the_summary(answer: Answer, old: list[Message], summary: str) -> None:
    new = answer.messages(old, summary)
    first = (
        "the summary should be in the first message, and nothing of the old ones stays."
    )
    require(SUMMARY in text_of(new[:1]), first)
    require(
        len(new) == 1, f"it returned {len(new)} messages; one with the summary will do."
    )
    require(
        new[0]["role"] == "user",
        "the message with the summary should be one of the user.",
    )
    kept = any(part in str(new) for part in ("Read every file", "toolu_", "# 1 # 1"))
    require(
        not kept, "the text of old messages is still there; only the summary may stay."
    )
    wanted, yours = apart(summary, text_of(new))
    whole = f"the summary should stand there once, as it is: {wanted}, not {yours}."
    require(text_of(new).count(summary) == 1, whole)


def newest_stay(messages: list[Message], top: Message, keep: int = 1) -> list[Message]:
    """Put the message with the summary in place of all but the newest exchanges."""
    newest = exchanges(messages)[-keep:] if keep else []
    kept = messages[newest[0][0] :] if newest else []
    return [top, *kept]


@exercise(
    "03.2", "the summary first, then the newest exchanges, whole.", finished=newest_stay
)
def _keeps(answer: Answer) -> None:
    """exchanges(messages)[-keep:] are the exchanges that stay, but not if keep is 0.

    An exchange is a pair (start, stop). The messages from the first start on stay.

    `top` is finished: it comes first, as it is.
    """
    request = conversation(request="And d.py.")
    said: Message = {"role": "assistant", "content": "It is read."}
    spoken = conversation(400, 400)
    spoken[3:3] = [said, *request]
    few = (4, 1), (5, 3), (4, 0), (3, 3), (3, 4), (3, 9), (0, 3), (7, 5)
    plain = [(f"{n} exchanges", conversation(*[400] * n), keep) for n, keep in few]
    asked = "4 exchanges, a second request", conversation(*[400] * 4) + request
    without = "3 exchanges, the second without a call", spoken
    for name, old, keep in (*plain, (*asked, 1), (*asked, 0), (*without, 2)):
        top = summary_message(SUMMARY, "t.jsonl", active_request(old))
        given = (
            {} if keep == 1 else {"keep": keep}
        )  # 1 is what it has to stand for by itself
        new = answer.messages(old, top, **given)
        kept = newest_stay(old, top, keep)[1:]
        case = f"with keep{f'={keep}' if given else ' left out'} and {name}"
        require(
            new[:1] == [top], f"{case}, the first message should be `top`, as it is."
        )
        wanted = f"{case}, the last {len(kept)} messages should follow `top`"
        same = len(new) == len(kept) + 1
        others = "there are others" if same else f"yours returned {len(new)} messages"
        require(new[1:] == kept, f"{wanted}; {others}.")


OLD_SUMMARY, NEW_SUMMARY = (
    "## State\n- [file] rule.py\n- [file] 2.py\n- [rule] Use tabs.\n- [rule] Be brief.",
    "## State\n- [file] 2.py\n\n## Next\n- [file] 2.py\n\n- [rule] Be brief.",
)


def rules_stay(old: str, new: str) -> str:
    """Put the rules that a new summary dropped at its end."""
    rules = dict.fromkeys(
        line for line in old.splitlines() if line.startswith("- [rule]")
    )
    kept = new.splitlines()
    return "\n".join([new, *(rule for rule in rules if rule not in kept)])


@exercise(
    "03.3", "the person's rules come through, the rest may go.", finished=rules_stay
)
def _holds(answer: Answer) -> None:
    """Go through old.splitlines(). Which lines begin with '- [rule]' and aren't among
    new.splitlines()?

    The old summary may have a rule twice. Put each one once after the new summary, on a
    line of its own: '\\n'.join([new, *rules]).
    """
    cases = {
        "one rule of two was dropped": (OLD_SUMMARY, NEW_SUMMARY),
        "nothing was dropped": (OLD_SUMMARY, OLD_SUMMARY),
        "both rules were dropped": (OLD_SUMMARY, "## State\n- [file] 3.py"),
        "there was no rule": ("## State\n- [file] 1.py", NEW_SUMMARY),
        "a rule begins as a dropped one does": (
            OLD_SUMMARY,
            f"{NEW_SUMMARY} And quick.",
        ),
        "a file has [rule] in a note": (
            "- [file] a.py | [rule] lines\n- [fact] b",
            NEW_SUMMARY,
        ),
        "the dropped rule stood there twice": (
            f"- [rule] Use tabs.\n{OLD_SUMMARY}",
            NEW_SUMMARY,
        ),
        "a file's line quotes a rule": (
            "- [file] a.py | - [rule] Use tabs.\n- [fact] b",
            NEW_SUMMARY,
        ),
        "a line begins nearly as a rule does": (
            "- [rules] 3 are read.\n- [Rule] 4 are not.\n- [fact] b",
            NEW_SUMMARY,
        ),
        "a long rule stands before the decisions": (
            f"- [rule] {REVIEW.prompts[0]}\n## Key decisions\n- [fact] b",
            NEW_SUMMARY,
        ),
        "the new summary begins with an indent": (OLD_SUMMARY, f"  {NEW_SUMMARY}"),
        "a rule is indented, so its line begins otherwise": (
            "- [fact] b\n  - [rule] Use tabs.",
            NEW_SUMMARY,
        ),
        "a rule stands in the middle of the new summary": (
            OLD_SUMMARY,
            "## Rules\n- [rule] Be brief.\n\n## Next\n- [file] 3.py",
        ),
        "the new summary has a rule of its own": (
            OLD_SUMMARY,
            "- [rule] Ask first.\n- [rule] Ask first.\n- [file] 3.py",
        ),
    }
    for case, (old, new) in cases.items():
        text = Answer(answer.call(old, new)).typed(str, "return a text")
        lines = text.splitlines()
        missing = [line for line in new.splitlines() if line not in (*lines, "")]
        require(
            not missing, f"if {case}, yours lacks {missing[:1]} of the new summary."
        )
        rules = [line for line in old.splitlines() if line.startswith("- [rule]")]
        again = [line for line in lines if line not in (*new.splitlines(), *rules, "")]
        require(
            not again, f"if {case}, {again[:1]} is back; only rules should come back."
        )
        for rule in rules:
            count = lines.count(rule)
            require(
                count == 1,
                f"if {case}, {rule!r} should be there once, not {count} times.",
            )
        first = f"if {case}, the new summary should come first, as it is, and the rules after it."
        require("\n".join(lines).startswith(new), first)
        behind = [line for line in lines[len(new.splitlines()) :] if line]
        dropped = [
            rule for rule in dict.fromkeys(rules) if rule not in new.splitlines()
        ]
        order = f"if {case}, the rules should follow in the order of the old summary"
        require(behind == dropped, f"{order}, {dropped}; yours are {behind}.")
        same = (
            f"if {case}, no rule has to come back, so return the new summary as it is"
        )
        require(dropped or text == new, f"{same}; yours ends {shown(text[-20:])}.")


LONGEST = 4_000
"""The most tokens that the panel's slider gives a summary."""


@exercise("03.4")
def _two_numbers(answer: Answer) -> str:
    """Which of the two numbers decides what is kept? Find the smallest that keeps all.

    Each compaction costs a request and a new cache. Which point makes fewer of them?
    """
    numbers = answer.numbers("threshold", "summary_tokens")
    for name, value in numbers.items():
        whole = type(value) is int and value > 0
        require(
            whole, f"{name} is a number of tokens, such as 1_000, not {value!r:.40}."
        )
    length = f"summary_tokens={numbers['summary_tokens']:,} is past {LONGEST:,}"
    require(
        numbers["summary_tokens"] <= LONGEST,
        f"{length}; the panel's slider ends there.",
    )
    settings = replace(Settings(micro="off", manual=False).scaled(32_000), **numbers)
    most = settings.context_window - settings.output_reserve - settings.buffer
    late = f"{settings.threshold:,} is past {most:,}, the window less its reserve and buffer"
    require(
        (settings.threshold or 0) <= most, f"{late}; the panel's slider ends there."
    )
    run = play(REVIEW, settings)
    rule = "yes" if run.checks["rule kept"] else "no"
    report = f"{run.checks['described']} of 19 files described, {run.checks['facts']} of 4 facts"
    cost = run.dollars(PRICED_AS)
    result = f"rule kept {rule}, {report}, ${cost:.2f}"
    require(not run.refused, f"{result}, and the API refused a request: {run.refused}.")
    whole = rule == "yes" and run.checks["facts"] == 4 and run.checks["described"] == 19
    require(whole, f"{result}. All of it should be kept.")
    require(cost < 0.92, f"{result}. It should be under $0.92.")
    return f"{result}."
