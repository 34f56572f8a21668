"""Lesson 12: its wrong answers, and its run with the published solutions."""

import itertools

import pytest
from matplotlib.text import Text

from agentlib.pipeline import compact
from agentlib.settings import Settings
from course.checks import the_field as checks
from course.checks.the_field import compactions_in, complaints_in, decisions_of
from course.figures.sawteeth import SCRIPTED, sawteeth, shown
from course.rooms import the_field as room
from tests.course.rooms.solved import Lesson
from windtunnel.runner import play
from windtunnel.tasks.scenarios import SURVEY


def each_pair_once(requests):
    return list(dict.fromkeys(compactions_in(requests)))


def slipping(slip):
    """Right, but for one slip with a refused prompt after a summary, or at the start."""

    def compactions(requests):
        made, before, asked = [], 0, False
        for each in requests:
            is_refused_after = each["kind"] == "refused" and asked
            if each["kind"] == "summary":
                asked = before > 0 or slip == "begins with one"
            elif each["kind"] == "other" or (is_refused_after and slip == "skips it"):
                continue
            else:
                if asked and not (is_refused_after and slip == "doesn't count it"):
                    made.append((before, each["tokens"]))
                if not (is_refused_after and slip == "isn't the next before"):
                    before = each["tokens"]
                asked = is_refused_after and slip == "counts it twice"
        return made

    return compactions


def each_row_of_summaries(requests):
    """Takes summaries with something else between them for two compactions."""
    made = []
    for first, second in itertools.pairwise(requests):
        if second["kind"] == "summary" != first["kind"]:
            place = requests.index(second)
            before = [r for r in requests[:place] if r["kind"] in ("main", "refused")]
            after = [r for r in requests[place:] if r["kind"] in ("main", "refused")]
            pairs = zip(before[-1:], after[:1], strict=False)
            made += [(a["tokens"], b["tokens"]) for a, b in pairs]
    return made


def different_only(requests):
    return [(a, b) for a, b in compactions_in(requests) if a != b]


def decided(**changed):
    def decisions(made, window):
        return {
            **decisions_of(made, window),
            **{n: f(made) for n, f in changed.items()},
        }

    return decisions


def counted(requests):
    """Counts the requests in the list."""
    places = {each["number"]: place for place, each in enumerate(requests, 1)}
    return [(places[number], what) for number, what in complaints_in(requests)]


def one_refusal(requests):
    found = complaints_in(requests)
    first = [number for number, what in found if what == "refused"][:1]
    return [(n, what) for n, what in found if what != "refused" or n in first]


def after_a_main_only(requests):
    """Says shallow only if the prompt before wasn't refused."""
    found, before = [], {"kind": "", "number": 0}
    for each in requests:
        if each["kind"] in ("main", "refused"):
            complaints = [c for c in complaints_in(requests) if c[0] == each["number"]]
            if before["kind"] != "refused" or each["kind"] == "refused":
                found += complaints
            before = each
    return found


def refused_alone(requests):
    return [pair for pair in complaints_in(requests) if pair[1] == "refused"]


def without_others(requests):
    return complaints_in([each for each in requests if each["kind"] != "other"])


def both(requests):
    every = [{**r, "kind": "main"} if r["kind"] == "refused" else r for r in requests]
    shallow = [pair for pair in complaints_in(every) if pair[1] == "shallow"]
    return sorted([*shallow, *refused_alone(requests)])


def summary_right_before(requests):
    """Forgets that something else may be asked for after the summary."""
    kinds = [each["kind"] for each in requests]
    return [
        (number, what)
        for number, what in complaints_in(requests)
        if what == "refused" or kinds[number - 2] == "summary"
    ]


def others_as(kind):
    def complaints(requests):
        changed = [{**r, "kind": kind} if r["kind"] == "other" else r for r in requests]
        return [
            (number, what)
            for number, what in complaints_in(changed)
            if requests[number - 1]["kind"] != "other"
        ]

    return complaints


def refused_first(requests):
    return sorted(complaints_in(requests), key=lambda pair: pair[1])


def nearly(resets=True, equal=False, share=2 / 3, largest=False, begins=False):
    """Right, but for one slip: the summary is never forgotten, exactly two thirds are
    shallow, too, or a little more aren't, the largest prompt counts as the one before,
    or a summary as one with which a run begins."""

    def complaints(requests):
        found, before, asked = [], 0, False
        for each in requests:
            number = each["number"]
            limit = share * before
            is_large = each["tokens"] >= limit if equal else each["tokens"] > limit
            if each["kind"] == "summary":
                asked = begins or before > 0
            elif each["kind"] == "refused":
                found.append((number, "refused"))
            elif each["kind"] == "main" and asked and is_large:
                found.append((number, "shallow"))
            if each["kind"] in ("main", "refused"):
                since = before if largest and not asked else 0
                before, asked = max(since, each["tokens"]), asked and not resets
        return found

    return complaints


def none_if_empty(complaints):
    """Fail for an empty list."""
    return lambda requests: complaints(requests) if requests[0] else []


def number_by_size(requests):
    numbers = {each["tokens"]: each["number"] for each in requests[::-1]}
    refused = refused_alone(requests)
    pairs = compactions_in([each for each in requests if each["kind"] != "other"])
    named = {number for number, _ in refused}
    shallow = [
        (numbers[after], "shallow") for before, after in pairs if after > 2 / 3 * before
    ]
    return sorted([*refused, *(each for each in shallow if each[0] not in named)])


WRONG = {
    "12.1": [
        (none_if_empty(compactions_in), "it raised IndexError"),
        (each_pair_once, "two have the same sizes"),
        (slipping("counts it twice"), "the prompt after a summary was refused"),
        (slipping("isn't the next before"), "a refused prompt stands between"),
        (slipping("begins with one"), "a summary before the first prompt"),
        (each_row_of_summaries, "a title is asked for between two requests"),
        (different_only, "the prompt is as large as before"),
    ],
    "12.2": [
        (
            decided(asks=lambda made: "live" if made["cached"] > 0.6 else "afresh"),
            "a little more than half was cached",
        ),
        (
            decided(words=lambda m: "kept" if 0 < m["words_kept"] < 3 else "retold"),
            "three messages of the person stay",
        ),
        (
            decided(
                shows=lambda made: (
                    "cut"
                    if made["shown"] != 0 and (made["shown"] or 0) <= 0.9
                    else "whole"
                )
            ),
            "nothing was shown",
        ),
        (
            decided(asks=lambda made: "live" if made["cached"] else "afresh"),
            "a little of the prompt was cached",
        ),
        (
            decided(shows=lambda made: "whole" if made["shown"] == 1 else "cut"),
            "nearly whole",
        ),
        (
            decided(shows=lambda made: "whole" if made["shown"] > 0.9 else "cut"),
            "TypeError",
        ),
        (decided(when=lambda made: round(made["before"] / 100_000, 2)), "smaller"),
    ],
    "12.3": [
        (
            {"threshold_pct": "84", "tail_tokens": 28_000},
            "threshold_pct is '84', which is",
        ),
        ({"threshold_pct": 95, "tail_tokens": 30_000}, "be within 5 points"),
        ({"threshold_pct": 80}, "yours has no tail_tokens"),
        ({"tail_tokens": 30_000}, "yours has no threshold_pct"),
        ({"threshold_pct": 80, "tail": 30_000}, "and no other number"),
        ((80, 30_000), "give {"),
    ],
    "12.4": [
        (number_by_size, "two prompts have the same size"),
        (none_if_empty(complaints_in), "it raised IndexError"),
        (both, "it ends refused after a summary"),
        (nearly(equal=True), "exactly two thirds are left"),
        (nearly(resets=False), "another prompt follows a shallow one"),
        (summary_right_before, "a title is asked for after the summary"),
        (others_as("main"), "a title is asked for after the summary"),
        (others_as("summary"), "a title is no summary"),
        (nearly(share=0.67), "a little more than two thirds"),
        (refused_first, "a shallow one, then a refused one"),
        (nearly(largest=True), "a prompt became smaller before"),
        (counted, "the server's numbers have gaps"),
        (one_refusal, "two prompts were refused"),
        (after_a_main_only, "a shallow one follows a refused one"),
        (nearly(begins=True), "a summary before the first prompt"),
    ],
}


def in_pairs(requests):
    """The same, found from the end."""
    prompts = [n for n, r in enumerate(requests) if r["kind"] in ("main", "refused")]
    return [
        (requests[a]["tokens"], requests[b]["tokens"])
        for a, b in itertools.pairwise(prompts)
        if any(r["kind"] == "summary" for r in requests[a:b])
    ]


RIGHT = {
    "12.1": [
        in_pairs,
        lambda requests: [[*pair] for pair in compactions_in(requests)],
        lambda requests: iter(compactions_in(requests)),
    ],
    "12.2": [
        decided(words=lambda made: "kept" if made["words_kept"] > 0 else "retold")
    ],
    "12.3": [
        {"threshold_pct": 80, "tail_tokens": 30_000},
    ],
    "12.4": [
        without_others,
        lambda requests: [[*pair] for pair in complaints_in(requests)],
        lambda requests: (pair for pair in complaints_in(requests)),
    ],
}


def short_run(*_):
    """A run of ours with several compactions."""
    return play(SURVEY, Settings(micro="off", manual=False).scaled(16_000))


class TestTheField(Lesson):
    wrong, right = WRONG, RIGHT


def test_what_the_server_measured_is_found_from_the_requests_alone():
    """Programs that only drop messages ask for no summary, and aren't found."""
    for program, rows in checks.field().items():
        for row in rows:
            asked = [made for made in row["compactions"] if made["by"] == "summary"]
            pairs = [(made["before"], made["after"]) for made in asked]
            assert compactions_in(checks.requests_of(row)) == pairs, program


def test_the_tunnel_names_the_same_requests_as_the_lesson():
    for program, rows in checks.field().items():
        for row in rows:
            found = complaints_in(checks.requests_of(row))
            for what, kinds in (
                ("refused", ("refused", "unproved rule")),
                ("shallow", ("shallow",)),
            ):
                told = [number for kind, number in row["findings"] if kind in kinds]
                first = [number for number, kind in found if kind == what][:1]
                assert sorted(told)[:1] == first, program


def test_a_picture_says_whose_agent_runs_in_the_last_row(monkeypatch):
    def own(*given, **options):
        return compact(*given, **options)

    monkeypatch.setattr(room, "own_run", short_run)
    monkeypatch.setattr(room, "sawteeth", lambda rows, notes, title: rows)
    engines = {compact: "our agent", own: "your agent"}
    usual = room.usual_decisions(decisions_of)
    for engine, name in engines.items():
        *theirs, last = room.picture(compactions_in, usual, engine)
        assert last["program"] == name
        assert name not in [row["program"] for row in theirs]


def test_five_seeds_of_ten_programs_are_stored_without_their_texts():
    for rows in checks.field().values():
        assert sorted(row["seed"] for row in rows) == [1, 2, 3, 4, 5]
        for row in rows:
            assert row["window"] == checks.WINDOW
            texts = [each for made in row["compactions"] for each in made.values()]
            assert max((len(t) for t in texts if isinstance(t, str)), default=0) < 30


def test_a_program_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="no run of 'none' with seed 1"):
        checks.of_seed("none")


def test_a_picture_that_names_a_product_says_that_one_model_was_used():
    rows = [checks.of_seed("pi"), checks.of_seed("hermes")]
    for chart in (
        sawteeth(rows, ["", ""], "Two"),
        shown({"pi": checks.field()["pi"]}, "One"),
    ):
        texts = [text.get_text() for text in chart.figure.findobj(Text)]
        assert SCRIPTED in texts


@pytest.mark.parametrize("program", ["claude-code", "pi", "mini-swe-agent"])
def test_a_refusal_and_a_request_for_a_summary_differ_in_their_marks(program):
    row = checks.of_seed(program)
    [axes] = sawteeth([row], [""], "One").figure.axes
    for kind, mark in (("refused", "x"), ("summary", "^")):
        marks = [line for line in axes.lines if line.get_marker() == mark]
        assert len(marks) == row["kinds"].count(kind)
        assert len({line.get_color() for line in marks}) <= 1


def test_our_own_run_is_laid_out_as_a_stored_one():
    run = short_run()
    row = checks.row_of(run)
    assert len(row["kinds"]) == len(row["prompts"])
    made = compactions_in(checks.requests_of(row))
    assert len(made) == len(run.session.compactions) > 2
    assert all(before > after for before, after in made)
    assert checks.pairs_of(row) == made
    for each in row["compactions"]:
        assert row["prompts"][each["request"] - 1] == each["after"]
