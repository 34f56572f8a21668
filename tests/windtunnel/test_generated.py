"""Tasks from a seed: the same everywhere, each another one, and each can be done."""

import hashlib
from pathlib import Path

import pytest

from agentlib.settings import Settings
from offline_api.model.prompts import required_line, rules_in, understand
from windtunnel.runner import play
from windtunnel.tasks import varied as generated
from windtunnel.tasks.scenarios import Scenario

SEEDS = range(40)
WHOLE = Settings(context_window=1_000_000, micro="off", auto=False)


def made(scenario: Scenario, folder: Path) -> str:
    """A digest of all bytes of the task: what is said and every file."""
    scenario.make_workspace(folder)
    whole = hashlib.sha256(
        repr((scenario.prompts, scenario.pauses, scenario.facts)).encode()
    )
    for file in sorted(folder.rglob("*.*"), key=lambda path: path.as_posix()):
        whole.update(file.relative_to(folder).as_posix().encode() + file.read_bytes())
    return whole.hexdigest()[:12]


@pytest.mark.parametrize(
    ("seed", "digest"), [(0, "3e8eb336a6ec"), (1, "e30778755b2a"), (3, "7c766a3b1aa6")]
)
def test_a_seed_makes_the_same_bytes_on_every_machine(
    seed: int, digest: str, tmp_path: Path
):
    assert made(generated.scenario(seed), tmp_path) == digest


@pytest.mark.parametrize("seed", [1, 7, 8, 9, 10])
def test_a_task_can_be_done_when_nothing_is_forgotten(seed: int):
    scenario = generated.scenario(seed)
    run = play(scenario, WHOLE)
    assert run.checks["done"]
    assert not run.ended
    assert run.checks.get("facts", 0) == len(scenario.facts)
    assert run.checks.get("rule kept", True)


def test_what_a_rule_protects_is_looked_at(tmp_path: Path):
    scenario = generated.scenario(8)
    scenario.make_workspace(tmp_path)
    assert scenario.rule
    assert scenario.checks(tmp_path, [])["rule kept"]
    (tmp_path / "vendor" / "other.py").write_text("", encoding="utf-8")
    assert not scenario.checks(tmp_path, [])["rule kept"]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_asked_and_the_rule_are_understood_as_meant(seed: int):
    """Else a run under any engine would measure the offline model's ear."""
    scenario = generated.scenario(seed)
    kinds = {"survey": "report", "trace": "trace", "rename": "rename"}
    tasks = [understand(prompt) for prompt in scenario.prompts]
    assert tasks[-1].kind == kinds[scenario.name.split()[0]]
    assert {task.kind for task in tasks[:-1]} <= {"read", "rules"}
    rules = [rule for prompt in scenario.prompts for rule in rules_in(prompt)]
    assert len(rules) == bool(scenario.rule)
    if scenario.rule and tasks[-1].kind == "report":
        lines = [required_line(rules, first=first) for first in (True, False)]
        assert scenario.rule in lines


def test_chapters_have_two_facts_each_in_their_order(tmp_path: Path):
    scenario = generated.chapters(1)
    scenario.make_workspace(tmp_path)
    folders = [understand(prompt).folder for prompt in scenario.prompts]
    assert (len(folders), len(scenario.facts)) == (5, 10)
    for number, folder in enumerate(folders):
        text = "".join(
            f.read_text(encoding="utf-8") for f in (tmp_path / folder).glob("*.py")
        )
        assert all(
            f"# {fact}" in text for fact in scenario.facts[2 * number : 2 * number + 2]
        )
