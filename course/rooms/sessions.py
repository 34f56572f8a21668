"""Lesson 09: what a session's file says and doesn't say, and what to put back."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pandas has no complete types.

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pandas import DataFrame

from agentlib.api.spending import PRICED_AS
from agentlib.estimation import prompt_tokens
from agentlib.messages import Message, blocks
from agentlib.session import file as session_file
from agentlib.transcripts import Session
from course.checks.sessions import COMPACTS as COMPACTS
from course.checks.sessions import ROOM as ROOM
from course.figures import charts
from course.panels.sessions import own_sessions_panel as own_sessions_panel
from course.panels.sessions import sessions_panel as sessions_panel
from session_report import keep, kept
from session_report import load as load
from session_report.need import named_blocks, said
from session_report.one import compactions
from session_report.one import losses as losses
from session_report.one import responses as responses
from session_report.one import window as window
from session_report.policies import KEEPS_ALL as KEEPS_ALL
from session_report.put_back import covered as covered
from session_report.put_back import forgotten as forgotten
from session_report.style import GREY, RED, Chart
from session_report.weights import Weights
from session_report.what_if import choices as choices
from session_report.what_if import set_this as set_this
from session_report.what_if import what_if as what_if
from session_report.what_if import window_of
from windtunnel.tasks.generated import generated as generated
from windtunnel.trade import EVIDENCE as EVIDENCE

STORED = Path(__file__).with_name("claude_code_run.json")
"""A run of Claude Code against the offline API, over a copy of 45 files of this
package.

It holds numbers and summaries, no file and no path of the machine. `make test-adapters`
runs the program again, over another package.
"""


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
    every = [kept.compacted(load(path)) for path in (file, copy)]
    counts = [one.kept[kept.MESSAGES] for [one] in every]
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
