"""Source files that nobody wrote: Python text from a seed, for the generated tasks.

Each file has a docstring, documented functions and, where it is to be longer, tables of
figures. The same seed gives the same text on every machine. Not here: the tasks
(generated).
"""

from random import Random

_NOUNS_IN_A_ROW = """
anchor archive barrel beacon bridge cable canal cargo cellar clinic compass convoy crate crew
depot dock engine ferry filter fleet foundry garage gauge granary harbour hangar invoice kettle
ladder lantern ledger locker loan market mill mooring orchard oven pallet permit pier pipeline
pump quarry quota recipe reservoir roster sail sample seam sensor shaft shelf signal siren
sluice spindle stable station switch tanker ticket timber tower tram turbine valve vault voucher
wagon warehouse weir well winch workshop yard
"""
_VERBS_IN_A_ROW = """
count sort check price merge split round file group weigh sign book test rank seal move chart
clean drain empty inspect label mend open pack paint
"""
NOUNS = _NOUNS_IN_A_ROW.split()
VERBS = _VERBS_IN_A_ROW.split()
_UNITS = (
    "crates",
    "hours",
    "litres",
    "metres",
    "minutes",
    "sheets",
    "tonnes",
    "visits",
)
_ENDS = (
    "before the night shift",
    "for the whole season",
    "in the order of arrival",
    "once a week",
    "with the oldest first",
    "without asking twice",
)


def words(rng: Random, count: int) -> list[str]:
    """Different nouns, for folders, files and names.

    >>> len(set(words(Random(1), 30)))
    30
    """
    return rng.sample(NOUNS, count)


def module(rng: Random, name: str, size: int) -> str:
    """A Python file about `name`, of `size` characters or somewhat more."""
    verb = rng.choice(VERBS)
    end = rng.choice(_ENDS)
    parts = [f'"""How to {verb} {a(name)} {end}."""\n']
    for number, what in enumerate(rng.sample(VERBS, rng.randint(2, 5))):
        parts.append(_function(rng, f"{what}_{name}", what, name, number))
    while sum(map(len, parts)) < size:
        parts.append(_table(rng, f"TABLE_{len(parts)}", size - sum(map(len, parts))))
    return "\n\n".join(parts)


def a(noun: str) -> str:
    """The noun with its article.

    >>> a("oven"), a("mill")
    ('an oven', 'a mill')
    """
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _function(rng: Random, name: str, verb: str, noun: str, number: int) -> str:
    first, second = rng.sample(_UNITS, 2)
    lines = [
        f"def {name}({first}, {second}):",
        f'    """{verb.capitalize()} {a(noun)} by its {first} and {second}."""',
        f"    total = {rng.randint(2, 90)} * {first} + {number}",
    ]
    for _ in range(rng.randint(2, 12)):
        limit = rng.randint(100, 9_999)
        step = rng.randint(2, 60)
        lines += [f"    if total > {limit}:", f"        total -= {step} * {second}"]
    return "\n".join([*lines, "    return total", ""])


def _table(rng: Random, name: str, size: int) -> str:
    rows = [f"{name} = ("]
    for _ in range(max(1, min(size, 6_000) // 38)):
        figures = ", ".join(f"{rng.randint(0, 9_999) / 100:.2f}" for _ in range(4))
        rows.append(f'    ("{rng.choice(NOUNS)}", {figures}),')
    return "\n".join([*rows, ")", ""])


def fact(rng: Random, noun: str) -> str:
    """A line worth remembering on one noun.

    >>> fact(Random(3), "oven").split(":")[0] in ("FACT", "DECISION")
    True
    """
    number = rng.randint(3, 480)
    unit = rng.choice(_UNITS)
    verb = rng.choice(VERBS)
    other = rng.choice(NOUNS)
    return rng.choice(
        (
            f"FACT: the {noun} holds at most {number} {unit}.",
            f"FACT: nobody may {verb} the {noun} for {number} {unit} after an alarm.",
            f"FACT: {number} {unit} of the {noun} belong to the {other} next door.",
            f"DECISION: we {verb} the {noun} every {number} {unit}, never sooner.",
            f"DECISION: the {noun} is done by hand, at {number} {unit} a turn.",
        )
    )


def renaming_project(
    rng: Random, package: str, nouns: list[str], old: str
) -> dict[str, str]:
    """path -> text: a package in which every file but the first uses the first one's
    constant.

    Its tests print no times.
    """
    limit = rng.randint(20, 90)
    first, *others = nouns
    files = {f"{package}/{first}.py": f'"""What is allowed."""\n\n{old} = {limit}\n'}
    wanted = [f'    ("the limit", {first}.{old}, {limit}),']
    for noun in others:
        text = module(rng, noun, rng.randint(1_000, 20_000)).rstrip("\n")
        head = f"from {package}.{first} import {old}\n"
        text = text.replace("\n\n\n", f"\n\n{head}\n\n", 1)
        for number in range(rng.randint(1, 5)):
            times = rng.randint(2, 40)
            said = f"def most_{number}(count):\n    return {times} * count + {old}\n"
            text = f"{text}\n\n\n{said.rstrip()}"
            wanted.append(
                f'    ("{noun}.{number}", {noun}.most_{number}(3), {times * 3 + limit}),'
            )
        files[f"{package}/{noun}.py"] = f"{text}\n"
    imported = f"import sys\n\nfrom {package} import {', '.join(sorted(nouns))}\n\nCHECKS = (\n"
    return {
        **files,
        "README.md": f"# {package}\n\nRun the tests with `python -m tests`.\n",
        f"{package}/__init__.py": '"""Made up."""\n',
        "tests/__init__.py": "",
        "tests/__main__.py": "\n".join(
            ['"""What is promised."""', "", imported.rstrip(), *wanted]
        )
        + _CHECKING,
    }


_CHECKING = """
)
FAILED = [name for name, got, wanted in CHECKS if got != wanted]
print(f"{len(CHECKS)} checks, {len(FAILED)} failed: {FAILED}")
sys.exit(bool(FAILED))
"""
