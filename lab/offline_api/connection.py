"""Choose between offline and live: the one place of the lessons that does.

`client()` is the real SDK in front of the offline API: no key, no environment, no
network. `client(live=True, max_usd=0.50)` is `agentlib.api.live.live_client`: the same SDK
in front of a real API, which says its price first.
"""

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2

from agentlib.api.live import COURSE, live_client
from offline_api.faults import Fault
from offline_api.model import HABITS, Habits, reply
from offline_api.server import Model, Server

if TYPE_CHECKING:
    import anthropic

_log = logging.getLogger(__name__)


def client(
    live: bool = False,
    *,
    window: int = 200_000,
    max_usd: float | None = None,
    env: Path | str | None = COURSE,
    faults: Sequence[Fault] = (),
    clock: Callable[[], float] = time.time,
    habits: Habits = HABITS,
    model: Model | None = None,
    say: Callable[[str], object] = _log.warning,
    warn: Callable[[str], object] = _log.warning,
) -> "anthropic.Anthropic":
    """Return an `anthropic.Anthropic`, offline by default.

    Offline: a `window` in tokens, `faults` on request, `clock` in seconds for the
    cache, the offline model's `habits`, and `model`, a function from a request's body
    to a reply that takes the offline model's place. Nothing is spent, so `max_usd` has
    no effect.

    Live, `env`, `max_usd`, `say` and `warn` are those of `agentlib.api.live.live_client`.
    """
    if live:
        return live_client(env, max_usd=max_usd, say=say, warn=warn)
    model = model or partial(reply, habits=habits)
    return _offline(Server(model, window=window, faults=faults, clock=clock))


def _offline(server: Server) -> "anthropic.Anthropic":
    import anthropic

    return anthropic.Anthropic(
        api_key="offline",
        base_url="http://offline.invalid",
        # The SDK reads ANTHROPIC_CUSTOM_HEADERS; a key in there must not count.
        default_headers={"Authorization": "Bearer offline"},
        http_client=httpx2.Client(transport=server.transport(), trust_env=False),
        open_telemetry=False,
    )
