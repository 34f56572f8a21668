"""Lesson 02: an agent that clears old results."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic

MODEL = "claude-haiku-5-5"
WINDOW = 32_000  # tokens that the model can read at once
CAP = 80_000  # characters of a result
THRESHOLD = 27_200  # tokens of a prompt that is too full
KEEP_RECENT = 3  # results that stay whole
MIN_CHARS = 3_000  # so short a result stays, too

Block = dict[str, Any]
Message = dict[str, Any]
Messages = list[Message]
key = os.environ.get("ANTHROPIC_API_KEY") or sys.exit("Set ANTHROPIC_API_KEY.")
client: Any = anthropic.Anthropic(api_key=key)

# -- the tools: lines of shell, with inputs as variables. agentlib/tools/ confines them.
TOOLS = {
    "bash": 'eval "$command"  # run a command',
    "read_file": 'cat "$path"  # read a file',
    "write_file": 'printf %s "$content" > "$path"  # write a whole file',
}


def definition(name: str, script: str) -> Block:
    texts = [part[1:] for part in script.split('"') if part.startswith("$")]
    inputs = {text: {"type": "string"} for text in texts}
    schema = {"type": "object", "properties": inputs, "required": texts}
    return {"name": name, "description": script, "input_schema": schema}


def result(call: Block, workspace: Path) -> Block:
    print(">", call["name"], str(call["input"])[:66])
    words = ["bash", "-c", TOOLS[call["name"]]]
    inputs = {"PATH": os.environ["PATH"], **call["input"]}  # and no key
    done = subprocess.run(words, cwd=workspace, env=inputs, capture_output=True)
    text = (done.stdout + done.stderr).decode(errors="replace")[:CAP] or "(empty)"
    return {"type": "tool_result", "tool_use_id": call["id"], "content": text}


# -- questions to messages. agentlib/messages.py has more of them.
def blocks(message: Message) -> list[Block]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def of_type(message: Message, kind: str) -> list[Block]:
    return [block for block in blocks(message) if block["type"] == kind]


def text_of(message: Message) -> str:
    return "\n".join(block["text"] for block in of_type(message, "text"))


def exchanges(messages: Messages) -> list[tuple[int, int]]:
    starts = [i for i, each in enumerate(messages) if each["role"] == "assistant"]
    return list(zip(starts, [*starts[1:], len(messages)], strict=False))


def last_assistant(messages: Messages) -> int:
    return max((start for start, _ in exchanges(messages)), default=-1)


def tool_names(messages: Messages) -> dict[str, str]:
    return {c["id"]: c["name"] for m in messages for c in of_type(m, "tool_use")}


def with_results(messages: Messages, texts: dict[str, str]) -> Messages:
    new = {name: {"content": text} for name, text in texts.items()}
    return [
        {**m, "content": [b | new.get(b.get("tool_use_id", ""), {}) for b in blocks(m)]}
        for m in messages
    ]


# -- lesson 01: how full is the window? agentlib/estimation.py goes by kind of text.
def estimate_tokens(messages: Messages) -> int:
    return len(str(messages)) // 4


def next_prompt(billed: int, sent: int, messages: Messages) -> int:
    return billed + estimate_tokens(messages[sent:])


class Context(Messages):  # what the next request sends
    billed = 0  # tokens of the last request and its reply
    sent = 0  # messages that this bill counts

    def size(self, view: Messages) -> int:
        gone = estimate_tokens(self) - estimate_tokens(view)  # what layers took away
        return next_prompt(self.billed, self.sent, self) - gone


def alarm(now: Context, view: Messages) -> Messages:
    """Stop before the API refuses the prompt. Nothing better is known yet."""
    if now.size(view) > THRESHOLD:
        sys.exit(f"The wall: the next prompt has about {now.size(view):,} tokens.")
    return view


# -- lesson 02: old results give way to placeholders.
def clear_view(
    messages: Messages, keep_recent: int = 3, min_chars: int = 100
) -> Messages:
    results = [r for m in messages for r in of_type(m, "tool_result")]
    new = messages[last_assistant(messages) + 1 :]
    unseen = [r for m in new for r in of_type(m, "tool_result")]
    stay = max(keep_recent, len(unseen))
    old = results[: max(0, len(results) - stay)]
    ids = [r["tool_use_id"] for r in old if len(r["content"]) > min_chars]
    names = tool_names(messages)
    return with_results(messages, {i: f"[Previous: used {names[i]}]" for i in ids})


def clear(now: Context, view: Messages) -> Messages:
    return clear_view(view, KEEP_RECENT, MIN_CHARS)


LAYERS = [clear, alarm]


# -- the loop of lesson 00.
def send(messages: Messages) -> Message:
    """Send a request. agentlib/api/requests.py lets the API cache what stays the same."""
    tools = [definition(*each) for each in TOOLS.items()]
    return client.messages.create(
        model=MODEL, max_tokens=4_000, tools=tools, messages=messages
    ).to_dict()


def ask(now: Context) -> Message:
    view: Messages = now
    for layer in LAYERS:
        view = layer(now, view)
    reply = send(view)
    now[:] = view
    now.billed = reply["usage"]["input_tokens"] + reply["usage"]["output_tokens"]
    now.sent = len(view) + 1
    return reply


def loop(messages: Context, ask: Callable[..., Message], workspace: Path) -> None:
    while messages[-1]["role"] == "user":
        reply = ask(messages)
        messages.append({"role": "assistant", "content": reply["content"]})
        calls = of_type(reply, "tool_use")
        if calls:
            results = [result(call, workspace) for call in calls]
            messages.append({"role": "user", "content": results})


if __name__ == "__main__":
    prompt = " ".join(sys.argv[1:]) or sys.exit("Say what to do, in quotes.")
    context = Context([{"role": "user", "content": prompt}])
    try:
        loop(context, ask, Path.cwd())
    except anthropic.BadRequestError as refusal:
        sys.exit(f"The wall: {refusal.message}")
    print(text_of(context[-1]))
