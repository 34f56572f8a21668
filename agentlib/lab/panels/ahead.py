"""Drawings remembered, and the next one made while the reader looks at the last.

After one step of a slider comes most often another in the same direction. So that is drawn in
the pause, and is there when the key is pressed. Not here: what is drawn; a drawing that leaves
anything behind besides what it returns can't be made ahead.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any

PAUSE = 0.02
"""Seconds without a move before anything is drawn ahead: moves that wait come first."""
MOST = 128
"""Drawings remembered; some 40 kB each."""
ONE_AT_A_TIME = threading.RLock()
"""Held while anything is drawn: JupyterLab's kernel moves sliders in a thread beside that of the
cells, and a figure, or matplotlib's own settings, can't belong to two."""


class Ahead:
    """A `draw` that remembers, and can be told which values come next.

    >>> made = []
    >>> draw = Ahead(lambda turn: made.append(turn))
    >>> draw(turn=1), draw(turn=1), made
    (None, None, [1])
    """

    def __init__(self, draw: Callable[..., Any]) -> None:
        self.anew = draw
        """The drawing itself, without a memory."""
        self._draw = lru_cache(maxsize=MOST)(draw)
        self._waiting: asyncio.TimerHandle | None = None

    def __call__(self, **values: Any) -> Any:
        """The drawing for these values. What `draw` raises passes through, and isn't kept."""
        if self._waiting:
            self._waiting.cancel()
        return self._draw(**values)

    def expect(self, **values: Any) -> None:
        """Draw this soon, unless something else is asked for first; without a loop, never."""
        with contextlib.suppress(RuntimeError):
            self._waiting = asyncio.get_running_loop().call_later(PAUSE, self._try, values)

    def _try(self, values: dict[str, Any]) -> None:
        with ONE_AT_A_TIME, contextlib.suppress(Exception):  # raised again for who asks for it
            self._draw(**values)
