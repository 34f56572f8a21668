"""Claude's agent SDK: a `PreCompact` hook. Claude Code compacts by itself, and this
only watches.

>>> from claude_agent_sdk import ClaudeAgentOptions, HookMatcher
>>> from agentlib.adapters.claude_agent import archiving
>>> hooks = {"PreCompact": [HookMatcher(hooks=[archiving("archive")])]}
>>> options = ClaudeAgentOptions(hooks=hooks)

No hook can replace Claude Code's summary, so no engine of ours runs there. Before each
compaction the transcript is copied into the folder, where `agentlib-sessions` reads it:
what filled the window, and what other settings would have cost. The copy stays when
Claude Code deletes its own files, after 30 days. If a transcript can't be copied, Claude
Code compacts all the same, and the cause goes to the log `agentlib.adapters`.
"""

import logging
import shutil
import time
from pathlib import Path
from typing import Any

_LOG = logging.getLogger("agentlib.adapters")


def archiving(folder: Path | str) -> Any:
    """Return the hook. It names each copy by the session's id and the time.

    Raises TypeError if the folder is no path.
    """
    archive = Path(folder)

    async def hook(
        event: dict[str, Any], tool_use_id: str | None, context: Any
    ) -> dict[str, Any]:
        try:
            place = archive / f"{event['session_id']}-{time.time_ns()}.jsonl"
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(event["transcript_path"], place)
        except Exception as error:
            _LOG.warning("the transcript isn't copied: %r", error)
        return {}

    return hook
