"""What a user may set."""

from fetcher import network

# DECISION: limits are set in one place and imported from here.
RETRY_LIMIT = network.MAX_ATTEMPTS
TIMEOUT = 2 * network.ROUND_TRIP
