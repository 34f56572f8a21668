"""Draw the pictures of the texts: one task without the layers and with them, the
scorecard, and the field.

python tools/picture.py

The runs are offline, so the pictures are the same every time.
"""

from pathlib import Path

from agentlib.settings import Settings
from course import scoreboard
from course.checks import the_field as checks
from course.figures import charts
from course.rooms import the_field
from windtunnel.runner import play
from windtunnel.tasks.scenarios import REVIEW

WINDOW = 32_000
TITLE = "One task, without the layers and with them"
WHERE = Path(__file__).parent.parent / "docs" / "wall.png"
RUNS = {
    "Without layers": Settings(enabled=False).scaled(WINDOW),
    "With layers": Settings(keep_recent=5).scaled(WINDOW),
}


def main() -> None:
    runs = {name: play(REVIEW, settings) for name, settings in RUNS.items()}
    tables = {name: run.table() for name, run in runs.items()}
    refused = {name: run.ended for name, run in runs.items() if run.refused}
    WHERE.write_bytes(charts.compare(tables, title=TITLE, refused=refused).png())
    WHERE.with_name("scorecard.png").write_bytes(scoreboard.picture("07").png())
    field = the_field.picture(checks.compactions_in, checks.decisions_of)
    WHERE.with_name("field.png").write_bytes(field.png())


if __name__ == "__main__":
    main()
