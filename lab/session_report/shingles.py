"""Find where texts may have a piece of other texts, by the hashes of all windows at
once.

Each window of `size` characters has a number, its hash, and a table says which numbers
there are. So nearly all pieces and windows that have no match are left out without
looking at them one by one. A few that have none stay, because hashes can meet.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
Numbers = NDArray[np.uint32]
_BITS = 22
"""Of a number that is looked up. The table has a byte for each, 4 MB in all."""
_FACTOR = 2_654_435_761
"""A prime near 2**32 divided by the golden ratio, which spreads numbers well."""


def matches(
    sources: Sequence[str], texts: Sequence[str], size: int
) -> tuple[list[list[int]], list[list[int]]]:
    """Return for each source the offsets of its pieces that may stand in a text, and
    for each text the offsets at which such a piece may begin.

    A source is cut into pieces of `size` characters from its beginning on. In a text a
    piece may begin anywhere.

    >>> matches(["0123456789abcdefghij"], ["xx abcdefghij xx"], 10)
    ([[10]], [[3]])
    """
    pieces = _starts(sources, size, step=size)
    windows = _starts(texts, size, step=1)
    in_sources = _numbers(sources, pieces, size)
    in_texts = _numbers(texts, windows, size)
    is_known = _known(in_sources, in_texts)
    pieces = pieces[is_known]
    windows = windows[_known(in_texts, in_sources[is_known])]
    return _by_text(pieces, sources), _by_text(windows, texts)


def _starts(texts: Sequence[str], size: int, *, step: int) -> Places:
    """Return where windows begin, in the texts one behind the other."""
    ends = accumulate(map(len, texts), initial=0)
    windows = [
        np.arange(start, end - size + 1, step)
        for start, end in pairwise(ends)
        if end - start >= size
    ]
    return np.concatenate(windows) if windows else np.zeros(0, np.int64)


def _numbers(texts: Sequence[str], starts: Places, size: int) -> Numbers:
    """Return a number for each window. Those of the same characters are the same."""
    raw = "".join(texts).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(raw, np.uint32)
    numbers = np.zeros(len(starts), np.uint32)
    for place in range(size):
        numbers *= np.uint32(_FACTOR)
        numbers += codes[starts + place]
    return (numbers * np.uint32(_FACTOR)) >> np.uint32(32 - _BITS)


def _known(numbers: Numbers, others: Numbers) -> NDArray[np.bool_]:
    """Tell for each number whether it is among others."""
    table = np.zeros(2**_BITS, np.bool_)
    table[others] = True
    return table[numbers]


def _by_text(places: Places, texts: Sequence[str]) -> list[list[int]]:
    """Return the offsets of places in each text."""
    ends = [*accumulate(map(len, texts), initial=0)]
    borders = np.searchsorted(places, ends).tolist()
    return [
        (places[first:last] - start).tolist()
        for (first, last), start in zip(pairwise(borders), ends, strict=False)
    ]
