"""Mask keys and tokens in texts that live longer or travel further than the file they
stood in.

Those are summaries and what the terminal prints. The history keeps every text as it
was. The shapes are in `masks.toml`. A secret without a shape of its own, such as a
password, is only noticed behind an upper-case name that says what it is, as in
`DB_PASSWORD=`.
"""

import re
import tomllib
from pathlib import Path

_SHAPES: dict[str, str] = tomllib.loads(
    Path(__file__).with_name("masks.toml").read_text("utf-8")
)
_ANY = rf"(?<![\w-])(?:{'|'.join(_SHAPES.values())})"
"""Any of the shapes, so that one search tells a text without keys. Most texts have
none."""


def masked(text: str) -> str:
    """Put the kind of each key and token in its place.

    >>> masked("token = 'ghp_" + "a1" * 18 + "'")
    "token = '[masked: GitHub token]'"
    """
    for kind, shape in _SHAPES.items() if re.search(_ANY, text) else ():
        name = r"\g<name>" if "(?P<name>" in shape else ""
        text = re.sub(rf"(?<![\w-]){shape}", f"{name}[masked: {kind}]", text)
    return text
