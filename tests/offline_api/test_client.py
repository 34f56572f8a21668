"""Offline without environment or network; live against a real socket on this
machine."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest

from agentlib.api.live import COURSE, live_notice, model_id, price_notice
from agentlib.api.spending import CapReached, LiveError, NoPrice, dollars
from agentlib.settings import MODEL
from offline_api import client
from offline_api.server import Headers, Reply, Server
from tests.fakes import good
from tests.loopback import Wire, served

KEY = "sk-right"
ROOT = Path(__file__).parents[2]
HI: Any = [{"role": "user", "content": "word " * 1_000}]


def ask(api: anthropic.Anthropic, model: str = MODEL) -> anthropic.types.Message:
    return api.messages.create(model=model, max_tokens=50, messages=HI)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An empty working directory; what is set in the environment is unset
    afterwards."""
    monkeypatch.chdir(tmp_path)
    return monkeypatch


@pytest.fixture
def wire(here: pytest.MonkeyPatch) -> Iterator[Wire]:
    with served(Server(good, key=KEY)) as provider:
        here.setenv("ANTHROPIC_BASE_URL", provider.url)
        here.setenv("ANTHROPIC_API_KEY", KEY)
        yield provider


def test_offline_nothing_is_read_from_the_environment(here: pytest.MonkeyPatch):
    here.setenv("ANTHROPIC_API_KEY", "sk-secret")
    here.setenv("ANTHROPIC_AUTH_TOKEN", "secret")
    here.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    here.setenv("ANTHROPIC_CUSTOM_HEADERS", "Authorization: \nX-Api-Key: ")
    here.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    here.setenv("MODEL_ID", "claude-x")
    here.setattr(socket, "socket", None)
    api = client(model=good)
    assert (api.api_key, api.auth_token) == ("offline", None)
    assert "127.0.0.1" not in str(api.base_url)
    assert ask(api).stop_reason == "end_turn"
    assert model_id() == MODEL


def test_live_is_the_same_client_at_another_address(wire: Wire):
    live = ask(client(live=True, env=None))
    offline = ask(client(model=good))
    assert live.to_dict() == offline.to_dict()
    assert wire.headers[0]["authorization"] == f"Bearer {KEY}"
    assert wire.headers[0]["x-api-key"] == KEY


def test_live_a_token_from_elsewhere_is_not_sent_to_another_endpoint(
    wire: Wire, here: pytest.MonkeyPatch
):
    here.setenv("ANTHROPIC_AUTH_TOKEN", "token-of-another-tool")
    ask(client(live=True, env=None))
    assert "token-of-another-tool" not in str(wire.headers)
    here.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(LiveError, match="ANTHROPIC_API_KEY"):
        client(live=True, env=None)


STRANGERS = (
    "X-Gateway-Key: sk-of-a-gateway\nx-api-key: sk-other\nAUTHORIZATION: Bearer no"
)


@pytest.mark.parametrize("from_file", [True, False])
def test_live_headers_of_the_environment_go_with_its_key_alone(
    wire: Wire, here: pytest.MonkeyPatch, from_file: bool
):
    here.setenv("ANTHROPIC_CUSTOM_HEADERS", STRANGERS.split("\n", 1)[0])
    env = Path("named.env")
    env.write_text(f"ANTHROPIC_API_KEY={KEY}\nANTHROPIC_BASE_URL={wire.url}\n")
    if from_file:
        here.setenv("ANTHROPIC_CUSTOM_HEADERS", STRANGERS)
    api = client(live=True, env=env if from_file else None)
    ask(api)
    ask(api.with_options(timeout=9))
    for headers in wire.headers:
        assert headers["x-api-key"] == KEY
        assert headers["authorization"] == f"Bearer {KEY}"
        assert ("sk-of-a-gateway" in str(headers)) == (not from_file)
        assert "sk-other" not in str(headers)


@pytest.mark.parametrize(
    "address", ["127.0.0.1:9", "ftp://x.example", "//x", "https://", "ada:pw@x.example"]
)
def test_live_an_address_without_its_beginning_is_named(
    address: str, here: pytest.MonkeyPatch
):
    here.setenv("ANTHROPIC_BASE_URL", address)
    here.setenv("ANTHROPIC_API_KEY", KEY)
    with pytest.raises(LiveError, match="is not an address: begin with https") as said:
        client(live=True, env=None)
    assert "pw" not in str(said.value)


def test_live_a_call_that_names_another_address_takes_the_key_nowhere(wire: Wire):
    api = client(live=True, env=None)
    with pytest.raises(LiveError, match="doesn't go to http://localhost:1"):
        api.get("http://localhost:1/v1/models", cast_to=object)
    with pytest.raises(LiveError, match="doesn't go to http://localhost:1"):
        api.with_options(base_url="http://localhost:1").models.list()
    assert api.models.list().data
    assert len(wire.headers) == 1


@pytest.mark.parametrize("key", [f"{KEY}\n{KEY}", f"{KEY} {KEY}", "sk-ключ"])
def test_live_a_key_that_can_be_none_is_not_said_aloud(
    key: str, here: pytest.MonkeyPatch
):
    here.setenv("ANTHROPIC_API_KEY", key)
    with pytest.raises(LiveError, match=r"^The API key ") as refused:
        client(live=True, env=None)
    assert key not in str(refused.value)


def test_live_a_wrong_key_is_one_sentence(wire: Wire, here: pytest.MonkeyPatch):
    here.setenv("ANTHROPIC_API_KEY", "sk-wrong")
    with pytest.raises(LiveError, match=r"http.* \(401\): .*ANTHROPIC"):
        ask(client(live=True, env=None))
    assert len(wire.headers) == 1


def test_live_without_a_network_is_one_sentence(here: pytest.MonkeyPatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    here.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{port}")
    here.setenv("ANTHROPIC_API_KEY", KEY)
    with pytest.raises(LiveError, match=f"Nobody answers at http://127.0.0.1:{port}"):
        ask(client(live=True, env=None).with_options(max_retries=0))


@pytest.fixture
def course(here: pytest.MonkeyPatch) -> Path:
    """A file that takes the place of the course's own."""
    path = Path("course.env")
    here.setattr("agentlib.api.live.COURSE", path)
    return path


def test_a_dotenv_file_of_the_working_directory_gets_no_key(
    wire: Wire, here: pytest.MonkeyPatch
):
    here.delenv("ANTHROPIC_BASE_URL")
    here.setenv(
        "HTTPS_PROXY", "http://127.0.0.1:1"
    )  # so that no request can reach Anthropic
    Path(".env").write_text(
        f"ANTHROPIC_BASE_URL={wire.url}\nMODEL_ID=claude-y\n", encoding="utf-8"
    )
    for env in (None, COURSE):
        with pytest.raises(
            LiveError, match=r"Nobody answers at https://api\.anthropic\.com:"
        ):
            ask(client(live=True, env=env).with_options(max_retries=0))
        assert model_id(live=True, env=env) == MODEL
    assert wire.headers == []
    assert (ROOT / ".env") == COURSE


def test_a_file_with_a_key_is_the_only_source(
    wire: Wire, here: pytest.MonkeyPatch, course: Path
):
    here.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    here.setenv("ANTHROPIC_API_KEY", "sk-other")
    here.setenv("ANTHROPIC_AUTH_TOKEN", "token-of-another-tool")
    here.setenv("MODEL_ID", "claude-z")
    named = Path("named.env")
    for path in (named, course):
        text = f"ANTHROPIC_API_KEY={KEY}\nANTHROPIC_BASE_URL={wire.url}\n"
        path.write_text(text, encoding="utf-8")
        assert ask(client(live=True, env=path)).stop_reason == "end_turn"
        assert model_id(live=True, env=path) == MODEL
    assert "other" not in str(wire.headers)
    # A reference stays as it is written: it would take along a value of the
    # environment.
    named.write_text(f"{text}MODEL_ID=${{ANTHROPIC_API_KEY}}\n", encoding="utf-8")
    assert model_id(live=True, env=named) == "${ANTHROPIC_API_KEY}"
    assert model_id(live=False, env=named) == MODEL


def test_a_file_without_a_key_is_refused_if_you_named_it(wire: Wire, course: Path):
    text = "ANTHROPIC_BASE_URL=http://127.0.0.1:1\nANTHROPIC_API_KEY=\n"
    for path in (Path("named.env"), course):
        path.write_text(text, encoding="utf-8")
    for name in ("named.env", "missing.env"):
        with pytest.raises(LiveError, match=f"^{name} .*ANTHROPIC_API_KEY"):
            client(live=True, env=name)
    assert ask(client(live=True, env=course)).stop_reason == "end_turn"
    assert len(wire.headers) == 1


def test_a_redirect_is_not_followed(wire: Wire, here: pytest.MonkeyPatch):
    class Redirecting(Server):
        def answer(self, method: str, path: str, headers: Headers, raw: bytes) -> Reply:
            return Reply(307, {"location": wire.url + path}, b"")

    with served(Redirecting(good)) as first:
        here.setenv("ANTHROPIC_BASE_URL", first.url)
        with pytest.raises(
            LiveError, match=f"sends requests on to '{wire.url}/v1/messages'"
        ):
            ask(client(live=True, env=None))
    assert len(first.headers) == 1
    assert wire.headers == []


@pytest.mark.parametrize(
    ("base", "address"),
    [
        ("https://api.anthropic.com/", ""),
        ("http://api.anthropic.com", "http://api.anthropic.com"),
        ("https://me:secret@gateway.test:8443/v1", "https://gateway.test:8443"),
        ("https://api.anthropic.com@evil.test", "https://evil.test"),
    ],
)
def test_an_address_of_another_host_is_said_without_its_password(
    here: pytest.MonkeyPatch, base: str, address: str
):
    here.setenv("ANTHROPIC_API_KEY", KEY)
    here.setenv("ANTHROPIC_BASE_URL", base)
    said: list[str] = []
    client(live=True, env=None, say=said.append)
    assert said == [
        (f"Requests go to {address}. " if address else "") + price_notice(MODEL)
    ]


def test_an_address_that_is_none_is_one_sentence(here: pytest.MonkeyPatch):
    here.setenv("ANTHROPIC_API_KEY", KEY)
    here.setenv("ANTHROPIC_BASE_URL", "http://a:b")
    with pytest.raises(LiveError, match="ANTHROPIC_BASE_URL is not an address"):
        client(live=True, env=None)


def test_the_cap_is_held_to_within_one_request(wire: Wire):
    price = dollars(ask(client(live=True, env=None)).usage.to_dict(), MODEL)
    api = client(live=True, env=None, max_usd=2.5 * price)
    for _ in range(3):
        ask(api)
    with pytest.raises(CapReached, match=r"\$0\.0004 .*\$0\.0005"):
        ask(api)
    assert len(wire.headers) == 4


def test_the_price_is_said_with_its_date_and_the_cap():
    assert price_notice(MODEL, 0.5) == (
        f"{MODEL}: $0.10 in, $0.50 out, $0.01 from the cache (per million tokens, 5 times that "
        "for long prompts; prices of 2026-11-26). The run stops once $0.50 are spent."
    )
    assert price_notice("claude-opus-5-5").endswith("There is no cap.")


def test_a_live_client_says_its_price_before_anything_is_sent(wire: Wire, caplog):
    said: list[str] = []
    client(live=True, env=None, max_usd=0.004, say=said.append)
    assert said == [f"Requests go to {wire.url}. {price_notice(MODEL, 0.004)}"]
    assert "$0.004" in said[0]
    assert caplog.messages == []
    client(
        live=True, env=None
    )  # with nobody to tell, it is logged: a notebook shows that
    assert caplog.messages == [f"Requests go to {wire.url}. {price_notice(MODEL)}"]
    assert wire.headers == []


def test_a_live_client_for_a_model_without_a_price_says_so(
    wire: Wire, caplog, monkeypatch
):
    monkeypatch.setenv("MODEL_ID", "claude-z")
    client(live=True, env=None)
    [said] = caplog.messages
    assert "claude-z" in said
    assert "price" in said


def test_a_notice_shows_a_price_and_no_bill_goes_by_it(wire: Wire, monkeypatch):
    assert "$3.00 in, $4.00 out" in live_notice("claude-y", 0.5, "3,4", env=None)
    monkeypatch.setenv("MODEL_PRICE", "1,2")
    assert "$1.00 in, $2.00 out" in live_notice("claude-y", 0.5, env=None)
    with pytest.raises(NoPrice):
        dollars({}, "claude-y")
    with pytest.raises(ValueError, match="IN,OUT"):
        live_notice(MODEL, 0.5, "cheap", env=None)
