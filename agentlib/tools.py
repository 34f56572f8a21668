"""The agent's hands: a workspace folder, and the tools that the model may use in it.

Trust model. The file tools are confined: no `..`, absolute path or symlink leads them out of the
workspace. A shell can't be made safe by a list of bad words, so bash is not confined: it does
whatever the person who started it may do, and each command is therefore confirmed by that person
(`confirm`) or runs in bubblewrap (`sandbox`); with neither, let only a model you trust use it,
such as the offline one. In every case no variable named like a key is in a command's environment,
its time and its output are limited, and its process group is killed when it ends.

What the model reads is the same on every machine: the folder is `/workspace` in results and in
inputs, newlines are `\\n`. Not here: the loop, and its own tool `compact`.
"""

import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path, PureWindowsPath
from typing import Any, cast

from agentlib import shell
from agentlib.messages import Block
from agentlib.tool_schemas import DEFINITIONS, Definition, problem
from agentlib.tool_text import capped, located, page, shown

MAX_FILE = 20_000_000
"""Bytes. A larger file is not read into memory; bash can look at a part of it."""

_NEWLINE = r"(?:\r\n|(?<!\r)\n|\r(?!\n))"


class ToolError(Exception):
    """An expected failure: its text becomes the content of an `is_error` result."""


@dataclass(frozen=True)
class Workspace:
    """A folder and the tools that work in it.

    >>> workspace = Workspace(Path("demo"))                                      # doctest: +SKIP
    >>> workspace.run("write_file", {"path": "a.txt", "content": "né\\n"})       # doctest: +SKIP
    'Wrote 4 bytes to a.txt'

    Raises NotADirectoryError where `root` is not a folder, ValueError where it is the whole disk.
    Source: the tools of seed 002 without its defects: D29 (bytes that are characters), D30 (the
    first of several matches is edited), errors that are not marked, a list of bad words.
    """

    root: Path
    """The folder. The model sees it as `/workspace`."""
    _: KW_ONLY
    recall: Callable[[str], str] | None = None
    """The text of an earlier result by its id, or KeyError; None: no tool `recall`."""
    confirm: Callable[[str], bool] | None = None
    """Asked before each command that runs outside bubblewrap; False refuses it."""
    sandbox: bool = False
    """Commands run in bubblewrap. Where that is not installed, each is confirmed or refused."""
    time_limit: float = 120.0
    """Seconds for one command."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", Path(self.root).absolute())
        if not self.root.is_dir():
            raise NotADirectoryError(f"the workspace {self.root} is not a folder; make it first")
        if self.root.resolve().parent == self.root.resolve():
            raise ValueError(f"the workspace {self.root} is the whole disk; name a folder in it")

    @property
    def tools(self) -> dict[str, Callable[..., str]]:
        """What there is, by name."""
        there: dict[str, Callable[..., str]] = {
            "bash": self.bash,
            "read_file": self.read_file,
            "write_file": self.write_file,
            "edit_file": self.edit_file,
        }
        return there | ({"recall": self._recalled} if self.recall else {})

    @property
    def definitions(self) -> list[Definition]:
        """The same tools as the API is told of them. Shared, so not to be edited."""
        return [each for each in DEFINITIONS if each["name"] in self.tools]

    def run(self, name: str, inputs: object) -> str:
        """The result of one call; ToolError for every failure the model can do something about."""
        definitions = {each["name"]: each for each in self.definitions}
        if name not in definitions:
            raise ToolError(f"there is no tool {name!r}; there are {', '.join(definitions)}")
        if wrong := problem(definitions[name], inputs):
            raise ToolError(wrong)
        given = {k: v for k, v in cast(dict[str, Any], inputs).items() if v is not None}
        try:
            return self.tools[name](**given)
        except OSError as error:
            if "path" not in given:
                raise
            raise ToolError(f"{given['path']}: {_reason(error)}") from error

    def bash(self, command: str) -> str:
        """Standard output and error of a command, in the order of their arrival.

        An exit code other than 0 is a ToolError, its last line `(exit code N)`. Only a silent 1
        is an answer and no failure: so `grep` says "nothing found", `cmp` says "different".
        """
        ran = self._start(command)
        output = ran.output if ran.cut else ran.output.rstrip("\n")
        silent = not output.strip()
        notes = [f"(exit code {ran.exit_code})"] if ran.exit_code else []
        if ran.exit_code is None:
            notes = [f"(stopped: it ran longer than {self.time_limit:g} seconds)"]
        text = capped("(no output)" if silent else output, ran.cut, *notes)
        if ran.exit_code == 0 or (ran.exit_code == 1 and silent):
            return text
        raise ToolError(text)

    def read_file(self, path: str, offset: int = 0, limit: int | None = None) -> str:
        """Lines of a file, and a last line that says how many there are more (see `page`)."""
        file, name = self._place(path)
        text = _bytes(file, name).decode("utf-8-sig", errors="replace")
        text = shown(re.sub("\r\n?", "\n", text), self.root)
        lines = text.removesuffix("\n").split("\n") if text else []
        if not lines and not offset:
            return "(empty file)"
        if offset >= len(lines):
            raise ToolError(f"offset={offset} is past the end: {name} has {len(lines)} lines")
        return page(lines, offset, limit)

    def write_file(self, path: str, content: str) -> str:
        """The file holds exactly `content`, as UTF-8, or what it held before."""
        file, name = self._place(path)
        data = content.encode()
        _replace(file, data)
        return f"Wrote {len(data)} bytes to {name}"

    def edit_file(self, path: str, old_text: str, new_text: str) -> str:
        """Nothing changes but the one place, and the file's own newlines stay."""
        file, name = self._place(path)
        try:
            text = _bytes(file, name).decode()
        except UnicodeDecodeError:
            raise ToolError(f"{name} is not UTF-8, so it is not edited; use bash") from None
        start, end = _only_place(old_text, text, name)
        newline = re.search(_NEWLINE, text)
        new_text = re.sub(_NEWLINE, newline[0] if newline else "\n", new_text)
        _replace(file, (text[:start] + new_text + text[end:]).encode())
        return f"Edited {name}"

    def _recalled(self, tool_use_id: str) -> str:
        assert self.recall
        try:
            return capped(self.recall(tool_use_id), 0)
        except KeyError:
            raise ToolError(f"no result has the id {tool_use_id}; copy it whole") from None

    def _start(self, command: str) -> shell.Ran:
        bash, folder = shell.find_bash(), self.root.resolve()
        if bash is None:
            raise ToolError("no bash on the PATH; install it (on Windows it comes with Git)")
        call = [*self._box(command), bash, "-c", located(command, folder)]
        try:
            return shell.run(
                call, folder, time_limit=self.time_limit, show=lambda t: shown(t, self.root)
            )
        except OSError as error:
            raise ToolError(
                f"bash did not start: {_reason(error)}; write a long command to a file"
            ) from error

    def _box(self, command: str) -> list[str]:
        """The sandbox's part of the call; where there is no sandbox, the permission to go on."""
        bubblewrap = shutil.which("bwrap") if self.sandbox else None
        if bubblewrap:
            return shell.boxed(bubblewrap, self.root.resolve())
        if self.sandbox and not self.confirm:
            raise ToolError("bwrap is not on the PATH: install bubblewrap, or confirm commands")
        if self.confirm and not self.confirm(command):
            raise ToolError("the person refused this command; do without it, or ask what to do")
        return []

    def _place(self, path: str) -> tuple[Path, str]:
        """Where `path` leads, links followed, and its name in results."""
        top = Path(os.path.realpath(self.root))
        inner = re.sub(r"^/workspace(?=/|$)", ".", path.replace("\\", "/"))
        file = Path(os.path.realpath(self.root / inner))
        foreign = sys.platform != "win32" and PureWindowsPath(inner).drive
        if foreign or not file.is_relative_to(top):
            raise ToolError(f"{path} is outside the workspace; paths start at /workspace")
        name = file.relative_to(top).as_posix()
        if file.is_dir():
            raise ToolError(f"{name} is a folder, not a file; list it with bash")
        return file, name


def result(call: Block, workspace: Workspace) -> Block:
    """The tool_result that answers a tool_use; whatever is not a ToolError is raised."""
    answer: Block = {"type": "tool_result", "tool_use_id": call["id"]}
    try:
        return answer | {"content": workspace.run(call["name"], call["input"])}
    except ToolError as error:
        return answer | {"content": str(error), "is_error": True}


def _bytes(file: Path, name: str) -> bytes:
    """What a text file holds. A pipe is not opened: it would wait for ever."""
    if not file.is_file():
        raise ToolError(f"there is no file {name}; list the folder with bash")
    if (size := file.stat().st_size) > MAX_FILE:
        raise ToolError(f"{name} has {size} bytes, more than {MAX_FILE}; look at a part with bash")
    data = file.read_bytes()
    if b"\0" in data:
        raise ToolError(f"{name} is a binary file of {len(data)} bytes; look at it with bash")
    return data


def _replace(file: Path, data: bytes) -> None:
    """All of `data` or nothing: a crash or a full disk must not leave half a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as out:
            out.write(data)
        if file.exists():
            shutil.copymode(file, temporary)
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def _only_place(old: str, text: str, name: str) -> tuple[int, int]:
    """Where `old` stands, newlines of any kind being equal; "aa" stands in "aaa" twice."""
    if not old:
        raise ToolError("old_text is empty; write_file makes a new file")
    pattern = _NEWLINE.join(re.escape(line) for line in re.split(_NEWLINE, old))
    places = [match.span(1) for match in re.finditer(f"(?=({pattern}))", text)]
    if not places:
        raise ToolError(f"old_text is not in {name}; read it again and copy every space")
    if len(places) > 1:
        raise ToolError(
            f"old_text stands in {name} {len(places)} times; add lines around it to name one place"
        )
    return places[0]


def _reason(error: OSError) -> str:
    """In the same words on every system."""
    return os.strerror(error.errno) if error.errno else str(error)
