"""Read many session files at once, and add up what they say.

Each file is added up in a worker, so that no session travels between processes. A file
that can't be read is named and never ends the run.
"""

import gc
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import (
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent import futures
from contextlib import contextmanager
from datetime import datetime, tzinfo
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pandas import DataFrame

from agentlib.api.spending import own_prices
from agentlib.session.file import defer_ctrl_c
from agentlib.transcripts import Session
from session_report import FORMATS, PROJECTS, kept, load
from session_report.formats import About, Source, folder_of
from session_report.one import (
    NOT_COUNTED,
    Row,
    files_read,
    losses,
    responses,
    window,
)
from session_report.reading import inside, only, sources
from session_report.recorded import Recorded

if TYPE_CHECKING:
    from pandas import Series

Item = TypeVar("Item")
Result = TypeVar("Result")
Track = Callable[..., Iterable[Any]]
Columns = dict[str, list[Any]]
"""A table's values by column."""
Prices = Iterable[tuple[str, str]]
"""Models with their "IN,OUT" or "IN,OUT,READ,WRITE", in dollars per million tokens."""
COPIED = "responses that /resume or a fork copied into a second file, counted once"
UNCOUNTED = "responses without a token count"
ESTIMATED = "responses whose answer is an estimate, because its final count isn't there"
GONE = "tokens of sub-agents whose own file is not there, not counted"
STATED = "responses at the dollars that their file states"
UNPRICED = "not priced: "
"""Begins a note on what the dollars leave out."""
_NOTES = ("journal.jsonl", "history.jsonl", "session_index.jsonl")
"""Files of Claude Code and Codex that lie beside sessions and hold none."""
_COLUMNS = (
    "at",
    "model",
    "prompt",
    "answer",
    "branch",
    "key",
    "origin",
    "request",
    "opening",
    "is_stated",
    "is_estimated",
)
"""What a response says that isn't about one of the places where its tokens went."""
_BROKEN = "broken"
_ENDED = "reading it ended the process, perhaps for want of memory"
FALLS = "silent falls of the prompt"
LOST = "pieces lost by compactions and asked for again"


def in_silence(results: Iterable[Any], *, total: int) -> Iterable[Any]:
    """Show no progress. `rich.progress.track` shows some."""
    return results


def each(
    function: Callable[[Item], Result],
    paths: Sequence[Item],
    *,
    jobs: int = 0,
    executor: futures.Executor | None = None,
    track: Track = in_silence,
) -> tuple[dict[Item, Result], dict[Item, str]]:
    """Call a function for each file or other item, in `jobs` processes, by default one
    a core.

    Returns what it returned by item, and for other items why it failed. `executor`
    takes the place of the processes: any of `concurrent.futures`, or Dask's
    `Client.get_executor()`. The function and what it returns have to be picklable.
    """
    under_way = dict[futures.Future[Result], Item]()
    if executor:
        try:
            return _all(function, paths, executor, track, under_way)
        finally:
            for future in under_way:
                future.cancel()
    with _working(max(1, min(jobs or os.cpu_count() or 1, len(paths)))) as own:
        found, failed = _all(function, paths, own, track, under_way)
    broken = [path for path in paths if failed.get(path) == _BROKEN]
    more = _one_by_one(function, broken)
    failed = {path: failed[path] for path in failed if path not in broken}
    found = found | more[0]
    failed = failed | more[1]
    return {path: found[path] for path in paths if path in found}, failed


def _all(
    function: Callable[[Item], Result],
    paths: Sequence[Item],
    executor: futures.Executor,
    track: Track,
    under_way: dict[futures.Future[Result], Item],
) -> tuple[dict[Item, Result], dict[Item, str]]:
    """Do what `each` does. `under_way` gets what has begun."""
    found = dict[Item, Result]()
    failed = dict[Item, str]()
    for path in paths:
        with defer_ctrl_c():  # a half-started worker would outlive the pool
            under_way[executor.submit(function, path)] = path
    for future in track(futures.as_completed(under_way), total=len(under_way)):
        error = future.exception()  # whatever a file does to its reader
        if isinstance(error, futures.BrokenExecutor):
            failed[under_way[future]] = _BROKEN
        elif error:
            failed[under_way[future]] = f"{type(error).__name__}: {error}"
        else:
            found[under_way[future]] = future.result()
    return {path: found[path] for path in paths if path in found}, failed


def _one_by_one(
    function: Callable[[Item], Result], paths: Sequence[Item]
) -> tuple[dict[Item, Result], dict[Item, str]]:
    """Do what `each` does after a process has ended: with one process for one file
    after the other, so that it is known which file ends it."""
    found = dict[Item, Result]()
    failed = dict[Item, str]()
    rest = [*paths]
    while rest:
        with _working(1, is_apart=True) as own:
            while rest:
                path = rest.pop(0)
                with defer_ctrl_c():
                    future = own.submit(function, path)
                error = future.exception()
                if error is None:
                    found[path] = future.result()
                elif isinstance(error, futures.BrokenExecutor):
                    failed[path] = _ENDED
                    break
                else:
                    failed[path] = f"{type(error).__name__}: {error}"
    return found, failed


def _pool(jobs: int, *, is_apart: bool = False) -> futures.Executor:
    """Make an executor. One job needs no process, unless it `is_apart`.

    A process that has threads, such as a notebook's, can't be forked. The standard
    library's other ways run a script again in each worker, joblib's doesn't.
    """
    if jobs == 1 and not is_apart:
        return futures.ThreadPoolExecutor(1)
    from joblib.externals import loky  # pyright: ignore[reportMissingTypeStubs]

    pool: Any = loky.ProcessPoolExecutor
    return pool(jobs, initializer=_begin_work, initargs=(os.getpid(),))


@contextmanager
def _working(jobs: int, *, is_apart: bool = False) -> Generator[futures.Executor]:
    """Make an executor for a block. Ctrl-C ends what its workers have begun."""
    pool: Any = _pool(jobs, is_apart=is_apart)
    try:
        yield pool
    except BaseException:
        if isinstance(pool, futures.ThreadPoolExecutor):
            pool.shutdown(cancel_futures=True)
        else:
            pool.shutdown(kill_workers=True)
        raise
    finally:
        pool.shutdown()


def _begin_work(parent: int) -> None:
    """Leave Ctrl-C to the parent, and end when it does, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: int) -> None:
    """Wait until the parent has ended. On Windows a process keeps its parent's id, and
    a worker ends when it asks for its next file."""
    while os.getppid() == parent:
        time.sleep(0.1)
    os._exit(1)


def summarise(
    path: Path | Source, session: Session | None = None, prices: Prices = ()
) -> dict[str, Columns]:
    """Add up one session: the tables of `overview`, without its texts. Raises what
    `load` raises.

    `session`: what is in the file, if it is loaded already. `prices`: models with
    prices of one's own.
    """
    source = only(path)
    with _without_collecting():
        return _summarised(source, session or load(source), prices)


@contextmanager
def _without_collecting() -> Generator[None]:
    """Don't look for circles of objects that nobody needs. A session is many objects
    without circles, and each look at them all takes a tenth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _summarised(source: Source, session: Session, prices: Prices) -> dict[str, Columns]:
    parts = [session, *(session.asides if isinstance(session, Recorded) else [])]
    parts = [part for part in parts if part.requests]
    if not parts:
        raise ValueError("it has no response")
    with own_prices(prices):
        tables = [
            _tables(source, number, part, part is session)
            for number, part in enumerate(parts)
        ]
    return _joined(tables)


def _joined(every: Iterable[Mapping[str, Columns]]) -> dict[str, Columns]:
    """Put the rows of tables with the same names one behind the other."""
    joined = dict[str, Columns]()
    for tables in every:
        for name, columns in tables.items():
            known = joined.setdefault(name, {})
            for column, values in columns.items():
                known.setdefault(column, []).extend(values)
    return joined


def _tables(
    source: Source, number: int, session: Session, is_whole: bool
) -> dict[str, Columns]:
    """Make the tables of one conversation in a file."""
    about = session.about if isinstance(session, Recorded) else About()
    every = responses(session)
    spent = list[Row]()
    notes = list[Row]()
    for row in every:
        name = {"response": f"{source}#{number}/{row['turn']}"}
        notes += [{**name, "what": what, "number": n} for what, n in _notes(row)]
        kept_columns = {column: row[column] for column in _COLUMNS}
        spent += [{**kept_columns, **name, **place} for place in _places(row)]
    lost = [row["tokens"] for row in losses(session)] if session.compactions else []
    events = {FALLS: [row["gone"] for row in every if row["gone"]], LOST: lost}
    sums = [
        {"what": n, "number": len(v), "tokens": sum(v)} for n, v in events.items() if v
    ]
    damaged = is_whole and bool(session.damage or session.skipped)
    tables = {
        "spent": spent,
        "notes": notes,
        "window": _pooled(window(session), ("what", "tool"), ("tokens",)),
        "files": _pooled(files_read(session), ("file",), ("reads",)),
        "events": sums,
        "kept": kept.sums(session) if session.compactions else [],
        "left out": [{"damaged": damaged, "failed": about.failed}],
        "named": [{"agent": name, "tokens": n} for name, n in about.agents.items()],
        "stated": [{"dollars": about.stated}] if about.stated else [],
    }
    names = {
        "session": f"{source.name}#{number}" if number else source.name,
        "project": about.project or folder_of(source.path),
        "kind": about.kind or "session",
        "program": program_of(session),
        "path": str(source),
        "conversation": f"{source}#{number}",
        "thread": about.thread,
        "parent": about.parent,
    }
    return {table: _columns(rows, names) for table, rows in tables.items()}


def _columns(rows: Sequence[Row], names: Row) -> Columns:
    """Make a table of rows that have the same columns, with `names` in each."""
    columns = {name: _clean(row[name] for row in rows) for name in (rows or [{}])[0]}
    return columns | {n: _clean([value]) * len(rows) for n, value in names.items()}


def _pooled(
    rows: Iterable[Row], by: tuple[str, ...], sums: tuple[str, ...]
) -> list[Row]:
    """Add up the rows that have the same names."""
    pooled = dict[tuple[Any, ...], Row]()
    for row in rows:
        names = {name: row[name] for name in by}
        known = pooled.setdefault((*names.values(),), names | dict.fromkeys(sums, 0))
        for name in sums:
            known[name] += row[name]
    return [*pooled.values()]


def program_of(session: Session) -> str:
    """Name the program that wrote a session. A session without a file is ours."""
    return session.about.program if isinstance(session, Recorded) else "ours"


def _clean(values: Iterable[Any]) -> list[Any]:
    """Write halves of surrogate pairs, which no encoding takes, as backslash
    escapes."""
    return [
        plain_text(each) if isinstance(each, str) and not each.isascii() else each
        for each in values
    ]


def plain_text(text: str) -> str:
    """Return a text that can be written in UTF-8.

    >>> plain_text("a" + chr(0xD800))
    'a\\\\ud800'
    """
    return text.encode("utf-8", errors="backslashreplace").decode()


def _places(row: Row) -> list[Row]:
    """Return where the tokens and dollars of a response went, a row for each place."""
    places: list[Row] = [
        {"where": where, "tokens": tokens, "dollars": dollars}
        for where, (tokens, dollars) in row["spent"].items()
    ]
    for call in row["beside"]:
        tokens, dollars = call["sums"]
        where = call["where"]
        model = call["model"]
        places.append(
            {"where": where, "tokens": tokens, "dollars": dollars, "model": model}
        )
    nothing = {"where": NOT_COUNTED, "tokens": 0.0, "dollars": 0.0}
    return places or [nothing]


def _notes(row: Row) -> list[tuple[str, int]]:
    """Return what the sums don't say of a response."""
    flags = {
        UNCOUNTED: not row["spent"] and not row["beside"],
        ESTIMATED: row["is_estimated"],
        STATED: row["is_stated"],
    }
    notes = [(what, 1) for what, holds in flags.items() if holds]
    return [*notes, *((UNPRICED + what, n) for what, n in row["unpriced"].items())]


def overview(
    paths: Iterable[Path | str | Source] = (PROJECTS,),
    *,
    session: Session | None = None,
    prices: Prices = (),
    timezone: tzinfo | None = None,
    **options: Any,
) -> dict[str, DataFrame]:
    """Read all session files among these paths and in these folders, and put them into
    tables.

    Each row has the `session`, the `project` and the `kind` of its file:

    - spent: a row for each response and each place where its tokens and dollars went
    - priced: those with a known price, or all if there is none
    - window: what filled the windows up to the first compaction
    - files: how often each file was read
    - events: silent falls of the prompt, and what compactions lost that was asked for
      again
    - kept: how much of each kind the compactions kept, see `kept`
    - not priced: what the dollars leave out, such as another service tier
    - not counted: what is not in the sums or only once, and what is though it was left
    - unread: which files couldn't be read, and why

    A response that stands in two files, as after /resume or a fork, counts once: the
    copy with the fullest answer. One on a branch that a rewind left counts, because it
    was paid, and so does one of a sub-agent. Days are those of `timezone`, by default
    the machine's own. `prices` has prices of one's own: a model and "IN,OUT" or
    "IN,OUT,READ,WRITE". `session` is the content of the only file, if it is loaded
    already. The options are those of `each`. Raises FileNotFoundError if a path doesn't
    exist, ValueError if no file could be read.
    """
    call = partial(summarise, session=session, prices=tuple(prices))
    paths = [*paths]
    every = sources(paths)
    found, failed = each(call, every, **options)
    failed = {each: why for each, why in failed.items() if not _is_note(each.path)}
    if not found:
        reasons = [f"{source}: {reason}" for source, reason in failed.items()]
        reasons = reasons or [what_is_there(Path(str(path))) for path in paths]
        text = "\n".join(["no session could be read", *reasons[:9]])
        raise ValueError(plain_text(text))
    tables = {n: DataFrame(each) for n, each in _joined(found.values()).items()}
    shown_names = short_names(tables["spent"]["project"].unique())
    for table in tables.values():
        table["project"] = table["project"].map(shown_names)
    spent = tables["spent"]
    filled = tables["window"]
    is_copy = ~spent["response"].isin(_originals(spent))
    spent["day"] = _days(spent["at"], timezone)
    filled["share"] = filled["tokens"] / (filled["tokens"].sum() or 1.0)
    servers = filled[filled["tool"].str.startswith("mcp__")]
    is_left = ~is_copy & (spent["branch"] > 0)
    counts = {
        "responses of a model without a known price": spent[
            ~is_copy & spent["dollars"].isna()
        ],
        COPIED: spent[is_copy],
        "responses on branches that a rewind left, counted": spent[is_left],
    }
    numbers = {what: rows["response"].nunique() for what, rows in counts.items()}
    notes = _added(tables.pop("notes"), spent[~is_copy])
    numbers |= {w: n for w, n in notes.items() if not w.startswith(UNPRICED)}
    numbers[GONE] = _gone(tables.pop("named"), spent, every)
    tables["stated"] = _stated(tables["stated"], spent)
    left_out = tables.pop("left out").sum(numeric_only=True)
    numbers["replies that failed without a token count, not counted"] = left_out[
        "failed"
    ]
    numbers["files with damaged lines"] = left_out["damaged"]
    numbers["files that could not be read"] = len(failed)
    tables["spent"] = counted = spent[~is_copy]
    has_price = counted["dollars"].notna()
    tables["priced"] = counted[has_price] if has_price.any() else counted
    tables["kept"] = _kept(tables["kept"])
    tables["servers"] = servers.assign(server=servers["tool"].str.split("__").str[1])
    aside = [(what, number) for what, number in numbers.items() if number]
    tables["not counted"] = DataFrame(aside, columns=["what", "number"])
    unpriced = [
        (what.removeprefix(UNPRICED), number)
        for what, number in notes.items()
        if what.startswith(UNPRICED)
    ]
    tables["not priced"] = DataFrame(unpriced, columns=["what", "number"])
    tables["unread"] = DataFrame(
        {
            "file": [plain_text(str(path)) for path in failed],
            "reason": [plain_text(reason) for reason in failed.values()],
        }
    )
    return tables


def short_names(projects: Iterable[str]) -> dict[str, str]:
    """Return how projects are shown: a path by its last folder, or by as many folders
    as tell it from the others.

    >>> short_names(["/a/shop", "/a/bank", "/b/bank", "lamp"])
    {'/a/shop': 'shop', '/a/bank': 'a/bank', '/b/bank': 'b/bank', 'lamp': 'lamp'}
    """
    names = {name: name for name in projects}
    paths = {name: name.rstrip("/").split("/") for name in names if "/" in name}
    for name, parts in paths.items():
        others = [other for other in paths.values() if other != parts]
        sizes = range(1, len(parts))
        tell = (n for n in sizes if all(other[-n:] != parts[-n:] for other in others))
        names[name] = "/".join(parts[-next(tell, len(parts)) :]) or name
    return names


def _gone(named: DataFrame, spent: DataFrame, every: Iterable[Source]) -> int:
    """Count the tokens of the sub-agents that sessions name and that have no file."""
    if named.empty:
        return 0
    there = {each.name.removeprefix("agent-") for each in every} | {*spent["thread"]}
    gone = named[~named["agent"].isin(there)].drop_duplicates("agent")
    return int(gone["tokens"].sum())


def _stated(rows: DataFrame, spent: DataFrame) -> DataFrame:
    """Compare what programs say that their sessions cost with the sums of the files:
    the session's own file and those in its folder. Sessions without a price are left
    out. Of several files of a session the largest total counts."""
    columns = ["program", "sessions", "stated", "dollars"]
    found = list[Row]()
    for row in rows.to_dict("records"):
        folder = row["path"].removesuffix(".jsonl") + os.sep
        is_own = (spent["path"] == row["path"]) | spent["path"].str.startswith(folder)
        ours = spent["dollars"][is_own]
        if ours.notna().all():
            names = {"program": row["program"], "session": row["session"]}
            found.append({**names, "stated": row["dollars"], "dollars": ours.sum()})
    if not found:
        return DataFrame(columns=columns)
    groups = DataFrame(found).groupby("program", sort=False)
    sums = groups[["stated", "dollars"]].sum()
    return sums.assign(sessions=groups.size()).reset_index()[columns]


def _kept(rows: DataFrame) -> DataFrame:
    """Add up what compactions kept, a row for each kind. Copies count once."""
    columns = ["what", "kept", "of", "share"]
    if rows.empty:
        return DataFrame(columns=columns)
    sums = (
        rows.drop_duplicates(["key", "what"])
        .groupby("what", sort=False)[["kept", "of"]]
        .sum()
        .reset_index()
    )
    return sums.assign(share=sums["kept"] / sums["of"])[columns]


def what_is_there(folder: Path) -> str:
    """Say what a folder without session files has."""
    kinds = Counter(path.suffix or path.name for path in inside(folder))
    most = ", ".join(f"{n:,} {kind}" for kind, n in kinds.most_common(4))
    names = dict.fromkeys(name for form in FORMATS.values() for name in form.patterns)
    what = f"it has {kinds.total():,} files ({most})" if kinds else "it has no file"
    return f"{folder}: {what}, and none is named {' or '.join(names)}"


def _is_note(path: Path) -> bool:
    """Return whether a program keeps notes in a file, and no conversation."""
    return path.name in _NOTES


def _originals(spent: DataFrame) -> set[str]:
    """Name the responses that are no copies, or the fullest of their copies.

    Of equally full ones it is the session's own, and not a sub-agent's that began with
    a copy of the session. In a family of forks copies may have new times, and there
    they have the same `origin`.
    """
    rows = spent.drop_duplicates("response")
    order = {"copied": rows["kind"] != "session", "untimed": rows["at"] == 0}
    rows = rows.assign(**order).sort_values(
        ["is_estimated", "answer", "copied", "untimed"],
        ascending=[True, False, True, True],
        kind="stable",
    )
    copies = [
        name
        for _, same in rows[~rows["key"].str.startswith("0.0 ")].groupby(
            ["key", "model"], sort=False
        )
        if len(same) > 1
        for name in _copies(same)
    ]
    rows = rows[~rows["response"].isin(copies)]
    rows = rows.assign(family=_families(rows), is_fork=rows["parent"] != "")
    rows = rows.sort_values("is_fork", kind="stable")  # the parent keeps what it paid
    is_named = (rows["family"] != "") & (rows["origin"] != "")
    return {*rows[~(rows.duplicated(["family", "origin"]) & is_named)]["response"]}


def _copies(same: DataFrame) -> Iterator[str]:
    """Name the copies among responses with the same key, whose first is none.

    Two of them are one response if their requests are the same. If either names none,
    what they say has to begin alike, or one of them says nothing.
    """
    known = list[tuple[str, str]]()
    names = same[["response", "request", "opening"]]
    for response, request, opening in names.itertuples(index=False):
        for other, text in known:
            if request and other:
                is_copy = request == other
            else:
                is_copy = opening == text or not (opening and text)
            if is_copy:
                yield str(response)
                break
        else:
            known.append((str(request), str(opening)))


def _families(rows: DataFrame) -> list[str]:
    """Name the family of each row's session: its first known ancestor, or nothing if it
    has neither parents nor children."""
    pairs = rows[["thread", "parent"]].drop_duplicates().itertuples(index=False)
    parents = {str(pair[0]): str(pair[1]) for pair in pairs if pair[0] and pair[1]}
    related = {*parents, *parents.values()}

    def first(thread: str) -> str:
        seen = {""}
        while parents.get(thread, "") not in seen:
            seen.add(thread)
            thread = parents[thread]
        return thread

    return [first(each) if each in related else "" for each in rows["thread"]]


def _added(notes: DataFrame, counted: DataFrame) -> dict[str, int]:
    """Add up the notes on the responses that count."""
    if notes.empty:
        return {}
    sums = notes[notes["response"].isin(counted["response"])].groupby(
        "what", sort=False
    )
    return {str(what): int(number) for what, number in sums["number"].sum().items()}


def zone_name(timezone: tzinfo | None) -> str:
    """Say whose days are counted.

    >>> from datetime import UTC
    >>> zone_name(UTC)
    'UTC'
    """
    name = (
        getattr(timezone, "key", None)
        or datetime.now(timezone).astimezone(timezone).tzname()
    )
    return str(name) if timezone else f"local time, {name}"


def _days(times: "Series[float]", timezone: tzinfo | None) -> list[str]:
    """Write the day of each time, nothing for one that the file doesn't say or that no
    calendar has."""

    @cache
    def day(at: float) -> str:
        try:
            moment = datetime.fromtimestamp(at, timezone)
            return f"{moment:%Y-%m-%d}" if at else ""
        except (ValueError, OverflowError, OSError):
            return ""

    return [day(at) for at in times]
