"""What the API is told of the tools, and whether a call's inputs keep to it.

Plain data and one pure function. Not here: what the tools do (`tools`), and the loop's own tool
(`manual_compact`).
"""

from typing import Any, cast

Definition = dict[str, Any]


def _definition(name: str, description: str, *texts: str, **numbers: int) -> Definition:
    """`texts` are required strings, `numbers` optional integers with the least each may be."""
    properties: dict[str, Any] = {text: {"type": "string"} for text in texts}
    properties |= {n: {"type": "integer", "minimum": least} for n, least in numbers.items()}
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": list(texts)}
    closed = schema | {"additionalProperties": False}
    return {"name": name, "description": description, "input_schema": closed}


_BASH = """Run a bash command in /workspace. Its output and its errors come back together, and \
its exit code where that is not 0. What it leaves running is stopped."""
_READ = "Read a text file. The first `offset` lines are skipped, at most `limit` come back."
_WRITE = "Write a whole file; missing folders are made."
_EDIT = "Replace old_text by new_text. old_text must stand in the file exactly once."
_RECALL = "Get back, by its tool_use_id, a tool result that was cleared from the conversation."

DEFINITIONS = (
    _definition("bash", _BASH, "command"),
    _definition("read_file", _READ, "path", offset=0, limit=1),
    _definition("write_file", _WRITE, "path", "content"),
    _definition("edit_file", _EDIT, "path", "old_text", "new_text"),
    _definition("recall", _RECALL, "tool_use_id"),
)
"""Every tool, always in this order: the prompt cache wants it so."""


def problem(definition: Definition, inputs: object) -> str | None:
    """What is wrong with a call's inputs, or None; null stands for an optional input left out.

    >>> problem(DEFINITIONS[1], {"path": "a.py", "offset": -1})
    'offset must be a whole number from 0 on, not -1'
    """
    schema = definition["input_schema"]
    properties = schema["properties"]
    if not isinstance(inputs, dict):
        return f"the input must be an object with {', '.join(properties)}, not {inputs!r:.80}"
    given = cast(dict[str, Any], inputs)
    for name in given:
        if name not in properties:
            return f"there is no input {name!r:.80}; there are {', '.join(properties)}"
    for name, rule in properties.items():
        value = given.get(name)
        if value is None and name in schema["required"]:
            return f"{name} is missing; it must be {_expected(rule)}"
        if value is not None and not _accepts(rule, value):
            return f"{name} must be {_expected(rule)}, not {value!r:.80}"
    return None


def _accepts(rule: dict[str, Any], value: object) -> bool:
    if rule["type"] == "string":
        return isinstance(value, str) and _is_plain(value)
    # To Python True is 1, to JSON it is no number.
    return isinstance(value, int) and not isinstance(value, bool) and value >= rule["minimum"]


def _expected(rule: dict[str, Any]) -> str:
    if rule["type"] == "string":
        return "a string of Unicode characters without NUL"
    return f"a whole number from {rule['minimum']} on"


def _is_plain(text: str) -> bool:
    """Whether a file, a path or a command can hold it: half of a surrogate pair has no bytes."""
    return "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)
