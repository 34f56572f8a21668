"""Somebody's engine: what its layers do, what its view comes to as a step, and what is
wrong with a function that is no engine or no layer."""

import inspect
import linecache
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from agentlib.messages import Message, results, with_results
from agentlib.settings import Settings
from agentlib.step import Step, summary_place


class NoEngine(TypeError):
    """A function can't be called as an engine or a layer, or returned something else
    than a Step."""


def checked(function: Callable[..., Any], answer: object, fix: str) -> Step:
    """Return what an engine or a layer returned. Raises NoEngine if that is no Step."""
    if isinstance(answer, Step):  # nobody has checked somebody's module
        return answer
    place = ": ".join(filter(None, _place(function)))
    raise NoEngine(f"`{name(function)}` returned {answer!r:.60} ({fix}){place}")


def check_engine(engine: Callable[..., Any]) -> None:
    """Raise NoEngine if a function doesn't take one `Now`.

    >>> def mine(messages, settings, **given): ...
    >>> check_engine(mine)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    agentlib.compaction.engine_check.NoEngine: an engine takes one argument, but `mine`...
    """
    if _takes(engine, 1):
        return
    raise NoEngine(
        f"an engine takes one argument, but `{name(engine)}`{_place(engine)[0]} takes "
        f"{_shown(engine)}. Write `def {name(engine)}(now):`, use now.messages and "
        "now.settings, and return now.compact(keep_recent=9), say. If it is a layer, "
        f"make an engine of it: `compact = stacked({name(engine)}, *LAYERS)`"
    )


def check_layer(layer: Callable[..., Any]) -> None:
    """Raise NoEngine if a function doesn't take a `Now` and a `Step`.

    >>> def engine(now): ...
    >>> check_layer(engine)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    agentlib.compaction.engine_check.NoEngine: a layer takes (now, step), but `engine`...
    """
    if not callable(layer):
        raise NoEngine(
            f"a layer is a function (now, step) -> step, and not {layer!r:.60}"
        )
    if _takes(layer, 2):
        return
    raise NoEngine(
        f"a layer takes (now, step), but `{name(layer)}`{_place(layer)[0]} takes "
        f"{_shown(layer)}. Write `def {name(layer)}(now, step):`, work on "
        "step.applied(now.messages), and return the step, changed or not"
    )


def _takes(function: Callable[..., Any], number: int) -> bool:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function of C may have none
        return True
    try:
        signature.bind(*[None] * number)
    except TypeError:
        return False
    return True


def _shown(function: Callable[..., Any]) -> str:
    parameters = inspect.signature(function).parameters.values()
    return f"({', '.join(map(_parameter, parameters))})"


def name(function: Callable[..., Any]) -> str:
    """Return a function's name as its author wrote it."""
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _parameter(each: inspect.Parameter) -> str:
    stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}
    return stars.get(each.kind, "") + each.name


def _place(engine: Callable[..., Any]) -> tuple[str, str]:
    """Return in which line a function begins, and that line. They are empty for a
    function of C."""
    function = inspect.unwrap(engine)
    while isinstance(function, partial):
        function = function.func
    for each in (function, function.__call__):
        if code := getattr(each, "__code__", None):
            line = code.co_firstlineno
            text = linecache.getline(code.co_filename, line).strip()
            return f" in line {line}", text
    return "", ""


def described(layers: Sequence[Callable[..., Any]], settings: Settings) -> str:
    """Say what layers do under these settings, a line for each, with its numbers."""
    width = max((len(name(layer)) for layer in layers), default=0)
    return "\n".join(
        f"{number}. {name(layer):{width}}  {_words(layer, settings)}"
        for number, layer in enumerate(layers, 1)
    )


def _words(layer: Callable[..., Any], settings: Settings) -> str:
    """Say what a layer does. One of somebody else's says it in its docstring."""
    if not settings.enabled:
        return "off"
    if layer.__module__ == "agentlib.pipeline" and name(layer) in _WORDS:
        return _WORDS[name(layer)](settings)
    return (layer.__doc__ or "a plain function").strip().partition("\n")[0]


def _clear_words(settings: Settings) -> str:
    if settings.micro == "off":
        return "off"
    results = {
        "clear": f"put placeholders in place of all but the newest {settings.keep_recent} "
        f"results, if they have over {settings.min_chars} characters",
        "truncate": f"cut results older than {settings.keep_messages} messages to "
        f"{settings.max_result_chars} characters",
        "trim": f"leave {settings.trim_keep} characters at each end of results of over "
        f"{settings.trim_over:,}",
    }[settings.micro]
    is_cold = settings.clear_when == "cold"
    when = (
        f"after {settings.cache_ttl:,.0f} s without a request" if is_cold else "always"
    )
    least = settings.clear_at_least
    return f"{when}: {results}" + (
        f", {least:,} tokens or more at once" if least else ""
    )


def _summarise_words(settings: Settings) -> str:
    when = f"over {settings.threshold_tokens:,} tokens, or " if settings.auto else ""
    exchanges = settings.keep_exchanges
    tail = settings.tail_tokens
    stays = [
        f"a head of {settings.head_tokens:,} tokens" if settings.head_tokens else "",
        f"the newest {tail:,} tokens" if tail is not None else "",
        f"the newest {exchanges} exchanges" if exchanges and tail is None else "",
    ]
    rest = " and ".join(filter(None, stays)) or "what the model hasn't seen"
    most = settings.words_tokens
    words = f", and {most:,} tokens of what you said beside it" if most else ""
    return (
        f"{when}when asked: archive everything, then put a summary of about "
        f"{settings.summary_tokens:,} tokens in place of all but {rest}{words}"
    )


def _cut_words(settings: Settings) -> str:
    return (
        f"over {settings.emergency_tokens:,} tokens if a summary fails, or if the API "
        "refuses the prompt: cut the messages to size without a model"
    )


_WORDS = {"clear": _clear_words, "summarise": _summarise_words, "cut": _cut_words}


# -- somebody's view, said as a step -----------------------------------------------------


def clearing(messages: Sequence[Message], view: Sequence[Message]) -> Step | None:
    """Return the step between two lists that differ in the texts of results alone, or
    None if they differ in anything else.

    >>> said = [{"role": "user", "content": "Go on."}]
    >>> clearing(said, said) == Step(), clearing(said, [])
    (True, None)
    """
    old = results(messages)
    new = results(view)
    texts = {
        name: result.get("content", "")
        for name, result in new.items()
        if name in old and result.get("content") != old[name].get("content")
    }
    return Step(texts=texts) if with_results(messages, texts) == [*view] else None


def standing_in(messages: Sequence[Message], view: Sequence[Message]) -> Step | None:
    """Return the step to a view in which one new message of the user stands for all
    that went. None: the view is no such one, or its messages are in another order.

    >>> a, b, c, new = ({"role": "user", "content": text} for text in "abcn")
    >>> standing_in([a, b, c], [new, c]).kept
    (2,)
    """
    new = [n for n, message in enumerate(view) if message not in messages]
    if not new:  # the same words again, as those of an engine's fixed note
        known = set(map(id, messages))
        new = [n for n, message in enumerate(view) if id(message) not in known]
    if len(new) != 1:
        return None
    place = new[0]
    ahead = _found(view[:place], messages)
    behind = _found(view[place + 1 :][::-1], messages[::-1])
    if ahead is None or behind is None:
        return None
    kept = (*ahead, *(len(messages) - 1 - index for index in reversed(behind)))
    if list(kept) != sorted({*kept}) or summary_place(kept) != place:
        return None
    summary = view[place]
    if summary["role"] != "user":
        return None
    return Step(kept=kept, summary=summary, settled=place + 1)


def _found(some: Sequence[Message], messages: Sequence[Message]) -> list[int] | None:
    """Return where some messages stand among others, in their order, the first place
    for each. None if they don't."""
    places = list[int]()
    start = 0
    for message in some:
        rest = range(start, len(messages))
        place = next((i for i in rest if messages[i] == message), None)
        if place is None:
            return None
        places.append(place)
        start = place + 1
    return places
