"""An hour: the agent that the five documents describe."""

import json
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
THRESHOLD = 20_800  # tokens of a prompt that is too full, estimated low
KEEP_RECENT = 3  # results that stay whole
MIN_CHARS = 100  # so short a result stays, too
SUMMARY_TOKENS = 1_500
FILE = Path(".transcript.jsonl")
INTERRUPTED = "interrupted; check before repeating"

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
    "compact": 'echo Compacted: "$focus"  # summarise, when a piece of work is done',
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


def last_words(messages: Messages) -> str:
    said = [b for m in messages if m["role"] == "user" for b in of_type(m, "text")]
    return [block["text"] for block in said if SUMMARY_HEADER not in block["text"]][-1]


# -- lesson 01: how full is the window? agentlib/estimation.py goes by kind of text.
def estimate_tokens(messages: Messages) -> int:
    return len(str(messages)) // 4


class Context(Messages):  # what the next request sends
    def size(self, view: Messages) -> int:
        return estimate_tokens(view)

    def append(self, message: Message) -> None:
        append(message, FILE)
        super().append(message)


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


# -- lesson 03: a summary in place of what is old.
SUMMARY_HEADER = "[Conversation compressed. Transcript: "
SUMMARY_END = "[End of summary]"
PROMPT = f"""Summarize this conversation for continuity. What you write takes the place
of all but the newest exchange. Call no tool. Use at most {SUMMARY_TOKENS} tokens, under
these headings:
## Accomplished
## Current state
## Key decisions"""


def keep_last(messages: Messages, top: Message, keep: int = 1) -> Messages:
    newest = exchanges(messages)[-keep:] if keep else []
    kept = messages[newest[0][0] :] if newest else []
    return [top, *kept]


def summarise(now: Context, view: Messages) -> Messages:
    """Put a summary in place of what is old, if the window is full or the model asks."""
    focus = focus_of(view)
    if (focus is None and now.size(view) <= THRESHOLD) or len(exchanges(view)) < 2:
        return view
    sent = view[: last_assistant(view)]  # it has fitted before
    wish = PROMPT + (f"\nFocus: {focus}" if focus else "")
    reply = send([*sent, {"role": "user", "content": wish}])
    return replaced(now, view, text_of(reply))


def replaced(now: Context, view: Messages, text: str) -> Messages:
    """Put a text in place of what is old, with the person's last words beside it."""
    words = last_words(view)
    header = f"{SUMMARY_HEADER}{FILE}]"
    texts = [f"{header}\n\n{text}\n{SUMMARY_END}", words]
    blocks = [{"type": "text", "text": text} for text in texts]
    top = {"role": "user", "content": blocks}
    shorter = keep_last(view, top)
    append(top, FILE)
    print(f"[compacted: {now.size(view):,} -> {now.size(shorter):,} tokens]")
    return shorter


# -- lesson 04: the model may ask for it.
def focus_of(messages: Messages) -> str | None:
    newest = last_assistant(messages)
    calls = of_type(messages[newest], "tool_use") if newest >= 0 else []
    calls = [call for call in calls if call["name"] == "compact"]
    if not calls:
        return None
    focuses = [call["input"].get("focus") for call in calls]
    return "; ".join(focus for focus in focuses if focus)


# -- lesson 05: all is on disk. agentlib/session/file.py keeps a file for each session.
def append(message: Message, path: Path) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(message) + "\n")


def load(path: Path) -> Messages:
    messages: Messages = []
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            messages.append(json.loads(line))
        except ValueError:
            continue
    return messages


def unanswered(messages: Messages) -> list[str]:
    return [c["id"] for m in messages[-1:] for c in of_type(m, "tool_use")]


def close_calls(messages: Messages) -> list[Block]:
    block = {"type": "tool_result", "content": INTERRUPTED, "is_error": True}
    return [{**block, "tool_use_id": name} for name in unanswered(messages)]


def resume() -> Context:
    with FILE.open("a", encoding="utf-8") as file:
        file.write("\n")  # ends a line that was torn
    now = Context()
    for message in load(FILE):
        is_top = bool(now) and text_of(message).startswith(SUMMARY_HEADER)
        now[:] = keep_last(now, message) if is_top else [*now, message]
    if unanswered(now):
        now.append({"role": "user", "content": close_calls(now)})
    return now


LAYERS = [clear, summarise]


# -- the loop of lesson 00.
def send(messages: Messages) -> Message:
    """Send a request. agentlib/api/requests.py lets the API cache what stays the same."""
    tools = [definition(*each) for each in TOOLS.items()]
    system = f"The context window is {WINDOW:,} tokens; compacted at {THRESHOLD:,}."
    return client.messages.create(
        model=MODEL, max_tokens=4_000, system=system, tools=tools, messages=messages
    ).to_dict()


def ask(now: Context) -> Message:
    view: Messages = now
    for layer in LAYERS:
        view = layer(now, view)
    reply = send(view)
    now[:] = view
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
    context = resume()
    for prompt in sys.argv[1:]:  # none: go on with the transcript
        context.append({"role": "user", "content": prompt})
    loop(context or sys.exit("Nothing to go on with: say what to do."), ask, Path.cwd())
    print(text_of(context[-1]))
