"""A terminal over a fresh folder, typed to line by line in this process."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from agentlib.cli.arguments import Arguments
from agentlib.cli.main import Terminal
from offline_api import client
from tests.builders import call, say

Body = dict[str, Any]
Model = Callable[[Body], Body]


def parrot(body: Body) -> Body:
    """Read a.txt when told to, summarise in a word, and repeat anything else."""
    content = body["messages"][-1]["content"]
    text = content if isinstance(content, str) else content[-1].get("text", "")
    if text.startswith("Summarize this conversation"):
        return say("Nothing but parroting.")
    if text == "read":
        return say(call("", "read_file", path="a.txt"))
    return say(f"You said {text!r}." if text else "Read it.")


def interrupted(model: Model, at: int) -> Model:
    """The model, but Ctrl-C comes at its request number `at`."""
    numbers: Iterator[int] = iter(range(1, 1_000))

    def answer(body: Body) -> Body:
        if next(numbers) == at:
            raise KeyboardInterrupt
        return model(body)

    return answer


class Desk:
    """A terminal over a fresh folder, and what it printed."""

    def __init__(self, folder: Path, capsys: Any, model: Model = parrot, **more: Any):
        self.capsys = capsys
        self.folder = folder / "work"
        self.folder.mkdir()
        (self.folder / "a.txt").write_text(
            "one\ntwo\nthree", encoding="utf-8", newline="\n"
        )
        self.terminal = Terminal(
            Arguments(
                window=32_000,
                workspace=self.folder,
                transcripts=folder / "t",
                in_place=True,
            )
        )
        self.terminal.client = client(model=model, window=32_000, **more)
        self.terminal.enter(self.folder)
        self.printed()

    def printed(self) -> list[str]:
        """The lines printed since the last time, those of errors last."""
        return "".join(self.capsys.readouterr()).splitlines()

    def obey(self, *lines: str | None) -> int:
        """The exit code of the last line."""
        return [self.terminal.obey(line) for line in lines][-1]
