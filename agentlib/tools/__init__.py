"""The agent's tools: bash, reading, writing and editing files in one folder, and
recall.

Trust model. The file tools are confined: no `..`, absolute path or symlink leads them
out of the workspace. They read what `shell.PROTECTED` lists, such as `.git`, but never
write it, because git, an editor or a server would run commands from there. They neither
read nor write `.env` files, which hold keys, and no result shows a long value of the
workspace's `.env` as it is written there.

No list of forbidden words makes a shell safe, so bash is not confined by itself. Either
a person confirms each command (`confirm`), or it runs in bubblewrap (`sandbox`). With
neither, let only a model you trust use it, such as the offline one. In every case a
command gets only a few harmless variables, its time and output are limited, and its
process group is killed when it ends.

To the model the folder is `/workspace`. The file tools take such paths. Commands do in
bubblewrap only: elsewhere they use relative paths, and one that names `/workspace` is
refused.
"""

import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, cast

from agentlib.messages import Block, tool_result
from agentlib.tools import shell
from agentlib.tools.shell import CAP

Definition = dict[str, Any]

LARGEST = 20_000_000
"""Most bytes of a file that is read or edited."""

ROOM = 120
"""Characters of a cut result that are kept free for the notes below it."""


def _definition(
    name: str,
    description: str,
    *texts: str,
    optional: tuple[str, ...] = (),
    **numbers: int,
) -> Definition:
    """Define a tool. `texts` are required strings, `numbers` minimums of optional
    integers."""
    properties: dict[str, Any] = {
        text: {"type": "string"} for text in (*texts, *optional)
    }
    properties |= {
        n: {"type": "integer", "minimum": least} for n, least in numbers.items()
    }
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": list(texts),
    }
    closed = schema | {"additionalProperties": False}
    return {"name": name, "description": description, "input_schema": closed}


_BASH = """Run a bash command in /workspace. Its output and its errors come back together, and \
its exit code where that is not 0. What it leaves running is stopped."""
_READ = (
    "Read a text file. The first `offset` lines are skipped, at most `limit` come back."
)
_WRITE = "Write a whole file; missing folders are made."
_EDIT = "Replace old_text by new_text. old_text must stand in the file exactly once."
_RECALL = """Get back what was cleared or compacted: a result by its tool_use_id, or all lines \
with `search`. The first `offset` lines are skipped."""

DEFINITIONS = (
    _definition("bash", _BASH, "command"),
    _definition("read_file", _READ, "path", offset=0, limit=1),
    _definition("write_file", _WRITE, "path", "content"),
    _definition("edit_file", _EDIT, "path", "old_text", "new_text"),
    _definition(
        "recall", _RECALL, optional=("tool_use_id", "search"), offset=0, limit=1
    ),
)
"""Every tool as the API is told of it, always in this order: the prompt cache needs
that."""


class ToolError(Exception):
    """An expected failure. Its text becomes the content of an `is_error` result."""


def expect(condition: object, text: str) -> None:
    """Raise ToolError with this text unless the condition holds."""
    if not condition:
        raise ToolError(text)


def check_inputs(definition: Definition, inputs: object) -> dict[str, Any]:
    """Return a call's inputs without those that are null, or raise ToolError.

    A required string must be there. Everything else may be left out.

    >>> check_inputs(DEFINITIONS[1], {"path": "a.py", "limit": None})
    {'path': 'a.py'}
    """
    rules: dict[str, Any] = definition["input_schema"]["properties"]
    if not isinstance(inputs, dict) or not inputs.keys() <= rules.keys():
        raise ToolError(
            f"the input must be an object with {', '.join(rules)}, not {inputs!r:.80}"
        )
    arguments = {k: v for k, v in cast(dict[str, Any], inputs).items() if v is not None}
    for name, rule in rules.items():
        value = arguments.get(name)
        if rule["type"] == "string":
            # No path, command or file can hold NUL or half of a surrogate pair.
            is_text = isinstance(value, str) and not re.search(
                "[\0\ud800-\udfff]", value
            )
            fits = is_text or (
                value is None and name not in definition["input_schema"]["required"]
            )
            expected = "a string of Unicode characters without NUL"
        else:
            # To Python True is an int, too.
            fits = value is None or (type(value) is int and value >= rule["minimum"])
            expected = f"a whole number from {rule['minimum']} on"
        expect(fits, f"{name} must be {expected}, not {value!r:.80}")
    return arguments


@dataclass(frozen=True)
class Workspace:
    """A folder and the tools that work in it.

    >>> workspace = Workspace(Path("."))
    >>> workspace.run("write_file", {"path": "a.txt", "content": "né\\n"})
    'Wrote 4 bytes to a.txt'

    Raises NotADirectoryError if `root` is not a folder, ValueError if it is the whole
    disk.
    """

    root: Path
    """The folder. The model knows it as `/workspace`."""
    _: KW_ONLY
    recall: Callable[..., str] | None = None
    """Such as `Session.recall`: the text of an earlier result by its id, or KeyError;
    with `search=`, lines that hold these words. None: there is no tool `recall`."""
    confirm: Callable[[str], bool] | None = None
    """Asked before each command that runs outside bubblewrap. False refuses the
    command."""
    sandbox: bool = False
    """Run commands in bubblewrap. If it isn't installed, each is confirmed or
    refused."""
    time_limit: float = 120.0
    """Seconds for one command."""
    keep: Callable[[Path], None] | None = None
    """Called with each file before `write_file` or `edit_file` changes it."""
    secret: str = field(default="", repr=False)
    """The key in use, which no result shows. Several have a blank between them."""

    def serving(self, client: object, recall: Callable[..., str] | None) -> "Workspace":
        """Return the workspace as it serves an agent: no result shows the client's key,
        and with `recall` there is a tool of that name, if it had none."""
        keys = [getattr(client, name, "") for name in ("api_key", "auth_token")]
        secret = " ".join(key for key in keys if isinstance(key, str))
        return replace(self, secret=secret, recall=self.recall or recall)

    def text_of(self, path: str) -> str | None:
        """Return a file's text without keys, or None if it can't be read."""
        try:
            return self.without_keys(self.read_file(path))
        except (ToolError, OSError):
            return None

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", Path(self.root).resolve())
        if not self.root.is_dir():
            raise NotADirectoryError(
                f"the workspace {self.root} is not a folder; make it first"
            )
        if self.root == self.root.parent:
            raise ValueError(
                f"the workspace {self.root} is the whole disk; name a folder in it"
            )

    @property
    def tools(self) -> dict[str, Callable[..., str]]:
        """The tools' functions by name."""
        always = (self.bash, self.read_file, self.write_file, self.edit_file)
        tools: dict[str, Callable[..., str]] = {tool.__name__: tool for tool in always}
        return tools | ({"recall": self._recall} if self.recall else {})

    @property
    def definitions(self) -> list[Definition]:
        """The tools' definitions for the API. They are shared, so don't edit them."""
        return [each for each in DEFINITIONS if each["name"] in self.tools]

    def run(self, name: str, inputs: object) -> str:
        """Return the result of one call.

        Raises ToolError for every failure that the model can do something about.
        """
        offered = {each["name"]: each for each in self.definitions}
        expect(
            name in offered,
            f"there is no tool {name!r}; there are {', '.join(offered)}",
        )
        arguments = check_inputs(offered[name], inputs)
        try:
            return self.tools[name](**arguments)
        except OSError as error:  # such as a full disk, or a command too long to start
            raise ToolError(
                f"{arguments.get('path', name)}: {error.strerror}"
            ) from error

    def without_keys(self, text: str) -> str:
        """Mask the key in use and the values in the folder's `.env`, from 12 characters
        on.

        A key that was changed, such as spelt backwards or in base64, is not noticed.
        """
        for key in self._keys():
            text = text.replace(key, "[masked: a key]")
        return text

    def _keys(self) -> list[str]:
        """List what no result shows, the longest first, because one may hold
        another."""
        keys = {*shell.keys_in(self.root), *self.secret.split()}
        return sorted((key for key in keys if len(key) > 11), key=len, reverse=True)

    def _without_last_part(self, text: str) -> str:
        """Take off the beginning of a key at which a text was cut."""
        parts = [
            size
            for key in self._keys()
            for size in range(1, len(key))
            if text.endswith(key[:size])
        ]
        return text[: len(text) - max(parts, default=0)]

    def bash(self, command: str) -> str:
        """Return a command's standard output and error, in the order of their arrival.

        An exit code other than 0 is a ToolError whose last line is `(exit code N)`.
        Only a silent 1 is an answer and no failure: it is how `grep` says "nothing
        found".
        """
        execution = shell.run(
            self._call(command), self.root, time_limit=self.time_limit
        )
        code = execution.exit_code
        output = execution.output
        cut = execution.cut
        if cut:  # a key that was cut in two isn't found any more
            output = self._without_last_part(output)
            cut += len(execution.output) - len(output)
        # Before `fit` cuts the text once more.
        output = self.without_keys(output.replace(str(self.root), "/workspace"))
        silent = not output.strip()
        stopped = f"(stopped: it ran longer than {self.time_limit:g} seconds)"
        notes = (
            [] if code == 0 else [stopped if code is None else f"(exit code {code})"]
        )
        output = output if cut else output.rstrip("\n")
        text = fit("(no output)" if silent else output, cut, *notes)
        expect(code == 0 or (code == 1 and silent), text)
        return text

    def _call(self, command: str) -> list[str]:
        """Return the words that run a command in bubblewrap, or without it if that is
        permitted."""
        bash = shutil.which("bash") or ""
        expect(bash, "no bash on the PATH; install it (on Windows it comes with Git)")
        if self.sandbox and (bubblewrap := shutil.which("bwrap")):
            return [*shell.sandbox_prefix(bubblewrap, self.root), bash, "-c", command]
        expect(
            self.confirm or not self.sandbox,
            "no bwrap; install bubblewrap or confirm commands",
        )
        relative = not re.search(r"(?<![\w.~})-])/workspace\b", command)
        expect(
            relative,
            "no command finds /workspace here; it starts in it: use relative paths",
        )
        confirmed = not self.confirm or self.confirm(command)
        expect(
            confirmed,
            "the person refused this command; do without it, or ask what to do",
        )
        return [bash, "-c", command]

    def read_file(self, path: str, offset: int = 0, limit: int | None = None) -> str:
        """Return lines of a file. The last line says how many more there are (see
        `page`)."""
        file, name = self._place(path)
        text = re.sub(
            "\r\n?", "\n", _bytes(file, name).decode("utf-8-sig", errors="replace")
        )
        text = self.without_keys(text)  # before a page of it is cut
        lines = text.removesuffix("\n").split("\n") if text else []
        if not lines and not offset:
            return "(empty file)"
        return page(lines, offset, limit)

    def write_file(self, path: str, content: str) -> str:
        """Make the file hold exactly `content`, as UTF-8."""
        file, name = self._place(path, write=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        self._write(file, content)
        return f"Wrote {len(content.encode())} bytes to {name}"

    def edit_file(self, path: str, old_text: str, new_text: str) -> str:
        """Change the one place that holds `old_text`.

        The newlines of both texts become the file's own, \\n or \\r\\n. In a file that
        mixes them, an `old_text` of several lines only matches lines that end with
        \\r\\n.
        """
        file, name = self._place(path, write=True)
        try:
            text = _bytes(file, name).decode()
        except UnicodeDecodeError:
            raise ToolError(
                f"{name} is not UTF-8, so it is not edited; use bash"
            ) from None
        newline = "\r\n" if "\r\n" in text else "\n"
        old, new = (re.sub("\r?\n", newline, part) for part in (old_text, new_text))
        first = text.find(old)
        expect(old, "old_text is empty; write_file makes a new file")
        expect(
            first >= 0, f"old_text is not in {name}; read it again and copy every space"
        )
        expect(
            text.find(old, first + 1) < 0,
            f"old_text is in {name} more than once; add the lines around it",
        )
        self._write(file, text.replace(old, new))
        return f"Edited {name}"

    def _write(self, file: Path, text: str) -> None:
        if self.keep:
            self.keep(file)
        file.write_bytes(text.encode())

    def _recall(
        self,
        tool_use_id: str = "",
        search: str = "",
        offset: int = 0,
        limit: int | None = None,
    ) -> str:
        assert self.recall
        expect(
            bool(tool_use_id) != bool(search.strip()),
            "give an id or words to search for",
        )
        try:
            text = self.recall(search=search) if search else self.recall(tool_use_id)
        except KeyError:
            raise ToolError(
                f"no result has the id {tool_use_id}; copy it whole"
            ) from None
        return page(self.without_keys(text).split("\n"), offset, limit)

    def _place(self, path: str, *, write: bool = False) -> tuple[Path, str]:
        """Find the file that `path` leads to, links followed, and its name in
        results."""
        inner = re.sub(r"^/workspace(?=/|$)", ".", path)
        file = Path(os.path.realpath(self.root / inner))
        inside = file.is_relative_to(self.root)
        expect(inside, f"{path} is outside the workspace; paths start at /workspace")
        name = file.relative_to(self.root).as_posix()
        # A link may lead to another name: what was asked for counts, each step on the
        # way, and where it ends.
        asked = os.path.normpath(inner).replace(os.sep, "/")
        names = [asked, *shell.steps(self.root, inner), name]
        refused = write and (
            any(map(shell.is_protected, names)) or shell.is_linked(self.root, file)
        )
        expect(
            not refused, f"only the person may write {name}: commands could run from it"
        )
        is_env = file == Path(os.path.realpath(self.root / ".env"))
        holds = is_env or any(map(shell.holds_keys, names))
        expect(not holds, f"only the person may open {name}: it may hold keys")
        readable = (
            file.is_file() or not file.exists()
        )  # a pipe would make the agent wait for ever
        expect(readable, f"{name} is a folder or a device; look at it with bash")
        return file, name


def result(call: Block, workspace: Workspace) -> Block:
    """Make the tool_result that answers a tool_use.

    A ToolError becomes an `is_error` result. Every other exception is raised.
    """
    try:
        text = workspace.run(call["name"], call["input"])
        wrong = False
    except ToolError as error:
        text = str(error)
        wrong = True
    return tool_result(call["id"], workspace.without_keys(text), wrong=wrong)


def fit(text: str, cut: int = 0, *notes: str) -> str:
    """Cut a text to `CAP` characters with its notes, and say how many are missing.

    `cut`: number of characters that were dropped from its end before.

    >>> fit("one", 0, "(exit code 3)")
    'one\\n(exit code 3)'
    """
    whole = "\n".join([text, *notes])
    if not cut and len(whole) <= CAP:
        return whole
    head = text[: CAP - ROOM]
    return "\n".join(
        [head, f"... ({cut + len(text) - len(head)} characters cut)", *notes]
    )


def page(lines: Sequence[str], offset: int = 0, limit: int | None = None) -> str:
    """Join the lines after `offset`, at most `CAP` characters. The last line says how
    to go on.

    Raises ToolError if there is no line after `offset`.

    >>> print(page(["a", "b", "c"], offset=1, limit=1))
    b
    ... (1 more)
    """
    rest = lines[offset:]
    room = CAP - ROOM
    expect(rest, f"offset={offset} is past the end: there are {len(lines)} lines")
    ends = accumulate(len(line) + 1 for line in rest[:limit])
    count = sum(end <= room for end in ends) or 1
    text = "\n".join(rest[:count])
    if len(text) > room:
        text = f"{text[:room]} [{len(text) - room} more characters in this line]"
    text = text if text.strip() else f"({count} blank lines)"
    if more := len(rest) - count:
        hint = "" if count == limit else f"; continue with offset={offset + count}"
        text += f"\n... ({more} more{hint})"
    return text


def _bytes(file: Path, name: str) -> bytes:
    """Read a text file."""
    expect(file.is_file(), f"there is no file {name}; list the folder with bash")
    expect(
        file.stat().st_size <= LARGEST,
        f"{name} has more than {LARGEST:,} bytes; use bash",
    )
    data = file.read_bytes()
    expect(
        b"\0" not in data,
        f"{name} is a binary file of {len(data)} bytes; look at it with bash",
    )
    return data
