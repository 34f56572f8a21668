"""One request of a replay, and when it is repeated to keep the prompt cache alive."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agentlib.messages import Message
from agentlib.session.file import Request
from agentlib.settings import Settings
from agentlib.step import Outcome, Step
from agentlib.transcripts import Session


@dataclass(frozen=True, kw_only=True)
class Shown(Step):
    """A step to any messages, as a policy or a learner's function makes them.

    `view` stands in place of the messages that the step was made for. What else the
    step says, its texts and what it keeps, refers to the view. Only a replay and a run
    of `play` can follow it, because a session file has no line for it.

    >>> shown = Shown(view=[{"role": "user", "content": text} for text in "ab"])
    >>> [message["content"] for message in shown.applied([])]
    ['a', 'b']
    """

    view: Sequence[Message]

    def applied(self, messages: Sequence[Message]) -> list[Message]:
        """Return the view as the step leaves it, whatever there was before."""
        return super().applied(self.view)


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One request of a replay."""

    session: Session
    turn: int
    request: Request
    """The recorded request in this place."""
    settings: Settings
    before: list[Message]
    """The messages that the layers were given."""
    context: list[Message]
    step: Step
    prompt_tokens: int
    """The bill for the prompt, or its weight."""
    billed_from: Literal["recorded", "weighed"]
    compaction: Outcome | None
    """The compaction before this request, if there was one."""
    replaced_tokens: int = 0
    """The size of the prompt that was compacted. It was never sent, or it was
    refused."""
    summary_request: int = 0
    """The prompt of the recorded request for the summary. 0: a stand-in, or no model
    was asked."""
    summary_failed: bool = False
    """Whether a model was asked for the summary and gave none."""
    kinds: Mapping[str, float]
    """The prompt by kind of block. The sum is `prompt_tokens`."""

    @property
    def refused(self) -> bool:
        """Whether the prompt is over the window, so that an API would have refused
        it."""
        return self.prompt_tokens > self.settings.context_window


def repeated_at(
    session: Session, settings: Settings, request: Request, until: float
) -> list[float]:
    """Return the times before `until` at which a request of the recording is sent
    again.

    As recorded, if the settings have as many repeats as the session's own. Otherwise
    whenever the agent waits: for the person, for a permission, for a long command.
    Nothing is repeated after the last request.
    """
    if settings.keep_alive == session.settings.keep_alive:
        return [
            repeat.at
            for repeat in session.extras.repeats
            if request.at < repeat.at < until
        ]
    times = (
        request.at + n * settings.repeat_after
        for n in range(1, settings.keep_alive + 1)
    )
    return [at for at in times if at < until]
