"""An error response of the offline API, raised when a request breaks a rule or a fault
strikes."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TABLE: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("rules.toml").read_text(encoding="utf-8")
)
WORDINGS: Mapping[str, str] = TABLE["wordings"]
"""The API's longer sentences. `{}` stands for a value."""


class Refusal(Exception):
    """An error response: HTTP status, type, message and details of the error, its own
    headers."""

    details: Mapping[str, Any] | None = None

    def __init__(
        self,
        status: int,
        type: str,
        message: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.type = type
        self.message = message
        self.headers = headers or {}


def invalid(message: str) -> Refusal:
    """Return a 400 invalid_request_error, the kind of nearly every refusal."""
    return Refusal(400, "invalid_request_error", message)


def too_long(tokens: int, window: int) -> Refusal:
    """Return the refusal of a prompt that is larger than the window."""
    return invalid(f"prompt is too long: {tokens} tokens > {window} maximum")
