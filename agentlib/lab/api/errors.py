"""An error response of the offline API, raised when a request breaks a rule or a fault strikes."""

from collections.abc import Mapping
from typing import Any


class Refusal(Exception):
    """An error response: HTTP status, type, message and details of the error, its own headers."""

    details: Mapping[str, Any] | None = None

    def __init__(
        self, status: int, type: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.type, self.message = status, type, message
        self.headers = headers or {}


def invalid(message: str) -> Refusal:
    """Return a 400 invalid_request_error, the kind of nearly every refusal."""
    return Refusal(400, "invalid_request_error", message)


def too_long(tokens: int, window: int) -> Refusal:
    """Return the refusal of a prompt that is larger than the window."""
    return invalid(f"prompt is too long: {tokens} tokens > {window} maximum")
