"""Find where texts may have a piece of other texts, by the hashes of all windows at
once.

Each window of `size` characters has a number, its hash. So nearly all pieces and windows
that have no match are left out without looking at them one by one. A few that have none
stay, because hashes can meet.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
Numbers = NDArray[np.uint32]
Bytes = NDArray[np.uint8]
Offsets = dict[int, list[int]]
_FACTOR = 2_654_435_761
"""A prime near 2**32 divided by the golden ratio, which spreads numbers well."""
_MANY = 2_654_435_761, 20
_FEW = 2_246_822_519, 19
"""Another factor for each table, and the bits of its places. What has met in the first
table is looked up once more in the second, which is smaller."""


def matches(
    sources: Sequence[str],
    texts: Sequence[str],
    before: Sequence[tuple[int, int]],
    size: int,
    step: int,
) -> tuple[Offsets, Offsets]:
    """Return for the sources, by their numbers, the offsets of their pieces that may
    stand in a text, and for the texts the offsets at which such a piece may begin.

    In a source a piece of `size` characters begins at every `step`, which divides the
    size. In a text it may begin anywhere. `before`: for each text how many of the
    sources came before it, and how many of these are old. The others don't count for
    it, and a text without a piece of an old one has no match.

    >>> matches(["0123456789abcdefghij"], ["xx 56789abcde xx"], [(1, 1)], 10, 5)
    ({0: [5]}, {0: [3]})
    """
    cut = [source[: len(source) - len(source) % step] for source in sources]
    powers = np.array([_power(step - 1 - place) for place in range(step)])
    parts = _codes(cut).reshape(-1, step) @ powers
    part_ends = _ends(cut) // step
    text_ends = _ends(texts)
    in_sources, pieces = _windows(parts, part_ends, size // step, step)
    in_texts, windows = _windows(_codes(texts), text_ends, size, 1)
    slots, others = (_slots(each, *_MANY) for each in (in_sources, in_texts))
    is_piece = _known(slots, others)
    is_window = _known(others, slots[is_piece])
    slots = _slots(in_sources[is_piece], *_FEW)
    others = _slots(in_texts[is_window], *_FEW)
    pieces, windows = pieces[is_piece], windows[is_window]
    first = np.full(2 ** _FEW[1], len(parts), np.int32)
    first[slots[::-1]] = pieces[::-1]  # of several the first, written last, stays
    ends = np.array([0, *part_ends])[np.array(before, np.int64).reshape(-1, 2)]
    owners = np.searchsorted(text_ends, windows, "right")
    is_said, is_old = (first[others] < each[owners] for each in ends.T)
    has_old = np.zeros(len(texts), np.bool_)
    has_old[owners[is_old]] = True
    is_said &= has_old[owners]
    pieces = pieces[_known(slots, others[is_said])]
    return (
        _by_text(pieces, part_ends, step),
        _by_text(windows[is_said], text_ends, 1),
    )


def _codes(texts: Sequence[str]) -> Numbers | Bytes:
    """Return the characters of texts, one behind the other, as numbers."""
    text = "".join(texts)
    if text.isascii():
        return np.frombuffer(text.encode(), np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _ends(texts: Sequence[str]) -> Places:
    return np.cumsum([len(text) for text in texts], dtype=np.int64)


def _power(exponent: int) -> np.uint32:
    return np.uint32(pow(_FACTOR, exponent, 2**32))


def _windows(
    parts: Numbers | Bytes, ends: Places, count: int, width: int
) -> tuple[Numbers, Places]:
    """Return a number for each window of `count` parts that is within a text, and where
    it begins.

    A part has `width` characters, and a number is their sum, each times a power of the
    factor. Windows of twice the size are made of two at a time, so it takes few steps.
    """
    numbers = parts.astype(np.uint32, copy=False)
    size = 1
    for digit in f"{count:b}"[1:]:
        numbers = numbers[:-size] * _power(size * width) + numbers[size:]
        size *= 2
        if digit == "1":
            numbers = numbers[:-1] * _power(width) + parts[size:]
            size += 1
    is_within = np.ones(len(parts), np.bool_)
    for left in range(1, count):
        is_within[(ends - left)[ends >= left]] = False
    places = np.flatnonzero(is_within)
    return numbers[places], places


def _slots(numbers: Numbers, factor: int, bits: int) -> Numbers:
    """Return the place of each number in a table."""
    return numbers * np.uint32(factor) >> np.uint32(32 - bits)


def _known(slots: Numbers, others: Numbers) -> NDArray[np.bool_]:
    """Tell for each place in a table whether it is among others."""
    table = np.zeros(2 ** _MANY[1], np.bool_)
    table[others] = True
    return table[slots]


def _by_text(places: Places, ends: Places, width: int) -> Offsets:
    """Return the offsets of places in their texts, in characters."""
    owners = np.searchsorted(ends, places, "right")
    offsets = width * (places - np.concatenate([[0], ends])[owners])
    found = Offsets()
    for owner, offset in zip(owners.tolist(), offsets.tolist(), strict=True):
        found.setdefault(owner, []).append(offset)
    return found
