"""The bare loop of lesson 00 with one layer of the learner's own, to see what comes of it.

The layer gets the context before each request and returns the next one; what it returns is sent
as it is, however wrong, so that the API can say so. Not here: sessions, cost, and the layers of
the agent (rerun runs those).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from agentlib.auto_compact import summarizer
from agentlib.estimation import TokenMeter, prompt_tokens
from agentlib.lab.client import client
from agentlib.lab.play import repeated
from agentlib.lab.tasks.scenarios import Scenario
from agentlib.loop import system_prompt
from agentlib.messages import Message, of_type
from agentlib.requests import request, send
from agentlib.settings import MODEL, Settings
from agentlib.tools import DEFINITIONS, Workspace, result

if TYPE_CHECKING:
    import anthropic

Layer = Callable[[list[Message]], list[Message]]
"""The context that came -> the context to send."""
Ask = Callable[[list[Message]], str]
"""The messages -> a summary of them."""
MAX_TURNS, MAX_TOKENS = 60, 2_000
TOOLS = [each for each in DEFINITIONS if each["name"] != "recall"]


@dataclass(kw_only=True)
class Bare:
    """One run; `told` says it in a sentence."""

    history: list[Message] = field(default_factory=list[Message])
    """Every message that was said or returned, whatever the layer made of it."""
    context: list[Message] = field(default_factory=list[Message])
    """What was sent last."""
    sizes: list[int] = field(default_factory=list[int])
    """Tokens of each prompt that was answered."""
    checks: Mapping[str, Any] = field(default_factory=dict[str, Any])
    refused: str = ""
    """The API's words where it ended the run with an error."""

    @property
    def turns(self) -> int:
        return len(self.sizes)

    @property
    def sent(self) -> int:
        """Tokens of all prompts together, those of the layer's own requests left out."""
        return sum(self.sizes)

    @property
    def repeated(self) -> int:
        """Calls that had been made before, word for word."""
        return repeated(self.history)


def bare(scenario: Scenario, layer: Layer, settings: Settings) -> Bare:
    """Do the task offline in a fresh workspace, at most `MAX_TURNS` requests in all.

    Of `settings` only the window and what the system prompt says of it are used. An error of the
    API ends the run and stands in `refused`; what the layer raises propagates.
    """
    import anthropic

    run, llm = Bare(), client(window=settings.context_window)
    with TemporaryDirectory() as name:
        place = Path(name, "work")
        scenario.make_workspace(place)
        try:
            for size in _sizes(run, scenario, layer, llm, Workspace(place), settings):
                run.sizes.append(size)
                if run.turns == MAX_TURNS:
                    break
        except anthropic.BadRequestError as error:
            body: Any = error.body
            run.refused = body["error"]["message"]
        run.checks = scenario.checks(place, run.history)
    return run


def _sizes(
    run: Bare,
    scenario: Scenario,
    layer: Layer,
    llm: "anthropic.Anthropic",
    workspace: Workspace,
    settings: Settings,
) -> Iterator[int]:
    system = system_prompt(settings)
    for prompt in scenario.prompts:
        _add(run, {"role": "user", "content": prompt})
        while run.context[-1]["role"] == "user":
            run.context = layer(run.context)
            sent = request(MODEL, system, TOOLS, run.context, MAX_TOKENS)
            reply: dict[str, Any] = send(llm, sent).to_dict()
            _add(run, {"role": "assistant", "content": reply["content"]})
            if calls := of_type(run.context[-1], "tool_use"):
                answers = [result(call, workspace) for call in calls]
                _add(run, {"role": "user", "content": answers})
            yield prompt_tokens(reply["usage"])


def _add(run: Bare, message: Message) -> None:
    run.history = [*run.history, message]
    run.context = [*run.context, message]


def needs(settings: Settings) -> tuple[Callable[[list[Message]], bool], Ask]:
    """What a layer that summarises needs: `is_full(messages)`, and `ask(messages)`.

    The first says whether the next prompt is estimated over the compaction point (lesson 01), the
    second has the offline model write a summary, on the live prefix.
    """
    system = system_prompt(settings)
    summarize = summarizer(
        client(window=settings.context_window),
        model=MODEL,
        system=system,
        tools=TOOLS,
        summary_tokens=settings.summary_tokens,
    )

    def is_full(messages: list[Message]) -> bool:
        size = TokenMeter(len(system) + len(str(TOOLS))).estimate(messages)
        return size > settings.threshold_tokens

    def ask(messages: list[Message]) -> str:
        return summarize(messages, "")

    return is_full, ask
