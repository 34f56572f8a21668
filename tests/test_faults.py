"""The list of faults fits the code, so that `make mutants` plants what it says."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.benchmarks.mutants import (
    NO_END,
    ROOT,
    Fault,
    faults,
    importing,
    ordered,
    verdict,
)


@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault.what)
def test_a_fault_can_be_planted(fault: Fault):
    text = (ROOT / fault.file).read_text(encoding="utf-8")
    assert fault.planted(text) != text


@pytest.mark.parametrize("module", sorted({fault.module for fault in faults()}))
def test_a_module_with_a_fault_has_tests(module: str):
    assert len(importing(module)) > 1


def test_there_are_sixty_faults_and_a_word_chooses_among_them():
    assert len(faults()) >= 60
    assert {fault.hurts for fault in faults("money")} >= {"money"}
    assert faults("no such word") == []


def test_a_fault_that_does_not_fit_is_named():
    fault = Fault("a.py", "money", "gone", "x = 1", "x = 2")
    with pytest.raises(ValueError, match=r"a\.py: gone: its text stands 0 times"):
        fault.planted("y = 1")


def test_a_single_process_runs_a_faults_own_tests_first(pytestconfig):
    """Or they come last if they wait, and a busy machine never gets to them."""
    [fault] = faults("fast mode")
    files = ordered(importing(fault.module), fault)
    assert files[:2] == [fault.file, "tests/agentlib/test_spending.py"]
    own = pytestconfig.pluginmanager.get_plugin(str(ROOT / "tests/conftest.py"))
    items = [SimpleNamespace(path=Path(file)) for file in files]
    own.pytest_collection_modifyitems(SimpleNamespace(), items)
    assert [each.path.as_posix() for each in items] == files
    own.pytest_collection_modifyitems(SimpleNamespace(workerinput={}), items)
    assert items[-1].path.name == "test_spending.py"


def test_a_fault_is_missed_if_too_few_files_notice_and_not_if_the_time_was_over():
    [fault] = faults("fast mode")
    one = ["agentlib/api/spending.py::dollars", "tests/test_a.py::test_x"]
    assert verdict(fault, [*one, "tests/test_a.py::test_y"]) == "MISSED"
    assert verdict(fault, [*one, "tests/test_b.py::test_x"]) == "caught"
    assert verdict(fault, [NO_END]) == "NO END"
