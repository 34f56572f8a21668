"""Run `python -m agentlib`: from the arguments to the exit code.

`Terminal` is the conversation with one person. Each line is a prompt or a command.
"""

import io
import os
import re
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import Any

import click

from agentlib.api.live import (
    live_client,
    live_notice,
    model_id,
    served_window,
    take_price,
)
from agentlib.api.spending import price_list
from agentlib.cli import render
from agentlib.cli.arguments import TYPED, AgentCommand, Arguments, options, to_resume
from agentlib.cli.kept_files import Before
from agentlib.cli.program import lines_of, place_of, typed, whose
from agentlib.cli.working_copy import copy_folder
from agentlib.loop import Agent, equipped, turns
from agentlib.session.extras import note_kept
from agentlib.session.file import SETTINGS
from agentlib.session.undo import undo
from agentlib.settings import MODEL
from agentlib.tools import Workspace, shell
from agentlib.transcripts import Session, load

DONE = 0
FAILED = 1
STOPPED = 130
ENDED = (129, 143)
"""Exit codes. A wrong argument gives 2, and SIGHUP and SIGTERM those of ENDED."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code. An error is one line."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed before the start
            setattr(sys, name, io.TextIOWrapper(io.BytesIO()))
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):  # it may lack characters
            stream.reconfigure(
                encoding="utf-8" if os.name == "nt" else None, errors="replace"
            )
    # None: styles if the output is a terminal.
    color = (
        False
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        else None
    )
    try:
        name = typed("agentlib", "agentlib")
        return command.main(argv, name, standalone_mode=False, color=color)
    except click.Abort:  # Ctrl-C
        return STOPPED
    except click.ClickException as error:
        text = render.plain(error.format_message())
        code = error.exit_code
    except (
        ValueError,
        OSError,
        RuntimeError,
    ) as error:  # RuntimeError: there is no key
        text = sentence(error)
        code = FAILED if isinstance(error, RuntimeError) else 2
    click.echo(f"error: {text}", err=True)
    return code


@click.command(
    cls=AgentCommand, params=[click.Argument(["prompt"], required=False), *options()]
)
@click.version_option(package_name="agentlib-course", message="agentlib %(version)s")
def command(**given: Any) -> int:
    """A coding agent that outlives its context window.

    PROMPT is what to do. Without it you are asked, line after line, and /help lists
    commands.

    Offline, the default, a simulated model answers without a key. It understands seven
    tasks:

    \b
      read files and report     "Read every Python file one by one and write a report"
      keep reading until        "Keep reading files until compaction triggers"
        compaction
      find where a value is set "Where is DEFAULT_TIMEOUT set?"
      rename a name everywhere  "Rename MAX_SIZE to SIZE_LIMIT everywhere and run the tests"
        and run the tests         (it always runs them)
      run a script once         "Run migrate.py unless it has run already"
      use the compact tool      "Compact the conversation, focus on the rules"
      say what a summary or     "Rule: the first line of every report must be '# For Ada'."
        a rule holds

    The offline agent works on a copy of the folder, without version control, virtual
    environments, node_modules, caches and .env files. The copy lies beside the session
    file, and --resume finds it there. Session files go to .transcripts in the current
    folder, or beside the workspace if that would lie in it. Only one process at a time
    can work on a session.

    With --live a real model works in the folder itself. ANTHROPIC_API_KEY,
    ANTHROPIC_BASE_URL and MODEL_ID come from the environment, or all from a .env file
    that you name with --env. No other .env is read. The run stops once --max-usd
    dollars are spent, 0.50 by default. inf means no cap. If no price is known for your
    model, name one with --price 0.5,2 (50 cents in, 2 dollars out, a million tokens) or
    with MODEL_PRICE. On your own machine it is 0,0. If your server or the price list
    says how large the window is, the agent uses no larger one, unless you give
    --window. You confirm each shell command, unless bubblewrap confines it.

    An argument wins over the environment (CLAUDE_CODE_AUTO_COMPACT_WINDOW,
    DISABLE_COMPACT, CLAUDE_AUTOCOMPACT_PCT_OVERRIDE, DISABLE_AUTO_COMPACT), and the
    environment over the preset.

    \b
    Examples:
      python -m agentlib "Read every Python file in this directory one by one and write a report"
      python -m agentlib --workspace ~/any/project --preset claude-code --window 32000
      python -m agentlib --resume .transcripts/20261121-101500-1.jsonl --threshold 12000
      python -m agentlib --live --max-usd 0.20 "Explain what this project does"

    Exit codes: 0 done, 1 an error or stopped early, 2 a wrong argument, 130 Ctrl-C. The
    session is kept in each case.
    """
    arguments = Arguments(
        **{name: value for name, value in given.items() if value is not None}
    )
    typed_options = click.get_current_context().meta[TYPED]
    with (
        resumed(arguments.resume) as old,
        closing(Terminal(arguments, typed_options, old)) as terminal,
    ):
        terminal.enter(arguments.workspace or (None if old else Path.cwd()))
        return terminal.talk()


class Terminal:
    """A conversation with the agent. A line is a prompt, or one of these commands:

    /compact [FOCUS]  summarise the conversation now, keeping FOCUS in detail; so does /compress
    /compact preview  show what would go (-) and what would stay; nothing changes
    /undo             take back the last compaction, if the context still fits
    /context          show what fills the window, by kind
    /model [NAME]     say which model answers; with a NAME, ask that one from here on
    /new              begin a new session; the files stay as they are
    /undo-files       put back the files that the agent changed, but not what commands changed
    /help             print this text

    Ctrl-C stops a run. q, exit, quit, Ctrl-D, an empty line or Ctrl-C twice ends the
    conversation.
    """

    def __init__(
        self,
        arguments: Arguments,
        typed_options: Mapping[str, Any] | None = None,
        old: Session | None = None,
    ) -> None:
        """Make the session and the client that the arguments name, and print the price.

        `typed_options` are the options as the person typed them, for the command that
        goes on with the session. `old` is the session to go on with. Raises ValueError
        or OSError for wrong arguments, and LiveError if there is no key.
        """
        self.typed_options = typed_options or {}
        self.arguments = arguments
        own = old.settings if old else None
        self.model = arguments.model or model_id(arguments.live, env=arguments.env)
        self.settings = arguments.settings(own)
        click.echo(render.plain(notice(self.model, arguments)))
        if own_engine := self.typed_options.get("engine"):
            layers = whose(own_engine, arguments.engine)
            click.echo(f"[{render.plain(layers)}]")
        live = arguments.live
        cap = arguments.cap
        env = arguments.env
        listed: int | None = (
            price_list()["models"].get(self.model, {}).get("context_window")
        )
        limit = served_window(env) or listed if live and not arguments.window else None
        if limit and limit < self.settings.context_window:
            self.settings = replace(arguments, window=limit).settings(own)
            click.echo(f"[window: {limit:,} tokens, all that the model has]")

        def warn(text: str) -> None:
            click.echo(render.plain(text))

        if live:
            self.client = live_client(
                env,
                model=self.model,
                price=arguments.price,
                max_usd=cap,
                say=str,
                warn=warn,
            )
        else:
            from offline_api import client

            self.client = client(window=self.settings.context_window)
        self.session = old or Session.create(arguments.folder, settings=self.settings)

    def enter(self, source: Path | None) -> None:
        """Work in `source` itself, in the session's copy, or in a new copy of
        `source`."""
        assert self.session.path, "a terminal's session has a file"
        self.file = self.session.path
        self.folder: Path | None = None  # the person's own, if it works there
        self.session.hold()
        self.copy = root = self.file.with_suffix(".workspace")
        live = self.arguments.live
        in_place = self.arguments.in_place
        boxed = shell.confines()
        if source and (live or in_place):
            self.folder = source
            root = source
            note = f"working in {source} itself; /undo-files puts back what it edits"
        elif self.copy.is_symlink():
            # A repository can bring a session file, and a link to any folder beside it.
            raise ValueError(f"{self.copy} is a symlink; remove it, or use --in-place")
        elif self.copy.is_dir() and not in_place:
            note = f"working on the session's copy, {root}"
        elif source:
            size = copy_folder(source, root, avoid=self.file.parent)
            note = f"working on a copy of {source} ({size}): {root}"
        else:
            raise ValueError(
                f"{self.file} has no working copy; name its folder: --workspace DIR"
            )
        click.echo(f"[{render.plain(note)}]")
        if not (live or boxed):
            click.echo(
                "[no bubblewrap: the commands that it runs, such as tests, aren't confined]"
            )
        before = self._before(root)
        asks = confirm if live else None
        self.put_back = before.put_back
        keep = before.keep if root == source else None
        self.workspace = Workspace(
            root,
            confirm=asks,
            sandbox=live or boxed,
            keep=keep,
        )

    def _before(self, root: Path) -> Before:
        """Return what keeps the files of `root`, and notes them in the session."""
        name = sha256(bytes(root.resolve())).hexdigest()[:16]

        def note(file: str, digest: str | None) -> None:
            at = round(time.time(), 3)
            note_kept(self.session, name, file, digest, at=at)

        def noted() -> dict[str, str]:
            return dict(self.session.extras.kept.get(name, {}))

        return Before(root, self.file.with_suffix(".before") / name, note, noted)

    @property
    def name(self) -> str:
        """The session's file as the screen shows it."""
        return render.plain(str(self.file))

    def agent(self) -> Agent:
        """Make the agent for the next line. That alone writes nothing."""
        return equipped(
            self.client,
            self.workspace,
            self.session,
            settings=self.settings,
            engine=self.arguments.engine,
            model=self.model,
        )

    def talk(self) -> int:
        """Obey the prompt, or else line after line. Returns the worst exit code.

        A person at a keyboard sees what fails and goes on, so theirs is 0 in the end.
        """
        prompt = self.arguments.prompt
        is_person = sys.stdin.isatty()
        if prompt is not None:  # which may hold bytes that are no UTF-8
            return self.obey(prompt.encode("utf-8", "replace").decode())
        worst = self.obey(None) if self.session.history else DONE
        if is_person:
            with suppress(ImportError):
                __import__("readline")  # lets the person edit a line
            click.echo("/help lists the commands; an empty line quits.")
        line = ""
        is_warned = False
        with suppress(EOFError):
            while is_person or worst != STOPPED:
                try:
                    line = input("agent> " if is_person else "").strip()
                except KeyboardInterrupt:
                    if not is_person or is_warned:
                        raise
                    is_warned = True
                    click.echo("\n[Ctrl-C again quits; /help lists the commands]")
                    continue
                is_warned = False
                if line.lower().removeprefix("/") in ("", "q", "exit", "quit"):
                    break
                worst = max(worst, self.obey(line))
        return DONE if is_person else worst

    def obey(self, line: str | None) -> int:
        """Carry out a command or work on a prompt, print what happens, return an exit
        code.

        None goes on where the session stopped.
        """
        before = (len(self.session.requests), len(self.session.compactions))
        code = DONE
        try:
            for text in self._lines(line):
                click.echo(text)
        except KeyboardInterrupt:
            # Ctrl-C may have come after a line was written and before memory knew it.
            old, self.session = self.session, load(self.file)
            self.session.hold()
            old.close()
            code = STOPPED
            click.echo("\n[stopped by Ctrl-C; the session is kept]")
        except (Exception, SystemExit) as error:  # somebody's engine may call sys.exit
            if isinstance(error, BrokenPipeError) or getattr(error, "code", 0) in ENDED:
                raise
            code = FAILED
            where = f"{self.name}: " if getattr(error, "filename", "") is None else ""
            file, _ = place_of(self.typed_options.get("engine", ""))
            if file and (lines := lines_of(error, file)):
                where = f"{render.plain(file)}, line {lines[-1]}: "
            click.echo(f"[error: {where}{sentence(error)}]", err=True)
        sent = self.session.requests[before[0] :]
        usages = [
            usage for c in self.session.compactions[before[1] :] for usage in c.usage
        ]
        if usages := usages + [request.usage for request in sent]:
            what = f"turns: {len(sent):,}"
            click.echo(
                render.bill_line(what, usages, self.model, live=self.arguments.live)
            )
        return (
            FAILED
            if code == DONE and sent and sent[-1].stop_reason != "end_turn"
            else code
        )

    def _lines(self, line: str | None) -> Iterator[str]:
        """Yield what a command or the agent says."""
        parts = re.fullmatch(
            r"/([\w-]*)(?:\s+(.*))?", line or ""
        )  # "/etc/hosts" begins a prompt
        name, rest = (
            (parts[1].lower(), (parts[2] or "").strip()) if parts else (None, "")
        )
        agent = self.agent()
        match name:
            case None:
                for turn in turns(agent, line):
                    yield from render.turn_lines(turn)
            case "compact" | "compress" if rest == "preview":
                yield from render.preview_lines(agent)
            case "undo":
                undo(agent)
                yield "[the last compaction is undone]"
            case "compact" | "compress":
                if not self.settings.enabled:
                    raise ValueError(
                        "compaction is off; unset DISABLE_COMPACT to use it"
                    )
                yield from render.step_lines(agent.compact_now(rest))
            case "context":
                yield from render.window_lines(agent)
            case "model":
                if rest:
                    arguments = self.arguments
                    yield render.plain(notice(rest, arguments))
                    if arguments.live:
                        take_price(rest, arguments.price, env=arguments.env)
                    self.model = rest
                yield f"[model: {render.plain(self.model)}]"
            case "new":
                if self.session.history:  # or else it is new already
                    self.session.close()
                    self.session = Session.create(
                        self.file.parent, settings=self.settings
                    )
                    self.enter(self.workspace.root)
                yield f"[new session: {self.name}]"
            case "undo-files":
                yield f"[{render.plain(self._put_back())}]"
            case "help":
                yield f"\n{Terminal.__doc__}"
            case _:
                raise ValueError(f"there is no command /{name}; /help lists them")

    def _put_back(self) -> str:
        """Put back what the agent changed, and say what became of the folder."""
        if self.folder is None:
            return f"your folder is untouched; the agent works on a copy, {self.copy}"
        names = ", ".join(self.put_back())
        return f"put back: {names or 'nothing; no change of the agent is left'}"

    def close(self) -> None:
        """Let go of the session, and print where it is, or remove a new one without a
        word."""
        workspace = getattr(self, "workspace", None)  # none, if it was never entered
        if workspace and (files := render.files_written(self.session)):
            click.echo(f"[it wrote {files} in {render.plain(str(workspace.root))}]")
        self.session.close()
        if self.file == self.arguments.resume or load(self.file).history:
            click.echo("[the session is kept; this command goes on with it:]")
            command = to_resume(self.file, self.folder, self.typed_options)
            click.echo(render.plain(command))
        else:
            self.file.unlink()
            rmtree(self.copy, ignore_errors=True)


@contextmanager
def resumed(path: Path | None) -> Generator[Session | None]:
    """Load a session of this agent, and hold it for as long as the block runs.

    Raises ValueError for another program's file, and SessionInUse if another process
    has the session.
    """
    if path is None:
        yield None
        return
    if not path.is_file() or SETTINGS not in path.read_text(
        encoding="utf-8", errors="replace"
    ):
        raise ValueError(
            f"{path} is not a session of this agent; name a file that it wrote"
        )
    with load(path) as session:
        session.hold()
        for what in session.damage:
            click.echo(render.plain(f"[{path} is damaged; {what}]"), err=True)
        yield session


def confirm(command: str) -> bool:
    """Ask the person whether a shell command may run. Without a person it may not."""
    is_person = sys.stdin.isatty()
    title = (
        "The agent wants to run:"
        if is_person
        else "[refused, nobody is there to confirm it]"
    )
    click.echo(
        f"{title}\n{re.sub('^', '    ', render.as_it_runs(command), flags=re.M)}"
    )
    forget_typed()
    with suppress(EOFError):
        return is_person and input("Run it? [y/N] ").strip().lower() in ("y", "yes")
    return False


def forget_typed() -> None:
    """Throw away what was typed or pasted before a question: it can't be the answer."""
    if sys.platform == "win32":
        import msvcrt

        while msvcrt.kbhit():
            msvcrt.getwch()
    elif sys.stdin.isatty():
        import termios

        termios.tcflush(sys.stdin, termios.TCIFLUSH)


def notice(model: str, arguments: Arguments) -> str:
    """Say what asking `model` costs. Raises ValueError if it can't be asked."""
    if not arguments.live:
        if model != MODEL:
            raise ValueError(
                f"offline there is only {MODEL}; to ask {model!r} add --live"
            )
        return "[offline: a simulated model answers; nothing is sent, nothing is spent]"
    return f"[live: {live_notice(model, arguments.cap, arguments.price, env=arguments.env)}]"


def sentence(error: BaseException) -> str:
    """Say an error in one line, in the API's words if it is the API's.

    The lines of a longer error are put into one. Of a traceback the last line says what
    is wrong. An error without words is named by its kind.

    >>> sentence(KeyError("path"))
    "KeyError: 'path'"
    >>> sentence(ValueError("no such row\\n\\n  in a.csv"))
    'no such row; in a.csv'
    """
    match getattr(error, "body", None):
        case {"error": {"type": str(kind), "message": str(message)}}:
            text = f"{kind}: {message}" if message.strip() else kind
        case _:
            expected = isinstance(error, ValueError | RuntimeError | OSError)
            words = str(error)
            kind = type(error).__name__
            text = words if expected and words.strip() else f"{kind}: {words}"
    lines = [line.strip() for line in render.plain(text).splitlines() if line.strip()]
    is_trace = any(
        line.endswith("Traceback (most recent call last):") for line in lines
    )
    line = "; ".join(lines[-1:] if is_trace else lines)
    return f"{line or type(error).__name__:.1000}"
