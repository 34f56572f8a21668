"""Tasks from a seed: the same everywhere, each another one, and each can be done."""

import hashlib
from pathlib import Path

import pytest

from agentlib.lab.model.intents import task_of
from agentlib.lab.model.report import required_line
from agentlib.lab.model.words import rules_in
from agentlib.lab.play import play
from agentlib.lab.tasks import generated
from agentlib.lab.tasks.scenarios import Scenario
from agentlib.settings import Settings

SEEDS = range(40)
WHOLE = Settings(context_window=1_000_000, micro="off", auto=False)


def made(scenario: Scenario, folder: Path) -> str:
    """A digest of all bytes of the task: what is said and every file."""
    scenario.make_workspace(folder)
    whole = hashlib.sha256(repr((scenario.prompts, scenario.pauses, scenario.facts)).encode())
    for file in sorted(folder.rglob("*.*"), key=lambda path: path.as_posix()):
        whole.update(file.relative_to(folder).as_posix().encode() + file.read_bytes())
    return whole.hexdigest()[:12]


@pytest.mark.parametrize(
    ("seed", "digest"), [(0, "3e8eb336a6ec"), (1, "e30778755b2a"), (3, "7c766a3b1aa6")]
)
def test_a_seed_makes_the_same_bytes_on_every_machine(seed: int, digest: str, tmp_path: Path):
    assert made(generated.scenario(seed), tmp_path) == digest


def test_every_seed_makes_another_task(tmp_path: Path):
    digests = {made(generated.scenario(seed), tmp_path / str(seed)) for seed in SEEDS}
    assert len(digests) == len(SEEDS)


@pytest.mark.parametrize("seed", [1, 7, 8, 9, 10])
def test_a_task_can_be_done_when_nothing_is_forgotten(seed: int):
    scenario = generated.scenario(seed)
    run = play(scenario, WHOLE)
    assert run.checks["done"]
    assert not run.ended
    assert run.checks.get("facts", 0) == len(scenario.facts)
    assert run.checks.get("constraint", True)


def test_a_task_is_not_done_by_doing_nothing(tmp_path: Path):
    for seed in range(5):
        scenario, folder = generated.scenario(seed), tmp_path / str(seed)
        scenario.make_workspace(folder)
        assert not scenario.checks(folder, [])["done"]


def test_facts_and_rule_are_missed_where_the_report_lacks_them(tmp_path: Path):
    scenario = generated.scenario(4)
    scenario.make_workspace(tmp_path)
    (tmp_path / "REPORT.md").write_text(f"A title\n{scenario.facts[0]}\n", encoding="utf-8")
    checks = scenario.checks(tmp_path, [])
    assert (checks["facts"], checks["constraint"], checks["done"]) == (1, False, False)


def test_what_a_rule_protects_is_looked_at(tmp_path: Path):
    scenario = generated.scenario(8)
    scenario.make_workspace(tmp_path)
    assert scenario.constraint
    assert scenario.checks(tmp_path, [])["constraint"]
    (tmp_path / "vendor" / "other.py").write_text("", encoding="utf-8")
    assert not scenario.checks(tmp_path, [])["constraint"]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_asked_and_the_rule_are_understood_as_meant(seed: int):
    """Else a run under any engine would measure the offline model's ear."""
    scenario = generated.scenario(seed)
    kinds = {"survey": "report", "trace": "trace", "rename": "rename"}
    tasks = [task_of(prompt) for prompt in scenario.prompts]
    assert tasks[-1].kind == kinds[scenario.name.split()[0]]
    assert {task.kind for task in tasks[:-1]} <= {"read", "rules"}
    rules = [rule for prompt in scenario.prompts for rule in rules_in(prompt)]
    assert len(rules) == bool(scenario.constraint)
    if scenario.constraint and tasks[-1].kind == "report":
        lines = [required_line(rules, first=first) for first in (True, False)]
        assert scenario.constraint in lines


def test_tasks_vary_in_all_that_was_promised():
    tasks = [generated.scenario(seed) for seed in SEEDS]
    assert {len(task.prompts) for task in tasks} >= {1, 2, 3, 4}
    assert {len(task.facts) for task in tasks} >= {0, 2, 5, 8}
    assert {bool(task.constraint) for task in tasks} == {True, False}
    stated = [
        next(n for n, prompt in enumerate(task.prompts) if rules_in(prompt))
        for task in tasks
        if task.constraint
    ]
    assert {0, 1} <= set(stated)
    assert any(pause > 300 for task in tasks for pause in task.pauses)
    assert any(prompt[0] > "一" for task in tasks for prompt in task.prompts)


def test_chapters_have_two_facts_each_in_their_order(tmp_path: Path):
    scenario = generated.chapters(1)
    scenario.make_workspace(tmp_path)
    folders = [task_of(prompt).folder for prompt in scenario.prompts]
    assert (len(folders), len(scenario.facts)) == (5, 10)
    for number, folder in enumerate(folders):
        text = "".join(f.read_text(encoding="utf-8") for f in (tmp_path / folder).glob("*.py"))
        assert all(f"# {fact}" in text for fact in scenario.facts[2 * number : 2 * number + 2])


def test_a_large_one_fills_a_window_of_its_own_scale(tmp_path: Path):
    generated.large(2).make_workspace(tmp_path)
    size = sum(file.stat().st_size for file in tmp_path.rglob("*.py"))
    assert size > 400_000
    assert task_of(generated.large(2).prompts[-1]).kind == "report"
