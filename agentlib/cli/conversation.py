"""The conversation at a terminal: a person's lines in, the agent's lines out.

Nothing here prints or reads the keyboard: `say`, `warn` and `ask` do, and `__main__` makes them.
Ctrl-C and errors end a run and not the conversation. Not here: arguments, folders, keys and
prices (`__main__`), how a line looks (screen), and what the agent does (loop).
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentlib import session_file
from agentlib.agent import Agent
from agentlib.cli.render import Bill, Style, bill_line, plain, step_lines, turn_lines, window_lines
from agentlib.loop import compact_now, run
from agentlib.pipeline import compact
from agentlib.settings import Settings
from agentlib.step import ContextEngine
from agentlib.tools import Workspace
from agentlib.transcripts import Session, load

if TYPE_CHECKING:
    import anthropic

DONE, FAILED, STOPPED = 0, 1, 130
"""What becomes of a line, as the process's exit code."""

QUIT = ("", "q", "exit", "quit")
COMMANDS = {
    "compact": "/compact [FOCUS]  summarise the conversation now, keeping FOCUS in detail",
    "context": "/context          what fills the window, by kind",
    "model": "/model [NAME]     which model answers; with a NAME, another from here on",
    "new": "/new              a new session; the files stay as they are",
    "help": "/help             this list",
}


@dataclass(kw_only=True)
class Terminal:
    """One person's conversation: which session, which folder, which model."""

    client: "anthropic.Anthropic"
    session: Session
    workspace: Workspace
    settings: Settings
    model: str
    renew: Callable[[Workspace], tuple[Session, Workspace]]
    """A new session, and its folder with the files of the old one."""
    notice: Callable[[str], str]
    """What to say of a model before it is used; ValueError where it can't be."""
    cost: Callable[[Sequence[Mapping[str, Any]], str], str]
    """(usages, model) -> what they cost, as a phrase."""
    say: Callable[[str], None]
    warn: Callable[[str], None]
    dim: Style = str
    engine: ContextEngine = compact

    @property
    def path(self) -> Path:
        """The session file."""
        assert self.session.path, "a terminal's session has a file"
        return self.session.path

    def work(self, prompt: str | None) -> int:
        """Let the agent work on a prompt; None: go on where it stopped. Returns an exit code."""
        known = len(self.session.requests)
        turns = run(
            self.client,
            prompt,
            self.workspace,
            settings=self.settings,
            engine=self.engine,
            session=self.session,
            model=self.model,
        )
        code = self._show(line for turn in turns for line in turn_lines(turn, self.dim))
        asked = self.session.requests[known:]
        if code == DONE and asked and asked[-1].stop_reason != "end_turn":
            code = FAILED  # cut off, refused, or out of turns: not done
        if self.session.history:
            more = "" if code == DONE else " (go on with --resume)"
            self.say(f"[session: {self.path}{more}; files: {self.workspace.root}]")
        return code

    def converse(self, ask: Callable[[], str], *, patient: bool) -> int:
        """Obey line after line until there is none, or one that quits.

        `patient`: somebody is there, sees what fails, and quits by a second Ctrl-C in a row; else
        the worst of the codes comes back, and the first Ctrl-C ends it all.
        """
        worst, stops = DONE, 0
        while stops < 2:
            try:
                line = ask().strip()
                code = DONE if line.lower() in QUIT else self.obey(line)
            except EOFError:
                if patient:
                    self.say("")  # the shell's own prompt goes on a line of its own
                return worst
            except KeyboardInterrupt:
                stops += 1 if patient else 2
                self.say("\n[Ctrl-C again, Ctrl-D or an empty line quits]" if patient else "")
                continue
            if line.lower() in QUIT:
                return worst
            if code == STOPPED and not patient:
                return STOPPED
            worst, stops = DONE if patient else max(worst, code), 0
        return STOPPED

    def obey(self, line: str) -> int:
        """A command, or else a prompt: `/compact focus` is one, `/etc/hosts says what?` is none."""
        command = re.fullmatch(r"/(\w*)(?:\s+(.*))?", line)
        if not command:
            return self.work(line)
        name, rest = command[1].lower(), (command[2] or "").strip()
        if name not in COMMANDS:
            known = ", ".join(f"/{each}" for each in COMMANDS)
            self.warn(f"there is no command /{name}; there are {known}")
            return FAILED
        action: Callable[[str], Iterator[str]] = getattr(self, f"_{name}")
        return self._show(action(rest))

    def _show(self, lines: Iterator[str]) -> int:
        """Say the lines as they come, then what they came to."""
        requests, compactions = len(self.session.requests), len(self.session.compactions)
        code = DONE
        try:
            for line in lines:
                self.say(line)
        except KeyboardInterrupt:
            # What is on disk is the truth: Ctrl-C may have come between a line and its memory.
            self.session, code = load(self.path), STOPPED
            self.say("\n[stopped by Ctrl-C; the session is kept]")
        except BrokenPipeError:
            raise
        except Exception as error:
            code = FAILED
            self.warn(f"[error: {sentence(error)}]")
        bill = Bill.since(self.session, requests, compactions)
        if bill.usages:
            self.say(bill_line(bill, self.cost(bill.usages, self.model)))
        return code

    # -- commands: each gives its lines ---------------------------------------------------------

    def _compact(self, focus: str) -> Iterator[str]:
        step = compact_now(
            self.client,
            self.session,
            self.workspace,
            focus,
            settings=self.settings,
            engine=self.engine,
            model=self.model,
        )
        yield from step_lines(step, self.dim)
        if not self.settings.enabled:
            yield "[nothing was compacted: compaction is off (DISABLE_COMPACT)]"

    def _context(self, _: str) -> Iterator[str]:
        agent = Agent.at_work(
            client=self.client,
            workspace=self.workspace,
            settings=self.settings,
            engine=self.engine,
            session=self.session,
            model=self.model,
            system=None,
            clock=time.time,
        )
        yield from window_lines(agent.session)

    def _model(self, name: str) -> Iterator[str]:
        if name:
            notice = self.notice(name)
            self.model = name
            yield notice
        yield f"[model: {self.model}]"

    def _new(self, _: str) -> Iterator[str]:
        self.session, self.workspace = self.renew(self.workspace)
        yield f"[new session: {self.path}]"

    def _help(self, _: str) -> Iterator[str]:
        yield from COMMANDS.values()
        yield "All else is a prompt. Ctrl-C stops a run; q, exit, Ctrl-D or an empty line quits."


def resumed(file: Path) -> Session:
    """The session of a file. ValueError where it is none of ours: lines are added to ours alone."""
    if not file.is_file():
        raise ValueError(f"there is no session file {file}; it ends in .jsonl, see --transcripts")
    lines, _ = session_file.read(file)
    if not any(line.get("subtype") == session_file.SETTINGS for line in lines):
        raise ValueError(f"{file} is not a session of this agent; name a file that it wrote")
    return load(file.resolve())


def sentence(error: Exception) -> str:
    """An error in one line, in the API's words where they are the API's.

    >>> sentence(ValueError("the prompt is empty"))
    'the prompt is empty'
    """
    text, status = str(error), getattr(error, "status_code", None)
    body = getattr(error, "body", None)
    match body:
        case {"error": {"type": str(kind), "message": str(message)}}:
            text = f"{status} {kind}: {message}"
        case _:
            pass
    lines = [line.strip() for line in plain(text).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    if "Traceback" in text:
        return f"the offline model failed, a fault of its own: {lines[-1]}"
    expected = status or isinstance(error, ValueError | RuntimeError | OSError)
    return " ".join(lines) if expected else f"{type(error).__name__}: {' '.join(lines)}"
