"""What all commands share: the name that was typed, and engines named by module or file."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType

from agentlib.compaction.engine_check import NoEngine, check_engine
from agentlib.pipeline import ContextEngine


def typed(module: str, script: str) -> str:
    """Return the command as the person typed it: `python -m MODULE`, or the script.

    Usage lines and errors begin with it.
    """
    is_module = Path(sys.argv[0]).name == "__main__.py"
    return f"python -m {module}" if is_module else script


def started_by(module: str, script: str) -> list[str]:
    """Return the words that start this program again, whichever Python is on the PATH.

    A program below the current folder is named from there: `.venv/bin/python`.
    """
    is_module = Path(sys.argv[0]).name == "__main__.py"
    program = Path(sys.executable if is_module else sys.argv[0]).absolute()
    if not is_module and program.stem != script:
        return [script]  # another program called this one
    here = Path.cwd()
    is_below = program.is_relative_to(here) and program.parent != here
    name = str(program.relative_to(here) if is_below else program)
    return [name, "-m", module] if is_module else [name]


def engine_named(name: str) -> ContextEngine:
    """Import `module:function` or `path/to/file.py:function`, `compact` if none is named.

    The current folder is searched last, so that a `random.py` there doesn't hide the
    library's. Raises ValueError with what is wrong about the name.
    """
    place, colon, attribute = name.rpartition(":")
    if not colon or attribute.endswith((".py", "\\")) or "/" in attribute:
        place = name
        attribute = "compact"
    if str(Path.cwd()) not in sys.path and "" not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        if place.endswith(".py"):
            engine: ContextEngine = getattr(
                _module_at(Path(place).resolve()), attribute
            )
        else:
            engine = resolve_name(f"{place}:{attribute}")
    except (
        Exception,
        SystemExit,
    ) as error:  # importing somebody's code can raise anything
        problem = f"{type(error).__name__}: {error}"
        is_code = isinstance(error, SyntaxError)
        cure = (
            "mend that line"
            if is_code
            else "write MODULE:FUNCTION or FILE.py:FUNCTION, such as mine:compact or "
            "workbook/my_agent.py:compact"
        )
        raise ValueError(f"{name!r} is no engine: {problem}; {cure}") from error
    if not callable(engine):
        raise ValueError(f"{name!r} is no engine: {engine!r:.60} can't be called")
    try:
        check_engine(engine)
    except NoEngine as error:
        raise ValueError(f"{name!r}: {error}") from error
    return engine


def _module_at(file: Path) -> ModuleType:
    """Import a file under its own name, so that its functions can go to other processes."""
    loaded = sys.modules.get(file.stem)
    if loaded and getattr(loaded, "__file__", None) == str(file):
        return loaded
    spec = spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    module = module_from_spec(spec)
    sys.modules[file.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[file.stem]
        raise
    return module
