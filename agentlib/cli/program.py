"""What all commands share: the name that was typed, and engines named by module or file."""

import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType

from agentlib.compaction.engine_check import NoEngine, check_engine
from agentlib.compaction.engine_check import name as called
from agentlib.pipeline import ContextEngine, Stack


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
    place, attribute = place_of(name)
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
        problem, cure = fault(error, place), "mend that line"
        if not isinstance(error, SyntaxError) and not lines_of(error, place):
            cure = "write MODULE:FUNCTION or FILE.py:FUNCTION, such as mine:compact"
            if place.endswith(".py") and isinstance(error, AttributeError):
                problem = f"there is no `{attribute}` in it"
                cure = f"write `{attribute} = stacked(clear, summarise)` there, say"
        raise ValueError(f"{name!r} is no engine: {problem}; {cure}") from error
    if not callable(engine):
        raise ValueError(f"{name!r} is no engine: {engine!r:.60} can't be called")
    try:
        check_engine(engine)
    except NoEngine as error:
        raise ValueError(f"{name!r}: {error}") from error
    return engine


def place_of(name: str) -> tuple[str, str]:
    """Split an engine's name into its module or file, and its function.

    >>> place_of("workbook/my_agent.py"), place_of("mine:patient")
    (('workbook/my_agent.py', 'compact'), ('mine', 'patient'))
    """
    place, colon, attribute = name.rpartition(":")
    if not colon or attribute.endswith((".py", "\\")) or "/" in attribute:
        return name, "compact"
    return place, attribute


def lines_of(error: BaseException, file: str) -> list[int]:
    """Return the lines of a file through which an error came, the innermost last."""
    frames = traceback.extract_tb(error.__traceback__)
    name = Path(file).name
    return [each.lineno or 0 for each in frames if Path(each.filename).name == name]


def fault(error: BaseException, file: str) -> str:
    """Say an error in one line, with the line of the file in which it was raised."""
    if isinstance(error, SyntaxError):
        return f"{Path(error.filename or file).name}, line {error.lineno}: {error.msg}"
    words = f"{type(error).__name__}: {error}".partition("\n")[0]
    lines = lines_of(error, file)
    return f"{Path(file).name}, line {lines[-1]}: {words}" if lines else words


def whose(name: str, engine: ContextEngine) -> str:
    """Say which layers of a named engine are its author's, and which the course's.

    >>> from agentlib.pipeline import LAYERS, stacked
    >>> whose("mine:compact", stacked(*LAYERS[:2]))
    "mine:compact runs clear (the course's), summarise (the course's)"
    """
    if not isinstance(engine, Stack):
        return f"{name} runs {called(engine)}, a function with no list of layers"
    owners = (f"{called(layer)} ({_owner(layer)})" for layer in engine.layers)
    return f"{name} runs {', '.join(owners)}"


def _owner(layer: object) -> str:
    is_ours = getattr(layer, "__module__", "").partition(".")[0] == "agentlib"
    return "the course's" if is_ours else "yours"


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
