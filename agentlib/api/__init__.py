"""The API: requests, replies and refusals, keys and money.

requests   a request with its cache markers, sending it, and how that fails
replies    what an endpoint sent, as it may be sent back
refusals   how an API refuses a prompt for its size
live       the SDK in front of a real API, price first
spending   prices, and the cap of a live run
bounded    no reply is larger than it may be
masks      keys and tokens are masked
"""
