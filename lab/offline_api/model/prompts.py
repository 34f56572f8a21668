"""Understand a person's prompt wholly, or refuse it.

The offline model has seven tasks. `phrases.toml` holds their phrases, in English and
Chinese. A prompt is understood if the phrases of one task account for every word of it.
Any other word leads to a refusal that names it, because an exclusion or a second
request must never get lost. Rules are whole sentences. They are set aside first.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, Literal

Kind = Literal[
    "report", "read", "until", "compact", "trace", "rename", "run", "rules", "unknown"
]
_Sort = Kind | Literal["files"]
"""A kind of task, or its form for files that the person names."""


@dataclass(frozen=True)
class Task:
    """A request that was understood, or the words that were not."""

    kind: Kind
    folder: str = "."
    endings: tuple[str, ...] = ()
    """File name endings without the dot. Empty: every text file."""
    names: tuple[str, ...] = ()
    """trace: the name, none for the open question. rename: the old and the new one.
    run: the script."""
    files: tuple[str, ...] = ()
    """read, report: the files to read, if the person names them."""
    report: str = "REPORT.md"
    focus: str = ""
    """compact: what to keep. rules: "summary" or "all" if the person asks for more than
    rules. run: "once" if the script may have run already."""
    unknown: tuple[str, ...] = ()
    """The words that no phrase accounts for."""


_FLAGS = re.IGNORECASE | re.ASCII
"""ASCII: a word of Latin letters ends where Chinese begins."""
_START = r"(?:(?<![\w/-])|(?=[一-龥(（]))"
_END = r"(?:(?![\w-])|(?<=[一-龥]))"
"""Where a phrase may begin and end: Chinese has no spaces."""
_ASKED = {"summary": "summary", "known": "all", "unless": "once"}
"""Phrases whose sort alone says what is asked."""
_LONGEST = 1_000
"""Characters of a request. A longer one holds pasted data, which no phrase accounts
for."""

TABLE: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("phrases.toml").read_text(encoding="utf-8")
)
_ENDINGS: Mapping[str, Sequence[str]] = TABLE["endings"]
_PARTS: Mapping[str, Sequence[str]] = {"KIND": list(_ENDINGS), **TABLE["parts"]}
COMMANDS: Mapping[str, str] = TABLE["commands"]


def _any(phrases: Sequence[str]) -> str:
    """Write an expression for any of the phrases, with their named parts filled in."""
    return re.sub(
        r"\{([A-Z_]+)\}", lambda part: f"(?:{_any(_PARTS[part[1]])})", "|".join(phrases)
    )


# -- rules -----------------------------------------------------------------------------

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])\s*|\n+")
_LABEL, _DEED, _UNTOUCHED, _ALLOWED, TESTS, _LINE, _FIRST, _LAST = (
    re.compile(_any(TABLE["rules"][name]), _FLAGS)
    for name in (
        "label",
        "deed",
        "untouched",
        "allowed",
        "tests",
        "line",
        "first",
        "last",
    )
)
_ABOUT_A_LINE = re.compile(rf"(?:{_any(TABLE['rules']['about_a_line'])})*", _FLAGS)


def rules_in(text: str) -> list[str]:
    """Return the sentences that state a rule, word for word.

    A rule asks for a line of the report, forbids or allows to edit something, or is
    labelled as a rule.

    >>> rules_in("Never touch vendor/. Read all files.")
    ['Never touch vendor/.']
    """
    return _rules_and_rest(text)[0]


def _rules_and_rest(text: str) -> tuple[list[str], list[str]]:
    parts: tuple[list[str], list[str]] = ([], [])
    for part in filter(None, map(str.strip, _SENTENCE.split(text))):
        parts[not _is_rule(part)].append(part)
    return parts


def required_line(rules: Sequence[str], *, first: bool) -> str | None:
    """Return the line that the newest rule wants at the top or at the end of a report.

    >>> required_line(["The first line of every report must be '# For Ada'."], first=True)
    '# For Ada'
    """
    wanted, other = (_FIRST, _LAST) if first else (_LAST, _FIRST)
    for rule in reversed(rules):
        line = _LINE.search(rule)
        rest = _LINE.sub("", rule)
        if line and wanted.search(rest) and not other.search(rest):
            return (line[1] or line[2]).strip()
    return None


def is_consent(rule: str) -> bool:
    """Tell whether a rule allows what another one may forbid.

    >>> is_consent("Yes, you may edit files under vendor/.")
    True
    """
    return bool(_ALLOWED.fullmatch(rule))


def _is_rule(part: str) -> bool:
    if len(part) > _LONGEST:
        return False
    label = _LABEL.match(part)
    rest = _LINE.sub("", part)
    if _UNTOUCHED.fullmatch(part[label.end() :] if label else part) or is_consent(part):
        return True
    if re.search("report|报告", rest) and _ABOUT_A_LINE.fullmatch(rest):
        return any(required_line([part], first=first) for first in (True, False))
    return bool(label) and not _DEED.search(rest)


# -- titles ----------------------------------------------------------------------------

_TITLE, _JSON, _TITLE_KEY, _TRUTH_KEY = (
    re.compile(_any(TABLE["title"][name]), re.IGNORECASE if name != "truth" else 0)
    for name in ("wanted", "json", "key", "truth")
)


def wants_title(text: str) -> bool:
    """Tell whether a program asks for the title or the topic of a conversation.

    >>> wants_title("Generate a title for this conversation:")
    True
    """
    return bool(_TITLE.search(text))


def title_of(words: str, form: str) -> str:
    """Return a title of the person's words, as JSON if the program's text asks for
    that.

    >>> title_of("Read every file, then write a report", "Write a title.")
    'Read every file then write a'
    """
    title = " ".join(re.findall(r"[\w'./-]+", words)[:6])[:50] or "A conversation"
    if not _JSON.search(form):
        return title
    truth = _TRUTH_KEY.search(form)
    keys = [
        key for key in _TITLE_KEY.findall(form) if not _TRUTH_KEY.search(f"'{key}'")
    ]
    value: dict[str, Any] = {truth[1]: True} if truth else {}
    return json.dumps({**value, (keys or ["title"])[0]: title}, ensure_ascii=False)


# -- understanding ---------------------------------------------------------------------

_GO_ON, _GO_ON_OPENS, _GO_ON_WORDS, _TOLD, _BY_PROGRAM = (
    re.compile(_any(TABLE["go_on"][name]), _FLAGS)
    for name in ("phrases", "opens", "words", "told", "by_program")
)
SUMMARY_WORD, SUMMARY_OF_TALK = (
    re.compile(_any(TABLE["summary"][name]), _FLAGS | re.DOTALL)
    for name in ("word", "of_talk")
)
"""In a program's request for a summary: any word about one, and words that name the
talk too."""
_KINDS: Sequence[Kind] = ("read", "until", "trace", "rename", "run", "compact", "rules")


@cache
def _scanner(kind: str) -> re.Pattern[str]:
    """Compile the phrases of a kind of task, of none if it is "". Most runs need one
    kind."""
    phrases: Mapping[str, Sequence[str]] = (
        TABLE["task"][kind]["phrases"] if kind else {}
    )
    if kind == "files":
        reading = TABLE["task"]["read"]["phrases"]
        about = {sort: reading[sort] for sort in ("report", "verb", "review", "manner")}
        phrases = {**about, **phrases}
    groups = {**phrases, "filler": _PARTS["FILLER"]}.items()
    either = "|".join(f"(?P<{name}>{_any(forms)})" for name, forms in groups)
    return re.compile(f"{_START}(?:{either}){_END}", _FLAGS)


def only_goes_on(request: str) -> bool:
    """Tell whether a person, or a program, asks for nothing new, only to go on.

    >>> only_goes_on("Please continue."), only_goes_on("Continue with the tests.")
    (True, False)
    >>> only_goes_on("Continue if you have next steps, or stop and ask if you are unsure.")
    True
    """
    if _GO_ON.fullmatch(request):
        return True
    if len(request) > _LONGEST or not _GO_ON_OPENS.search(request):
        return False
    if _BY_PROGRAM.search(request):
        return True
    *told, request = re.split(r"\n\s*\n", request)
    if not all(map(_TOLD.search, told)):
        return False
    if re.search("[一-龥]", request):
        return not re.search(r"\w", _GO_ON_WORDS.sub("", request))
    words = re.findall(r"[\w'’]+", request)
    return all(map(_GO_ON_WORDS.fullmatch, words))


@lru_cache(maxsize=256)
def understand(request: str) -> Task:
    """Return the one task that accounts for every word of a request, or kind "unknown".

    >>> task = understand("Please read every Java file in src/main one by one.")
    >>> task.kind, task.folder, task.endings
    ('read', 'src/main', ('java',))
    >>> understand("Read every Java file except the tests").unknown
    ('except', 'the', 'tests')
    """
    rules, rest = _rules_and_rest(request)
    asked = " ".join(" ".join(rest).split())
    if not asked or (rules and not _left(_scanner(""), asked)):
        return Task("rules")
    read = partial(_reading, asked=asked)
    known = (task for task in map(read, _KINDS) if not task.unknown)
    # A refusal names what follows the part that was understood.
    best = next(known, None)
    if not best and not (best := read("files")).files:
        best = min(map(read, _KINDS), key=lambda one: -asked.find(one.unknown[0]))
    kept = {match[1] for rule in rules if (match := _UNTOUCHED.search(rule))}
    return Task("unknown", unknown=best.names) if kept & set(best.names) else best


def _reading(kind: _Sort, asked: str) -> Task:
    """Read a request as one kind of task. Words that are left over make it unknown."""
    if left := _left(_scanner(kind), asked):
        return Task("unknown", unknown=left)
    found = [
        match for match in _scanner(kind).finditer(asked) if match.lastgroup != "filler"
    ]
    parts = {
        str(match.lastgroup): [g for g in match.groups() if g][1:] for match in found
    }
    if len(found) == len(parts) and _agree(kind, parts):
        return _task(kind, parts)
    return Task("unknown", unknown=_words(asked))


def _left(scanner: re.Pattern[str], asked: str) -> tuple[str, ...]:
    """Return the words that no phrase accounts for."""
    tail = asked[_LONGEST:]
    return _words(
        scanner.sub(" ", asked[:_LONGEST]) + (f" … {tail[:40]}" if tail else "")
    )


def _words(text: str) -> tuple[str, ...]:
    """The first dozen words of a text, without punctuation."""
    words = re.findall(
        r"[^\s,.;:!?，。；：！？、()（）'\"`“”‘’「」]+(?:['’.]\w+)*", text
    )
    return tuple(word[:40] for word in words[:12])


def _agree(kind: _Sort, parts: Mapping[str, Sequence[str]]) -> bool:
    """Tell whether the phrases go together and make a whole request."""
    return (
        all(parts.keys() & group for group in TABLE["task"][kind]["needs"])
        and not (kind == "read" and "bare" in parts and "manner" not in parts)
        and not {"bare", "object"} <= parts.keys()
        and len(set(parts.get("names", ()))) != 1
    )


def _task(sort: _Sort, parts: Mapping[str, Sequence[str]]) -> Task:
    folder = "."
    endings = ()
    kind: Kind = "read" if sort == "files" else sort
    for text in (*parts.get("object", ()), *parts.get("bare", ())):
        if re.fullmatch(_any(["{KIND_OF_FILE}"]), text, _FLAGS):
            endings = tuple(_ENDINGS[re.findall("[a-z]+", text.lower())[0]])
        else:
            folder = text.strip("/")
    return Task(
        "report" if kind == "read" and {"report", "review"} & parts.keys() else kind,
        folder=folder,
        endings=endings,
        names=tuple(
            text for sort in ("name", "names", "script") for text in parts.get(sort, ())
        ),
        files=_file_names("".join(parts.get("files", ()))),
        report="".join(parts.get("report", ())) or "REPORT.md",
        focus=next((word for sort, word in _ASKED.items() if sort in parts), "")
        or "".join(parts.get("focus", ())).strip(),
    )


def _file_names(text: str) -> tuple[str, ...]:
    """Return the files that a text names, each once, as the workspace has them."""
    names = re.findall(_any(["{FILE_NAME}"]), text, _FLAGS)
    return tuple(dict.fromkeys(name.removeprefix("./") for name in names))


def refusal(request: str, task: Task) -> str:
    """Return the words of a refusal: what was not understood, and the seven tasks.

    >>> print(refusal("Sing!", understand("Sing!")).splitlines()[0])
    I am the offline model, and I did not understand: "Sing". I do nothing then.
    """
    words = ", ".join(f'"{word}"' for word in task.unknown) or "…"
    said = TABLE["refusal"]["chinese" if re.search("[一-龥]", request) else "english"]
    examples = (f'- {what}: "{prompt}"' for what, prompt in said["examples"])
    return "\n".join([said["head"].replace("{}", words), said["able"], *examples])
