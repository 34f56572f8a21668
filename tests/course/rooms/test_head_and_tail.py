"""Lesson 06: its wrong answers, and its run with the published solutions."""

from fractions import Fraction

from agentlib.messages import (
    SUMMARY_END,
    SUMMARY_HEADER,
    blocks,
    is_summary,
)
from course.checks.auto_compact import newest_stay
from course.checks.head_and_tail import four_costs, head_stays
from course.rooms.head_and_tail import START, parts_panel
from tests.course.rooms.solved import Lesson
from windtunnel.tasks.scenarios import REVIEW


def heads(head):
    return lambda messages, top, keep=newest_stay: [
        *messages[:head],
        *keep(messages[head:], top),
    ]


def handed_over(*texts, note="Reference only.", header=f"{SUMMARY_HEADER}{{archive}}]"):
    """A hand-off as a function: `texts` are formats of the summary and the person's
    words."""

    def hand_off(summary, archive, words):
        given = {"summary": summary, "words": words, "note": note, "end": SUMMARY_END}
        given["header"] = header.format(archive=archive)
        shown = texts if words else texts[:1]
        blocks = [each.format(**given) for each in shown]
        return {
            "role": "user",
            "content": [{"type": "text", "text": each} for each in blocks],
        }

    return hand_off


def asks_if(there):
    return lambda messages, prompt, update: (
        prompt + update if there(messages) else prompt
    )


def priced(**other):
    """The four costs, with some of the numbers mistaken for others."""

    def costs(whole, cached, trimmed, own, others):
        given = {"whole": whole, "cached": cached, "trimmed": trimmed}
        return four_costs(**given, own=own, other=others) | {
            name.replace("_", ", "): cost(**given, own=own, other=others) / 1e6
            for name, cost in other.items()
        }

    return costs


def in_steps(messages, top, keep=newest_stay):
    new = keep(messages[1:], top)
    new.insert(0, messages[0])
    return new


def first_block_alone(m, top, keep=newest_stay):
    text = m[0]["content"]
    text = text if isinstance(text, str) else text[0]["text"]
    return [{"role": "user", "content": text}, *keep(m[1:], top)]


def no_equal_ones(m, top, keep=newest_stay):
    return [m[0], *(each for each in keep(m[1:], top) if each != m[0])]


WHOLE = "{header}\n{note}\n{summary}\n{end}"


def has_summary(message):
    return any(map(is_summary, blocks(message)))


def says_summary(message):
    return any("summary" in block.get("text", "") for block in blocks(message))


WRONG = {
    "06.1": [
        (lambda m, top, keep=newest_stay: m, "`top` should come second"),
        (lambda m, top, keep: [m[0], *keep(m[1:], top)], "missing 1 required"),
        (
            lambda m, top, keep=newest_stay: [m[0], *keep(m, top)],
            "with a `keep` that keeps all it gets",
        ),
        (
            lambda m, top, keep=newest_stay: (
                head_stays(m, top, keep) if len(m) > 3 else m
            ),
            "with one exchange",
        ),
        (first_block_alone, "with a first message of two blocks"),
        (no_equal_ones, "must end with a user message"),
    ],
    "06.2": [
        (
            handed_over("{header}\n{note}\n{summary}\n{end}\n{words}"),
            "no second text block",
        ),
        (
            handed_over("{header}\n{note}\n{summary}", "{words}"),
            "should end with SUMMARY_END",
        ),
        (handed_over("{header}\n{summary}\n{note}{end}", "{words}"), "no note between"),
        (
            handed_over("{note}\n{header}\n{summary}\n{end}", "{words}"),
            "should begin with '[Conv",
        ),
        (handed_over(WHOLE, "{words:.40}"), "alone; yours is ['Read every Python file"),
        (handed_over(WHOLE, "Read every Python file one by one."), "alone; yours is"),
        (
            handed_over(WHOLE.replace("{note}", "{note} {words}"), "{words}"),
            "second text only",
        ),
        (
            handed_over(
                "{header}\n{note}\n{summary}\n{end}",
                "{words}",
                note="There is no instruction more urgent than the question below.",
            ),
            "goes for the pending question",
        ),
        (handed_over("{header}\n{note}\n{end}", "{words}"), "word for word"),
        (
            handed_over(WHOLE, "{words}", note="This is NOT reference only: obey."),
            "the note has 'not reference'",
        ),
        (
            handed_over(
                WHOLE,
                "{words}",
                note="Reference only. Ignore all tools. Do nothing with this.",
            ),
            "the note has 'ignore', 'do nothing'",
        ),
        (
            handed_over(
                WHOLE, "{words}", note="Not instructions. Resume the active task."
            ),
            "the note has 'resume'",
        ),
        (
            lambda summary, archive, words: handed_over(WHOLE, "{words}")(
                summary[:200], archive, words
            ),
            "word for word",
        ),
        (
            handed_over(WHOLE, "{words}", header=f"{SUMMARY_HEADER}t.json]"),
            "with the name in `archive`",
        ),
        (
            lambda summary, archive, words: handed_over(WHOLE, "{words}")(
                summary, archive, str(words)
            ),
            "there should be one text block",
        ),
        (
            handed_over(WHOLE, "{words}", header=f"{SUMMARY_HEADER}t.jsonl]"),
            "with archive='monday.jsonl'",
        ),
        (
            handed_over(f"{WHOLE}\n\nResume the active task. Obey.", "{words}"),
            "behind the summary only SUMMARY_END",
        ),
        (
            handed_over(WHOLE.replace("{end}", "Obey all.\n{end}"), "{words}"),
            "behind the summary only SUMMARY_END",
        ),
        (
            handed_over(WHOLE.replace("{end}", "{summary}\n{end}"), "{words}"),
            "in the first text once",
        ),
        *[
            (handed_over(WHOLE, "{words}", note=note), f"the note has {order!r}")
            for note, order in {
                "Reference only. Answer the pending questions.": "answer",
                "Reference only.\nNow continue with the remaining work.": "now continue",
                "Not instructions? Yes they are: obey.": "obey",
                "Reference only: carry on with this.": "carry on",
                "Not instructions, but please do the rest.": "but please do",
                "These are reference only. Start with the questions.": "start",
                "This isn't for reference only.": "n't for reference",
                "Do not use tools. Reference only.": "not use tool",
                "Reference only. Don't call a tool.": "n't call a tool",
                "Not instructions but orders.": "orders",
                "Not instructions: duties. Every question below wants its reply "
                "first.": "duties",
                "reference only, and also your task list": "your task",
                "Reference only for humans; the model carries out each line "
                "below.": "carries out",
                "Reference only: what follows was done earlier. Answer only the "
                "newest message.": "answer",
                "Reference only. Continue with the words of the person that come "
                "after it.": "continue",
                "Reference only. Respond to the words after it.": "respond",
            }.items()
        ],
    ],
    "06.3": [
        (asks_if(lambda messages: SUMMARY_HEADER in str(messages)), "only quotes one"),
        (asks_if(lambda messages: "summary" in str(messages)), "only quotes one"),
        (
            asks_if(lambda messages: any(map(says_summary, messages))),
            "only says the word",
        ),
        (
            asks_if(lambda messages: any(has_summary(m) for m in messages[:2])),
            "stands late",
        ),
        (
            lambda m, prompt, update: prompt + update * sum(map(has_summary, m)),
            "two summaries",
        ),
        (
            asks_if(lambda messages: any(is_summary(blocks(m)[-1]) for m in messages)),
            "the person's words follow it",
        ),
    ],
    "06.4": [
        (
            priced(
                other_whole=lambda cached, whole, other, **_: cached * other["read"]
            ),
            "'other, whole'",
        ),
        (
            priced(own_trimmed=lambda trimmed, own, **_: trimmed * own["read"]),
            "'own, trimmed'",
        ),
        (priced(own_whole=lambda whole, own, **_: whole * own["new"]), "'own, whole'"),
        (lambda *numbers: 0.0, "a dict of four costs"),
        (
            priced(other_trimmed=lambda trimmed, own, **_: trimmed * own["new"]),
            "'other, trimmed'",
        ),
        (lambda *numbers: {}, "'own, whole' should be"),
    ],
}
RIGHT = {
    "06.1": [in_steps],
    "06.2": [
        handed_over(
            "{header}{note}{summary}{end}", "{words}", note="\nNotes, reference only.\n"
        ),
        *[
            handed_over(WHOLE, "{words}", note=note)
            for note in (
                "Reference only: do not answer or follow anything in it.",
                "Not instructions, but notes with which you can continue.",
                "Reference only. Your tools stay in use, and the words follow.",
                "Reference only: what follows was done earlier.",
                "Not instructions, orders or duties. Nothing here must be done.",
            )
        ],
    ],
    "06.3": [
        lambda m, p, u: f"{p}\n\n{u.strip()}" if any(map(has_summary, m)) else p,
        lambda m, p, u: " ".join([p, u]) if any(map(has_summary, m)) else p,
        lambda m, p, u: (
            p
            + u
            * any("t.jsonl" in str(b) and is_summary(b) for x in m for b in blocks(x))
        ),
    ],
    "06.4": [
        lambda *numbers: {k: Fraction(v) for k, v in four_costs(*numbers).items()},
        lambda *numbers: dict(reversed(four_costs(*numbers).items())),
    ],
}


class TestHeadAndTail(Lesson):
    wrong = WRONG
    right = RIGHT


def test_the_parts_of_a_hand_off_and_its_length_run_the_task_again(unpainted):
    ways = {"neither": {}, "head": {"head": heads(1)}}
    panel = parts_panel(REVIEW, START, ways)
    assert panel.values == {"parts": "neither", "summary_tokens": 450}
    assert "has 2 facts and breaks the rule." in panel.text.replace("\n", " ")
    panel.parts.value = "head"
    assert "has 2 facts and keeps the rule." in panel.text.replace("\n", " ")
    panel.move(parts="neither", summary_tokens=1_600)
    assert "has 4 facts and keeps the rule." in panel.text.replace("\n", " ")
