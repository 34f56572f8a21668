"""Lesson 09: what a session's file says and doesn't say, and what to put back."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pandas has no complete types.

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pandas import DataFrame

from agentlib import presets
from agentlib.api.spending import PRICED_AS
from agentlib.estimation import prompt_tokens
from agentlib.messages import Message, blocks
from agentlib.session import file as session_file
from agentlib.transcripts import Session
from course.checking import Answer, exercise, require
from course.figures import charts
from session_report import keep, kept
from session_report.need import named_blocks, said
from session_report.one import compactions
from session_report.policies import KEEPS_ALL
from session_report.put_back import NEEDED, covered, forgotten
from session_report.style import GREY, RED, Chart
from session_report.weights import Weights
from session_report.what_if import window_of
from windtunnel.runner import play
from windtunnel.tasks.generated import generated

COMPACTS = replace(presets.CLAUDE_CODE.scaled(32_000), restore_files=0)
"""How the lesson's tasks are compacted in a replay, with nothing put back."""
ROOM = 600
"""Tokens that a rule may put back after a compaction."""
STORED = Path(__file__).with_name("claude_code_run.json")
"""A run of Claude Code against the offline API, over a copy of 45 files of this
package.

It holds numbers and summaries, no file and no path of the machine. `make test-adapters`
runs the program again, over another package.
"""
Piece = dict[str, Any]

# -- the exercises ---------------------------------------------------------------------


def silent_falls(sizes: Sequence[int], compacted: Sequence[int]) -> list[int]:
    """Return the prompts that shrank by more than 3 % without a compaction."""
    shrunk = [n for n in range(2, len(sizes) + 1) if sizes[n - 1] < 0.97 * sizes[n - 2]]
    return [n for n in shrunk if n not in compacted]


@exercise(
    "09.1", "these prompts shrank, and the file doesn't say why.", finished=silent_falls
)
def _falls(answer: Answer) -> None:
    """Compare each prompt with the one before it. zip(sizes, sizes[1:]) gives the
    pairs.

    The first pair ends with prompt 2: enumerate(…, 2).
    """
    cases = {
        "the second prompt has 60 tokens after 100": ([2], [100, 60, 70], []),
        "the file notes a compaction before prompt 2": ([], [100, 60, 70], [2]),
        "97 of 100 is not less than 97 %": ([], [100, 97, 98], []),
        "96 of 100 is less than 97 %": ([2], [100, 96, 97], []),
        "966 of 1,000 is less than 97 %, by a little": ([2], [1_000, 966, 990], []),
        "145 of 150 is less than 97 %, by half a token": ([2], [150, 145, 150], []),
        "the first prompt is the smallest, and has none before it": (
            [],
            [100, 200, 300],
            [],
        ),
        "an empty session has no prompt": ([], [], []),
        "the file notes one of three": (
            [6, 7],
            [999, 2_000, 500, 800, 780, 300, 200],
            [3],
        ),
        "two are noted, with falls beside them": (
            [2, 6],
            [900, 700, 400, 800, 300, 250],
            [3, 5],
        ),
    }
    answer.agree(cases)


def repeats_lost(reply: str, lost: str, context: str) -> bool:
    """Tell whether a reply repeats 40 characters that only the lost text has."""
    pieces = [reply[i : i + 40] for i in range(len(reply) - 39)]
    return any(piece in lost and piece not in context for piece in pieces)


@exercise(
    "09.2",
    "a run of 40 characters is enough, wherever it stands.",
    finished=repeats_lost,
)
def _needed(answer: Answer) -> None:
    """Take every run of 40 characters: reply[i : i + 40]. How many of them are there?

    for i in range(len(reply) - 39): a run that is in `lost` and not in `context`
    decides.
    """
    glibc = "the oldest glibc that our users have is 2.17"
    greeting = "The first line of every report must be a greeting to Ada."
    here = f"As you said, {glibc}."
    there = f"Hello. {glibc}! Yes."
    other = f"{glibc[:39]}n't known to anybody."
    part = "the context has a part of the quote, but less than 40 characters of it"
    cases = {
        "a reply repeats what only the lost text has": (True, here, there, "Read on."),
        "the context still has the same words": (
            False,
            here,
            there,
            f"He said, {glibc}, too.",
        ),
        "only 39 characters are the same": (False, other, there, "Read on."),
        "only 39 are the same, between line breaks": (
            False,
            f"So\n{glibc[:39]}\nnow",
            there,
            "Read on.",
        ),
        "only a short end is the same": (
            False,
            f"{'-' * 40} is 2.17",
            there,
            "Read on.",
        ),
        "capitals are other characters": (False, glibc.upper(), there, "Read on."),
        "the reply has fewer than 40 characters": (
            False,
            "our users have",
            there,
            "Read on.",
        ),
        part: (True, glibc, there, "the oldest glibc"),
        "the reply quotes two texts, and the context has the first": (
            True,
            f"{greeting} {here}",
            f"{there} {greeting}",
            f"Rule: {greeting}",
        ),
        "the reply ends with 40 of the quote": (
            True,
            f"?{glibc[4:]}",
            there,
            "Read on.",
        ),
        "a blank at the end is the 40th": (True, glibc[:40], there, "Read on."),
    }
    answer.agree(cases)


def small_and_new(piece: Piece) -> float:
    """Score a piece: likely to be needed, new and small ones first."""
    rates = {"the model's words": 0.58, "the person's words": 0.36, "results": 0.08}
    rate = rates.get(piece["what"], 0.03)
    return rate / (1 + piece["age"] / 20) / (piece["tokens"] + 40)


@exercise("09.3", finished=small_and_new)
def _score(answer: Answer) -> str:
    """Look at the table: which kinds are often needed, and how large are they?

    Divide how often a kind is needed by its tokens: rate / (piece["tokens"] + 40).

    An old piece is needed less often: divide by (1 + piece["age"] / 20), too.
    """
    sessions = [play(generated(seed), KEEPS_ALL).session for seed in range(5, 10)]
    pieces = [piece for session in sessions for piece in forgotten(session, COMPACTS)]
    first = {name: value for name, value in pieces[0].items() if name != NEEDED}
    scored = answer.function(dict(first))
    require(
        scored is not None,
        f"for the piece {first} it returned nothing; return a number.",
    )
    share = 100 * covered(answer.function, pieces, ROOM)
    says = f"on five other sessions it covers {share:.0f} % of what was needed"
    require(share >= 70, f"{says}; find a rule that covers at least 70 %.")
    return f"{says}."


# -- what the cells show ---------------------------------------------------------------


def as_claude_code(session: Session, file: Path) -> str:
    """Write the session as Claude Code would, with no line about clearings, after each
    last word.

    Returns "", which lets the run go on.
    """
    assert session.path, "a run keeps its session in a file"
    if session.history[-1]["role"] == "user":  # the model has results to look at
        return ""
    ours = {session_file.SETTINGS, session_file.MICRO}
    parents = dict[str, Any]()
    lines: list[str] = []
    for text in session.path.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        parent = parents.get(line.get("parentUuid"), line.get("parentUuid"))
        if line.get("subtype") in ours:
            parents[line["uuid"]] = parent
            continue
        line |= {"parentUuid": parent, "version": "2.1.0"}
        line.pop(session_file.SUM)
        if line["type"] == "assistant":
            line["message"]["model"] = PRICED_AS
        if line.get("isCompactSummary"):  # there the person's words don't stay
            texts = blocks(line["message"])
            own = [text for text in texts if not text["text"].startswith(keep.SAID)]
            line["message"]["content"] = own
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    file.write_text("".join(lines), encoding="utf-8")
    return ""


def turn_chart(session: Session, title: str) -> Chart:
    """Draw the prompts of a session as they were billed."""
    weights = Weights(session)
    compacted = {row["turn"]: row for row in compactions(session)}
    rows = list[dict[str, Any]]()
    for turn, request in enumerate(session.requests, 1):
        tokens = prompt_tokens(request.usage)
        row = compacted.get(turn, {})
        weights.prompt(request.context)
        marks = {
            "compaction": row.get("trigger"),
            "replaced_tokens": row.get("before", 0),
        }
        rows.append({**weights.kinds(tokens), "tokens": tokens, **marks})
    levels = {"window": window_of(session), "threshold": 0, "summary_request": 0}
    return charts.turns(DataFrame(rows).assign(**levels), title=title)


def claude_code_run() -> SimpleNamespace:
    """Return the stored run of Claude Code, for a reader who doesn't have the program.

    `version`, what was `asked`, the tokens of the `window`, the `files` to describe and
    those that its report `described`, and the tokens of its `prompts`, without those
    for summaries. Each of its `compactions` has the `turn` before which it happened,
    the tokens `before` and `after`, and the `summary`. `billed` is the server's count
    of all requests.

    >>> run = claude_code_run()
    >>> len(run.files), len(run.described), [each.before for each in run.compactions]
    (45, 45, [70428, 69222, 68073, 66412])
    """
    text = STORED.read_text(encoding="utf-8")
    return json.loads(text, object_hook=lambda part: SimpleNamespace(**part))


def through_the_hook(file: Path) -> DataFrame:
    """Put a sample with a compaction through `agentlib-keep`, and count which messages
    of the person stand in the context after it, without the hook and with it.

    The hook gets the lines before the compaction, as it does in Claude Code. Its text
    is noted behind the summary, in a copy of the sample, and the copy is measured.
    """
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    kinds = [json.loads(line) for line in lines]
    boundary = [line.get("subtype") for line in kinds].index(session_file.COMPACT)
    summary = [bool(line.get("isCompactSummary")) for line in kinds].index(True)
    copy = file.with_name("hooked.jsonl")
    copy.write_text("".join(lines[:boundary]), encoding="utf-8")
    output = json.loads(
        keep.answer(json.dumps({"transcript_path": str(copy)}).encode())
    )
    text = output["hookSpecificOutput"]["additionalContext"]
    note = {"type": "hook_additional_context", "hookEvent": "SessionStart"}
    line = {"type": "attachment", "attachment": {**note, "content": [text]}}
    lines.insert(summary + 1, f"{json.dumps(line)}\n")
    copy.write_text("".join(lines), encoding="utf-8")
    [measured] = kept.measured(copy)
    counts = [measured.kept[kept.MESSAGES], measured.with_hooks[kept.MESSAGES]]
    rows = {
        "your messages": [len(flags) for flags in counts],
        "kept whole": [sum(flags) for flags in counts],
        "added": [0, keep.tokens(text)],
    }
    return DataFrame(rows, index=["without the hook", "with the hook"])


def told(messages: Sequence[Message]) -> str:
    """Join the texts, the calls and the results of messages."""
    return "\n".join(
        said(block) for message in messages for _, block in named_blocks(message)
    )


def bars(shares: Mapping[str, float], title: str) -> Chart:
    """Draw shares as named bars. The last one is the learner's."""
    chart = Chart(0.9 + 0.36 * len(shares), title)
    axes = chart.frame(2.1, 0.35, 4.6, 0.36 * len(shares), "")
    colours = [GREY] * (len(shares) - 1) + [RED]
    drawn = axes.barh(range(len(shares)), list(shares.values()), 0.7, color=colours)
    axes.bar_label(drawn, [f" {100 * share:.0f} %" for share in shares.values()])
    axes.set_yticks(range(len(shares)), list(shares))
    axes.set(xlim=(0, 1.08), xticks=[])
    axes.invert_yaxis()
    return chart
