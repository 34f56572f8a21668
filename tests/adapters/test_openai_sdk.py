"""OpenAI's own SDK against the offline API: chat completions, whole and as a stream."""

import json
import subprocess

from agentlib.settings import MODEL
from offline_api.model import reply
from offline_api.server import Server
from tests.adapters.others import PYTHON, ROOT
from tests.loopback import served


def test_openais_sdk_gets_answers_streams_bills_and_its_own_codes():
    with served(Server(reply, window=8_000)) as wire:
        done = subprocess.run(
            [PYTHON, ROOT / "tests/adapters/agents/openai_sdk.py", f"{wire.url}/v1"],
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr[-2_000:]
    values = json.loads(done.stdout)
    assert values["models"] == [values["model"]] == [MODEL]
    assert (values["reason"], values["last"]) == ("tool_calls", "tool_calls")
    assert values["calls"][0] == values["calls"][1]
    assert values["tokens"][0] == values["tokens"][1] > 0
    assert "tool_calls.function.arguments.done" in values["events"]
    assert values["too long"] == [400, "context_length_exceeded"]
    assert values["unknown"] == [404, "model_not_found"]
    assert values["responses"][0] == 404
