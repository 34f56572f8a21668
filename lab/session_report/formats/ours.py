"""Know this project's own session files. `agentlib.transcripts` reads them."""

from agentlib.session.file import Line
from session_report.formats import Format


def knows(line: Line) -> bool:
    """Return whether a line has our version in its envelope."""
    return line.get("version") == "agentlib"


FORMAT = Format("ours", '"version": "agentlib"', ("*.jsonl",), knows, None)
