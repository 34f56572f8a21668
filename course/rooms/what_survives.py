"""Lesson 10: six kinds of thing, the pin, the threads of a summary, and the gate."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from agentlib.api.spending import PRICED_AS, dollars, rates
from agentlib.auto_compact import summary_text
from agentlib.estimation import estimate_tokens
from agentlib.messages import Block, blocks, said_in
from agentlib.presets import DEFAULT
from course import real_model
from course.checks.what_survives import gate, pin, said
from course.page import print_lines
from course.panels.survives import breaks_at as breaks_at
from course.panels.survives import kinds_panel as kinds_panel
from course.panels.survives import shares
from course.panels.survives import threads_panel as threads_panel
from windtunnel.runner import Run
from windtunnel.tasks.kinds import LINE, spoken
from windtunnel.tasks.kinds import marks as marks
from windtunnel.tasks.kinds import play_kinds as play_kinds

# -- what the cells show ---------------------------------------------------------------

WORDS = DEFAULT.scaled(32_000).words_tokens
ON: dict[str, Any] = {
    "none": {},
    "pin": {"pin": pin},
    "both": {"pin": pin, "gate": gate},
    "words": {"words": WORDS},
}
"""The finished functions of the stored runs, by the name of the layers that are on, and
DEFAULT's room for the person's words."""


def print_said(run: Run) -> None:
    """Print the person's words in order, and where the agent compacted."""
    seen = [each.seen for each in run.session.compactions]
    for place, message in enumerate(run.session.history, 1):
        for speaker, text in spoken(message):
            if speaker == "person":
                print(
                    "   -- a summary takes the place of all this --\n"
                    * (place in seen),
                    end="",
                )
                print_lines(f"> {text}", 3)


def edited(run: Run) -> list[str]:
    """Name the files below vendor/ that the run edited, in order."""
    return [
        call["input"]["path"]
        for message in run.session.history
        for call in blocks(message)
        if _edits_vendor(call)
    ]


def _edits_vendor(call: Block) -> bool:
    inputs = call.get("input", {})
    return "new_text" in inputs and inputs["path"].startswith("vendor/")


def print_work(run: Run) -> None:
    """Print which files below vendor/ were edited, and what the agent said of the
    renaming."""
    print("\nedited below vendor/:", ", ".join(edited(run)) or "nothing")
    texts = [text for message in run.session.history for _, text in spoken(message)]
    print_lines(next(text for text in texts if text.startswith("Renamed")))


def lines_of_summaries(run: Run) -> dict[str, dict[str, int]]:
    """Count the lines of each summary by their kind, for a table."""
    kinds = ("file", "ran", "fact", "rule", "request")
    rows = dict[str, dict[str, int]]()
    for number, compaction in enumerate(run.session.compactions, 1):
        text = summary_text(compaction.message) if compaction.message else ""
        counts = Counter(match[1] for match in LINE.finditer(text))
        rows[f"summary {number}"] = {kind: counts[kind] for kind in kinds}
    return rows


def words_stay() -> dict[str, dict[str, str]]:
    """Return how many of twenty tasks kept the rule in their work, and the question in
    a request, after one, three and five compactions."""
    rows = dict[str, dict[str, str]]()
    for name, layers in {
        "the summary alone": "none",
        "the pin": "pin",
        "the words stay": "words",
    }.items():
        stored = shares(layers, 600, "heeds")
        told = [stored["constraint"][n - 1][2] for n in (1, 3, 5)]
        asked = [stored["open question"][n - 1][0] for n in (1, 3, 5)]
        rows[name] = {
            "rule obeyed": ", ".join(f"{20 * share:.0f}" for share in told),
            "question kept": ", ".join(f"{20 * share:.0f}" for share in asked),
        }
    return rows


def show_real_runs() -> None:
    """Show ten generated tasks with a real model, if there are any."""
    real_model.show("rule", "facts")


def print_block(run: Run) -> None:
    """Print the words that stand beside a run's last summary."""
    summary = run.session.compactions[-1].message or {"content": ""}
    for text in (each for block in blocks(summary) for each in said_in(block)):
        print_lines(f"[said] {text}", 2)


def costs(pinned: Run, lines: Sequence[str], lost: Run) -> dict[str, dict[str, Any]]:
    """Return what the lines of a pin cost in a run, and what the forbidden edits of
    another cost.

    Each request after the first compaction reads the lines from the cache, and each
    compaction writes them to it.
    """
    tokens = estimate_tokens([said(*lines)])
    rate = rates(PRICED_AS)
    seen = [each.seen for each in pinned.session.compactions]
    requests = sum(sent.seen >= seen[0] for sent in pinned.session.requests)
    paid = requests * rate["cache_read"] + len(seen) * rate["cache_write_5m"]
    edits = [
        dollars(sent.usage, PRICED_AS)
        for sent in lost.session.requests
        if any(map(_edits_vendor, blocks(sent.reply)))
    ]
    return {
        "pin": {"requests": requests, "cents": tokens * paid / 10_000},
        "edits": {"requests": len(edits), "cents": 100 * sum(edits)},
    }
