"""Tasks from a seed: the same bytes everywhere, can be done, and hold on to their
table."""

import csv
from datetime import date
from functools import cache
from hashlib import sha256
from itertools import product
from pathlib import Path
from random import Random

import pytest

from agentlib.settings import Settings
from course import sweeps
from offline_api.cache import SHORT
from windtunnel.runner import play
from windtunnel.tasks.generated import generated

WHOLE = Settings(context_window=1_000_000, enabled=False)


@cache
def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_a_seed_makes_the_same_bytes_on_every_machine(tmp_path: Path):
    task = generated(7)
    task.make_workspace(tmp_path)
    digest = sha256(repr((task.prompts, task.pauses, task.facts, task.rule)).encode())
    for file in sorted(tmp_path.rglob("*.py"), key=Path.as_posix):
        digest.update(
            file.relative_to(tmp_path).as_posix().encode() + file.read_bytes()
        )
    assert digest.hexdigest()[:12] == "775a7c91eb8e"


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_all_of_it_is_kept_when_nothing_is_forgotten(seed: int, tmp_path: Path):
    task = generated(seed)
    task.make_workspace(tmp_path)
    sizes = [file.stat().st_size for file in tmp_path.rglob("*.py")]
    assert 12 <= len(sizes) <= 20
    assert max(sizes) > 3 * min(sizes)
    assert all(pause > SHORT for pause in task.pauses[1:])
    checks = play(task, WHOLE).checks
    assert checks["done"]
    assert checks["rule kept"]
    assert checks["facts"] == len(task.facts)
    assert checks["described"] == checks["files"]


@pytest.mark.parametrize("number", range(len(sweeps.TABLES) // 2))
def test_a_row_of_a_table_can_be_made_again(number: int):
    """A row of half of the tables, other ones each day."""
    today = date.today().isoformat()
    path = Random(today).sample([*sweeps.TABLES], len(sweeps.TABLES))[number]
    make, policies, seeds = sweeps.TABLES[path]
    policy, seed = Random(today).choice([*product(policies, range(seeds))])
    print(today, path.name, policy, seed)
    again = {name: str(value) for name, value in make(policy, seed).items()}
    assert again in table(path) or not again


@pytest.mark.parametrize("path", sweeps.TABLES, ids=lambda path: path.stem)
def test_every_policy_and_seed_has_its_row(path: Path):
    make, policies, seeds = sweeps.TABLES[path]
    # Not every task has a turn at that distance, and the judge's seeds are others.
    if make not in (sweeps.moment_row, sweeps.field_row, sweeps.narrow_row):
        order = [str(seed) for _, seed in product(policies, range(seeds))]
        assert [row["seed"] for row in table(path)] == order


def test_clearing_is_most_expensive_in_the_middle_on_every_task():
    rows = table(sweeps.HUMP)
    for seed in range(sweeps.RENAMINGS):
        cost = {
            int(r["keep_recent"]): float(r["dollars"])
            for r in rows
            if r["seed"] == str(seed)
        }
        assert 4 <= max(cost, key=lambda keep: cost[keep]) <= 8
        assert max(cost[0], cost[20]) < 0.8 * max(cost.values())


def lost(policy: str) -> float:
    rows = [row for row in table(sweeps.SWEEPS) if row["policy"] == policy]
    return sum(row["rule kept"] == "False" for row in rows) / len(rows)


def test_a_plain_summary_loses_the_rule_about_half_the_time_and_the_cures_rarely():
    assert 0.3 <= lost("summary") <= 0.7
    assert lost("nothing forgotten") == 0
    for cure in ("focus", "update", "head", "head and tail", "default"):
        assert lost(cure) <= 0.1, cure


def test_most_is_lost_just_before_the_report_and_nothing_after_it():
    by_seed: dict[int, dict[int, int]] = {}
    for row in table(sweeps.MOMENTS):
        if row["by"] == "person":
            files = by_seed.setdefault(int(row["seed"]), {})
            files[int(row["from_report"])] = int(row["described"])
    assert len(by_seed) == sweeps.SEEDS
    for seed, files in by_seed.items():
        assert files[-1] <= min(files.values()) + 1, seed
        assert files[0] >= max(files.values()) - 2, seed
    worst = [files[-1] / files[0] for files in by_seed.values()]
    assert sum(share < 0.7 for share in worst) > len(worst) / 2


def test_a_rule_told_elsewhere_is_told_once_in_the_same_words():
    for seed in range(3):
        task = generated(seed)
        moved = sweeps.told_in(task, -1)
        assert task.rule in moved.prompts[-1]
        assert sum(task.rule in prompt for prompt in moved.prompts) == 1
        assert sum(map(len, moved.prompts)) == sum(map(len, task.prompts))
