"""Run an adapter's example as it stands, with a model, tools and settings for a small window."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import hands

from agentlib.settings import Settings

WINDOW = int(sys.argv[3])
SETTINGS = replace(Settings(micro="off").scaled(WINDOW), summary_tokens=1_000)
TOOLS = [hands.bash, hands.read_file, hands.write_file]


def example(path: Path) -> str:
    """Return the code of a docstring's example."""
    return "\n".join(re.findall(r"^(?:>>>|\.\.\.) ?(.*)", path.read_text(), re.MULTILINE))


def run(adapter: str, **given: Any) -> dict[str, Any]:
    """Run the example, and return its names. A name of ours is one that the reader has already."""
    import agentlib

    path = Path(agentlib.__file__).parent / "adapters" / f"{adapter}.py"
    names = {"settings": SETTINGS, "tools": TOOLS, **given}
    exec(example(path), names)
    return names
