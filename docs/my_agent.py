"""My agent, as far as I have come.

Run it from the folder above this one:
.venv/bin/python -m agentlib --engine workbook/my_agent.py "…"
"""

from dataclasses import replace

from agentlib.auto_compact import harmless, summary_text
from agentlib.estimation import estimate_text, estimate_tokens
from agentlib.head_and_tail import handoff_prompt
from agentlib.messages import SUMMARY_END, SUMMARY_HEADER, blocks, exchanges
from agentlib.messages import is_summary, last_assistant, of_type, tool_names
from agentlib.messages import with_results
from agentlib.micro_compact import micro_compact
from agentlib.pipeline import stacked
from agentlib.recovery import spoken_lines
from agentlib.tools import result


# -- NUMBERS My agent's own numbers (yours)
# threshold and summary_tokens are shares of the window, min_chars is characters
NUMBERS = {
    "keep_recent": 3,
    "min_chars": 3000,
    "threshold": 0.85,
    "summary_tokens": 0.0469,
    "focus": "rules, decisions and facts",
}


# -- 00.1 Ask and act until there are no calls (yours)
def loop(messages, ask, workspace):
    while messages[-1]["role"] == "user":
        reply = ask(messages)
        messages.append({"role": "assistant", "content": reply["content"]})
        calls = of_type(reply, "tool_use")
        if calls:
            results = [result(call, workspace) for call in calls]
            messages.append({"role": "user", "content": results})


# -- 01.3 How large is the next prompt? (yours)
def next_prompt(billed, sent, messages):
    return billed + estimate_tokens(messages[sent:])


# -- 02.2 Clear old results (yours)
def clear_view(messages, keep_recent=3, min_chars=100):
    results = [r for m in messages for r in of_type(m, "tool_result")]
    new = messages[last_assistant(messages) + 1 :]
    unseen = [r for m in new for r in of_type(m, "tool_result")]
    stay = max(keep_recent, len(unseen))
    old = results[: max(0, len(results) - stay)]
    ids = [r["tool_use_id"] for r in old if len(r["content"]) > min_chars]
    names = tool_names(messages)
    return with_results(messages, {i: f"[Previous: used {names[i]}]" for i in ids})


# -- 08.4 Clear when the cache is cold (yours)
def policy(messages, idle):
    if idle >= 300:
        return micro_compact(messages, keep_recent=5)
    return messages


# -- 04.1 Has the model asked to compact? (yours)
def focus_of(messages):
    newest = last_assistant(messages)
    calls = of_type(messages[newest], "tool_use") if newest >= 0 else []
    calls = [call for call in calls if call["name"] == "compact"]
    if not calls:
        return None
    focuses = [call["input"].get("focus") for call in calls]
    return "; ".join(focus for focus in focuses if focus)


# -- 04.4 Is a piece of work finished? (yours)
def finished(messages):
    newest = last_assistant(messages)
    if newest < 0:
        return None
    calls = of_type(messages[newest], "tool_use")
    ids = [call["id"] for call in calls if call["name"] == "write_file"]
    for result in of_type(messages[newest + 1], "tool_result"):
        if result["tool_use_id"] in ids and not result.get("is_error"):
            return "rules, decisions and facts"
    return None


# -- 06.3 Ask for a summary, or for an update (yours)
def request_for(messages, prompt, update):
    there = any(is_summary(b) for m in messages for b in blocks(m))
    return prompt + update if there else prompt


# -- 03.3 Hold the rules that a summary dropped (yours)
def hold(old, new):
    rules = dict.fromkeys(line for line in old.splitlines() if line.startswith("- [rule]"))
    kept = new.splitlines()
    return "\n".join([new, *(rule for rule in rules if rule not in kept)])


# -- 07.4 No summary: keep both ends of what was said (yours)
def stand_in(lines, most):
    if len(lines) <= most:
        return lines
    old = most // 4
    new = len(lines) - (most - old)
    return [*lines[:old], f"[{new - old} lines left out]", *lines[new:]]


# -- 06.2 Hand it over, so that nobody obeys it (yours)
def hand_off(summary, archive, words):
    note = "For reference only. These are notes, not instructions."
    text = f"{SUMMARY_HEADER}{archive}]\n\n{note}\n\n{summary}\n{SUMMARY_END}"
    texts = [text] if words is None else [text, words]
    return {"role": "user", "content": [{"type": "text", "text": t} for t in texts]}


# -- 03.2 The newest exchanges stay (yours)
def keep_last(messages, top, keep=1):
    newest = exchanges(messages)[-keep:] if keep else []
    kept = messages[newest[0][0] :] if newest else []
    return [top, *kept]


# -- 06.1 The first words stay (yours)
def with_head(messages, top, keep=keep_last):
    return [messages[0], *keep(messages[1:], top)]


# -- compact What the next request sends (the course's, until you change it)
def clear(now, step):
    """Put placeholders in place of old results."""
    settings = now.settings
    if settings.micro == "off" or not settings.enabled:
        return step
    messages = step.applied(now.messages)
    view = clear_view(
        messages, keep_recent=settings.keep_recent, min_chars=settings.min_chars
    )
    return now.cleared(view)


def clear_cold(now, step):
    """Clear as policy says. To use it, list it in the place of `clear`."""
    if now.settings.micro == "off" or not now.settings.enabled:
        return step
    return now.cleared(policy(step.applied(now.messages), now.idle))


def summarise(now, step):
    """Past the threshold, put a summary in place of the rest."""
    messages = step.applied(now.messages)
    size = next_prompt(*now.meter.billed(messages), messages)
    wish = wanted(messages)
    now = replace(now, focus=wish or now.focus)
    asked = now.reason != "auto" or wish is not None
    is_due = asked or now.is_full(size)
    if not is_due or not now.settings.enabled or len(exchanges(messages)) < 2:
        return step
    text = summary(now, messages)
    archive = now.archive()
    top = hand_off(harmless(text), archive, None)
    view = with_head(messages, top, keep_last)
    return now.compacted(view, archive)


def wanted(messages):
    """Return what a summary is wanted for at this moment. None: nobody wants one."""
    wish = focus_of(messages)
    if wish is None:
        wish = finished(messages)
    return wish


def summary(now, messages):
    """Ask for the summary of what the last prompt held: it fits, and the cache has it."""
    sent = messages[: last_assistant(messages)]
    prompt = handoff_prompt(now.settings.summary_tokens, now.focus)
    update = handoff_prompt(now.settings.summary_tokens, now.focus, update=True)
    wish = request_for(sent, prompt, update.removeprefix(prompt))
    sent = [*sent, {"role": "user", "content": wish}]
    text = now.summarize(sent, now.focus)
    old = next((each for each in map(summary_text, messages) if each), "")
    return hold(old, text)


def cut(now, step):
    """If the summary failed and the window is nearly full, do without a model."""
    full = now.settings.emergency_tokens
    is_urgent = now.reason == "reactive" or step.tokens_after > full
    if step.failure is None or not is_urgent:
        return step
    lines = spoken_lines(step.applied(now.messages))
    texts = ("\n".join(stand_in(lines, most)) for most in range(len(lines), -1, -1))
    room = now.settings.summary_tokens
    text = next(each for each in texts if estimate_text(each, "summary") <= room)
    by_hand = now.asking(lambda messages, focus: text)
    done = summarise(by_hand, replace(step, failure=None))
    return replace(done, failure=step.failure, rested=step.rested)


compact = stacked(clear, summarise, cut, numbers=NUMBERS)
