"""Share one JupyterLab and one Chromium per worker, and open and run each notebook
once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from xdist.scheduler import LoadScopeScheduling

from tests.browser.page import Notebook, desk, opened
from tests.browser.servers import NOTEBOOKS, Lab, chromium, jupyter_lab
from tests.browser.site import served
from tools import pages, workbook


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with jupyter_lab(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="session")
def site() -> Path:
    """The web pages. `make test-browser` has just made them."""
    return pages.OUT


@pytest.fixture(scope="session")
def server(site: Path) -> Iterator[str]:
    with served(site) as address:
        yield address


class ByNotebook(LoadScopeScheduling):
    """Send all tests of a notebook to one worker, so that the notebook is run once."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("[")[2].partition(".ipynb")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByNotebook:
    return ByNotebook(config, log)


@pytest.fixture(scope="module", params=[path.name for path in NOTEBOOKS])
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def window(lab: Lab, browser: Browser) -> Iterator[Page]:
    """JupyterLab's page, in which one notebook after the other is opened."""
    with desk(browser, lab.url) as page:
        yield page


@pytest.fixture(scope="module")
def unrun(window: Page, name: str) -> Iterator[Notebook]:
    """The notebook as `make lab` opens it, before anything is run."""
    with opened(window, f"{workbook.FOLDER}/{name}") as notebook:
        yield notebook


@pytest.fixture(scope="module")
def run(unrun: Notebook) -> Notebook:
    """The same notebook after all its cells have run."""
    unrun.run_all()
    return unrun
