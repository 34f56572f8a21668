"""Presets: the numbers of real systems, each as its source has it."""

from dataclasses import replace

import pytest

from agentlib import presets
from agentlib.presets import ALL, LEARN_CLAUDE_CODE
from agentlib.settings import Settings

LEARN = {
    # KEEP_RECENT = 3, len(content) > 100, THRESHOLD = 50000, len(str) // 4,
    # max_tokens=2000
    "micro": "clear",
    "keep_recent": 3,
    "min_chars": 100,
    "clear_at_least": 0,
    "clear_when": "always",
    "threshold_tokens": 50_000,
    "estimator": "chars",
    "keep_exchanges": 0,
    "summary_tokens": 2_000,
}
NUMBERS = {
    "learn-claude-code": LEARN,
    "learn-claude-code-ts": LEARN | {"min_chars": 0},
    # messages.size() - 6, 200 characters, THRESHOLD = 50000, length() / 4
    "java-l06": {
        "micro": "truncate",
        "keep_messages": 6,
        "max_result_chars": 200,
        "threshold_tokens": 50_000,
        "estimator": "chars",
        "keep_exchanges": 0,
    },
    # 200K - 16K - 13K, (charCount / 4) * (4 / 3), getLastConversationTurn
    "s24": {
        "micro": "off",
        "threshold_tokens": 200_000 - 16_000 - 13_000,
        "estimator": "blocks",
        "keep_exchanges": 1,
        "head_tokens": 0,
        "tail_tokens": None,
        "manual": False,
    },
    # pressure > 0.85, 4_000 and 16_000, len > 2000 -> [:800] and [-800:], 100k -> 5k
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
    "default": {
        "micro": "clear",
        "keep_recent": 5,
        "clear_at_least": 5_000,
        "clear_when": "cold",
        "cache_ttl": 5 * 60,
        "threshold_tokens": 150_000,
        "tail_tokens": 20_000,
        "summary_tokens": 9_000,
        "restore_files": 0,
        "keep_alive": 0,
        "estimator": "anchored",
        "recall": True,
    },
}


@pytest.mark.parametrize("name", ALL)
def test_a_preset_has_its_sources_numbers(name):
    assert {field: getattr(ALL[name], field) for field in NUMBERS[name]} == NUMBERS[
        name
    ]
    assert ALL[name].enabled
    assert ALL[name].auto


def test_every_preset_of_the_module_has_a_name():
    values = [value for value in vars(presets).values() if isinstance(value, Settings)]
    assert values == list(ALL.values())
    assert replace(LEARN_CLAUDE_CODE, min_chars=0) == presets.LEARN_CLAUDE_CODE_TS


def test_the_course_starts_from_the_numbers_of_s24_and_learn_claude_code():
    assert Settings() not in ALL.values()
    assert Settings().threshold_tokens == ALL["s24"].threshold_tokens
    assert (Settings().keep_recent, Settings().min_chars) == (3, 100)
