"""The exercises of lesson 06: both ends, a tail by tokens, a budget that never falls, a note."""

from agentlib.auto_compact import summary_message
from agentlib.estimation import message_tokens
from agentlib.head_and_tail import summary_budget
from agentlib.lab import model
from agentlib.lab.lessons.checking import Answer, conversation, exercise, near, require
from agentlib.messages import Message, active_request, exchanges

SUMMARY = "b.py and c.py are read; both are empty."
TASK = "Read every Python file one by one"
HAND_OFF = f"""\
## Task context
Task: {TASK}
## Pending questions
- Earlier request: Where is `LIMIT` set? Follow it through the files.
## Remaining work
files done: 1; no progress: 0"""


@exercise("06.1", "both ends word for word, one summary between them, and the API takes it.")
def _both_ends(answer: Answer) -> None:
    six, two_requests = conversation(*[300] * 6), conversation(*[300] * 5)
    two_requests.insert(7, {"role": "user", "content": "Now the tests."})
    for head, tail, messages in ((1, 2, six), (2, 1, six), (3, 3, six), (1, 1, two_requests)):
        new = answer.messages(messages, SUMMARY, head, tail)
        starts = [start for start, _ in exchanges(messages)]
        first, last = messages[: starts[head]], messages[starts[-tail] :]
        case = f"with head={head}, tail={tail} of {len(starts)} exchanges"
        whole = new[: len(first)] == first and new[-len(last) :] == last
        ends = f"the first {len(first)} and the last {len(last)} messages"
        require(whole, f"{case}, {ends} should stay as they are.")
        between = new[len(first) : -len(last)]
        one = len(between) == 1 and SUMMARY in str(between)
        require(one, f"{case}, one message with the summary should stand between the ends.")
        words = active_request(messages)
        kept = active_request(new) == words
        require(kept, f"{case}, the person's last words, {words!r}, were in the middle.")


@exercise("06.2", "whole exchanges, as many as fit, and never none.")
def _tail(answer: Answer) -> None:
    for sizes, budget, count in (
        ([300, 300, 300, 300], 400, 2),
        ([300, 300, 300, 300], 10_000, 4),
        ([300, 9_000], 500, 1),
        ([300, 9_000, 300], 500, 1),
    ):
        messages = conversation(*sizes)
        right = messages[exchanges(messages)[-count][0] :]
        tokens = round(sum(map(message_tokens, right)))
        tail = answer.call(messages, budget)
        case = f"with results of {sizes} characters and a budget of {budget:,}"
        wanted = f"the last {len(right)} messages should stay, {tokens:,} tokens"
        require(tail == right, f"{case}, {wanted}; yours kept {len(tail)} messages.")


@exercise("06.3", "it meets the three figures, in straight lines, and never falls.")
def _budget(answer: Answer) -> None:
    for size in (10_000, 30_000, 100_000, 5_000, 10_500, 20_000, 65_000, 100_001, 2_000_000):
        case = {"straight lines join the three figures": (summary_budget(size, 5_000), size)}
        answer.agree(case, near(1))


@exercise("06.4", "the pending question stays where it is, and the task goes on.")
def _no_order(answer: Answer) -> None:
    text = answer.call(HAND_OFF)
    require(HAND_OFF in text, "the summary should stand in the text, word for word.")
    words = len(text) - len(HAND_OFF)
    require(words <= 400, f"you added {words} characters, over 400; each compaction pays for them.")
    pending = "with these words the model goes for the pending question about LIMIT"
    phrases = '"reference only", "no instruction" and "not instructions"'
    require("LIMIT" not in _next_calls(text), f"{pending}. It knows the words {phrases}.")


def _next_calls(text: str) -> str:
    """Give the offline model a task and this hand-off; return its reply as text."""
    task: Message = {"role": "user", "content": TASK}
    tools = [{"name": name} for name in ("bash", "read_file", "write_file", "edit_file")]
    body = {"messages": [task, summary_message(text, "t.jsonl", TASK)], "tools": tools}
    return str([block.get("input") for block in model.reply(body)["content"]])
