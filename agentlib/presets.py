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

S24 = Settings(
    output_reserve=16_000,
    buffer=13_000,
    estimator="blocks",
    micro="off",
    keep_exchanges=1,
    summary_tokens=2_000,
    manual=False,
)
"""s24, a rebuilding of Claude Code's auto-compact (seed 001): at 200,000 - 16,000 - 13,000 =
171,000 tokens, counted by block x 4/3, a summary takes the place of all but the last turn; old
results are never cleared, and the model has no tool to ask for it. The seed names the length of
the summary and does not give it; the 2,000 tokens are its siblings'."""

HERMES = Settings(
    threshold_pct=85,
    micro="off",
    head_tokens=4_000,
    tail_tokens=16_000,
    trim_over=2_000,
    trim_keep=800,
    summary_tokens=5_000,
    summary_model="auto",
    warn_at=(0.65, 0.75, 0.85, 0.95),
    emergency_at=0.95,
    manual=False,
)
"""Hermes (seed 003): at 85 % of the window (its own code says 80, D20) the middle is trimmed and
summarised between a head of 4,000 tokens and a tail of 16,000. The summary is asked for in
proportion: 2,000 tokens for 10,000, 3,000 for 30,000, 5,000 for 100,000 and more. It is for
reference only, is updated the next time, and is written by the session's own model."""

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
    restore_files=5,
)
"""Claude Code as documented and measured (facts: systems.md 1b, claude_code_sessions.md 1.3):
compacts at window - 20,000 - 13,000 = 167,000, at most 20,000 tokens of summary, clears old
results once the cache has been cold for an hour, puts back the last 5 files, 5,000 tokens each."""

DEFAULT = Settings(
    threshold_pct=65,
    estimator="anchored",
    micro="clear",
    clear_when="cold",
    keep_recent=5,
    clear_at_least=5_000,
    tail_tokens=10_000,
    trim_over=10**9,
    summary_tokens=3_500,
    restore_files=5,
    recall=True,
)
"""What 25 real sessions replayed under every policy recommend (facts: economics.md): results are
cleared only when the cache is cold (keep 5, at least 5,000 tokens), auto-compact at 65 % of the
window (130,000 of 200,000), summaries of the recorded median length (12,200 characters), the last
5 files put back, 5,000 tokens each, and originals one `recall` away. The newest exchanges stay
within 10,000 tokens, and the middle is not trimmed, so that the summary's call reads the cache."""

ALL = {
    "learn-claude-code": LEARN_CLAUDE_CODE,
    "learn-claude-code-ts": LEARN_CLAUDE_CODE_TS,
    "java-l06": JAVA_L06,
    "s24": S24,
    "hermes": HERMES,
    "claude-code": CLAUDE_CODE,
    "default": DEFAULT,
}
"""Every preset by the name that `--preset` takes."""
