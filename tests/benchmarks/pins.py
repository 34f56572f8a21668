"""Price the largest pin on session files: every word that the person said, in every
request.

REAL_SESSIONS=DIR python -m tests.benchmarks.pins

A pin keeps less, so it costs less. For each session: tokens of the person's words, its
requests, the dollars for them at the prices of Opus 5.5, read from the cache in each
request and written once for each message and each compaction, and their share of all
prompts. Nothing of a session is printed but these numbers and the name of its file.
"""

from itertools import accumulate

from agentlib.api.spending import PRICED_AS, rates
from agentlib.estimation import estimate_tokens, prompt_tokens
from agentlib.messages import Message
from agentlib.transcripts import Session
from session_report import load
from tests.real_sessions import FILES
from windtunnel.tasks.kinds import spoken


def words(message: Message) -> int:
    """Return the tokens of what the person said. What a program added between tags is
    left out."""
    texts = [text for who, text in spoken(message) if who == "person"]
    said = [
        text for text in texts if text.strip() and not text.lstrip().startswith("<")
    ]
    return estimate_tokens([{"role": "user", "content": text} for text in said])


def priced(session: Session) -> tuple[int, int, float, float]:
    """Return tokens of the person's words, requests, dollars, and percent of all
    prompts."""
    price = rates(PRICED_AS)
    said = [0, *accumulate(map(words, session.history))]
    carried = sum(said[sent.seen] for sent in session.requests)
    written = said[-1] + sum(said[each.seen] for each in session.compactions)
    paid = carried * price["cache_read"] + written * price["cache_write_5m"]
    whole = sum(prompt_tokens(sent.usage) for sent in session.requests)
    return said[-1], len(session.requests), paid / 1e6, 100 * carried / whole


def main() -> None:
    rows = [
        (*priced(session), path.name)
        for path in FILES
        if (session := load(path)).requests
    ]
    for row in sorted(rows):
        print("{:6,} tokens {:4,} requests ${:.4f} {:6.3f} %  {}".format(*row))


if __name__ == "__main__":
    main()
