"""Counts and amounts of money in words."""


def many(count: int, thing: str) -> str:
    """Count things in words.

    >>> many(1, "turn"), many(2_000, "turn")
    ('1 turn', '2,000 turns')
    """
    return f"{count:,} {thing}" + ("" if count == 1 else "s")


def cents(dollars: float) -> str:
    """Return a small amount of money in words.

    >>> cents(0.0232)
    '2.32 ¢'
    """
    return f"{100 * dollars:.2f} ¢"
