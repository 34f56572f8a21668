"""Run each example of a docstring in an empty folder of its own."""

import pytest

collect_ignore_glob = [
    "agentlib/adapters/*"
]  # their frameworks are in an environment apart


@pytest.fixture(autouse=True)
def empty_folder(request: pytest.FixtureRequest) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        folder = request.getfixturevalue("tmp_path")
        request.getfixturevalue("monkeypatch").chdir(folder)
