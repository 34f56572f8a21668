"""Run somebody's engine, and say what is wrong with a function that is none."""

import inspect
import linecache
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from agentlib.pipeline import ContextEngine, Now
from agentlib.step import Step


class NoEngine(TypeError):
    """A function can't be called as an engine, or returned something else than a
    Step."""


def run_engine(engine: ContextEngine, now: Now) -> Step:
    """Ask an engine what changes. Everybody who runs one does it here.

    Raises NoEngine with the line to change if the engine takes other arguments than a
    `Now`, such as those of the protocol before, or returns no Step.
    """
    check_engine(engine)
    step = cast(object, engine(now))  # nobody has checked somebody's module
    if not isinstance(step, Step):
        raise NoEngine(
            f"`{_name(engine)}` returned {step!r:.60} (return a Step, as now.compact() "
            f"does){': '.join(filter(None, _place(engine)))}"
        )
    return step


def check_engine(engine: Callable[..., Any]) -> None:
    """Raise NoEngine if a function doesn't take one `Now`.

    >>> def mine(messages, settings, **given): ...
    >>> check_engine(mine)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    agentlib.engine_check.NoEngine: an engine takes one argument, but `mine`...
    """
    try:
        signature = inspect.signature(engine)
    except (TypeError, ValueError):  # a function of C may have none
        return
    try:
        signature.bind(None)
    except TypeError:
        name = _name(engine)
        shown = ", ".join(map(_parameter, signature.parameters.values()))
        raise NoEngine(
            f"an engine takes one argument, but `{name}`{_place(engine)[0]} takes "
            f"({shown}). Write `def {name}(now):`, use now.messages and now.settings, "
            "and return now.compact(keep_recent=9), say"
        ) from None


def _name(engine: Callable[..., Any]) -> str:
    return getattr(engine, "__name__", type(engine).__name__)


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
