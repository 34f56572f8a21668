"""A format is a module with a `FORMAT`: here one whose files keep many sessions."""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pytest

from session_report import FORMATS, load
from session_report.events import Reply, Who, bill
from session_report.formats import Format, Reader, Source
from session_report.overview import overview
from session_report.reading import sources
from tests.builders import text
from tests.session_report.session_files import Line
from tests.session_report.test_session_report import run


@dataclass(frozen=True)
class Part:
    """Opens one session of a file."""

    path: Path
    name: str

    def __call__(self) -> BinaryIO:
        turns = json.loads(self.path.read_text(encoding="utf-8"))[self.name]
        return io.BytesIO("\n".join(map(json.dumps, turns)).encode())


def parts(path: Path) -> Iterator[Source]:
    for name, turns in json.loads(path.read_text(encoding="utf-8")).items():
        size = len(json.dumps(turns))
        yield Source(path, name, size, 0.0, Part(path, name), is_part=True)


class Toy(Reader):
    """Reads `{"you": …}` and `{"model": …, "tokens": [in, out]}`."""

    def read(self, number: str, line: Line) -> None:
        if "you" in line:
            self.tell(number, self.clock.said(line.get("at")), line["you"], Who.PERSON)
        else:
            prompt, answer = line["tokens"]
            reply = Reply(
                name=number,
                at=self.clock.asked(line.get("at")),
                blocks=[text(line["model"])],
                model="claude-haiku-5-5",
                bill=bill(prompt, 0, 0, answer),
            )
            self.events.append(reply)


FORMAT = Format(
    "Toy", '"you"', ("*.toy",), lambda line: "you" in line, Toy, sources=parts
)
SESSIONS = {
    "ada": [{"you": "Go."}, {"model": "Gone.", "tokens": [1_000, 10]}],
    "bob": [{"you": "Stay."}, {"model": "Stayed.", "tokens": [2_000, 20]}],
}


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(FORMATS, FORMAT.name, FORMAT)
    path = tmp_path / "all.toy"
    path.write_text(json.dumps(SESSIONS), encoding="utf-8")
    return path


def test_its_sessions_are_found_and_read(toy: Path) -> None:
    one, two = sources([toy.parent])
    assert [str(one), str(two)] == [f"{toy}#ada", f"{toy}#bob"]
    session = load(two)
    assert [m["content"] for m in session.history] == ["Stay.", [text("Stayed.")]]
    with pytest.raises(ValueError, match="2 sessions"):
        load(toy)


def test_they_are_counted_one_by_one(toy: Path) -> None:
    spent = overview([toy], jobs=1)["spent"]
    assert spent.groupby("session")["tokens"].sum().to_dict() == {
        "ada": 1_010,
        "bob": 2_020,
    }
    assert {*spent["program"]} == {"Toy"}
    assert "$0.00021 at list prices for 1 response, 1 session." in run(
        toy, "--session", "bob"
    ).stdout.replace("\n", " ")


def test_one_that_cannot_be_read_is_named_and_the_others_count(toy: Path) -> None:
    toy.write_text(json.dumps({**SESSIONS, "eve": [{"me": 1}]}), encoding="utf-8")
    tables = overview([toy], jobs=1)
    assert [*tables["unread"]["file"]] == [f"{toy}#eve"]
    assert {*tables["spent"]["session"]} == {"ada", "bob"}
    toy.write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"all\.toy"):
        overview([toy], jobs=1)
