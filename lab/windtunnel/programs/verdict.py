"""Read from a run's record what the program decided, and what it broke.

What a program decides is seen in its requests and holds for any model: when it
compacts, what it shows its summariser, what stays, what breaks. What is kept in the end
depends on the habits of the one scripted model, so it is told and never ranked.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, Literal

from agentlib.api.spending import dollars
from agentlib.messages import Block, blocks, of_type, result_text
from offline_api.model.tools import hands_of
from offline_api.model.view import asked_title
from offline_api.record import Record
from offline_api.tokens import text_tokens
from windtunnel.programs.run import Run, Step

Kind = Literal[
    "not judged",
    "refused",
    "unproved rule",
    "unseen",
    "summary unused",
    "summary cut off",
    "summary shortened",
    "compacts at once",
    "shown nothing",
    "sent twice",
    "grew",
    "shallow",
    "tools failed",
    "no report",
    "words missing",
    "rule missing",
    "new session",
    "called again",
    "left out",
    "rule lost",
    "edited",
]
QUIET: tuple[Kind, ...] = (
    "called again",
    "left out",
    "rule lost",
    "sent twice",
    "shallow",
    "shown nothing",
    "summary shortened",
    "unproved rule",
)
"""Findings that are told and fail nothing: they cost, or depend on the scripted model
or on what the offline server knows."""
FOLLOWS: tuple[Kind, ...] = (
    "called again",
    "new session",
    "no report",
    "rule lost",
    "rule missing",
    "tools failed",
    "words missing",
)
"""Findings that may follow from what stood in the way, if a run can't be judged."""
SHALLOW = 2 / 3
"""Share of the prompt. A summary that leaves more hardly helped, and it costs all the
same: from the first changed message on, the next prompt isn't in the cache."""
NOTICED = 2_000
"""Characters that must have gone from the conversation before that is noticed."""
_LINE = 12
"""Characters of the shortest line by which a result is known again."""
_NUMBER = re.compile(r"^\s*\d+(?:\t|→|: ?|\|)")
_FAILED = re.compile(r"\A\W*(?:tool\W)?(?:error|exception|failed|failure)\b", re.I)
_LACKING = "not simulated"
_UNPROVED = re.compile("Extra inputs are not permitted|thinking.*bound|bound.*thinking")
"""In the words of a refusal: a key that our server doesn't know and the API may, and a
rule of ours on thinking that a compaction left behind, which nobody has seen the API
keep."""
_OWN = re.compile(r"\s*(?:\[ |\(|(?:find|grep|ls|pwd|test|wc)\b)")
"""A shell command of the model's own: it lists, looks and tests again by habit."""
_USED = 0.2
"""Share of a summary's lines that stand in the next prompt if the summary is used."""
_WHOLE = 0.8
"""If fewer of them do, the program has shortened it."""
_SOON = 2
"""Prompts. A compaction that comes so soon after another one has not helped."""
_NOT_UNDERSTOOD = "I am the offline model, and I did not understand"


@dataclass(frozen=True)
class Finding:
    """Something that went wrong."""

    kind: Kind
    request: int
    """Number of the request in the record, from 1. 0 if it is about no request."""
    text: str


@dataclass(frozen=True)
class SeenCompaction:
    """A place where the conversation became shorter."""

    request: int
    """Number of the first request after it."""
    by: Literal["summary", "cutting", "clearing"]
    """Whether a summary was asked for, messages were left out, or only texts of
    results were."""
    before: int
    """Tokens of the last prompt before it."""
    new: int
    """Tokens that came since: the answer, and its results."""
    after: int
    summaries: tuple[int, ...] = ()
    """Numbers of the requests for a summary."""
    cached: float = 0.0
    """Share of their prompts that was read from the cache."""
    shown: float | None = None
    """Share of the lines of the results that went, which the summariser was shown."""
    summary_tokens: int = 0
    put_back: str = ""
    """Role of the message that holds the summary; "beside a result" if it has one,
    too."""
    share: float = 1.0
    """Share of the lines of the last of these answers that stand in the next prompt."""
    words: Literal["kept", "in the summary", "missing"] = "kept"
    """Where the newest prompt stands afterwards, word for word."""
    words_kept: int = 0
    """How many of the person's prompts the program itself kept word for word."""

    @property
    def helped(self) -> bool:
        """Whether the prompt was smaller than it would have been without."""
        return self.after < self.before + self.new

    @property
    def is_shallow(self) -> bool:
        """Whether a summary was paid for and most of the prompt is still there."""
        return self.by == "summary" and self.after > SHALLOW * self.before


class Reading:
    """A run, read request by request."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.asked = [
            (number, record)
            for number, record in enumerate(run.records, 1)
            if record.is_message
        ]

    @cached_property
    def main(self) -> list[tuple[int, Record]]:
        """The requests of the conversation, without those for summaries and titles."""
        offers = any(record.tools for _, record in self.asked)
        return [
            (number, record)
            for number, record in self.asked
            if record.sizes
            and not record.asks_for_summary
            and (record.tools or not offers or record.messages > 2)
            and not _asks_for_title(record)
        ]

    @cached_property
    def summaries(self) -> list[tuple[int, Record]]:
        """The requests for summaries that were answered."""
        return [(n, r) for n, r in self.asked if r.asks_for_summary and r.status == 200]

    @cached_property
    def compactions(self) -> list[SeenCompaction]:
        """Every place where the conversation became shorter."""
        found = (
            self._between(first, second)
            for first, second in pairwise(self.main)
            if second[0] != self._new_session
        )
        return [each for each in found if each]

    def step_of(self, number: int) -> int:
        """Return which command sent a request, from 0."""
        return sum(number > step.last for step in self.run.steps[:-1])

    def _between(
        self, first: tuple[int, Record], second: tuple[int, Record]
    ) -> SeenCompaction | None:
        (number, old) = first
        (later, new) = second
        before = _pieces(old)
        after = _pieces(new)
        gone = before - after
        size = sum(len(text) * count for (_, text), count in gone.items())
        asked = [(n, r) for n, r in self.summaries if number < n < later]
        if size < NOTICED or size < 0.02 * sum(len(t) for _, t in before.elements()):
            return None
        old_ids = _results(old)
        new_ids = _results(new)
        fresh = [text for name, text in new_ids.items() if name not in old_ids]
        answer = old.output if old.status == 200 else 0
        said = self.run.task.prompts[: self.step_of(later) + 1]
        texts = [_answer_text(record) for _, record in asked]
        stand = _outside_results(new)
        own = _without_lines(stand, "\n".join(texts))
        gone_results = [t for n, t in old_ids.items() if new_ids.get(n) != t]
        requests = [record for _, record in asked]
        carrier, share = _carrier(new, texts) if asked else ("", 1.0)
        without = "clearing" if old_ids.keys() <= new_ids.keys() else "cutting"
        return SeenCompaction(
            request=later,
            by="summary" if asked else without,
            before=old.prompt,
            new=answer + sum(map(text_tokens, fresh)),
            after=new.prompt,
            summaries=tuple(n for n, _ in asked),
            cached=_share_read(requests),
            shown=_shown(gone_results, requests) if asked else None,
            summary_tokens=sum(record.output for record in requests),
            put_back=carrier,
            share=share,
            words=(
                "kept"
                if said[-1] in own
                else "in the summary"
                if said[-1] in stand
                else "missing"
            ),
            words_kept=sum(words in own for words in said),
        )

    # -- findings ----------------------------------------------------------------------

    @cached_property
    def findings(self) -> list[Finding]:
        """Everything that went wrong, the request's number with it. If the run can't be
        judged, what may follow from that is left out."""
        obstacles = [*self._not_judged()]
        found = [
            *self._left_out(),
            *self._refused(),
            *self._compacted_badly(),
            *self._unseen(),
            *self._summaries(),
            *self._tools(),
            *self._ends(),
            *self._again(),
        ]
        stay = [each for each in found if not obstacles or each.kind not in FOLLOWS]
        return [*obstacles, *stay]

    def _not_judged(self) -> Iterator[Finding]:
        for step in self.run.steps:
            if step.stopped:
                yield Finding(
                    "not judged", step.last, f"It was stopped: {step.stopped}."
                )
        for number, record in self.asked:
            if record.status >= 400 and _LACKING in record.broke:
                yield Finding(
                    "not judged",
                    number,
                    f"Our server lacks what request {number} asks for: "
                    f"{record.broke[:200]}.",
                )
                break
        for step in self.run.steps:
            own = [r for n, r in self.asked if step.first <= n <= step.last]
            if own and _UNPROVED.search(own[-1].broke):
                yield Finding(
                    "not judged",
                    step.last,
                    f"It ended at request {step.last}, which our server refused by a rule "
                    "that nobody has seen the API keep.",
                )
        yield from self._reads_failed()
        elsewhere = Counter(
            f"{each.method} {each.path} ({each.status})"
            for each in self.run.records
            if each.status in (404, 405)
        )
        if not self.asked and elsewhere:
            yield Finding(
                "not judged",
                0,
                "It asked what our server doesn't have: " + ", ".join(elsewhere) + ".",
            )
        elif not self.asked:
            output = self.run.steps[-1].output.strip()
            says = output.splitlines()[-1][:200] if output else "nothing"
            yield Finding(
                "not judged", 0, f"It never asked the model. It printed: {says}"
            )
        for number, record in self.asked:
            if _NOT_UNDERSTOOD in _answer_text(record):
                yield Finding(
                    "not judged",
                    number,
                    f"The offline model didn't understand request {number}, so what "
                    "follows says little about the program.",
                )
                break
        if self.asked and not self.compactions and not self.findings_of_size:
            yield Finding("not judged", 0, "It never compacted.")

    def _reads_failed(self) -> Iterator[Finding]:
        """Find a tool that never worked: the model didn't find the form it wants."""
        outcomes = dict[str, list[tuple[int, str, bool]]]()
        for number, name, text, failed in self._new_results():
            outcomes.setdefault(name, []).append((number, text, failed))
        for name, rows in outcomes.items():
            if len(rows) > 2 and all(failed for *_, failed in rows):
                number, text, _ = rows[0]
                yield Finding(
                    "not judged",
                    number,
                    f"Each of {len(rows)} calls of the tool {name} failed, so the model "
                    f"never found the form that it wants: {text[:100]}",
                )

    @cached_property
    def findings_of_size(self) -> list[int]:
        """Numbers of the requests that were refused for their size."""
        return [n for n, r in self.asked if "too long" in r.broke or r.status == 413]

    def _left_out(self) -> Iterator[Finding]:
        kinds = {kind: number for number, r in self.asked[::-1] for kind in r.left_out}
        if kinds:
            yield Finding(
                "left out",
                min(kinds.values()),
                f"It offers tools that our server hasn't, so the model never saw them: "
                f"{', '.join(sorted(kinds))}.",
            )

    def _refused(self) -> Iterator[Finding]:
        kinds: dict[str, list[int]] = {}
        for number, record in self.asked:
            if 400 <= record.status < 500:
                rule = re.sub(r"\b(?:toolu|call)_\w+|\d+", "N", record.broke)
                kinds.setdefault(rule, []).append(number)
        for numbers in kinds.values():
            words = self.run.records[numbers[0] - 1].broke[:200]
            text = f"{_requests(numbers)} refused: {words}"
            if _LACKING in words:
                continue
            if _UNPROVED.search(words):
                text += ". Nobody has seen whether the API itself refuses that."
                yield Finding("unproved rule", numbers[0], text)
            else:
                yield Finding("refused", numbers[0], text)

    def _compacted_badly(self) -> Iterator[Finding]:
        grew = [each for each in self.compactions if not each.helped]
        for each in grew[:1]:
            yield Finding(
                "grew",
                each.request,
                f"{len(grew)} of {len(self.compactions)} compactions made the prompt "
                f"larger, the first from {each.before:,} tokens and {each.new:,} new ones "
                f"to {each.after:,} in request {each.request}.",
            )
        shallow = [each.request for each in self.compactions if each.is_shallow]
        if shallow:
            yield Finding(
                "shallow",
                shallow[0],
                f"{len(shallow)} of {len(self.compactions)} compactions left more than "
                f"two thirds of the prompt, the first in request {shallow[0]}.",
            )
        missing = [each.request for each in self.compactions if each.words == "missing"]
        if missing:
            yield Finding(
                "words missing",
                missing[0],
                f"The person's words are missing from {_listed(missing)}, the first "
                "after a compaction.",
            )
        ruleless = [
            number
            for number, record in self.main
            if self.compactions
            and self.compactions[0].request
            <= number
            < (self._new_session or number + 1)
            and not self._has_rule(record)
        ]
        if ruleless:
            yield self._without_rule(ruleless)

    def _without_rule(self, numbers: Sequence[int]) -> Finding:
        """Say who dropped the rule: the scripted model, if it left it out of the newest
        summary for which it was shown it."""
        shown = [
            (number, self.run.records[number - 1])
            for each in self.compactions
            for number in each.summaries
            if number < numbers[0] and self._has_rule(self.run.records[number - 1])
        ]
        count = f"({len(numbers)} such requests)"
        if shown and self.run.task.line not in _answer_text(shown[-1][1]):
            text = (
                "The scripted model was shown the person's rule and left it out of its "
                f"summary in request {shown[-1][0]}. It stands nowhere in request "
                f"{numbers[0]} {count}."
            )
            return Finding("rule lost", numbers[0], text)
        text = f"The person's rule stands nowhere in request {numbers[0]} {count}."
        return Finding("rule missing", numbers[0], text)

    def _has_rule(self, record: Record) -> bool:
        return self.run.task.line in json.dumps(record.request, ensure_ascii=False)

    def _unseen(self) -> Iterator[Finding]:
        """Find a result that went, or was cleared, before the model could see it."""
        places = {number: place for place, (number, _) in enumerate(self.main)}
        found = (self._unseen_before(places[each.request]) for each in self.compactions)
        yield from islice((each for each in found if each), 1)

    def _unseen_before(self, place: int) -> Finding | None:
        """Return what a compaction did to the newest results, None if that isn't
        certain."""
        number, record = self.main[place]
        answered = [each for each in self.main[:place] if each[1].status == 200]
        if not answered or self.step_of(number) != self.step_of(answered[-1][0]):
            return None
        asked, last = answered[-1]
        before = _results(last)
        after = _results(record)
        marks = {text for name, text in after.items() if before.get(name, text) != text}
        for call in _calls(last):
            name = f"{call['name']} in the answer to request {asked}"
            result = f"The result of the call of {name}"
            if after.get(call["id"], "").strip() and after[call["id"]] in marks:
                text = f"{result} was cleared before the model could see it."
                return Finding("unseen", number, text)
            if self._tells_by_id and self._told.get(call["id"], 0) <= asked:
                text = (
                    f"{result} stands in no later request, so the model never saw it."
                )
                return Finding("unseen", number, text)
        return None

    @cached_property
    def _told(self) -> dict[str, int]:
        """The number of the last request that holds the result of a call, by its id."""
        return {name: number for number, r in self.asked for name in _results(r)}

    @cached_property
    def _tells_by_id(self) -> bool:
        """Whether results stand under the ids of their calls, for a summary, too. In a
        text, nobody can tell which there are."""
        made = {call["id"] for _, record in self.main for call in _calls(record)}
        told = len(made & self._told.keys())
        return 2 * told > len(made) and all(_results(r) for _, r in self.summaries)

    def _summaries(self) -> Iterator[Finding]:
        """Find summaries that were paid for and can't help."""
        made = [each for each in self.compactions if each.by == "summary"]
        unused = [each.request for each in made if each.put_back == "nowhere"]
        if unused:
            yield Finding(
                "summary unused",
                unused[0],
                f"A summary was asked for, and nothing of it stands in {_listed(unused)}.",
            )
        cut = [
            number
            for each in made
            if each.put_back != "nowhere"
            for number in each.summaries[-1:]
            if self.run.records[number - 1].stop_reason == "max_tokens"
        ]
        if cut:
            yield Finding(
                "summary cut off",
                cut[0],
                f"The answer to {_listed(cut)} was cut off by max_tokens, and is used as a "
                "summary all the same.",
            )
        short = [each for each in made if _USED < each.share < _WHOLE]
        if short:
            yield Finding(
                "summary shortened",
                short[0].request,
                f"Of {len(short)} of {len(made)} summaries less than four fifths of the "
                f"lines were put back, {short[0].share:.0%} of the first in request "
                f"{short[0].request}.",
            )
        blind = [each for each in made if each.shown == 0]
        if blind:
            yield Finding(
                "shown nothing",
                blind[0].summaries[-1],
                "The summariser was shown nothing of the results that went, the first time "
                f"in request {blind[0].summaries[-1]}.",
            )
        seen = {each.request for each in made}
        places = [
            place
            for place, ((old, before), (new, after)) in enumerate(
                pairwise(self.main), 1
            )
            if (new in seen or after.prompt < before.prompt)
            and any(old < number < new for number, _ in self.summaries)
        ]
        soon = [b for a, b in pairwise(places) if b - a <= _SOON]
        if len(soon) > 2 and 5 * len(soon) > 4 * len(places):
            first = self.main[soon[0]][0]
            yield Finding(
                "compacts at once",
                first,
                f"{len(soon)} of {len(places)} compactions came within {_SOON} prompts of "
                f"the one before, the first in request {first}.",
            )
        again = [
            later
            for (_, first), (later, second) in pairwise(self.asked)
            if first.status == second.status == 200
            and first.request is not None
            and first.request == second.request
        ]
        if len(again) > 2:
            tokens = sum(self.run.records[number - 1].prompt for number in again)
            yield Finding(
                "sent twice",
                again[0],
                f"{len(again)} requests were sent a second time after an answer, "
                f"{tokens:,} tokens, the first as request {again[0]}.",
            )

    def _tools(self) -> Iterator[Finding]:
        """Find tools that failed to the end after a compaction, and had worked."""
        if not self.compactions:
            return
        since = self.compactions[0].request
        worked = set[str]()
        failing = dict[str, list[tuple[int, str]]]()
        for number, name, text, failed in self._new_results():
            if not failed:
                worked.add(name)
                failing.pop(name, None)
            elif number > since and name in worked:
                failing.setdefault(name, []).append((number, text))
        for name, rows in failing.items():
            if len(rows) > 1:
                yield Finding(
                    "tools failed",
                    rows[0][0],
                    f"The tool {name} failed {len(rows)} times from request "
                    f"{rows[0][0]} to the end, and worked before: {rows[0][1][:100]}",
                )

    def _new_results(self) -> Iterator[tuple[int, str, str, bool]]:
        """Yield each result once: request, name of the tool, text, whether it failed."""
        seen = set[str]()
        for number, record in self.main:
            messages = _messages(record)
            names = {
                c["id"]: c["name"] for m in messages for c in of_type(m, "tool_use")
            }
            for message in messages:
                for result in of_type(message, "tool_result"):
                    if result["tool_use_id"] not in seen:
                        seen.add(result["tool_use_id"])
                        text = result_text(result)
                        failed = bool(result.get("is_error") or _FAILED.search(text))
                        name = names.get(result["tool_use_id"], "?")
                        yield number, name, text, failed

    def _ends(self) -> Iterator[Finding]:
        for step in self.run.steps:
            if step.stopped or not self.asked:
                continue
            which = "first" if step is self.run.steps[0] else "second"
            if not step.result.report or not step.result.described:
                yield Finding(
                    "no report",
                    step.last,
                    f"Its {which} command ended with exit code {step.exit_code} and "
                    f"without its report, after request {step.last}.",
                )
            if step.result.edited:
                yield Finding(
                    "edited",
                    step.last,
                    "Files were changed that nobody asked to change: "
                    + ", ".join(step.result.edited[:3]),
                )
        if new := self._new_session:
            yield Finding(
                "new session",
                new,
                f"The second command began a new session: request {new} holds nothing "
                "of the first.",
            )

    @cached_property
    def _new_session(self) -> int:
        """The number of the second command's first request, if it knows nothing of the
        first, else 0."""
        if len(self.run.steps) < 2:
            return 0
        began = self.run.steps[1].first
        later = [(n, r) for n, r in self.main if n >= began]
        earlier = [r for n, r in self.main if n < began]
        if not later or not earlier:
            return 0
        number, record = later[0]
        texts = [text for _, text in _pieces(earlier[-1])]
        texts += [_answer_text(summary) for _, summary in self.summaries]
        known = {line for text in texts for line in _long_lines(text)}
        now = {line for _, text in _pieces(record) for line in _long_lines(text)}
        said = _outside_results(record)
        is_known = known & now or self.run.task.prompts[0] in said
        return 0 if is_known else number

    def _again(self) -> Iterator[Finding]:
        """Find calls that were made before a compaction, too."""
        made = dict[str, int]()
        again = list[int]()
        compacted = [each.request for each in self.compactions]
        for number, record in self.main:
            lists = hands_of((record.request or {}).get("tools") or ()).get("glob")
            for call in _calls(record):
                is_listing = lists and call["name"] == lists.name
                if is_listing or _OWN.match(str(call["input"].get("command", ""))):
                    continue
                key = json.dumps([call["name"], call["input"]], sort_keys=True)
                if key in made and any(made[key] < n <= number for n in compacted):
                    again.append(number)
                made[key] = number
        if again:
            yield Finding(
                "called again",
                again[0],
                f"{len(again)} calls were made again after a compaction, the first in "
                f"the answer to request {again[0]}.",
            )

    # -- sums --------------------------------------------------------------------------

    @property
    def verdict(self) -> Literal["passes", "broken", "not judged"]:
        """What the findings come to. What is broken outweighs what stood in the way."""
        kinds = {each.kind for each in self.findings} - {*QUIET}
        if kinds - {"not judged"}:
            return "broken"
        return "not judged" if kinds else "passes"

    def row(self, model: str) -> dict[str, Any]:
        """Return everything as plain values, for JSON. Dollars are at the prices of
        `model`."""
        records = [record for _, record in self.asked]
        return {
            "program": self.run.program.name,
            "version": self.run.program.version,
            "seed": self.run.task.seed,
            "window": self.run.window,
            "requests": len(records),
            "prompts": [record.prompt for record in records],
            "kinds": [_sort_of(self, n, r) for n, r in self.asked],
            "numbers": [n for n, _ in self.asked],
            "read": _share_read(records),
            "dollars": round(sum(dollars(_usage(r), model) for r in records), 4),
            "seconds": round(sum(step.seconds for step in self.run.steps), 1),
            "compactions": [asdict(each) for each in self.compactions],
            "findings": [asdict(each) for each in self.findings],
            "unconfined": self.run.unconfined,
            "kept": [_kept(step) for step in self.run.steps],
            "verdict": self.verdict,
        }


def _kept(step: Step) -> dict[str, Any]:
    """Return what a command left, which depends on the scripted model."""
    values: dict[str, Any] = {"exit_code": step.exit_code, **asdict(step.result)}
    return {**values, "edited": len(step.result.edited)}


def _sort_of(reading: Reading, number: int, record: Record) -> str:
    if record.status != 200:
        return "refused"
    if record.asks_for_summary:
        return "summary"
    return "main" if any(n == number for n, _ in reading.main) else "other"


def _usage(record: Record) -> Mapping[str, int]:
    return {
        "input_tokens": record.uncached,
        "cache_read_input_tokens": record.cache_read,
        "cache_creation_input_tokens": record.cache_written,
        "output_tokens": record.output,
    }


def _share_read(records: Sequence[Record]) -> float:
    read = sum(r.cache_read for r in records)
    whole = read + sum(r.cache_written + r.uncached for r in records)
    return round(read / whole, 3) if whole else 0.0


# -- bodies ----------------------------------------------------------------------------


def _messages(record: Record) -> list[dict[str, Any]]:
    return (record.request or {}).get("messages") or []


def _asks_for_title(record: Record) -> bool:
    return not record.tools and bool(asked_title(record.request or {"messages": []}))


def _calls(record: Record) -> list[Block]:
    """Return the calls of an answer, none if it was cut off."""
    answer = record.answer or {}
    is_whole = answer.get("stop_reason") == "tool_use"
    return of_type({"content": answer["content"]}, "tool_use") if is_whole else []


def _answer_text(record: Record) -> str:
    content: list[Block] = (record.answer or {}).get("content") or []
    return "\n".join(block["text"] for block in content if block.get("text"))


def _pieces(record: Record) -> Counter[tuple[str, str]]:
    """Count the texts of a conversation: those of results, and all others."""
    found = Counter[tuple[str, str]]()
    for message in _messages(record):
        for block in blocks(message):
            if block["type"] == "tool_result":
                found["result", result_text(block)] += 1
            elif block["type"] == "text":
                found[message["role"], block["text"]] += 1
    return found


def _results(record: Record) -> dict[str, str]:
    return {
        result["tool_use_id"]: result_text(result)
        for message in _messages(record)
        for result in of_type(message, "tool_result")
    }


def _outside_results(record: Record) -> str:
    """Return all that is said in a request: the system prompt and every text, without
    results."""
    body = record.request or {}
    texts = [
        block.get("text", "") for block in blocks({"content": body.get("system") or ""})
    ]
    for message in _messages(record):
        texts += [block["text"] for block in of_type(message, "text")]
    return "\n".join(texts)


def _long_lines(text: str) -> Iterator[str]:
    """Yield the lines of a conversation that hardly stand in another one, too."""
    for line in text.splitlines():
        if len(line) > 40 and not line.startswith(("<", "You ")):
            yield line.strip()


def _without_lines(text: str, summary: str) -> str:
    """Return a text without the lines of a summary, wherever they stand in it."""
    lines = {line.strip() for line in summary.splitlines() if line.strip()}
    return "\n".join(line for line in text.splitlines() if line.strip() not in lines)


def _carrier(record: Record, summaries: Sequence[str]) -> tuple[str, float]:
    """Return the role of the message that holds most of a summary's lines, "nowhere" if
    none holds a fifth of them, and the share of the newest one's that stands anywhere.

    A program may ask twice and use the second answer alone.
    """
    parts = [
        {line.strip() for line in text.splitlines() if len(line.strip()) >= _LINE}
        for text in summaries
    ]
    lines = set[str]().union(*parts)
    best = int(_USED * len(lines))
    where = "nowhere"
    held = set[str]()
    system = {"role": "system", "content": (record.request or {}).get("system") or ""}
    for message in [system, *_messages(record)]:
        for block in blocks(message):
            text = block["text"] if block["type"] == "text" else result_text(block)
            here = lines & {line.strip() for line in text.splitlines()}
            held |= here
            if len(here) > best:
                best = len(here)
                where = message["role"]
                if block["type"] == "tool_result":
                    where = "a result"
                elif of_type(message, "tool_result"):
                    where = "beside a result"
    return where, round(len(held & parts[-1]) / max(1, len(parts[-1])), 3)


def _shown(results: Sequence[str], requests: Sequence[Record]) -> float | None:
    """Return what share of the results' lines stands in requests, by characters."""
    known = set[str]()
    for record in requests:
        texts = [text for _, text in _pieces(record)]
        texts += [_outside_results(record)]
        for text in texts:
            for version in (text, _unescaped(text)):
                known |= {_plain(line) for line in version.splitlines()}
    result_lines = (line for text in results for line in _unescaped(text).splitlines())
    lines = [plain for line in result_lines if len(plain := _plain(line)) >= _LINE]
    whole = sum(map(len, lines))
    if not whole:
        return None
    return round(sum(len(line) for line in lines if line in known) / whole, 3)


def _unescaped(text: str) -> str:
    """Return a text without the escapes of JSON, in which some programs put results."""
    return text.replace("\\n", "\n").replace('\\"', '"').replace("\\t", "\t")


def _plain(line: str) -> str:
    return _NUMBER.sub("", line).strip()


def _listed(numbers: Sequence[int]) -> str:
    names = ", ".join(map(str, numbers[:5]))
    more = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
    return f"request{'s' if len(numbers) > 1 else ''} {names}{more}"


def _requests(numbers: Sequence[int]) -> str:
    words = _listed(numbers)
    return f"{words[0].upper()}{words[1:]} {'were' if len(numbers) > 1 else 'was'}"
