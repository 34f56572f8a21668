"""Draw docs/wall.png, the README's picture: one task without the layers and with them.

python tools/picture.py

The runs are those of lesson 00. They are offline, so the picture is the same every time.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import anthropic

from agentlib import loop
from agentlib.lab.client import client
from agentlib.lab.figures import charts
from agentlib.lab.replay import replay, table
from agentlib.lab.tasks import scenarios
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session

WINDOW = 32_000
WHERE = Path(__file__).parent.parent / "docs" / "wall.png"
RUNS = {
    "Without layers": Settings(enabled=False).scaled(WINDOW),
    "With layers": Settings(keep_recent=5).scaled(WINDOW),
}


def work(folder: Path, session: Session) -> Iterator[loop.Turn]:
    task, llm, workspace = scenarios.REVIEW, client(window=WINDOW), folder / session.session_id
    task.make_workspace(workspace)
    known = {"settings": session.settings, "session": session, "clock": session.clock}
    for prompt in task.prompts:
        yield from loop.run(llm, prompt, Workspace(workspace), **known)


def main() -> None:
    tables, refused = {}, {}
    with tempfile.TemporaryDirectory() as place:
        for name, settings in RUNS.items():
            clock, run = scenarios.Clock(), name.split()[0].lower()
            session = Session.create(place, settings=settings, session_id=run, clock=clock)
            try:
                list(work(Path(place), session))
            except anthropic.BadRequestError as error:
                refused[name] = f"{error.status_code} {error.body['error']['message']}"
            tables[name] = table(replay(session, settings))
            print(f"{name}: {charts.sentence(tables[name])}")
    WHERE.parent.mkdir(exist_ok=True)
    WHERE.write_bytes(charts.png(charts.compare(tables, refused=refused)))
    print(f"{WHERE.name}: {WHERE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
