"""Let a real model do the runs of An hour and ten generated tasks, each three times.

make real                                 asks before it sends anything; at most $2
make real ARGS="--only hour --max-usd 1"  the four runs of An hour

The key, the address and the model are those of a live lesson (docs/live-and-local.md).
The agent has the lessons' prompts and tools and works in a copy. Each run is stored as
it ends, beside the simulated model's, and the same command goes on after a stop.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

import click

from agentlib.api.live import destination, live_client, model_id, served_window
from agentlib.api.spending import Cap, LiveError, NoPrice
from agentlib.cli.arguments import Command
from agentlib.estimation import prompt_tokens
from agentlib.presets import DEFAULT, LEARN_CLAUDE_CODE
from agentlib.settings import Settings
from agentlib.transcripts import Session
from course import the_hour
from session_report.amounts import many, money
from windtunnel import real
from windtunnel.runner import play
from windtunnel.tasks.generated import generated
from windtunnel.tasks.scenarios import REVIEW, Scenario

SEEDS = range(1, 11)
WINDOW = 32_000
"""Of the generated tasks, as in the lessons."""
NO_LAYERS = "no layers"
DOCUMENTS = "the course's"
"""As An hour calls the course's agent with the documents' numbers."""
HOUR = {
    NO_LAYERS: the_hour.OFF,
    "clearing alone": the_hour.CLEARS,
    "a late summary": the_hour.LATE,
    DOCUMENTS: the_hour.DOCUMENTS,
}
POLICIES = {
    NO_LAYERS: Settings(enabled=False).scaled(WINDOW),
    DOCUMENTS: LEARN_CLAUDE_CODE.scaled(WINDOW),
    "DEFAULT": DEFAULT.scaled(WINDOW),
}


@dataclass(frozen=True)
class Plan:
    """One run to make."""

    set: str
    policy: str
    task: Scenario
    settings: Settings

    @property
    def key(self) -> dict[str, str]:
        return {"set": self.set, "task": self.task.name, "policy": self.policy}


def plans(only: str | None) -> Iterator[Plan]:
    """Yield the runs of An hour, then those of each task."""
    if only != real.TASKS:
        for policy, settings in HOUR.items():
            yield Plan(real.HOUR, policy, REVIEW, settings)
    if only != real.HOUR:
        for seed in SEEDS:
            for policy, settings in POLICIES.items():
                yield Plan(real.TASKS, policy, generated(seed), settings)


def left(record: Mapping[str, Any], only: str | None) -> list[Plan]:
    """List the runs that a record doesn't have yet."""
    names = ("set", "task", "policy")
    made = [{name: run[name] for name in names} for run in record["runs"]]
    return [plan for plan in plans(only) if plan.key not in made]


def opened(model: str) -> tuple[Path, dict[str, Any]]:
    """Return the newest record of a model, or a new one if it was made otherwise.

    Raises ClickException if today's file was.
    """
    new: dict[str, Any] = {
        "model": model,
        "date": date.today().isoformat(),
        "endpoint": "another" if destination() else "Anthropic's",
        "versions": {
            "python": python_version(),
            **{name: version(name) for name in ("anthropic", "packaging")},
        },
        "tools": "bash" if shutil.which("bwrap") else "glob",
        "spent": 0.0,
        "runs": [],
    }
    stem = re.sub(r"[^\w.-]", "-", model)
    made_by = ("model", "endpoint", "versions", "tools")
    for path in sorted(real.FOLDER.glob(f"{stem}-*.json"), reverse=True):
        record = json.loads(path.read_text(encoding="utf-8"))
        if [record[name] for name in made_by] == [new[name] for name in made_by]:
            return path, record
    path = real.FOLDER / f"{stem}-{new['date']}.json"
    if path.exists():
        raise click.ClickException(
            f"{path.name} is from today, with other versions or tools: move it away"
        )
    return path, new


def tell(text: str, *, ends: bool = True) -> None:
    """Print a line. Without `ends`, the next one takes its place in a terminal, and a
    log doesn't get it."""
    is_terminal = sys.stdout.isatty()
    if is_terminal:
        click.echo(f"\r{text:<79}" if ends else f"\r{text:<79.79}", nl=ends)
    elif ends:
        click.echo(text)


def simulated(todo: Sequence[Plan], model: str, tools: str) -> list[dict[str, Any]]:
    """Make the runs with the simulated model, and price them as the real one's."""
    tell(f"What would {many(len(todo), 'run')} of the simulated model cost?")
    rows: list[dict[str, Any]] = []
    for number, plan in enumerate(todo, 1):
        tell(f"{number} of {len(todo)}", ends=False)
        task = real.in_any_form(plan.task)
        run = play(task, plan.settings, shell=tools == "bash")
        row = real.row(run, run.dollars(model), "the API")
        del row["prompts"]  # which can be made again at any time
        rows.append(row)
    return rows


def priced(rows: Sequence[Mapping[str, Any]], record: Mapping[str, Any]) -> str:
    """Say what the simulated runs come to, and what was spent before."""
    requests = sum(row["turns"] + len(row["asked_at"]) for row in rows)
    sent, dollars = (sum(row[name] for row in rows) for name in ("sent", "dollars"))
    spent = record["spent"]
    before = f" {money(spent)} of the cap are spent." if spent else ""
    hands = {
        "bash": "Its commands run in bubblewrap.",
        "glob": "It has no bash, because bubblewrap isn't installed, and lists files by glob.",
    }
    return (
        f"{money(dollars)} at these prices: {requests:,} requests with {sent:,} tokens. "
        "A real model may need more or fewer, and the cap holds to within one request."
        f"{before}\nThe agent works in a copy of each task. {hands[record['tools']]}"
    )


@dataclass
class Work:
    """What the runs need at hand, and where they are stored."""

    path: Path
    record: dict[str, Any]
    cap: Cap
    api: Any

    def through(self, todo: Sequence[Plan], rows: Sequence[Mapping[str, Any]]) -> None:
        """Make the runs, and store each as it ends. Raises ClickException after a
        stop."""
        for number, (plan, row) in enumerate(zip(todo, rows, strict=True), 1):
            name = f"{number} of {len(todo)}, {plan.task.name}, {plan.policy}"
            tell(f"{name}: begins", ends=False)
            try:
                done = self.done(plan, name)
            except (KeyboardInterrupt, real.Stopped) as error:
                self.save()
                tell(name)
                raise click.ClickException(self.why(error)) from None
            both = {"simulated": row, "real": done}
            self.record["runs"].append({**plan.key, **both})
            self.save()
            tell(f"{name}: {told(done)}")

    def done(self, plan: Plan, name: str) -> dict[str, Any]:
        """Let the real model do a run. Raises Stopped if an error ended it."""
        before = self.cap.spent
        window = plan.settings.context_window
        run = play(
            real.in_any_form(plan.task),
            plan.settings,
            api=(real.held_to(self.api, window), self.record["model"]),
            shell=self.record["tools"] == "bash",
            stop=partial(self.watch, name),
        )
        return real.row(run, self.cap.spent - before, "we")

    def watch(self, name: str, session: Session) -> str:
        """Show a turn, and note what is spent, in case the process is killed."""
        self.save()
        size = prompt_tokens(session.requests[-1].usage)
        turns = many(len(session.requests), "turn")
        line = f"{name}: {turns}, {size:,} tokens, {money(self.cap.spent)}"
        tell(line, ends=False)
        return ""

    def save(self) -> None:
        """Write the record whole, a run in each line."""
        record = self.record
        record["spent"] = round(self.cap.spent, 6)
        runs = ",\n".join(json.dumps(run) for run in record["runs"])
        head = json.dumps({**record, "runs": []}).removesuffix("]}")
        draft = self.path.with_suffix(".draft")
        draft.write_text(f"{head}\n{runs}\n]}}\n", encoding="utf-8", newline="\n")
        draft.replace(self.path)

    def why(self, error: BaseException) -> str:
        """Say why the runs stop, and how they go on."""
        reason = str(error).rstrip(".") or "Stopped"
        return (
            f"{reason}. {many(len(self.record['runs']), 'run')} in {self.path.name}, "
            f"{money(self.cap.spent)} spent. The same command goes on with this run."
        )


def prepared(
    max_usd: float, model: str | None, only: str | None
) -> tuple[Work, list[Plan], list[dict[str, Any]]]:
    """Return what the runs need, those that are left, and the simulated ones' rows.

    Nothing that costs anything is sent. Raises LiveError or NoPrice if it couldn't be.
    """
    model = model or model_id(live=True)
    cap = Cap(max_usd)
    api = live_client(model=model, cap=cap, say=tell, warn=tell)
    path, record = opened(model)
    cap.spent = record["spent"]
    todo = left(record, only)
    largest = max((plan.settings.context_window for plan in todo), default=0)
    window = (served_window() or largest) if todo else 0
    if window < largest:
        words = f"the model's window has {window:,} tokens; these runs need {largest:,}"
        raise LiveError(words)
    rows = simulated(todo, model, record["tools"]) if todo else []
    return Work(path, record, cap, api), todo, rows


@click.command(cls=Command, help=__doc__)
@click.option(
    "--max-usd",
    type=click.FloatRange(min=0, min_open=True),
    default=2.0,
    show_default=True,
    help="The most to spend, with what was spent before a stop.",
)
@click.option("--model", help="By default MODEL_ID, or else the lessons' model.")
@click.option("--only", type=click.Choice([real.HOUR, real.TASKS]))
def command(max_usd: float, model: str | None, only: str | None) -> None:
    try:
        work, todo, rows = prepared(max_usd, model, only)
    except (LiveError, NoPrice) as error:
        cure = "; set MODEL_PRICE=IN,OUT (0,0 if it is free)"
        raise click.ClickException(
            f"{error}{cure * isinstance(error, NoPrice)}"
        ) from None
    name = work.path.name
    if not todo:
        tell(f"{name} has all of these runs. Move it away to make them again.")
        return
    tell(priced(rows, work.record))
    if not click.confirm("Begin?"):
        tell("Nothing was sent.")
        return
    work.through(todo, rows)
    tell(f"{name} is complete. `make notebooks` shows it in An hour, 03 and 10.")


def told(row: Mapping[str, Any]) -> str:
    """Say what came of a run."""
    rule = "kept" if row["rule"] else "not kept"
    report = f"{row['named']} of {row['files']} files named, rule {rule}"
    ended = f"; {row['ended']}" if row["ended"] else ""
    return f"{many(row['turns'], 'turn')}, {money(row['dollars'])}, {report}{ended}"


if __name__ == "__main__":
    command()
