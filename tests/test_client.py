"""Offline without environment or network; live against a real socket on this machine."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest
from fakes import good
from loopback import Wire, served

from agentlib.lab.api.server import Server
from agentlib.lab.client import client, model_id, price_notice
from agentlib.lab.spending import CapReached, LiveError, dollars
from agentlib.settings import MODEL

KEY = "sk-right"
HI: Any = [{"role": "user", "content": "word " * 1_000}]


def ask(api: anthropic.Anthropic, model: str = MODEL) -> anthropic.types.Message:
    return api.messages.create(model=model, max_tokens=50, messages=HI)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An empty working directory; what is set in the environment is unset afterwards."""
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
    live, offline = ask(client(live=True)), ask(client(model=good))
    assert live.to_dict() == offline.to_dict()
    assert wire.headers[0]["authorization"] == f"Bearer {KEY}"
    assert wire.headers[0]["x-api-key"] == KEY


def test_live_a_token_from_elsewhere_is_not_sent_to_another_endpoint(
    wire: Wire, here: pytest.MonkeyPatch
):
    here.setenv("ANTHROPIC_AUTH_TOKEN", "token-of-another-tool")
    ask(client(live=True))
    assert "token-of-another-tool" not in str(wire.headers)
    here.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(LiveError, match="There is no API key"):
        client(live=True)


@pytest.mark.parametrize("key", [f"{KEY}\n{KEY}", f"{KEY} {KEY}", "sk-ключ"])
def test_live_a_key_that_can_be_none_is_not_said_aloud(key: str, here: pytest.MonkeyPatch):
    here.setenv("ANTHROPIC_API_KEY", key)
    with pytest.raises(LiveError, match=r"^The API key holds a blank or a sign that no key has"):
        client(live=True)


def test_live_a_wrong_key_is_one_sentence(wire: Wire, here: pytest.MonkeyPatch):
    here.setenv("ANTHROPIC_API_KEY", "sk-wrong")
    with pytest.raises(LiveError, match=r"The key was refused by http.* \(401\): check ANTHROPIC"):
        ask(client(live=True))
    assert len(wire.headers) == 1


def test_live_without_a_network_is_one_sentence(here: pytest.MonkeyPatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    here.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{port}")
    here.setenv("ANTHROPIC_API_KEY", KEY)
    with pytest.raises(LiveError, match=f"Nobody answers at http://127.0.0.1:{port}"):
        ask(client(live=True).with_options(max_retries=0))


def test_live_reads_a_dotenv_file_and_the_environment_wins(wire: Wire, here: pytest.MonkeyPatch):
    here.delenv("ANTHROPIC_API_KEY")
    text = f"ANTHROPIC_API_KEY={KEY}\nANTHROPIC_BASE_URL=http://127.0.0.1:1\nMODEL_ID=claude-y\n"
    Path(".env").write_text(text, encoding="utf-8")
    assert ask(client(live=True)).stop_reason == "end_turn"
    assert model_id(live=True) == "claude-y"
    here.setenv("MODEL_ID", "claude-z")
    assert model_id(live=True) == "claude-z"
    assert model_id() == MODEL


def test_the_cap_is_held_to_within_one_request(wire: Wire):
    price = dollars(ask(client(live=True)).usage.to_dict(), MODEL)
    api = client(live=True, max_usd=2.5 * price)
    for _ in range(3):
        ask(api)
    with pytest.raises(CapReached, match=r"the cap of \$0.0004 is reached: \$0.0005 were"):
        ask(api)
    assert len(wire.headers) == 4


def test_the_price_is_said_with_its_date_and_the_cap():
    assert price_notice(MODEL, 0.5) == (
        f"{MODEL}: $0.10 in, $0.50 out, $0.01 from the cache (per million tokens, 5 times that "
        "for long prompts; prices of 2026-11-21). The run stops once $0.50 are spent."
    )
    assert price_notice("claude-opus-5-5").endswith("There is no cap.")


def test_a_live_client_says_its_price_before_anything_is_sent(wire: Wire, caplog):
    said: list[str] = []
    client(live=True, max_usd=0.004, say=said.append)
    assert said == [price_notice(MODEL, 0.004)]
    assert said[0].endswith("The run stops once $0.004 are spent.")
    assert caplog.messages == []
    client(live=True)  # with nobody to tell, it is logged: a notebook shows that
    assert caplog.messages == [price_notice(MODEL)]
    assert wire.headers == []


def test_a_live_client_for_a_model_without_a_price_says_so(wire: Wire, caplog, monkeypatch):
    monkeypatch.setenv("MODEL_ID", "claude-z")
    client(live=True)
    [said] = caplog.messages
    assert "claude-z" in said
    assert "price" in said
