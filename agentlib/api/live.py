"""The real SDK in front of a real API: key, address, model and price from one source.

A live client takes the key, the address, the model's id and price from one source, so
that a key is never sent to an address from elsewhere. The source is a `.env` file if it
holds a key, or else the environment. The file is one that you name, or the course's own.
A `.env` in the working directory or in the agent's workspace is not read, because it may
be somebody else's.
"""

import logging
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentlib.api.spending import (
    RETRIES,
    Cap,
    LiveError,
    NoPrice,
    guard,
    own_price,
    price_list,
    rates,
)
from agentlib.settings import MODEL

if TYPE_CHECKING:
    import anthropic

_log = logging.getLogger(__name__)
API = "https://api.anthropic.com"
COURSE = Path(__file__).parents[2] / ".env"
"""The `.env` in the course's repository. A notebook uses it if it holds a key."""
NO_KEY = (
    "There is no API key: set ANTHROPIC_API_KEY in the environment, or name a file that sets it "
    "(--env FILE in the terminal, client(env=FILE) in Python), or stay offline (live=False)."
)


def model_id(live: bool = False, *, env: Path | str | None = COURSE) -> str:
    """Return the id of the model: offline settings.MODEL, live MODEL_ID if that is set.

    `env` is that of `client`.
    """
    return (_source(env).get("MODEL_ID") if live else None) or MODEL


def served_window(env: Path | str | None = COURSE) -> int | None:
    """Return the window that an endpoint of your own states in its list of models, None
    if none.

    llama.cpp's server calls it `n_ctx`, vLLM `max_model_len`. Anthropic's own API isn't
    asked. The smallest counts if there are several models. `env` is that of `client`.
    """
    values = _source(env)
    base = values.get("ANTHROPIC_BASE_URL", API)
    key = values.get("ANTHROPIC_API_KEY", "")
    if _address(values) == API:
        return None
    import httpx2

    from agentlib.api.bounded import BOUNDED

    try:
        url = f"{base.rstrip('/')}/v1/models"
        headers = {"x-api-key": key}
        with httpx2.Client(timeout=2, **BOUNDED) as web:
            models = web.get(url, headers=headers).json()["data"]
        sizes = [m.get("max_model_len") or m["meta"]["n_ctx"] for m in models]
    except Exception:
        # Most endpoints have no such list, and whatever they send, the run goes on.
        return None
    return min(
        (size for size in sizes if type(size) is int and size >= 1_000), default=None
    )


def destination(env: Path | str | None = COURSE) -> str:
    """Return a sentence with the address that live requests go to, "" for Anthropic's
    own.

    A user name and a password in the address are left out. `env` is that of `client`.
    """
    address = _address(_source(env))
    return "" if address == API else f"Requests go to {address}. "


def price_notice(
    model: str, max_usd: float | None = None, price: str | None = None
) -> str:
    """Return two sentences with the prices and the cap of a live run, to be shown
    before it.

    `price` is a price of one's own, as in `live_notice`. Raises NoPrice for a model
    without a price.

    >>> price_notice("claude-opus-5-5", 0.5)[:61]
    'claude-opus-5-5: $4.00 in, $20.00 out, $0.20 from the cache ('
    """
    rate = rates(model, price=price)
    long = rates(model, 10**9, price)
    factor = long["input"] / (rate["input"] or 1)
    more = f", {factor:g} times that for long prompts" if factor > 1 else ""
    cap = "There is no cap."
    if max_usd is not None:
        shown = f"{max_usd:.2f}" if max_usd >= 0.01 else f"{max_usd:g}"
        cap = f"The run stops once ${shown} are spent."
    source = (
        "your own price"
        if rate.get("own")
        else f"prices of {price_list()['collected']}"
    )
    return (
        f"{model}: ${rate['input']:.2f} in, ${rate['output']:.2f} out, ${rate['cache_read']:.2f} "
        f"from the cache (per million tokens{more}; {source}). {cap}"
    )


def live_notice(
    model: str,
    max_usd: float | None = None,
    price: str | None = None,
    *,
    env: Path | str | None = COURSE,
) -> str:
    """Return what to show before a live run: the address if it isn't Anthropic's,
    prices, the cap.

    `price`, or else MODEL_PRICE, is a price of one's own for the model: "IN,OUT" in
    dollars per million tokens, and "0,0" if the model runs on your own machine. It is
    only shown here. `take_price` lets it count. `env` is that of `client`. Raises
    ValueError for another text, and NoPrice if there is a cap and no price to hold it
    by.
    """
    price = price or _source(env).get("MODEL_PRICE")
    try:
        return destination(env) + price_notice(model, max_usd, price)
    except NoPrice as error:
        if max_usd is None:
            return f"{destination(env)}{error}; there is no cap"
        cures = (
            "name one with --price IN,OUT or MODEL_PRICE (0,0 if it is free), "
            "or go without a cap"
        )
        raise NoPrice(f"{error}; {cures}: --max-usd inf") from None


def take_price(
    model: str, price: str | None = None, *, env: Path | str | None = COURSE
) -> None:
    """Let this process hold its caps and make its bills by the price that `live_notice`
    shows for the same arguments."""
    if price := price or _source(env).get("MODEL_PRICE"):
        own_price(model, price)


def live_client(
    env: Path | str | None = COURSE,
    *,
    model: str | None = None,
    price: str | None = None,
    max_usd: float | None = None,
    cap: Cap | None = None,
    say: Callable[[str], object] = _log.warning,
    warn: Callable[[str], object] = _log.warning,
) -> "anthropic.Anthropic":
    """Return an `anthropic.Anthropic` that says its price and holds a cap.

    ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, MODEL_ID and MODEL_PRICE all come from the
    file `env` if it sets a key, or else all from the environment. None: from the
    environment. A file that you name has to set a key. ANTHROPIC_CUSTOM_HEADERS is the
    environment's, so it counts only with a key from there. Redirects are not followed.

    `model` is the one that you mean to ask if it isn't MODEL_ID, and `price` its price
    if that isn't MODEL_PRICE. From here on this process bills the model at that price,
    if the course's list has none. For a further model, call `take_price`.

    `say` gets the address, if it is not Anthropic's, and the price before anything is
    sent. After the request that reached `max_usd` the next one raises
    spending.CapReached. `cap` is one of your own in its place, which says what is spent,
    and may have spent some before. If the API is overloaded, a request is tried for one to three
    minutes, and `warn` gets a line before each wait. Raises LiveError if there is no
    key, a wrong key or no network.
    """
    if cap:
        max_usd = cap.max_usd
    elif max_usd is not None:
        cap = Cap(max_usd)
    api = _guarded(_source(env), cap, warn)
    model = model or model_id(live=True, env=env)
    take_price(model, price, env=env)
    try:
        say(live_notice(model, max_usd, price, env=env))
    except NoPrice as error:  # the guard refuses this model; another may be asked
        say(f"{destination(env)}{error}")
    return api


def _guarded(
    values: Mapping[str, str], cap: Cap | None, warn: Callable[[str], object]
) -> "anthropic.Anthropic":
    import anthropic

    from agentlib.api.bounded import BOUNDED
    from agentlib.api.gate import gate

    base = values.get("ANTHROPIC_BASE_URL")
    key = values.get("ANTHROPIC_API_KEY")
    # A token of another tool belongs to the first party; never send it to another
    # endpoint.
    token = None if base or key else values.get("ANTHROPIC_AUTH_TOKEN")
    if not (key or token):
        raise LiveError(NO_KEY)
    if not re.fullmatch(r"[!-~]+", key or token or ""):
        raise LiveError(
            "The API key holds a blank or a sign that no key has: copy it once more."
        )
    address = _address(values)
    web = anthropic.DefaultHttpxClient(follow_redirects=False, **BOUNDED)
    web.event_hooks = {**web.event_hooks, "request": [gate(address, cap)]}
    return anthropic.Anthropic(
        api_key=key,
        auth_token=token,
        base_url=base or API,
        default_headers=_headers(values, key, base),
        # A redirect to another host would take that header along.
        http_client=web,
        middleware=[guard(address, cap, warn)],
        max_retries=RETRIES,
    )


def _headers(
    values: Mapping[str, str], key: str | None, base: str | None
) -> dict[str, Any]:
    """Return the headers of each request, if they aren't the SDK's.

    The SDK sends a bearer token to a named endpoint, and many want `x-api-key` instead.
    It adds ANTHROPIC_CUSTOM_HEADERS of the environment, which may hold another
    endpoint's key. So they are left out if key and address come from a file.
    """
    import anthropic

    own = {"x-api-key": key} if base and key else {}
    custom = os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").strip()
    if not key or values.get("ANTHROPIC_CUSTOM_HEADERS", "") == custom:
        return own
    names = [line.partition(":")[0].strip().lower() for line in custom.split("\n")]
    left_out = dict.fromkeys(names, anthropic.Omit())
    bearer = f"Bearer {key}" if base else anthropic.Omit()
    return {**left_out, "x-api-key": key, "authorization": bearer}


def _source(env: Path | str | None) -> dict[str, str]:
    """Return the variables of the one source: the file `env` if it sets a key, or the
    environment.

    Raises LiveError if a file other than the course's sets no key.
    """
    if env and Path(env).is_file():
        from dotenv import dotenv_values

        # A reference such as ${NAME} would mix the environment in.
        values = _filled(dotenv_values(env, interpolate=False))
        if "ANTHROPIC_API_KEY" in values:
            return values
    if env not in (None, COURSE):
        raise LiveError(
            f"{env} is not a file that sets ANTHROPIC_API_KEY: add it, or name another."
        )
    return _filled(os.environ)


def _address(values: Mapping[str, str]) -> str:
    """Return scheme, host and port of the address, without the user and the password in
    it."""
    import httpx2

    base = values.get("ANTHROPIC_BASE_URL", API)
    try:
        url = httpx2.URL(base)
    except httpx2.InvalidURL as error:
        raise LiveError(f"ANTHROPIC_BASE_URL is not an address: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        begin = base.rpartition("@")[2]  # without a password
        raise LiveError(
            f"ANTHROPIC_BASE_URL={begin!r:.80} is not an address: begin with https:// or http://"
        )
    return f"{url.scheme}://{url.netloc.decode()}"


def _filled(values: Mapping[str, str | None]) -> dict[str, str]:
    """Return the values that are not empty, without the blanks that a pasted key brings
    along."""
    return {
        name: value.strip() for name, value in values.items() if value and value.strip()
    }
