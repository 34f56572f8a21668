"""Settings: every number is checked when it is made, scaled in proportion, read from
outside."""

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib.presets import ALL, DEFAULT, LEARN_CLAUDE_CODE
from agentlib.settings import Settings
from tests.strategies import some_settings

REFUSED = [
    (
        {"context_window": 29_000},
        "context_window=29,000 leaves nothing beside output_reserve",
    ),
    (
        {"context_window": 29_000},
        "29,000; take a larger window, or Settings().scaled(window)",
    ),
    ({"cache_ttl": float("nan")}, "cache_ttl=nan; take a number, 0 or more"),
    (
        {"threshold": 250_000},
        "threshold=250,000 is larger than context_window=200,000 and would",
    ),
    ({"threshold": 250_000}, "would never be reached; choose 1 to 200,000"),
    (
        {"threshold_pct": 101},
        "threshold_pct=101; take a percentage over 0, at most 100, or None",
    ),
    ({"keep_tools": "bash"}, "keep_tools='bash'; take a tuple: ('bash',)"),
    ({"warn_at": (65.0,)}, "warn_at=(65.0,); take a tuple: (0.65,)"),
    ({"keep_recent": True}, "keep_recent=True; take a whole number (int), 0 or more"),
    (
        {"emergency_at": 95},
        "emergency_at=95; take a share of the window over 0, at most 1, or None",
    ),
    ({"auto": 1}, "auto=1; take True or False"),
    (
        {"trim_keep": 951},
        "trim_keep=951 twice and a marker is more than trim_over=2000; lower",
    ),
    ({"summary_model": " "}, "summary_model=' '; take same, auto or a model's id"),
]


@pytest.mark.parametrize(("wrong", "message"), REFUSED)
def test_a_refusal_names_the_value_and_the_fix(wrong, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Settings(**wrong)


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Settings)])
def test_every_field_refuses_a_wrong_type_and_a_negative_number(name):
    with pytest.raises(ValueError, match=rf"^{name}=b'\?'; (take|choose one of) \w"):
        Settings(**{name: b"?"})
    with pytest.raises(ValueError, match=f"^{name}=-1; "):
        Settings(**{name: -1})


def test_the_threshold_is_fixed_or_a_share_or_the_window_without_the_reserves():
    assert Settings().threshold_tokens == 200_000 - 16_000 - 13_000 == 171_000
    assert Settings(threshold_pct=65).threshold_tokens == 130_000
    assert Settings(threshold=50_000, threshold_pct=65).threshold_tokens == 50_000


def test_an_emergency_begins_at_its_share_and_never_before_compaction():
    assert Settings().emergency_tokens == 190_000
    assert Settings(emergency_at=0.5).emergency_tokens == 171_000
    assert Settings().scaled(32_000).emergency_tokens == 30_400


def test_a_summary_may_run_to_four_times_its_length_within_the_reserve():
    assert Settings(summary_tokens=2_000).summary_max_tokens == 8_000
    assert Settings(summary_tokens=5_000).summary_max_tokens == 16_000
    assert Settings(summary_tokens=5_000, output_reserve=0).summary_max_tokens == 20_000


def test_scaling_takes_token_amounts_in_proportion_and_leaves_the_rest():
    whole = Settings(
        threshold=50_001, clear_at_least=5_000, head_tokens=99, tail_tokens=10_007
    )
    expected = dataclasses.replace(
        whole,
        context_window=32_000,
        output_reserve=2_560,
        buffer=2_080,
        threshold=8_000,
        clear_at_least=800,
        summary_tokens=320,
        restore_tokens=800,
        head_tokens=15,
        tail_tokens=1_601,
    )
    assert whole.scaled(32_000) == expected
    assert Settings(threshold_pct=65).scaled(32_000).threshold_tokens == 20_800
    assert Settings().scaled(32_000).tail_tokens is None


@given(some_settings, st.integers(1_000, 1_000_000))
def test_scaled_settings_keep_the_order_of_their_amounts(settings, window):
    if (settings.threshold or 200) * window >= 200_000:
        scaled = settings.scaled(window)
        assert scaled.context_window == window
        assert scaled.threshold_tokens <= window
        assert settings.scaled(settings.context_window) == settings


def test_a_window_too_small_to_scale_to_is_refused_with_the_value():
    with pytest.raises(ValueError, match="summary_tokens=0; take a whole number"):
        LEARN_CLAUDE_CODE.scaled(99)
    assert {p.scaled(32_000).context_window for p in ALL.values()} == {32_000}


def test_an_argument_wins_over_the_environment_and_that_over_the_preset(monkeypatch):
    percent = {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}
    settings = Settings.from_env(LEARN_CLAUDE_CODE, environ=percent)
    assert (settings.threshold_tokens, settings.estimator) == (100_000, "chars")
    assert (
        Settings.from_env(DEFAULT, environ=percent, threshold=9_000).threshold_tokens
        == 9_000
    )
    assert Settings.from_env(DEFAULT, environ={}) == DEFAULT
    percent = Settings.from_env(LEARN_CLAUDE_CODE, environ={}, threshold_pct=10)
    assert percent.threshold_tokens == 20_000
    both = Settings.from_env(
        LEARN_CLAUDE_CODE, environ={}, threshold_pct=10, threshold=7
    )
    assert both.threshold_tokens == 7
    monkeypatch.setenv("DISABLE_AUTO_COMPACT", "yes")
    assert Settings.from_env() == Settings(auto=False)


@pytest.mark.parametrize(
    ("value", "off"),
    [("1", True), ("true", True), ("0", False), ("", False), (" Off", False)],
)
def test_compaction_is_switched_off_by_the_environment(value, off):
    assert Settings.from_env(environ={"DISABLE_COMPACT": value}).enabled is not off
    auto = Settings.from_env(environ={"DISABLE_AUTO_COMPACT": value})
    assert (auto.auto, auto.enabled) == (not off, True)


@pytest.mark.parametrize("value", ["half", "200k"])
@pytest.mark.parametrize(
    "name", ["CLAUDE_CODE_AUTO_COMPACT_WINDOW", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"]
)
def test_an_environment_that_is_no_number_is_named(name, value):
    with pytest.raises(
        ValueError, match=f"^{name} in the environment: .*'{value}'; mend or unset"
    ):
        Settings.from_env(environ={name: value})


@given(some_settings)
def test_settings_come_back_from_a_session_file(settings):
    noted = dataclasses.asdict(settings)
    as_json = {k: list(v) if isinstance(v, tuple) else v for k, v in noted.items()}
    assert Settings.from_dict({**as_json, "of a later version": 1}) == settings
    assert Settings.from_dict({"keep_recent": 7}) == Settings(keep_recent=7)
