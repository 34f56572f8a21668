"""The exercises of lesson 11."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, ClassVar

from agentlib.estimation import TokenMeter
from agentlib.messages import Block, Message
from agentlib.pipeline import ContextEngine, Now, run_engine
from agentlib.pipeline import compact as finished
from agentlib.settings import Settings
from agentlib.step import Step
from course.checking import Answer, conversation, drawn, exercise, require, shown
from session_report.amounts import many
from windtunnel.judge import MINE, judge, protocol
from windtunnel.judge.protocol import broken
from windtunnel.judge.spreads import side

FEW = (103, 104, 106)
Before = Callable[[list[Message]], list[Message]]
"""What a framework calls before each request: (the run's messages) -> those to send."""


def compacts_in_pauses(now: Now) -> Step:
    """Compact early if the prompt has to be written to the cache again anyway."""
    if now.idle > now.settings.cache_ttl:
        return now.compact(threshold_pct=30)
    return now.compact()


@exercise("11.1", finished=compacts_in_pauses)
def _engine(answer: Answer) -> str:
    """Begin with `return now.compact()`. It is DEFAULT and breaks nothing.

    Then change the settings in one case that you choose, not in all, which costs too
    much: `now.compact(threshold_pct=30)`.

    Lesson 08: when does compacting cost nothing that isn't paid anyway? `now.idle` says
    so.
    """
    fault = broken(answer.function, cases=10)
    size = many(len(fault.get("case", ())), "exchange")
    smallest = f" The smallest such case has {size}." if "case" in fault else ""
    require(not fault, f"{fault.get('what')}.{smallest}")
    other = (
        "asked the same again, it answers otherwise, so its verdict can't be repeated; "
        "keep nothing between calls, and take out what is random, counts calls or looks "
        "at a clock."
    )
    moments = _moments(answer.function)
    twice = [
        (_answer(answer.function, now), _answer(answer.function, now))
        for now in moments
    ]
    first = [one for one, _ in twice]
    require(all(one == two for one, two in twice), other)
    back = [_answer(answer.function, now) for now in moments[::-1]]
    require(first == back[::-1], other)
    _requires_a_case(answer.function, moments, first)
    verdict = judge(answer.function, seeds=FEW, cases=0)  # ten were tried
    require(not verdict.faults, "; ".join({*verdict.faults.values()}))
    mine, default = (verdict.spreads[name].means for name in (MINE, "default"))
    says = f"in three tasks it costs {mine['cost']:.0f} % of forgetting nothing, and keeps "
    says += f"{mine['kept']:.0f} %"
    # One that counts its calls may change only now.
    require(first == [_answer(answer.function, now) for now in moments], other)
    acts = "If there is a rule of yours in it, it never acted: its condition was never"
    acts += " true there, or its settings changed nothing"
    require(mine != default, f"{says}, just as DEFAULT does. {acts}.")
    fits = mine["cost"] < 100 and mine["kept"] >= 75
    require(
        fits, f"{says}. It should cost less than forgetting nothing, and keep 75 %."
    )
    return f"{says}."


_Sent = tuple[list[Message], list[str]]
"""What an engine sends at a moment, and the focus of each summary that it asks for."""


def _moments(engine: ContextEngine) -> list[Now]:
    """Return what an engine is given in some conversations, request by request."""
    given = list[Now]()

    def noted(now: Now) -> Step:
        # A meter knows messages by their identity, so the copies get one of their own.
        messages = deepcopy([*now.messages])
        bill = {"input_tokens": now.meter.estimate(now.messages[:-1])}
        meter = TokenMeter(1_000)
        meter.observe(messages[:-1], bill)
        given.append(replace(now, messages=messages, meter=meter))
        return run_engine(engine, now)

    # The last ones tell a rule on the number of messages from one on their size.
    shapes = [(1_500,) * 3, (2_000,) * 2, (2_000,) * 3, (2_700,) * 4]
    short = [[protocol.Turn(results)] * 4 for results in shapes]
    for turns in (*map(protocol.conversation, range(3)), *short):
        protocol.fault(noted, turns)
    return given


def _answer(engine: ContextEngine, now: Now) -> _Sent:
    """Return what an engine answers at a moment."""
    asked = list[str]()

    def summarize(messages: Sequence[Message], focus: str) -> str:
        asked.append(focus)
        return now.summarize(messages, focus)

    step = run_engine(engine, replace(now, summarize=summarize))
    return step.applied(now.messages), asked


class _Noted(Now):
    """A moment that notes the settings and the focus of each moment made from it."""

    noted: ClassVar[list[tuple[Settings, str]]] = []

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.noted.append((self.settings, self.focus))


def _requires_a_case(
    engine: ContextEngine, moments: Sequence[Now], sent: Sequence[_Sent]
) -> None:
    """Require that no preset does the same at all moments.

    Settings and a focus that the engine makes at every moment are tried, and each
    focus with which it asks for a summary.
    """
    made = list[tuple[Settings, str]]()
    for number, now in enumerate(moments):
        _Noted.noted.clear()
        run_engine(engine, _Noted(**vars(now)))
        here = _Noted.noted
        made = [each for each in made if each in here] if number else [*here]
    asked = {focus for _, each in sent for focus in each}
    given = {(now.settings, now.focus) for now in moments}
    for settings, focus in dict.fromkeys(made):

        def preset(now: Now, settings: Settings = settings, focus: str = focus) -> Step:
            return finished(replace(now, settings=settings, focus=focus))

        engines = [preset] if (settings, focus) not in given else []
        engines += [_asking(preset, words) for words in asked if words]
        same = any(all(map(partial(_same, each), moments, sent)) for each in engines)
        require(
            not same,
            "at every request it does what DEFAULT does with the same changed settings or "
            "the same focus, which is a preset and no rule. In which case should they "
            "change?",
        )


def _asking(engine: ContextEngine, focus: str) -> ContextEngine:
    """Give an engine a summariser that always has this focus."""
    return lambda now: engine(
        now.asking(lambda messages, _: now.summarize(messages, focus))
    )


def _same(engine: ContextEngine, now: Now, sent: _Sent) -> bool:
    return _answer(engine, now) == sent


@exercise("11.2", "the means alone never say so.", finished=side)
def _claim(answer: Answer) -> None:
    """Two spreads overlap unless one ends before the other begins.

    mine[2] < other[1]: all of mine is below all of the other. That is -1.
    """
    cases = {
        "mine ends before the other begins": (-1, (60, 55, 65), (80, 75, 85)),
        "mine begins behind the other's end": (1, (92, 88, 96), (70, 60, 80)),
        "mine is lower, but the spreads overlap": (0, (62, 54, 69), (66, 60, 73)),
        "mine is higher, but the spreads overlap": (0, (47, 40, 53), (38, 33, 43)),
        "mine lies within the other": (0, (50, 49, 52), (65, 48, 68)),
        "the other lies within mine": (0, (50, 10, 90), (60, 55, 65)),
        "mine ends where the other begins": (0, (60, 55, 65), (70, 65, 75)),
        "mine begins where the other ends": (0, (70, 65, 75), (60, 55, 65)),
        "mine ends just before the other begins": (
            -1,
            (60.2, 55.3, 65.1),
            (70.4, 65.4, 75.5),
        ),
    }
    answer.agree(cases | drawn(side, lambda random: (_spread(random), _spread(random))))


def _spread(random: Random) -> tuple[int, int, int]:
    low, mean, high = sorted(random.choices(range(40), k=3))
    return mean, low, high


def remembers(
    history: list[Message], view: list[Message], seen: int, compact: Before
) -> list[Message]:
    """Return what to send: what was sent last, and what is new since then,
    compacted."""
    return compact([*view, *history[seen:]])


@exercise(
    "11.3",
    "each message is compacted once, however often it comes.",
    finished=remembers,
)
def _view(answer: Answer) -> None:
    """The framework's history never gets shorter. What you sent last is `view`, and it
    did.

    The messages from `seen` on are new. They follow the view.
    """
    history = conversation(*[900] * 6)
    view = list[Message]()
    seen = 0
    history.append(history[0])  # the person asks the same again
    for end in (1, 5, 7, 7, 14):
        asked: list[list[Message]] = []

        def short(messages: list[Message], asked: Any = asked) -> list[Message]:
            asked.append(list(messages))
            return (
                [messages[0], *messages[-2:]] if len(messages) > 3 else list(messages)
            )

        sent = answer.call(history[:end], view, seen, short)
        new = [*view, *history[seen:end]]
        case = f"with a history of {end}, {seen} of them seen, and a view of {len(view)} messages"
        require(
            len(asked) == 1,
            f"{case}, compact should be called once, not {len(asked)} times.",
        )
        wanted = (
            f"compact should get the view and the {many(end - seen, 'new message')}"
        )
        same = "in this order" if len(asked[0]) == len(new) else f"not {len(asked[0])}"
        require(asked[0] == new, f"{case}, {wanted}, {len(new)} in all, {same}.")
        require(
            sent == short(new),
            f"{case}, return what compact returns, not {shown(sent)}.",
        )
        view = sent
        seen = end
    cleared = conversation(*[900] * 3)
    cleared[2]["content"][0]["content"] = "[Previous: used read_file]"
    whole = conversation(*[900] * 3)
    new = conversation(*[900] * 4)[7:]
    sent = answer.call([*whole, *new], cleared, len(whole), list)
    require(
        sent == [*cleared, *new],
        "if the view is as long as the history was, with a result cleared in it, send "
        "this view and the new messages.",
    )


def edits(settings: Settings) -> list[Block]:
    """Return the edits that ask the API for what the settings say."""
    keep: Block = {"type": "tool_uses", "value": settings.keep_recent}
    clear: Block = {"type": "clear_tool_uses_20250919", "keep": keep}
    clear["trigger"] = {"type": "tool_uses", "value": settings.keep_recent + 1}
    if settings.clear_at_least:
        clear["clear_at_least"] = {
            "type": "input_tokens",
            "value": settings.clear_at_least,
        }
    start: Block = {"type": "input_tokens", "value": settings.threshold_tokens}
    summarise: Block = {"type": "compact_20260112", "trigger": start}
    return [clear, summarise] if settings.threshold_tokens >= 50_000 else [clear]


@exercise("11.4", "so much of your settings the API understands.", finished=edits)
def _edits(answer: Answer) -> None:
    """Copy the edits printed above, and put the settings' own numbers in their places.

    `clear_at_least` goes in only if it isn't 0, and the second edit only from 50,000
    tokens on.
    """
    written = getattr(answer.function, "__code__", None)
    require(
        not written or "as_edits" not in written.co_names,
        "as_edits is the course's own; build the list from the settings' numbers.",
    )
    for keep, threshold, least in (
        *((5, 50_000, 0), (2, None, 3_000), (0, 20_000, 0)),
        *((3, 49_999, 0), (3, 90_000, 7_000)),
    ):
        settings = Settings(keep_recent=keep, threshold=threshold, clear_at_least=least)
        case = f"with keep_recent={keep}, {threshold=}, clear_at_least={least:,}"
        returned = Answer(answer.call(settings))
        given: list[Block] = returned.typed(list, f"{case}, return a list of edits")
        own, asked = (
            {e.get("type"): e for e in each} for each in (given, edits(settings))
        )
        require(
            [*own] == [*asked],
            f"{case}, return edits of the types {[*asked]}, not {[*own]}.",
        )
        for kind, edit in asked.items():
            for name in {**edit, **own[kind]}:
                right = edit.get(name)
                value = own[kind].get(name)
                require(
                    right == value,
                    f"{case}, {name} of {kind} should be {right}, not {value}.",
                )
