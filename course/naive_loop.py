"""The bare loop of lesson 00 with one layer of yours in it, and nothing that catches a
fall.

The layer gets the context before each request and returns the next one, which is sent
as it is.
"""

from collections.abc import Callable

from agentlib.auto_compact import summarizer
from agentlib.estimation import TokenMeter
from agentlib.loop import system_prompt
from agentlib.messages import Message, of_type
from agentlib.recovery import with_less
from agentlib.settings import MODEL, Settings
from agentlib.tools import DEFINITIONS, Workspace, result
from offline_api import client
from windtunnel.parts import Ask, named
from windtunnel.runner import Run, play
from windtunnel.tasks.scenarios import Scenario

MAX_TURNS = 60
TOOLS = [each for each in DEFINITIONS if each["name"] != "recall"]


def bare(
    task: Scenario, layer: Callable[[list[Message]], list[Message]], settings: Settings
) -> Run:
    """Do the task offline, with at most `MAX_TURNS` requests in all.

    Of `settings` only the window counts, and what the system prompt says about it. An
    error of the API ends the run. If the layer raises, that is a `PartFailed` with its
    line.
    """
    safe = named(layer, list)

    def loop(messages: list[Message], ask: Ask, workspace: Workspace) -> None:
        while messages[-1]["role"] == "user":
            messages[:] = safe(list(messages))
            messages.append({"role": "assistant", "content": ask(messages)["content"]})
            if calls := of_type(messages[-1], "tool_use"):
                results = [result(call, workspace) for call in calls]
                messages.append({"role": "user", "content": results})

    return play(task, settings, loop=loop, max_turns=MAX_TURNS)


def needs(
    settings: Settings,
) -> tuple[Callable[[list[Message]], bool], Callable[[list[Message]], str]]:
    """What a layer that summarises needs: `is_full(messages)` and `ask(messages)`.

    The first says whether the next prompt is estimated over the threshold. The second
    has the offline model write a summary.
    """
    system = system_prompt(settings)
    summarize = summarizer(
        client(window=settings.context_window),
        model=MODEL,
        system=system,
        tools=TOOLS,
        summary_tokens=settings.summary_tokens,
    )

    size = TokenMeter(len(system) + len(str(TOOLS))).estimate
    room = settings.context_window - 4 * settings.summary_tokens
    ask = with_less(summarize, fits=lambda messages: size(messages) <= room)

    def is_full(messages: list[Message]) -> bool:
        return size(messages) > settings.threshold_tokens

    return is_full, lambda messages: ask(messages, "")
