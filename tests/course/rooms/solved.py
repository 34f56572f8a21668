"""What every lesson's tests share: its notebook, its solutions, and the tests
themselves.

Each exercise fails as delivered, passes with its published solution, and refuses wrong
answers.
"""

import ast
import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbformat import NotebookNode
from traitlets.config import Config

import course as lessons
from course import check, hint, yours
from course.checks import EXERCISES, find, import_all
from course.panels.panel import Panel
from course.parts_list import PARTS
from session_report.style import Chart
from tests.positions import any_position_is_as_if_first
from tools import my_agent

ROOT = Path(__file__).parents[3]
REFUSED = "the API would refuse this"
EDITED = "it edited what it was given"
"""What `check` says of these mistakes, for the `wrong` answers of every lesson."""
CHECK = re.compile(r'^check\("(\d\d\.\d+)", .+\)\s*\Z', re.MULTILINE)
SOLUTION = re.compile(r"<summary>Solution</summary>\s*```python\n(.*?)```", re.DOTALL)


def of_lesson(lesson: str) -> list[str]:
    import_all()
    return sorted(name for name in EXERCISES if name.startswith(f"{lesson}."))


class Lesson:
    """The tests of a lesson. The file `test_the_wall.py` is for the notebook
    `00_the_wall.ipynb`.

    A subclass gives the `wrong` answers of each exercise: a plausible mistake, and
    words of the verdict that name the failing case. `right` has answers that are as
    right as the published one and written otherwise. `panels` makes the lesson's
    panels, by their names.
    """

    wrong: ClassVar[Mapping[str, Sequence[tuple[Any, str]]]]
    right: ClassVar[Mapping[str, Sequence[Any]]]
    panels: ClassVar[Mapping[str, Callable[[], Panel]]] = {}

    @classmethod
    def pytest_generate_tests(cls, metafunc: pytest.Metafunc) -> None:
        if "mistake" in metafunc.fixturenames:
            rows = [(name, *row) for name, rows in cls.wrong.items() for row in rows]
            names = [name for name, *_ in rows]
            metafunc.parametrize(("exercise", "mistake", "case"), rows, ids=names)
        if "otherwise" in metafunc.fixturenames:
            pairs = [
                (name, each) for name, answers in cls.right.items() for each in answers
            ]
            metafunc.parametrize(
                ("exercise", "otherwise"), pairs, ids=[name for name, _ in pairs]
            )

    @pytest.fixture
    def path(self, request: pytest.FixtureRequest) -> Path:
        name = request.path.stem.removeprefix("test_")
        [path] = (ROOT / "notebooks").glob(f"[0-9][0-9]_{name}.ipynb")
        return path

    @pytest.mark.answers
    def test_a_plausible_wrong_answer_fails_and_the_verdict_names_the_case(
        self, exercise: str, mistake: Any, case: str, tmp_path, monkeypatch
    ):
        monkeypatch.chdir(tmp_path)
        verdict = check(exercise, mistake)
        assert not verdict
        assert case in verdict.says

    @pytest.mark.answers
    def test_no_exercise_is_solved_by_a_constant_or_by_ignoring_a_parameter(
        self, path: Path, tmp_path, monkeypatch
    ):
        """The solution with one parameter as it was at the first call, always, is
        wrong. So is its first result, always."""
        monkeypatch.chdir(tmp_path)
        notebook = nbformat.read(path, as_version=4)
        passing: list[tuple[str, str]] = []
        for name, place in stubs(notebook).items():
            *more, finished = _as_tuple(find(name).finished)
            tree = ast.parse(notebook.cells[place].source)
            defined = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
            if callable(finished):
                [stub] = defined
                names = {each.arg for each in stub.args.args} - MAY_IGNORE.get(
                    name, set()
                )
                for each in [*sorted(names), ""]:
                    first: list[Any] = []
                    frozen = _frozen(finished, each, first)
                    verdict = check(name, (*more, frozen) if more else frozen)
                    # A function may well be the same one each time.
                    if verdict and not (each and callable(first[0])):
                        passing.append((name, each))
        assert passing == []

    @pytest.mark.answers
    def test_a_right_answer_passes_however_it_is_written(
        self, exercise: str, otherwise: Any, tmp_path, monkeypatch
    ):
        monkeypatch.chdir(tmp_path)
        assert check(exercise, otherwise)

    def test_every_exercise_has_a_hint_and_right_and_wrong_answers(self, path: Path):
        names = of_lesson(path.name[:2])
        assert list(self.wrong) == list(self.right) == names
        assert [name for name in names if not hint(name).startswith("Hint 1 of ")] == []
        assert [name for name in names if len(self.wrong[name]) < 6] == []

    def test_the_notebook_asks_every_exercise_and_shows_that_it_is_open(
        self, path: Path
    ):
        notebook = nbformat.read(path, as_version=4)
        places = stubs(notebook)
        assert list(places) == of_lesson(path.name[:2])
        for name, place in places.items():
            [output] = notebook.cells[place].outputs
            assert output.data["text/plain"].startswith(f"{name} not yet: ")

    @pytest.mark.solved
    def test_it_runs_with_its_solutions_and_every_stub_fails(
        self, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        """In a workbook whose file has the parts of the lessons before.

        It isn't in `make test`, which has no time for it: `make test-solved` runs it.
        """
        lesson = path.name[:2]
        earlier = tuple(name for name in my_agent.published() if name < lesson)
        (tmp_path / yours.MARK).write_text("{}", encoding="utf-8")
        if earlier:
            text = my_agent.written(only=earlier)
            (tmp_path / yours.FILE).write_text(text, encoding="utf-8")
        monkeypatch.delenv("CI", raising=False)
        cells = with_solutions(nbformat.read(path, as_version=4))
        outcome = run(cells, tmp_path, monkeypatch)
        assert outcome.error == ""
        first_two = {name: each[:2] for name, each in outcome.verdicts.items()}
        assert first_two == {name: [False, True] for name in of_lesson(path.name[:2])}
        assert outcome.used, "no function of the learner's ran in the agent"
        finished = [name for name, each in outcome.used.items() if not all(each)]
        assert finished == [], "the finished function ran in place of the learner's"
        own = [name for name in PARTS if name[:2] <= lesson]
        assert yours.read(tmp_path).parts == own

    def test_the_finished_functions_are_right_and_stand_in_the_folds(self, path: Path):
        notebook = nbformat.read(path, as_version=4)
        for name, place in stubs(notebook).items():
            if (finished := find(name).finished) is not None:
                if source := of_the_room(
                    finished
                ):  # checked when the lesson runs with it
                    assert bare(solution(notebook, place)) == bare(source)
                else:
                    assert check(name, finished)

    @pytest.mark.solved
    def test_any_position_shows_what_it_would_show_if_it_were_the_first(self):
        for make_panel in self.panels.values():
            any_position_is_as_if_first(make_panel())


MAY_IGNORE = {"00.1": {"workspace"}, "03.1": {"messages"}}
"""Parameters that a right answer needn't look at, or that it can't but take."""


def _as_tuple(finished: Any) -> tuple[Any, ...]:
    return finished if isinstance(finished, tuple) else (finished,)


def _frozen(
    function: Callable[..., Any], parameter: str, first: list[Any]
) -> Callable[..., Any]:
    """Return a function that takes a parameter always as it was at the first call, or,
    without a name, always gives its first result. `first` gets that value."""
    shape = inspect.signature(function)

    @wraps(function)
    def frozen(*given: Any, **options: Any) -> Any:
        bound = shape.bind(*given, **options)
        bound.apply_defaults()
        if not first:
            value = (
                bound.arguments.get(parameter)
                if parameter
                else function(*given, **options)
            )
            first.append(deepcopy(value) if isinstance(value, list | dict) else value)
        if not parameter:
            return first[0]
        bound.arguments[parameter] = (
            deepcopy(first[0]) if isinstance(first[0], list | dict) else first[0]
        )
        return function(*bound.args, **bound.kwargs)

    return frozen


def of_the_room(finished: Any) -> str:
    """Return the source of a finished function, or "" if it isn't the room's."""
    parts = finished if isinstance(finished, tuple) else (finished,)
    functions = filter(callable, parts)
    own = [each for each in functions if each.__module__.startswith("course.")]
    return inspect.getsource(own[0]) if own else ""


def bare(source: str) -> str:
    """Return the last function of a source, without its name, its docstring and its
    types."""
    function = [
        node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)
    ][-1]
    function.name = "function"
    function.returns = None
    function.decorator_list = []
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            node.annotation = None
    if ast.get_docstring(function):
        del function.body[0]
    return re.sub(
        r"^( +\w+): .+ = ", r"\1 = ", ast.unparse(function), flags=re.MULTILINE
    )


def stubs(notebook: NotebookNode) -> dict[str, int]:
    """Return the place of each exercise's cell by the exercise's name."""
    places = {}
    for place, cell in enumerate(notebook.cells):
        if "exercise" in cell.metadata.get("tags", []):
            line = CHECK.search(cell.source)
            assert line, f"the last line of an exercise is a check: {cell.source!r}"
            places[line[1]] = place
    return places


def solution(notebook: NotebookNode, place: int) -> str:
    """Return the solution in the markdown cell after the exercise's cell."""
    following = (
        cell for cell in notebook.cells[place:] if cell.cell_type == "markdown"
    )
    [text] = SOLUTION.findall(next(following).source)
    return text


def with_solutions(notebook: NotebookNode) -> list[str]:
    """Return the lesson's code, each exercise followed by its solution and its
    check."""
    places = stubs(notebook).values()
    sources = []
    for place, cell in enumerate(notebook.cells):
        sources += [cell.source] if cell.cell_type == "code" else []
        if place in places:
            line = CHECK.search(cell.source)
            assert line
            sources.append(f"{solution(notebook, place)}\n\n{line[0]}")
    return sources


@dataclass
class Outcome:
    """What came of a lesson's exercises."""

    verdicts: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    """Each exercise's verdicts in order."""
    used: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    """Whether `use` took the learner's function."""
    error: str = ""
    """The first error, and the cell that raised it."""


def run(cells: Sequence[str], folder: Path, patch: pytest.MonkeyPatch) -> Outcome:
    """Run cells in a folder as a kernel would, up to the first that raises.

    They run in this process, so that lessons share what they import and the runs of
    their agents.
    """
    judge = lessons.check
    pick = lessons.use
    outcome = Outcome()

    def check(name: str, answer: Any) -> Any:
        verdict = judge(name, answer)
        outcome.verdicts[name].append(verdict.passed)
        return verdict

    def use(name: str, function: Any = None) -> Any:
        chosen = pick(name, function)
        from_file = getattr(chosen, "__module__", "") == "my_agent"
        outcome.used[name].append(chosen is function or from_file)
        return chosen

    patch.chdir(folder)
    patch.setattr(lessons, "check", check)
    patch.setattr(lessons, "use", use)
    patch.setattr(Chart, "png", lambda chart: b"not painted")  # nobody looks at it here
    patch.setitem(
        sys.modules, "__main__", sys.modules["__main__"]
    )  # the shell puts its own there
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    for cell in cells:
        with capture_output():
            result = shell.run_cell(cell)
        if not result.success:
            outcome.error = (
                f"{result.error_in_exec or result.error_before_exec!r} in {cell}"
            )
            break
    return outcome
