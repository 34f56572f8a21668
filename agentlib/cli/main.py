"""The agent in a terminal: `python -m agentlib [PROMPT]`, see `--help`.

Where agent and lab meet: folders, sessions, the client offline or live, and every `print` of the
agent. Not here: the arguments (arguments), the conversation (terminal), its lines (screen).
"""

import importlib
import io
import math
import os
import sys
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from shutil import rmtree, which
from typing import Any

from agentlib.cli.arguments import parser, settings_of
from agentlib.cli.conversation import DONE, FAILED, STOPPED, Terminal, resumed, sentence
from agentlib.cli.render import dimmed, has_colors, plain
from agentlib.cli.working_copy import copy_folder
from agentlib.pipeline import compact
from agentlib.settings import MODEL, Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session, load


def main(argv: Sequence[str] | None = None) -> int:
    """Everything from the arguments to the exit code."""
    _make_streams_safe()
    arguments = parser()
    desk = Desk(arguments.parse_args(argv))
    try:
        return _run(desk, arguments)
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:  # whoever read the output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    finally:
        desk.tidy()


def _run(desk: "Desk", arguments: ArgumentParser) -> int:
    try:
        terminal = desk.terminal()
    except BrokenPipeError:
        raise
    except (ValueError, OSError) as error:
        arguments.error(sentence(error))
    except RuntimeError as error:  # LiveError: no key
        _warn(sentence(error))
        return FAILED
    return _held(terminal, desk.given.prompt)


def _held(terminal: Terminal, prompt: str | None) -> int:
    """The conversation: one prompt, or first what was left open and then line after line."""
    if prompt is not None:
        return terminal.work(prompt)
    patient = sys.stdin.isatty()
    code = terminal.work(None) if terminal.session.history else DONE
    if code and not patient:
        return code
    if patient:
        with suppress(ImportError):  # a line can be edited and called back, where Python has it
            importlib.import_module("readline")
        _say("/help lists the commands; an empty line quits.")
    return terminal.converse(lambda: input("agent> " if patient else ""), patient=patient)


@dataclass
class Desk:
    """What the arguments ask for, laid out: a session, a folder, a client."""

    given: Namespace
    made: list[Session] = field(default_factory=list[Session])
    """Sessions begun here: the empty ones are cleared away at the end."""

    def terminal(self) -> Terminal:
        """All of it, each part said. ValueError and OSError: wrong arguments; LiveError: no key."""
        given = self.given
        old = resumed(Path(given.resume).expanduser()) if given.resume else None
        settings = settings_of(given, old.settings if old else None)
        if old and old.skipped:
            _warn(f"[{given.resume}: broken lines skipped: {len(old.skipped)}]")
        source = self.source(old)
        folder = self.folder(source, old)
        from agentlib.lab import client as lab  # a second; --help and wrong arguments need it not

        model: str = given.model or lab.model_id(given.live)
        _say(f"[{self.notice(model)}]")
        window = settings.context_window
        client = lab.client(given.live, window=window, max_usd=self.cap, say=str)  # said above
        session = old or self.create(folder, settings)
        return Terminal(
            client=client,
            session=session,
            workspace=self.workspace(session, source, folder),
            settings=settings,
            model=model,
            renew=partial(self.renew, folder, settings),
            notice=self.notice,
            cost=self.cost,
            say=_say,
            warn=_warn,
            dim=dimmed if has_colors(sys.stdout, os.environ) else str,
            engine=given.engine or compact,
        )

    @property
    def cap(self) -> float | None:
        """Dollars; None: no cap."""
        return None if math.isinf(self.given.max_usd) else self.given.max_usd

    def notice(self, model: str) -> str:
        """What to know before `model` is asked; ValueError where it can't be."""
        from agentlib.lab.client import price_notice

        if not self.given.live:
            if model != MODEL:
                raise ValueError(f"offline there is only {MODEL}; to ask {model!r} add --live")
            return "offline: a simulated model answers; nothing is sent, nothing is spent"
        try:
            return f"live: {price_notice(model, self.cap)}"
        except ValueError as error:
            if self.cap is None:
                return f"live: {error}; there is no cap"
            raise ValueError(f"{error}; to go on without a cap add --max-usd inf") from None

    def cost(self, usages: Sequence[Mapping[str, Any]], model: str) -> str:
        """Dollars as a phrase, with the model they are counted by."""
        from agentlib.lab.spending import dollars

        try:
            total = sum(dollars(usage, model) for usage in usages)
        except ValueError:
            return f"no price is known for {model}"
        return f"{'cost' if self.given.live else 'would have cost'} ${total:.4f} at {model} prices"

    def source(self, old: Session | None) -> Path | None:
        """The folder asked for; None where a resumed session goes on in its copy."""
        asked = self.given.workspace
        if old and not asked:
            if copy_of(old).is_dir() and not self.given.in_place:
                return None
            raise ValueError(f"{old.path} has no working copy; name its folder: --workspace DIR")
        return Workspace(Path(asked or ".").expanduser()).root.resolve()

    def folder(self, source: Path | None, old: Session | None) -> Path:
        """Where sessions go: never into the workspace unless asked to."""
        if self.given.transcripts:
            return Path(self.given.transcripts).expanduser().resolve()
        here = Path.cwd()
        if old and old.path:
            return old.path.parent
        inside = source and here.is_relative_to(source)
        return (source.parent if source and inside else here) / ".transcripts"

    def create(self, folder: Path, settings: Settings) -> Session:
        """A new session with its file."""
        try:
            session = Session.create(folder, settings=settings)
        except OSError as error:
            raise ValueError(
                f"no session can be kept in {folder} ({error.strerror}); "
                "name another folder with --transcripts DIR"
            ) from error
        self.made.append(session)
        return session

    def workspace(self, session: Session, source: Path | None, folder: Path) -> Workspace:
        """The folder itself where that was asked for, or live; else the session's copy of it."""
        copy, live = copy_of(session), self.given.live
        if source and (live or self.given.in_place):
            root, said = source, f"working in {source} itself"
        elif copy.is_dir():
            root, said = copy, f"working on the session's copy, {copy}"
        else:
            assert source
            root, said = copy, _copied(source, copy, folder)
        _say(f"[{said}]")
        if not live:
            return Workspace(root)
        _say(f"[shell commands {'run in bubblewrap' if which('bwrap') else 'are asked first'}]")
        return Workspace(root, sandbox=True, confirm=_allowed)

    def renew(
        self, folder: Path, settings: Settings, workspace: Workspace
    ) -> tuple[Session, Workspace]:
        """A new session in the same folder; in place of a copy, a copy of that as it is now."""
        session = self.create(folder, settings)
        if workspace.root.suffix == copy_of(session).suffix:
            _say(f"[{_copied(workspace.root, copy_of(session), folder)}]")
            workspace = replace(workspace, root=copy_of(session))
        return session, workspace

    def tidy(self) -> None:
        """Clear away the sessions begun here in which nothing was said."""
        for session in self.made:
            if session.path and not session.history and not load(session.path).history:
                session.path.unlink()
                rmtree(copy_of(session), ignore_errors=True)


def copy_of(session: Session) -> Path:
    """Where the working copy of a session lies: beside its file."""
    assert session.path
    return session.path.with_suffix(".workspace")


def _copied(source: Path, copy: Path, folder: Path) -> str:
    return f"working on a copy of {source} ({copy_folder(source, copy, avoid=folder)}): {copy}"


# -- the terminal itself --------------------------------------------------------------------------


def _say(text: str) -> None:
    print(text, flush=True)


def _warn(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _allowed(command: str) -> bool:
    """Ask before a command runs; where nobody can answer, it does not."""
    shown = textwrap.indent(plain(command), "    ")
    if not sys.stdin.isatty():
        _say(f"[refused, nobody is there to confirm it]\n{shown}")
        return False
    _say(f"The agent wants to run:\n{shown}")
    try:
        return input("Run it? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        _say("")  # what follows goes on a line of its own
        return False


def _make_streams_safe() -> None:
    """No character may stop the agent: Windows' consoles and pipes have few of them."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = "utf-8" if sys.platform == "win32" else None
            stream.reconfigure(encoding=encoding, errors="replace")
