"""The field's mechanisms as engines: what other systems do that is no number in
`Settings`.

Each function is an engine, so the agent runs with it, a replay replays it and the judge
judges it. It is built from the layers, and only its own mechanism differs from the
course's agent. Its docstring says who does it, and what it is good for.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from itertools import accumulate
from typing import Any
from weakref import WeakKeyDictionary

from agentlib import messages as msg
from agentlib.auto_compact import (
    Summarize,
    SummaryFailed,
    summary_message,
    summary_prompt,
    summary_text,
)
from agentlib.compaction.around import Hooks, hooked, or_else
from agentlib.estimation import TokenMeter, estimate_text, message_tokens
from agentlib.messages import PLACEHOLDER, Block, Message
from agentlib.micro_compact import micro_compact
from agentlib.pipeline import ContextEngine, Now
from agentlib.recovery import truncating
from agentlib.settings import Settings
from agentlib.step import Step, answered, summary_place

ALL: dict[str, ContextEngine] = {}
"""Every engine by its name."""
FAMILIES: dict[str, list[str]] = {}
"""The engines' names by what they change."""
WINDOW = 200_000
"""The window that a system's numbers are for."""


def engine(family: str) -> Callable[[ContextEngine], ContextEngine]:
    """List a function among the engines of a family.

    What the person has said doesn't stand beside their summaries, but as far as an
    engine keeps it by its own mechanism.
    """

    def listed(function: ContextEngine) -> ContextEngine:
        @wraps(function)
        def alone(now: Now) -> Step:
            return function(
                replace(now, settings=replace(now.settings, words_tokens=0))
            )

        name: str = getattr(function, "__name__", "")
        FAMILIES.setdefault(family, []).append(name)
        ALL[name] = alone
        return alone

    return listed


# -- what several engines share --------------------------------------------------------


def scaled(tokens: int, now: Now) -> int:
    """Return a system's number of tokens in proportion to the window."""
    return tokens * now.settings.context_window // WINDOW


def results(messages: Sequence[Message]) -> list[Block]:
    """Return all results, oldest first."""
    return [result for m in messages for result in msg.of_type(m, "tool_result")]


def seen(messages: Sequence[Message]) -> list[tuple[Block, Block]]:
    """Return the calls whose results the model has seen, with these results, oldest
    first.

    Results that a placeholder has replaced are left out.
    """
    calls = {call["id"]: call for m in messages for call in msg.of_type(m, "tool_use")}
    old = messages[: max(0, msg.last_assistant(messages))]
    return [
        (calls[result["tool_use_id"]], result)
        for result in results(old)
        if not msg.result_text(result).startswith(PLACEHOLDER)
    ]


def alone(exchanges: int = 0) -> dict[str, Any]:
    """Return the settings with which only the newest exchanges stay beside a
    summary."""
    return {"head_tokens": 0, "tail_tokens": None, "keep_exchanges": exchanges}


def writing(text: str) -> Summarize:
    """Make a `summarize` that asks no model and writes this text."""
    return lambda messages, focus: text


def wishing(
    summarize: Summarize, settings: Settings, more: str, answer: str = ""
) -> Summarize:
    """Add a sentence to the request for a summary. `answer`: the model's earlier one,
    to be shown.

    The request stands behind the answer, and not twice: a model takes an older one for
    a task.
    """

    def ask(messages: Sequence[Message], focus: str) -> str:
        prompt = summary_prompt(settings.summary_tokens, focus)
        wish: Message = {"role": "user", "content": prompt}
        *shown, wish = messages if msg.asks_for_summary(messages) else [*messages, wish]
        if answer:  # the API takes thinking of a cleared view in the last reply alone
            shown = [*answered(shown), {"role": "assistant", "content": answer}]
        texts = [*(block["text"] for block in msg.of_type(wish, "text")), more]
        wish = {**wish, "content": "\n".join(texts)}
        return summarize([*shown, wish], focus)

    return ask


# -- results ---------------------------------------------------------------------------


@engine("clears results")
def cleared_by_tokens(now: Now) -> Step:
    """Clear results by a budget of tokens, not by their number, and only if that frees
    enough.

    Who: opencode (the newest 40,000 tokens of results stay, clearing frees at least
    20,000), goose, Anthropic's API since September 2025 (`clear_tool_uses_20250919`
    with `clear_at_least`). Source: https://github.com/sst/opencode,
    `packages/opencode/src/session/compaction.ts`. Good for: sessions whose results
    differ much in size. One file of 30,000 tokens doesn't count the same as a listing
    of 30, and the prompt cache breaks rarely.
    """
    protected = scaled(40_000, now)
    least = scaled(20_000, now)
    texts = map(msg.result_text, reversed(results(now.messages)))
    keep = sum(size <= protected for size in accumulate(map(estimate_text, texts)))
    return now.compact(
        micro="clear", clear_when="always", keep_recent=keep, clear_at_least=least
    )


@engine("clears results")
def cleared_to_a_target(now: Now) -> Step:
    """Clear nothing before the threshold. There clear the oldest results, one by one,
    until the context is down to 80 % of it.

    Who: learn-claude-code's s08 (commit 182c6582), with 50,000 characters as its
    threshold. Source: https://github.com/shareAI-lab/learn-claude-code,
    `s08_context_compact/code.py`. Good for: sessions that end before the threshold,
    which lose nothing. After it the room that was made is soon full again, and each
    time the prompt cache ends at an early place.
    """
    newest = 3
    share = 0.8
    messages = now.messages
    settings = now.settings
    if now.meter.estimate(messages) <= settings.threshold_tokens:
        return now.compact(micro="off")
    most = len(results(messages))
    least = newest + len(results(messages[msg.last_assistant(messages) + 1 :]))
    keep = least
    for number in range(most, least, -1):
        view = micro_compact(messages, keep_recent=number, recall=settings.recall)
        if now.meter.estimate(view) <= share * settings.threshold_tokens:
            keep = number
            break
    return now.compact(
        micro="clear", clear_when="always", keep_recent=keep, clear_at_least=0
    )


@engine("clears results")
def identical_once(now: Now) -> Step:
    """Keep identical results once: the newest stays, an older one only says that it is
    the same.

    Who: hermes-agent, opencode's plugin for dynamic pruning, Claude Code since
    2.1.86 for files that are read again unchanged. Source:
    https://github.com/NousResearch/hermes-agent, `agent/context_compressor.py`, and
    the change log of Claude Code. Good for: agents that run the same command or
    read the same file again and again. It loses nothing, but the prompt cache ends
    where the older result stood. The judge's tasks never need it. On those made for
    it (`tasks.mechanisms`) it sends half of the tokens, and costs more.
    """
    newest = {msg.result_text(r): r["tool_use_id"] for r in results(now.messages)}
    same = dict[str, str]()
    for call, result in seen(now.messages):
        text = msg.result_text(result)
        name = result["tool_use_id"]
        if newest[text] != name and len(text) > now.settings.min_chars:
            mark = f"{PLACEHOLDER}{call['name']}; {newest[text]} has the same result]"
            same[name] = mark
    return now.with_texts(same)


@engine("clears results")
def positional(now: Now) -> Step:
    """Decide by position only: results are cleared in blocks, at places that never move
    back.

    Who: maf-compaction 0.9.0 for Microsoft's agent framework, 2026. Source:
    https://github.com/sokolaidev/maf-extensions, `docs/compaction/README.md`. Good for:
    the prompt cache. What was sent once stays byte for byte until a whole block is
    cleared, so the prefix is rewritten once in eight results and not at every turn.
    """
    block = 8  # results that are cleared together; the newest block always stays
    keep = block + len(results(now.messages)) % block
    return now.compact(
        micro="clear", clear_when="always", keep_recent=keep, clear_at_least=0
    )


@engine("clears results")
def short_arguments(now: Now) -> Step:
    """Shorten the long arguments of calls that were answered. They stay valid JSON.

    Who: hermes-agent (of a text in more than 500 characters of arguments, 200
    stay), deepagents, inspect_ai, Anthropic's API since September 2025
    (`clear_tool_inputs` clears them). Source:
    https://github.com/NousResearch/hermes-agent, `agent/context_compressor.py`.
    Good for: agents that write whole files. A file's text is on the disk, and else
    stands in each prompt once more. The judge's tasks never need it. On those made
    for it (`tasks.mechanisms`) it costs more, because the prompt cache ends where
    the arguments stood.
    """
    long = 500
    kept = 200

    def cut(value: Any) -> Any:
        if not isinstance(value, str) or len(value) <= long:
            return value
        gone = len(value) - kept
        return (
            f"{value[:kept]}... [{gone} characters of this argument are left out here]"
        )

    new = dict[str, Block]()
    for call, _ in seen(now.messages)[: -now.settings.keep_recent or None]:
        short = {name: cut(value) for name, value in call["input"].items()}
        if short != call["input"]:
            new[call["id"]] = short
    return now.with_texts({}, new)


@engine("clears results")
def spilled(now: Now) -> Step:
    """Let no old result take more than a share of the window: a preview stays, `recall`
    has the rest.

    Who: Claude Code (results over 50,000 characters go to a file, since 2.1.51),
    learn-claude-code (30,000 characters, a preview of 2,000), codex, gemini-cli,
    opencode, senpi (5 % of the window). They cut a result before the model has seen it.
    Here it is cut once it was seen. Source:
    https://github.com/shareAI-lab/learn-claude-code, s08, and the change log of Claude
    Code. Good for: logs and listings. One result can't crowd out everything else.
    """
    share = 0.05
    preview = 250
    previews = dict[str, str]()
    for _, result in seen(now.messages):
        text = msg.result_text(result)
        name = result["tool_use_id"]
        most = share * now.settings.context_window
        if len(text) > 2 * preview and estimate_text(text) > most:
            rest = (
                f"{len(text) - preview} characters trimmed; recall {name} returns them"
            )
            previews[name] = f"{text[:preview]}\n\n[... {rest} ...]"
    return now.with_texts(previews)


@engine("clears results")
def telling_placeholders(now: Now) -> Step:
    """Say in the placeholder what was there: the command and its end, the path and the
    first line.

    Who: hermes-agent (one line for each call), gemini-cli (path and preview),
    learn-claude-code's s08. Source: https://github.com/NousResearch/hermes-agent,
    `agent/context_compressor.py`. Good for: the agent's own decisions. It knows what it
    has done and where to look again, for some 20 tokens a result.
    """
    new = dict[str, str]()
    for call, result in seen(now.messages)[: -now.settings.keep_recent or None]:
        text = msg.result_text(result)
        lines = [line.strip()[:80] for line in text.splitlines() if line.strip()]
        inputs = [str(v).partition("\n")[0][:80] for v in call["input"].values()]
        end = "error" if result.get("is_error") else f"{len(lines)} lines"
        edge = lines[-1 if call["name"] == "bash" else 0] if lines else ""
        told = f"{PLACEHOLDER}{call['name']} {' '.join(inputs)}: {end}, {edge}]"
        if len(text) > max(now.settings.min_chars, len(told)):
            new[result["tool_use_id"]] = told
    return now.with_texts(new, micro="off")


# -- what is kept ----------------------------------------------------------------------


@engine("keeps other messages")
def fresh_window(now: Now) -> Step:
    """Begin a fresh window without any summary. Only the person's newest words are
    carried over.

    Who: codex, behind the flag `token_budget`, June 2026. There the model asks for the
    new window, and is reminded before the limit. Here the window begins at the
    threshold. Source: https://github.com/openai/codex/pull/27438 and 27488. Good for:
    agents that keep their own notes in files. No model is asked, so nothing is made up
    and nothing is paid for a summary.
    """
    note = "A fresh window. What was done before isn't in it; look at the files for what is there."
    return now.asking(writing(note)).compact(**alone())


@engine("keeps other messages")
def newest_third(now: Now) -> Step:
    """Keep the newest 30 % of what may be kept word for word, and summarise the rest.

    Who: gemini-cli (`COMPRESSION_PRESERVE_THRESHOLD` 0.3). Source:
    https://github.com/google-gemini/gemini-cli,
    `packages/core/src/context/chatCompressionService.ts`. Good for: work in which the
    last steps matter most. The next compaction comes sooner.
    """
    return now.compact(tail_tokens=int(0.3 * now.settings.threshold_tokens))


@engine("keeps other messages")
def persons_words(now: Now) -> Step:
    """Keep the person's newest 20,000 tokens word for word, and a summary. Nothing else
    stays.

    Who: codex, since its first compaction. Source: https://github.com/openai/codex,
    `codex-rs/core/src/compact.rs`. Good for: rules. What the person said is never put
    in other words. What the agent read and did has only the summary, so it reads files
    again.
    """
    step = now.compact(**alone(), micro="off")
    messages = now.messages
    if step.summary is None:
        return step
    places = range(min(step.kept, default=len(messages)))
    said = [place for place in places if _is_said(messages[place])]
    sizes = accumulate(message_tokens(messages[place]) for place in reversed(said))
    newest = sum(size <= scaled(20_000, now) for size in sizes)
    kept = (*said[len(said) - newest :], *step.kept)
    words = [text for place, text in now.waiting if place not in kept]
    summary = summary_message(summary_text(step.summary), step.archive or "", words)
    place = summary_place(kept)
    step = replace(step, kept=kept, summary=summary, settled=place + 1)
    return replace(step, tokens_after=now.meter.estimate(step.applied(messages)))


def _is_said(message: Message) -> bool:
    """Return whether it is all the person's: no result and no summary."""
    return message["role"] == "user" and not any(
        block["type"] == "tool_result" or msg.is_summary(block)
        for block in msg.blocks(message)
    )


@engine("keeps other messages")
def sliding_window(now: Now) -> Step:
    """Let the oldest exchanges slide out of the window: half of what may be kept stays.
    No model is asked, no summary is written.

    Who: Microsoft's agent framework, deepagents and LangChain's trimming, Roo Code when
    no summary can be made, learn-claude-code's s08 (`snip_compact`). Source:
    https://github.com/RooCodeInc/Roo-Code, `src/core/context-management`. Good for:
    conversations whose beginning doesn't matter. It forgets the rules first.
    """
    note = "The oldest exchanges were left out to make room."
    half = now.settings.threshold_tokens // 2
    return now.asking(writing(note)).compact(tail_tokens=half)


# -- the summary -----------------------------------------------------------------------


@engine("another summary")
def asked_twice(now: Now) -> Step:
    """Ask a second time: the model sees its summary and says what it left out.

    Who: gemini-cli, 2026. Source: https://github.com/google-gemini/gemini-cli,
    `packages/core/src/context/chatCompressionService.ts`. Good for: facts that stand
    once in a long conversation. It costs a second request, most of which the prompt
    cache pays for.
    """
    again = (
        "Your summary stands above. "
        "Write it once more, with anything important that it left out."
    )

    def twice(messages: Sequence[Message], focus: str) -> str:
        first = now.summarize(messages, focus)
        return wishing(now.summarize, now.settings, again, first)(messages, focus)

    return now.asking(twice).compact()


@engine("another summary")
def own_focus(now: Now) -> Step:
    """Make a focus from the person's last words, if nobody gave one.

    Who: hermes-agent (the last three requests, at most 700 characters). Source:
    https://github.com/NousResearch/hermes-agent, `agent/context_compressor.py`. Good
    for: long sessions with changing tasks. What belongs to the present one is kept in
    detail.
    """
    said = (m for m in now.messages if m["role"] == "user")
    words = [text for message in said for text in msg.words(message, now.persons)]
    return replace(now, focus=now.focus or " ".join(words[-3:])[-700:]).compact()


@engine("another summary")
def plan_put_back(now: Now) -> Step:
    """Put the agent's plan back after a compaction, as it wrote it last.

    Who: gemini-cli, Claude Code (its plan and its list of things to do),
    hermes-agent, Roo Code. Source: https://code.claude.com/docs/en/context-window.
    Good for: agents that keep a plan. A summary tells the plan, and tells it a
    little differently each time. This one stays as it was written. The judge's
    tasks have no plan. On those made for it (`tasks.mechanisms`) the plan stays
    through one compaction. The second one no longer finds the call that wrote it.
    """

    def plan(messages: Sequence[Message]) -> list[tuple[str, str]]:
        calls = [call for m in messages for call in msg.of_type(m, "tool_use")]
        for call in reversed(calls):
            name = str(call["input"].get("path") or call["name"])
            text = call["input"].get("content") or call["input"].get("todos")
            if text and re.search("plan|todo", name, re.IGNORECASE):
                return [(name, str(text))]
        return []

    most = now.settings.restore_tokens
    return now.asking(
        hooked(now.summarize, Hooks(restore=(plan,)), most, most)
    ).compact()


@engine("another summary")
def same_language(now: Now) -> Step:
    """Ask for the summary in the person's language, with their words as an example.

    Who: hermes-agent, Roo Code. Source:
    https://github.com/NousResearch/hermes-agent, `agent/context_compressor.py`.
    Good for: everyone who doesn't write English. The prompt of the summary is
    English, and models answer in the language of the last prompt. After it they
    often stay in it. No run of the course shows that, because the offline model
    writes English whatever it is asked.
    """
    words = " ".join(text for _, text in now.waiting)[:80]
    if words.isascii():
        return now.compact()
    wish = f"Write it in the language in which the user writes, as here: {words}"
    return now.asking(wishing(now.summarize, now.settings, wish)).compact()


@engine("another summary")
def scratchpad(now: Now) -> Step:
    """Let the model think aloud before its summary, and take that off before the
    summary is kept.

    Who: Claude Code (`<analysis>`, then `<summary>`), gemini-cli (`<scratchpad>`),
    hermes-agent. Source: https://github.com/google-gemini/gemini-cli,
    `packages/core/src/context/chatCompressionService.ts`. Good for: models that write
    better once they have gone through the conversation. The thoughts are paid for once,
    and never sent again.
    """
    pad = re.compile(r"<(analysis|scratchpad)>.*?(?:</\1>|\Z)", re.DOTALL)
    wish = "First go through it between <analysis> and </analysis>. That part will be taken off."
    ask = wishing(now.summarize, now.settings, wish)
    return now.asking(lambda m, focus: pad.sub("", ask(m, focus)).strip()).compact()


def falling_back(second: Summarize) -> ContextEngine:
    """Make an engine that asks `second` if the first summary fails."""
    return lambda now: now.asking(or_else(now.summarize, second)).compact()


@engine("another summary")
def second_model(now: Now) -> Step:
    """Let a second model write the summary when the first one fails. Without one at
    hand, what was said stands there instead, cut to size.

    Who: hermes-agent, goose, cline, opencode, inspect_ai and others: a small model
    first, the session's own after it. Source:
    https://github.com/NousResearch/hermes-agent, `agent/context_compressor.py`.
    Good for: cheap models with small windows, which refuse the longest
    conversations. In the judge's tasks no summary fails. On those made for it
    (`tasks.mechanisms`) all do, and more facts are left.
    """
    return falling_back(truncating("the model failed", 2_000))(now)


# -- the moment ------------------------------------------------------------------------

_RATES = WeakKeyDictionary[TokenMeter, float]()


@engine("another moment")
def learned_rates(now: Now) -> Step:
    """Estimate by characters, with a rate that each bill corrects a little.

    Who: gemini-cli (a moving average: a fifth of each new rate, steps of 0.15 at most,
    between a half and the double), inspect_ai. Source:
    https://github.com/google-gemini/gemini-cli,
    `packages/core/src/context/utils/adaptiveTokenCalculator.ts`. Good for: endpoints
    whose bills come late or jump. One wrong bill moves the threshold by 15 %.
    """
    rate = _RATES.get(now.meter, 1.0)
    billed = sum(now.meter.weights(now.messages))
    guessed = sum(map(message_tokens, now.messages)) or 1.0
    change = 0.2 * (billed / guessed - rate)
    rate = min(2.0, max(0.5, rate + min(0.15, max(-0.15, change))))
    _RATES[now.meter] = rate
    learned = TokenMeter(weigh=lambda m: rate * message_tokens(m), anchored=False)
    learned.base = now.meter.base
    return replace(now, meter=learned).compact()


_READY = WeakKeyDictionary[TokenMeter, tuple[Message, int, str]]()
"""A conversation's first message, how many exchanges it had, and its prepared
summary."""


@engine("another moment")
def prepared(now: Now) -> Step:
    """Prepare the summary before it is needed, and put it in at the threshold without
    waiting.

    Who: Claude Code since August 2026, gemini-cli ("Async Background GC"), senpi.
    Source: https://github.com/anthropics/claude-code/issues/71254. In a measurement a
    compaction took 24 s when it was needed, and 1 s when it was prepared:
    earendil-works/pi, pull request 160. Good for: the person who waits. What happens
    after the preparation stays word for word, so the tail is longer than it need be.
    """
    ahead = 0.85  # share of the threshold from which a summary is prepared
    update = (
        "If an earlier summary stands above, update it: carry over what still holds."
    )
    turns = len(msg.exchanges(now.messages))
    first = now.messages[0]
    opening, before, summary = _READY.get(now.meter, ({}, 0, ""))
    share = now.meter.estimate(now.messages) / now.settings.threshold_tokens
    if opening is first and share > 1:
        return now.asking(writing(summary)).compact(**alone(turns - before))
    if opening is not first and now.settings.auto and ahead < share <= 1:
        with suppress(SummaryFailed):  # it is tried again before the next request
            ask = wishing(now.summarize, now.settings, update)
            _READY[now.meter] = (first, turns - 1, ask(now.messages, ""))
    return now.compact()


_REFILLS = WeakKeyDictionary[TokenMeter, tuple[int, int]]()
"""How often in a row the window was full again at once, and the exchanges that the last
compaction left."""


@engine("another moment")
def stops_refilling(now: Now) -> Step:
    """Stop compacting when the window refills three times in a row, and say so.

    Who: Claude Code since 2.1.89. Source: its change log,
    https://github.com/anthropics/claude-code, `CHANGELOG.md`. Good for: not paying
    for ever. If a few results fill the window again at once, the next summary won't
    help either, and a person has to look. The judge's tasks never fill the window
    so fast. On those made for it (`tasks.mechanisms`) few are done, while DEFAULT,
    whose own breaker counts such compactions as well, comes to the end with most
    details lost.
    """
    # so often, within so many exchanges after the last compaction
    most = 3
    soon = 2
    turns = len(msg.exchanges(now.messages))
    times, left = _REFILLS.get(now.meter, (0, -9))
    is_soon = turns - left <= soon
    is_full = now.meter.estimate(now.messages) > now.settings.threshold_tokens
    if is_soon and times >= most and now.reason == "auto" and is_full:
        _REFILLS[now.meter] = (times, turns)
        failure = "the window was full again right after three compactions; ask for less at a time"
        return replace(now.compact(auto=False), failure=failure)
    step = now.compact()
    if step.summary is not None:
        exchanges = len(msg.exchanges(step.applied(now.messages)))
        _REFILLS[now.meter] = (times + 1 if is_soon else 1, exchanges)
    return step


@engine("another moment")
def when_cold(now: Now) -> Step:
    """Compact a large context when the person comes back and the prompt cache has
    expired: from half of the threshold on.

    Who: kimi-code and deepagents suggest it to the person. Claude Code since 2.1.286
    and oh-my-pi do it in the pause itself, before the cache expires. An engine is only
    asked before a request, so here it is the first request after the pause. Source:
    https://github.com/can1357/oh-my-pi/pull/617,
    https://github.com/MoonshotAI/kimi-code/pull/2646. Good for: people with long
    pauses. The whole prompt has to be paid for anyway, so a short one pays.
    """
    if now.idle <= now.settings.cache_ttl:
        return now.compact()
    return now.compact(threshold=int(0.5 * now.settings.threshold_tokens))
