"""What the network allows."""

from fetcher.defaults import PER_HOST as ATTEMPTS_PER_HOST

ROUND_TRIP = 0.8
HOSTS = 3
MAX_ATTEMPTS = ATTEMPTS_PER_HOST * 3
