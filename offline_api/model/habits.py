"""The offline model's habits: every number of its behaviour that a lesson may
change."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Habits:
    """How the offline model works. A language model has other habits, and no such
    table.

    >>> Habits(notes=False)
    Habits(notes=False, rereads=2, ...)
    """

    notes: bool = True
    """It writes a note on each file it read. Without notes it only lists the files as
    done, and knows a file's content no longer than the result stays in the request."""
    rereads: int = 2
    """How often it reads a lost thing again before it gives that up openly."""
    patience: int = 12
    """Calls in a row without a finding after which it stops."""
    standstill: int = 3
    """Summaries in a row without progress after which it stops."""
    batch: int = 3
    """The most files that it reads in one turn."""
    small: int = 3_000
    """Bytes up to which a file may be read in a batch, and from which an outline is
    preferred."""
    together: int = 7_000
    """The most bytes in one batch."""
    page: float = 0.25
    """Share of the window that one result may take; a larger file is read in parts."""
    compacts_from: float = 0.7
    """Share of the compaction point from which it compacts a finished piece of work."""
    summary: float = 0.2
    """A summary is at most this share of what it was shown."""
    decisions: float = 1 / 12
    """Share of a summary's room for new rules, decisions and facts that no focus
    names."""
    rules_first: bool = False
    """Whether a summary takes the person's rules before the facts that were found in
    files."""
    carried: float = 0.5
    """Share of a summary's room that an update may carry over from the last summary."""
    heeds_notes: bool = True
    """Whether a summary's note that it is no instruction keeps it from answering open
    questions. Without that, only the headings tell it."""
    obeys_retold: bool = True
    """It keeps a rule that it knows only from notes, such as a summary's. Without that
    it can still say the rule, but obeys only the person's own words."""
    believes_consent: bool = True
    """A permission that it sees lifts the rule against it, whoever wrote it down.
    Without that, only one in the person's own words does."""
    trusts_done: bool = True
    """A step that a summary calls finished is finished for it, and isn't done a second
    time."""
    searches: bool = False
    """Before it reports, it searches what was compacted for its own notes and the
    person's rules, if `recall` can search."""
