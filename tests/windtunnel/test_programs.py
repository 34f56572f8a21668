"""A program in the wind tunnel: what it decided, what it broke, and that nothing of it
is left."""

import json
import shutil
import socket
import subprocess
import sys
import time
import venv
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from agentlib.tools.shell import confines
from windtunnel.__main__ import main
from windtunnel.programs import relay
from windtunnel.programs.command import chosen, text
from windtunnel.programs.field import rows, stored
from windtunnel.programs.program import (
    Program,
    from_command,
    from_known,
    furnish,
    known,
)
from windtunnel.programs.run import run
from windtunnel.programs.task import make, result, task
from windtunnel.programs.verdict import Reading

FAKE = Path(__file__).with_name("data") / "fake_agent.py"
WINDOW = 8_000
NO_WALL = pytest.mark.skipif(
    not confines(), reason="install bubblewrap, and let it make namespaces"
)
WALLS = [False, pytest.param(True, marks=NO_WALL)]


FORGETFUL = "blind+forgets+new"
TALKATIVE = "json+pads"
"""Faults that don't hide each other, so one run shows them all."""


def fake(faults: str, **options: Any) -> Program:
    command = f"{sys.executable} {FAKE} {{url}} {{window}} {faults} {{prompt}}"
    return from_command(command, command, **options)


@cache
def read(faults: str, wall: bool = False, **options: Any) -> Reading:
    program = fake(faults)
    return Reading(run(program, task(1, WINDOW), WINDOW, confined=wall, **options))


def kinds(reading: Reading) -> set[str]:
    return {each.kind for each in reading.findings}


def sleeping() -> bool:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True)
    return "sleep 613" in listed.stdout


# -- the task --------------------------------------------------------------------------


def test_the_task_holds_three_windows_in_two_folders(tmp_path: Path):
    made = task(3, 20_000)
    make(made, tmp_path)
    files = list(tmp_path.rglob("*.py"))
    assert len(files) == len(made.files)
    assert 2.7 * 20_000 < sum(map(len, made.files.values())) / 2.4 < 3.6 * 20_000
    assert made.rule in made.prompts[0]
    assert made == task(3, 20_000)


def test_a_file_that_was_changed_is_noticed(tmp_path: Path):
    made = task(3, 8_000)
    make(made, tmp_path)
    assert result(made, 0, tmp_path).edited == ()
    path = next(iter(made.files))
    (tmp_path / path).write_text("x = 1\n")
    assert result(made, 0, tmp_path).edited == (path,)


# -- a sound program -------------------------------------------------------------------


@pytest.fixture(scope="module")
def sound() -> Reading:
    return read("none")


def test_each_compaction_is_seen_with_its_sizes(sound: Reading):
    made = sound.compactions
    assert len(made) >= 2
    assert all(each.by == "summary" and each.helped for each in made)
    assert all(each.after < each.before < WINDOW for each in made)
    assert all(each.summaries[0] == each.request - 1 for each in made)


def test_what_the_summariser_saw_and_what_stays_is_seen(sound: Reading):
    first = sound.compactions[0]
    assert first.shown == 1.0
    assert first.put_back == "user"
    assert (first.words, first.words_kept) == ("kept", 1)


def test_both_reports_are_looked_at(sound: Reading):
    assert [step.exit_code for step in sound.run.steps] == [0, 0]
    assert all(
        step.result.report and not step.result.edited for step in sound.run.steps
    )
    assert sound.verdict == "passes"


def test_a_row_is_plain_json(sound: Reading):
    row = json.loads(json.dumps(sound.row("claude-haiku-5-5")))
    assert row["requests"] == len(row["prompts"]) == len(row["kinds"])
    assert row["dollars"] > 0
    assert text(row).count("by summary") == len(row["compactions"])


# -- faults ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("faults", "kind"),
    [
        ("grows", "grew"),
        ("tools", "tools failed"),
        ("never", "refused"),
        ("cuts", "words missing"),
        ("cuts", "rule missing"),
        ("stops", "no report"),
        ("drops", "summary unused"),
        ("skips", "unseen"),
        ("clears", "unseen"),
        ("short", "summary cut off"),
        ("eager", "compacts at once"),
        (FORGETFUL, "new session"),
    ],
)
def test_a_fault_is_found_with_the_number_of_its_request(faults: str, kind: str):
    reading = read(faults)
    (first, *_) = [each for each in reading.findings if each.kind == kind]
    assert reading.run.records[first.request - 1].is_message
    assert reading.verdict != "passes"


def test_a_compaction_that_hardly_helps_is_told_and_fails_nothing(sound: Reading):
    reading = read(TALKATIVE)
    shallow = [each for each in reading.compactions if each.after > 2 / 3 * each.before]
    [found] = [each for each in reading.findings if each.kind == "shallow"]
    assert found.request == shallow[0].request
    assert all(each.helped for each in shallow)
    assert reading.verdict == "passes"
    assert "shallow" not in kinds(sound)


def test_nothing_is_held_against_a_sound_program(sound: Reading):
    assert kinds(sound) <= {"rule lost"}  # by the scripted model, which has little room
    assert sound.verdict == "passes"


def test_a_request_that_is_sent_twice_is_told_with_its_tokens():
    reading = read("twice")
    [found] = [each for each in reading.findings if each.kind == "sent twice"]
    assert "tokens" in found.text
    assert reading.verdict == "passes"


def test_a_summary_that_the_program_shortens_is_told():
    reading = read("trims")
    [found] = [each for each in reading.findings if each.kind == "summary shortened"]
    share = reading.compactions[0].share
    assert 0.3 < share < 0.4
    assert f"{share:.0%} of the first in request {found.request}" in found.text


def test_a_server_tool_that_is_only_offered_is_left_out_and_told():
    reading = read("searches+stops")
    [found] = [each for each in reading.findings if each.kind == "left out"]
    assert "web_search_20250305" in found.text
    assert found.request == 1


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ("elsewhere", "POST /v1/responses (404)"),
        ("newer", "MCP servers"),
        ("refuses", "give the command as a list"),
        ("silent", "I need a terminal"),
    ],
)
def test_what_stands_in_the_way_is_named_and_blames_nobody(faults: str, words: str):
    reading = read(faults)
    assert words in reading.findings[0].text
    assert kinds(reading) == {"not judged"}
    assert reading.verdict == "not judged"


def test_a_program_that_is_not_judged_has_an_exit_code_of_its_own(capsys):
    command = f"{sys.executable} {FAKE} {{url}} {{window}} silent {{prompt}}"
    given = ["--program", command, "--again", command, "--window", str(WINDOW)]
    with pytest.raises(SystemExit) as ended:
        main([*given, "--seeds", "1"])
    assert ended.value.code == 3
    assert "NOT JUDGED: It never asked" in capsys.readouterr().out


def test_words_that_only_the_summary_holds_are_told_apart():
    made = read(FORGETFUL).compactions
    assert made[0].words == "in the summary"
    assert made[0].words_kept == 0


def test_a_summariser_that_sees_little_is_noticed():
    assert (read(FORGETFUL).compactions[0].shown or 0) < 0.5


def test_results_that_stand_in_json_are_known_again():
    reading = read(TALKATIVE)
    assert reading.verdict == "passes"
    assert {each.shown for each in reading.compactions} == {1.0}


@pytest.mark.parametrize("wall", WALLS)
@pytest.mark.parametrize("fault", ["silent", "hangs", "floods"])
def test_a_program_that_never_works_gets_one_line(fault: str, wall: bool):
    began = time.monotonic()
    reading = read(fault, wall, time_limit=2)
    assert time.monotonic() - began < 20
    assert kinds(reading) == {"not judged"}
    assert reading.verdict != "passes"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
@pytest.mark.parametrize("wall", WALLS)
def test_no_process_is_left(wall: bool):
    reading = read("leaves+stops", wall)
    assert reading.run.steps[0].exit_code == 0
    assert not sleeping()


@NO_WALL
def test_behind_the_wall_it_writes_and_reaches_nothing_else(tmp_path: Path):
    outside = Path(relay.__file__).with_name("was_here")  # seen wherever the clone is
    inside = fake("nosy", env=[f"PLACE={outside}"])
    reading = Reading(run(inside, task(1, WINDOW), WINDOW, confined=True))
    assert not outside.exists()
    assert "not judged" in kinds(reading)
    assert reading.run.unconfined == ""


@NO_WALL
def test_behind_the_wall_it_reaches_no_socket_of_the_machine():
    with TemporaryDirectory(dir="/var/tmp") as name:  # no part of the system
        place = f"{name}/door"
        heard = []
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(place)
            door.listen()
            door.settimeout(0.1)
            ran = run(
                fake("calls", env=[f"DOOR={place}x", f"PLACE=.{place}"]),
                task(1, WINDOW),
                WINDOW,
                confined=True,
            )
            with suppress(TimeoutError):
                heard.append(door.accept())
    assert not heard
    assert "FileNotFoundError" in ran.steps[0].output


@NO_WALL
def test_behind_the_wall_a_package_is_found_that_was_installed_without_a_copy():
    with TemporaryDirectory(dir="/tmp") as name:  # the wall hides what is there
        source = Path(name, "source")
        source.mkdir()
        shutil.copy(FAKE, source / "own_agent.py")
        venv.create(Path(name, "env"), symlinks=True)
        [packages] = Path(name, "env").glob("lib/python*/site-packages")
        (packages / "own.pth").write_text(str(source), encoding="utf-8")
        agent = f"{name}/env/bin/python -m own_agent {{url}} {{window}} none {{prompt}}"
        inside = from_command(agent, agent)
        assert run(inside, task(1, WINDOW), WINDOW, confined=True).records


def test_without_the_wall_the_verdict_says_so(sound: Reading):
    assert sound.run.unconfined
    assert "Not confined" in text(sound.row("claude-haiku-5-5"))


# -- programs by name and by command ---------------------------------------------------


def test_a_program_that_is_not_there_is_named():
    with pytest.raises(FileNotFoundError, match="nowhere-at-all"):
        run(from_command("nowhere-at-all {prompt}"), task(1, WINDOW), WINDOW)


def test_home_is_copied_and_filled_in(tmp_path: Path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config/it.json").write_text('{"url": "{url}", "size": {window}}')
    (tmp_path / "config/picture").write_bytes(b"\xff\x00{url}")
    home = tmp_path / "home"
    home.mkdir()
    program = Program(name="x", run=("x",), home=tmp_path / "config")
    furnish(program, home, {"{url}": "http://here", "{window}": "9"})
    assert json.loads((home / "it.json").read_text()) == {
        "url": "http://here",
        "size": 9,
    }
    assert (home / "picture").read_bytes() == b"\xff\x00{url}"


@pytest.mark.parametrize("name", known())
def test_a_known_program_has_all_that_it_needs(name: str):
    program = from_known(name)
    assert any("{prompt}" in word for word in program.run)
    assert program.version
    assert program.about
    values = " ".join([*program.run, *program.env.values(), *program.files.values()])
    assert "{url}" in values


@pytest.mark.parametrize(
    "options",
    [
        ("pi", "again {prompt}", [], None),
        ("unheard-of", "", [], None),
        ("myagent {prompt}", "", ["NAME"], None),
        ("myagent '{prompt}", "", [], None),
    ],
)
def test_options_that_do_not_fit_are_refused(options: Any):
    with pytest.raises(ValueError, match=r"--\w+"):
        chosen(*options)


def test_the_command_exits_with_1_if_something_is_broken(capsys: Any):
    command = f"{sys.executable} {FAKE} {{url}} {{window}} never {{prompt}}"
    with pytest.raises(SystemExit) as ended:
        main(["--program", command, "--window", f"{WINDOW}", "--seeds", "1", "--json"])
    assert ended.value.code == 1
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["findings"]


# -- it can be left running ------------------------------------------------------------


def command(faults: str, *more: str, seeds: str = "1") -> int:
    line = f"{sys.executable} {FAKE} {{url}} {{window}} {faults} {{prompt}}"
    with pytest.raises(SystemExit) as ended:
        main(["--program", line, "--window", f"{WINDOW}", "--seeds", seeds, *more])
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize("fault", ["sparse", "latin", "emoji"])
def test_a_strange_file_or_word_ends_one_run_and_not_all(
    fault: str, tmp_path: Path, capsys: Any
):
    began = time.monotonic()
    assert command(fault, "--keep", f"{tmp_path}", seeds="1,2") in (1, 3)
    assert time.monotonic() - began < 60
    out, err = capsys.readouterr()
    assert out.count("window 8,000") == 2
    assert "seed 1 (1 of 2): it begins" in err
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    assert [row["seed"] for row in verdict["rows"]] == [1, 2]


def test_a_fault_of_the_judge_ends_one_run_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    def broken(*given: Any, **options: Any) -> Any:
        raise RuntimeError("no such thing")

    monkeypatch.setattr("windtunnel.programs.command.run", broken)
    assert command("none", "--keep", f"{tmp_path}", "--json", seeds="1-2") == 3
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["verdict"] for row in rows] == ["not judged"] * 2
    assert "RuntimeError: no such thing" in rows[0]["findings"][0]["text"]


@pytest.mark.parametrize(
    ("passes", "kinds", "code"),
    [(True, [], 1), (False, [], 1), (False, ["not judged"], 3), (False, ["grew"], 1)],
)
def test_a_baseline_decides_what_is_worse(
    passes: bool, kinds: list[str], code: int, tmp_path: Path, capsys: Any
):
    findings = [{"kind": kind, "request": 1, "text": ""} for kind in kinds]
    old = tmp_path / "old.json"
    verdict = "passes" if passes else "broken"
    row = {"seed": 1, "verdict": verdict, "findings": findings}
    old.write_text(json.dumps({"rows": [row]}))
    expected = 0 if kinds == ["not judged"] else code
    assert command("silent", "--baseline", f"{old}") == expected
    told = capsys.readouterr().out
    assert ("WORSE: seed 1 passed before." in told) == passes
    assert ("WORSE" in told) == bool(expected)
    old.write_text("{}")
    assert command("silent", "--baseline", f"{old}") == 2


def test_paths_count_from_the_folder_where_the_command_was_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text("")
    (tmp_path / "run").mkdir()
    made = from_command(
        "./agent.py run agent.py lib/x.py {prompt}", "agent.py {prompt}"
    )
    whole = f"{tmp_path}/agent.py"
    assert made.run == (whole, "run", whole, "lib/x.py", "{prompt}")
    assert made.again == (whole, "{prompt}")


def test_an_engine_and_a_program_are_not_judged_together():
    with pytest.raises(SystemExit) as ended:
        main(["mine:compact", "--program", "pi"])
    assert ended.value.code == 2


# -- the stored field ------------------------------------------------------------------


def test_stored_rows_hold_no_text_of_a_program(sound: Reading):
    row = stored(sound.row("claude-haiku-5-5"), "2026-11-26")
    assert all(isinstance(number, int) for _, number in row["findings"])
    longest = max(len(each) for each in texts(row))
    assert longest < 100


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts(each)]
    return [value] if isinstance(value, str) else []


def test_the_field_names_each_program_with_its_version():
    stored_rows = rows()
    assert {row["program"] for row in stored_rows} <= set(known())
    for row in stored_rows:
        assert row["version"] == from_known(row["program"]).version
        assert row["date"]
