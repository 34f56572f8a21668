"""An agent with a compaction of its own, and faults that it can be told to have.

python fake_agent.py ADDRESS WINDOW FAULTS PROMPT     its session is in HOME

FAULTS is none, one, or several with a + between them.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ADDRESS, WINDOW, NAMES, PROMPT = sys.argv[1], int(sys.argv[2]), *sys.argv[3:]
FAULTS = NAMES.split("+")
SESSION = Path.home() / "session.json"
BASH = {
    "name": "bash",
    "description": "Run a command.",
    "input_schema": {
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    },
}
WISH = (
    "Write a detailed summary of our conversation so far, with all files and rules, so "
    "that you can go on with nothing but your summary."
)


def ask(messages: list, most: int = 1_500) -> dict:
    """Send a request and return the answer."""
    body = {"model": "claude-haiku-5-5", "max_tokens": most, "messages": messages}
    body["tools"] = [BASH]
    if "searches" in FAULTS:
        body["tools"].append({"type": "web_search_20250305", "name": "web_search"})
    if "newer" in FAULTS:
        body["mcp_servers"] = [{"type": "url", "url": "http://localhost", "name": "x"}]
    headers = {"x-api-key": "any", "anthropic-version": "2023-06-01"}
    request = urllib.request.Request(
        f"{ADDRESS}/v1/messages", json.dumps(body).encode(), headers
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def bash(command: str, compacted: bool) -> str:
    if "refuses" in FAULTS:
        return "Error: give the command as a list"
    if "tools" in FAULTS and compacted:
        return "Error: this tool is gone"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    output = (done.stdout + done.stderr)[:40_000] or "(no output)"
    result = {"output": output, "exit_code": done.returncode, "error": None}
    return json.dumps(result) if "json" in FAULTS else output


def cleared(message: dict) -> dict:
    """Return a message without the text of its results, the newest ones', too."""
    if isinstance(message["content"], str):
        return message
    blocks = [
        {**block, "content": "[cleared]"} if block["type"] == "tool_result" else block
        for block in message["content"]
    ]
    return {**message, "content": blocks}


def compact(messages: list, prompt: str) -> list:
    if "cuts" in FAULTS:
        return [{"role": "user", "content": "Go on."}]
    if "clears" in FAULTS:
        return [cleared(message) for message in messages]
    shown = messages[:1] if "blind" in FAULTS else messages
    shown = messages[:-2] if "skips" in FAULTS else shown
    most = 60 if "short" in FAULTS else 1_500
    answer = ask([*shown, {"role": "user", "content": WISH}], most)
    summary = "".join(block.get("text", "") for block in answer["content"])
    if "trims" in FAULTS:
        lines = summary.splitlines()
        summary = "\n".join(lines[: len(lines) // 3 + 1])
    words = f"<summary>\n{summary}\n</summary>\n\n"
    if "drops" in FAULTS:
        words = "Go on.\n\n"
    if "grows" in FAULTS:
        words += "Remember this well. " * WINDOW
    if "pads" in FAULTS:
        words += "Remember this well. " * (WINDOW // 20)
    content = [{"type": "text", "text": words}]
    if "forgets" not in FAULTS:
        content.append({"type": "text", "text": prompt})
    return [{"role": "user", "content": content}]


def work() -> None:
    is_old = SESSION.exists() and "new" not in FAULTS
    messages = json.loads(SESSION.read_text()) if is_old else []
    compacted = False
    messages.append({"role": "user", "content": PROMPT})
    for _ in range(60):  # a fault can keep the work from its end
        if "stops" in FAULTS and len(messages) > 8:
            return
        is_full = len(json.dumps(messages)) / 3 > 0.6 * WINDOW
        is_full = is_full or ("eager" in FAULTS and len(messages) > 4)
        if is_full and "never" not in FAULTS:
            messages, compacted = compact(messages, PROMPT), True
        answer = ask(messages)
        if "twice" in FAULTS:
            answer = ask(messages)
        messages.append({"role": "assistant", "content": answer["content"]})
        calls = [block for block in answer["content"] if block["type"] == "tool_use"]
        results = [
            {
                "type": "tool_result",
                "tool_use_id": call["id"],
                "content": bash(call["input"]["command"], compacted),
            }
            for call in calls
        ]
        SESSION.write_text(json.dumps(messages))
        if not calls:
            return
        messages.append({"role": "user", "content": results})


if "elsewhere" in FAULTS:
    headers = {"x-api-key": "any", "anthropic-version": "2023-06-01"}
    urllib.request.urlopen(
        urllib.request.Request(f"{ADDRESS}/v1/responses", b"{}", headers)
    )
elif "silent" in FAULTS:
    print("I need a terminal")
elif "hangs" in FAULTS:
    time.sleep(600)
elif "floods" in FAULTS:
    while True:
        print("again and again" * 100)
elif "leaves" in FAULTS:
    subprocess.Popen(["sleep", "613"], start_new_session=True)
    work()
elif "nosy" in FAULTS:
    Path(os.environ["PLACE"]).write_text("I was here")
    work()
elif "calls" in FAULTS:
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(os.environ["PLACE"])
    work()
elif "emoji" in FAULTS:
    print("\ud83d".encode("utf-8", "surrogatepass"))
    try:
        ask([{"role": "user", "content": "\ud83d"}])
    finally:
        sys.stdout.buffer.write(b"\xed\xa0\xbd\n")
elif "latin" in FAULTS:
    work()
    Path("REPORT.md").write_bytes("# Für Ada\n".encode("latin-1"))
elif "sparse" in FAULTS:
    with Path("REPORT.md").open("wb") as file:
        file.truncate(3_000_000_000)
    ask([{"role": "user", "content": PROMPT}])
else:
    work()
