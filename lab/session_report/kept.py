"""Say what each compaction kept, by kind.

A text is kept if it stands whole in the summary. White space runs count as one space
and curly quotes as straight ones. A paraphrase counts as lost. Compacted is what came
after the compaction before, without messages that stayed. `_items` says what is
looked for, and the tables' note in `report.toml` says it to the reader.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from statistics import quantiles
from typing import Any, cast

from agentlib.auto_compact import summary_text
from agentlib.messages import PUT_BACK, Message, blocks, result_text, said_in
from agentlib.session.file import CompactionRecord
from agentlib.transcripts import Session
from session_report import load
from session_report.formats import Source
from session_report.keep import normal, stands_whole
from session_report.need import named_blocks
from session_report.one import Row
from session_report.recorded import Recorded
from session_report.speakers import typed
from session_report.tools import files_of, kind_of

MESSAGES = "your messages"
RULES = "your rules"
EDITED = "files edited"
READ = "files only read"
NUMBERS = "numbers"
ERRORS = "error lines"
COMMANDS = "commands"
EARLIER = "your messages from before"
KINDS = (MESSAGES, RULES, EDITED, READ, NUMBERS, ERRORS, COMMANDS, EARLIER)
CLAUDE_CODE = "Claude Code"
RULES_AT_END = "your rules, at the last compaction"
_LENGTHS = {"under 40": 40, "of 40 to 199": 200, "of 200 to 999": 1_000}
_LONGER = "of 1,000 or more"

_RULE = re.compile(
    r"\b(?:do not|don'?t|never|always|must|only|instead|should not|shouldn'?t"
    r"|no longer|avoid|make sure"
    r"|nie|niemals|immer|muss|musst|darf nicht|nur|statt|jamais|toujours|nunca|siempre)"
    r"\b|不要|别|必须|只|永远|总是|禁止|而不是",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+|(?<=[。！？])")
_BULLET = re.compile(r"^[\s*\-\d.)]+")
_SHORTEST_RULE = 15
_LONGEST_WITH_RULE = 400
_NUMBER = re.compile(r"(?<![\w.#-])(?:\d{1,3}(?:,\d{3})+|\d{3,})(?!\w|\.\d)")
_ERROR = re.compile(r"\b\w*(?:Error|Exception)\b|\b[Ff]ailed\b")
_ERROR_WORDS = ("Error", "Exception", "ailed")
"""Every text that `_ERROR` finds has one. They are looked for first, which is quick."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.]+Z?|\b\d\d:\d\d:\d\d(?:\.\d+)?")
_AROUND = re.compile(r"( 2>&1)?( \| (tail|head|grep)\b[^|]*)+$| 2>&1$")
_HEAD = re.compile(r"^\s*This session is being continued[^\n]*\n")
_FOOT = re.compile(
    r"\n\s*(?:If you need specific details from before|Please continue the conver).*$",
    re.DOTALL,
)
_SPECIFIC = 30
_SHORTEST_COMMAND = 6
_RUN = 40
"""Characters in a row by which a message from before is known again."""


@dataclass(frozen=True)
class Compacted:
    """One compaction: what was there of each kind, its summary, and what it kept."""

    number: int
    items: Mapping[str, Sequence[str]]
    """The texts of each kind."""
    summary: str
    kept: Mapping[str, Sequence[bool]]
    """For each text of a kind whether it was kept."""
    with_hooks: Mapping[str, Sequence[bool]]
    """The same, if what hooks put beside the summary counts, too. Empty: nothing."""
    rules: Sequence[bool]
    """For each rule said so far whether it was kept."""
    program: str = ""
    """The program that compacted, by the name of its format. "": ours."""

    @property
    def key(self) -> str:
        """What a copy of the compaction in another file has, too."""
        text = f"{self.summary}\0{sum(map(len, self.items.values()))}"
        return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


@lru_cache(maxsize=1)
def compacted(session: Session) -> list[Compacted]:
    """Measure each compaction of a session that has a summary. The rows of the last
    session are remembered.

    The first one is left out if the file begins in the middle of what it compacted.

    On paper: the person says "Never touch main.py." and "Go on.", and the summary is
    'The user said "Never touch main.py."'. One message of two and the only rule are
    kept.
    """
    is_recorded = isinstance(session, Recorded)
    hooks = session.hooked if is_recorded else []
    program = session.about.program if is_recorded else ""
    measured = list[Compacted]()
    start = 0
    talk = _Talk(session)
    for number, compaction in enumerate(session.compactions, 1):
        if compaction.message is None:
            continue
        summary = summary_of(compaction)
        items = _items(talk, start, compaction)
        beside = [text for place, text in hooks if place == number]
        rules = _rules([*items[EARLIER], *items[MESSAGES]])
        measured.append(
            Compacted(
                number=number,
                items=items,
                summary=summary,
                kept=_all_tested(items, summary),
                with_hooks=_all_tested(items, "\n".join([summary, *beside]))
                if beside
                else {},
                rules=_tested(RULES, rules, summary),
                program=program,
            )
        )
        start = compaction.seen
    return measured[1:] if is_recorded and session.is_cut else measured


def measured(path: Path | Source) -> list[Compacted]:
    """Measure the compactions of a session. Raises what `load` raises."""
    return compacted(load(path))


def summary_of(compaction: CompactionRecord) -> str:
    """Return a summary as it is searched: without its frame and what was put back, but
    with the person's words that stand beside it."""
    if compaction.message is None:
        return ""
    text = summary_text(compaction.message).partition(PUT_BACK)[0]
    text = _FOOT.sub("", _HEAD.sub("", text.replace("\r", "")))
    words = (each for block in blocks(compaction.message) for each in said_in(block))
    return "\n".join([text, *words])


def rows(session: Session) -> list[Row]:
    """Return a row for each compaction and kind: how many were `kept` `of` how many,
    and which are `missing`."""
    return [
        {"compaction": each.number, **row}
        for each in compacted(session)
        for row in _counted(each)
    ]


def sums(session: Session) -> list[Row]:
    """Return the same without texts, with a `key` that copies share, and the rules at
    the last compaction."""
    every = compacted(session)
    found: list[Row] = [
        {"key": each.key, **row} for each in every for row in _counted(each)
    ]
    for each in every[-1:]:
        if each.rules:
            counts = {"kept": sum(each.rules), "of": len(each.rules)}
            found.append({"key": each.key, "what": RULES_AT_END, **counts})
    return [{n: row[n] for n in row if n != "missing"} for row in found]


def _counted(each: Compacted) -> Iterator[Row]:
    for kind in KINDS:
        flags = each.kept[kind]
        texts = each.items[kind]
        gone = [text for text, flag in zip(texts, flags, strict=True) if not flag]
        if flags:
            yield {
                "what": kind,
                "kept": sum(flags),
                "of": len(flags),
                "missing": "\n".join(gone)[:2_000],
            }


# -- what was there --------------------------------------------------------------------


class _Talk:
    """What is sought in a session, found once for all its compactions."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.places = [request.seen for request in session.requests]
        self.calls = dict[str, Any]()
        """Each call by its id."""
        self._said = list[tuple[int, str, set[int]]]()
        """The person's messages: places, texts and ids of their blocks."""
        for place, message in enumerate(session.history):
            if _is_person(session, place, message):
                keys = {key for key, _ in named_blocks(message)}
                if text := typed(_words(message)):
                    self._said.append((place, text, keys))
            for block in blocks(message):
                if block["type"] == "tool_use":
                    self.calls[block["id"]] = block

    def messages(
        self, start: int, end: int, stayed: set[int] | frozenset[int] = frozenset()
    ) -> list[str]:
        """Return the person's messages, those that waited for the agent among them."""
        found = [
            (place, text)
            for place, text, keys in self._said
            if start <= place < end and stayed.isdisjoint(keys)
        ]
        queued = self.session.queued if isinstance(self.session, Recorded) else []
        if queued:
            known = {normal(text) for _, text in found}
            for place, text in queued:
                if start <= place < end and normal(text) not in {*known, ""}:
                    found.append((place, text.strip()))
                    known.add(normal(text))
        return [text for _, text in sorted(found)]


def _items(
    talk: _Talk, start: int, compaction: CompactionRecord
) -> dict[str, list[str]]:
    """Return the texts of each kind that a compaction replaced.

    - Your messages: what the person typed, without what programs put between.
    - Your rules: their sentences of 15 characters or more with a word such as "never",
      "always", "must" or "don't", in messages under 400 characters.
    - Files: kept if their name stands there, whatever the folder.
    - Numbers: of three digits or more, in your messages and the model's words.
    - Error lines: lines of 30 to 400 characters with Error, Exception or failed, in
      results of commands or of calls that failed. Kept if the 30 characters after the
      colon are there, or the last 30.
    - Commands: without a `cd` before and a `tail`, `head` or `grep` behind.
    - Your messages from before: those that an earlier compaction had seen. One is kept
      if it stands whole, or if 40 characters of it in a row do.
    """
    end = compaction.seen
    session = talk.session
    stayed = _stayed(talk, compaction)
    replaced = [
        message
        for message in session.history[start:end]
        if stayed.isdisjoint(key for key, _ in named_blocks(message))
    ]
    texts = talk.messages(start, end, stayed)
    called = [
        block for m in replaced for block in blocks(m) if block["type"] == "tool_use"
    ]
    edited = [f for c in called if kind_of(c) == "write" for f in files_of(c)]
    read = [f for c in called if kind_of(c) == "read" for f in files_of(c)]
    words = [
        block["text"]
        for m in replaced
        if m["role"] == "assistant"
        for block in blocks(m)
        if block["type"] == "text"
    ]
    return {
        MESSAGES: texts,
        RULES: _rules(texts),
        EDITED: _once(edited),
        READ: _once(file for file in read if file not in edited),
        NUMBERS: _once(n for text in (*texts, *words) for n in _numbers(text)),
        ERRORS: _once(line for m in replaced for line in _errors(m, talk.calls)),
        COMMANDS: _once(core for call in called for core in _command(call)),
        EARLIER: talk.messages(0, start),
    }


def _once(texts: Iterator[str] | Sequence[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _stayed(talk: "_Talk", compaction: CompactionRecord) -> set[int]:
    """Return the ids of the blocks that the first prompt after a compaction still
    has."""
    place = bisect_right(talk.places, compaction.seen - 1)
    if place == len(talk.places):
        return set()
    context = talk.session.requests[place].context
    return {key for message in context for key, _ in named_blocks(message)}


def _is_person(session: Session, place: int, message: Message) -> bool:
    if isinstance(session, Recorded):
        return place in session.person
    types = {block["type"] for block in blocks(message)}
    return message["role"] == "user" and types == {"text"}


def _words(message: Message) -> str:
    return "\n".join(b["text"] for b in blocks(message) if b["type"] == "text")


def _rules(texts: Sequence[str]) -> list[str]:
    """Return the sentences with a rule, of messages that are no paste.

    >>> _rules(["Please go on.\\n- You must never push to main!", "Never."])
    ['You must never push to main!']
    """
    return [rule for text in texts for rule in _rules_of(text)]


@lru_cache(maxsize=10_000)
def _rules_of(text: str) -> tuple[str, ...]:
    """Return the rules of one message. Each compaction asks for those of all messages
    before it, so they are remembered."""
    if len(text) >= _LONGEST_WITH_RULE:
        return ()
    sentences = (normal(_BULLET.sub("", part)) for part in _SENTENCE.split(text))
    return tuple(
        sentence
        for sentence in sentences
        if len(sentence) >= _SHORTEST_RULE and _RULE.search(sentence)
    )


def _numbers(text: str) -> Iterator[str]:
    """Yield the numbers of three digits or more.

    >>> [*_numbers("1,234 of 999; not 12, x123 or 3.141")]
    ['1234', '999']
    """
    for found in _NUMBER.finditer(text):
        yield found[0].replace(",", "")


def _errors(message: Message, calls: Mapping[str, Any]) -> Iterator[str]:
    for block in blocks(message):
        if block["type"] != "tool_result":
            continue
        call = calls.get(block["tool_use_id"])
        is_shell = call is not None and kind_of(call) == "shell"
        if is_shell or block.get("is_error"):
            result = result_text(block)
            has_error = any(word in result for word in _ERROR_WORDS)
            lines = result.split("\n") if has_error else ()
            for line in filter(_ERROR.search, lines):
                text = normal(_STAMP.sub("", _COLOURS.sub("", line)))
                if 30 <= len(text) <= 400 and _ERROR.search(text):
                    yield text


def _command(call: Mapping[str, Any]) -> Iterator[str]:
    """Yield the core of a command.

    >>> run = {"name": "Bash", "input": {"command": "cd /a && make test 2>&1 | tail -5"}}
    >>> [*_command(run)]
    ['make test']
    """
    given: Any = call["input"].get("command") or call["input"].get("cmd") or ""
    parts = cast(list[Any], given) if isinstance(given, list) else [given]
    text = " ".join(map(str, parts))
    core = _AROUND.sub("", re.sub(r"^cd \S+ && ", "", normal(text)))
    if kind_of(dict(call)) == "shell" and len(core) >= _SHORTEST_COMMAND:
        yield core


# -- what is kept ----------------------------------------------------------------------


@lru_cache(maxsize=2)
def _stands_in(within: str) -> Callable[[str], bool]:
    """Return what tells whether a text stands whole in another, or a run of it does.

    A run of 40 characters holds a piece of 20 of the text whole, if that is cut into
    such pieces. So only texts with such a piece are searched run by run.
    """
    size = _RUN // 2
    pieces = {within[at : at + size] for at in range(len(within) - size + 1)}

    def stands(text: str) -> bool:
        sought = normal(text)
        if len(sought) < _RUN:
            return stands_whole(sought, within)
        starts = range(0, len(sought) - size + 1, size)
        if not any(sought[at : at + size] in pieces for at in starts):
            return False
        runs = (sought[at : at + _RUN] for at in range(len(sought) - _RUN + 1))
        return any(run in within for run in runs)

    return stands


def _all_tested(
    items: Mapping[str, Sequence[str]], summary: str
) -> dict[str, list[bool]]:
    return {kind: _tested(kind, texts, summary) for kind, texts in items.items()}


def _tested(kind: str, texts: Sequence[str], summary: str) -> list[bool]:
    """Tell for each text of a kind whether a summary keeps it."""
    if not texts:
        return []
    within = normal(summary)
    numbers = {*_numbers(summary)} if kind == NUMBERS else set[str]()
    tests: dict[str, Callable[[str], bool]] = {
        NUMBERS: lambda text: text in numbers,
        EDITED: lambda text: stands_whole(_name(text), within),
        READ: lambda text: stands_whole(_name(text), within),
        ERRORS: lambda text: _specific(text) in within,
        COMMANDS: lambda text: text in within,
        RULES: lambda text: normal(text).rstrip(".!? ") in within,
    }
    if kind == EARLIER:
        tests[kind] = _stands_in(within)
    test = tests.get(kind, lambda text: stands_whole(normal(text), within))
    return [test(text) for text in texts]


def _name(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _specific(line: str) -> str:
    """Return the part of an error line that only this error has.

    >>> _specific("ValueError: the price of a book must not be below zero: -3")
    'the price of a book must not b'
    """
    found = _ERROR.search(line)
    rest = line[found.end() :] if found else line
    after = re.sub(r"^[^:]{0,60}:\s*", "", rest, count=1).strip()
    return after[:_SPECIFIC] if len(after) >= _SPECIFIC else line[-_SPECIFIC:]


# -- many files ------------------------------------------------------------------------


def pooled(every: Sequence[Sequence[Compacted]]) -> list[Row]:
    """Return a row for each kind, of the compactions of many files.

    `compactions` and `items` are how many there were, `q1`, `median` and `q3` quartiles
    of the kept share of a compaction, `pooled` that of all items. `chance` is what the
    summary of another file would have kept, `None` if there is only one file.
    `with_hooks` is the pooled share if what hooks put beside the summaries counts as
    kept, `None` if they put nothing. Messages have a row for each class of length, too.
    Copies in other files count once.
    """
    files = _without_copies(every)
    shares = dict[str, list[list[bool]]]()
    chances = dict[str, list[bool]]()
    hooked = dict[str, list[bool]]()
    has_hooks = any(each.with_hooks for one in files for each in one)
    for place, one in enumerate(files):
        other = files[(place + 1) % len(files)][0].summary if len(files) > 1 else ""
        for each in one:
            for kind, texts, flags, with_hooks in _classes(each):
                if flags:
                    shares.setdefault(kind, []).append(flags)
                    hooked.setdefault(kind, []).extend(with_hooks)
                if other:
                    base = kind.partition(" characters")[0]
                    tested = _tested(MESSAGES if base != kind else kind, texts, other)
                    chances.setdefault(kind, []).extend(tested)
    order = {kind: number for number, kind in enumerate(KINDS)}
    found = sorted(shares, key=lambda kind: order.get(kind, 0.5))
    return [
        _pooled(kind, shares[kind], chances.get(kind))
        | {"with_hooks": _share(hooked[kind]) if has_hooks else None}
        for kind in found
    ]


def _without_copies(every: Sequence[Sequence[Compacted]]) -> list[list[Compacted]]:
    seen = set[str]()
    files = list[list[Compacted]]()
    for one in every:
        new = [each for each in one if each.key not in seen]
        seen |= {each.key for each in one}
        files += [new] if new else []
    return files


def _classes(
    each: Compacted,
) -> Iterator[tuple[str, list[str], list[bool], list[bool]]]:
    """Yield each kind with its texts, whether they were kept, and whether hooks counted
    in, then the messages by length."""
    hooked = each.with_hooks or each.kept
    for kind in KINDS:
        yield kind, [*each.items[kind]], [*each.kept[kind]], [*hooked[kind]]
    texts = each.items[MESSAGES]
    low = 0
    for name, high in {**_LENGTHS, _LONGER: 10**9}.items():
        part = [n for n, text in enumerate(texts) if low <= len(normal(text)) < high]
        flags = [each.kept[MESSAGES][n] for n in part]
        with_hooks = [hooked[MESSAGES][n] for n in part]
        yield f"messages {name} characters", [texts[n] for n in part], flags, with_hooks
        low = high


def _pooled(kind: str, flags: list[list[bool]], chance: list[bool] | None) -> Row:
    shares = [sum(each) / len(each) for each in flags]
    ends = quantiles(shares, n=4, method="inclusive") if shares[1:] else shares * 3
    count = sum(map(len, flags))
    return {
        "what": kind,
        "compactions": len(flags),
        "items": count,
        "q1": ends[0],
        "median": ends[1],
        "q3": ends[2],
        "pooled": sum(map(sum, flags)) / count,
        "chance": _share(chance or []),
    }


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None


def advice(every: Sequence[Sequence[Compacted]]) -> str:
    """Name the command that puts words back, "" if no compaction of Claude Code has
    lost any of the person's."""
    lost = sum(
        not flag
        for one in _without_copies(every)
        for each in one
        if each.program == CLAUDE_CODE
        for kind in (MESSAGES, EARLIER)
        for flag in (each.with_hooks or each.kept)[kind]
    )
    text = "`agentlib-keep` gives Claude Code your words back after each compaction."
    return text if lost else ""


def as_markdown(table: Sequence[Row]) -> str:
    """Write the rows of `pooled` as a table in Markdown. The column of hooks is there
    only if they put something back."""
    columns = {name: title for name, title in _COLUMNS.items() if name != "with_hooks"}
    if any(row["with_hooks"] is not None for row in table):
        columns = _COLUMNS
    titles = ("kind", "compactions", "items", *columns.values())
    lines = [f"| {' | '.join(titles)} |", f"|---|{'--:|' * (len(titles) - 1)}"]
    for row in table:
        shares = ("" if row[n] is None else f"{row[n]:.0%}" for n in columns)
        cells = (row["what"], row["compactions"], row["items"], *shares)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


_COLUMNS = {
    "q1": "quartile 1",
    "median": "median",
    "q3": "quartile 3",
    "pooled": "pooled",
    "with_hooks": "with hooks",
    "chance": "chance",
}
