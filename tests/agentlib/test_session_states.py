"""A session through anything that can happen to it, in any order.

Each rule is one event. After each, the file says what memory says, no word and no
result is lost, and everything can be recalled. `fakes.client` refuses a request that
breaks a rule of the API.
"""

import tempfile
from pathlib import Path
from typing import Any

from anthropic import APIStatusError
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agentlib.loop import Agent
from agentlib.messages import INTERRUPTED, blocks, of_type, result_text
from agentlib.transcripts import load
from tests.fakes import Body, Clock, asks_for_summary, call, client, error, say, think
from tests.runs import SMALL, a_session, a_workspace, ctrl_c, state


class Life(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.workspace = a_workspace(Path(self.folder.name))
        self.session = a_session(Path(self.folder.name))
        self.clock, self.calls = Clock(), 0
        self.words, self.results = list[str](), dict[str, str]()
        self.plan = list[Any]()
        """What the model does next; when it is empty the model is done."""

    def brain(self, body: Body) -> Any:
        if asks_for_summary(body):
            return say("## Accomplished\nRead.")
        action = self.plan.pop(0) if self.plan else say("Done.")
        if action is KeyboardInterrupt:
            raise KeyboardInterrupt
        return action

    def agent(self) -> Agent:
        model = client(self.brain)
        return Agent(model, self.workspace, self.session, SMALL, clock=self.clock)

    def go(self, words: str | None) -> None:
        with ctrl_c():
            try:
                for _ in self.agent().run(words):
                    pass
            except KeyboardInterrupt:
                self.session = load(self.session.path)  # as the terminal does
            except APIStatusError:
                pass
        self.plan.clear()

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
        self.go(self.say_words(more))

    @rule(
        sizes=st.lists(
            st.lists(st.integers(1, 150), min_size=1, max_size=3), max_size=4
        )
    )
    def call(self, sizes: list[list[int]]) -> None:
        self.plan = [say(think("hm"), *map(self.read, batch)) for batch in sizes]
        self.go(self.say_words("Read."))

    @rule()
    def interrupt_the_model(self) -> None:
        self.plan = [say(self.read(9)), KeyboardInterrupt]
        self.go(self.say_words("Read."))

    @rule()
    def interrupt_a_command(self) -> None:
        self.calls += 1
        name = f"toolu_{self.calls}"
        self.results[name] = INTERRUPTED
        command = call(name, "bash", command="kill -INT $PPID; sleep 9")
        self.plan = [say(self.read(9), command)]
        self.go(self.say_words("Run."))

    @rule()
    def fail(self) -> None:
        self.plan = [say(self.read(9)), error(529)]
        self.go(self.say_words("Read."))

    @rule(focus=st.sampled_from(["", "the file"]))
    def compact(self, focus: str) -> None:
        self.agent().compact_now(focus)

    @rule(torn=st.sampled_from([b"", b'{"type": "us', b"\xff\xff\n"]))
    def kill(self, torn: bytes) -> None:
        with self.session.path.open("ab") as file:
            file.write(torn)
        self.session = load(self.session.path)

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
    def the_file_says_what_memory_says(self) -> None:
        assert state(load(self.session.path)) == state(self.session)

    @invariant()
    def nothing_is_lost(self) -> None:
        said = [
            m["content"] for m in self.session.history if isinstance(m["content"], str)
        ]
        assert said == self.words
        results = [r for m in self.session.history for r in of_type(m, "tool_result")]
        missing = {*self.results} - {*self.session.pending}
        assert {r["tool_use_id"]: result_text(r) for r in results} == {
            name: self.results[name] for name in missing
        }
        assert all(blocks(message) for message in self.session.context)

    def teardown(self) -> None:
        self.folder.cleanup()


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=8, stateful_step_count=12)
