"""Keep the learner's copies of the lessons in `workbook/`, apart from the files that
git tracks.

python -m tools.workbook    # make the workbook, or bring it up to date

`make lab` does this first. A copy has no outputs, so no prediction is spoiled. A lesson
that changes in git replaces its copy only if the learner hasn't edited the copy.
Outputs don't count as edits. An edited copy gets the new names of moved modules in its
imports, and nothing else of it is touched.
"""

import hashlib
import json
import re
from pathlib import Path

from tools.imports import renamed

ROOT = Path(__file__).resolve().parent.parent
FOLDER = "workbook"
AGENT = "my_agent.py"
"""The learner's own file, which passing exercises write."""
RECORD = ".copied.json"
"""Fingerprints of the lessons as they were copied, by file name."""
EXERCISE = re.compile(r'^check\("([\d.]+)"', re.MULTILINE)
"""How a cell checks an exercise, and its number."""


def update(root: Path = ROOT) -> list[str]:
    """Copy what is missing, replace what is outdated, and return a line about each."""
    is_new = not (root / FOLDER).exists()
    lines = [*(_refresh(root, name) for name in names(root)), _rename_file(root)]
    if is_new:
        lines.append(f"{FOLDER}/ has your own copies of the lessons, without outputs.")
    return [line for line in lines if line]


def names(root: Path) -> list[str]:
    """Return the file names of the notebooks and of the glossary, which they link
    to."""
    return sorted(
        p.name for p in (root / "notebooks").iterdir() if p.suffix in (".ipynb", ".md")
    )


def _refresh(root: Path, name: str) -> str:
    """Bring one copy up to date. Return what happened, or "" if nothing did."""
    copy = root / FOLDER / name
    if not copy.exists():
        restore(name, root)
        return ""
    newest = fingerprint(read(root / "notebooks" / name))
    current = fingerprint(read(copy))
    copied = _record(root).get(name)
    if newest == current:
        _note(root, name, newest)
    elif newest != copied and current != copied:
        changed = " Its imports have the new names." if _rename_imports(copy) else ""
        kept = f"{name} is newer now. You edited your copy, so it is kept."
        return f"{kept}{changed}{_how_to_reset(name)}"
    elif newest != copied:
        restore(name, root)
        return f"{name} is newer now. You had not edited your copy, so it is replaced."
    return ""


def _rename_imports(copy: Path) -> bool:
    """Rename the imports of moved modules in an edited copy. Return whether any was."""
    notebook = _parsed(read(copy))
    if not notebook:
        return False
    is_changed = False
    for cell in notebook.get("cells", []):
        source = "".join(cell["source"])
        new = renamed(source) if cell["cell_type"] == "code" else source
        if new != source:
            cell["source"] = new.splitlines(keepends=True)
            is_changed = True
    if is_changed:
        _write(copy, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    return is_changed


def _rename_file(root: Path) -> str:
    """Rename the imports of the learner's own file. Return a line if any was."""
    path = root / FOLDER / AGENT
    try:
        text = read(path)
    except (OSError, UnicodeDecodeError):  # there is none, or the course will say so
        return ""
    if (new := renamed(text)) == text:
        return ""
    _write(path, new)
    return (
        f"{AGENT}: its imports have the new names, and nothing else of it is changed."
    )


def _how_to_reset(name: str) -> str:
    return (
        f" `make reset LESSON={name[:2]}` takes the new one."
        if name[:2].isdigit()
        else ""
    )


def restore(name: str, root: Path = ROOT) -> None:
    """Copy one lesson, over whatever the workbook has of it, and note which one it
    was."""
    lesson = read(root / "notebooks" / name)
    _write(root / FOLDER / name, without_outputs(lesson))
    _note(root, name, fingerprint(lesson))


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def without_outputs(text: str) -> str:
    """Return a notebook as if it had never been run. Any other text stays the same."""
    notebook = _parsed(text)
    if not notebook:
        return text
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"execution_count": None, "outputs": []}
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def fingerprint(text: str) -> str:
    """Return a hash of a notebook's sources, or of any other text.

    A damaged notebook has the hash "". Empty cells don't count, because JupyterLab adds
    one when the last cell is run.
    """
    notebook = _parsed(text)
    if notebook is None:
        return ""
    cells = [(c["cell_type"], "".join(c["source"])) for c in notebook.get("cells", [])]
    sources = [cell for cell in cells if cell[1].strip()] or text
    return hashlib.sha256(json.dumps(sources).encode()).hexdigest()


def _parsed(text: str) -> dict | None:
    """Return a notebook as a dictionary, {} for a text that is none, None for a damaged
    one."""
    if not text.lstrip().startswith("{"):
        return {}
    try:
        return json.loads(text)
    except ValueError:
        return None


def _record(root: Path) -> dict[str, str]:
    path = root / FOLDER / RECORD
    return (_parsed(read(path)) or {}) if path.exists() else {}


def _note(root: Path, name: str, newest: str) -> None:
    record = _record(root)
    if record.get(name) != newest:
        _write(
            root / FOLDER / RECORD, json.dumps(record | {name: newest}, indent=1) + "\n"
        )


def _write(path: Path, text: str) -> None:
    """Write under another name and rename, so that Ctrl-C leaves the old file or the
    new one."""
    path.parent.mkdir(exist_ok=True)
    draft = path.with_name(f"{path.name}.new")
    draft.write_text(text, encoding="utf-8", newline="\n")
    draft.replace(path)


if __name__ == "__main__":
    print("\n".join(update()) or f"{FOLDER}/ is up to date.")
