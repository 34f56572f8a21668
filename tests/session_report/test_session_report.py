"""The report on session files: its sums, what it hides, how it is shown, and the
command."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import psutil
import pytest
from rich.cells import cell_len
from rich.console import Console

import session_report as sessions
from agentlib.messages import blocks
from agentlib.presets import CLAUDE_CODE, DEFAULT
from agentlib.settings import MODEL as OUR_MODEL
from agentlib.settings import Settings
from session_report import report
from session_report.__main__ import main
from session_report.answer import answer
from session_report.one import (
    COMPACTION,
    FIRST,
    GROWTH,
    PAUSE,
    READS,
    WARM,
    compactions,
    losses,
    responses,
    window,
)
from session_report.overview import COPIED, each, overview
from session_report.report import (
    VERSION,
    WORDS,
    of_overview,
    of_what_if,
    shareable,
)
from session_report.what_if import FEW, Choice, choices, set_this, what_if
from tests.builders import call, result, text
from tests.real_sessions import FILES
from tests.runs import ctrl_c
from tests.session_report.session_files import Line, at, counts, replied, said, written
from windtunnel.runner import play
from windtunnel.tasks.scenarios import REVIEW

MODEL = "claude-opus-4-5"  # $5 a million tokens in, 6.25 written, 0.50 read, 25 out
CODE = 700 * "# More than is attached again.\n"
CODE += "".join(
    f"def price_{n}(amount):\n    return amount * {n}\n\n\n" for n in range(60)
)
QUOTE = "def price_7(amount):\n    return amount * 7"


def reply(
    second: float, block: Any, read: int = 0, new: int = 0, model: str = MODEL
) -> Line:
    own = {"name": f"msg_{second}", "stop": None, "model": model}
    return replied(second, counts(0, 1_000, read, new), [block], **own)


def boundary(second: float, summary: str, **details: Any) -> list[Line]:
    metadata = {"trigger": "auto", "preTokens": 9_000, **details}
    line = {"type": "system", "subtype": "compact_boundary", "uuid": f"b{second}"}
    line |= {"timestamp": at(second), "logicalParentUuid": "gone"}
    line |= {"compactMetadata": metadata}
    return [line, said(second + 0.5, summary, isCompactSummary=True)]


def a_day(start: float = 0, quote: str = QUOTE) -> list[Line]:
    """A read, a pause, a fall of the prompt, a compaction, and a quote of what it
    lost."""
    read = call("t1", "Read", file_path="/shop/prices.py")
    again = call("t2", "Read", file_path="/shop/prices.py")
    lines = [
        said(0, "Mend the prices."),
        reply(10, read, new=10_000),
        said(990, [result("t1", CODE)]),
        reply(1_000, again, new=12_000),
        said(1_010, [result("t2", CODE)]),
        reply(1_020, text("The same."), read=12_000, new=1_000),
        said(1_030, "Go on."),
        reply(1_040, text("Yes."), read=2_000, new=9_000),
        *boundary(1_050, "All is well."),
        reply(1_060, text(f"It says {quote}."), read=3_000, new=2_000),
    ]
    for line in lines:
        line["timestamp"] = at(start + float(line["uuid"][1:]))
        if line["type"] == "assistant":
            line["message"]["id"] += f" from {start}"
    return lines


@dataclass
class Outcome:
    stdout: str
    stderr: str
    exit_code: object


def run(*arguments: object) -> Outcome:
    """Run the command in this process."""
    code: object = 0
    with (
        redirect_stdout(io.StringIO()) as out,
        redirect_stderr(io.StringIO()) as errors,
    ):
        try:
            main([*map(str, arguments), "--jobs", "1"])
        except SystemExit as stop:
            code = stop.code
    return Outcome(out.getvalue(), errors.getvalue(), code)


# -- one session -----------------------------------------------------------------------


def test_each_dollar_has_a_place(tmp_path: Path) -> None:
    rows = responses(sessions.load(written(tmp_path, *a_day())))
    assert [row["why"] for row in rows] == [FIRST, PAUSE, GROWTH, WARM, COMPACTION]
    million = 1_000_000
    assert rows[0]["spent"][FIRST] == pytest.approx((10_000, 62_500 / million))
    assert rows[1]["spent"][PAUSE] == pytest.approx((10_000, 62_500 / million))
    assert rows[1]["spent"][GROWTH] == pytest.approx((2_000, 12_500 / million))
    assert rows[2]["spent"][READS] == pytest.approx((12_000, 6_000 / million))
    assert rows[3]["spent"][WARM] == pytest.approx((9_000, 56_250 / million))
    assert rows[4]["spent"][COMPACTION] == pytest.approx((2_000, 12_500 / million))
    tokens = [row["prompt"] + row["answer"] for row in rows]
    assert tokens == [sum(n for n, _ in row["spent"].values()) for row in rows]


def test_a_prompt_that_shrinks_without_a_word_is_a_silent_clearing(
    tmp_path: Path,
) -> None:
    rows = responses(sessions.load(written(tmp_path, *a_day())))
    assert [row["gone"] for row in rows] == [0, 0, 0, 2_000, 0]


def test_a_cache_of_an_hour_survives_the_pause(tmp_path: Path) -> None:
    lines = a_day()
    for line in (line for line in lines if line["type"] == "assistant"):
        line["message"]["usage"]["cache_creation"] = {"ephemeral_1h_input_tokens": 1}
    assert responses(sessions.load(written(tmp_path, *lines)))[1]["why"] == WARM


@pytest.mark.parametrize("repeats", [0, 3])
def test_our_own_session_costs_what_its_usages_say(repeats: int) -> None:
    alive = replace(DEFAULT.scaled(32_000), keep_alive=repeats)
    played = play(REVIEW, alive)
    rows = responses(played.session)
    spent = sum(dollars for row in rows for _, dollars in row["spent"].values())
    assert spent == pytest.approx(played.dollars(OUR_MODEL))
    assert bool(played.session.extras.repeats) == bool(repeats)
    # Who keeps the cache alive in a pause doesn't write it again.
    assert (max(row["minutes"] for row in rows[1:]) > 5) == (not repeats)
    assert any(row["why"] == PAUSE for row in rows) == (not repeats)


def test_a_window_is_full_of_what_was_sent_most_often(tmp_path: Path) -> None:
    priced = call("t9", "mcp__shop__prices")
    more = [
        said(2, "Look."),
        reply(5, priced, new=9_000),
        said(6, [result("t9", CODE)]),
    ]
    rows = window(
        sessions.load(written(tmp_path, *more, reply(7, text("."), 9_000, 2_000)))
    )
    table = {(row["what"], row["tool"]): row["tokens"] for row in rows}
    # The second prompt alone has the call and its result. Both share what came with
    # them.
    pair = table["calls", "mcp__shop__prices"] + table["results", "mcp__shop__prices"]
    assert pair == pytest.approx(2_000)
    assert sum(table.values()) == pytest.approx(9_000 + 11_000)


def test_what_a_compaction_lost_and_was_asked_for_again_is_listed(
    tmp_path: Path,
) -> None:
    session = sessions.load(written(tmp_path, *a_day()))
    (made,) = compactions(session)
    assert (made["turn"], made["before"], made["after"]) == (5, 9_000, 5_000)
    assert made["summary"] == "All is well."
    (lost,) = losses(session)
    assert (lost["what"], lost["tool"], lost["file"]) == (
        "results",
        "Read",
        "/shop/prices.py",
    )
    assert (lost["compaction"], lost["turn"], lost["times"]) == (1, 5, 1)
    assert "return amount * 7" in lost["quote"]


def test_a_file_that_is_attached_again_is_not_lost(tmp_path: Path) -> None:
    long, short = (json.dumps(code)[1:-1] for code in (CODE, CODE[-3_000:]))
    lines = json.loads(json.dumps(a_day()).replace(long, short))
    session = sessions.load(written(tmp_path, *lines))
    assert losses(session) == []
    (made,) = session.compactions
    assert made.message
    assert "[Put back: /shop/prices.py]\n> " in blocks(made.message)[0]["text"]
    assert compactions(session)[0]["summary"] == "All is well."


def test_what_the_summary_still_has_is_not_lost(tmp_path: Path) -> None:
    lines = a_day()
    summary = next(line for line in lines if line.get("isCompactSummary"))
    summary["message"]["content"] = f"Know this: {QUOTE}."
    assert losses(sessions.load(written(tmp_path, *lines))) == []


# -- many sessions ---------------------------------------------------------------------


def projects(folder: Path) -> Path:
    """A folder like Claude Code's: two projects, a subagent, and a file that is
    none."""
    home = folder / "projects"
    written(home / "-shop", *a_day(), name="one")
    other = [{**line, "uuid": f"x{n}"} for n, line in enumerate(a_day(90_000 - 3_600))]
    written(home / "-inn", *other, name="two")
    call = reply(7, text("Hi."), new=5_000, model="gpt-9")
    written(
        home / "-inn" / "two" / "subagents", said(3, "Hello"), call, name="agent-a1"
    )
    (home / "-inn" / "bad.jsonl").write_text("no session at all\n")
    return home


def test_one_bad_file_never_ends_the_run(tmp_path: Path) -> None:
    report = of_overview(overview([projects(tmp_path)], jobs=1))
    (bad,) = report["unread"]
    assert bad["file"].endswith("bad.jsonl")
    assert bad["reason"]
    assert {row["project"]: row["sessions"] for row in report["projects"]} == {
        "-shop": 1,
        "-inn": 2,
    }
    assert {row["kind"]: row["sessions"] for row in report["kinds"]} == {
        "session": 2,
        "subagent": 1,
    }
    assert [row["day"] for row in report["days"]] == ["2026-01-01", "2026-01-02"]
    counted = {row["what"]: row["number"] for row in report["not counted"]}
    assert counted["files that could not be read"] == 1
    assert counted["responses of a model without a known price"] == 1


def test_a_model_without_a_price_has_tokens_and_no_dollars(tmp_path: Path) -> None:
    report = shareable(of_overview(overview([projects(tmp_path)], jobs=1)))
    rows = {row["model"]: row for row in report["models"]}
    assert (rows["gpt-9"]["tokens"], rows["gpt-9"]["dollars"]) == (6_000, None)
    assert rows[MODEL]["dollars"] == pytest.approx(2 * 0.346)


def test_dollars_and_tokens_are_of_the_responses_that_have_a_price(
    tmp_path: Path,
) -> None:
    home = projects(tmp_path)
    page = tmp_path / "page.html"
    report = shareable(of_overview(overview([home], jobs=1)))
    lacking, first, *_ = answer(report)
    assert lacking.startswith("1 of 11 responses, with 5% of the tokens, has no price")
    assert "for 10 responses of 11, 2 sessions, 1 subagent" in first
    (model,) = (row for row in report["models"] if row["model"] == MODEL)
    assert sum(row["tokens"] for row in report["where"]) == model["tokens"]
    run(home, "--html", page)
    assert "No price, so no dot: 1, agent-a1" in page.read_text(encoding="utf-8")
    unpriced = run(home, "--session", "agent-a1").stdout
    assert "No price is known" in unpriced
    assert "$0" not in unpriced


def test_what_a_resume_copied_counts_once(tmp_path: Path) -> None:
    home = projects(tmp_path)
    before = of_overview(overview([home], jobs=1))
    written(
        home / "-shop",
        *a_day(),
        said(2_000, "On."),
        reply(2_001, text("."), 5_000, 9),
        name="fork",
    )
    after = of_overview(overview([home], jobs=1))
    dollars = [
        sum(row["dollars"] for row in report["where"]) for report in (before, after)
    ]
    assert dollars[1] - dollars[0] == pytest.approx(
        (5_000 * 0.5 + 9 * 6.25 + 1_000 * 25) / 1e6
    )
    assert {"what": COPIED, "number": 5} in after["not counted"]
    assert "5 more are copies by /resume" in answer(after)[0]


def test_a_copy_is_known_by_its_id_whatever_its_place_and_time(tmp_path: Path) -> None:
    first = [
        said(0, "Go."),
        reply(1, text("a"), new=5_000),
        said(2, "On."),
        reply(3, text("b"), 5_000),
    ]
    moved = [{**line, "timestamp": at(50_000 + n)} for n, line in enumerate(first[2:])]
    written(tmp_path / "p", *first, name="one")
    written(tmp_path / "p", *moved, name="two")
    report = of_overview(overview([tmp_path], jobs=1))
    assert {"what": COPIED, "number": 1} in report["not counted"]
    assert (
        sum(row["tokens"] for row in report["where"] if row["where"] == READS) == 5_000
    )


def test_a_rewind_is_no_silent_fall_and_what_it_left_is_named(tmp_path: Path) -> None:
    lines = [
        said(0, "Go."),
        reply(1, text("a"), new=9_000),
        said(2, "On."),
        reply(3, text("b"), 9_000, 9_000),
    ]
    lines += [said(4, "No."), reply(5, text("c"), 9_000, 100)]
    for line, parent in zip(lines, [None, 0, 1, 2, 1, 4], strict=True):
        line["parentUuid"] = None if parent is None else lines[parent]["uuid"]
    path = written(tmp_path, *lines)
    assert [row["gone"] for row in responses(sessions.load(path))] == [0, 0, 0]
    (row,) = of_overview(overview([path], jobs=1))["not counted"]
    assert row == {
        "what": "responses on branches that a rewind left, counted",
        "number": 1,
    }


def test_any_executor_gives_the_same_tables(tmp_path: Path) -> None:
    home = projects(tmp_path)
    expected = of_overview(overview([home], jobs=2))
    with ThreadPoolExecutor(2) as threads:
        assert str(of_overview(overview([home], executor=threads))) == str(expected)


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    """The page's example, as somebody would save it."""
    for number in range(2):
        written(tmp_path / "in", *a_day(quote=f"{QUOTE} {number}"), name=f"s{number}")
    script = tmp_path / "mine.py"
    script.write_text(
        "from session_report.overview import overview\n"
        "print('once')\n"
        f"print(len(overview([{str(tmp_path / 'in')!r}], jobs=2)['window']))\n",
        encoding="utf-8",
    )
    call = [sys.executable, str(script)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120)
    once, rows = done.stdout.split()
    assert (done.returncode, once) == (0, "once"), done.stderr
    assert int(rows) == 10


def test_a_dask_cluster_gives_the_same_tables(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    home = projects(tmp_path)
    options = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
    options |= {"protocol": "tcp", "host": "127.0.0.1"}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster) as client,
    ):
        report = of_overview(overview([home], executor=client.get_executor()))
    assert str(report) == str(of_overview(overview([home], jobs=1)))


# -- what if ---------------------------------------------------------------------------


def long_sessions(folder: Path, count: int) -> Path:
    """Sessions whose prompts grow by 12,000 tokens a turn, up to 180,000. Each begins
    elsewhere."""
    for number in range(count):
        lines = [said(0, "Begin.")]
        size = 4_000 + 9_000 * number
        for turn in range(1, 15):
            made = call(f"t{turn}", "Bash", command=f"make part-{turn}")
            lines.append(reply(60 * turn, made, read=size, new=12_000))
            lines.append(
                said(60 * turn + 30, [result(f"t{turn}", f"part {turn} " * 5_000)])
            )
            size += 12_000
        written(folder, *lines, name=f"long{number}")
    return folder


def test_a_lower_threshold_is_set_by_one_line_of_claude_code(tmp_path: Path) -> None:
    table = what_if(
        [long_sessions(tmp_path, 3)], choices(Settings(threshold=92_000)), jobs=1
    )
    rows = table.set_index("policy")
    assert rows.loc["claude-code", "percent"] == 0
    nearest = rows.loc["yours, nearest"]
    assert nearest["line"] == '"autoCompactWindow": 125000'
    assert nearest["compactions"] >= 3
    assert rows[["low", "high"]].isna().all(axis=None), "three sessions have no band"
    assert rows["dollars"].is_monotonic_increasing
    assert "window 300,000" not in rows.index, "no session fills it"


def test_settings_of_yours_are_answered_first(tmp_path: Path) -> None:
    folder = long_sessions(tmp_path, 2)
    asked = lines_on_settings(folder, "--threshold", 92_000)
    assert [line.split()[0] for line in asked] == ["With", "Too"]
    assert [line.split()[0] for line in lines_on_settings(folder, "--what-if")] == [
        "Too"
    ]


def lines_on_settings(folder: Path, *options: Any) -> list[str]:
    answered = run(folder, *options).stdout.partition("\n--tables")[0]
    lines = [line.replace("\n", " ") for line in answered.split("\n- ")]
    return [
        line for line in lines if line.startswith(("With your settings", "Too few"))
    ]


def other_programs(folder: Path, count: int) -> Path:
    """Sessions of pi. Their prompts grow as those of `long_sessions` do."""
    for number in range(count):
        lines: list[Line] = [{"type": "session", "cwd": "/work", "id": f"pi{number}"}]
        size = 4_000 + 9_000 * number
        for turn in range(1, 15):
            counts = {"input": 12_000, "output": 100, "cacheRead": size}
            said = {"role": "user", "content": f"part {turn} " * 5_000}
            answered = {"role": "assistant", "content": [text(f"Done {turn}.")]}
            answered |= {"model": MODEL, "usage": counts, "stopReason": "stop"}
            for letter, message in (("u", said), ("a", answered)):
                entry = {"type": "message", "id": f"{letter}{number}.{turn}"}
                time = at(60 * turn)
                lines.append({**entry, "timestamp": time, "message": message})
            size += 12_000
        written(folder, *lines, name=f"pi{number}")
    return folder


def test_a_program_gets_no_line_of_another(tmp_path: Path) -> None:
    folder = other_programs(tmp_path / "pi", FEW + 1)
    for options in ([], ["--what-if"], ["--what-if", "--threshold", 92_000]):
        shown = run(folder, "--tables", *options).stdout
        assert "autoCompactWindow" not in shown
        assert "With your settings" not in shown
        assert ("sessions are of pi." in shown) == bool(options)


def test_in_a_mixed_folder_the_line_is_about_claude_codes_sessions(
    tmp_path: Path,
) -> None:
    claude = long_sessions(tmp_path / "claude", 2)
    other_programs(tmp_path / "pi", FEW)
    alone = what_if([claude], jobs=1)
    table = what_if([tmp_path], jobs=1)
    assert table.equals(alone)
    assert table.attrs["others"] == {"pi": FEW}
    said = " ".join(run(tmp_path, "--what-if").stdout.split())
    assert f"Claude Code's sessions alone, without {FEW} of pi." in said
    assert f"(2 files of at least {FEW})" in said


def test_only_what_is_surely_cheaper_is_advised(tmp_path: Path) -> None:
    table = what_if([long_sessions(tmp_path, 3)], jobs=1)
    advised = set_this(table)
    assert (advised["high"] < 0).all()
    assert (advised["line"] != "").all()
    table["high"] = 1.0
    assert set_this(table).empty


def test_ten_sessions_have_a_band_and_the_error_of_the_replay_beside_it(
    tmp_path: Path,
) -> None:
    line = Choice(Settings(threshold=50_000), line="W")
    table = what_if([long_sessions(tmp_path, FEW)], {"small": line}, jobs=1)
    small = table.set_index("policy").loc["small"]
    assert table.attrs["sessions"] == FEW
    assert small["low"] <= small["percent"] <= small["high"]
    table["high"] = -1.0
    report = of_what_if(table)
    assert report["set this"][0]["error"] == table.attrs["error"]


def test_a_session_without_a_price_is_tried_at_anothers(tmp_path: Path) -> None:
    path = written(
        tmp_path, said(3, "Hello"), reply(7, text("Hi."), new=5_000, model="gpt-9")
    )
    with pytest.raises(ValueError, match="gpt-9"):
        what_if([path], jobs=1)
    every = {"same": Choice(CLAUDE_CODE)}
    paid = what_if([path], every, jobs=1, price_as=MODEL)["dollars"].iloc[0]
    assert paid == pytest.approx((5_000 * 6.25 + 1_000 * 25) / 1e6)


# -- what may be shown -----------------------------------------------------------------

FORM = (
    "type",
    "role",
    "subtype",
    "timestamp",
    "tool_use_id",
    "id",
    "uuid",
    "isCompactSummary",
)


def planted(value: Any, seen: list[str], key: str = "") -> Any:
    """Put a word of its own into every text of a line, but those that make it a line at
    all."""
    match value:
        case dict():
            return {k: planted(v, seen, k) for k, v in value.items()}
        case list():
            return [planted(each, seen, key) for each in value]
        case str() if key not in FORM:
            seen.append(f"zq{len(seen)}wort")
            return f"{value} {seen[-1]}" if " " in value or "\n" in value else seen[-1]
        case _:
            return value


def test_without_texts_no_word_of_a_session_comes_out(tmp_path: Path) -> None:
    envelope = {
        n: n for n in ("cwd", "gitBranch", "version", "slug", "requestId", "sessionId")
    }
    seen = list[str]()
    lines = [{**line, **envelope} for line in a_day()]
    mcp = call("t7", "mcp__geheim__werkzeug", file_path="/geheim/ort.py")
    lines[3:3] = [reply(30, mcp, read=10_000, new=90), said(31, [result("t7", "ja")])]
    lines.append(said(1_200, "Noch ein Wort."))
    lines.append(reply(1_300, text("geheim"), new=9_000, model="hausmodell"))
    lines = [planted(line, seen) for line in lines]
    path = written(tmp_path / "projects" / "-geheim-laden", *lines, name="geheimnis")
    (path.parent / "kaputt-geheim.jsonl").write_text("geheim: kein JSON\n")
    words_of_it = re.compile(
        r"zq\d+wort|geheim|hausmodell|werkzeug|/shop|price_7|kaputt", re.I
    )
    assert len(seen) > 50
    page = tmp_path / "page.html"
    whole = run(path, "--json", "--what-if", "--price-as", MODEL).stdout
    assert len(set(words_of_it.findall(whole))) > 10, "with texts they are there"
    for target in (path, path.parent):
        for form in (["--json"], ["--what-if", "--price-as", MODEL], ["--html", page]):
            outcome = run(target, "--no-text", *form)
            assert outcome.exit_code == 0, outcome.stderr
            shown = outcome.stdout + (
                page.read_text(encoding="utf-8") if page.exists() else ""
            )
            assert words_of_it.findall(shown) == []
            assert re.search(r"\b(tool|session|model) 1\b", shown)


def test_a_stand_in_is_the_same_in_every_table() -> None:
    rows = [{"file": "a.py", "tool": "Read"}, {"file": "b.py", "tool": "mcp__x__read"}]
    hidden = shareable({"files": rows, "lost": rows[1:]}, texts=False)
    assert hidden["files"] == [
        {"file": "file 1", "tool": "Read"},
        {"file": "file 2", "tool": "tool 1"},
    ]
    assert hidden["lost"] == hidden["files"][1:]


def test_keys_are_masked_with_and_without_texts(tmp_path: Path) -> None:
    key = "ghp_" + "a1" * 18
    lines = a_day(quote=QUOTE)
    summary = next(line for line in lines if line.get("isCompactSummary"))
    summary["message"]["content"] = f"The token is {key}. " * 3
    lines[1]["message"]["content"][0]["input"]["file_path"] = f"/shop/{key}/prices.py"
    path = written(tmp_path, *lines)
    for form in ([], ["--json"], ["--html", tmp_path / "out.html"]):
        shown = run(path, *form).stdout
        shown += (tmp_path / "out.html").read_text() if form[:1] == ["--html"] else ""
        assert "ghp_" not in shown
    assert "[masked: GitHub token]" in run(path, "--json").stdout


# -- how it is shown -------------------------------------------------------------------


class Tags(HTMLParser):
    """The tags that are open, and every address that the page names."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open = list[str]()
        self.addresses = list[str]()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.addresses += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img", "line", "circle"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("line", "circle"):
            assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing(tmp_path: Path) -> None:
    lines = a_day()
    lines[0]["message"]["content"] = "<script>alert(1)</script>"
    lines[1]["message"]["content"][0]["input"]["file_path"] = (
        "<img src=http://evil.example/x.png>"
    )
    page = tmp_path / "report.html"
    assert run(written(tmp_path, *lines), "--what-if", "--html", page).exit_code == 0
    tags = Tags(page.read_text(encoding="utf-8"))
    assert tags.open == []
    assert [each for each in tags.addresses if not each.startswith("#")] == []
    assert {"#lost", "#compactions", "#what-if"} <= set(tags.addresses)


def test_the_picture_of_one_session_has_its_turns_and_what_happened_in_them(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, *a_day())
    page = tmp_path / "report.html"
    run(path, "--html", page)
    shown = page.read_text(encoding="utf-8")
    assert "prompts, the largest of" in shown
    for kind, says in (
        ("pause", "rewritten after a pause"),
        ("fall", "left silently"),
        ("compaction", "lost"),
    ):
        assert re.search(
            f'class="mark {kind}"[^>]*aria-label="turn [0-9]+: [^"]*{says}', shown
        )
    assert "<img" not in shown


def test_one_session_is_named_and_so_is_its_compaction(tmp_path: Path) -> None:
    path = written(tmp_path / "shop", *a_day())
    page = tmp_path / "report.html"
    run(path, "--html", page)
    shown = page.read_text(encoding="utf-8")
    assert "<h1>theirs · 2026-01-01 · shop</h1>" in shown
    assert 'class="mark miss"' in shown, "the other miss of the cache has a mark"
    told = " ".join(run(path).stdout.split())
    assert (
        "1, the largest from 9,000 to 5,000 tokens at turn 5. Asked for again: 1 lost"
        in told
    )
    run(path, "--html", page, "--no-text")
    assert "theirs" not in page.read_text(encoding="utf-8")


def test_few_sessions_get_a_comparison_and_no_advice() -> None:
    kinds = [{"kind": "session", "sessions": 7, "responses": 90, "dollars": 50.0}]
    today = {
        "policy": "claude-code",
        "line": "",
        "percent": 0.0,
        "dollars": 25.39,
        "need": 4.8,
    }
    lean = {**today, "policy": "t", "line": "T", "percent": -3.4, "dollars": 24.53}
    *_, said = answer(
        {"kinds": kinds, "what if": [lean, today], "set this": [{"line": "none"}]}
    )
    assert "(7 files of at least 10)" in said
    assert "3.4 % less" in said
    assert "$" not in said, "simulated dollars beside real ones are no comparison"


def test_of_many_sessions_each_is_a_mark_and_without_texts_no_name_is_there(
    tmp_path: Path,
) -> None:
    for number in range(7):
        written(tmp_path, *a_day(quote=f"{QUOTE} {number}"), name=f"planted-{number}")
    page = tmp_path / "report.html"
    assert run(tmp_path, "--html", page).exit_code == 0
    assert "planted-" in page.read_text(encoding="utf-8")
    run(tmp_path, "--html", page, "--no-text")
    shown = page.read_text(encoding="utf-8")
    assert (
        shown.count('class="mark session"')
        == len(re.findall("session [0-9]+: [$]", shown)) / 2
    )
    assert "planted-" not in shown


def test_the_json_has_the_tables_that_the_words_name(tmp_path: Path) -> None:
    told = json.loads(run(written(tmp_path, *a_day()), "--json", "--what-if").stdout)
    head = {"version", "timezone", "answer"}
    assert set(told) - head <= {*WORDS["tables"], "prompts"}  # which the page draws
    tables = [told[name] for name in told if name not in head]
    assert all(rows[0].keys() == row.keys() for rows in tables for row in rows)
    assert sum(row["dollars"] for row in told["where"]) == pytest.approx(0.346)


@pytest.mark.parametrize(
    "form", [[], ["--what-if", "--price-as", MODEL], ["--no-text"]]
)
def test_the_json_is_as_its_schema_says(tmp_path: Path, form: list[str]) -> None:
    place = files("session_report") / "report.schema.json"
    schema = json.loads(place.read_text(encoding="utf-8"))
    home = projects(tmp_path / "home")
    for path in (home, written(tmp_path, *a_day())):
        told = json.loads(run(path, "--json", *form).stdout)
        jsonschema.validate(told, schema)
        assert set(told) <= set(schema["properties"])
        assert told["version"] == VERSION
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**told, "kinds": [{"kind": "session"}]}, schema)


# -- the terminal ----------------------------------------------------------------------


def test_a_price_of_ones_own_is_taken_and_a_wrong_one_refused(tmp_path: Path) -> None:
    path = written(tmp_path, said(0, "Go."), reply(1, text("a"), new=9_000, model="m"))
    told = json.loads(run(path, "--json", "--price", "m=1,10,0.1,2").stdout)
    assert told["kinds"][0]["dollars"] == pytest.approx(0.018 + 0.01)
    for price in ("m", "m=1", "=1,2", "m=a,b", "m=1,2,3,4,5"):
        assert run(path, "--price", price).exit_code == 2


def test_days_are_those_of_the_time_zone(tmp_path: Path) -> None:
    path = written(tmp_path, said(0, "Go."), reply(3_600, text("a"), new=9_000))
    days = {
        zone: json.loads(run(path, "--json", "--timezone", zone).stdout)["days"][0][
            "day"
        ]
        for zone in ("UTC", "America/Los_Angeles", "Asia/Tokyo")
    }
    assert [*days.values()] == ["2026-01-01", "2025-12-31", "2026-01-01"]
    home = projects(tmp_path)
    assert (
        "By day (Asia/Tokyo)"
        in run(home, "--tables", "--timezone", "Asia/Tokyo").stdout
    )
    wrong = run(path, "--timezone", "America/Los_Angles")
    assert wrong.exit_code == 2
    assert "America/Los_Angeles" in wrong.stderr


def test_the_page_comes_with_the_answer_in_the_terminal(tmp_path: Path) -> None:
    path = written(tmp_path, *a_day())
    assert (
        run(path).stdout.split("--tables")[0]
        in run(path, "--html", tmp_path / "page.html").stdout.partition("\n")[2]
    )


def test_an_id_that_nobody_has_leads_to_the_nearest(tmp_path: Path) -> None:
    for name in ("5f1c-a", "5f1d-b", "77aa-c"):
        written(tmp_path, *a_day(), name=name)
    none = run(tmp_path, "--session", "5f1x")
    assert none.exit_code == 2
    assert none.stderr.index("5f1c-a") < none.stderr.index("77aa-c")
    several = run(tmp_path, "--session", "5f1")
    assert "77aa" not in several.stderr


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    """In a process, since Python too writes out what is left, at its end."""
    path = written(tmp_path, *a_day())
    with subprocess.Popen(
        [sys.executable, "-m", "session_report", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        errors = process.stderr.read()
    assert "Error" not in errors
    assert "Broken" not in errors
    assert process.returncode == 0


def test_a_reader_of_json_that_goes_away_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, *a_day())
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        with pytest.raises(SystemExit) as ended:
            main([str(path), "--json", "--jobs", "1"])
        assert ended.value.code == 0


def numbers(value: Any) -> set[str]:
    """The numbers of a report's tables, as a terminal shows them."""
    rows = [row for table in value.values() for row in table]
    return {
        report.cell(n, v)
        for row in rows
        for n, v in row.items()
        if not isinstance(v, str)
    }


@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_number_is_cut_at_any_width(
    path: Path, width: int, tables: dict[Path, Any]
) -> None:
    console = Console(width=width, file=io.StringIO())
    console.print(*report.as_text(tables[path], width))
    shown = console.file.getvalue()
    assert max(map(len, shown.splitlines())) <= width
    known = numbers(tables[path])
    cut = {
        each for each in re.findall(r"(?<!\S)([\d,.$+-]+)…", shown) if each not in known
    }
    assert cut == set()
    assert set(re.findall(r"(?<= )[\d,]+\.\d\d(?= )", shown)) <= known


@pytest.mark.parametrize("width", [60, 80])
def test_no_number_is_cut_beside_wide_characters(width: int) -> None:
    rows = [
        {"file": f"/项目/{'很长的文件夹' * 9}/{n}.py", "reads": 1_234_567 + n}
        for n in range(3)
    ]
    console = Console(width=width, file=io.StringIO())
    console.print(*report.as_text({"files": rows}, width))
    shown = console.file.getvalue()
    assert all(f"{row['reads']:,}" in shown for row in rows)
    assert "/0.py" in shown
    assert max(map(cell_len, shown.splitlines())) <= width


@pytest.fixture(scope="module")
def tables() -> dict[Path, Any]:
    return {path: shareable(of_overview(overview([path], jobs=1))) for path in FILES}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such links and pipes")
def test_a_page_goes_through_a_link_and_into_a_pipe(tmp_path: Path) -> None:
    path = written(tmp_path, *a_day())
    page = tmp_path / "a.html"
    link = tmp_path / "b.html"
    page.write_text("old")
    link.symlink_to(page)
    assert run(path, "--html", link).exit_code == 0
    assert link.is_symlink()
    assert page.read_text(encoding="utf-8").lstrip().startswith("<!DOCTYPE html>")
    os.mkfifo(pipe := tmp_path / "pipe")
    with ThreadPoolExecutor(1) as reader:
        text = reader.submit(pipe.read_text, encoding="utf-8")
        assert run(path, "--html", pipe).exit_code == 0
        assert text.result(20).lstrip().startswith("<!DOCTYPE html>")
    assert pipe.is_fifo()


def test_the_answer_comes_first_in_at_most_ten_lines(tmp_path: Path) -> None:
    shown = run(written(tmp_path, *a_day()), "--what-if").stdout
    lines = [line for line in shown.splitlines() if line.startswith("- ")]
    assert lines[0].startswith("- $0.35 at list prices for 5 responses")
    assert 5 < len(lines) <= 10
    assert re.search(r"\(\d files? of at least 10\)", shown)
    assert WORDS["tables"]["where"]["title"] not in shown


def test_what_saves_by_forgetting_more_says_so_and_a_line_better_in_both_stands_alone() -> (
    None
):
    kinds = [{"kind": "session", "sessions": 40, "responses": 900, "dollars": 50.0}]
    today = {
        "policy": "claude-code",
        "line": "",
        "percent": 0.0,
        "low": 0,
        "high": 0,
        "need": 3.4,
    }
    lean = {**today, "policy": "w", "line": "W", "percent": -5.0, "low": -7, "high": -3}
    lean["need"] = 12.9
    long = {**lean, "policy": "t", "line": "T", "percent": -4.0, "need": 3.4}
    sure = [{**each, "dollars": 1.0} for each in (lean, long)]
    asked = {"kinds": kinds, "what if": [today, lean, long]}
    (alone,) = answer({**asked, "set this": sure})[1:]
    assert alone.startswith("Set T: -4.0 % (-7.0 to -3.0), and no more is needed")
    (warned,) = answer({**asked, "set this": sure[:1]})[1:]
    assert "Set W: -5.0 %" in warned
    assert "more again" in warned
    assert "12.9 times in 100 responses, today 3.4" in warned


def test_a_session_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    home = projects(tmp_path)
    assert (
        WORDS["tables"]["lost"]["title"]
        in run(home, "--session", "on", "--tables").stdout
    )
    assert run(home, "--session", "three").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--set", "threshold=10", "--set", "keep_recent=many"], 2),
        (["--set", "no_such_field=1"], 2),
        (["--set", "micro=trim"], 0),
        (["--preset", "hermes"], 0),
    ],
)
def test_settings_of_ones_own_are_checked(
    arguments: list[str], code: int, tmp_path: Path
) -> None:
    outcome = run(written(tmp_path, *a_day()), "--tables", *arguments)
    assert outcome.exit_code == code
    assert ("yours" in outcome.stdout) == (code == 0)


def test_nothing_to_read_is_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.jsonl").write_text("no\n")
    outcome = run(tmp_path)
    assert outcome.exit_code == 1
    assert "bad.jsonl" in outcome.stderr
    monkeypatch.setattr(
        "session_report.formats.claude_code.PROJECTS", tmp_path / "nowhere"
    )
    outcome = run()
    assert (outcome.exit_code, "nowhere" in outcome.stderr) == (1, True)
    assert run(tmp_path / "nowhere").exit_code == 2


def test_without_a_path_it_says_what_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "session_report.formats.claude_code.PROJECTS", projects(tmp_path)
    )
    outcome = run()
    assert outcome.exit_code == 0
    assert str(tmp_path / "projects") in outcome.stderr


def test_a_failure_leaves_the_old_page_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "report.html"
    page.write_text("the old one")

    def broken(*_: Any, **__: Any) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", broken)
    assert run(written(tmp_path, *a_day()), "--html", page).exit_code != 0
    assert {p.name for p in tmp_path.iterdir()} == {"report.html", "theirs.jsonl"}
    assert page.read_text() == "the old one"


class Slow(ThreadPoolExecutor):
    """Ctrl-C comes while it starts to work."""

    whole = False

    def submit(self, *args: Any) -> Future[Any]:
        signal.raise_signal(signal.SIGINT)
        self.whole = True
        return super().submit(*args)


def test_ctrl_c_waits_until_a_worker_has_started() -> None:
    with ctrl_c(), Slow() as slow:
        with pytest.raises(KeyboardInterrupt):
            each(str, [1, 2], executor=slow)
        assert slow.whole
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize(("sent", "code"), [("SIGINT", 130), ("SIGKILL", -9)])
def test_whatever_ends_the_command_ends_its_workers(
    sent: str, code: int, tmp_path: Path
) -> None:
    home = tmp_path / "many"
    for number in range(20):
        long_sessions(home / str(number), 1)
    call = [
        sys.executable,
        "-m",
        "session_report",
        str(home),
        "--what-if",
        "--jobs",
        "2",
    ]
    page = tmp_path / "page.html"
    pipe = subprocess.PIPE
    with (
        ctrl_c(),
        subprocess.Popen([*call, "--html", str(page)], stderr=pipe) as process,
    ):
        tree = psutil.Process(process.pid)
        while process.poll() is None and len(tree.children(recursive=True)) < 4:
            time.sleep(
                0.05
            )  # until both workers are there, beside multiprocessing's own two
        process.send_signal(signal.Signals[sent])
        try:  # a worker would hold the pipe open
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == code
    assert b"Traceback" not in errors
    assert list(tmp_path.iterdir()) == [home]
