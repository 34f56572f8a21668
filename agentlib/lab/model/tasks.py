"""The next step of the reading tasks: read, report, read until compaction, compact.

Each function takes what can be seen and returns one answer. Nothing is remembered between two
answers. Not here: what is asked for (prompts), listing and reading (files), the other tasks
(tracing, renaming).
"""

import re
from collections.abc import Sequence
from itertools import accumulate

from agentlib.lab.model import report
from agentlib.lab.model.acting import Reply, bash, gives_up, quoted, say, use
from agentlib.lab.model.calls import Call
from agentlib.lab.model.files import (
    Listing,
    listed_again,
    listing,
    next_reads,
    take_notes,
    too_long,
)
from agentlib.lab.model.notes import last
from agentlib.lab.model.prompts import Task, refusal
from agentlib.lab.model.reading import View
from agentlib.lab.model.report import counted

FOCUS = "rules and decisions of the user, facts"
"""What its own compaction is to keep."""
PASSES = 3
_FRAME = 150
"""Tokens of an answer that writes: its two calls, the report's name, its first lines."""
_SHOWN = 40
_END, _START = "END_OF_PART", "(start)"


def read(view: View, task: Task) -> Reply:
    """Read every file, one by one, noting what is found; then the report, or a closing word."""
    found = (take_notes(view), _found_replaced(view, task), _found_written(view, task))
    text = "\n".join(part for part in found if part)
    view = view.noting(text)
    if sentence := gives_up(view):
        return say(f"{text}\n{sentence}")
    if call := _failed_writing(view):
        return _after_failure(task, text, call)
    step, view, text, seen = _read_on(view, task, text)
    if step:
        return step
    if not view.done_count:
        return say(f"{text}\nI found no {_kind(task)} in {_place(task)}.")
    if task.kind == "report":
        return _report(view, task, text, seen)
    return say(f"{text}\n{_closing(view, task, seen)}")


def _read_on(view: View, task: Task, text: str) -> tuple[Reply | None, View, str, Listing]:
    """The next listing or reading, None where all is read; and what is known and said by then."""
    seen = listing(view, task)
    if seen.call or seen.remark:
        call = [seen.call] if seen.call else []
        return say(f"{text}\n{seen.remark}", *call), view, text, seen
    if skipped := too_long(view, seen.todo):
        text, view = f"{text}\n{skipped}", view.noting(skipped)
        seen = listing(view, task)
    step = say(text, *next_reads(view, seen.todo)) if seen.todo else None
    return step, view, text, seen


def _kind(task: Task) -> str:
    return f".{task.endings[0]} file" if task.endings else "file"


def _place(task: Task) -> str:
    return "this workspace" if task.folder == "." else f"{task.folder}/"


def _paths(view: View, seen: Listing) -> list[str]:
    """The files that are done, in the order of the listing."""
    return sorted({*view.done, *(file.path for file in seen.files)})


def _closing(view: View, task: Task, seen: Listing) -> str:
    """How many files were read, and in a line each what they are, as far as it can be seen."""
    paths = _paths(view, seen)
    notes = {path: view.notes[path].purpose for path in paths if path in view.notes}
    shown = min(_SHOWN, view.max_tokens // 60)
    lines = [f"{path}: {notes.get(path, report.LOST)}" for path in paths[:shown]]
    lines += [f"... and {len(paths) - shown} more"] if len(paths) > shown else []
    lost = sum(path not in notes for path in paths)
    said = f"I read {counted(len(paths))}{_lost(lost)}.{_elsewhere(view)}"
    said += f" {counted(seen.left_out)} of no source text I left out." if seen.left_out else ""
    return "\n".join([said, *lines])


def _lost(count: int) -> str:
    return f"; of {count} the details are lost" if count else ""


def _elsewhere(view: View) -> str:
    """A reminder that the folder asked for is not there."""
    missing = last(view.own, "missing")
    return (
        f" There is no directory {missing[0]}/, so they are the whole workspace's."
        if missing
        else ""
    )


def _report(view: View, task: Task, text: str, seen: Listing) -> Reply:
    """Write the report, in parts where it is long; say so when it stands."""
    paths = _paths(view, seen)
    total = max(len(paths), view.done_count)
    written = last(view.own, "written")
    upto = written[1] if written and written[1] != _START else ""
    if total > len(paths) and (call := listed_again(view, task, seen, upto)):
        return say(text, call)
    rest = [path for path in paths if path > upto]
    if not rest:
        return say(_written(view, task, total))
    texts, closing = report.sections(view, rest), report.closing(view, total)
    text = "\n".join([text, *(f"- Rule: {rule}" for rule in view.rules)])
    # An answer that is cut off writes nothing: what is said beside the sections needs room too.
    beside = _FRAME + (len(text) + len(closing)) // 3
    count = _fitting(texts, view.max_tokens - beside)
    content = "\n\n".join(texts[:count]) + "\n"
    if count == len(rest):
        content += closing
    text = f"{text}\nReport {task.report} up to {rest[count - 1]}"
    if upto:
        return say(text, bash(f"cat >> {quoted(task.report)} <<'{_END}'\n\n{content}{_END}"))
    content = f"{report.opening(view, f'Report on {counted(total)}')}\n{content}"
    looked = bash(_is_there(task))
    return say(text, looked, use("write_file", path=task.report, content=content))


def _fitting(texts: Sequence[str], room: int) -> int:
    """How many of the sections an answer of `room` tokens is sure to hold; at least one.

    In bytes: a Chinese character is about a token, and so are two letters of short words.
    """
    ends = accumulate(len(text.encode()) + 8 for text in texts)
    return max(1, sum(end <= 2 * room for end in ends))


def _failed_writing(view: View) -> Call | None:
    """The newest call, where it was to write a part of the report and did not."""
    call = view.newest
    if not call or not call.error:
        return None
    wrote = call.name == "write_file" or str(call.input.get("command", "")).startswith("cat >>")
    return call if wrote else None


def _after_failure(task: Task, text: str, call: Call) -> Reply:
    if call.interrupted:
        text = f"{text}\nThe writing was interrupted; I look how far it came."
        return say(text, bash(_far(task)))
    return say(f"{text}\nI could not write {task.report}: {call.text[:200]}")


def _is_there(task: Task) -> str:
    """Asked just before the report is written: whether that takes the place of an older file."""
    return f"test ! -e {quoted(task.report)} || echo 'there is one already'"


def _found_replaced(view: View, task: Task) -> str:
    """A note that a file of the report's name was there; it is overwritten, but not silently."""
    call = view.ran("bash", command=_is_there(task))
    there = call and call.text.startswith("there is one") and not last(view.own, "replaced")
    return f"Replaced {task.report}, which was there before" if there else ""


def _far(task: Task) -> str:
    """How far the report has come: its last heading of a file."""
    name = quoted(task.report)
    return f"grep '^## ' {name} 2>/dev/null | grep -v '^## Facts and decisions$' | tail -n 1"


def _found_written(view: View, task: Task) -> str:
    """What was found out about an interrupted writing, as a note."""
    call = view.newest
    if not call or call.input != {"command": _far(task)} or not call.visible:
        return ""
    heading = call.text.removeprefix("## ") if call.text.startswith("## ") else _START
    return f"Report {task.report} up to {heading}"


def _written(view: View, task: Task, total: int) -> str:
    """What was written, and of how many files the details were lost, counted where it stands."""
    parts = [str(call.input.get("content", call.input.get("command", ""))) for call in view.calls]
    lost = sum(part.count(f"\n{report.LOST}") for part in parts)
    headings = re.findall(r"^## (?!Facts and decisions$)", "\n".join(parts), re.MULTILINE)
    hidden = total - len(headings)
    gone = f"; {hidden} of the sections I can't see any more" if hidden > 0 else ""
    older = f" It replaces an older {task.report}." if last(view.own, "replaced") else ""
    return f"I wrote {task.report}: {counted(total)}{_lost(lost)}{gone}.{older}{_elsewhere(view)}"


def until(view: View, task: Task) -> Reply:
    """Read on, round and round, until a summary stands in the context or enough is enough."""
    text = take_notes(view)
    view = view.noting(text)
    if view.summarised:
        return say(
            f"{text}\nCompression has triggered: a summary stands in place of our conversation."
            f" I stop reading; I have been through {counted(view.done_count)}."
        )
    if sentence := gives_up(view, patience=10**9):
        return say(f"{text}\n{sentence}")
    step, view, text, seen = _read_on(view, task, text)
    if step:
        return step
    read = [call.path for call in view.calls if call.name == "read_file"]
    if not seen.files:
        return say(f"{text}\nI found no {_kind(task)} in {_place(task)}.")
    least = min(seen.files, key=lambda file: read.count(file.path))
    if read.count(least.path) >= PASSES:
        return say(
            f"{text}\nCompression did not trigger: I have read {counted(len(seen.files))}"
            f" {PASSES} times each and see no summary. A smaller window or threshold would do it."
        )
    return say(
        f"{text}\nNothing is left; I read {least.path} again.", use("read_file", path=least.path)
    )


def compact(view: View, task: Task) -> Reply:
    """Compact once, then say so; once more where the call was interrupted."""
    calls = [call for call in view.calls if call.name == "compact"]
    if view.summarised:
        return say("Done: the conversation is compacted, and I go on from its summary.")
    if any(call.made for call in calls):
        return say(
            "I called compact and see no new summary: there was nothing to compact yet, and our "
            "conversation stands as it was."
        )
    if "compact" not in view.tools:
        return say("I have no tool to compact the conversation with; the settings leave it out.")
    if len(calls) > 1 or any(not call.interrupted for call in calls):
        return say(f"The conversation is not compacted: {calls[-1].text[:200]}")
    return say("I compact the conversation.", use("compact", focus=task.focus or FOCUS))


def rules(view: View, task: Task) -> Reply:
    """Say back the rules that can be seen, or the summary if the person asks for it."""
    if task.focus == "summary":
        return say(view.summary or "I see no summary.")
    lines = [f"- Rule: {rule}" for rule in view.rules]
    nothing = "I see no rule." if view.request else "I see no request."
    return say("\n".join(["Understood:", *lines]) if lines else nothing)


def unknown(view: View, task: Task) -> Reply:
    """Refuse, and name the words that were not understood."""
    return {**say(refusal(view.request, task)), "stop_reason": "refusal"}
