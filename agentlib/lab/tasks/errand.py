"""A task of two pieces that have nothing to do with each other, for lesson 04.

First a folder is read, then a value is traced in another one: what was read is in the way by
then. Not here: the tasks that the whole course uses (scenarios).
"""

from pathlib import Path

from agentlib.lab.tasks.fetcher import fetcher
from agentlib.lab.tasks.scenarios import TRACE, Scenario
from agentlib.lab.tasks.task_files import copy_package, write_files


def _workspace(folder: Path) -> None:
    copy_package("packaging", folder, largest=12_000)
    write_files(folder, fetcher())


ERRAND = Scenario(
    name="errand",
    prompts=("Read every Python file in the packaging/ directory one by one.", *TRACE.prompts),
    make_workspace=_workspace,
    checks=TRACE.checks,
)
"""Read the smaller files of `packaging` (up to 12,000 bytes), about 20,000 tokens; then find
where a value comes from in `fetcher`, about 3,000. Done when the second piece is."""
