"""Presets: the numbers of real systems, each as its source has it."""

from dataclasses import replace

import pytest

from agentlib import presets
from agentlib.presets import ALL, CLAUDE_CODE, DEFAULT, JAVA_L06, LEARN_CLAUDE_CODE
from agentlib.settings import Settings

# What the source of each says; every other field is at Settings' own value or does not matter.
NUMBERS = {
    # seed 002: KEEP_RECENT = 3, len(content) > 100, THRESHOLD = 50000, len(str) // 4, all replaced,
    # max_tokens=2000
    "learn-claude-code": {
        "micro": "clear",
        "keep_recent": 3,
        "min_chars": 100,
        "clear_at_least": 0,
        "clear_when": "always",
        "threshold_tokens": 50_000,
        "estimator": "chars",
        "keep_exchanges": 0,
        "summary_tokens": 2_000,
    },
    # seed 004: the same, without a test of the length
    "learn-claude-code-ts": {
        "micro": "clear",
        "keep_recent": 3,
        "min_chars": 0,
        "clear_when": "always",
        "threshold_tokens": 50_000,
        "estimator": "chars",
        "keep_exchanges": 0,
        "summary_tokens": 2_000,
    },
    # seed 000: messages.size() - 6, 200 characters, THRESHOLD = 50000, length() / 4, all replaced
    "java-l06": {
        "micro": "truncate",
        "keep_messages": 6,
        "max_result_chars": 200,
        "threshold_tokens": 50_000,
        "estimator": "chars",
        "keep_exchanges": 0,
    },
    # seed 001: 200K - 16K - 13K, (charCount / 4) * (4 / 3), getLastConversationTurn
    "s24": {
        "micro": "off",
        "threshold_tokens": 200_000 - 16_000 - 13_000,
        "estimator": "blocks",
        "keep_exchanges": 1,
        "head_tokens": 0,
        "tail_tokens": None,
        "manual": False,
    },
    # seed 003: pressure > 0.85, 4_000 and 16_000, len > 2000 -> [:800] and [-800:], 100k -> 5k,
    # the four tiers, auto = the main model
    "hermes": {
        "micro": "off",
        "threshold_tokens": 170_000,
        "head_tokens": 4_000,
        "tail_tokens": 16_000,
        "trim_over": 2_000,
        "trim_keep": 800,
        "summary_tokens": 5_000,
        "summary_model": "auto",
        "reference_only": True,
        "warn_at": (0.65, 0.75, 0.85, 0.95),
        "manual": False,
    },
    # facts, systems.md 1a and 1b: window - output - 13,000; the last 3 results, after 60 minutes;
    # 20,000 tokens of summary
    "claude-code": {
        "micro": "clear",
        "keep_recent": 3,
        "clear_when": "cold",
        "cache_ttl": 60 * 60,
        "threshold_tokens": 200_000 - 20_000 - 13_000,
        "estimator": "anchored",
        "keep_exchanges": 0,
        "summary_max_tokens": 20_000,
    },
    # facts, economics.md: cold-only, keep 5, at least 5,000 tokens, a TTL of 5 minutes, auto 130k
    "default": {
        "micro": "clear",
        "keep_recent": 5,
        "clear_at_least": 5_000,
        "clear_when": "cold",
        "cache_ttl": 5 * 60,
        "threshold_tokens": 130_000,
        "estimator": "anchored",
        "recall": True,
    },
}


@pytest.mark.parametrize("name", ALL)
def test_a_preset_has_its_sources_numbers(name):
    assert {field: getattr(ALL[name], field) for field in NUMBERS[name]} == NUMBERS[name]


def test_every_preset_of_the_module_is_listed_under_a_name():
    found = [value for value in vars(presets).values() if isinstance(value, Settings)]
    assert found == list(ALL.values())
    assert list(NUMBERS) == list(ALL)


def test_the_typescript_preset_differs_in_min_chars_alone():
    assert replace(LEARN_CLAUDE_CODE, min_chars=0) == presets.LEARN_CLAUDE_CODE_TS


def test_a_preset_carries_no_bug_of_its_source():
    # D7, D9, D11 can't be set; calls by the model stay possible where the source has the tool
    assert LEARN_CLAUDE_CODE.manual
    assert JAVA_L06.manual
    assert all(preset.enabled and preset.auto for preset in ALL.values())


def test_the_course_starts_from_neither_default_nor_a_seed():
    assert Settings() not in ALL.values()
    assert Settings().threshold_tokens == 171_000  # 001
    assert (Settings().keep_recent, Settings().min_chars) == (3, 100)  # 002
    assert Settings().estimator == "anchored"


def test_the_default_spares_the_cache_and_the_others_say_when_they_do_not():
    assert [name for name, p in ALL.items() if p.clear_when == "cold"] == ["claude-code", "default"]
    assert DEFAULT.cache_ttl < CLAUDE_CODE.cache_ttl
