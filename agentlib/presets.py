"""Real systems as `Settings`: their numbers and their policy, never their bugs.

The sources:

- learn-claude-code: https://github.com/shareAI-lab/learn-claude-code, lesson s06 of
  early 2026, in Python and in TypeScript. Its chapter on this is s08 now, which counts
  characters and clears only over its limit
- the Java agent: L06 of a Java course on the same three layers
- s24: the chapter on auto-compact of a course that rebuilds Claude Code
- Hermes: https://github.com/NousResearch/hermes-agent, as a chapter on its
  `agent/context_compressor.py` describes it. The program itself has changed since
- Claude Code: https://code.claude.com/docs, and its session files

A number that `Settings()` has already isn't repeated: its own are s24's,
learn-claude-code's, the Java agent's and Hermes'. The docstrings name them all, and a
test holds them.

The lessons show what each system gets wrong. Here unseen results stay, calls keep their
results and a request ends with the user, whatever the source does.
"""

from dataclasses import replace

from agentlib.settings import Settings

LEARN_CLAUDE_CODE = Settings(threshold=50_000, estimator="chars", keep_exchanges=0)
"""learn-claude-code in Python. KEEP_RECENT is 3, and only results over 100 characters
are cleared. THRESHOLD is 50,000 tokens, estimated as characters / 4. A summary of at
most 2,000 tokens replaces everything."""

LEARN_CLAUDE_CODE_TS = replace(LEARN_CLAUDE_CODE, min_chars=0)
"""learn-claude-code in TypeScript. Unlike the Python one it clears results of any
size."""

JAVA_L06 = replace(LEARN_CLAUDE_CODE, micro="truncate")
"""The Java agent. Results older than the last 6 messages are cut to 200 characters.
THRESHOLD is 50,000 tokens, estimated as characters / 4, and everything is replaced. It
asks for no length of the summary, so the 2,000 tokens are learn-claude-code's."""

S24 = Settings(estimator="blocks", micro="off", manual=False)
"""s24. At 200,000 - 16,000 - 13,000 = 171,000 tokens, estimated by block x 4/3, a
summary replaces everything but the last turn. Old results are never cleared, and the
model has no tool to ask for a compaction. The chapter mentions a length of the summary
without giving it, so the 2,000 tokens are learn-claude-code's."""

HERMES = Settings(
    threshold_pct=85,
    micro="off",
    head_tokens=4_000,
    tail_tokens=16_000,
    summary_tokens=5_000,
    summary_model="auto",
    manual=False,
)
"""Hermes. At 85 % of the window (the chapter's tiers say so, its code says 80) the
middle is trimmed and summarised between a head of 4,000 tokens and a tail of 16,000.
The summary's length depends on the middle: 2,000 tokens for 10,000, 3,000 for 30,000,
5,000 for 100,000 and more. The summary says that it is for reference only, is updated
by the next, and is written by the session's own model. A trimmed result of over 2,000
characters keeps 800 at each end. The tiers are at 65, 75, 85 and 95 %, and at 95 % the
context is cut to size whatever happens.

Beside the program: version 0.19.0, run offline on five tasks in a window of 100,000
tokens, compacted at 75,000 to 82,000 tokens and came down to no less than 46,000, so it
protected far more than a tail of 16,000. Its summariser was shown 2,000 to 10,000
tokens, because results are cut to a line before. The person's words stay beside the
summary in both. This preset keeps the numbers of the chapter."""

CLAUDE_CODE = Settings(
    output_reserve=20_000,
    clear_when="cold",
    cache_ttl=3_600,
    keep_exchanges=0,
    summary_tokens=5_000,
    restore_files=5,
)
"""Claude Code. It compacts at window - 20,000 - 13,000 = 167,000 tokens
(https://github.com/anthropics/claude-code/issues/31806 shows the 13,000), with at most
20,000 tokens of summary. Its session files show the rest: all but the last 3 results
are cleared once the cache has been cold for an hour. The last 5 files are put back, at
most 5,000 tokens of each.

Beside the program: version 2.1.332, run offline on five tasks in a window of 100,000
tokens, asked for its summaries with prompts of 64,000 to 71,000 tokens, where this
preset has its threshold at 67,000. It sent the conversation itself, with its tools, and
read most of that from the cache. It put files back, as this preset does. The person's
words stood afterwards in the summary alone, and here they stay word for word beside
it."""

DEFAULT = Settings(
    threshold_pct=75,
    clear_when="cold",
    keep_recent=5,
    clear_at_least=5_000,
    tail_tokens=20_000,
    trim_over=10**9,
    summary_tokens=9_000,
    words_tokens=4_000,
    recall=True,
)
"""The course's own. Compaction begins at 75 % of the window (150,000 of 200,000), and
the newest exchanges stay within 20,000 tokens. What the person has said stays within
4,000. Results are cleared only when the cache
is cold, at least 5,000 tokens at once, and the last 5 stay. Nothing is put back, and
originals are one `recall` away. The middle is not trimmed, so the summary's request is
the last prompt with a wish behind it, and reads it from the cache.

These numbers were chosen by replaying 31 public sessions of Claude Code under 630
policies. On 30 others they cost 13 % less than a policy like Claude Code's, and less
was needed again of what was forgotten: 4.5 pieces in 100 turns against 7.4. The
sessions aren't in this project; `session_report` does the same with yours. A summary of
9,000 tokens is the shortest with which the offline agent describes every file of the
course's review, in its window of 32,000. `make compare` judges it on tasks that it
wasn't chosen on.

4,000 tokens hold all that the person had said by a compaction in each of 63 public
sessions, if each text is cut at 1,500 characters: 429 at the median, 3,065 at most. In
a session of pi with 89 messages it is 3,967. The judge's 20 tasks keep 20 rules with
it, 18 without, and cost 0.6 % more."""

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
