"""Take a learner's function out of its notebook: its source, and the imports it needs.

A function can stand in a file of its own if its names come from somewhere that can be
imported: Python, its standard library, or `agentlib`.
"""

import ast
import builtins
import functools
import inspect
import io
import re
import symtable
import sys
import textwrap
import tokenize
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import agentlib


class CannotStand(ValueError):
    """A function can't stand in a file of its own. The text says why, by name."""


@dataclass(frozen=True)
class PartSource:
    """A function as it can stand in a file."""

    text: str
    """Its `def`, under the name that the file has for it."""
    imports: Mapping[str, str]
    """The import statement for each name that it takes from elsewhere."""


def source_of(
    function: Callable[..., Any], name: str, known: frozenset[str] = frozenset()
) -> PartSource:
    """Return a function's source under `name`, with the imports that it needs.

    `known` are the names that the file has already, such as those of its other parts.
    Raises CannotStand if the function needs something that can't be imported.
    """
    text = _plain_definition(function)
    own_name = function.__name__
    imports: dict[str, str] = {}
    for needed in names_used(text):
        if needed in known or needed in (name, own_name) or hasattr(builtins, needed):
            continue
        if needed not in function.__globals__:
            raise CannotStand(f"it uses `{needed}`, which is not defined")
        imports[needed] = _import_of(needed, function.__globals__[needed])
    return PartSource(_renamed(text, own_name, name), imports)


def _plain_definition(function: Any) -> str:
    """Return the source of a plain function. Raises CannotStand for any other thing."""
    if isinstance(function, functools.partial):
        raise CannotStand("it is a `partial`; write the function with def")
    if not isinstance(function, types.FunctionType):
        raise CannotStand(
            f"it is an object of the class `{type(function).__name__}`; "
            "write a function with def"
        )
    if function.__name__ == "<lambda>":
        raise CannotStand("it is a `lambda`; write the function with def")
    if function.__code__.co_freevars:
        around = function.__code__.co_freevars[0]
        raise CannotStand(f"it uses `{around}` of the function around it")
    try:
        text = textwrap.dedent(inspect.getsource(function))
        [definition] = ast.parse(text).body
    except (OSError, TypeError, SyntaxError, ValueError):
        raise CannotStand(
            "its source can't be found; a cell that begins with `%%` hides it"
        ) from None
    if not isinstance(definition, ast.FunctionDef):
        raise CannotStand("its source isn't a single `def`")
    if definition.decorator_list:
        decorator = ast.unparse(definition.decorator_list[0])
        raise CannotStand(f"it has the decorator `@{decorator}`")
    return text.rstrip() + "\n"


def names_used(text: str) -> list[str]:
    """List the global names that some code reads, in alphabetical order.

    Of code that Python can't read, list all words.

    >>> names_used("def f(x, y=None):\\n    return [len(z) + N for z in x]")
    ['N', 'len']
    """
    try:
        table = symtable.symtable(text, "<part>", "exec")
    except SyntaxError:  # a slip; then any word may be one
        return sorted({*re.findall(r"[^\W\d]\w*", text)})
    return sorted(_globals_read(table))


def _globals_read(table: symtable.SymbolTable) -> Iterator[str]:
    is_module = table.get_type() == "module"
    for symbol in table.get_symbols():
        is_own = is_module and symbol.is_assigned()
        if symbol.is_referenced() and (is_module or symbol.is_global()) and not is_own:
            yield symbol.get_name()
    for child in table.get_children():
        yield from _globals_read(child)


def _import_of(name: str, value: Any) -> str:
    """Return the statement that imports a value under this name."""
    if isinstance(value, types.ModuleType):
        return _import_of_module(name, value.__name__)
    module = getattr(value, "__module__", None)
    original = getattr(value, "__name__", name)
    if isinstance(module, str) and _may_be_imported(module):
        place = sys.modules.get(module)
        if getattr(place, original, None) is value:
            return _from(module, original, name)
    for candidate in _modules_of_agentlib():
        if getattr(candidate, name, None) is value:
            return _from(candidate.__name__, name, name)
    raise CannotStand(
        f"it uses `{name}`, which only this notebook has; put it into the function"
    )


def _import_of_module(name: str, module: str) -> str:
    if not _may_be_imported(module):
        raise CannotStand(
            f"it uses `{name}`, the module {module}, which is the course's"
        )
    package, _, last = module.rpartition(".")
    if package:
        return _from(package, last, name)
    return f"import {module}" + (f" as {name}" if name != module else "")


def _from(module: str, original: str, name: str) -> str:
    alias = f" as {name}" if name != original else ""
    return f"from {module} import {original}{alias}"


def _may_be_imported(module: str) -> bool:
    root = module.partition(".")[0]
    return root == "agentlib" or (
        root in sys.stdlib_module_names and root != "__main__"
    )


@functools.cache
def _modules_of_agentlib() -> tuple[types.ModuleType, ...]:
    """Import the modules of the agent, without terminal and adapters."""
    names = sorted(
        module.name
        for module in iter_modules(agentlib.__path__, "agentlib.")
        if not module.ispkg and not module.name.endswith("__main__")
    )
    return tuple(import_module(name) for name in names)


def _renamed(text: str, old: str, new: str) -> str:
    """Give a function another name, also where it calls itself."""
    if old == new:
        return text
    lines = text.splitlines(keepends=True)
    places: list[tuple[int, int]] = []
    previous = ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and token.string == old and previous != ".":
            places.append((token.start[0] - 1, token.start[1]))
        previous = token.string
    for row, column in reversed(places):
        line = lines[row]
        lines[row] = line[:column] + new + line[column + len(old) :]
    return "".join(lines)
