"""Talk with the agent. A line is a prompt, unless it is one of these commands:

/compact [FOCUS]  summarise the conversation now, keeping FOCUS in detail
/context          show what fills the window, by kind
/model [NAME]     say which model answers; with a NAME, ask that one from here on
/new              begin a new session; the files stay as they are
/help             print this list

Ctrl-C stops a run. q, exit, quit, Ctrl-D or an empty line ends the conversation.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from textwrap import indent

import click

from agentlib.cli.arguments import Arguments
from agentlib.cli.render import bill_line, plain, step_lines, turn_lines, window_lines
from agentlib.cli.working_copy import copy_folder
from agentlib.lab.client import client, model_id, price_notice
from agentlib.loop import compact_now, run
from agentlib.session_file import SETTINGS
from agentlib.settings import MODEL
from agentlib.tools import Workspace
from agentlib.transcripts import Session, load

DONE, FAILED, STOPPED = 0, 1, 130
"""Exit codes. A wrong argument gives 2."""


class Terminal:
    """One person's conversation with the agent: the session, its folder, its model."""

    def __init__(self, arguments: Arguments) -> None:
        """Open the session and the client that the arguments name, and print the price.

        Raises ValueError or OSError for wrong arguments, LiveError if there is no key.
        """
        old = resumed(arguments.resume) if arguments.resume else None
        self.arguments = arguments
        self.settings = arguments.settings(old.settings if old else None)
        self.model = arguments.model or model_id(arguments.live)
        click.echo(notice(self.model, arguments))
        window = self.settings.context_window
        self.client = client(arguments.live, window=window, max_usd=arguments.cap, say=str)
        here = Path.cwd()
        source = arguments.workspace or here
        beside = source.parent if here.is_relative_to(source) else here
        folder = arguments.transcripts or beside / ".transcripts"
        self.session = old or Session.create(folder, settings=self.settings)
        self.workspace = Workspace(source)

    @property
    def file(self) -> Path:
        """The session file."""
        assert self.session.path, "a terminal's session has a file"
        return self.session.path

    def enter(self, source: Path | None) -> None:
        """Work in `source` itself, in the session's copy, or in a new copy of `source`."""
        live, in_place = self.arguments.live, self.arguments.in_place
        root = copy = copy_of(self.file)
        if source and (live or in_place):
            root, note = source, f"working in {source} itself"
        elif copy.is_dir() and not in_place:
            note = f"working on the session's copy, {copy}"
        elif source:
            size = copy_folder(source, copy, avoid=self.file.parent)
            note = f"working on a copy of {source} ({size}): {copy}"
        else:
            raise ValueError(f"{self.file} has no working copy; name its folder: --workspace DIR")
        click.echo(f"[{note}]")
        self.workspace = Workspace(root, sandbox=live, confirm=confirm if live else None)

    def talk(self) -> int:
        """Obey the prompt, or else line after line. Returns the worst exit code.

        A person at a keyboard sees what fails and goes on, so theirs is 0 in the end.
        """
        prompt, is_person = self.arguments.prompt, sys.stdin.isatty()
        if prompt is not None:
            return self.obey(prompt)
        worst = self.obey(None) if self.session.history else DONE
        if is_person:
            with suppress(ImportError):
                __import__("readline")  # lets the person edit a line
            click.echo("/help lists the commands; an empty line quits.")
        with suppress(EOFError):
            while is_person or worst != STOPPED:
                line = input("agent> " if is_person else "").strip()
                if line.lower() in ("", "q", "exit", "quit"):
                    break
                worst = max(worst, self.obey(line))
        return DONE if is_person else worst

    def obey(self, line: str | None) -> int:
        """Carry out a command or work on a prompt, print what happens, return an exit code.

        None goes on where the session stopped.
        """
        requests, compactions = len(self.session.requests), len(self.session.compactions)
        code = DONE
        try:
            for text in self._lines(line):
                click.echo(text)
        except KeyboardInterrupt:
            # Ctrl-C may have come after a line was written and before memory knew it.
            self.session, code = load(self.file), STOPPED
            click.echo("\n[stopped by Ctrl-C; the session is kept]")
        except BrokenPipeError:
            raise
        except Exception as error:
            code = FAILED
            click.echo(f"[error: {sentence(error)}]", err=True)
        sent = self.session.requests[requests:]
        usages = [usage for c in self.session.compactions[compactions:] for usage in c.usage]
        if usages := usages + [request.usage for request in sent]:
            click.echo(bill_line(len(sent), usages, self.model, live=self.arguments.live))
        unfinished = code == DONE and sent and sent[-1].stop_reason != "end_turn"
        return FAILED if unfinished else code

    def _lines(self, line: str | None) -> Iterator[str]:
        """Yield what a command or the agent says."""
        command = re.fullmatch(r"/(\w*)(?:\s+(.*))?", line or "")  # "/etc/hosts" begins a prompt
        name, rest = (command[1].lower(), (command[2] or "").strip()) if command else (None, "")
        match name:
            case None:
                yield from self._work(line)
            case "compact":
                yield from self._compact(rest)
            case "context":
                yield from window_lines(self.session, self.settings)
            case "model":
                if rest:
                    yield notice(rest, self.arguments)
                    self.model = rest
                yield f"[model: {self.model}]"
            case "new":
                old = self.file
                self.session = Session.create(old.parent, settings=self.settings)
                self.enter(self.workspace.root)
                forget_if_empty(old)
                yield f"[new session: {self.file}]"
            case "help":
                yield str(__doc__)
            case _:
                raise ValueError(f"there is no command /{name}; /help lists them")

    def _work(self, prompt: str | None) -> Iterator[str]:
        turns = run(
            self.client,
            prompt,
            self.workspace,
            settings=self.settings,
            engine=self.arguments.engine,
            session=self.session,
            model=self.model,
        )
        for turn in turns:
            yield from turn_lines(turn)

    def _compact(self, focus: str) -> Iterator[str]:
        if not self.settings.enabled:
            raise ValueError("compaction is off; unset DISABLE_COMPACT to use it")
        step = compact_now(
            self.client,
            self.session,
            self.workspace,
            focus,
            settings=self.settings,
            engine=self.arguments.engine,
            model=self.model,
        )
        yield from step_lines(step)

    def close(self) -> None:
        """Print where the session is, or remove it if nothing was said."""
        if not forget_if_empty(self.file):
            files = f"files: {self.workspace.root}"
            click.echo(f"[session: {self.file} (go on with --resume); {files}]")


def resumed(path: Path) -> Session:
    """Load a session of this agent. Raises ValueError for another program's file."""
    if SETTINGS not in path.read_text(encoding="utf-8", errors="replace"):
        raise ValueError(f"{path} is not a session of this agent; name a file that it wrote")
    session = load(path)
    if session.skipped:
        click.echo(f"[{path}: broken lines skipped: {len(session.skipped)}]", err=True)
    return session


def copy_of(file: Path) -> Path:
    """Name the working copy of a session: it lies beside the session's file."""
    return file.with_suffix(".workspace")


def forget_if_empty(file: Path) -> bool:
    """Remove a session in which nothing was said, with its copy. Returns whether it was one."""
    if empty := not load(file).history:
        file.unlink()
        rmtree(copy_of(file), ignore_errors=True)
    return empty


def confirm(command: str) -> bool:
    """Ask the person whether a shell command may run. Without a person it may not."""
    click.echo(f"The agent wants to run:\n{indent(plain(command), '    ')}")
    if not sys.stdin.isatty():
        click.echo("[refused, nobody is there to confirm it]")
        return False
    with suppress(EOFError):
        return input("Run it? [y/N] ").strip().lower() in ("y", "yes")
    return False


def notice(model: str, arguments: Arguments) -> str:
    """Say what asking `model` costs. Raises ValueError if it can't be asked."""
    if not arguments.live:
        if model != MODEL:
            raise ValueError(f"offline there is only {MODEL}; to ask {model!r} add --live")
        return "[offline: a simulated model answers; nothing is sent, nothing is spent]"
    try:
        return f"[live: {price_notice(model, arguments.cap)}]"
    except ValueError as error:
        if arguments.cap is not None:
            raise ValueError(f"{error}; to go on without a cap add --max-usd inf") from error
        return f"[live: {error}; there is no cap]"


def sentence(error: Exception) -> str:
    """Say an error in one line, in the API's words if it is the API's.

    >>> sentence(KeyError("path"))
    "KeyError: 'path'"
    """
    match getattr(error, "body", None):
        case {"error": {"type": str(kind), "message": str(message)}}:
            text = f"{kind}: {message}"
        case _:
            name = type(error).__name__
            expected = isinstance(error, ValueError | RuntimeError | OSError) and str(error)
            text = str(error) if expected else f"{name}: {error}"
    return plain(text).strip().splitlines()[-1].strip()
