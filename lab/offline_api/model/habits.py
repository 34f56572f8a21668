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
    files_named: float = 1.0
    """Share of the notes on files that a summary takes, if room is left. Which of them
    is a draw that a note's words decide."""
    evidence: float = 1.0
    """Share of the facts found in files that a summary takes."""
    retold: float = 1.0
    """Share of the last summary's notes and facts that the next one takes over."""
    words_retold: float = 1.0
    """Share of the person's words in the last summary that the next one takes over."""
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
    prompts: tuple[str, ...] = ()
    """What the person will say, if it is told before. It then finds these words
    whatever a program puts around them, and takes no others for the person's."""


AS_MEASURED = Habits(
    summary=0.04,
    rules_first=True,
    files_named=0.45,
    evidence=0.16,
    retold=0.46,
    words_retold=0.04,
)
"""A summariser that keeps as much of each kind as those of Claude Code did.

From 54 compactions in 44 public sessions (2.1.7 to 2.1.42, early 2026): a summary has
3.9 % of what it replaces (quartiles 3.0 and 4.6 %), and names 45 % of the files that
were only read (0, 33 and 67 %) and 16 % of the numbers that were said (0, 17 and 50 %).
Most of the person's rules are whole (86 % of the short ones). Of the summary before,
the next one has 46 % of the file names (31, 44 and 77 %, 12 compactions), and 5 of 127
messages of the person. What is not counted there, such as a paraphrase, is lost here.
"""
