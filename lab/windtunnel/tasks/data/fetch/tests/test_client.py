"""What the client promises."""

RETRY_LIMIT = 2


def test_it_gives_up():
    assert RETRY_LIMIT == 2
