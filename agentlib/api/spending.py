"""Turn usages into dollars, and hold a cap on what a live run may spend.

`prices.json` says when its prices were collected and from where. It has the models that
the lessons know, and `prices_of_others.json` has those that session files may name. A
model that is in neither has no price here, unless you name one with `own_price`. Fast
mode, service tiers, requests that stay in a region and web searches cost what the list
says of the model. `unpriced` names what a usage has and the list doesn't price.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from email.utils import mktime_tz, parsedate_tz
from functools import lru_cache
from importlib.resources import files
from typing import Any, cast
from urllib.parse import urlsplit

from agentlib.api.replies import MOST_TOKENS
from agentlib.estimation import prompt_tokens

MILLION = 1_000_000
PRICED_AS = "claude-opus-5-5"
"""The model at whose prices DEFAULT was chosen, and presets are compared."""
MOST_PRICE = 1_000_000
"""Most dollars per million tokens that a price of one's own can name."""
PATIENCE = 60.0
RETRIES = 10
"""Most seconds that an endpoint may have a request wait in all, if it asks for the same
wait each time, and most tries after the first.

The SDK's own waits begin at half a second, double up to eight, and are some 50 seconds
together.
"""
GATEWAY = (502, 504, 520, 524)
"""Codes with which a gateway says that the API behind it took a request, and no usable
reply came in time."""
Usage = Mapping[str, Any]
_KINDS = ("input", "cache_write_5m", "cache_write_1h", "cache_read")
_HOUR_TO_SHORT = 1.6
"""Writing to the cache for an hour costs so many times writing for five minutes: twice
the prompt, in place of 1.25 times."""
_own: dict[str, dict[str, Any]] = {}
"""Prices that a person named for this process, by model."""


class CapReached(RuntimeError):
    """The dollars allowed are spent. Nothing more is sent."""


class LiveError(RuntimeError):
    """The reason why a live run can't go on, in one sentence for the person who started
    it."""


class NotSent(LiveError):
    """A request was held back before it left."""


class NoPrice(ValueError):
    """The model has no price, neither in the file nor of one's own."""


@lru_cache(maxsize=1)
def price_list() -> dict[str, Any]:
    """Return the whole file: `collected` (a date), `currency`, `sources`, `models`."""
    return json.loads(
        (files("agentlib.api") / "prices.json").read_text(encoding="utf-8")
    )


@lru_cache(maxsize=1)
def _other_models() -> dict[str, Any]:
    """Return the rows of the models that no lesson needs. It has thousands."""
    path = files("agentlib.api") / "prices_of_others.json"
    return json.loads(path.read_text(encoding="utf-8"))["models"]


def own_price(model: str, price: str, *, instead: bool = False) -> None:
    """Take "IN,OUT" or "IN,OUT,READ,WRITE" as the price of a model in this process, in
    dollars per million tokens.

    A model that the file names keeps the file's price, or offline bills would change,
    unless this one is to count `instead`. Without READ and WRITE the prompt cache costs
    what the prompt costs. WRITE is for five minutes; an hour costs 1.6 times as much,
    as in the file. Raises ValueError for another text.

    >>> own_price("tiny", "0.5, 2")
    >>> dollars({"input_tokens": 1_000_000, "output_tokens": 1_000_000}, "tiny")
    2.5
    """
    _own[model] = {**_own_facts(price), "instead": instead}


def _own_facts(price: str) -> dict[str, Any]:
    """Read "IN,OUT" or "IN,OUT,READ,WRITE" as the facts of a model."""
    amounts = price.split(",")
    if len(amounts) not in (2, 3, 4) or not all(
        re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*", n) for n in amounts
    ):
        raise ValueError(
            f"price={price!r}; write IN,OUT in dollars per million tokens, such as 0,0, "
            "or IN,OUT,READ,WRITE"
        )
    if high := [n.strip() for n in amounts if float(n) > MOST_PRICE]:
        raise ValueError(
            f"price has {high[0]:.20}; a million tokens cost at most ${MOST_PRICE:,}"
        )
    given, output, *cached = map(float, amounts)
    own = {**dict.fromkeys(_KINDS, given), "output": output, "own": True}
    own |= dict(zip(("cache_read", "cache_write_5m"), cached, strict=False))
    if len(cached) == 2:
        own["cache_write_1h"] = _HOUR_TO_SHORT * cached[1]
    return own


@contextmanager
def own_prices(prices: Iterable[tuple[str, str]]) -> Generator[None]:
    """Let prices of one's own count, in place of the file's, for as long as the block
    runs: a model and its price as `own_price` takes it."""
    before = dict(_own)
    try:
        for model, price in prices:
            own_price(model, price, instead=True)
        yield
    finally:
        _own.clear()
        _own.update(before)


def listed_name(model: str) -> str:
    """Return a model's name as the file writes it, from the name of another service.

    Bedrock, Vertex and gateways put a region, an owner, a date or a version around the
    name. A name that has anything else stays another name.

    >>> listed_name("us.anthropic.claude-opus-4-5-20251101-v1:0")
    'claude-opus-4-5'
    >>> listed_name("openrouter/anthropic/claude-opus-4.5"), listed_name("claude-4.5-opus")
    ('claude-opus-4-5', 'claude-opus-4-5')
    """
    name = _OWNERS.sub("", model.strip().lower())
    name = _ENDINGS.sub("", name).replace(".", "-")
    if turned := re.fullmatch(r"claude-(\d+(?:-\d+)?)-([a-z]+)", name):
        name = f"claude-{turned[2]}-{turned[1]}"
    return name


_OWNERS = re.compile(
    r"^(?:.*/)?(?:[a-z-]{2,7}\.)?(?:anthropic(?:\.|--)|databricks-)?(?=claude-)"
)
"""What stands before a model's name: a path, a region, the owner."""
_EFFORT = "(?:-(?:minimal|low|medium|high|xhigh|max))?"
_ENDINGS = re.compile(
    r"(?:-thinking)?(?:@default|[@-]latest|[@-]20\d{6})?(?:-v\d+)?(?::[a-z0-9]+)*"
    rf"(?:-thinking)?{_EFFORT}(?:\[\d+[km]\])?$"
)
"""What stands behind it: a date, a version, the effort, how much of the window is
used."""
_DATES = re.compile(
    r"(?:[@-]latest|[@-]20\d{2}-?\d{2}-?\d{2}|@default)?"
    rf"(?::(?:thinking|extended|exacto|nitro|\d+k?))?{_EFFORT}(?:\[\d+[km]\])?$"
)
"""What stands behind the name of another model. A size, as in "qwen3:30b", is a part of
the name of a local model."""
_LOCAL = re.compile(r"^(?:ollama\w*|lmstudio|lm_studio|llama\.?cpp|vllm|local)/")
_REGIONAL = re.compile(r"(?:^|/)(?:us|eu|au|jp|apac|ca)\.anthropic\.")
"""Begins a model's name on an endpoint of Bedrock that stays in a region."""


def lookups(model: str) -> Iterator[str]:
    """Yield the names by which a model may be listed, the most exact first.

    Gateways put providers before a name, and programs put a date or an effort behind
    it. A local model has the name of a listed one by chance.

    >>> [*lookups("openai/gpt-5.6-2026-05-01")]
    ['openai/gpt-5.6-2026-05-01', 'openai/gpt-5.6', 'gpt-5.6-2026-05-01', 'gpt-5.6']
    """
    name = model.strip().lower()
    while name and not _LOCAL.match(name):
        yield name
        if (short := _DATES.sub("", name)) != name:
            yield short
        _, mark, rest = name.partition("/")
        if not mark:
            break
        name = rest
    if "claude" in name:
        yield listed_name(model)


def model_facts(model: str, price: str | None = None) -> dict[str, Any]:
    """Return prices (USD per million tokens) and sizes of a model.

    A name with a date, or of another service, finds its model by `listed_name`. A price
    of one's own counts if the file has none. That is `price`, as `own_price` takes it,
    or else the one that `own_price` has taken. Raises NoPrice, which is a ValueError.
    """
    models = price_list()["models"]
    own = _own_facts(price) if price else _own.get(model)
    if own and own.get("instead"):
        return own
    facts = models.get(model) or models.get(listed_name(model)) or own
    if facts is None:
        facts = _other(model)
    if facts is None:
        raise NoPrice(f"no price is known for the model {model!r}")
    return facts


@lru_cache(maxsize=256)
def _other(model: str) -> dict[str, Any] | None:
    return next((row for n in lookups(model) if (row := _other_models().get(n))), None)


def rates(
    model: str, prompt_tokens: int = 0, price: str | None = None
) -> dict[str, float]:
    """Return USD per million tokens by kind, for a request with a prompt of so many
    tokens.

    If the model has a tier for long prompts, its rates hold for the whole request.
    `price` is that of `model_facts`.
    """
    facts = model_facts(model, price)
    tier = facts.get("long_prompt")
    return tier if tier and prompt_tokens > tier["above"] else facts


def priced(usage: Usage, model: str) -> dict[str, tuple[int, float]]:
    """Return tokens and USD of one response by how they are billed.

    The kinds are `read` from the cache, `written` to it, `uncached`, and `answers`.
    Missing and null counts are 0. `usage["cache_creation"]` says how many of the tokens
    written to the cache live an hour, and those cost more. If there were web searches,
    `searches` has their price, and 0 tokens.
    """
    rate = rates(model, prompt_tokens(usage))
    facts = model_facts(model)
    split: Usage = usage.get("cache_creation") or {}
    read = usage.get("cache_read_input_tokens") or 0
    written = usage.get("cache_creation_input_tokens") or 0
    # Some programs split another number than they sum up.
    hour = min(split.get("ephemeral_1h_input_tokens") or 0, written)
    uncached, answers = (
        usage.get(name) or 0 for name in ("input_tokens", "output_tokens")
    )
    rate = _at_tier(rate, facts.get(service_tier(usage), 1))
    times = _surcharge(usage, facts, model) / MILLION
    writing = rate["cache_write_5m"] * (written - hour) + rate["cache_write_1h"] * hour
    bill = {
        "read": (read, rate["cache_read"] * read * times),
        "written": (written, writing * times),
        "uncached": (uncached, rate["input"] * uncached * times),
        "answers": (answers, rate["output"] * answers * times),
    }
    searches = _searches(usage)
    if searches and "web_search" in facts:
        bill["searches"] = (0, searches * facts["web_search"])
    return bill


def service_tier(usage: Usage) -> str:
    """Name the service tier of a response, "" for the usual one.

    Codex calls its fast mode, which is the tier "priority", "fast".
    """
    tier = str(usage.get("service_tier") or "").lower()
    usual = ("standard", "default", "auto", "standard_only")
    return "" if tier in usual else {"fast": "priority"}.get(tier, tier)


def _at_tier(rate: Mapping[str, float], times: Any) -> Mapping[str, float]:
    """Return the rates of a service tier that costs so many times as much. `times`: one
    number, or one for each kind of tokens."""
    if times == 1:
        return rate
    kinds = (*_KINDS, "output")
    is_one = isinstance(times, int | float)
    each: Mapping[str, float] = dict.fromkeys(kinds, times) if is_one else times
    return {kind: rate[kind] * each.get(kind, each["input"]) for kind in kinds}


def _surcharge(usage: Usage, facts: Mapping[str, Any], model: str) -> float:
    """Return how many times the list price a response costs."""
    fast = facts.get("fast", 1) if usage.get("speed") == "fast" else 1
    place = facts.get("regional", 1) if _REGIONAL.search(model.lower()) else 1
    return fast * max(
        place, facts.get("us", 1) if usage.get("inference_geo") == "us" else 1
    )


def _searches(usage: Usage) -> int:
    used = usage.get("server_tool_use")
    count = cast(Usage, used).get("web_search_requests") if used else 0
    return count if isinstance(count, int) and 0 < count < MILLION else 0


def unpriced(usage: Usage, model: str) -> dict[str, int]:
    """Count what a usage has that its price leaves out.

    Raises NoPrice if the model has no price at all.

    >>> unpriced({"speed": "fast", "service_tier": "priority"}, "claude-haiku-4-5")
    {'responses in fast mode': 1, 'responses of another service tier': 1}
    """
    facts = model_facts(model)
    geo = usage.get("inference_geo")
    tier = service_tier(usage)
    found = {
        "responses in fast mode": usage.get("speed") == "fast" and "fast" not in facts,
        "responses in a region that costs more": (geo == "us" and "us" not in facts)
        or geo not in (None, "", "us", "global", "not_available"),
        "responses of another service tier": bool(tier) and tier not in facts,
        "web searches": 0 if "web_search" in facts else _searches(usage),
    }
    return {what: int(count) for what, count in found.items() if count}


def dollars(usage: Usage, model: str) -> float:
    """Return the USD of one response from the `usage` that the API returned.

    >>> dollars({"input_tokens": 1_000, "output_tokens": 100}, "claude-opus-5-5")  # 4 and 20 / M
    0.006
    """
    return sum(price for _, price in priced(usage, model).values())


@dataclass
class Cap:
    """Count what was spent and stop before the request after `max_usd` was reached.

    Only the answer says what a request costs, so the cap is held to within one request.
    """

    max_usd: float
    spent: float = 0.0
    is_void: bool = False
    """Whether a request was sent and nothing says what it cost."""
    assumed: float = 0.0
    """Dollars in `spent` for requests that were stopped, at the most they can cost."""
    ticket: tuple[int, str] | None = field(default=None, init=False)
    """Thread and model of the one request that may leave, until it has left."""
    _one: Any = field(default_factory=threading.RLock, init=False, repr=False)
    _is_busy: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.max_usd >= 0:  # refuses nan too, which nothing ever reaches
            raise ValueError(f"max_usd={self.max_usd!r}; choose dollars, 0 or more")

    def check(self) -> None:
        """Raise CapReached if the cap is reached, LiveError if it can't be held.

        Call it before each request.
        """
        if self.is_void:
            raise LiveError(
                "The cap can't be held: a request was sent, and its reply doesn't say how many "
                "tokens it had. Nothing more was sent. Begin again with what may be left of "
                "the cap, or without max_usd if you trust the endpoint."
            )
        if not self.spent < self.max_usd:  # also if what was spent is no number
            part = (
                f", at most ${self.assumed:.4f} of them for requests that were stopped"
                if self.assumed
                else ""
            )
            raise CapReached(
                f"the cap of ${self.max_usd:.4f} is reached: ${self.spent:.4f} were spent{part}. "
                "Nothing was sent; choose a higher max_usd to go on."
            )

    def add(self, usage: Usage, model: str) -> float:
        """Count one response. Returns its dollars.

        A response may have asked a model for something else, such as a summary of its
        own or advice. Such a call is listed in `usage["iterations"]`, and it counts too.
        """
        price = dollars(usage, model) + sum(
            dollars(step, step.get("model") or model) for step in _calls_beside(usage)
        )
        self.spent += price
        return price

    @contextmanager
    def one_at_a_time(self) -> Generator[None]:
        """Let one request be under way. Another thread's waits here until its reply is
        counted.

        Raises LiveError for a second request of the same thread, as a middleware makes
        one.
        """
        with self._one:
            if self._is_busy:
                raise NotSent(
                    "The cap can't be held: a request asked for another one while it was "
                    "under way. Send one after the other, or go on without max_usd."
                )
            self._is_busy = True
            try:
                yield
            finally:
                self._is_busy = False
                self.ticket = None


def _calls_beside(usage: Usage) -> list[Usage]:
    """List the calls of a response that its own counts leave out."""
    steps: object = usage.get("iterations")
    each: list[Any] = cast(list[Any], steps) if isinstance(steps, list) else []
    return [step for step in each if step.get("type", "message") != "message"]


def usage_of(reply: bytes) -> Usage | None:
    """Return the usage of a response's body, None if its tokens can't be counted.

    >>> usage_of(b'{"usage": {"input_tokens": null}}') is None
    True
    """
    try:
        usage = json.loads(reply)["usage"]
        is_whole = all(map(_is_countable, [usage, *_calls_beside(usage)]))
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None
    return usage if is_whole else None


def _is_countable(usage: Usage) -> bool:
    tokens = [usage["input_tokens"], usage["output_tokens"]]
    tokens += [
        usage.get(f"cache_{kind}_input_tokens") or 0 for kind in ("read", "creation")
    ]
    split: Usage = usage.get("cache_creation") or {}
    tokens += [count or 0 for count in split.values()]
    return all(type(count) is int and 0 <= count <= MOST_TOKENS for count in tokens)


_PLACE = re.compile(
    r"(?:/[\w.-]+)*/v1/(messages(?:/count_tokens)?|models(?:/[^/]+)?)/?"
)
_FREE = re.compile(r"POST messages/count_tokens|GET models.*")


def is_free(method: str, url: str) -> bool:
    """Return whether a request costs nothing. Raises NotSent for one that is neither
    free nor a message, because nobody here knows what it costs.

    >>> is_free("POST", "/v1/messages/count_tokens?beta=true"), is_free("POST", "/v1/messages")
    (True, False)
    """
    path = urlsplit(url).path
    place = _PLACE.fullmatch(path)
    call = f"{method.upper()} {place[1] if place else path}"
    if place and _FREE.fullmatch(call):
        return True
    if call == "POST messages":
        return False
    raise NotSent(
        f"The cap can't be held for {method} {path[:80]!r}: what it costs isn't known. "
        "Go on without max_usd."
    )


def guard(
    base_url: str, cap: Cap | None, say: Callable[[str], object] = str
) -> Callable[[Any, Any], Any]:
    """Return a middleware for `anthropic.Anthropic(middleware=[guard(…)])`. `cap` None:
    no limit.

    It runs once for each attempt, and `say` gets a line before each wait. It raises
    CapReached before a request, and LiveError if the key is refused, if nobody answers
    at `base_url` or its reply breaks off, if the wait would be longer than `PATIENCE`,
    if it redirects or is no Messages API, or if the cap can't be held: without a price,
    for a streamed answer, for anything but a message, or after a request that may have
    cost something and whose reply doesn't say how much. Under a cap one request is
    under way at a time. Other threads wait.
    """

    def handle(request: Any, call_next: Any) -> Any:
        paying = None if cap is None or is_free(request.method, request.url) else cap
        with paying.one_at_a_time() if paying else nullcontext():
            return _attempt(request, call_next, base_url, paying, say)

    return handle


def _attempt(
    request: Any,
    call_next: Any,
    base_url: str,
    paying: Cap | None,
    say: Callable[[str], object],
) -> Any:
    """Send a request and count it."""
    import anthropic

    given: object = request.json
    body = cast(dict[str, Any], given) if isinstance(given, dict) else {}
    model: Any = body.get("model")
    if paying:
        _check(paying, model, body)
        paying.ticket = threading.get_ident(), model
    try:
        response = call_next(request)
        if paying:
            _count(paying, response, model)
    except anthropic.APIConnectionError as error:  # also ten minutes of silence
        reason = error.__cause__ or error
        text = _no_reply(base_url, reason)
        is_lost = paying and not _is_unsent(reason)
        if paying and is_lost:
            paying.is_void = True
        is_last = request.retries_taken > 1 or isinstance(
            error, anthropic.APITimeoutError
        )
        if is_last or is_lost:
            raise LiveError(text) from reason
        say(f"{text}; trying again")
        # The SDK tries again if its own error is the cause.
        raise LiveError(text) from error
    except BaseException as error:
        was_sent = not isinstance(error, NotSent) or (paying and not paying.ticket)
        if paying and was_sent and isinstance(error, Exception):
            paying.is_void = True
        elif paying and was_sent:  # Ctrl-C: the API may finish what nobody reads
            paying.assumed += paying.add(_most(body), model)
        raise
    _check_response(response, base_url, body.get("stream"))
    if not (paying and paying.is_void):
        _check_wait(request, response, base_url, say)
        return response
    if response.http_response.is_success:
        return response
    text = f"{base_url} couldn't hand on the reply ({response.status_code})"
    raise LiveError(f"{text}, which may be billed.")


def _no_reply(base_url: str, reason: BaseException) -> str:
    """Say what became of a request without a whole reply."""
    import httpx2

    if _is_unsent(reason):
        return f"Nobody answers at {base_url}: is there a network? {reason}"
    if isinstance(reason, httpx2.TimeoutException):
        return f"{base_url} took the request and didn't answer in time: {reason}"
    return f"The reply of {base_url} broke off or can't be read: {reason}"


def _is_unsent(reason: BaseException) -> bool:
    """Return whether a request failed before there was a connection to send it on."""
    import httpx2

    kinds = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
    return isinstance(reason, (*kinds, httpx2.ProxyError, httpx2.UnsupportedProtocol))


def _most(body: Mapping[str, Any]) -> Usage:
    """Return the most that a request can use: two bytes a token, written to the
    cache, for as long as it asks for."""
    text = json.dumps(body, default=str, ensure_ascii=False)
    size = len(text.encode("utf-8", "replace")) // 2
    output = body.get("max_tokens")
    return {
        "cache_creation_input_tokens": size,
        "cache_creation": {"ephemeral_1h_input_tokens": size if '"1h"' in text else 0},
        "output_tokens": output if isinstance(output, int) else 0,
        "speed": body.get("speed"),
        "inference_geo": body.get("inference_geo"),
    }


def _count(cap: Cap, response: Any, model: str) -> None:
    """Add what a response cost. If that can't be known, the cap can't be held.

    An error that the API itself sends is free. A gateway's own error may come after the
    API did the work.
    """
    answer = response.http_response
    if answer.is_success:
        usage = usage_of(answer.read()) or {}
        try:
            cap.add(usage, model)
            is_own = model_facts(model).get("own")
            cap.is_void = not usage or bool(unpriced(usage, model) and not is_own)
        except NoPrice:  # of another model that was asked along the way
            cap.is_void = True
    elif answer.status_code in GATEWAY:
        cap.is_void = not _is_api_error(answer.read())


def _is_api_error(text: bytes) -> bool:
    with suppress(ValueError, RecursionError, LookupError, TypeError):
        return isinstance(json.loads(text)["error"]["type"], str)
    return False


def _check_wait(
    request: Any, response: Any, base_url: str, say: Callable[[str], object]
) -> None:
    """Say that the SDK tries again, and when. Raise LiveError if that takes too
    long."""
    code = response.status_code
    headers = response.headers
    wish = headers.get("x-should-retry")  # the SDK obeys it, whatever the code
    again = (code in (408, 409, 429) or code >= 500) and wish != "false"
    is_error = not response.http_response.is_success
    if not (is_error and (again or wish == "true")) or request.retries_taken >= RETRIES:
        return
    wait = _retry_after(headers)
    if (request.retries_taken + 1) * wait > PATIENCE:
        asks = f"asks to wait {wait:,.0f} seconds ({code})"
        raise LiveError(f"{base_url} {asks}: go on later, nothing is lost.")
    when = f" in {wait:.3g} seconds" if wait else ""
    say(f"{base_url} can't answer now ({code}); trying again{when}")


def _retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds that a response asks to wait, 0 if it doesn't ask.

    It may name a number, or the date at which the wait is over.
    """
    for name, unit in (("retry-after-ms", 1_000), ("retry-after", 1)):
        with suppress(KeyError, ValueError):
            return max(0.0, float(headers[name]) / unit)
    date = parsedate_tz(headers.get("retry-after", ""))
    with suppress(ValueError, OverflowError):
        return max(0.0, mktime_tz(date) - time.time()) if date else 0.0
    return 0.0


def _check(cap: Cap, model: Any, body: Mapping[str, Any]) -> None:
    cap.check()
    if not (isinstance(model, str) and model):
        raise LiveError(
            f"The cap can't be held for a request whose model is {model!r:.80}."
        )
    if body.get("stream"):
        raise LiveError(
            "The cap can't be held for a streamed answer. Go on without max_usd."
        )
    try:
        model_facts(model)
    except ValueError as error:
        cure = "Set MODEL_PRICE=IN,OUT, or go on without max_usd."
        raise LiveError(f"The cap can't be held: {error}. {cure}") from None


def _check_response(response: Any, base_url: str, streams: Any) -> None:
    if response.status_code == 401:
        cure = "check ANTHROPIC_API_KEY in the environment or in the .env file"
        raise LiveError(f"The key was refused by {base_url} (401): {cure}.")
    if 300 <= response.status_code < 400:  # which the client doesn't follow
        other = f"{response.headers.get('location')!r:.200}"
        raise LiveError(
            f"{base_url} sends requests on to {other}, and the key does not go there. If you trust "
            "that address, set ANTHROPIC_BASE_URL to it."
        )
    kind = response.headers.get("content-type", "")
    answer = response.http_response
    fits = (
        "event-stream" in kind
        if streams
        else "json" in kind and _is_object(answer.read())
    )
    if answer.is_success and not fits:
        raise LiveError(
            f"{base_url} is not a Messages API: it sent {kind or '?'}, no message."
        )


def _is_object(text: bytes) -> bool:
    with suppress(ValueError, RecursionError):
        return isinstance(json.loads(text.decode()), dict)
    return False
