"""Counts and amounts of money in words."""

from math import floor, log10


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


def money(dollars: float) -> str:
    """Return dollars in words, with as many digits as a small amount needs.

    >>> money(1_234.5), money(0.0038), money(0)
    ('$1,234.50', '$0.0038', '$0.00')
    """
    digits = 1 - floor(log10(dollars)) if 0 < dollars < 0.01 else 2
    return f"${dollars:,.{digits}f}"
