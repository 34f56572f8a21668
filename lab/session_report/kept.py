"""Say what each compaction kept, by kind, and what its summary says that nobody said.

The rules are small enough to check by hand:

- A text is kept if it stands whole in the summary. White space runs count as one space
  and curly quotes as straight ones. A paraphrase counts as lost.
- Compacted is what came after the compaction before, without messages that stayed.
- Your messages: what the person typed, without what programs put between.
- Your rules: their sentences of 15 characters or more with a word such as "never",
  "always", "must" or "don't", in messages under 400 characters.
- Files: kept if their name stands there, whatever the folder.
- Numbers: of three digits or more, in your messages and the model's words.
- Error lines: lines of 30 to 400 characters with Error, Exception or failed, in results
  of commands or of calls that failed. Kept if the 30 characters after the colon are
  there, or the last 30.
- Commands: without a `cd` before and a `tail`, `head` or `grep` behind.
- Open todos: of the newest list.
- Your messages from before: those that an earlier compaction had seen, and of these
  those that the summary before this one still had. Here a message is kept if it stands
  whole, or if 40 characters of it in a row do.
- Its quotes: of 30 characters or more in the summary's double quotes. Found if each
  piece between "..." stands somewhere in the file before, letters and digits compared.

Source: measured on 54 compactions of 44 public sessions of Claude Code.
`agentlib-sessions --kept FOLDER` makes such a table of other files. Its column "with
hooks" also counts what hooks put beside a summary.
"""

import json
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
TODOS = "open todos"
EARLIER = "your messages from before"
STILL = "of these, in the summary before"
EARLIER_RULES = "your rules from before"
QUOTES = "its quotes, found before"
KINDS = (
    MESSAGES,
    RULES,
    EDITED,
    READ,
    NUMBERS,
    ERRORS,
    COMMANDS,
    TODOS,
    EARLIER,
    STILL,
    EARLIER_RULES,
    QUOTES,
)
RULES_OF_THE_COUNT = (__doc__ or "").partition("Source:")[0].strip()
"""How everything is counted, for those who read the table."""
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
_ARROWS = re.compile(r"^\s*\d+[→\t]", re.MULTILINE)
"""What a tool puts before each line of a file."""
_FENCE = re.compile(r"```.*?```", re.DOTALL)
_CUT = re.compile(r"\.\.\.|…|\[[^\]]{8,}\]")
_HEAD = re.compile(r"^\s*This session is being continued[^\n]*\n")
_FOOT = re.compile(
    r"\n\s*(?:If you need specific details from before|Please continue the conver).*$",
    re.DOTALL,
)
_STRIDE = 16
"""Letters from one piece of a text that is looked up to the next."""
_QUOTE = 30
_PIECE = 10
_STEP = 8
_SPECIFIC = 30
_SHORTEST_COMMAND = 6
_RUN = 40
"""Characters in a row by which a message from before is known again."""


@dataclass(frozen=True)
class Compacted:
    """One compaction: what was there of each kind, its summary, and what it kept."""

    number: int
    items: Mapping[str, Sequence[str]]
    """The texts of each kind, each once."""
    summary: str
    kept: Mapping[str, Sequence[bool]]
    """For each text of a kind whether it was kept. For `QUOTES`: whether it was
    said."""
    with_hooks: Mapping[str, Sequence[bool]]
    """The same, if what hooks put beside the summary counts, too. Empty: nothing."""
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
    measured = list[_Measured]()
    start = 0
    before = ""
    talk = _Talk(session)
    for number, compaction in enumerate(session.compactions, 1):
        if compaction.message is None:
            continue
        summary = summary_of(compaction)
        end = compaction.seen
        items = _items(talk, start, compaction)
        earlier = talk.messages(0, start)
        items[EARLIER] = earlier
        stands = _stands_in(before)
        items[STILL] = [text for text in earlier if stands(text)]
        items[EARLIER_RULES] = _rules(earlier)
        items[QUOTES] = _quotes(summary)
        measured.append(_Measured(number, end, items, summary))
        start = end
        before = normal(summary)
    unsaid = _unsaid(session, measured)
    hooked = session.hooked if isinstance(session, Recorded) else []
    program = session.about.program if isinstance(session, Recorded) else ""
    if measured and isinstance(session, Recorded) and session.is_cut:
        measured = [each for each in measured if each.end != measured[0].end]
    return [
        each.compacted(
            unsaid, [text for number, text in hooked if number == each.number], program
        )
        for each in measured
    ]


@dataclass(frozen=True)
class _Measured:
    number: int
    end: int
    """Length of the history at the compaction."""
    items: dict[str, list[str]]
    summary: str

    def compacted(
        self, unsaid: set[tuple[int, str]], hooked: Sequence[str], program: str
    ) -> Compacted:
        """Test what was kept. `unsaid`: places of compactions and quotes. `hooked`:
        what hooks put beside the summary."""
        kept = self._tested(self.summary)
        quotes = self.items[QUOTES]
        kept[QUOTES] = [(self.end, quote) not in unsaid for quote in quotes]
        with_hooks = (
            self._tested("\n".join([self.summary, *hooked])) | {QUOTES: kept[QUOTES]}
            if hooked
            else {}
        )
        return Compacted(
            self.number, self.items, self.summary, kept, with_hooks, program
        )

    def _tested(self, summary: str) -> dict[str, list[bool]]:
        return {
            kind: _tested(kind, texts, summary) for kind, texts in self.items.items()
        }


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
    and which are `missing`, or for quotes: which nobody said."""
    return [
        {"compaction": each.number, **row}
        for each in compacted(session)
        for row in _counted(each)
    ]


def sums(session: Session) -> list[Row]:
    """Return the same without texts, with a `key` that copies share, and the rules at
    the last compaction."""
    every = compacted(session)
    found = list[Row]()
    for each in every:
        for row in _counted(each):
            found.append({"key": each.key, **row})
    for each in every[-1:]:
        flags = [*each.kept[RULES], *each.kept[EARLIER_RULES]]
        if flags:
            counts = {"kept": sum(flags), "of": len(flags)}
            found.append(
                {"key": each.key, "what": RULES_AT_END, **counts, "missing": ""}
            )
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
        self.lists = list[tuple[int, Any]]()
        """Calls that write a list of todos, with their places."""
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
                    if block["name"] in _LISTS:
                        self.lists.append((place, block))

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
    """Return the texts of each kind that a compaction replaced."""
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
        TODOS: _todos([block for place, block in talk.lists if place < end]),
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


def _todos(calls: Sequence[Any]) -> list[str]:
    """Return what is still open of the newest list of todos."""
    listed = dict[str, str]()
    tasks = dict[str, dict[str, str]]()
    for block in calls:
        given: Any = block["input"]
        if block["name"] in _WHOLE_LISTS:
            entries: Any = given.get("todos") or given.get("plan") or []
            listed = {
                str(entry.get("content") or entry.get("step")): str(entry.get("status"))
                for entry in _dicts(entries)
            }
        elif block["name"] == "TaskCreate":
            task = {"text": str(given.get("subject") or ""), "status": "pending"}
            tasks[str(len(tasks) + 1)] = task
        elif block["name"] == "TaskUpdate" and str(given.get("taskId")) in tasks:
            task = tasks[str(given["taskId"])]
            task["status"] = str(given.get("status") or task["status"])
            task["text"] = str(given.get("subject") or task["text"])
    every = [*listed.items(), *((t["text"], t["status"]) for t in tasks.values())]
    return [text for text, status in every if text and status in _OPEN]


def _dicts(values: Any) -> list[dict[str, Any]]:
    listed = cast(list[Any], values) if isinstance(values, list) else []
    return [each for each in listed if isinstance(each, dict)]


_OPEN = ("pending", "in_progress")
_WHOLE_LISTS = ("TodoWrite", "todo_write", "update_plan")
_LISTS = (*_WHOLE_LISTS, "TaskCreate", "TaskUpdate")
"""Tools that write todos: all of them, or one."""


def _quotes(summary: str) -> list[str]:
    """Return what a summary puts into double quotes, but for code.

    >>> _quotes('He said "Never change the old prices again.", and "no".')
    ['Never change the old prices again.']
    """
    found = list[str]()
    for line in _FENCE.sub("\n", summary).split("\n"):
        parts = normal(line).split('"')
        if len(parts) % 2:  # each quote has its end
            found += [part for part in parts[1::2] if len(part) >= _QUOTE]
    return _once(found)


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
        EARLIER_RULES: lambda text: normal(text).rstrip(".!? ") in within,
    }
    if kind in (EARLIER, STILL):
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


def _unsaid(session: Session, measured: Sequence[_Measured]) -> set[tuple[int, str]]:
    """Return the quotes of summaries that stand nowhere before, with the place of the
    compaction.

    The file is searched once. Of each text a piece of eight letters is looked up every
    sixteen letters, and a long quote that stands in it has one of them whole.
    """
    wanted = dict[str, set[tuple[int, str, str]]]()
    missing = set[tuple[int, str, str]]()
    short = set[tuple[int, str, str]]()
    for each in measured:
        for quote in each.items[QUOTES]:
            for part in _CUT.split(quote):
                piece = bare(part)
                if len(part.strip()) >= _PIECE and len(piece) >= _STEP:
                    sought = each.end, quote, piece
                    missing.add(sought)
                    if len(piece) < _STRIDE + _STEP:
                        short.add(sought)
                        continue
                    for at in range(_STRIDE):
                        wanted.setdefault(piece[at : at + _STEP], set()).add(sought)
    for place, text in _texts(session, measured) if missing else ():
        plain = bare(text)
        starts = {*_PIECES.findall(plain)} & wanted.keys()
        likely = [*([short] if short else []), *(wanted[start] for start in starts)]
        if not likely:
            continue
        missing -= {
            sought
            for several in likely
            for sought in several
            if place < sought[0] and sought in missing and sought[2] in plain
        }
        if not missing:
            break
    return {(end, quote) for end, quote, _ in missing}


def _texts(
    session: Session, measured: Sequence[_Measured]
) -> Iterator[tuple[int, str]]:
    """Yield every text of a session with its place."""
    for place, message in enumerate(session.history):
        for block in blocks(message):
            yield place, _text(block)
    yield from ((each.end, each.summary) for each in measured)
    if isinstance(session, Recorded):
        yield from ((place, text) for place, text in session.queued)


def _text(block: Mapping[str, Any]) -> str:
    match block:
        case {"type": "tool_result"}:
            text = result_text(dict(block))
            is_numbered = "→" in text or "\t" in text
            return _ARROWS.sub("", text) if is_numbered else text
        case {"type": "tool_use" | "server_tool_use", "input": given}:
            return json.dumps(given, ensure_ascii=False).replace("\\n", "\n")
        case _:
            return str(block.get("text") or block.get("thinking") or "")


def bare(text: str) -> str:
    """Return a text's letters and digits, in small letters.

    >>> bare("It's _so_, 3x.")
    'itsso3x'
    """
    if text.isascii():  # most are, and this is ten times as fast
        return text.encode().translate(None, _NO_LETTERS).decode().lower()
    return _NO_LETTER.sub("", text).lower()


_PIECES = re.compile(rf"(.{{{_STEP}}}).{{0,{_STRIDE - _STEP}}}", re.DOTALL)
_NO_LETTER = re.compile(r"[\W_]+")
_NO_LETTERS = bytes(n for n in range(128) if not chr(n).isalnum())


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
                if other and kind != QUOTES:
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
