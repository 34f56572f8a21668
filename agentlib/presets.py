"""Real systems as `Settings`: their numbers and their policy, never their bugs.

What a system's own code gets wrong (facts: systems.md, D1 to D30) is shown in the lessons and not
repeated here: unseen results stay, calls keep their results, a request ends with the user.
"""

from dataclasses import replace

from agentlib.settings import Settings

LEARN_CLAUDE_CODE = Settings(
    threshold=50_000,
    estimator="chars",
    micro="clear",
    keep_recent=3,
    min_chars=100,
    keep_exchanges=0,
    summary_tokens=2_000,
)
"""learn-claude-code s06 in Python (seed 002): KEEP_RECENT 3, over 100 characters, THRESHOLD 50,000
by characters / 4, everything replaced by a summary of at most 2,000 tokens."""

LEARN_CLAUDE_CODE_TS = replace(LEARN_CLAUDE_CODE, min_chars=0)
"""learn-claude-code s06 in TypeScript (seed 004): as the Python one, but results of any size go."""

JAVA_L06 = replace(LEARN_CLAUDE_CODE, micro="truncate", keep_messages=6, max_result_chars=200)
"""The Java course's L06 (seed 000): results older than the last 6 messages cut to 200 characters,
THRESHOLD 50,000 by characters / 4, everything replaced. It asks for no length of the summary; the
2,000 tokens are its Python sibling's."""

CLAUDE_CODE = Settings(
    context_window=200_000,
    output_reserve=20_000,
    buffer=13_000,
    micro="clear",
    keep_recent=3,
    clear_when="cold",
    cache_ttl=3_600,
    keep_exchanges=0,
    summary_tokens=5_000,
)
"""Claude Code as documented and measured (facts: systems.md 1b, claude_code_sessions.md 1.3):
compacts at window - 20,000 - 13,000 = 167,000, at most 20,000 tokens of summary, clears old
results once the cache has been cold for an hour. Without the files it restores (lesson 07)."""

DEFAULT = Settings(
    threshold_pct=65,
    estimator="anchored",
    micro="clear",
    clear_when="cold",
    keep_recent=5,
    clear_at_least=5_000,
    keep_exchanges=1,
    summary_tokens=3_500,
    recall=True,
)
"""What 25 real sessions replayed under every policy recommend (facts: economics.md): results are
cleared only when the cache is cold (keep 5, at least 5,000 tokens), auto-compact at 65 % of the
window (130,000 of 200,000), summaries of the recorded median length (12,200 characters), the
newest exchange kept, and originals one `recall` away. Without the files to restore (lesson 07)."""

ALL = {
    "learn-claude-code": LEARN_CLAUDE_CODE,
    "learn-claude-code-ts": LEARN_CLAUDE_CODE_TS,
    "java-l06": JAVA_L06,
    "claude-code": CLAUDE_CODE,
    "default": DEFAULT,
}
"""Every preset by the name that `--preset` takes."""
