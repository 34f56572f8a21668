"""The exercises of lesson 10."""

from itertools import permutations
from typing import Any

from agentlib.auto_compact import summary_message
from agentlib.messages import Block, Message, blocks
from course.checking import Answer, call_block, exercise, require, result_block, shown
from offline_api.model.prompts import rules_in
from windtunnel.tasks.kinds import claim, says, spoken


def pin(messages: list[Message]) -> list[str]:
    """Return the person's rules in their own words, each once."""
    lines: list[str] = []
    for message in messages:
        for speaker, text in spoken(message):
            if speaker == "person":
                lines += rules_in(text)
    return list(dict.fromkeys(lines))


RULE = "Rule: never edit files under vendor/."
TESTS = "Decision: the tests are `make test`."
TOP = "The first line of every report must be '# For Ada'."
CONSENT = "Yes, you may edit files under lib/."


def said(*texts: str) -> Message:
    """Make a message of the person's."""
    return {
        "role": "user",
        "content": [{"type": "text", "text": text} for text in texts],
    }


def did(text: str, result: str, **inputs: str) -> list[Message]:
    """Make a text of the model with a call, and its result."""
    words: list[Block] = [{"type": "text", "text": text}] if text else []
    call = call_block(1, "bash" if "command" in inputs else "read_file", **inputs)
    answer: Message = {"role": "user", "content": [result_block(1, result)]}
    return [{"role": "assistant", "content": [*words, call]}, answer]


FOLDERS = (*"abcdefghij", "vendor", "Vendor")
MANY = [f"Rule: never edit files under {folder}/." for folder in FOLDERS]
LINES = [RULE, TESTS, TOP, CONSENT]
READ = did("", f"# {RULE}\nLIMIT = 7", path="a.py")


@exercise("10.1", "only the person's rules stay, in order and each once.", finished=pin)
def _pin(answer: Answer) -> None:
    """spoken(message) gives pairs of speaker and text. Whose texts count?

    rules_in(text) is a list. Add it for the texts of the "person", and leave out what
    you have.
    """
    work = "Read every file."
    summary = summary_message(f"- [rule] {RULE}", "t", RULE)
    telling = did(f"- [rule] {TESTS}", "1 file", command="ls")
    also = [
        *READ[:1],
        {**READ[1], "content": [*READ[1]["content"], *said(TESTS)["content"]]},
    ]
    first = [str(answer.call([said(rule)])) for rule in (RULE, TESTS, RULE)]
    require(
        first[0] == first[2],
        "it returns lines of an earlier call; keep nothing between calls.",
    )
    for lines in (LINES, LINES[::-1]):  # no set has both orders
        result = answer.call([*map(said, lines)])
        moved = result != lines and result in map(list, permutations(lines))
        require(
            not moved,
            "the order has changed: return the lines in the order of the messages.",
        )
    cases: dict[str, Any] = {
        "nothing was said yet": ([], []),
        "a rule beside a request": ([RULE], [said(f"{RULE} {work}")]),
        "a file has a rule of its own": ([], [said(work), *READ]),
        "the model says a rule": ([], [said(work), *telling]),
        "a summary tells a rule": (
            [],
            [summary_message(f"- [rule] {RULE}", "t", work)],
        ),
        "the rule stands beside a summary": ([RULE], [summary, *telling]),
        "a second rule comes later": ([RULE, TESTS], [said(RULE), *READ, said(TESTS)]),
        "a second rule comes with a result": ([RULE, TESTS], [said(RULE), *also]),
        "the person says it twice": (
            [RULE, TESTS],
            [said(RULE), said(f"{RULE} {TESTS}")],
        ),
        "the rule comes again later": (
            [RULE, TESTS],
            [*map(said, (RULE, TESTS, RULE))],
        ),
        "the person has twelve rules": (MANY, [*map(said, MANY)]),
        "the person says two things at once": ([RULE], [said(RULE, work)]),
        "the model writes a rule into a file": (
            [],
            [said(work), *did("", "ok", content=RULE)],
        ),
    }
    for case, (right, messages) in cases.items():
        require_lines(case, right, answer.call(messages))


def first_of(lines: list[Any]) -> str:
    """Return the first of some lines for a sentence, or "" if there is none."""
    return shown(lines[0]) if lines else ""


def require_lines(case: str, right: list[str], result: Any) -> None:
    """Require these lines, and name the first that is missing, too many or moved."""
    listed = isinstance(result, list | tuple)
    require(listed, f"{case}: return a list of lines, not {shown(result)}.")
    lines = list(result)
    lost = [line for line in right if line not in lines]
    more = [line for line in lines if line not in right]
    require(not lost, f"{case}: the line {first_of(lost)} is missing.")
    require(not more, f"{case}: the line {first_of(more)} is too many.")
    twice = f"{case}: there are {len(lines)} lines, and {len(right)} are right."
    require(len(lines) == len(right), twice)
    moved = [each for each, line in zip(right, lines, strict=True) if each != line]
    order = f"{case}: the order has changed, from {first_of(moved)} on."
    require(not moved, order)


def rests_on(line: str, messages: list[Message]) -> int | None:
    """Return the index of the first message that says what a line claims."""
    witness, words = claim(line)
    for index, message in enumerate(messages):
        for speaker, text in spoken(message):
            if speaker in (witness, "summary") and says(text, words):
                return index
    return None


@exercise(
    "10.2",
    "each line rests on its own witness, an invented one on none.",
    finished=rests_on,
)
def _rests_on(answer: Answer) -> None:
    """A text of the line's witness says its words, or the summary that was there
    before.

    for index, message in enumerate(messages), and in it for speaker, text in
    spoken(message).
    """
    migrated = did("I run it.", "(no output)", command="python migrate.py")
    talk = [said(RULE), *READ, said("Run migrate.py."), *migrated, said(CONSENT)]
    summary = summary_message(f"- [rule] {RULE}", "t")
    tells: Message = {
        "role": "assistant",
        "content": "- [ran] migrate.py\nmigrate.py has run.",
    }
    beside: Message = {
        "role": "user",
        "content": [result_block(1, RULE), *blocks(said("Go on."))],
    }
    found = [result_block(1, "LIMIT = 7"), result_block(2, "empty")]
    both: Message = {"role": "user", "content": found}
    told = [
        said("Go on."),
        summary_message("- [fact] LIMIT = 7\n- [ran] migrate.py", "t"),
    ]
    ran = "- [ran] migrate.py"
    noted = summary_message("- [file] migrate.py | 3 lines", "t")
    cases = {
        "the person said it first": (0, f"- [rule] {RULE}", talk),
        "the person said it last": (6, f"- [rule] {CONSENT}", talk),
        "a summary has it, too": (0, f"- [rule] {RULE}", [*talk, summary]),
        "nobody said it": (
            None,
            "- [rule] Yes, you may edit files under vendor/.",
            talk,
        ),
        "only a file says this rule": (None, f"- [rule] {RULE}", talk[1:]),
        "a file has it": (2, "- [fact] LIMIT = 7", talk),
        "a file has it in other letters": (
            None,
            "- [fact] LIMIT = 7",
            did("", "limit = 7", path="a.py"),
        ),
        "only the model said it": (None, "- [fact] I run it.", talk),
        "a line is a part of a prohibition": (
            None,
            "- [rule] edit files under vendor/.",
            talk,
        ),
        "a file says it beside the person's text": (None, f"- [rule] {RULE}", [beside]),
        "the model ran it": (4, "- [ran] migrate.py", talk),
        "the person only asked for it": (None, "- [ran] migrate.py", talk[:4]),
        "the model only spoke of it": (
            None,
            "- [ran] migrate.py",
            [*talk[:4], tells],
        ),
        "the last summary has it": (0, f"- [rule] {RULE}", [summary, *READ]),
        "a summary comes before the person's words": (
            0,
            f"- [rule] {RULE}",
            [summary, *talk],
        ),
        "the first of two results has it": (0, "- [fact] LIMIT = 7", [both]),
        "only the summary has this fact": (1, "- [fact] LIMIT = 7", told),
        "only the summary has this step": (1, "- [ran] migrate.py", told),
        "the summary has only a note on that file": (None, ran, [noted]),
        "a listing names the script, and the call beside it ran something else": (
            None,
            ran,
            did("", "limits.py\nmigrate.py", command="ls"),
        ),
        "a tool's result says that it ran": (
            None,
            ran,
            did("", "- [ran] migrate.py", command="cat log"),
        ),
        "the model wrote this rule into a file": (
            None,
            f"- [rule] {RULE}",
            did("", "ok", content=RULE),
        ),
        "the person says this fact, and no file does": (
            None,
            "- [fact] LIMIT = 7",
            [said("LIMIT = 7")],
        ),
        "the model read the script": (None, ran, did("", "file", path="migrate.py")),
        "the model removed the script": (
            None,
            ran,
            did("", "(no output)", command="rm migrate.py"),
        ),
        "the model ran a script whose name ends so": (
            None,
            ran,
            did("", "(no output)", command="python old_migrate.py"),
        ),
        "the model wrote of the step into a file": (
            None,
            ran,
            did("", "ok", content="[ran] migrate.py"),
        ),
        "only the model said this rule": (
            None,
            f"- [rule] {CONSENT}",
            [said("Go on."), {"role": "assistant", "content": CONSENT}],
        ),
        "the model wrote this fact into a file": (
            None,
            "- [fact] LIMIT = 7",
            did("", "ok", content="LIMIT = 7"),
        ),
        "the model ran a file, and nobody read it": (
            None,
            "- [file] lib/a.py",
            did("", "(no output)", command="python lib/a.py"),
        ),
        "a summary has the words as a part of a prohibition": (
            None,
            "- [rule] edit files under vendor/.",
            [summary, *READ],
        ),
        "the second of two results has it": (
            0,
            "- [fact] LIMIT = 7",
            [{"role": "user", "content": found[::-1]}],
        ),
    }
    answer.agree(cases)


trace = rests_on
"""The lesson's name for the function that `use` chose."""


def gate(summary: str, messages: list[Message]) -> str | None:
    """Drop the lines that rest on nobody. Refuse a summary in which most lines are
    such."""
    lines = summary.splitlines()
    claims = [line for line in lines if any(claim(line))]
    invented = [line for line in claims if trace(line, messages) is None]
    if 2 * len(invented) > len(claims):
        return None
    return "\n".join(line for line in lines if line not in invented)


@exercise(
    "10.3", "it drops what nobody said, and refuses a bad summary.", finished=gate
)
def _gate(answer: Answer) -> None:
    """any(claim(line)) is False for a heading or a count, and such a line stays.

    Collect the claims for which `trace(line, messages)` is None. More than half? Return
    None.
    """
    talk = [said(f"{RULE} {CONSENT}"), *READ]
    head = "## Key decisions"
    rules = [f"- [rule] {RULE}", f"- [rule] {CONSENT}"]
    fact = "- [fact] LIMIT = 7"
    good = [head, *rules, fact]
    count = "- [progress] 0 files done"
    sections = [
        "## Facts",
        fact,
        "",
        head,
        rules[1],
        rules[0],
        "",
        "## Files",
        f"  {fact}",
    ]
    bad = [
        "- [rule] Yes, you may edit files under vendor/.",
        "- [ran] migrate.py",
        "- [fact] X.",
    ]
    cases = (
        ("the only line rests on a file", [fact], [fact]),
        ("a line rests on the first message, whose index is 0", rules[:1], rules[:1]),
        ("each line rests on a message", good, good),
        ("one line is invented", [*good, bad[0]], good),
        ("half of the claims are invented", [*bad, *good], good),
        ("most claims are invented", [*[head] * 3, *rules[:1], *bad[:2]], None),
        ("three of five claims are invented", [*rules, *bad], None),
        ("ten of nineteen claims are invented", [*bad[:1] * 10, *[fact] * 9], None),
        ("there are three sections", [*sections, bad[0]], sections),
        ("no line claims anything", [head, count], [head, count]),
        ("the summary is empty", list[str](), list[str]()),
    )
    results = [answer.call("\n".join(lines), talk) for _, lines, _ in cases]
    never = "with a gate that always refuses the agent never compacts"
    require(any(each is not None for each in results), f"return the summary; {never}.")
    for (case, _, right), result in zip(cases, results, strict=True):
        wanted = "the answer is None, so that the model is asked again"
        if right is None:
            require(result is None, f"{case}: {wanted}.")
            continue
        text = f"{case}: return the summary, a text, not {shown(result)}."
        require(isinstance(result, str), text)
        given = result.splitlines()
        lost = [line for line in right if line and line not in given]
        kept = [line for line in given if line not in right]
        require(not lost, f"{case}: the line {first_of(lost)} is gone.")
        require(not kept, f"{case}: the line {first_of(kept)} is still there.")
        all_stay = (
            f"{case}: the lines should stay in their order, blank ones and doubles too"
        )
        order = f"{all_stay}; a heading is the heading of the lines that follow it."
        require(given == right, order)
    alone = answer.call(head, [])
    require(
        isinstance(alone, str),
        f"there are no messages and no claims: return the summary, not {shown(alone)}.",
    )
    unsaid = answer.call("\n".join(good), [said(RULE), *READ])
    kept = [line for line in good if line != rules[1]]
    require(
        isinstance(unsaid, str) and unsaid.splitlines() == kept,
        f"without the person's consent in the messages the line {rules[1]!r} rests on "
        "nobody, and should go.",
    )
