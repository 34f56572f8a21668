"""What the scripts of guests share."""

from collections.abc import Callable
from typing import Any

from agentlib import presets
from agentlib.messages import SUMMARY_WANTED

SETTINGS = presets.DEFAULT.scaled(4_000)
SUMMARY = "## Accomplished\nthe files so far were read"
BIG = "lorem ipsum dolor " * 90


def is_wish(text: str) -> bool:
    """Return whether a message asks for a summary."""
    return text.startswith(SUMMARY_WANTED)


def compare(
    scenarios: list[Callable[[Any], Any]], without: Any, guest: Any
) -> dict[str, list[Any]]:
    """Carry each scenario out without the guest and with it."""
    return {
        scenario.__name__: [_outcome(scenario, given) for given in (without, guest)]
        for scenario in scenarios
    }


def _outcome(scenario: Callable[[Any], Any], given: Any) -> Any:
    try:
        return scenario(given)
    except Exception as error:
        return f"{type(error).__name__}: {error!s:.300}"
