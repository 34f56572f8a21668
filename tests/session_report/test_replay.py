"""Replay: the same session again is the same, message for message; other settings are
weighed."""

import inspect
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentlib.auto_compact import summary_text
from agentlib.estimation import prompt_tokens
from agentlib.head_and_tail import summary_index
from agentlib.loop import equipped, run
from agentlib.messages import Message
from agentlib.presets import ALL
from agentlib.settings import MODEL, Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session, load
from offline_api import client, violation
from session_report.playback import Frame, replay, stand_in, table
from tests.builders import call, result, say
from tests.fakes import Clock

WINDOW = 16_000
FILES = 5


def brain(body: dict[str, Any]) -> dict[str, Any]:
    """Reads two files at once, one at a time otherwise; asks for `compact` now and
    then."""
    messages = body["messages"]
    last = messages[-1]["content"]
    text = last if isinstance(last, str) else last[-1].get("text", "")
    if text.startswith("Summarize this conversation"):
        notes = f"## Accomplished\nShown {len(messages)} messages. " + "Noted. " * 40
        return say(notes)
    size = len(messages)
    if size % 14 == 9 and "[Conversation compressed" not in str(messages[0]):
        return say(call("", "compact", focus="file1.txt"))
    calls = [
        call("", "read_file", path=f"file{(size + n) % FILES}.txt")
        for n in range(1 + size % 4 // 3)
    ]
    words = f"Reading on, message {size}. " + "I note what I saw. " * 8
    return say(words, *calls)


def summary_of(context: list[Message]) -> Message:
    """The message with the summary: the first one, or the one after the head."""
    return context[summary_index(context) or 0]


def recorded(folder: Path, settings: Settings) -> Session:
    """A session with compactions, clearings, a pause, one by hand, and a resume from
    its file."""
    for n in range(FILES):
        lines = "\n".join(f"line {i} of file {n}" for i in range(120))
        (folder / f"file{n}.txt").write_text(lines, encoding="utf-8", newline="\n")
    clock = Clock()
    workspace = Workspace(folder)
    session = Session.create(
        folder / "sessions", settings=settings, session_id="recorded", clock=clock
    )
    api = client(window=1_000_000, model=brain, clock=clock)
    same: dict[str, Any] = {"settings": settings, "clock": clock}
    for turns in (20, 11, 7, 9):
        list(
            run(
                api,
                f"Read {turns} times.",
                workspace,
                session=session,
                max_turns=turns,
                **same,
            )
        )
        clock.now += 4_000
    assert session.path
    session = load(session.path)
    equipped(api, workspace, session, **same).compact_now("the pause")
    list(run(api, "Once more.", workspace, session=session, max_turns=20, **same))
    return load(session.path or "")


@pytest.fixture(scope="module", params=sorted(ALL))
def session(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Session:
    settings = ALL[request.param].scaled(WINDOW)
    if settings.clear_when == "cold":
        settings = replace(settings, clear_at_least=0)
    if settings.tail_tokens is not None:
        settings = replace(
            settings, tail_tokens=1_700
        )  # two files less a bit: the older is split
    return recorded(tmp_path_factory.mktemp(request.param), settings)


@pytest.fixture(scope="module")
def frames(session: Session) -> list[Frame]:
    """The session replayed with its own settings."""
    return replay(session, session.settings)


def test_the_recording_has_what_it_should(
    session: Session, frames: list[Frame]
) -> None:
    done = [c for c in session.compactions if c.message]
    assert len(done) >= 3
    assert {c.trigger for c in done} == {"auto", "manual"}
    assert any(c.focus == "the pause" for c in done)
    settings = session.settings
    steps = [f.step for f in frames]
    assert any(c.focus == "file1.txt" for c in done) == settings.manual
    assert len({r for s in steps for r in s.cleared}) >= 10 or settings.micro == "off"
    split = [s for s in steps if s.compaction == "auto" and s.texts and s.kept[0] == 0]
    assert bool(split) == bool(
        settings.head_tokens
    )  # such a result is replayed as well
    gaps = [
        b.at - a.at
        for a, b in zip(session.requests, session.requests[1:], strict=False)
    ]
    assert max(gaps) > 3_600


def test_with_its_own_settings_the_contexts_are_the_same(
    session: Session, frames: list[Frame]
) -> None:
    assert [f.context for f in frames] == [r.context for r in session.requests]
    assert [f.prompt_tokens for f in frames] == [
        prompt_tokens(r.usage) for r in session.requests
    ]
    assert {f.billed_from for f in frames} == {"recorded"}


def test_its_compactions_are_the_recorded_ones(
    session: Session, frames: list[Frame]
) -> None:
    assert sum(f.compaction is not None for f in frames) == len(session.compactions)
    known = [c.message for c in session.compactions if c.message]
    seen = [summary_of(f.context) for f in frames if f.compaction]
    assert [summary_text(m) for m in seen] == [summary_text(m) for m in known]


def test_under_other_settings_nothing_is_violated(session: Session) -> None:
    for name, preset in ALL.items():
        frames = replay(session, preset.scaled(WINDOW))
        assert [v for f in frames if (v := violation(f.context))] == [], name
        assert all(abs(sum(f.kinds.values()) - f.prompt_tokens) < 1 for f in frames), (
            name
        )


def lowered(session: Session) -> Iterator[int | None]:
    """The turn of the first compaction by itself, for ever lower thresholds."""
    for threshold in (14_000, 9_000, 4_000):
        settings = Settings(
            context_window=16_000, output_reserve=1_000, buffer=0, micro="off"
        )
        frames = replay(session, replace(settings, threshold=threshold))
        yield next((f.turn for f in frames if f.step.compaction == "auto"), None)


def test_a_lower_threshold_never_compacts_later(session: Session) -> None:
    first = [turn if turn is not None else 10_000 for turn in lowered(session)]
    assert first == sorted(first, reverse=True)
    assert first[-1] < 10_000


def recorded_without_layers(folder: Path, settings: Settings) -> Session:
    for n in range(FILES):
        source = inspect.getsource(inspect)[n * 4_000 : (n + 1) * 4_000]
        (folder / f"file{n}.txt").write_text(source, encoding="utf-8", newline="\n")
    session = Session.create(folder / "sessions", settings=settings, session_id="whole")
    api = client(window=1_000_000, model=brain)
    list(
        run(
            api,
            "Read on.",
            Workspace(folder),
            session=session,
            settings=settings,
            max_turns=20,
        )
    )
    return session


def test_weighed_prompts_are_near_what_the_same_request_is_billed(
    tmp_path: Path,
) -> None:
    """Closed form: the weighed prompts, asked of the offline API's own count."""
    settings = Settings(auto=False, manual=False, micro="off").scaled(WINDOW)
    session = recorded_without_layers(tmp_path, settings)
    api = client(window=1_000_000, model=brain)
    frames = replay(session, replace(settings, micro="clear", keep_recent=2))
    for frame in frames[5::5]:
        counted = api.messages.count_tokens(
            model=MODEL,
            system=session.system,
            tools=session.tools,  # pyright: ignore[reportArgumentType]
            messages=frame.context,  # pyright: ignore[reportArgumentType]
        ).input_tokens
        assert frame.prompt_tokens == pytest.approx(counted, rel=0.1)


def test_a_stand_in_is_as_long_as_asked_and_marked(session: Session) -> None:
    settings = replace(
        Settings(threshold=4_000, micro="off"), context_window=40_000, buffer=0
    )
    frames = replay(session, settings, summary_tokens=300)
    texts = [summary_text(summary_of(f.context)) for f in frames if f.compaction]
    assert stand_in(300).strip() in texts


@pytest.mark.parametrize("names", [("read_file", "path"), ("Read", "file_path")])
def test_files_are_put_back_beside_a_stand_in(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    tool, path = names
    session = Session.create(tmp_path, settings=Settings(), session_id="files")
    session.say("Read on.", at=0.0)
    texts = [f"line of file {n}\n" * 400 for n in range(9)]
    for n, text in enumerate(texts, 1):
        reply = say(call(f"t{n}", tool, **{path: f"{n}.py"}))
        session.reply({**reply, "usage": {"input_tokens": 2_700 * n}}, at=float(n))
        session.answer(result(f"t{n}", text), at=n)
    plain = Settings(threshold=15_000, micro="off")
    frames = [replay(session, replace(plain, restore_files=n))[-1] for n in (0, 2)]
    without, files = (summary_text(summary_of(frame.context)) for frame in frames)
    assert without in files
    assert len([n for n in range(9) if files.count(f"\n> line of file {n}\n") > 2]) == 2
    assert frames[1].kinds["summary"] > frames[0].kinds["summary"] + 2_000


def test_the_table_has_a_row_a_turn(session: Session, frames: list[Frame]) -> None:
    rows = table(frames)
    assert list(rows["turn"]) == list(range(1, len(session.requests) + 1))
    assert list(rows["tokens"]) == [f.prompt_tokens for f in frames]


def test_the_table_has_the_prompt_that_was_compacted_and_the_request_for_its_summary(
    session: Session, frames: list[Frame]
) -> None:
    rows = table(frames)
    quiet = rows[rows["compaction"].isna()]
    done = rows[rows["compaction"].notna()]
    assert not quiet["replaced_tokens"].any()
    assert not quiet["summary_request"].any()
    asked = [max(map(prompt_tokens, c.usage), default=0) for c in session.compactions]
    assert list(done["summary_request"]) == asked
    auto = done[done["compaction"] == "auto"]
    assert (auto["replaced_tokens"] > auto["threshold"]).all()
    assert (auto["replaced_tokens"] > auto["tokens"]).all()
