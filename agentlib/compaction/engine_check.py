"""Say what is wrong with a function that is no engine or no layer."""

import inspect
import linecache
from collections.abc import Callable
from functools import partial
from typing import Any

from agentlib.step import Step


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
