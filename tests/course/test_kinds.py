"""Lesson 10's tasks: six kinds of thing, and what twenty runs made of them."""

from hashlib import sha256
from pathlib import Path

import pytest

from agentlib.messages import PINNED, Block, Message
from course.checks.what_survives import gate, pin, rests_on
from course.figures.kinds import survival_by_kind
from course.figures.threads import threads
from course.panels.survives import breaks_at, counts, first_summary, kinds_panel, shares
from offline_api.faults import INVENTED
from session_report.style import DARK, RED, Chart
from windtunnel.tasks.kinds import KINDS, marks, play_kinds, spoken, task_of_kinds

RULED = ("constraint", "preference", "decision")


def test_a_seed_makes_the_same_bytes_on_every_machine(tmp_path: Path):
    task = task_of_kinds(7, 4)
    task.make_workspace(tmp_path)
    digest = sha256(repr(task.prompts).encode())
    for file in sorted(filter(Path.is_file, tmp_path.rglob("*")), key=Path.as_posix):
        digest.update(
            file.relative_to(tmp_path).as_posix().encode() + file.read_bytes()
        )
    assert digest.hexdigest()[:12] == "0b0a1e0341b6"


@pytest.mark.parametrize("generations", [1, 4])
def test_a_task_has_so_many_compactions_and_comes_to_its_end(generations: int):
    run = play_kinds(5, generations)
    assert len(run.session.compactions) == generations
    assert run.checks["done"]
    assert not run.ended


@pytest.mark.parametrize("generations", [-1, 0, 9])
def test_there_are_one_to_eight_compactions(generations: int):
    with pytest.raises(
        ValueError, match=f"generations={generations} compactions; choose 1 to 8"
    ):
        play_kinds(5, generations)


def test_another_model_is_refused_by_its_name():
    with pytest.raises(
        ValueError, match="model='haiku'; choose one of heeds, person, invents"
    ):
        play_kinds(5, 1, model="haiku")


def test_a_line_rests_on_a_whole_beginning_and_on_a_call():
    told: Message = {
        "role": "user",
        "content": "Rule: never edit vendor/. You may edit lib/ now.",
    }
    assert rests_on("- [rule] edit vendor/.", [told]) is None
    assert rests_on("- [rule] You may edit lib/", [told]) == 0
    call: Block = {
        "type": "tool_use",
        "id": "1",
        "name": "bash",
        "input": {"command": "make all"},
    }
    assert spoken({"role": "assistant", "content": [call]}) == [
        ("call", "bash\nmake all"),
        ("run", "[ran] make all"),
    ]
    assert (
        rests_on("- [ran] make all\n", [{"role": "assistant", "content": [call]}]) == 0
    )
    assert (
        rests_on("- [ran] make all", [{"role": "assistant", "content": "make all"}])
        is None
    )


def test_a_rule_that_is_lost_is_broken_on_disk_and_a_pinned_one_is_not():
    lost, pinned = (play_kinds(3, 3, pin=each) for each in (None, pin))
    assert marks(lost, 3)["constraint"] == {
        "kept": False,
        "told": False,
        "acted on": False,
    }
    assert all(marks(pinned, 3)["constraint"].values())
    assert "1 test, 0 failed" in str(lost.session.history)  # the decision is lost, too
    assert "2 tests, 0 failed" in str(pinned.session.history)
    lines = "\n".join([PINNED, *pin(pinned.session.history)])
    assert any(
        ("person", lines) in spoken(message) for message in pinned.session.context
    )


def test_an_invented_consent_lifts_a_pinned_rule_unless_a_gate_stops_it():
    fooled, guarded = (
        play_kinds(3, 1, model="invents", pin=pin, gate=each) for each in (None, gate)
    )
    assert marks(fooled, 3)["constraint"] == {
        "kept": True,
        "told": True,
        "acted on": False,
    }
    assert "2 tests, 2 failed" in str(fooled.session.history)
    assert all(marks(guarded, 3)["constraint"].values())


def test_a_gate_that_refuses_twice_keeps_the_messages():
    asked: list[str] = []

    def refuses(summary: str, messages: list[object]) -> None:
        asked.append(summary)

    run = play_kinds(3, 1, gate=refuses)
    assert len(asked) == 2 * len(run.session.compactions)
    assert all(
        each.message is None and each.failure for each in run.session.compactions
    )
    assert marks(run, 3)["constraint"]["acted on"]


def test_what_twenty_tasks_show():
    """The sentences of the lesson about its pictures."""
    plain, pinned = (shares(layers, 600, "heeds") for layers in ("none", "pin"))
    assert all(plain[kind][0] == (1, 1, 1) for kind in KINDS if kind != "open question")
    assert plain["open question"][0][0] > plain["open question"][0][1] == 0
    assert all(plain[kind][7][2] < 0.5 for kind in KINDS)
    assert [
        kind for kind in KINDS if all(cell[2] == 1 for cell in pinned[kind])
    ] == list(RULED)
    person = shares("none", 600, "person")
    assert all(cell[2] == 0 for kind in RULED for cell in person[kind])
    assert person["constraint"][0][:2] == (1, 1)
    fooled, guarded = (shares(n, 600, "invents")["constraint"] for n in ("pin", "both"))
    assert (fooled[0][2], fooled[7][2]) == (0, 1)
    assert fooled[1][2] < 0.5 < fooled[2][2]
    assert all(cell == (1, 1, 1) for cell in guarded)
    assert breaks_at(shares("none", 600, "heeds", 2)) == 1 < breaks_at(plain)
    short = shares("none", 300, "heeds")["constraint"]
    assert all(
        few[2] <= many[2] for few, many in zip(short, plain["constraint"], strict=True)
    )


def test_a_short_summary_keeps_no_rule_but_the_invented_one():
    messages, lines = first_summary(play_kinds(15, 1, 300, "invents"))
    assert [line for line in lines if "[rule]" in line] == [
        INVENTED["invented consent"]
    ]
    places = [rests_on(line, messages) for line in lines]
    assert places.count(None) == 1
    assert 0 not in places


def test_the_bars_are_red_only_where_more_is_kept_than_acted_on():
    whole, gap = (
        survival_by_kind({"rule": [(1, 1, acted)]}, title="") for acted in (1, 0.25)
    )
    assert "kept, not acted on" not in str(labels(whole))
    assert "kept, not acted on" in str(labels(gap))
    assert counts({"rule": [(1, 0.5, 0.25)]}).values.tolist() == [["rule", "20/10/5"]]


def test_the_panel_says_what_was_acted_on_and_its_table_the_rest():
    panel = kinds_panel()
    offered = [panel.controls[name].options for name in ("layers", "model")]
    assert offered == [
        ("none",),
        ("heeds", "person"),
    ]  # no answer to a later prediction
    assert "open question 0, 0, 0, 0, 0, 0, 0, 0" in panel.text.replace("\n", " ")
    assert ">20/0/0</td>" in panel.table.value


def test_the_threads_show_lines_of_nobody_in_red_and_lost_messages_pale():
    chart = threads(
        [("person", "Rule"), ("file", "x")], [("a", 0), ("b", None)], title=""
    )
    [axes] = chart.figure.axes
    ink = {text.get_text(): text.get_color() for text in axes.texts}
    assert (ink["Rule"], ink["b"]) == (DARK, RED)
    assert ink["x"] not in (DARK, RED)
    assert len(axes.patches) == 1
    assert labels(chart) == ["person", "nobody"]


def labels(chart: Chart) -> list[str]:
    return [
        text.get_text()
        for legend in chart.figure.legends
        for text in legend.get_texts()
    ]
