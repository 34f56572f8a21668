"""Settings: every number is checked when it is made, scaled in proportion, read from outside."""

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import some_settings

from agentlib.presets import ALL, DEFAULT, LEARN_CLAUDE_CODE
from agentlib.settings import MODEL, Settings

REFUSED = {
    "no room beside the reserves": (
        {"context_window": 29_000},
        "context_window=29,000 leaves nothing beside output_reserve + buffer = 29,000",
        "take a larger window, or Settings().scaled(window)",
    ),
    "no window": ({"context_window": 0}, "context_window=0", "take at least 1"),
    "no summary": ({"summary_tokens": 0}, "summary_tokens=0", "take at least 1"),
    "a negative amount": ({"keep_recent": -1}, "keep_recent=-1; ", "take 0 or more"),
    "a negative share of time": ({"cache_ttl": -0.5}, "cache_ttl=-0.5; ", "take 0 or more"),
    "not a number": ({"cache_ttl": float("nan")}, "cache_ttl=nan", "take 0 or more"),
    "threshold past the window": (
        {"threshold": 200_001},
        "threshold=200,001 is not within context_window=200,000",
        "take one from 1 to there",
    ),
    "no threshold": ({"threshold": 0}, "threshold=0 is not within", "take one from 1"),
    "over a hundred percent": ({"threshold_pct": 101}, "threshold_pct=101", "a percentage"),
    "no percent": ({"threshold_pct": 0}, "threshold_pct=0", "a percentage from 0 to 100"),
    "an unknown estimator": (
        {"estimator": "tokens"},
        "estimator='tokens'",
        "choose one of anchored, chars, blocks",
    ),
    "an unknown policy": (
        {"micro": "drop"},
        "micro='drop'",
        "choose one of clear, truncate, trim, off",
    ),
    "an unknown time": ({"clear_when": "often"}, "clear_when='often'", "one of always, cold"),
    "one name for a tuple": (
        {"keep_tools": "read_file"},
        "keep_tools='read_file'; take a tuple",
        "with brackets and a comma: ('bash',)",
    ),
    "a list for a tuple": ({"warn_at": [0.5]}, "warn_at=[0.5]; take a tuple", "comma: (0.65,)"),
    "a text for a number": ({"keep_recent": "3"}, "keep_recent='3'", "take a whole number"),
    "half a result": ({"keep_recent": 2.5}, "keep_recent=2.5", "take a whole number"),
    "a point in a window": ({"context_window": 2e5}, "context_window=200000.0", "a whole number"),
    "a text for an amount": ({"threshold": "5"}, "threshold='5'", "a whole number (int) or None"),
    "a text for a share": ({"threshold_pct": "65"}, "threshold_pct='65'", "a number or None"),
    "a switch for a number": ({"keep_recent": True}, "keep_recent=True", "take a whole number"),
    "a switch for a share": ({"emergency_at": True}, "emergency_at=True", "a number or None"),
    "a text for a tier": ({"warn_at": ("65",)}, "warn_at=('65',)", "comma: (0.65,)"),
    "a number for a name": ({"keep_tools": (1,)}, "keep_tools=(1,)", "comma: ('bash',)"),
    "a word for a switch": ({"auto": "no"}, "auto='no'", "take True or False"),
    "a share over one": ({"warn_at": (65.0,)}, "warn_at=(65.0,)", "take shares of the window"),
    "an emergency past it": ({"emergency_at": 95}, "emergency_at=95", "from 0 to 1, or None"),
    "ends that overlap": (
        {"trim_keep": 951},
        "trim_keep=951 twice and a marker is more than trim_over=2000",
        "lower trim_keep",
    ),
    "no model": ({"summary_model": " "}, "summary_model is empty", "take same, auto or a model's"),
}


@pytest.mark.parametrize(("given_", "value", "fix"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_names_the_value_and_the_fix(given_, value, fix):
    with pytest.raises(ValueError, match=re.escape(value)) as caught:
        Settings(**given_)
    assert fix in str(caught.value)


FIELDS = [field.name for field in dataclasses.fields(Settings)]


@pytest.mark.parametrize("name", FIELDS)
def test_what_is_of_no_kind_a_field_knows_is_refused_by_name(name):
    with pytest.raises(ValueError, match=rf"^{name}=b'\?'; (take|choose one of) \w"):
        Settings(**{name: b"?"})


@pytest.mark.parametrize("name", FIELDS)
def test_every_number_is_refused_when_it_is_negative(name):
    default = getattr(Settings(), name)
    if isinstance(default, int | float) and not isinstance(default, bool):
        with pytest.raises(ValueError, match=f"{name}=-1; "):
            Settings(**{name: -1})


def test_an_emergency_begins_at_its_share_and_never_before_compaction():
    assert Settings().emergency_tokens == 190_000
    assert Settings(emergency_at=0.5).emergency_tokens == 171_000
    assert Settings().scaled(32_000).emergency_tokens == 30_400


def test_settings_are_frozen_and_take_no_positions():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().keep_recent = 5  # type: ignore[misc]
    with pytest.raises(TypeError):
        Settings(200_000)  # type: ignore[misc]


def test_the_compaction_point_is_fixed_or_a_share_or_what_the_reserves_leave():
    assert Settings().threshold_tokens == 200_000 - 16_000 - 13_000 == 171_000
    assert Settings(threshold_pct=65).threshold_tokens == 130_000
    assert Settings(threshold=50_000, threshold_pct=65).threshold_tokens == 50_000


def test_a_summary_may_run_to_four_times_its_length_within_the_reserve():
    assert Settings(summary_tokens=2_000).summary_max_tokens == 8_000
    assert Settings(summary_tokens=5_000).summary_max_tokens == 16_000
    assert Settings(summary_tokens=5_000, output_reserve=0).summary_max_tokens == 20_000


def test_scaling_takes_token_amounts_in_proportion_and_rounds_down():
    whole = Settings(threshold=50_001, clear_at_least=5_000, head_tokens=99, tail_tokens=10_007)
    scaled = whole.scaled(32_000)
    assert (scaled.context_window, scaled.output_reserve, scaled.buffer) == (32_000, 2_560, 2_080)
    assert (scaled.threshold, scaled.clear_at_least, scaled.summary_tokens) == (8_000, 800, 320)
    assert (scaled.restore_tokens, scaled.head_tokens, scaled.tail_tokens) == (800, 15, 1_601)
    assert Settings().scaled(32_000).tail_tokens is None


COUNTS = (
    *("threshold_pct", "keep_recent", "min_chars", "keep_messages", "max_result_chars"),
    *("trim_over", "trim_keep", "keep_exchanges", "cache_ttl", "warn_at", "micro", "keep_tools"),
)


def test_scaling_leaves_counts_characters_and_shares():
    whole = Settings(threshold_pct=65, keep_tools=("bash",))
    scaled = whole.scaled(32_000)
    assert scaled.threshold_tokens == 20_800
    assert [getattr(scaled, n) for n in COUNTS] == [getattr(whole, n) for n in COUNTS]


@given(some_settings, st.integers(1_000, 1_000_000))
def test_scaled_settings_keep_the_order_of_their_amounts(settings, window):
    scaled = settings.scaled(window) if (settings.threshold or 200) * window >= 200_000 else None
    if scaled:
        assert scaled.context_window == window
        assert scaled.threshold_tokens <= window
        assert settings.scaled(settings.context_window) == settings


def test_a_window_too_small_to_scale_to_is_refused_with_the_value():
    with pytest.raises(ValueError, match="summary_tokens=0; take at least 1"):
        LEARN_CLAUDE_CODE.scaled(99)
    with pytest.raises(ValueError, match="threshold=0 is not within context_window=100;"):
        Settings(threshold=1_000).scaled(100)


def test_an_argument_wins_over_the_environment_and_that_over_the_preset():
    percent = {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}
    found = Settings.from_env(LEARN_CLAUDE_CODE, environ=percent)
    assert (found.threshold_tokens, found.min_chars, found.estimator) == (100_000, 100, "chars")
    assert Settings.from_env(DEFAULT, environ=percent, threshold=9_000).threshold_tokens == 9_000
    assert Settings.from_env(DEFAULT, environ={}) == DEFAULT
    assert Settings.from_env(environ={}) == Settings()


def test_a_percentage_as_argument_wins_over_a_presets_fixed_threshold():
    found = Settings.from_env(LEARN_CLAUDE_CODE, environ={}, threshold_pct=10)
    assert found.threshold_tokens == 20_000
    both = Settings.from_env(LEARN_CLAUDE_CODE, environ={}, threshold_pct=10, threshold=7)
    assert both.threshold_tokens == 7


def test_the_environment_sets_the_window():
    found = Settings.from_env(environ={"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"})
    assert (found.context_window, found.threshold_tokens) == (100_000, 71_000)


@pytest.mark.parametrize(
    ("value", "off"), [("1", True), ("true", True), ("0", False), ("", False), (" Off", False)]
)
def test_compaction_is_switched_off_by_the_environment(value, off):
    assert Settings.from_env(environ={"DISABLE_COMPACT": value}).enabled is not off
    auto = Settings.from_env(environ={"DISABLE_AUTO_COMPACT": value})
    assert (auto.auto, auto.enabled) == (not off, True)


def test_without_an_argument_the_processs_environment_is_read(monkeypatch):
    monkeypatch.setenv("DISABLE_AUTO_COMPACT", "yes")
    assert not Settings.from_env().auto
    assert Settings().auto


@pytest.mark.parametrize("value", ["half", "nan", "inf", "200k"])
@pytest.mark.parametrize(
    "name", ["CLAUDE_CODE_AUTO_COMPACT_WINDOW", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"]
)
def test_an_environment_that_is_no_number_is_named(name, value):
    words = f"{name}='{value}' in the environment: set it to a number above 0, or unset it"
    with pytest.raises(ValueError, match=re.escape(words)):
        Settings.from_env(environ={name: value})


@given(some_settings)
def test_settings_come_back_from_what_a_session_file_notes(settings):
    noted = dataclasses.asdict(settings)
    as_json = {k: list(v) if isinstance(v, tuple) else v for k, v in noted.items()}
    assert Settings.from_dict({**as_json, "of a later version": 1}) == settings


def test_settings_without_a_name_noted_have_its_default():
    assert Settings.from_dict({"keep_recent": 7}) == Settings(keep_recent=7)


def test_every_preset_can_be_scaled_to_the_lessons_window():
    assert {p.scaled(32_000).context_window for p in ALL.values()} == {32_000}


def test_there_is_one_model():
    assert MODEL == "claude-haiku-5-5"
