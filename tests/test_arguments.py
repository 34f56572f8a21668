"""The command line: what wins over what, and what a wrong argument is told."""

import pytest

from agentlib import presets
from agentlib.cli.arguments import parser, settings_of
from agentlib.pipeline import compact
from agentlib.settings import Settings


def settings(*argv: str, own: Settings | None = None) -> Settings:
    return settings_of(parser().parse_args(argv), own)


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    with pytest.raises(SystemExit) as caught:
        parser().parse_args(argv)
    assert caught.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


def test_without_arguments_the_default_preset_holds():
    assert settings() == presets.DEFAULT


@pytest.mark.parametrize("name", ["learn-claude-code", "LEARN_CLAUDE_CODE"])
def test_a_preset_goes_by_its_name_in_either_spelling(name):
    assert settings("--preset", name) == presets.LEARN_CLAUDE_CODE


def test_an_unknown_preset_names_those_there_are():
    with pytest.raises(
        ValueError, match=r"no preset 'best'; there are learn-claude-code, .*default"
    ):
        settings("--preset", "best")


def test_a_window_scales_what_no_argument_sets():
    made = settings("--preset", "learn-claude-code", "--window", "32000", "--keep-recent", "0")
    assert (made.context_window, made.threshold, made.keep_recent) == (32_000, 8_000, 0)
    assert settings("--window", "32000", "--threshold", "12000").threshold_tokens == 12_000


def test_an_argument_wins_over_the_environment_and_that_over_the_preset(monkeypatch):
    monkeypatch.setenv("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "100000")
    monkeypatch.setenv("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "50")
    assert settings().threshold_tokens == 50_000
    made = settings("--window", "40000")
    assert (made.context_window, made.output_reserve) == (40_000, 3_200)
    assert made.threshold_tokens == 20_000
    assert settings("--threshold", "9000").threshold_tokens == 9_000


def test_a_session_keeps_its_own_settings_where_no_argument_changes_them(monkeypatch):
    monkeypatch.setenv("DISABLE_COMPACT", "1")
    own = Settings(keep_recent=7, threshold=50_000)
    assert settings(own=own) == own
    assert settings("--keep-recent", "2", own=own) == Settings(keep_recent=2, threshold=50_000)
    assert settings("--window", "20000", own=own).threshold == 5_000
    assert settings("--preset", "default", own=own).enabled is False


def test_a_threshold_past_the_window_says_both_numbers():
    with pytest.raises(ValueError, match="--threshold 40000 is past the window of 32,000"):
        settings("--window", "32000", "--threshold", "40000")


@pytest.mark.parametrize("text", ["12k", "-5", "1.5", "", "0", "²"])
def test_a_number_that_is_none_is_named_with_the_fix(capsys, text):
    said = refused(capsys, f"--threshold={text}")
    assert f"argument --threshold: {text!r} is no whole number from 1 on; write one" in said


def test_numbers_may_be_grouped():
    assert settings("--threshold", "12,000").threshold == 12_000


@pytest.mark.parametrize("text", ["0", "-1", "nan", "fifty"])
def test_dollars_are_above_zero(capsys, text):
    assert f"{text!r} is no amount above 0" in refused(capsys, f"--max-usd={text}")


def test_an_engine_is_found_by_its_module_and_name():
    given = parser().parse_args(["--engine", "agentlib.pipeline:compact"])
    assert given.engine is compact
    assert parser().parse_args([]).engine is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("compact", "'compact' is no module:function; write one, such as mine:compact"),
        ("nowhere:f", "can't be imported (ModuleNotFoundError: No module named 'nowhere'); a mod"),
        ("broken:f", "can't be imported (ZeroDivisionError: division by zero); a module of your"),
        ("agentlib.pipeline:pack", "agentlib.pipeline has no function pack; check its name"),
    ],
)
def test_an_engine_that_is_none_is_told_why(capsys, monkeypatch, tmp_path, name, said):
    (tmp_path / "broken.py").write_text("1 / 0\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert said in refused(capsys, "--engine", name)


def test_an_empty_prompt_is_refused(capsys):
    assert "it out to be asked" in refused(capsys, "  ")


def test_a_prompt_that_is_no_utf_8_loses_only_that():
    assert parser().parse_args(["r\udcffead"]).prompt == "r�ead"


def test_an_abbreviated_option_is_not_guessed(capsys):
    assert "--thresh" in refused(capsys, "--thresh", "5")


def test_every_option_has_an_example_in_its_help():
    options = [action for action in parser()._actions if action.dest not in ("help", "prompt")]
    assert len(options) == 13
    for option in options:
        _, _, example = (option.help or "").partition("e.g. ")
        assert option.option_strings[0] in example
