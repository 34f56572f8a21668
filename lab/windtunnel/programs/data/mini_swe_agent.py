"""mini-swe-agent with its own prompt: it has only bash. Arguments: address, prompt."""

import os
import sys
from pathlib import Path

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # or it asks the network
os.environ["MSWEA_COST_TRACKING"] = "ignore_errors"
os.environ["MSWEA_SILENT_STARTUP"] = "1"

import minisweagent
import yaml
from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.litellm_model import LitellmModel

address, prompt = sys.argv[1:]
config = yaml.safe_load(
    (Path(minisweagent.__file__).parent / "config/mini.yaml").read_text()
)
del config["agent"]["mode"]
config["model"]["model_kwargs"]["api_base"] = address
model = LitellmModel(model_name="anthropic/claude-haiku-5-5", **config["model"])
place = LocalEnvironment(cwd=str(Path.cwd()), **config["environment"])
config["agent"]["step_limit"] = 400
ended = DefaultAgent(model, place, **config["agent"]).run(prompt)["exit_status"]
print(ended)
sys.exit(ended != "Submitted")
