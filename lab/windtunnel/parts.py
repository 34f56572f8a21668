"""Make a working part of the agent out of a learner's function.

`layer_of` makes a layer of a function of messages. What it returns is sent as it is,
however wrong, and the API says why. The other parts become an engine around the layers,
so the loop needs no new arguments.
"""

import inspect
import linecache
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict, get_args

from agentlib import pipeline
from agentlib.auto_compact import Summarize, SummaryFailed, summary_message
from agentlib.compaction.around import Hooks
from agentlib.compaction.engine_check import (
    NoEngine,
    check_layer,
    clearing,
    name,
    standing_in,
)
from agentlib.estimation import TokenMeter, prompt_tokens
from agentlib.messages import Message, blocks, of_type, waiting
from agentlib.pipeline import ContextEngine, Layer, Now, run_engine
from agentlib.step import Step
from agentlib.tools import DEFINITIONS, Definition, Workspace, expect, page
from agentlib.transcripts import Session
from offline_api import violation
from offline_api.server import Model
from session_report.frames import Shown

if TYPE_CHECKING:
    import anthropic

Ask = Callable[[list[Message]], dict[str, Any]]
"""(messages) -> the model's reply to them: `content`, `stop_reason`, `usage`."""
Loop = Callable[[list[Message], Ask, Workspace], object]
"""(messages, ask, workspace): ask and act until the model is done, adding to
`messages`."""
Tool = tuple[Definition, Callable[[str], str]]
"""A tool's definition, and a function of the text of the file that the call's `path`
names."""


Given = Literal["summary", "summarize", "message"]
"""What a function that compacts gets beside the messages: the text of the summary, a
function that asks for it, or the finished message with it."""


GLOB: Definition = {
    "name": "glob",
    "description": "List files by a pattern such as /src/**/*.py: lines, bytes, path.",
    "input_schema": {
        "type": "object",
        "properties": {"pattern": {"type": "string"}},
        "required": ["pattern"],
        "additionalProperties": False,
    },
}
"""Lists files where there is no bash."""


class PartFailed(RuntimeError):
    """A learner's function raised, or returned something that nobody could send.

    Its text names the function and the line: "`clear` raised IndexError() in line 3:
    return x[9]".
    """


def named(
    function: Callable[..., Any],
    returns: type | tuple[type, ...] = object,
    passes: tuple[type[Exception], ...] = (),
) -> Callable[..., Any]:
    """Call the function. If it raises, or returns another type, say in which of its
    lines.

    Exceptions of the types `passes` are part of what the function may do and stay as
    they are.
    """

    @wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            answer = function(*arguments)
            if inspect.isgenerator(answer):
                answer = list(answer)
        except (PartFailed, *passes):
            raise
        except (Exception, SystemExit) as error:
            raise failed(function, f"raised {error!r}", error) from error
        if not isinstance(answer, returns):
            raise failed(function, f"returned {answer!r:.60}")
        return answer

    return call


def failed(
    function: Callable[..., Any], what: str, error: BaseException | None = None
) -> PartFailed:
    function = inspect.unwrap(function)
    while isinstance(function, partial):
        function = function.func
    code = getattr(function, "__code__", None) or getattr(
        function.__call__, "__code__", None
    )
    if code is None:  # a class, or a function of C
        return PartFailed(f"{function!r:.60} {what}")
    line = code.co_firstlineno
    text = linecache.getline(code.co_filename, line).strip()
    for frame in traceback.extract_tb(error.__traceback__ if error else None):
        if frame.filename == code.co_filename:
            line = frame.lineno or line
            text = frame.line or text
    return PartFailed(f"`{code.co_name}` {what} in line {line}: {text}")


class OpenSession(Session):
    """A session whose view may be anything, as a learner's function makes it.

    Its file lies in a folder that is removed after the run, so nobody waits for a disk.
    """

    durable: ClassVar[bool] = False

    def take(self, step: Step, *, at: float) -> None:
        """Note how a step changed the context. What no file can note is shown."""
        if isinstance(step, Shown):
            self.show(step.view)
        super().take(step, at=at)

    def show(self, messages: Sequence[Message]) -> None:
        """Send these messages next, whatever the history says."""
        ids = dict(zip(map(id, self.context), self.ids, strict=True))
        used = {*ids.values()}
        numbers = (f"a learner's {n}" for n in count())
        fresh = (each for each in numbers if each not in used)
        self.context = list(messages)
        self.ids = [ids.get(id(message)) or next(fresh) for message in messages]


@dataclass(frozen=True)
class ToolBench(Workspace):
    """A workspace with the learner's tools beside its own."""

    added: tuple[Tool, ...] = ()
    shell: bool = True
    """False: `glob` lists files in place of bash."""

    @property
    def tools(self) -> dict[str, Callable[..., str]]:
        own = super().tools
        if not self.shell:
            own = {"glob": self.glob, **own}
            del own["bash"]
        added = {tool["name"]: self._on_file(named(do, str)) for tool, do in self.added}
        return own | added

    @property
    def definitions(self) -> list[Definition]:
        own = [each for each in DEFINITIONS if each["name"] in self.tools]
        listing = [] if self.shell else [GLOB]
        return [*listing, *own, *(definition for definition, _ in self.added)]

    def glob(self, pattern: str) -> str:
        """Return a line for each file that a pattern fits: its lines, its bytes, and its
        path from the folder's root `/` on.

        Raises ToolError if none does.
        """
        inner = pattern.lstrip("/")
        expect(inner and ".." not in inner, f"{pattern!r} is no pattern in this folder")
        files = sorted(each for each in self.root.glob(inner) if each.is_file())
        expect(files, f"no file fits {pattern}")
        return page([self._listed(each) for each in files])

    def _listed(self, file: Path) -> str:
        data = file.read_bytes()
        lines = data.count(b"\n")
        return f"{lines} {len(data)} /{file.relative_to(self.root).as_posix()}"

    def _on_file(self, do: Callable[[str], str]) -> Callable[[str], str]:
        return lambda path: do(self.read_file(path))


class LearnersParts(TypedDict, total=False):
    """The parts that a learner writes. The docstring of `play` says what each is."""

    loop: Loop
    tools: Sequence[Tool]
    estimate: Callable[..., float]
    on_compact_call: Callable[[list[Message]], str | None]
    save: Callable[[list[Message], Path, float], Path]
    load: Callable[[Path], list[Message]]
    summarize: Callable[[list[Message], str, Summarize], str]


class Parts(LearnersParts, total=False):
    """All that `play` takes by name: the learner's parts and the circumstances of the
    run."""

    layers: Sequence[Layer]
    engine: ContextEngine
    resume_after: int
    compact_after: int
    focus: str
    hooks: Hooks
    model: Model
    api: "tuple[anthropic.Anthropic, str]"
    stop: Callable[[Session], str]
    max_turns: int | tuple[int, ...]
    shell: bool


NOT_WITH_A_LOOP = ("save", "load", "stop", "hooks", "compact_after", "resume_after")
"""Parts and circumstances that only the agent's own loop can serve."""
LAYERS = {"layers", "engine", "estimate", "on_compact_call", "summarize"}
"""Parts that decide what the next request sends."""


def check_together(parts: Parts) -> None:
    """Raise TypeError if a part is none, or would keep another from running."""
    names = Parts.__annotations__
    if unknown := parts.keys() - names.keys():
        raise TypeError(
            f"play takes no {', '.join(unknown)}; it takes {', '.join(names)}"
        )
    if ("save" in parts) != ("load" in parts):
        raise TypeError("save and load go together: what one writes, the other reads")
    if "save" in parts and "compact_after" in parts:
        raise TypeError("save and compact_after would both interrupt the run; take one")
    if "loop" in parts and (others := [n for n in NOT_WITH_A_LOOP if n in parts]):
        raise TypeError(
            f"a loop of yours can't go with {', '.join(others)}: only the agent's own "
            "loop stops in between; leave out one or the other"
        )
    if "layers" in parts:
        _check_layers(parts)


def _check_layers(parts: Parts) -> None:
    if "engine" in parts:
        raise TypeError(
            "an engine decides alone what the next request sends, so it can't go with "
            "layers; take one, or make the engine of the list: stacked(*layers)"
        )
    layers = parts.get("layers", ())
    if not isinstance(layers, list | tuple):
        raise TypeError(
            f"layers is a list, such as [layer_of(mine)], not {layers!r:.60}"
        )
    for layer in layers:
        try:
            check_layer(layer)
        except NoEngine as error:
            raise NoEngine(f"{error}. {_layer_of(layer)}") from None
    unused = [
        n for n in ("on_compact_call", "summarize", "compact_after") if n in parts
    ]
    if "estimate" in parts and pipeline.clear not in layers:
        unused.insert(0, "estimate")
    if unused and not any(map(_may_compact, layers)):
        raise TypeError(
            f"none of these layers compacts, so {', '.join(unused)} would never count; "
            'add agentlib\'s `summarise`, or a layer_of(mine, given="summary")'
        )


def _layer_of(layer: Any) -> str:
    return f"A function of messages becomes a layer by layer_of({name(layer)})"


def _may_compact(layer: Layer) -> bool:
    if isinstance(layer, LearnersLayer):
        return layer.given is not None
    return layer is not pipeline.clear


def is_own(layer: Layer) -> bool:
    """Tell whether a layer may be a learner's, because it is none of agentlib's."""
    return not getattr(layer, "__module__", "").startswith("agentlib.")


def has_own_summary(parts: Parts) -> bool:
    """Tell whether a function of the learner's stands in place of the course's call for
    a summary."""
    layers = parts.get("layers", ())
    return "summarize" in parts or any(
        isinstance(layer, LearnersLayer) and layer.given for layer in layers
    )


def composed(session: OpenSession, parts: Parts) -> ContextEngine:
    """Return the engine, with each of the learner's functions in its place."""
    engine = parts.get("engine", pipeline.compact)
    if "layers" in parts:
        engine = pipeline.stacked(*map(_safe, parts["layers"]))

    def step(now: Now) -> Step:
        if (call := parts.get("on_compact_call")) and now.reason != "reactive":
            focus = named(call, (str, type(None)))(list(now.messages))
            reason = "auto" if focus is None else "manual"
            now = replace(now, reason=reason, focus=focus or "")
        if estimate := parts.get("estimate"):
            function = named(estimate, (int, float))
            now = replace(now, meter=_Estimate(now.meter, function, session))
        if summarize := parts.get("summarize"):
            write = named(summarize, str, passes=(SummaryFailed,))
            ask = now.summarize
            now = now.asking(lambda messages, focus: write(list(messages), focus, ask))
        return run_engine(engine, now)

    return step


def _safe(layer: Layer) -> Layer:
    """Name the line of a learner's own layer that raises or returns no step."""
    if isinstance(layer, LearnersLayer) or not is_own(layer):
        return layer
    call = named(layer, Step, passes=(SummaryFailed,))

    def act(now: Now, step: Step) -> Step:
        try:
            return call(now, step)
        except PartFailed as error:
            why = str(error)
            if error.__cause__ is None or "'Now'" in why:
                why += f". A layer gets a Now and a Step. {_layer_of(layer)}"
            raise PartFailed(why) from error.__cause__

    return act


class _Estimate(TokenMeter):
    """A meter whose `estimate` is the learner's function. All else is the real one's.

    The function takes (messages), or (billed, sent, messages) with the newest bill.
    """

    def __init__(
        self, meter: TokenMeter, function: Callable[..., float], session: Session
    ) -> None:
        vars(self).update(vars(meter))
        self.function = function
        self.session = session

    def estimate(self, messages: Sequence[Message]) -> int:
        if len(inspect.signature(self.function).parameters) != 3:
            return int(self.function(list(messages)))
        newest = self.session.requests[-1:]
        bills = [(prompt_tokens(sent.usage), len(sent.context)) for sent in newest] or [
            (0, 0)
        ]
        return int(self.function(*bills[0], list(messages)))


def is_message(message: Any) -> bool:
    """Tell whether something has the shape of a message: a role, and a text or
    blocks."""
    match message:
        case {"role": "user" | "assistant", "content": str() | list()}:
            parts: list[Any] = list(blocks(message))
            return all(isinstance(part, dict) and "type" in part for part in parts)
        case _:
            return False


def results(messages: Sequence[Message]) -> dict[str, Any]:
    """Return the content of each tool result by the id of its call, oldest first."""
    blocks = [
        block for message in messages for block in of_type(message, "tool_result")
    ]
    return {block["tool_use_id"]: block["content"] for block in blocks}


# -- a layer made of a function of messages --------------------------------------------


def layer_of(function: Callable[..., Any], given: Given | None = None) -> Layer:
    """Make a layer of a function of messages, as the lessons' exercises are.

    Without `given` it is called as `function(messages)` before each request, and returns
    the messages to send. None: it has edited those that it got. With `given` it is
    called when it is time to compact, as `function(messages, summary)`, where the second
    argument is what `given` names: the text of the "summary", a function "summarize"
    that asks for it, or the finished "message" with it.

    >>> def newest(messages):
    ...     return messages[-9:]
    >>> print(pipeline.stacked(layer_of(newest)).layers)
    1. newest  before each request: newest(messages)
    """
    if given not in (None, *get_args(Given)):
        raise ValueError(f"given={given!r}; choose one of {', '.join(get_args(Given))}")
    return LearnersLayer(function, given)


class LearnersLayer:
    """What `layer_of` makes.

    A view that a step can say becomes one, so that the session notes it as the course's
    own layers. Any other is shown as it is.
    """

    def __init__(self, function: Callable[..., Any], given: Given | None) -> None:
        self.function = function
        self.given = given
        self.__name__ = name(function)
        when = "when it is time" if given else "before each request"
        arguments = ", ".join(filter(None, ("messages", given)))
        self.__doc__ = f"{when}: {self.__name__}({arguments})"

    def __repr__(self) -> str:
        return f"layer_of({self.__name__})"

    def __call__(self, now: Now, step: Step) -> Step:
        messages = step.applied(now.messages)
        if self.given is None:
            view = self._view(messages)
            # It may touch any message again, so none of them is settled.
            return replace(_step_to(view, now, step), settled=0)
        is_due = now.reason != "auto" or now.is_full(step.tokens_after)
        if not is_due or step.compaction is not None:
            return step

        def ask(asked: Sequence[Message], about: str = now.focus) -> str:
            return now.summarize(asked, about)

        if self.given == "summarize":
            view = self._view(messages, ask)
        elif self.given == "summary":
            view = self._view(messages, ask(messages))
        else:
            words = [text for _, text in waiting(messages, now.persons)]
            top = summary_message(ask(messages), now.archive(), words)
            view = self._view(messages, top)
        return _step_to(view, now, step)

    def _view(self, messages: list[Message], *given: Any) -> list[Message]:
        returns = list if self.given else (list, type(None))
        call = named(self.function, returns, passes=(SummaryFailed,))
        view = call(messages, *given)
        view = messages if view is None else view
        strange = [each for each in view if not _has_content(each)]
        if strange:
            raise failed(self.function, f"returned {strange[0]!r:.60} as a message")
        return view


def _has_content(message: Any) -> bool:
    """Tell whether something is enough of a message to be sent, if only to be
    refused."""
    return isinstance(message, dict) and is_message({**message, "role": "user"})


def _step_to(view: list[Message], now: Now, step: Step) -> Step:
    """Return the step to a view: one of texts or of a compaction, if it can be said so
    and breaks no rule of the API, because the session would mend it."""
    before = step.applied(now.messages)
    if not violation(view):
        if cleared := clearing(before, view):
            texts = {**step.texts, **cleared.texts}
            return replace(step, texts=texts) if cleared.texts else step
        done = standing_in(before, view) if step.summary is None else None
        if done is not None:
            return replace(
                step,
                kept=done.kept,
                summary=done.summary,
                reason=now.reason,
                focus=now.focus,
                archive=now.archive(),
                settled=done.settled,
            )
    return Shown(
        view=view,
        settled=step.settled,
        tokens_before=step.tokens_before,
        tokens_cleared=step.tokens_cleared,
        tokens_after=step.tokens_after,
    )
