"""Run a list of cells, given as JSON, as a kernel would, and print what came of the exercises.

The last line is JSON: each exercise's verdicts in order, whether `use` took the learner's function,
and the first error.
"""

import json
import sys
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from agentlib.lab import lessons


def main() -> None:
    judge, pick = lessons.check, lessons.use
    verdicts: dict[str, list[bool]] = {}
    used: dict[str, list[bool]] = {}

    def check(name: str, answer: Any) -> Any:
        verdict = judge(name, answer)
        verdicts.setdefault(name, []).append(verdict.passed)
        return verdict

    def use(name: str, function: Any, *more: Any, **named: Any) -> Any:
        chosen = pick(name, function, *more, **named)
        used.setdefault(name, []).append(chosen is function)
        return chosen

    lessons.check, lessons.use = check, use
    error = first_error(json.load(sys.stdin))
    print(json.dumps({"verdicts": verdicts, "used": used, "error": error}))


def first_error(cells: list[str]) -> str | None:
    """Run the cells up to the first that raises, and return its error and its source."""
    shell = InteractiveShell.instance()
    for cell in cells:
        with capture_output():
            result = shell.run_cell(cell)
        if not result.success:
            return f"{result.error_in_exec or result.error_before_exec!r} in {cell}"
    return None


if __name__ == "__main__":
    main()
