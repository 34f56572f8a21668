"""Does an engine keep the protocol? Random valid conversations, several compactions in
each.

The API's rules are read here once more, independently of `offline_api.violation`. A broken
case is shrunk before it is shown: exchanges, calls and lengths go as long as it stays
broken.
"""

import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import wraps
from itertools import groupby, pairwise
from random import Random
from typing import Any

from agentlib import pipeline
from agentlib.compaction.engine_check import NoEngine
from agentlib.estimation import TokenMeter, message_tokens
from agentlib.messages import Block, Message, blocks, last_assistant, waiting
from agentlib.pipeline import ContextEngine, Now, run_engine
from agentlib.presets import DEFAULT
from agentlib.step import Step
from agentlib.transcripts import Session
from offline_api.limits import TimeOver, limited
from windtunnel.parts import PartFailed, failed, is_message, named, results

CASES = 30
SECONDS = 3.0
"""Conversations that are tried, and seconds that an engine may take for one request."""
SETTINGS = DEFAULT.scaled(8_000)
_NAMES = re.compile(r"[\d, ]|toolu_\w*")
"""What may differ in two descriptions of the same fault."""
_WORDS = "what the next file does, and why. "


def guarded(engine: ContextEngine, seconds: float = SECONDS) -> ContextEngine:
    """Call an engine so that whatever it does wrong is a PartFailed that names its
    line.

    It is none, raises, takes longer than `seconds`, returns no Step, or a Step that
    can't be applied, or edits what it is given.
    """

    @wraps(engine)
    def asked(now: Now) -> Step:
        step = run_engine(engine, now)
        if not all(map(is_message, step.applied(now.messages))):
            raise NoEngine("the Step's summary is no message")
        return step

    def step(now: Now) -> Step:
        before = deepcopy(now.messages)
        try:
            # stdout is for the verdict.
            with limited(seconds), redirect_stdout(sys.stderr):
                done: Step = named(asked, passes=(NoEngine,))(now)
        except TimeOver as error:
            raise failed(engine, f"took more than {seconds:g} s", error) from None
        except NoEngine as error:
            raise PartFailed(str(error)) from error
        if now.messages != before:
            raise failed(engine, "edits the messages that it is given")
        return done

    return step


# -- the API's rules, read once more ---------------------------------------------------


def refusal(messages: Sequence[Message]) -> str:
    """Say why the API would refuse these messages, or "".

    >>> refusal([{"role": "user", "content": "Go on."}, {"role": "assistant", "content": "Yes."}])
    'it ends with an assistant message'
    """
    turns = [
        (role, [block for message in members for block in blocks(message)])
        for role, members in groupby(messages, key=lambda message: message["role"])
    ]
    every = [block for _, content in turns for block in content]
    ids = [block["id"] for block in every if block["type"] == "tool_use"]
    if not turns or turns[-1][0] == "assistant":
        return "it ends with an assistant message" if turns else "there is no message"
    if not all(message["content"] for message in messages):
        return "a message is empty"
    if any(block["type"] == "text" and not block["text"].strip() for block in every):
        return "a text is blank"
    if len(set(ids)) < len(ids):
        return "two calls have the same id"
    pairs = pairwise([("user", list[Block]()), *turns])
    return next(
        (words for (_, a), (role, b) in pairs if (words := _unpaired(role, a, b))), ""
    )


def _unpaired(role: str, before: list[Block], content: list[Block]) -> str:
    """Say which call has no result right behind it, or which result no call right
    before it."""
    calls = [b["id"] for b in before if b["type"] == "tool_use"]
    results = [b["tool_use_id"] for b in content if b["type"] == "tool_result"]
    first = [b.get("tool_use_id") for b in content][: len(results)]
    if role == "assistant":
        return "an assistant message has results" if results else ""
    if sorted(results) != sorted(calls):
        odd = sorted({*results} ^ {*calls}) or results
        return f"call and result are not together: {', '.join(odd)}"
    return "" if first == results else "a text stands before a result"


# -- random conversations --------------------------------------------------------------


@dataclass(frozen=True)
class Turn:
    """One exchange: the lengths of its results, and who says something beside them."""

    results: tuple[int, ...] = ()
    thinks: bool = False
    asks: bool = False
    """The person says something new with the results."""
    idle: float = 0.0
    manual: bool = False


def conversation(seed: int) -> list[Turn]:
    """Make a random conversation, the same on every machine."""
    rng = Random(f"protocol {seed}")
    sizes = (0, 20, 150, 900, 2_500, 2_500)
    return [
        Turn(
            tuple(rng.choice(sizes) for _ in range(rng.choice((0, 1, 1, 1, 2, 3)))),
            thinks=rng.random() < 0.3,
            asks=rng.random() < 0.15,
            idle=rng.choice((0.0, 0.0, 0.0, 1_000.0)),
            manual=rng.random() < 0.06,
        )
        for _ in range(rng.randint(8, 40))
    ]


def broken(
    engine: ContextEngine, cases: int = CASES, seconds: float = SECONDS
) -> dict[str, Any]:
    """Return the first broken case, shrunk: `what` is wrong and in which `case`; {} if
    none is.

    An engine that ignores the person's wish breaks no single case, so it has only
    `what`.
    """
    for seed in range(cases):
        turns = conversation(seed)
        if what := fault(engine, turns, seconds):
            turns, what = _shrunk(engine, turns, what, seconds)
            return {"what": what, "seed": seed, "case": [*map(str, turns)]}
    return {"what": what} if (what := ignored(engine, seconds)) else {}


def ignored(engine: ContextEngine, seconds: float = SECONDS) -> str:
    """Say that the person's /compact does nothing, or "". With `auto` off only a manual
    request compacts."""
    session = Session(session_id="long")
    settings = replace(SETTINGS, auto=False)
    session.say("Read every file.", at=0.0)
    for number in range(20):
        _answer(session, Turn((2_500,)), number)
    now = replace(
        moment(session, TokenMeter(1_000)), settings=settings, reason="manual"
    )
    try:
        step = guarded(engine, seconds)(now)
    except PartFailed as error:
        return str(error)
    rest = 'return now.compact() if now.reason isn\'t "auto"'
    return (
        ""
        if step.compaction
        else f"it ignores now.reason, so the person's /compact does nothing; {rest}"
    )


def moment(session: Session, meter: TokenMeter) -> Now:
    """Make what an engine is given before the next request of a session."""
    now = pipeline.moment(session, SETTINGS, meter=meter, summarize=_summary)
    return replace(now, archive=lambda: "case.jsonl")


def _shrunk(
    engine: ContextEngine, turns: list[Turn], what: str, seconds: float
) -> tuple[list[Turn], str]:
    """Make the case smaller as long as something is wrong with it."""
    smaller = [turns[:i] + turns[i + 1 :] for i in range(len(turns))]
    for i, turn in enumerate(turns):
        plain = [Turn(), Turn(turn.results[:-1]), Turn(turn.results)]
        smaller += [[*turns[:i], new, *turns[i + 1 :]] for new in plain if new != turn]
    if "took more" in what:  # each try would take as long
        return turns, what
    for fewer in smaller:
        other = fault(engine, fewer, seconds)
        if _NAMES.sub("", other) == _NAMES.sub("", what):
            return _shrunk(engine, fewer, other, seconds)
    return turns, what


def fault(
    engine: ContextEngine, turns: Sequence[Turn], seconds: float = SECONDS
) -> str:
    """Run a conversation as the loop does, and say what is wrong with the first wrong
    step."""
    session = Session(session_id="case")
    meter = TokenMeter(1_000)
    checked = guarded(engine, seconds)
    session.say("Read every file, and begin the report with '# Ada'.", at=0.0)
    for number, turn in enumerate([*turns, Turn()]):
        reason = "manual" if turn.manual else "auto"
        now = replace(moment(session, meter), idle=turn.idle, reason=reason)
        try:
            step = checked(now)
            session.take(replace(step, usage=()), at=float(number))
        except PartFailed as error:
            return str(error)
        except (LookupError, TypeError, ValueError) as error:
            return f"request {number + 1}: the session can't note the step: {error!r}"
        # The session mends a step that parts a call from its result. This doesn't.
        if what := _wrong(now.messages, step.applied(now.messages)):
            return f"request {number + 1}: {what}"
        bill = 400 + int(1.1 * sum(map(message_tokens, session.context)))
        meter.observe(session.context, {"input_tokens": bill})
        _answer(session, turn, number)
    return ""


def _summary(messages: Sequence[Message], focus: str) -> str:
    return f"{len(messages)} messages."


def _wrong(before: Sequence[Message], after: Sequence[Message]) -> str:
    """Say what is wrong with the context that a step made."""
    if words := refusal(after):
        return f"the API would refuse it: {words}"
    unseen = results(before[last_assistant(before) + 1 :])
    left = results(after)
    if lost := [name for name, text in unseen.items() if left.get(name) != text]:
        return f"a result that the model hasn't seen is lost or changed: {lost[0]}"
    left = [text for _, text in waiting(after)]
    lost_words = [text for _, text in waiting(before) if text not in left]
    return f"the person's last words are lost: {lost_words[0]}" if lost_words else ""


def _answer(session: Session, turn: Turn, number: int) -> None:
    """Let the model answer and the tools run, and let the person speak if nothing else
    happens."""
    names = [f"toolu_{number}_{n}" for n in range(len(turn.results))]
    uses = [
        {"type": "tool_use", "id": n, "name": "read_file", "input": {"path": n}}
        for n in names
    ]
    thought = {
        "type": "thinking",
        "thinking": f"Thought {number}.",
        "signature": "c2ln",
    }
    said = {"type": "text", "text": f"File {number}."}
    session.reply(
        {"content": [*[thought] * turn.thinks, said, *uses]}, at=float(number)
    )
    for name, size in zip(names, turn.results, strict=True):
        text = (f"{name}: " + _WORDS * 80)[:size]
        session.answer(
            {"type": "tool_result", "tool_use_id": name, "content": text}, at=0.0
        )
    if turn.asks or not turn.results:
        session.say(f"Request {number}: go on.", at=float(number))
