"""Tasks from a seed, for a claim that one run can't carry.

Each task is a project of 12 to 20 files, large and small, in two or three folders. The
person has one folder read after another, is away for longer than the prompt cache
lives, and asks for a report on the last folder. The rule and the facts come early, so
the report shows what was forgotten.
"""

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from random import Random

from offline_api.cache import SHORT
from windtunnel.tasks.scenarios import TABLE, Scenario, report_checks

SWEEPS = Path(__file__).with_name("sweeps.csv")
"""Policies on these tasks, a row for each policy and seed. `make sweeps` writes it."""
CLEARING = SWEEPS.with_name("clearing.csv")
"""Renaming tasks with clearing alone, a row for each KEEP_RECENT and seed. Also `make
sweeps`."""
MOMENTS = SWEEPS.with_name("moments.csv")
"""One compaction by hand at each turn of each task; seed 0 is the review. Also `make
sweeps`."""
SURVIVAL = SWEEPS.with_name("survival.csv")
"""What became of the rule in lesson 03's runs. Also `make sweeps`."""
TRADES = SWEEPS.with_name("trades.csv")
FAILING = SWEEPS.with_name("failing.csv")
"""Presets and lengths of a summary on these tasks; presets while a share of the
summaries fails."""
PARTS = SWEEPS.with_name("parts.csv")
"""Lesson 06's hand-off with one part missing, a row for each part and seed. Also `make
sweeps`."""
BENCH = SWEEPS.with_name("bench.csv")
HUMP = SWEEPS.with_name("hump.csv")
"""Presets on the review with dollars by model; these tasks with clearing, by
KEEP_RECENT."""
FIELD = SWEEPS.with_name("field.csv")
NARROW = SWEEPS.with_name("narrow.csv")
"""Presets and the field's engines on the judge's tasks, a row for each and seed. Three
of them on the same tasks in a window of 12,000 tokens. Also `make sweeps`."""
KINDS_KEPT = SWEEPS.with_name("kinds.csv")
"""Lesson 10's six kinds, a row for each policy, generation and seed. Also `make
sweeps`."""
_MADE_OF = TABLE["generated"]
NOUNS, VERBS, UNITS = (_MADE_OF[name].split() for name in ("nouns", "verbs", "units"))


@cache
def generated(seed: int) -> Scenario:
    """Make the task of a seed, the same on every machine.

    >>> generated(1).prompts[-1]
    'Read every Python file in the sensor/ directory one by one and write a report.'
    """
    rng = Random(f"generated {seed}")
    folders = rng.sample(NOUNS, rng.randint(2, 3))
    files = _files(rng, folders)
    facts = _plant(
        rng, files, [path for path in files if not path.startswith(f"{folders[-1]}/")]
    )
    rule = (
        f"# For {rng.choice(('Ada', 'Grace', 'Edsger'))}, number {rng.randint(2, 99)}"
    )
    prompts = [f"{_MADE_OF['read'].format(folder)}." for folder in folders[:-1]]
    told = rng.randrange(len(prompts))
    prompts[told] = f"{_MADE_OF['rule'].format(rule)} {prompts[told]}"
    return Scenario(
        name=f"generated {seed}",
        prompts=(
            *prompts,
            f"{_MADE_OF['read'].format(folders[-1])} and write a report.",
        ),
        make_workspace=partial(write_files, files=files),
        checks=partial(report_checks, below=folders[-1], facts=facts, first=rule),
        facts=facts,
        rule=rule,
        pauses=(0.0, *(SHORT + rng.randint(60, 3_600) for _ in folders[1:])),
    )


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Write texts below a folder: path -> text."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8", newline="\n")


def _files(rng: Random, folders: Sequence[str]) -> dict[str, str]:
    """Make 12 to 20 files, path -> text, with the folders in turn."""
    nouns = rng.sample(NOUNS, rng.randint(12, 20))
    paths = {
        noun: f"{folders[n % len(folders)]}/{noun}.py" for n, noun in enumerate(nouns)
    }
    return {path: module(rng, noun) for noun, path in paths.items()}


def _plant(rng: Random, files: dict[str, str], paths: list[str]) -> tuple[str, ...]:
    """Put two to six facts as comments at the top of files; a file may get several."""
    facts: list[str] = []
    for noun in rng.sample(NOUNS, rng.randint(2, 6)):
        words = {"verb": rng.choice(VERBS), "unit": rng.choice(UNITS)}
        form = rng.choice(_MADE_OF["facts"])
        facts.append(form.format(noun=noun, number=rng.randint(3, 480), **words))
        path = rng.choice(paths)
        files[path] = f"# {facts[-1]}\n\n{files[path]}"
    return tuple(facts)


def module(rng: Random, noun: str, longest: int = 16_000) -> str:
    """Return a Python file of 600 to `longest` characters: functions, then a table."""
    parts = [f'"""How to {_about(rng, rng.choice(VERBS), noun)}"""']
    for verb in rng.sample(VERBS, rng.randint(3, 8)):
        about = _about(rng, verb, noun).capitalize()
        factor = rng.randint(2, 90)
        parts.append(
            f'\ndef {verb}_{noun}(n):\n    """{about}"""\n    return {factor} * n'
        )
    missing = int(rng.triangular(600, longest, 3_000)) - sum(map(len, parts))
    numbers = (
        [f"{rng.uniform(0, 99):.2f}" for _ in range(4)] for _ in range(missing // 38)
    )
    table = [f'    ("{rng.choice(NOUNS)}", {", ".join(row)}),' for row in numbers]
    return "\n\n".join([*parts, "\n".join(["\nTABLE = (", *table, ")", ""])])


def _about(rng: Random, verb: str, noun: str) -> str:
    units = " and ".join(rng.sample(UNITS, 2))
    when = rng.sample(_MADE_OF["when"], rng.randint(0, 3))
    return ", ".join([f"{verb} the {noun} by {units}", *when]) + "."
