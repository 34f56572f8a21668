"""Run an adapter's example with a model and tools, and with a small window for the
large one."""

import re
import sys
from pathlib import Path
from typing import Any

import hands

from agentlib import presets

WINDOW = int(sys.argv[3])
SETTINGS = presets.DEFAULT.scaled(WINDOW)
TOOLS = [hands.bash, hands.read_file, hands.write_file]


def example(path: Path) -> str:
    """Return the code of a docstring's example."""
    return "\n".join(
        re.findall(r"^(?:>>>|\.\.\.) ?(.*)", path.read_text(), re.MULTILINE)
    )


def run(adapter: str, **given: Any) -> dict[str, Any]:
    """Run the example, and return its names. A name of ours is one that the reader has
    already."""
    import agentlib

    path = Path(agentlib.__file__).parent / "adapters" / f"{adapter}.py"
    names = {"tools": TOOLS, **given}
    exec(example(path).replace("200_000", str(WINDOW)), names)
    return names
