"""The workspace of the task `trace`: a small project of our own, as file texts.

It fetches pages, and sets one value through three files; an old value stands in its prose, another
in its tests. Not here: the task (scenarios).
"""


def fetcher() -> dict[str, str]:
    """path -> text. `RETRY_LIMIT` is 12: set in config.py, through network.py, in defaults.py."""
    return {
        "README.md": "# fetcher\n\nFetches pages, and tries again where a host is slow.\n",
        "CHANGES.md": "# Changes\n\nRETRY_LIMIT = 5 until version 2; see the code for today's.\n",
        "fetcher/__init__.py": '"""Fetches pages."""\n',
        "fetcher/client.py": _CLIENT,
        "fetcher/config.py": _CONFIG,
        "fetcher/defaults.py": _DEFAULTS,
        "fetcher/network.py": _NETWORK,
        "tests/test_client.py": _CLIENT_TEST,
    }


_CLIENT = '''\
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
'''

_CONFIG = '''\
"""What a user may set."""

from fetcher import network

# DECISION: limits are set in one place and imported from here.
RETRY_LIMIT = network.MAX_ATTEMPTS
TIMEOUT = 2 * network.ROUND_TRIP
'''

_NETWORK = '''\
"""What the network allows."""

from fetcher.defaults import PER_HOST as ATTEMPTS_PER_HOST

ROUND_TRIP = 0.8
HOSTS = 3
MAX_ATTEMPTS = ATTEMPTS_PER_HOST * 3
'''

_DEFAULTS = '''\
"""What was agreed."""

# FACT: the operators asked for 4 attempts per host.
PER_HOST = 4
PAUSE = 0.5
'''

_CLIENT_TEST = '''\
"""What the client promises."""

RETRY_LIMIT = 2


def test_it_gives_up():
    assert RETRY_LIMIT == 2
'''
