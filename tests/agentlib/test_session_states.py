"""A session through anything that can happen to it, in any order, with any settings.

Each rule is one event: words, calls, Ctrl-C, refusals, a kill with a torn line, a
compaction and its undoing. The settings are the presets', and those of no preset. What
compacts is our pipeline or an engine of the wind tunnel. After each event `hold` looks
at what must be true of every session. `fakes.client` refuses a request that breaks a
rule of the API.
"""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from anthropic import APIStatusError
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

import session_report
from agentlib import pipeline, presets
from agentlib.loop import Agent, equipped, turns
from agentlib.messages import (
    INTERRUPTED,
    asks_for_summary,
    blocks,
    last_assistant,
    of_type,
    result_text,
    waiting,
)
from agentlib.session.undo import undo
from agentlib.settings import Settings
from agentlib.transcripts import Session, load
from session_report.playback import replay
from tests.builders import call, say, thinking
from tests.fakes import Body, Clock, client, error
from tests.runs import SMALL, a_session, a_workspace, ctrl_c, state
from windtunnel import engines

POLICIES = {
    "recall": Settings(recall=True),
    "truncate": Settings(micro="truncate"),
    "trim": Settings(micro="trim"),
    "cold": Settings(clear_when="cold", keep_recent=1),
    "off": Settings(micro="off", keep_exchanges=3),
    "at least": Settings(clear_at_least=3_000, keep_recent=0, keep_exchanges=0),
    "head and tail": Settings(head_tokens=500, tail_tokens=1_000),
    "words": Settings(words_tokens=12_000),
}
SETTINGS = {
    "small": SMALL,
    **{
        name: policy.scaled(5_000)
        for name, policy in {**presets.ALL, **POLICIES}.items()
    },
}
SUMMARY = "## Accomplished\nRead."
BROKEN_SUMMARIES = {
    "refused": error(500),
    "empty": say(""),
    "cut off": say("cut", stop="max_tokens"),
    "too long": say("x" * 40_000),
}
SERVERS = {"type": "server_tool_use", "id": "srv"}
ODD_REPLIES: dict[str, Callable[[str], Body]] = {
    "an unknown tool": lambda name: say(call(name, "nope", x=1)),
    "a wish to compact": lambda name: say(call(name, "compact", focus="f")),
    "a call that was cut": lambda name: say(call(name, "read_file"), stop="max_tokens"),
    "a wrong path": lambda name: say(
        thinking("hm"), call(name, "read_file", path="gone")
    ),
    "a broken call": lambda name: say({**call(f"{name}.b"), "input": "a"}, SERVERS),
    "words that were cut": lambda name: say("And so", stop="max_tokens"),
    "thoughts alone": lambda name: say(thinking("hm"), stop="pause_turn"),
}
OURS = ["ours"] * 20
"""As often as all other engines together."""


def told(messages: Sequence[Any]) -> list[Any]:
    """List what was said, each block with its role and without what a reader adds."""
    return [(m["role"], block) for m in messages for block in blocks(m)]


def results_in(messages: Sequence[Any]) -> dict[str, str]:
    found = [r for message in messages for r in of_type(message, "tool_result")]
    return {r["tool_use_id"]: result_text(r) for r in found}


def hold(
    session: Session, before: Session, said: list[str], results: dict[str, str]
) -> Session:
    """Hold what must be true of a session after any event, and return it as loaded.

    `before` is the session as it was loaded before that event, `said` what the person
    said so far, `results` what each call should have returned.
    """
    assert session.path
    loaded = load(session.path)
    assert state(loaded) == state(session), "the file's view is the memory's"

    grown = told(session.history)
    old = told(before.history)
    assert grown[: len(old)] == old, "the history only grows"

    texts = [m["content"] for m in session.history if isinstance(m["content"], str)]
    words = [text for text in texts if text.startswith("Words ")]
    assert words == said, "no word is lost"
    returned = {
        name: text
        for name, text in results_in(session.history).items()
        if not name.startswith("odd_")
    }
    answered = results.keys() - {*session.pending}
    assert returned == {name: results[name] for name in answered}, "no result is lost"

    seen = last_assistant(session.history) + 1
    shown = results_in(session.context)
    unseen = results_in(session.history[seen:])
    assert unseen.items() <= shown.items(), "what the model hasn't seen stays"

    left = [text for _, text in waiting(session.history, session.persons)]
    texts = [
        block["text"]
        for message in session.context
        if message["role"] == "user"
        for block in of_type({**message, "content": blocks(message)}, "text")
    ]
    places = [texts.index(text) for text in left if text in texts]
    assert len(places) == len(left), "words that wait for an answer stay"
    assert not left or texts[-1] == left[-1], "the newest words stay last"
    assert all(blocks(message) for message in session.context)
    return loaded


class Life(RuleBasedStateMachine):
    @initialize(
        chosen=st.sampled_from([*SETTINGS]),
        engine=st.sampled_from([*OURS, *engines.ALL]),
    )
    def begin(self, chosen: str, engine: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.workspace = a_workspace(Path(self.folder.name))
        self.settings = SETTINGS[chosen]
        self.engine = engines.ALL.get(engine, pipeline.compact)
        self.session = a_session(Path(self.folder.name), self.settings)
        self.before = self.session
        self.clock = Clock()
        self.calls = 0
        self.odd = 0
        self.is_smooth = True  # nothing broke off and nothing was taken back
        self.words = list[str]()
        self.results = dict[str, str]()
        self.plan = list[Any]()
        """What the model does next; when it is empty the model is done."""
        self.summaries = list[Any]()
        """What becomes of the next summaries; when it is empty they are made."""

    def brain(self, body: Body) -> Any:
        if asks_for_summary(body["messages"]):
            return self.summaries.pop(0) if self.summaries else say(SUMMARY)
        action = self.plan.pop(0) if self.plan else say("Done.")
        if action is KeyboardInterrupt:
            raise KeyboardInterrupt
        return action() if callable(action) else action

    def agent(self) -> Agent:
        model = client(self.brain)
        return equipped(
            model,
            self.workspace,
            self.session,
            settings=self.settings,
            engine=self.engine,
            clock=self.clock,
        )

    def go(self, words: str | None) -> None:
        with ctrl_c():
            try:
                for _ in turns(self.agent(), words):
                    pass
            except KeyboardInterrupt:
                self.load()  # as the terminal does
                self.is_smooth = False
            except APIStatusError:
                self.is_smooth = False
        self.plan.clear()

    def load(self) -> None:
        self.session.close()
        self.session = load(self.session.path)

    def read(self, lines: int) -> Body:
        self.calls += 1
        name = f"toolu_{self.calls}"
        self.results[name] = self.workspace.read_file("a.txt", limit=lines)
        return call(name, "read_file", path="a.txt", limit=lines)

    def say_words(self, more: str) -> str:
        self.words.append(f"Words {len(self.words)}. {more}")
        return self.words[-1]

    @rule(more=st.text(st.characters(codec="utf-8"), max_size=30))
    def say(self, more: str) -> None:
        self.plan = [say(thinking("hm"), self.read(120))]
        self.go(self.say_words(more))

    @rule(
        sizes=st.lists(
            st.lists(st.integers(60, 150), min_size=1, max_size=3),
            min_size=3,
            max_size=6,
        )
    )
    def call(self, sizes: list[list[int]]) -> None:
        self.plan = [say(thinking("hm"), *map(self.read, batch)) for batch in sizes]
        self.go(self.say_words("Read."))

    @rule()
    def interrupt_the_model(self) -> None:
        self.plan = [say(self.read(150)), say(self.read(140)), KeyboardInterrupt]
        self.go(self.say_words("Read."))

    @rule()
    def interrupt_a_command(self) -> None:
        self.calls += 1
        name = f"toolu_{self.calls}"
        self.results[name] = INTERRUPTED
        command = call(name, "bash", command="kill -INT $PPID; sleep 9")
        self.plan = [say(self.read(130)), say(self.read(9), command)]
        self.go(self.say_words("Run."))

    @rule()
    def fail(self) -> None:
        self.plan = [say(self.read(110), self.read(100)), error(529)]
        self.go(self.say_words("Read."))

    @rule(kind=st.sampled_from([*ODD_REPLIES]))
    def reply_oddly(self, kind: str) -> None:
        self.odd += 1
        self.plan = [say(self.read(110)), ODD_REPLIES[kind](f"odd_{self.odd}")]
        self.plan.append(lambda: say(self.read(90)))
        self.go(self.say_words("Read."))

    @rule(fates=st.lists(st.sampled_from([*BROKEN_SUMMARIES]), min_size=1, max_size=3))
    def break_summaries(self, fates: list[str]) -> None:
        self.summaries = [BROKEN_SUMMARIES[fate] for fate in fates]
        self.plan = [say(self.read(150), self.read(150)) for _ in range(3)]
        self.go(self.say_words("Read."))
        self.summaries.clear()

    @rule(focus=st.sampled_from(["", "the file"]))
    def compact(self, focus: str) -> None:
        self.agent().compact_now(focus)

    @rule()
    def take_back(self) -> None:
        with suppress(ValueError):  # there is none, or no room for what was before
            undo(self.agent())
            self.is_smooth = False

    @rule(seconds=st.sampled_from([400, 4_000]))
    def pause(self, seconds: int) -> None:
        self.clock.now += seconds

    @rule(torn=st.sampled_from([b"", b'{"type": "us', b"\xff\xff\n"]))
    def kill(self, torn: bytes) -> None:
        with self.session.path.open("ab") as file:
            file.write(torn)
        self.load()

    @rule()
    def resume(self) -> None:
        self.go(None)

    @precondition(lambda self: self.results)
    @rule(data=st.data())
    def recall(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.results)))
        if name not in self.session.pending:
            assert self.session.recall(name) == self.results[name]

    @invariant()
    def all_holds(self) -> None:
        if getattr(self, "session", None) and self.session.path:
            self.before = hold(self.session, self.before, self.words, self.results)

    def teardown(self) -> None:
        if not hasattr(self, "session"):
            return
        path = self.session.path
        if path and path.exists() and self.session.requests:
            recorded = session_report.load(path)
            assert told(recorded.history) == told(self.session.history)
            is_ours = self.engine is pipeline.compact
            if is_ours and self.is_smooth and self.settings.clear_when == "always":
                frames = replay(recorded, self.settings)
                shown = [frame.context for frame in frames]
                assert shown == [request.context for request in recorded.requests]
        self.session.close()
        self.folder.cleanup()


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=30, stateful_step_count=12)


def test_results_that_weigh_less_than_guessed_change_no_replay():
    life = Life()
    life.begin(chosen="words", engine="ours")
    first = [[60, 60], [60, 60, 60], [60, 119, 100], [60], [60, 60], [61, 109, 136]]
    for sizes in (first, [[60, 60], [60, 83], [134, 146]]):
        life.call(sizes)
        life.all_holds()
    life.teardown()
