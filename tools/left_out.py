"""Leave parts of the `anthropic` SDK out of the web page's Python.

More than two thousand of the SDK's modules describe endpoints that no lesson calls, and
the SDK imports them at its start. In the page an empty module stands in for each of these
packages, and gives an empty class for any name. So the import takes a fraction of its
time, and the wheel a fraction of its bytes. What the agent uses is the SDK's own.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGES = (
    "anthropic.lib.aws",
    "anthropic.lib.bedrock",
    "anthropic.lib.environments",
    "anthropic.lib.foundry",
    "anthropic.lib.google_cloud",
    "anthropic.lib.sessions",
    "anthropic.lib.threads",
    "anthropic.lib.tools",
    "anthropic.lib.vertex",
    "anthropic.resources.beta",
    "anthropic.resources.organization",
    "anthropic.types.beta",
    "anthropic.types.organization",
)


def is_left_out(name: str) -> bool:
    """Tell whether a module is one of the `PACKAGES`, or in one."""
    return any(name == each or name.startswith(f"{each}.") for each in PACKAGES)


class Nothing:
    """Stands for a class of a package that is left out: a type that fits anything."""

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> dict[str, str]:
        return {"type": "any"}


class StandIn(ModuleType):
    """An empty module that gives a class for any name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (Nothing,), {"__module__": self.__name__})
        setattr(self, name, made)
        return made


class Finder:
    """Finds a stand-in for what is left out, and nothing else."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if is_left_out(name) else None  # pyright: ignore[reportArgumentType]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Leave it empty."""


def install() -> None:
    """Leave the packages out of every import from now on."""
    sys.meta_path.insert(0, Finder())  # pyright: ignore[reportArgumentType]
