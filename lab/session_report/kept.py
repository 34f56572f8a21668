"""Say what each compaction kept, by kind.

A text is kept if it stands whole in the summary, or in what hooks put beside it. White
space runs count as one space and curly quotes as straight ones. A paraphrase counts as
lost. Compacted is what came after the compaction before, without messages that stayed.
`_items` says what is looked for, and the table's note in `report.toml` says it to the
reader.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from agentlib.auto_compact import summary_text
from agentlib.messages import PUT_BACK, Message, blocks, said_in
from agentlib.session.file import CompactionRecord
from agentlib.transcripts import Session
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
EARLIER = "your messages from before"

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
_HEAD = re.compile(r"^\s*This session is being continued[^\n]*\n")
_FOOT = re.compile(
    r"\n\s*(?:If you need specific details from before|Please continue the conver).*$",
    re.DOTALL,
)


@dataclass(frozen=True)
class Compacted:
    """One compaction: what was there of each kind, and what it kept."""

    number: int
    items: Mapping[str, Sequence[str]]
    """The texts of each kind."""
    context: str
    """The summary, and what stands beside it."""
    kept: Mapping[str, Sequence[bool]]
    """For each text of a kind whether it was kept."""

    @property
    def key(self) -> str:
        """What a copy of the compaction in another file has, too."""
        text = f"{self.context}\0{sum(map(len, self.items.values()))}"
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
    measured = list[Compacted]()
    start = 0
    talk = _Talk(session)
    for number, compaction in enumerate(session.compactions, 1):
        if compaction.message is None:
            continue
        beside = (text for place, text in hooks if place == number)
        context = "\n".join([_summary(compaction.message), *beside])
        items = _items(talk, start, compaction)
        kept = {kind: _tested(kind, items[kind], context) for kind in items}
        measured.append(Compacted(number, items, context, kept))
        start = compaction.seen
    return measured[1:] if is_recorded and session.is_cut else measured


def _summary(message: Message) -> str:
    """Return a summary as it is searched: without its frame and what was put back, but
    with the person's words that stand beside it."""
    text = summary_text(message).partition(PUT_BACK)[0]
    text = _FOOT.sub("", _HEAD.sub("", text.replace("\r", "")))
    words = (each for block in blocks(message) for each in said_in(block))
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
    """Return the same without texts, with a `key` that copies share. Of the rules only
    those at the last compaction count."""
    every = compacted(session)
    return [
        {"key": each.key, "what": row["what"], "kept": row["kept"], "of": row["of"]}
        for each in every
        for row in _counted(each)
        if row["what"] != RULES or each is every[-1]
    ]


def _counted(each: Compacted) -> Iterator[Row]:
    for kind, flags in each.kept.items():
        pairs = zip(each.items[kind], flags, strict=True)
        gone = [text for text, flag in pairs if not flag]
        if flags:
            yield {
                "what": kind,
                "kept": sum(flags),
                "of": len(flags),
                "missing": "\n".join(gone)[:2_000],
            }


# -- what was there --------------------------------------------------------------------


class _Talk:
    """What the person said in a session, found once for all its compactions."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._said = list[tuple[int, str, set[int]]]()
        """Places, texts and ids of the blocks."""
        for place, message in enumerate(session.history):
            if _is_person(session, place, message) and (text := typed(_words(message))):
                keys = {key for key, _ in named_blocks(message)}
                self._said.append((place, text, keys))

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
    - Your rules: sentences of 15 characters or more with a word such as "never",
      "always", "must" or "don't", in messages under 400 characters, and also in those
      from before.
    - Files: kept if their name stands there, whatever the folder.
    - Your messages from before: those that an earlier compaction had seen.
    """
    end = compaction.seen
    session = talk.session
    stayed = _stayed(session, compaction)
    replaced = [
        message
        for message in session.history[start:end]
        if stayed.isdisjoint(key for key, _ in named_blocks(message))
    ]
    texts = talk.messages(start, end, stayed)
    earlier = talk.messages(0, start)
    called = [
        block for m in replaced for block in blocks(m) if block["type"] == "tool_use"
    ]
    edited = [f for c in called if kind_of(c) == "write" for f in files_of(c)]
    read = [f for c in called if kind_of(c) == "read" for f in files_of(c)]
    return {
        MESSAGES: texts,
        RULES: [rule for text in (*earlier, *texts) for rule in _rules(text)],
        EDITED: [*dict.fromkeys(edited)],
        READ: [*dict.fromkeys(file for file in read if file not in edited)],
        EARLIER: earlier,
    }


def _stayed(session: Session, compaction: CompactionRecord) -> set[int]:
    """Return the ids of the blocks that the first prompt after a compaction still
    has."""
    requests = session.requests
    place = bisect_right(requests, compaction.seen - 1, key=lambda each: each.seen)
    context = requests[place].context if place < len(requests) else []
    return {key for message in context for key, _ in named_blocks(message)}


def _is_person(session: Session, place: int, message: Message) -> bool:
    if isinstance(session, Recorded):
        return place in session.person
    types = {block["type"] for block in blocks(message)}
    return message["role"] == "user" and types == {"text"}


def _words(message: Message) -> str:
    return "\n".join(b["text"] for b in blocks(message) if b["type"] == "text")


@lru_cache(maxsize=10_000)
def _rules(text: str) -> tuple[str, ...]:
    """Return the sentences with a rule of a message that is no paste. Each compaction
    asks for those of all messages before it, so they are remembered.

    >>> _rules("Please go on.\\n- You must never push to main!")
    ('You must never push to main!',)
    """
    if len(text) >= _LONGEST_WITH_RULE:
        return ()
    sentences = (normal(_BULLET.sub("", part)) for part in _SENTENCE.split(text))
    return tuple(
        sentence
        for sentence in sentences
        if len(sentence) >= _SHORTEST_RULE and _RULE.search(sentence)
    )


# -- what is kept ----------------------------------------------------------------------


def _tested(kind: str, texts: Sequence[str], context: str) -> list[bool]:
    """Tell for each text of a kind whether it stands in what a compaction left."""
    within = normal(context)
    if kind == RULES:
        return [text.rstrip(".!? ") in within for text in texts]
    named = map(_name, texts) if kind in (EDITED, READ) else map(normal, texts)
    return [stands_whole(text, within) for text in named]


def _name(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]
