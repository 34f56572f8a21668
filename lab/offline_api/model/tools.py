"""Know an agent's tools by what they are: by their inputs, and not by their names.

A tool that takes a command is a shell. One that takes a path reads, one that takes a
path and a content writes, one that takes a path, an old text and a new one edits, and
one that takes a pattern searches. Names and descriptions decide only between tools that
take the same. `hands_of` says which tool does which work, and a `Hand` translates calls
in both directions.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from shlex import join
from typing import Any, cast

from agentlib.messages import Block
from offline_api.model.places import wants_whole
from offline_api.model.prompts import TABLE

Body = Mapping[str, Any]
BY_NAME = ("compact", "recall", "outline", "submit", "final_answer")
"""Tools that nothing but their name tells."""
_TAKES = {
    "bash": ("command",),
    "read_file": ("path", "offset", "limit"),
    "write_file": ("path", "content"),
    "edit_file": ("path", "old_text", "new_text"),
    "glob": ("pattern", "path"),
    "grep": ("pattern", "path"),
}
"""The inputs of our tools."""
_INPUTS: Mapping[str, str] = {
    name: kind for kind, names in TABLE["inputs"].items() for name in names
}
_WORDS = {
    work: re.compile("|".join(words), re.IGNORECASE)
    for work, words in TABLE["works"].items()
}
"""Words in a tool's name, or in the values of an input, that tell its work."""
_OTHERWISE = re.compile("|".join(TABLE["other_works"]["phrases"]), re.IGNORECASE)
"""Words of tools that take the same inputs and do something else."""
_FROM_ONE = re.compile(
    r"\b(?:1|one)[- ](?:indexed|based)|(?:start|begin)\w* (?:at|from) 1\b"
)
_FREE_TEXT = re.compile("descri|expla|reason|purpose|summary|title|instruct|thought")
_FOLDER = re.compile("dir|cwd|folder|workspace|root")


@dataclass(frozen=True)
class Hand:
    """A tool of an agent's that does the work of one of ours."""

    name: str
    """Its name."""
    work: str
    """The name of our tool that does the same."""
    inputs: Mapping[str, str] = field(default_factory=dict[str, str])
    """Our inputs, and what it calls them."""
    fixed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What it must be told besides."""
    first: int = 0
    """The number that its offset gives to the first line."""
    form: str = ""
    """How it takes a command: "argv", "commands", or "" for plainly."""
    is_whole: bool = False
    """Whether it takes whole paths alone."""
    folder: str | None = None
    """The folder that our paths are below, None if nobody knows it."""

    def theirs(self, given: Body) -> Block:
        """Return the inputs of one of our calls as the tool takes them."""
        path = str(given.get("path") or "")
        if path and self.is_whole and self.folder is not None and path[0] != "/":
            given = {**given, "path": f"{self.folder}/{path}"}
        inputs = {self.inputs[k]: v for k, v in given.items() if k in self.inputs}
        if "offset" in given and "offset" in self.inputs:
            inputs[self.inputs["offset"]] = (given["offset"] or 0) + self.first
        if self.form == "argv":
            inputs[self.inputs["command"]] = ["bash", "-lc", given["command"]]
        if self.form == "commands":
            inputs[self.inputs["command"]] = [given["command"]]
        return {**self.fixed, **inputs}

    def ours(self, given: Body) -> Block:
        """Return the inputs of a call of the tool as ours. What ours lacks stays."""
        names = {theirs: own for own, theirs in self.inputs.items()}
        own = Block()
        for name, value in given.items():
            if name not in self.fixed:
                own[names.get(name, name)] = value
        if self.first and "offset" in own:
            own["offset"] = max(0, _number(own["offset"]) - self.first)
        match self.form, own:
            case "argv", {"command": [*words]}:
                own["command"] = words[-1] if len(words) == 3 else join(map(str, words))
            case "commands", {"command": [*lines]}:
                own["command"] = "\n".join(map(str, lines))
            case _:
                pass
        is_known = self.folder is not None
        if is_known and str(own.get("path")).startswith(f"{self.folder}/"):
            own["path"] = own["path"][len(self.folder or "") + 1 :]
        return own


def _number(value: object) -> int:
    """Return a number that a call holds, 0 for anything else."""
    return int(value) if isinstance(value, int | float) else 0


# -- which tool does which work --------------------------------------------------------


def hands_of(tools: Iterable[Body]) -> dict[str, Hand]:
    """Return the hands that an agent offers, by the names of our tools.

    >>> schema = {"properties": {"file_path": {}, "content": {}}}
    >>> hands_of([{"name": "Save", "input_schema": schema}])["write_file"].inputs
    {'path': 'file_path', 'content': 'content'}
    """
    return _hands_of(json.dumps([*tools]))


@lru_cache(maxsize=64)
def _hands_of(tools: str) -> dict[str, Hand]:
    best: dict[str, tuple[int, Hand]] = {}
    for tool in map(_plain, json.loads(tools)):
        for fit, hand in _possible(tool):
            if hand.work not in best or fit > best[hand.work][0]:
                best[hand.work] = (fit, hand)
    return {work: hand for work, (_, hand) in best.items()}


def _plain(tool: Body) -> Body:
    """Return a tool whose inputs have an object each as their schema: JSON Schema also
    takes a truth, which says nothing of an input."""
    schema: Body = tool.get("input_schema") or {}
    properties: Body = schema.get("properties") or {}
    plain: Body = {
        name: cast(Body, each) if isinstance(each, dict) else {}
        for name, each in properties.items()
    }
    return {**tool, "input_schema": {**schema, "properties": plain}}


def _possible(tool: Body) -> list[tuple[int, Hand]]:
    """Return the works that a tool may do, and how well it fits each."""
    name = tool["name"]
    if name in BY_NAME:
        return []
    schema: Body = tool.get("input_schema") or {}
    properties: Mapping[str, Any] = schema.get("properties") or {}
    if not properties:
        same = {own: own for own in _TAKES.get(name, ())}
        return [(0, Hand(name, name, same))] if same else []
    kinds = _kinds(properties)
    hands = [
        hand
        for work in _works(kinds, properties, f"{name} {tool.get('description', '')}")
        if (hand := _hand(work, tool, kinds))
    ]
    return [(_fit(hand, tool), hand) for hand in hands]


def _kinds(properties: Mapping[str, Any]) -> dict[str, str]:
    """Return the inputs of a tool by their kind, the first of each."""
    kinds: dict[str, str] = {}
    for name in properties:
        if kind := _INPUTS.get(re.sub("[^a-z]", "", name.lower())):
            kinds.setdefault(kind, name)
    return kinds


def _works(
    kinds: Mapping[str, str], properties: Mapping[str, Any], words: str
) -> list[str]:
    """Return the works that the inputs of a tool are enough for."""
    values: Sequence[Any] = (
        properties.get(kinds.get("command", ""), {}).get("enum") or ()
    )
    if values:  # an editor, whose command says what it does
        verbs = [
            work
            for work in ("read_file", "write_file", "edit_file")
            if any(_WORDS[work].search(str(value)) for value in values)
        ]
        return verbs if "path" in kinds else []
    if "command" in kinds:
        return ["bash"] if "path" not in kinds else []
    if {"path", "old_text", "new_text"} <= kinds.keys():
        return ["edit_file"]
    if kinds.keys() & {"edits", "patch"}:  # it edits in a form of its own
        return []
    if "pattern" in kinds:
        return ["glob" if _WORDS["glob"].search(words) else "grep"]
    if {"path", "content"} <= kinds.keys():
        return ["write_file"]
    return ["read_file"] if "path" in kinds and "old_text" not in kinds else []


def _hand(work: str, tool: Body, kinds: Mapping[str, str]) -> Hand | None:
    """Return a tool as a hand, None if it must be told what nobody can know."""
    name: str = tool["name"]
    schema: Body = tool["input_schema"]
    properties: Mapping[str, Any] = schema["properties"]
    inputs = {own: kinds[own] for own in _TAKES[work] if own in kinds}
    form = ""
    if work == "bash" and properties[kinds["command"]].get("type") == "array":
        form = "commands" if kinds["command"].lower().endswith("s") else "argv"
    fixed = _fixed(work, schema, {*inputs.values()})
    if fixed is None:
        return None
    first = (
        _first(properties[kinds["offset"]], kinds["offset"])
        if "offset" in inputs
        else 0
    )
    is_whole = "path" in inputs and wants_whole(tool, inputs["path"])
    return Hand(name, work, inputs, fixed, first, form, is_whole)


def _first(offset: Body, name: str) -> int:
    """Return the number that a tool gives to the first line: 0 unless it says 1."""
    told = str(offset.get("description", "")).lower()
    from_one = offset.get("minimum") == 1 or offset.get("default") == 1
    is_line = "line" in name.lower() or told.startswith(
        ("the line number", "line number")
    )
    from_zero = offset.get("minimum") == 0 or "0-" in told or "zero" in told
    return int(bool(_FROM_ONE.search(told)) or from_one or (is_line and not from_zero))


def _fixed(work: str, schema: Body, known: set[str]) -> Block | None:
    """Return values for what else a tool requires, None if one can't be known."""
    properties: Mapping[str, Any] = schema["properties"]
    fixed: Block = {}
    for name in properties:
        values: Sequence[Any] = properties[name].get("enum") or ()
        fitting = [value for value in values if _WORDS[work].search(str(value))]
        is_required = name in (schema.get("required") or ())
        if name in known or not (is_required or (fitting and work == "glob")):
            continue
        kind = properties[name].get("type")
        least: Block = {
            "boolean": False,
            "integer": 0,
            "number": 0,
            "array": list[str](),
        }
        if values:
            fixed[name] = (fitting or values)[0]
        elif kind in least:
            fixed[name] = properties[name].get("default", least[kind])
        elif _FREE_TEXT.search(name.lower()):
            fixed[name] = f"Use {work}"
        elif _FOLDER.search(name.lower()):
            fixed[name] = "."
        else:
            return None
    return fixed


def _fit(hand: Hand, tool: Body) -> int:
    """Return how well a tool fits a work. Below 0 it does something else."""
    name = str(tool["name"])
    told = str(tool.get("description", "")).split("\n")[0]
    same = 8 * (name == hand.work)
    named = 4 * bool(_WORDS[hand.work].search(name)) - 4 * bool(_OTHERWISE.search(name))
    pages = 2 * ("offset" in hand.inputs)
    return same + named + pages + bool(_WORDS[hand.work].search(told))
