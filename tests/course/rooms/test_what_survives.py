"""Lesson 10: its wrong answers, and its run with the published solutions."""

from functools import partial

from agentlib.messages import is_summary, of_type
from course.checks.what_survives import gate, rests_on
from course.panels.survives import kinds_panel
from offline_api.model.prompts import rules_in
from tests.course.rooms.solved import Lesson
from windtunnel.tasks.kinds import LAYERS, MODELS, claim, says, spoken


def pins(*speakers, told=rules_in, once=True):
    """Pin what these speakers say."""

    def pin(messages):
        texts = [text for m in messages for who, text in spoken(m) if who in speakers]
        lines = [line for text in texts for line in told(text)]
        return list(dict.fromkeys(lines)) if once else lines

    return pin


def in_blocks(messages):
    lines = []
    for message in messages:
        for block in of_type(message, "text") if message["role"] == "user" else []:
            new = [] if is_summary(block) else rules_in(block["text"])
            lines.extend(line for line in new if line not in lines)
    return lines


def in_small_letters(messages):
    """Take lines that differ by a capital for the same."""
    lines = pins("person")(messages)
    return [*{line.lower(): line for line in reversed(lines)}.values()][::-1]


def in_any_order(messages):
    return list(set(pins("person")(messages)))


def unless_just_said(messages):
    """Leave out a line only if it is the same as the line before."""
    lines = pins("person", once=False)(messages)
    return [
        line for n, line in enumerate(lines) if line not in lines[max(0, n - 1) : n]
    ]


def also(witness, speaker):
    """Take one more speaker for the witness of some lines."""
    return traces(
        lambda who, wanted: (
            is_witness(who, wanted) or (wanted == witness and who == speaker)
        )
    )


def traces(believes, order=list, has=says):
    """Return the first message in which a speaker that is believed says the words."""

    def trace(line, messages):
        witness, words = claim(line)
        for index, message in order(list(enumerate(messages))):
            if any(
                believes(who, witness) and has(text, words)
                for who, text in spoken(message)
            ):
                return index
        return None

    return trace


def or_a_result(who, witness):
    """Believe a tool's result that a step was done."""
    return is_witness(who, witness) or (witness == "run" and who == "file")


def in_any_letters(text, words):
    return says(text.lower(), words.lower())


def by_its_last_word(text, words):
    return says(text, words.removeprefix("[ran] "))


def rearranged(order):
    """Keep the right lines in an order of its own."""

    def keep(summary, messages):
        kept = gate(summary, messages)
        return None if kept is None else "\n".join(order(kept.splitlines()))

    return keep


def is_witness(who, witness):
    return who in (witness, "summary")


def of_two_pairs(line, messages):
    """Look for the witness and for the words, and not whether one says the other."""
    witness, words = claim(line)
    for index, message in enumerate(messages):
        speakers, texts = zip(*spoken(message), strict=True)
        if {witness, "summary"} & {*speakers} and any(
            says(text, words) for text in texts
        ):
            return index
    return None


def witness_first(line, messages):
    told = traces(lambda who, witness: who == witness)(line, messages)
    return rests_on(line, messages) if told is None else told


def with_next(line, messages):
    witness, words = claim(line)
    pairs = (
        (n, *pair) for n, message in enumerate(messages) for pair in spoken(message)
    )
    return next(
        (n for n, who, t in pairs if is_witness(who, witness) and says(t, words)), None
    )


def with_min(line, messages):
    witness, words = claim(line)
    pairs = [
        (n, *pair) for n, message in enumerate(messages) for pair in spoken(message)
    ]
    found = [
        n for n, who, text in pairs if is_witness(who, witness) and says(text, words)
    ]
    return min(found) if found else None


def lines_that(stay, refuses=lambda invented, claims: 2 * len(invented) > len(claims)):
    """Keep the lines that stay, and refuse by the invented claims and all of them."""

    def keep(summary, messages):
        lines = summary.splitlines()
        claims = [line for line in lines if any(claim(line))]
        invented = [line for line in claims if rests_on(line, messages) is None]
        if refuses(invented, claims):
            return None
        return "\n".join(line for line in lines if stay(line, invented))

    return keep


def sound(line, invented):
    return line not in invented


def of_sets(summary, messages):
    """Count claims that are alike once."""
    claims = {line for line in summary.splitlines() if any(claim(line))}
    bad = {line for line in claims if rests_on(line, messages) is None}
    if 2 * len(bad) > len(claims):
        return None
    return "\n".join(line for line in summary.splitlines() if line not in bad)


def in_one_pass(summary, messages):
    lines = [
        (n, any(claim(n)), rests_on(n, messages) is not None)
        for n in summary.split("\n")
    ]
    good = sum(claims and rests for _, claims, rests in lines)
    bad = sum(claims and not rests for _, claims, rests in lines)
    kept = [line for line, claims, rests in lines if rests or not claims]
    return "\n".join(kept) if good >= bad else None


def summaries_first(line, messages):
    told = traces(lambda who, witness: who == "summary")(line, messages)
    return rests_on(line, messages) if told is None else told


def of_all_lines(summary, messages):
    lines = summary.splitlines()
    bad = [n for n in lines if any(claim(n)) and rests_on(n, messages) is None]
    return (
        None
        if 2 * len(bad) > len(lines)
        else "\n".join(n for n in lines if n not in bad)
    )


def not_trace(summary, messages):
    """Take index 0 for none."""
    lines = summary.splitlines()
    bad = [line for line in lines if any(claim(line)) and not rests_on(line, messages)]
    claims = [line for line in lines if any(claim(line))]
    return (
        None
        if 2 * len(bad) > len(claims)
        else "\n".join(n for n in lines if n not in bad)
    )


def with_line_breaks(summary, messages):
    lines = summary.splitlines(True)
    claims = [line for line in lines if any(claim(line))]
    bad = [line for line in claims if rests_on(line, messages) is None]
    return (
        None
        if 2 * len(bad) > len(claims)
        else "".join(n for n in lines if n not in bad)
    )


def ends_with_a_line_break(summary, messages):
    kept = gate(summary, messages)
    return None if kept is None else f"{kept}\n" if kept else kept


def by_speaker(message):
    """Forget all texts of a speaker but the last."""
    return dict(spoken(message))


def last_texts(messages):
    texts = [by_speaker(message).get("person", "") for message in messages]
    return list(dict.fromkeys(line for text in texts for line in rules_in(text)))


def not_of_others(messages):
    others = ("file", "summary", "model")
    texts = [text for m in messages for who, text in spoken(m) if who not in others]
    return list(dict.fromkeys(line for text in texts for line in rules_in(text)))


def last_text_of_each(line, messages):
    witness, words = claim(line)
    for index, message in enumerate(messages):
        texts = by_speaker(message)
        if any(says(texts.get(who, ""), words) for who in (witness, "summary")):
            return index
    return None


def of_rules_only(who, witness):
    """Believe a summary only what it says of the person."""
    return who == witness or (who == "summary" and witness == "person")


def first_of_all(messages):
    messages[0]
    return pins("person")(messages)


def remembering():
    """Keep the lines of earlier calls."""
    kept = []

    def pinned(messages):
        new = [line for line in pins("person")(messages) if line not in kept]
        kept.extend(new)
        return new

    return pinned


WRONG = {
    "10.1": [
        (first_of_all, "it raised IndexError"),
        (remembering(), "keep nothing between calls"),
        (last_texts, "the person says two things at once"),
        (not_of_others, "the model writes a rule into a file"),
        (pins("person", told=lambda text: [text]), "a rule beside a request"),
        (pins("person", "file"), "a file has a rule of its own"),
        (pins("person", "model"), "the model says a rule"),
        (pins("person", "summary"), "a summary tells a rule"),
        (lambda messages: pins("person")(messages[:1]), "a second rule comes later"),
        (pins("person", once=False), "the person says it twice"),
        (in_any_order, "the order has changed"),
        (unless_just_said, "the rule comes again later"),
        *[
            (lambda messages, n=n: pins("person")(messages)[:n], "twelve rules")
            for n in (5, 10)
        ],
        (in_small_letters, "the person has twelve rules"),
        (lambda messages: ["Rule: never edit files under vendor/."], "too many"),
        (
            lambda messages: pins("person")(messages[-1:]),
            "the rule stands beside a summary",
        ),
        (lambda messages: [], "a rule beside a request"),
        (
            pins("person", told=lambda text: rules_in(text)[:1]),
            "the person says it twice",
        ),
        (
            lambda messages: [each.lower() for each in pins("person")(messages)],
            "a rule beside",
        ),
    ],
    "10.2": [
        (traces(of_rules_only), "only the summary has this fact"),
        (last_text_of_each, "the first of two results has it"),
        (
            traces(is_witness, has=lambda text, words: words in text),
            "part of a prohibition",
        ),
        (of_two_pairs, "a file says it beside the person's text"),
        (traces(or_a_result), "a tool's result says that it ran"),
        (traces(is_witness, has=by_its_last_word), "note on that file"),
        (
            traces(lambda who, witness: is_witness(who, witness) or who == "person"),
            "the person says this fact",
        ),
        (traces(is_witness, has=in_any_letters), "in other letters"),
        (also("run", "call"), "the model wrote of the step into a file"),
        (also("person", "model"), "only the model said this rule"),
        (also("file", "run"), "the model ran a file, and nobody read it"),
        (witness_first, "a summary comes before"),
        (summaries_first, "a summary has it, too"),
    ],
    "10.3": [
        (lambda summary, messages: None, "the agent never compacts"),
        (not_trace, "whose index is 0"),
        (lambda summary, messages: gate(summary, messages[1:]), "whose index is 0"),
        (of_sets, "ten of nineteen"),
        (
            lines_that(sound, refuses=lambda bad, all: len(bad) > 0.55 * len(all)),
            "ten of nineteen",
        ),
        (rearranged(lambda lines: [line.strip() for line in lines]), "is gone"),
        (lambda summary, messages: summary.splitlines(), "a text, not"),
        (
            lambda summary, messages: None if "you may" in summary else summary,
            "each line rests",
        ),
        (
            lines_that(sound, refuses=lambda bad, all: len(bad) / len(all) > 0.5),
            "division by zero",
        ),
        (
            lines_that(sound, refuses=lambda bad, all: len(bad) > 0.66 * len(all)),
            "three of five",
        ),
        (
            lines_that(sound, refuses=lambda invented, claims: bool(invented)),
            "one line is",
        ),
        (
            lines_that(sound, refuses=lambda invented, claims: len(invented) > 1),
            "half of the",
        ),
        (of_all_lines, "asked again"),
        (rearranged(dict.fromkeys), "in their order"),
        (lambda summary, messages: gate(summary, []), "return the summary"),
        (
            lambda summary, messages: gate(summary, messages) if summary else None,
            "the summary is empty",
        ),
        (
            lambda summary, messages: gate(summary, messages) if messages else None,
            "there are no messages",
        ),
    ],
}
PANELS = {"kinds": partial(kinds_panel, LAYERS, tuple(MODELS))}
RIGHT = {
    "10.1": [in_blocks, pins("person")],
    "10.2": [traces(is_witness), with_next, with_min],
    "10.3": [
        in_one_pass,
        with_line_breaks,
        ends_with_a_line_break,
        lines_that(
            sound, refuses=lambda bad, all: bool(bad) and len(bad) / len(all) > 0.5
        ),
    ],
}


class TestWhatSurvives(Lesson):
    wrong = WRONG
    right = RIGHT
    panels = PANELS
