"""Masks: keys of each shape give way to their kind, and nothing else is touched."""

import email
import hashlib
import json
import re
import uuid
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentlib
from agentlib.api.masks import masked
from tests.key_shapes import LOOKALIKES, shapes

BASE64 = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ"
BEGIN = "-----BEGIN PRIVATE " + "KEY-----"
# In two parts each, so that no scanner takes this file for a leak.
SECRETS = {
    "sk-" + "ant-api03-" + "Ab1_-" * 18: "Anthropic key",
    "sk-" + "proj-" + "Ab1" * 20: "API key",
    "sk-" + "0123456789abcdef" * 2: "API key",
    "ghp_" + "Ab1" * 12: "GitHub token",
    "github_" + "pat_" + "Ab1_" * 20: "GitHub token",
    "glpat-" + "Ab1-" * 5: "GitLab token",
    "AKIA" + "IOSFODNN7EXAMPLE": "AWS key id",
    "xoxb-" + "1234567890-abc": "Slack token",
    "AIza" + "Ab1_-" * 7: "Google key",
    "npm_" + "Ab1" * 12: "npm token",
    "hf_" + "AbcdefghijklmnopQ" * 2: "Hugging Face token",
    "eyJ" + "hbGciOiJIUzI1." + "eyJzdWIiOiIxMjM0." + "SflKxwRJSMeKK": "JSON web token",
    f"{BEGIN}\n{BASE64}\n{BASE64}\nab==\n-----END PRIVATE KEY-----": "private key",
    f"{BEGIN}\n> {BASE64}\n> {BASE64}\n> -----END PRIVATE KEY-----": "private key",
    f"{BEGIN}\\n{BASE64}\\n-----END PRIVATE KEY-----\\n": "private key",
    f"{BEGIN.replace(' PRIVATE', ' RSA PRIVATE')}\n{BASE64}\n{BASE64}": "private key",
}
ORDINARY = [
    "git commit 3f786850e387550fdab836ed7e6dc881de23001b",
    str(uuid.UUID(int=7)),
    hashlib.sha256(b"x").hexdigest(),
    "task_ant_colony_optimization_with_long_names".replace("_", "-"),
    "risk-ant-" + "abcdefghijklmnopqrstuvwxyz",
    "sk-learn-contrib, sk-ant-short, desk-0123456789abcdef0123456789abcdef",
    "def npm_install_with_a_name_that_is_quite_long_indeed(): hf_hub_download()",
    f"if text.startswith('{BEGIN}'): raise ValueError",
    "eyJhbGciOiJIUzI1NiJ9 and AKIA",
]


@pytest.mark.parametrize(("secret", "kind"), SECRETS.items(), ids=SECRETS.values())
def test_a_secret_gives_way_to_its_kind(secret, kind):
    assert masked(f"key = '{secret}' # mine").startswith(f"key = '[masked: {kind}]")
    assert BASE64 not in masked(secret)
    assert masked(f"{secret}\nand the rest").endswith("\nand the rest")


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_texts_stay(text):
    assert masked(text) == text


def test_ninety_real_shapes_give_way():
    found = list[str]()
    every = [*shapes()]
    for issuer, text in every:
        secret = re.search(r"\{(\w+(?:-\w+)*)\}", text)
        plain = text.replace("{", "").replace("}", "")
        if (secret[1] if secret else plain.strip()) not in masked(
            f"first\n{plain}\nlast"
        ):
            found.append(issuer)
    assert len(every) >= 90
    assert len(every) == len(found)


def test_a_secret_that_its_name_tells_leaves_the_name():
    secret = "a1B2" * 5
    for line in (
        f"CF_API_TOKEN={secret}",
        f"export DB_PASSWORD = '{secret}' # x",
        json.dumps(json.dumps({"CLIENT_SECRET": secret})),
    ):
        shown = masked(line)
        assert shown == line.replace(secret, "[masked: secret by its name]")
        assert masked(shown) == shown


def test_what_only_looks_like_a_key_stays():
    assert [text for text in LOOKALIKES if masked(text) != text] == []


def test_libraries_stay_as_they_are():
    changed = list[str]()
    for package in (agentlib, email, httpx2):
        for path in Path(str(package.__file__)).parent.rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            changed += [path.name] if masked(text) != text else []
    assert changed == []


@given(
    st.lists(st.sampled_from(list(SECRETS)) | st.text(max_size=9), max_size=5).map(
        " ".join
    )
)
def test_masking_twice_is_masking_once(text):
    once = masked(text)
    assert masked(once) == once
    assert not [secret for secret in SECRETS if secret in once]
