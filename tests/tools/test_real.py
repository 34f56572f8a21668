"""`make real` against a stand-in for the network: the server of agentlib-api behind a
socket."""

import json
import signal
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agentlib.messages import asks_for_summary
from agentlib.presets import DEFAULT, LEARN_CLAUDE_CODE
from agentlib.settings import Settings
from agentlib.tools import shell
from offline_api.faults import Fault
from offline_api.model import reply
from offline_api.server import Server
from tests.builders import call, say
from tests.fakes import good, script
from tests.loopback import served
from tools import real as command
from windtunnel import real
from windtunnel.tasks.generated import write_files
from windtunnel.tasks.scenarios import Scenario

NARROW = 8_000
TASK = Scenario(
    name="tiny",
    prompts=(
        "A rule for all that follows: the first line of every report must be "
        "'# For Ada'. Read every Python file in the near/ directory one by one.",
        "Read every Python file in the far/ directory one by one and write a report.",
    ),
    make_workspace=partial(
        write_files,
        files={
            f"{folder}/{name}.py": f'"""{name}"""\n\n# FACT: {name} has 29 crates.\n'
            + "x = 1\n" * 500
            for folder in ("near", "far")
            for name in ("crane", "ferry", "pump")
        },
    ),
    checks=lambda folder, history: {},
    facts=("FACT: crane has 29 crates.",),
    rule="# For Ada",
)
WIDE = Settings(enabled=False).scaled(40_000)
ONE = {"wide": WIDE}
THREE = {
    "no layers": Settings(enabled=False).scaled(NARROW),
    "their numbers": LEARN_CLAUDE_CODE.scaled(16_000),
    "DEFAULT": DEFAULT.scaled(16_000),
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Store in a folder of the test's own, and take a key that is none."""
    monkeypatch.setattr(real, "FOLDER", tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
    for name in ("MODEL_ID", "MODEL_PRICE", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def started(
    monkeypatch: pytest.MonkeyPatch,
    policies: dict[str, Settings],
    *words: str,
    model: Any = reply,
    answer: str = "y\n",
    **server: Any,
) -> Result:
    """Run the command on these policies, in front of a model with a wide window."""

    def plans(only: str | None) -> list[command.Plan]:
        return [command.Plan(real.TASKS, n, TASK, each) for n, each in policies.items()]

    monkeypatch.setattr(command, "plans", plans)
    with served(Server(model, window=1_000_000, **server)) as wire:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", wire.url)
        result = CliRunner().invoke(command.command, words, input=answer)
        result.asked = len(wire.headers)  # type: ignore[attr-defined]
    return result


def record(place: Path) -> dict[str, Any]:
    [path] = place.glob("*.json")
    return json.loads(path.read_text(encoding="utf-8"))


def only_row(place: Path) -> dict[str, Any]:
    [run] = record(place)["runs"]
    return run["real"]


def test_each_run_is_stored_beside_the_simulated_one_without_a_word_of_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    result = started(monkeypatch, THREE)
    assert result.exit_code == 0, result.output
    [path] = place.glob("*.json")
    made = record(place)
    assert path.name == f"claude-haiku-5-5-{made['date']}.json"
    assert made["versions"].keys() == {"python", "anthropic", "packaging"}
    rows = {run["policy"]: run for run in made["runs"]}
    assert rows.keys() == THREE.keys()
    for run in rows.values():  # both are the offline model
        same = ("turns", "sent", "compactions", "named", "rule", "report", "facts")
        assert [run["real"][n] for n in same] == [run["simulated"][n] for n in same]
        prompts = run["real"]["prompts"]
        assert len(prompts["tools"]) == run["real"]["turns"]
        assert "prompts" not in run["simulated"]
    assert rows["DEFAULT"]["real"]["rule"]
    assert rows["DEFAULT"]["real"]["compactions"]
    spent = sum(run["real"]["dollars"] for run in rows.values())
    assert made["spent"] == pytest.approx(spent, abs=1e-5)
    text = path.read_text(encoding="utf-8")
    assert [
        word for word in ("crane", "crates", "For Ada", "127.0") if word in text
    ] == []


def test_a_run_without_layers_ends_at_the_window_that_only_we_have(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    started(monkeypatch, {"no layers": THREE["no layers"]})
    row = only_row(place)
    assert row["ended"].startswith("we ended it: ")
    assert max(map(sum, zip(*row["prompts"].values(), strict=True))) <= NARROW + 9
    assert not row["report"]


def test_the_price_is_said_before_it_asks_once_and_no_sends_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    result = started(monkeypatch, ONE, answer="n\n")
    before, _, after = result.output.partition("Begin?")
    assert "$0.10 in" in before
    assert "$2.00" in before
    assert "1 run" in before
    assert "Begin?" not in after
    assert result.asked == 1  # type: ignore[attr-defined]  # the list of models
    assert list(place.iterdir()) == []


def test_the_cap_holds_over_a_stop_and_a_higher_one_goes_on(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    first = started(monkeypatch, ONE, "--max-usd", "0.0005")
    assert first.exit_code == 1
    assert "cap" in first.output
    spent = record(place)["spent"]
    assert 0.0005 <= spent < 0.002
    assert record(place)["runs"] == []
    again = started(monkeypatch, ONE, "--max-usd", "0.0005")
    assert again.exit_code == 1
    assert again.asked == 1  # type: ignore[attr-defined]
    assert record(place)["spent"] == spent
    assert started(monkeypatch, ONE).exit_code == 0
    assert record(place)["spent"] == pytest.approx(
        spent + only_row(place)["dollars"], abs=1e-5
    )


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no such signals")
def test_ctrl_c_stores_what_ended_and_the_same_command_makes_the_rest(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    turns = 0
    person = threading.main_thread().ident or 0

    def stops(body: dict[str, Any]) -> dict[str, Any]:
        nonlocal turns
        turns += 1
        if turns == 14:
            signal.pthread_kill(person, signal.SIGINT)
        return reply(body)

    two = {"first": WIDE, "second": WIDE}
    stopped = started(monkeypatch, two, model=stops)
    assert stopped.exit_code == 1
    assert "Stopped" in stopped.output
    [first] = record(place)["runs"]
    assert first["policy"] == "first"
    assert record(place)["spent"] > first["real"]["dollars"]
    assert started(monkeypatch, two).exit_code == 0
    assert record(place)["runs"][0] == first
    assert [run["policy"] for run in record(place)["runs"]] == ["first", "second"]
    full = started(monkeypatch, two)
    assert "has all" in full.output
    assert full.asked == 0  # type: ignore[attr-defined]


def test_it_waits_out_a_busy_api_and_says_so(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    faults = [Fault("429", at=2), Fault("529", at=(4, 5))]
    result = started(monkeypatch, ONE, faults=faults)
    assert [result.output.count(f"({code})") for code in (429, 529)] == [1, 2]
    assert only_row(place)["report"]


@pytest.mark.parametrize("only", ["turn", "summary"])
def test_an_error_of_the_api_is_no_row(
    only: Any, place: Path, monkeypatch: pytest.MonkeyPatch
):
    policies = {"their numbers": THREE["their numbers"]}
    result = started(monkeypatch, policies, faults=[Fault("529", only=only)])
    assert result.exit_code == 1
    assert "529" in result.output
    assert record(place)["runs"] == []
    assert real.stored() == []


def ends_early(body: dict[str, Any]) -> dict[str, Any]:
    return good(body)


def never_summarises(body: dict[str, Any]) -> dict[str, Any]:
    if asks_for_summary(body["messages"]):
        return say(call("toolu_again", "read_file", path="near/pump.py"))
    return reply(body)


def test_a_model_that_ends_early_has_written_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    started(monkeypatch, ONE, model=ends_early)
    row = only_row(place)
    assert (row["turns"], row["named"], row["report"], row["ended"]) == (
        2,
        0,
        False,
        "",
    )


def test_a_model_that_never_summarises_has_no_compaction(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    policies = {"their numbers": THREE["their numbers"]}
    result = started(monkeypatch, policies, model=never_summarises)
    assert result.exit_code == 0, result.output
    assert "done" not in only_row(place)["compactions"]


def test_a_refusal_of_the_model_is_its_end(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    started(monkeypatch, ONE, faults=[Fault("refusal", at=range(1, 99))])
    assert only_row(place)["ended"] == "refusal"


def test_what_is_spent_is_on_disk_before_the_next_request(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    spent = list[float]()

    def looks(body: dict[str, Any]) -> dict[str, Any]:
        spent.append(record(place)["spent"] if list(place.iterdir()) else 0)
        return reply(body)

    started(monkeypatch, ONE, model=looks)
    assert len(spent) > 4
    assert spent == sorted(set(spent))


def test_commands_run_in_bubblewrap_and_in_a_copy(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    folders = list[Path]()

    def prefix(bubblewrap: str, folder: Path) -> list[str]:
        folders.append(folder)
        return []

    which = command.shutil.which
    monkeypatch.setattr(command.shutil, "which", lambda name: which(name) or name)
    monkeypatch.setattr(shell, "sandbox_prefix", prefix)
    replies = script(say(call("toolu_1", command="ls")), good, good)
    started(monkeypatch, ONE, model=replies)
    assert only_row(place)["turns"] == 3
    assert len(folders) == 1
    assert not folders[0].exists()


def test_without_bubblewrap_there_is_no_bash(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    offered = list[set[str]]()

    def looks(body: dict[str, Any]) -> dict[str, Any]:
        offered.append({tool["name"] for tool in body["tools"]})
        return reply(body)

    monkeypatch.setattr(command.shutil, "which", lambda name: None)
    started(monkeypatch, ONE, model=looks)
    assert all("bash" not in names and "glob" in names for names in offered)
    assert record(place)["tools"] == "glob"
    assert only_row(place)["report"]


def test_a_model_without_a_price_is_named_before_anything_is_sent(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    windows = {"mine": 1_000_000}
    words = ("--model", "mine")
    result = started(monkeypatch, ONE, *words, windows=windows)
    assert result.exit_code == 1
    assert "MODEL_PRICE" in result.output
    monkeypatch.setenv("MODEL_PRICE", "0,0")
    assert started(monkeypatch, ONE, *words, windows=windows).exit_code == 0
    assert (record(place)["model"], record(place)["spent"]) == ("mine", 0)


def test_a_key_that_is_missing_or_refused_is_said_in_a_line(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "")
    result = started(monkeypatch, ONE)
    assert result.exit_code == 1
    assert "ANTHROPIC_API_KEY" in result.output


def test_the_runs_are_the_hours_and_ten_tasks():
    hour = [plan.policy for plan in command.plans(real.HOUR)]
    tasks = [plan.key for plan in command.plans(real.TASKS)]
    assert len(hour) == 4
    assert len(tasks) == 30
    assert len(list(command.plans(None))) == 34


def test_a_window_that_is_too_small_is_named(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(command, "served_window", lambda: 8_192)
    result = started(monkeypatch, ONE)
    assert result.exit_code == 1
    assert "8,192" in result.output
    assert "40,000" in result.output


def test_a_file_of_today_made_otherwise_is_not_written_over(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    started(monkeypatch, ONE, model=ends_early)
    [path] = place.glob("*.json")
    older = path.read_text(encoding="utf-8").replace(
        '"anthropic": "', '"anthropic": "0.'
    )
    path.write_text(older, encoding="utf-8")
    result = started(monkeypatch, ONE)
    assert result.exit_code == 1
    assert path.name in result.output
    assert path.read_text(encoding="utf-8") == older


def test_the_page_says_what_the_simulated_hour_costs():
    page = (Path(command.__file__).parents[1] / "docs/live-and-local.md").read_text(
        "utf-8"
    )
    hour = list(command.plans(real.HOUR))
    costs = list[str]()
    for model in ("claude-haiku-5-5", "claude-sonnet-5-5"):
        rows = command.simulated(hour, model, "bash")
        costs.append(f"${sum(row['dollars'] for row in rows):.2f}")
        requests = sum(row["turns"] + len(row["asked_at"]) for row in rows)
    assert f"| An hour | {requests} | {' | '.join(costs)} |" in page
