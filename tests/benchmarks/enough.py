"""A plugin of pytest: once enough test files have noticed a fault, stop after this one."""

import os

import pytest

from tests.benchmarks.mutants import NEEDED

_noticed = set[str]()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed and report.nodeid.startswith("tests/"):
        _noticed.add(report.nodeid.partition("::")[0])


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    is_last = nextitem is None or nextitem.path != item.path
    if is_last and len(_noticed) >= int(os.environ[NEEDED]):
        item.session.shouldstop = "enough test files noticed"
