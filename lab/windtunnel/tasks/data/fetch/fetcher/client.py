"""Fetches a page, and again."""

from fetcher.config import RETRY_LIMIT


def fetch(url, get):
    """The page, or the error of the last attempt."""
    for attempt in range(RETRY_LIMIT):
        try:
            return get(url)
        except OSError:
            if attempt == RETRY_LIMIT - 1:
                raise
