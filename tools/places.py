"""Run the notebooks and record each panel at many places, so that a web page can play it.

python -m tools.places notebooks/02_*.ipynb     run and record these, and print their sizes

A panel is recorded at each position of its controls. If that would take long, `STOPS` names the
positions that are offered, and a line under the controls says so. In the outputs of a recorded
notebook a chart or a panel is of the type `MIME`. `embed` makes it HTML for `play.js`. What was
recorded is kept in build/places until the notebook's code, agentlib or the recorder changes.
"""

import base64
import gzip
import hashlib
import html
import json
import re
import sys
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from tools.drawing import Sheet, recording
from tools.notebooks import execute, normalise
from tools.stops import STOPS

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "build/places"
MIME = "application/vnd.agent-course.play+json"
MINUTES, PROCESSES, MOST = 20, 2, 2_000


def install(stem: str) -> None:
    """Let this kernel show charts and panels as recordings."""
    from IPython.core.getipython import get_ipython

    from agentlib.lab.figures.style import Chart
    from agentlib.lab.panels.panel import Panel

    shell: Any = get_ipython()
    formatter = shell.display_formatter
    formatter.formatters["image/png"].for_type(Chart, lambda _: None)
    formatter.mimebundle_formatter.for_type(Chart, figure)
    formatter.mimebundle_formatter.for_type(Panel, partial(panel, stops=STOPS.get(stem, {})))


def figure(chart: Any) -> dict[str, Any]:
    """Record a chart."""
    sheet = Sheet()
    place = [sheet.picture(chart), "", []]
    return bundle("figure", sheet, [place], text=repr(chart))


def panel(shown: Any, stops: Mapping[str, Any]) -> dict[str, Any]:
    """Record a panel at each combination of its controls' values."""
    from agentlib.lab.panels.what_if import WhatIf

    if isinstance(shown, WhatIf):
        return bench(shown, stops)
    controls = {name: offered(name, each, stops) for name, each in shown.controls.items()}
    values = [each["values"] for each in controls.values()]
    sheet, places, chunks = Sheet(), list[Any](), dict[str, int]()
    for at in product(*values):
        picture, drawing = drawn(shown, dict(zip(controls, at, strict=True)), sheet)
        parts = re.split(r"(?=<tr)", drawing.table) if drawing.table else []
        table = [chunks.setdefault(part, len(chunks)) for part in parts]
        places.append([picture, drawing.sentence, table])
    if len(places) > MOST:
        raise ValueError(f"{len(places):,} places are too many for a page; add stops for {values}")
    moving = [each for each in controls.values() if len(each["values"]) > 1]
    more = {"controls": moving, "chunks": [*chunks], "fixed": rest(controls)}
    return bundle("panel", sheet, places, text=repr(shown), sentence=shown.text, **more)


def bench(shown: Any, stops: Mapping[str, Any]) -> dict[str, Any]:
    """Record a bench. It begins where its controls stand."""
    from tools.trail import trail

    controls = {name: offered(name, each, {}) for name, each in shown.controls.items()}
    sheet, data = trail(shown, stops)
    kept = [n for n in controls if n in ("preset", "trial", "model", *data["fields"])]
    fixed = [each["label"] for name, each in controls.items() if name not in kept]
    more = {
        "controls": [controls[name] for name in kept],
        "labels": {name: controls[name]["label"] for name in kept},
        "start": shown.name,
        "fixed": f"On this page, {', '.join(fixed)} stay where the preset has them, and the others"
        " have some of their positions. “make lab” has them all.",
    }
    return bundle("trail", sheet, text=repr(shown), sentence=shown.text, **data, **more)


def drawn(shown: Any, values: Mapping[str, Any], sheet: Sheet) -> tuple[Any, Any]:
    """Return what a panel shows at one place: the picture if there is one, and the drawing."""
    from agentlib.lab.panels.panel import Drawing

    draw, pictures = getattr(shown.draw, "__wrapped__", shown.draw), list[Any]()
    try:
        with recording(sheet, pictures):
            drawing = Drawing(*draw(**values))
    except Exception as error:  # shown, as the panel does
        return None, Drawing(b"", f"{type(error).__name__}: {error}")
    return pictures[-1], drawing


def offered(name: str, control: Any, stops: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a control for a page: its values there, and the words for each."""
    if hasattr(control, "options"):
        kind, every = "select", control.options
    elif hasattr(control, "step"):
        kind, every = "range", range(control.min, control.max + 1, control.step)
    else:
        kind, every = "select", ()
    values = [*dict.fromkeys([*stops.get(name, every), control.value])]
    if kind == "range":
        values.sort()
    return {
        "name": name,
        "label": control.description,
        "help": control.tooltip,
        "type": kind,
        "values": values,
        "shown": [f"{v:,}" if isinstance(v, int) else v or "nothing" for v in values],
        "start": values.index(control.value),
        "of": len(every),
    }


def rest(controls: Mapping[str, Mapping[str, Any]]) -> str:
    """Say which positions a page doesn't have."""
    lines: list[str] = []
    for each in controls.values():
        count, of = len(each["values"]), each["of"]
        if count == 1:
            lines.append(f"{each['label']} stays at {each['shown'][0]}")
        elif not of:
            lines.append(f"{each['label']} has {count} wordings")
        elif count < of:
            lines.append(f"{each['label']} has {count} of its {of} positions")
    return f"On this page, {', '.join(lines)}. “make lab” has them all." if lines else ""


def bundle(
    kind: str, sheet: Sheet, places: Any, *, text: str, sentence: str = "", **more: Any
) -> dict[str, Any]:
    """Return the data of an output."""
    data = {"kind": kind, **sheet.tables(), "places": places, **more}
    every = [] if kind == "trail" else [place[0] for place in places]
    high = max((picture[0] for picture in every if picture), default=0)
    play = {"high": high / 10, "sentence": sentence, "data": packed(data)}
    return {MIME: play, "text/plain": text}


def packed(data: Any) -> str:
    words = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(words.encode(), 9, mtime=0)).decode("ascii")


def unpacked(play: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a recording: its controls, places, styles and marks."""
    return json.loads(gzip.decompress(base64.b64decode(play["data"])))


def embed(
    name: str, play: Mapping[str, Any], label: str = "", *, moves: bool = False, still: bool = False
) -> str:
    """Make the HTML of a recording. `name` is unique in the page, of letters, digits and hyphens.

    `label`: the words of a chart for a screen reader. `moves`: the panel plays by itself once.
    `still`: only the picture of the panel's first place.
    """
    words = html.escape(play["sentence"] or label)
    flags = f' data-label="{words}"' + " data-moves" * moves + " data-still" * still
    data = packed(first(unpacked(play))) if still else play["data"]
    return (
        f'<figure class="play" data-play="{name}"{flags} style="--high:{play["high"]:g}">'
        f"<noscript>{words}</noscript></figure>\n"
        f'<script type="text/plain" id="play-{name}">{data}</script>'
    )


def first(data: dict[str, Any]) -> dict[str, Any]:
    """Keep the place at which the controls stand, and what its picture needs."""
    at = 0
    for each in data.get("controls", []):
        at = at * len(each["values"]) + each["start"]
    height, picture = data["places"][at][0]
    marks = [data["marks"][mark] for mark in picture]
    place = [[height, [*range(len(marks))]], "", []]
    return {"kind": "figure", "styles": data["styles"], "marks": marks, "places": [place]}


def record(paths: Iterable[Path]) -> dict[Path, NotebookNode]:
    """Return the notebooks as they are now, with recorded outputs."""
    paths = list(paths)
    with ProcessPoolExecutor(PROCESSES) as pool:
        return dict(zip(paths, pool.map(recorded, paths), strict=True))


def recorded(path: Path) -> NotebookNode:
    """Return a notebook with recorded outputs. Run it if its code or ours has changed."""
    notebook = nbformat.read(path, as_version=4)
    file = KEPT / f"{path.stem}-{fingerprint(notebook, path.stem)}.ipynb"
    if not file.is_file():
        keep(path, run(notebook, path), file)
    codes = (cell for cell in nbformat.read(file, as_version=4).cells if cell.cell_type == "code")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = next(codes).outputs
    return notebook


def run(notebook: NotebookNode, path: Path) -> NotebookNode:
    """Run a notebook in a kernel that records."""
    lines = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tools import places; "
    lines += f"places.install({path.stem!r})"
    return normalise(execute(notebook, path.parent, start=lines, timeout=60 * MINUTES))


def keep(path: Path, notebook: NotebookNode, file: Path) -> None:
    """Write a recorded notebook in place of its older ones."""
    file.parent.mkdir(parents=True, exist_ok=True)
    for old in file.parent.glob(f"{path.stem}-*"):
        old.unlink()
    new = file.with_suffix(".new")
    new.write_text(nbformat.writes(notebook), encoding="utf-8")
    new.replace(file)


def fingerprint(notebook: NotebookNode, stem: str) -> str:
    """Hash the code of a notebook and all that its outputs depend on."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    words = f"{cells}{STOPS.get(stem)}{_of_files()}"
    return hashlib.sha256(words.encode()).hexdigest()[:16]


@cache
def _of_files() -> str:
    ours = [ROOT / f"tools/{name}.py" for name in ("places", "drawing", "trail", "notebooks")]
    hashed = hashlib.sha256()
    for file in (*ours, *sorted((ROOT / "agentlib").rglob("*"))):
        if file.is_file() and "__pycache__" not in file.parts:
            hashed.update(file.read_bytes())
    return hashed.hexdigest()


def plays(notebook: NotebookNode) -> list[dict[str, Any]]:
    """List the recordings of a notebook."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    return [output.data[MIME] for output in outputs if MIME in output.get("data", {})]


def main(*names: str) -> None:
    began = time.monotonic()
    for path, notebook in record(map(Path, names)).items():
        print(f"{path.name}, {time.monotonic() - began:.0f} s:")
        for play in plays(notebook):
            data = unpacked(play)
            print(f"  {data['kind']}, {len(data['places'])} places, {len(play['data']):,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
