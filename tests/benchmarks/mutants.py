"""Plant faults, one at a time, and print which tests notice.

python -m tests.benchmarks.mutants           # what `make mutants` runs: all faults
python -m tests.benchmarks.mutants money     # those that hurt money, or whose text has the word

`faults.toml` lists them. Each is planted in a copy of the repository, and the tests run
that import its module, a copy for each core. A fault of money, keys or the cap counts
as caught if two test files notice it, any other if one does. Examples in docstrings
don't count. The module's own tests come first. Once enough files have noticed a fault,
the current one runs to its end and the others are left out. NO END: the time was over,
so a quieter machine has to say. Ends with 1 if a fault was not caught.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from time import perf_counter

ROOT = Path(__file__).resolve().parents[2]
FAULTS = Path(__file__).with_name("faults.toml")
SECONDS = 600
"""For the tests of one fault."""
TWICE = ("money", "keys", "cap")
"""What two test files have to guard."""
NO_END = "(the tests didn't end)"
NEEDED = "MUTANT_NEEDS"
"""The environment variable with the number of test files that have to notice."""
_LEFT = (".git", ".venv", "build", "workbook", "__pycache__", ".*_cache", ".hypothesis")
_FAILED = re.compile(r"^(?:FAILED|ERROR) ([\w/.]+)(?:::(.+?))?(?: - |$)", re.MULTILINE)


@dataclass(frozen=True)
class Fault:
    """A change that hurts."""

    file: str
    hurts: str
    """money, cap, keys, history, layers, loop, tools, rules, report, guests, judge or
    lessons."""
    what: str
    old: str
    """The text in its place. It stands once in the file."""
    new: str

    @property
    def module(self) -> str:
        name = self.file.removeprefix("lab/").removesuffix(".py")
        return name.replace("/", ".")

    @property
    def needs(self) -> int:
        """How many test files have to notice it."""
        return 2 if self.hurts in TWICE else 1

    def planted(self, text: str) -> str:
        """Return the file's text with the fault. Raises ValueError if it doesn't fit."""
        if text.count(self.old) != 1:
            count = text.count(self.old)
            raise ValueError(f"{self.file}: {self.what}: its text stands {count} times")
        return text.replace(self.old, self.new)


def faults(word: str = "") -> list[Fault]:
    """Read the list, or those that have a word in them."""
    listed = tomllib.loads(FAULTS.read_text(encoding="utf-8"))["fault"]
    every = [Fault(**each) for each in listed]
    return [f for f in every if word in (f.hurts, f.module) or word in f.what]


def importing(module: str, root: Path = ROOT) -> list[str]:
    """List the test files that import a module, and the module for its examples.

    If hardly any names it, those of its package are taken, which import it by others.
    """
    package, _, name = module.rpartition(".")
    patterns = [rf"\b{re.escape(module)}\b"]
    if package:
        patterns.append(
            rf"from {re.escape(package)} import (?:\([^)]*|[^\n(]*)\b{name}\b"
        )
    found = [
        str(path.relative_to(root))
        for path in sorted((root / "tests").rglob("test_*.py"))
        if not {"browser", "adapters", "benchmarks", "local"} & {*path.parts}
        and any(re.search(p, path.read_text("utf-8")) for p in patterns)
    ]
    if len(found) < 3:
        folder = root / "tests" / package.partition(".")[0]
        found = [str(path.relative_to(root)) for path in folder.rglob("test_*.py")]
    file = module.replace(".", "/") + ".py"
    own = file if (root / file).is_file() else f"lab/{file}"
    return [own, *sorted(found)]


def ordered(files: list[str], fault: Fault) -> list[str]:
    """Put first what most likely notices: the module's tests, then those of the harm.

    The lessons' tests and the benchmarks take longest, so they come last.
    """
    own = fault.module.rpartition(".")[2]

    def rank(file: str) -> int:
        name = Path(file).stem
        if name in (own, f"test_{own}"):
            return 0
        if name == f"test_{fault.hurts}":
            return 1
        return 3 if "course" in file or "bench" in file else 2

    return sorted(files, key=rank)


def noticed(fault: Fault, copy: Path) -> list[str]:
    """Plant a fault in the copy, run its tests, and take it out. Return who noticed."""
    path = copy / fault.file
    whole = path.read_text(encoding="utf-8")
    options = "--import-mode=importlib --doctest-modules -m 'not solved'"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:nbval", "-n0", "--tb=no"]
    command += ["-p", "no:cacheprovider", "--hypothesis-profile=mutants"]
    command += ["-p", "tests.benchmarks.enough"]
    command += ["--override-ini", f"addopts={options}"]
    # Or processes that a test starts would import the packages that are installed.
    packages = os.pathsep.join([str(copy), str(copy / "lab")])
    path.write_text(fault.planted(whole), encoding="utf-8", newline="\n")
    try:
        ended = subprocess.run(
            [*command, *ordered(importing(fault.module, copy), fault)],
            cwd=copy,
            env=os.environ | {NEEDED: str(fault.needs), "PYTHONPATH": packages},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [NO_END]
    finally:
        path.write_text(whole, encoding="utf-8", newline="\n")
    found = _FAILED.findall(ended.stdout)
    if ended.returncode not in (0, 1) and not found:
        return [f"(pytest ended with {ended.returncode})"]
    return sorted({f"{file}::{name.partition('[')[0]}" for file, name in found})


def verdict(fault: Fault, tests: Sequence[str]) -> str:
    """Say what `noticed` comes to. Examples in docstrings don't count.

    >>> fault = Fault("a.py", "money", "it's free", "x = 1", "x = 0")
    >>> verdict(fault, ["tests/test_a.py::test_x", "tests/test_b.py::test_x"])
    'caught'
    """
    if NO_END in tests:
        return "NO END"
    files = {test.partition("::")[0] for test in tests if test.startswith("tests/")}
    return "caught" if len(files) >= fault.needs else "MISSED"


def rows(chosen: list[Fault]) -> Iterator[tuple[Fault, list[str], float]]:
    """Try the faults in copies of the repository, one for each core."""
    workers = os.cpu_count() or 1
    free = SimpleQueue[Path]()
    with TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        for number in range(workers):
            copy = Path(folder) / f"copy{number}"
            shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*_LEFT))
            free.put(copy)

        def tried(fault: Fault) -> tuple[Fault, list[str], float]:
            copy = free.get()
            began = perf_counter()
            try:
                return fault, noticed(fault, copy), perf_counter() - began
            finally:
                free.put(copy)

        yield from pool.map(tried, chosen)


def main(word: str = "") -> int:
    chosen = faults(word)
    if not chosen:
        print(f"No fault has {word!r} in it.", file=sys.stderr)
        return 2
    marks = Counter[str]()
    for number, (fault, tests, seconds) in enumerate(rows(chosen), 1):
        mark = verdict(fault, tests)
        marks[mark] += 1
        head = f"{number:2} of {len(chosen)}  {mark}  {fault.hurts:8}{fault.what}"
        print(f"{head} ({fault.module}, {seconds:.0f} s)", flush=True)
        for test in tests:
            print(f"      {test}")
    caught = marks.pop("caught", 0)
    others = "".join(f", {count} {mark}" for mark, count in marks.items())
    print(f"{caught} of {len(chosen)} faults were caught{others}.")
    return 1 if marks else 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:2]))
