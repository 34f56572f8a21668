"""The one place where offline or live is chosen.

`client()` is the real SDK in front of the offline model: no key, no environment, no network.
`client(live=True, max_usd=0.50)` is the same SDK in front of a real one. Nothing else in the
project differs between the two, but that the live one says its price first. Not here: what the
offline model does (offline, policy).
"""

import logging
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2

from agentlib.lab.api.faults import Fault
from agentlib.lab.api.server import Model, Server
from agentlib.lab.metering import LiveError, guard
from agentlib.lab.model import reply
from agentlib.lab.spending import Cap, price_list, rates
from agentlib.settings import MODEL

if TYPE_CHECKING:
    import anthropic

_log = logging.getLogger(__name__)
API = "https://api.anthropic.com"
NO_KEY = (
    "There is no API key: set ANTHROPIC_API_KEY in the environment or in a .env file in the "
    "working directory, or stay offline (live=False)."
)


def model_id(live: bool = False) -> str:
    """The model that will be asked: offline settings.MODEL, live MODEL_ID where it is set."""
    return (_environment().get("MODEL_ID") if live else None) or MODEL


def price_notice(model: str, max_usd: float | None = None) -> str:
    """What a live run is charged, to be shown before it. ValueError where no price is known.

    >>> price_notice("claude-opus-5-5", 0.5)[:61]
    'claude-opus-5-5: $4.00 in, $20.00 out, $0.20 from the cache ('
    """
    rate, long = rates(model), rates(model, 10**9)
    times = long["input"] / rate["input"]
    more = f", {times:g} times that for long prompts" if times > 1 else ""
    cap = "There is no cap."
    if max_usd is not None:
        shown = f"{max_usd:.2f}" if max_usd >= 0.01 else f"{max_usd:g}"
        cap = f"The run stops once ${shown} are spent."
    return (
        f"{model}: ${rate['input']:.2f} in, ${rate['output']:.2f} out, ${rate['cache_read']:.2f} "
        f"from the cache (per million tokens{more}; prices of {price_list()['collected']}). {cap}"
    )


def client(
    live: bool = False,
    *,
    window: int = 200_000,
    max_usd: float | None = None,
    faults: Sequence[Fault] = (),
    clock: Callable[[], float] = time.time,
    model: Model | None = None,
    say: Callable[[str], object] = _log.warning,
) -> "anthropic.Anthropic":
    """An `anthropic.Anthropic`, offline by default.

    Offline: a `window` in tokens, `faults` on request, `clock` in seconds for the cache, `model`
    in place of the course's own; nothing is spent, so `max_usd` means nothing. Live:
    ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL and MODEL_ID from the environment or a `.env` in the
    working directory. The price goes to `say` before anything is sent; after the request that
    reached `max_usd` the next one is refused with cost.CapReached. LiveError says what is missing:
    a key, the right key, a network.
    """
    if live:
        made = _live(max_usd)
        say(_priced(model_id(live), max_usd))
        return made
    return _offline(Server(model or reply, window=window, faults=faults, clock=clock))


def _priced(model: str, max_usd: float | None) -> str:
    """`price_notice`, or that there is no price: the first answer decides then (lab.metering)."""
    try:
        return price_notice(model, max_usd)
    except ValueError as unknown:
        return str(unknown)


def _offline(server: Server) -> "anthropic.Anthropic":
    import anthropic

    return anthropic.Anthropic(
        api_key="offline",
        base_url="http://offline.invalid",
        # ANTHROPIC_CUSTOM_HEADERS is read by the SDK; what it says of the key does not count here.
        default_headers={"Authorization": "Bearer offline"},
        http_client=httpx2.Client(transport=server.transport(), trust_env=False),
        open_telemetry=False,
    )


def _live(max_usd: float | None) -> "anthropic.Anthropic":
    import anthropic

    found = _environment()
    base, key = found.get("ANTHROPIC_BASE_URL"), found.get("ANTHROPIC_API_KEY")
    # A token from elsewhere belongs to the first party; it is not sent to another endpoint.
    token = None if base or key else found.get("ANTHROPIC_AUTH_TOKEN")
    if not (key or token):
        raise LiveError(NO_KEY)
    if not re.fullmatch(r"[!-~]+", key or token or ""):
        raise LiveError("The API key holds a blank or a sign that no key has: copy it once more.")
    headers = {"accept-encoding": "identity"}  # the cap reads a stream's bytes as they pass
    if base and key:
        headers["x-api-key"] = key  # the SDK sends a bearer token; many endpoints want this one
    return anthropic.Anthropic(
        api_key=key,
        auth_token=token,
        base_url=base or API,
        default_headers=headers,
        middleware=[guard(base or API, None if max_usd is None else Cap(max_usd))],
    )


def _environment() -> dict[str, str]:
    """What is set, in the environment or else in a .env in the working directory."""
    found: dict[str, str] = {}
    if Path(".env").is_file():
        try:
            from dotenv import dotenv_values
        except ImportError:
            raise LiveError("There is a .env here: install python-dotenv to read it.") from None
        try:
            found = _filled(dotenv_values(".env"))
        except UnicodeDecodeError:
            raise LiveError("The .env here is no text in UTF-8: save it as one.") from None
    return {**found, **_filled(os.environ)}


def _filled(found: Mapping[str, str | None]) -> dict[str, str]:
    """What is set to more than blanks, which a pasted key brings along."""
    return {name: value.strip() for name, value in found.items() if value and value.strip()}
