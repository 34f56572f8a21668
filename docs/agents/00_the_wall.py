"""Lesson 00: an agent, until its window is full."""

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

Block = dict[str, Any]
Message = dict[str, Any]
Messages = list[Message]
Context = Messages
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


# -- the loop of lesson 00.
def send(messages: Messages) -> Message:
    """Send a request. agentlib/api/requests.py lets the API cache what stays the same."""
    tools = [definition(*each) for each in TOOLS.items()]
    return client.messages.create(
        model=MODEL, max_tokens=4_000, tools=tools, messages=messages
    ).to_dict()


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
        loop(context, send, Path.cwd())
    except anthropic.BadRequestError as refusal:
        sys.exit(f"The wall: {refusal.message}")
    print(text_of(context[-1]))
