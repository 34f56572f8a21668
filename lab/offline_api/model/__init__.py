"""The offline model: one reply to one request, from what the request holds and nothing
else.

`reply` is a pure function of the body. It knows no setting, no history and no file but
what it can see there. So what a layer takes away is gone for it, and it reads again, or
gets things wrong. It is no language model, and its behaviour is no evidence about one.

    habits                     the numbers of its behaviour
    hands, tools, results      the tools of other agents, and what they return
    places                     whole paths, and the paths in a listing
    conversation, view, notes  what it can see
    prompts                    what is asked of it
    reading, names             what it does next
    sources                    what it finds in a file
    summary                    what it writes when asked for a summary

Which of the course's results depend on which habit, at a window of 32,000 tokens:

    notes          what a report still knows after a compaction: without them no fact of
                   the review is left under learn-claude-code, hermes and the default
    summary        how much is lost with long summaries (hermes: 17 of 19 files undescribed
                   at 0.1, 11 at 0.2); short summaries are bounded by what is asked for
    decisions      whether facts or details go first: at 0.5 the review keeps 3 facts, not 1
    carried        what a chain of updates keeps: at 0 the review under the default loses the
                   person's rule and two of the four facts
    compacts_from  whether the agent compacts between two pieces of work: lesson 04
    page           the turns, from 42 to 58 at 0.1, and with them every sum of tokens
    batch, small, together
                   one or two turns where a package has small files
    rereads        the renaming: at 0 it leaves 4 of 29 places, whose lines are not unique, and
                   says so
    obeys_retold, believes_consent
                   what the agents of lesson 10 do with a rule that a summary retells, and with a
                   permission that it invents
    searches       what `recall` is worth after a compaction: without it, it never searches
    prompts        nothing in a lesson: the wind tunnel tells them, so that it understands a
                   program that puts other words around them
    patience, standstill
                   nothing but how long a hopeless run lasts
"""

from collections.abc import Callable, Mapping
from typing import Any

from offline_api.model.habits import AS_MEASURED as AS_MEASURED
from offline_api.model.habits import Habits
from offline_api.model.hands import ours, submitted, theirs
from offline_api.model.names import rename, trace
from offline_api.model.notes import Note, listed, note
from offline_api.model.prompts import Kind, Task, refusal, understand
from offline_api.model.reading import read, until
from offline_api.model.replies import Reply, answer, chosen, falls_short, say, stopped
from offline_api.model.summary import open_question, pending, stale_question, summarise
from offline_api.model.view import View, asked_title, conversation_of, view

HABITS = Habits()
FOCUS = "rules and decisions of the user, facts"
"""What its own compaction is to keep."""


def reply(body: Mapping[str, Any], habits: Habits = HABITS) -> Reply:
    """Answer a request: `{"content": [blocks], "stop_reason": str}`.

    `body` is the JSON of `POST /v1/messages`. The tool_use blocks have no `id`: the
    server gives them theirs. A text that ends at one of the `stop_sequences` comes with
    the stop_reason "stop_sequence" and the `stop_sequence` itself.

    >>> reply({"messages": [{"role": "user", "content": "Compact our chat by hand."}],
    ...        "tools": [{"name": "compact"}]})["content"][1]["name"]
    'compact'
    """
    own = ours(body)
    if title := asked_title(own):
        return stopped(say(title), body.get("stop_sequences") or ())
    prompt, messages = conversation_of(own, habits.prompts)
    seen = view(own, habits, messages)
    answer = (
        submitted(_next(seen), body) if prompt is None else say(summarise(seen, prompt))
    )
    return stopped(chosen(theirs(answer, body), body), body.get("stop_sequences") or ())


def asks_for_summary(body: Mapping[str, Any]) -> bool:
    """Tell whether a request asks for a summary of its conversation.

    >>> wish = "Write a detailed summary of our conversation so far, with all files."
    >>> talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hi"}]
    >>> asks_for_summary({"messages": [*talk, {"role": "user", "content": wish}]})
    True
    """
    own = ours(body)
    return not asked_title(own) and conversation_of(own)[0] is not None


def _next(seen: View) -> Reply:
    """Take the next step of the task."""
    task = understand(seen.request)
    if stale := stale_question(seen):
        seen, task = stale
    elif task.kind == "trace" and not task.names:
        if not (question := open_question(seen, pending(seen)[::-1])):
            return falls_short(seen, "I see no open question.")
        seen, task = question
    if _phase_ended(seen, task):
        text = "The last piece of work is finished and the window fills, so I compact first."
        return say(text, seen.use("compact", focus=FOCUS))
    step, needed = _STEPS[task.kind]
    if missing := next(
        (n for n in needed if not seen.tools.keys() & n.split(" or ")), None
    ):
        return falls_short(seen, f"I can't do that: I have no tool {missing}.")
    return step(seen, task)


def _phase_ended(seen: View, task: Task) -> bool:
    """Whether to compact before a new request is begun; at most once for each."""
    is_full = (
        seen.compacted_at and seen.size > seen.habits.compacts_from * seen.compacted_at
    )
    is_between = seen.first and seen.follows_work and not seen.summarised
    can = "compact" in seen.tools and task.kind in ("report", "read", "trace", "rename")
    return bool(is_full and is_between and can)


def _compact(seen: View, task: Task) -> Reply:
    """Compact once, then say what came of it."""
    calls = [call for call in seen.calls if call.name == "compact"]
    is_called = any(call.succeeded for call in calls)
    if seen.summarised or (seen.compacted and is_called):
        return say("Done: the conversation is compacted, and I go on from its summary.")
    if is_called and not (seen.follows_work or seen.summary):
        return say("There is nothing to compact yet: this conversation has just begun.")
    if is_called:
        there = "only the summary from before" if seen.summary else "no summary"
        return falls_short(
            seen, f"I called compact and see {there}: there was nothing to compact."
        )
    if calls:
        return falls_short(
            seen, f"The conversation is not compacted: {calls[-1].error[:200]}"
        )
    call = seen.use("compact", focus=task.focus or FOCUS)
    return say(f"I compact the conversation.\n{seen.before}", call)


def _rules(seen: View, task: Task) -> Reply:
    """Say back the rules that can be seen, or the summary if the person asks for it."""
    if task.focus == "summary":
        return say(seen.summary or "I see no summary.")
    lines = [note("rule", rule) for rule in seen.rules]
    if task.focus == "all":
        lines += map(str, listed(seen.known, "fact") + listed(seen.known, "ran"))
        lines += [note("request", text) for text in pending(seen)]
    if not (lines or seen.request):
        return falls_short(seen, "I see no request.")
    return say("\n".join(["Understood:", *lines]) if lines else "I see no rule.")


def _run(seen: View, task: Task) -> Reply:
    """Run a script, and note that; not if it is to run once and a note says that it has
    run."""
    script = task.names[0]
    told = Note("ran", (script,))
    is_told = told in seen.known and (
        seen.habits.trusts_done or str(told) not in seen.summary
    )
    call = seen.use("bash", command=f"python {script}")
    made = seen.ran(call)
    if made and made.succeeded:
        return answer(seen, f"{told}\n{script} has run.")
    if made:
        return falls_short(seen, made.error)
    if task.focus == "once" and is_told:
        return say(f"{script} has run already, so I leave it.")
    return say(f"I run {script}.", call)


def _unknown(seen: View, task: Task) -> Reply:
    """Refuse, and name the words that were not understood."""
    return falls_short(seen, refusal(seen.request, task))


_STEPS: Mapping[Kind, tuple[Callable[[View, Task], Reply], tuple[str, ...]]] = {
    "report": (read, ("bash or glob", "read_file", "write_file")),
    "read": (read, ("bash or glob", "read_file")),
    "until": (until, ("bash or glob", "read_file")),
    "compact": (_compact, ("compact",)),
    "trace": (trace, ("bash", "read_file")),
    "rename": (rename, ("bash", "read_file", "edit_file")),
    "run": (_run, ("bash",)),
    "rules": (_rules, ()),
    "unknown": (_unknown, ()),
}
"""What each kind of task does next, and the tools that it needs."""
