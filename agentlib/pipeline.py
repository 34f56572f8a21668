"""The layers in a list, the one place where they meet, and what an engine is given.

A layer is a function `(Now, Step) -> Step`. It looks at the moment and at what the layers
before it have made, and returns that, changed. `stacked(*layers)` makes an engine of a
list of them, a function `Now -> Step`. `compact` is the engine of the course's own list,
`LAYERS`. It is pure but for `summarize` and `archive`. The `Step` that it returns holds
every decision, and the session file records it.

To add a layer, write the function and put it into a list:
`stacked(clear, mine, summarise, cut)`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, Protocol

from agentlib.auto_compact import (
    Archive,
    CompactionRests,
    Summarize,
    SummaryFailed,
    auto_compact,
    with_words,
)
from agentlib.compaction import engine_check
from agentlib.estimation import TokenMeter
from agentlib.head_and_tail import head_and_tail, head_length, summary_index
from agentlib.messages import (
    Block,
    Message,
    changes,
    last_assistant,
    said,
    waiting,
    with_results,
    words,
)
from agentlib.micro_compact import cleared_by, replacements, settled_by
from agentlib.presets import DEFAULT
from agentlib.recovery import cut_unseen, emergency, said_once, truncating
from agentlib.settings import Settings
from agentlib.step import Reason, Step, stand_for

_RETURN = "return the step, changed or not"
_TOO_LARGE = "the newest results alone are too large, so they are cut"


@dataclass(frozen=True, eq=False)
class Now:
    """All that an engine may look at before one request, and the verbs that it needs.

    The shortest engine changes a setting in some case and lets the layers do the rest:

    >>> def patient(now: Now) -> Step:
    ...     return now.compact(auto=len(now.messages) > 10)
    """

    messages: Sequence[Message]
    """What the last request sent, and what is new since then. An engine never edits
    them."""
    settings: Settings
    _: KW_ONLY
    meter: TokenMeter
    """Estimates prompts, and knows what the API billed."""
    summarize: Summarize
    """(messages, focus) -> the summary. Raises SummaryFailed."""
    archive: Archive
    """() -> the name under which the history was saved. Call it before a compaction."""
    reason: Reason = "auto"
    """Why this is a moment to compact. "manual": the person or the model asked."""
    focus: str = ""
    """What the summary should look after."""
    settled: int = 0
    """The last step's: so many leading messages no layer will touch again."""
    idle: float = 0.0
    """Seconds since the prompt cache was last used."""
    persons: frozenset[str] | None = None
    """Texts that the person wrote, word for word, whatever they look like. None: nobody
    noted who wrote what, so the marks of the program's own texts decide."""
    said: Sequence[str] | None = None
    """All that the person has said, in order. None: nobody noted it, so the messages
    tell what they still show."""
    so_far: Step | None = None
    """In a layer: what the layers before it have made, from which the verbs go on."""

    @property
    def waiting(self) -> list[tuple[int, str]]:
        """The person's words that still wait for an answer, see `messages.waiting`."""
        return waiting(self.messages, self.persons)

    def compact(self, **changed: Any) -> Step:
        """Let the layers do their work, with some settings changed.

        `now.compact(keep_recent=9)` is DEFAULT with another number. Raises TypeError or
        ValueError for a setting that doesn't exist or a value that doesn't fit.
        """
        settings = replace(self.settings, **changed) if changed else self.settings
        return compact(replace(self, settings=settings))

    def asking(self, summarize: Summarize) -> "Now":
        """Return the same moment with another way to get a summary."""
        return replace(self, summarize=summarize)

    def with_texts(
        self,
        texts: Mapping[str, str],
        inputs: Mapping[str, Block] | None = None,
        **changed: Any,
    ) -> Step:
        """Replace texts of results and inputs of calls, by tool_use id, then let the
        layers do the rest.

        `changed` are settings, as in `compact`.
        """
        first = self.begun
        shorter = self.measured(
            replace(
                first,
                texts={**first.texts, **texts},
                inputs={**first.inputs, **(inputs or {})},
            )
        )
        # The layers act on what is left, so an emergency that this has ended is none.
        rest = replace(shorter, tokens_before=shorter.tokens_after)
        step = replace(self, so_far=rest).compact(**changed)
        return replace(step, tokens_before=first.tokens_before)

    def sized(self, focus: str = "", **numbers: float) -> "Now":
        """Return the same moment with numbers of one's own.

        `threshold` and `summary_tokens` are shares of the window, so that an engine
        works in any. All others are settings as they are. `focus` holds where nobody
        asked for another. Raises TypeError or ValueError as `compact` does.

        >>> from agentlib.presets import DEFAULT
        >>> now = Now([], DEFAULT, meter=TokenMeter(), summarize=None, archive=None)
        >>> now.sized(threshold=0.5, keep_recent=9).settings.threshold_tokens
        100000
        """
        if not numbers and not focus:
            return self
        settings = _sized(self.settings, numbers)
        return replace(self, settings=settings, focus=self.focus or focus)

    @property
    def may_clear(self) -> bool:
        """Whether the settings let old results be cleared at this moment. A learner's
        file of the fourth edition asks."""
        return self.settings.enabled and _is_time(self.settings, self.idle)

    def is_full(self, tokens: float) -> bool:
        """Whether the settings ask for a compaction of a context of so many tokens."""
        settings = self.settings
        is_on = settings.enabled and settings.auto
        return is_on and tokens > settings.threshold_tokens

    @property
    def begun(self) -> Step:
        """The step so far, with its amounts. Outside of layers it changes nothing."""
        if self.so_far is not None:
            return self.so_far
        tokens = self.meter.estimate(self.messages)
        return Step(settled=self.settled, tokens_before=tokens, tokens_after=tokens)

    def unchanged(self) -> Step:
        """Return the step that changes nothing."""
        return self.begun

    def cleared(self, view: Sequence[Message]) -> Step:
        """Return the step to a view in which some results have other texts.

        `view` is what a function such as `micro_compact` made of the messages, or in a
        layer of what the step so far left of them. What stands before the newest change
        counts as settled. Raises ValueError if the view differs in anything else.
        """
        first = self.begun
        old = first.applied(self.messages)
        step = engine_check.clearing(old, _as_view(view))
        if step is None:
            raise ValueError(
                "this view can't be noted as a clearing, because it differs in more "
                "than the texts of results; see now.compacted"
            )
        # Thinking that goes with a change is no result, so it settles nothing.
        newest = max(changes(old, with_results(old, step.texts)), default=-1)
        settled = max(first.settled, self.settled, newest + 1)
        texts = {**first.texts, **step.texts}
        return self.measured(replace(first, texts=texts, settled=settled))

    def unheard(self, view: Sequence[Message]) -> str | None:
        """Return the person's words that still wait for an answer and stand nowhere in
        a view. They belong beside the summary. None: nothing is missing.

        >>> now = Now([{"role": "user", "content": "Go."}], Settings(), meter=TokenMeter(),
        ...           summarize=None, archive=None)
        >>> now.unheard([]), now.unheard(now.messages)
        ('Go.', None)
        """
        there = {text for each in view for text in words(each, self.persons)}
        missing = [text for _, text in self.waiting if text not in there]
        return "\n\n".join(missing) or None

    def compacted(
        self, view: Sequence[Message], archive: str, *, after: Step | None = None
    ) -> Step:
        """Return the step to a view in which one new message stands for all that went.

        `view` is what a function such as `auto_compact` made of the messages, and
        `archive` the name that its message tells. `after`: a clearing that came first,
        so the view was made of what it left. In a layer that is the step so far. The
        person's words that wait for an answer and aren't in the view are put behind the
        summary (`step.stand_for`). Raises ValueError if more is new than one message of
        the user, or if the others are in another order.
        """
        first = after or self.begun
        old = first.applied(self.messages)
        step = engine_check.standing_in(old, _as_view(view))
        if step is None or first.summary is not None:
            raise ValueError(
                "this view can't be noted as a compaction: one new message of the user "
                "has to stand for all that went, and the others have to keep their order"
            )
        if step.summary is not None:
            summary = stand_for(old, step.kept, step.summary, self.persons)
            step = self.with_words(replace(step, summary=summary), old)
        done = self.measured(replace(step, texts=first.texts, inputs=first.inputs))
        return replace(
            done,
            reason=self.reason,
            focus=self.focus,
            archive=archive,
            tokens_cleared=first.tokens_cleared,
        )

    def with_words(self, step: Step, messages: Sequence[Message]) -> Step:
        """Return a step with what the person has said beside its summary, within
        `words_tokens`, as far as it stands nowhere else in the view.

        `messages`: those that the step was made for, without what it clears.
        """
        if step.summary is None or not self.settings.words_tokens:
            return step
        view = [*(messages[index] for index in step.kept), step.summary]
        stay = {text for each in view for text in words(each, self.persons)}
        record = said(messages, self.persons) if self.said is None else self.said
        tokens = self.settings.words_tokens
        summary = with_words(step.summary, record, tokens, stay)
        return replace(step, summary=said_once(summary, self.settings))

    def failed(self, error: SummaryFailed, archive: str = "") -> Step:
        """Return the step so far, with why there is no summary. It changes no message."""
        return replace(
            self.begun,
            reason=self.reason,
            focus=self.focus,
            failure=str(error),
            rested=isinstance(error, CompactionRests),
            archive=archive,
        )

    def measured(self, step: Step) -> Step:
        """Fill in a step's amounts, from those of the step so far."""
        first = self.begun
        if step is first:
            return step
        tokens = first.tokens_after
        cleared = first.tokens_cleared
        if not step.is_like(first):
            tokens = self.meter.estimate(step.applied(self.messages))
            if step.summary is first.summary:
                cleared += first.tokens_after - tokens
        return replace(
            step,
            tokens_before=first.tokens_before,
            tokens_cleared=cleared,
            tokens_after=tokens,
        )


def _as_view(view: Sequence[Message]) -> Sequence[Message]:
    if type(view) in (list, tuple):
        return view
    raise TypeError(
        f"the view is {view!r:.60} and no list of messages; does the function that made "
        "it return one?"
    )


_SHARES = ("threshold", "summary_tokens")


def _sized(settings: Settings, numbers: Mapping[str, Any]) -> Settings:
    known = [field.name for field in fields(Settings)]
    for name, value in numbers.items():
        if name not in known:
            near = get_close_matches(str(name), known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"there is no setting {name!r}{hint}")
        is_number = isinstance(value, int | float)
        if name in _SHARES and not (is_number and 0 < value <= 1):
            raise ValueError(
                f"{name} is a share of the window, such as 0.75, and not {value!r}"
            )
    shares = {
        name: round(settings.context_window * numbers[name])
        for name in _SHARES
        if name in numbers
    }
    changed: dict[str, Any] = {**numbers, **shares}
    return replace(settings, **changed) if changed else settings


class Conversation(Protocol):
    """What `moment` reads of a session."""

    context: list[Message]
    settled: int
    persons: frozenset[str] | None

    def archive(self) -> str: ...
    def said(self) -> list[str]: ...


def moment(
    session: Conversation,
    settings: Settings,
    *,
    meter: TokenMeter,
    summarize: Summarize,
    reason: Reason = "auto",
    focus: str = "",
    idle: float = 0.0,
) -> Now:
    """Make what an engine is given before the next request of a session."""
    return Now(
        list(session.context),
        settings,
        meter=meter,
        summarize=summarize,
        archive=session.archive,
        reason=reason,
        focus=focus,
        settled=session.settled,
        idle=idle,
        persons=session.persons,
        said=session.said(),
    )


ContextEngine = Callable[[Now], Step]
"""The type of `compact`. The loop, `play`, the judge and the adapters take any function
of it.

An engine takes one `Now` and returns a `Step`: `run_engine` sees to that
wherever one is run. `windtunnel.judge` checks what else it promises:

- It edits none of the messages.
- It compacts if the reason is "manual".
- The context of its step breaks no rule of the API: each call has its result, and the
  end is the user's.
- Results that the model hasn't seen stay word for word, and so do the person's words
  that wait for an answer.
- It answers within three seconds, the summary's own request apart, and raises nothing.

Nobody checks that it calls `now.archive` before a summary takes the place of messages,
and that it makes a refused prompt smaller if the reason is "reactive".
"""


def run_engine(engine: ContextEngine, now: Now) -> Step:
    """Ask an engine what changes. Everybody who runs one does it here.

    Raises NoEngine with the line to change if the engine takes other arguments than a
    `Now`, as a layer does, or returns no Step.
    """
    engine_check.check_engine(engine)
    fix = "return a Step, as now.compact() does"
    return engine_check.checked(engine, engine(now), fix)


Layer = Callable[[Now, Step], Step]
"""Takes the moment and the step so far, and returns the step, changed or not.

The messages that it works on are `step.applied(now.messages)`. It notes what it changes
by `dataclasses.replace(step, …)`, or by `now.cleared` and `now.compacted`. It needn't
fill in the step's amounts, because `stacked` does.
"""


# -- the course's layers ---------------------------------------------------------------


def clear(now: Now, step: Step) -> Step:
    """Let old results give way to placeholders (lesson 02), if that frees at least
    `clear_at_least` tokens. The head stays as it is."""
    settings = _in_force(now, step)
    if not settings.enabled:
        return step
    view = step.applied(now.messages)
    head = head_length(view, settings.head_tokens)
    settled = max(min(step.settled, len(view)), head)
    untouched = replace(step, settled=settled)
    if not _is_time(settings, now.idle):
        return untouched
    old = view[settled:]
    least = settings.clear_at_least
    if least:
        weights = zip(now.meter.weights(old), old, strict=True)
        most = sum(tokens for tokens, message in weights if message["role"] == "user")
        if least > most:  # not even clearing them all would be enough
            return untouched
    new = cleared_by(old, settings)
    edge = settled + settled_by(new, settings)
    texts = {**step.texts, **replacements(old, new)}
    shorter = replace(step, texts=texts, settled=edge)
    if texts == step.texts:
        return replace(step, settled=edge)
    if least and now.measured(shorter).tokens_cleared - step.tokens_cleared < least:
        return untouched
    return shorter


def _is_time(settings: Settings, idle: float) -> bool:
    """Return whether old results may be cleared after so many seconds without a
    request."""
    is_time = settings.clear_when == "always" or idle > settings.cache_ttl
    return settings.micro != "off" and is_time


def summarise(now: Now, step: Step) -> Step:
    """Put a summary in place of what is old (lessons 03 and 06), if the context is over
    the threshold or the reason says so.

    If the summary fails, after all that `SummaryCall.parts` could do for it, the step
    says why and changes no message. A second summary in one step does nothing.
    """
    settings = _in_force(now, step)
    is_due = now.reason != "auto" or now.is_full(step.tokens_after)
    if not settings.enabled or not is_due or step.compaction is not None:
        return step
    step = replace(step, reason=now.reason, focus=now.focus)
    messages = step.applied(now.messages)
    if now.reason == "reactive" and _unseen(now, messages) > settings.context_window:
        return step  # a summary can't cure that
    names = list[str]()

    def archive() -> str:
        names.append(now.archive())
        return names[-1]

    try:
        view = _summarised(replace(now, archive=archive), messages, settings)
    except SummaryFailed as error:
        rested = isinstance(error, CompactionRests)
        return replace(step, failure=str(error), rested=rested, archive="".join(names))
    if not names:  # there is nothing to replace
        return step
    place = summary_index(view) or 0
    after = len(view) - place - 1
    done = replace(
        step,
        texts={**step.texts, **replacements(messages, view)},
        kept=(*range(place), *range(len(messages) - after, len(messages))),
        summary=view[place],
        settled=place + 1,
        archive=names[-1],
    )
    return now.with_words(done, messages)


def _summarised(
    now: Now, messages: Sequence[Message], settings: Settings
) -> list[Message]:
    """Keep the newest exchanges, or else what the head and the tail hold in tokens."""
    if not settings.head_tokens and settings.tail_tokens is None:
        return auto_compact(
            messages,
            now.summarize,
            now.archive,
            focus=now.focus,
            keep_exchanges=settings.keep_exchanges,
            reference_only=settings.reference_only,
            persons=now.persons,
        )
    # Unseen results are split only if the window has no room for them whole.
    budget = settings.context_window - settings.output_reserve - now.meter.base
    stays = settings.head_tokens + settings.summary_tokens + settings.words_tokens
    room = max(0, int(budget - stays))
    as_sent = now.meter.estimate(messages[: last_assistant(messages)])
    whole = as_sent + settings.summary_max_tokens <= settings.context_window
    return head_and_tail(
        messages,
        now.summarize,
        now.archive,
        settings,
        focus=now.focus,
        unseen_tokens=room,
        whole=whole,
        persons=now.persons,
    )


def _unseen(now: Now, messages: Sequence[Message]) -> int:
    """Estimate a prompt of what has to stay: the results that the model hasn't seen."""
    return now.meter.estimate(messages[last_assistant(messages) + 1 :])


def cut(now: Now, step: Step) -> Step:
    """Make the context smaller without a model, if it has to be and no summary did it
    (lesson 07).

    In an emergency the messages, cut to size, take the place of a summary that failed.
    If the API has refused the prompt and even that helps nothing, unseen results lose
    their middle.
    """
    settings = now.settings
    if not settings.enabled or not _is_urgent(now, step) or step.summary is not None:
        return step
    if step.failure:
        name = step.archive or ""
        shorten = truncating(step.failure, settings.summary_tokens)
        by_hand = replace(now.asking(shorten), archive=lambda: name)
        done = summarise(by_hand, replace(step, failure=None))
        if done.summary is not None:
            return replace(done, failure=step.failure, rested=step.rested)
    if now.reason != "reactive":
        return step
    view = step.applied(now.messages)
    most = settings.context_window - settings.output_reserve - settings.buffer
    trimmed = cut_unseen(view, now.meter, most, recall=settings.recall)
    texts = replacements(view, trimmed)
    if texts and not step.failure:
        step = replace(step, failure=_TOO_LARGE, rested=True)
    return replace(step, texts={**step.texts, **texts}) if texts else step


def _is_urgent(now: Now, step: Step) -> bool:
    """Return whether the context has to become smaller, with a summary or without: the
    API has refused the prompt, or it fills nearly all of the window."""
    settings = now.settings
    if now.reason != "auto":
        return now.reason == "reactive"
    is_past = step.tokens_before > settings.emergency_tokens
    return settings.auto and settings.emergency_at is not None and is_past


def _in_force(now: Now, step: Step) -> Settings:
    return emergency(now.settings) if _is_urgent(now, step) else now.settings


LAYERS: tuple[Layer, ...] = (clear, summarise, cut)
"""The layers of the course's agent, in the order in which they act."""


# -- a list of layers is an engine -----------------------------------------------------


class Layers(tuple[Layer, ...]):
    """An engine's layers in order. `print` says what runs, under DEFAULT.

    >>> print(Layers([clear]).under(Settings(micro="trim")))
    1. clear  always: leave 800 characters at each end of results of over 2,000
    """

    numbers: Mapping[str, Any] = {}

    def under(self, settings: Settings) -> str:
        """Say what runs under these settings, in words with the numbers in force."""
        return engine_check.described(self, _sized(settings, self.numbers))

    def __str__(self) -> str:
        return self.under(DEFAULT)


@dataclass(frozen=True, eq=False)
class Stack:
    """The engine of a list of layers. See `stacked`."""

    layers: Layers

    def __call__(self, now: Now) -> Step:
        now = now.sized(**self.layers.numbers)
        step = now.begun
        for layer in self.layers:
            if step is not now.so_far:
                now = replace(now, so_far=step)
            try:
                made = engine_check.checked(layer, layer(now, step), _RETURN)
            except SummaryFailed as error:
                made = now.failed(error)
            step = now.measured(made)
        return step


def stacked(*layers: Layer, numbers: Mapping[str, Any] | None = None) -> Stack:
    """Make an engine that lets each layer act on what those before it have made.

    `numbers` are settings of one's own, as `Now.sized` takes them. If a layer raises
    SummaryFailed, the step says so, and the next layer goes on. Raises NoEngine for a
    function that takes other arguments than a layer does, and TypeError or ValueError
    for numbers that are no settings.

    >>> def tell(now: Now, step: Step) -> Step:
    ...     print("about", step.tokens_after, "tokens")
    ...     return step
    >>> engine = stacked(clear, tell, summarise)
    >>> _ = engine(Now([{"role": "user", "content": "Go."}], DEFAULT, meter=TokenMeter(),
    ...                summarize=None, archive=None))
    about 0 tokens
    """
    for layer in layers:
        engine_check.check_layer(layer)
    listed = Layers(layers)
    listed.numbers = dict(numbers or {})
    own = {name: value for name, value in listed.numbers.items() if name != "focus"}
    _sized(DEFAULT, own)
    return Stack(listed)


compact = stacked(*LAYERS)
"""The course's engine. It clears old results, then compacts if the estimate is over the
threshold or the reason says so."""
