"""Run each example of a docstring in an empty folder of its own, and count notebooks."""

import pytest

collect_ignore_glob = [
    "agentlib/adapters/*"
]  # their frameworks are in an environment apart


@pytest.fixture(autouse=True)
def empty_folder(request: pytest.FixtureRequest) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        folder = request.getfixturevalue("tmp_path")
        request.getfixturevalue("monkeypatch").chdir(folder)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many notebooks and cells passed, if any ran."""

    def notebooks(outcome: str) -> list[str]:
        paths = (each.nodeid.partition("::")[0] for each in reports(outcome))
        return [path for path in paths if path.endswith(".ipynb")]

    reports = terminalreporter.getreports
    cells = notebooks("passed")
    broken = {*notebooks("failed"), *notebooks("error")}
    green = set(cells) - broken
    if cells or broken:
        says = f"{len(green)} of {len(green | broken)} notebooks passed, {len(cells)} cells."
        terminalreporter.write_line(says)
