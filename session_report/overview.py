"""Read many session files at once, and add up what they say.

Each file is added up in a worker, so that no session travels between processes. A file
that can't be read is named and never ends the run.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Sequence
from concurrent import futures
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pandas
from pandas import DataFrame

from agentlib.transcripts import Session
from session_report import PROJECTS, files, load
from session_report.claude_code import SUBAGENT
from session_report.one import calls_again, files_read, losses, responses, window

Item = TypeVar("Item")
Result = TypeVar("Result")
Track = Callable[..., Iterable[Any]]
COPIED = "responses that /resume copied into a second file, counted once"
FALLS, LOST = (
    "silent falls of the prompt",
    "pieces lost by compactions and asked for again",
)


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
    if executor is None:
        with _pool(max(1, min(jobs or os.cpu_count() or 1, len(paths)))) as own:
            return each(function, paths, executor=own, track=track)
    under_way = dict[futures.Future[Result], Item]()
    found, failed = dict[Item, Result](), dict[Item, str]()
    try:  # Ctrl-C may come at the first of them already
        for path in paths:
            under_way[executor.submit(function, path)] = path
        for future in track(futures.as_completed(under_way), total=len(under_way)):
            if error := future.exception():  # whatever a file does to its reader
                failed[under_way[future]] = f"{type(error).__name__}: {error}"
            else:
                found[under_way[future]] = future.result()
    finally:
        for future in under_way:
            future.cancel()
    return {path: found[path] for path in paths if path in found}, failed


def _pool(jobs: int) -> futures.Executor:
    """Make an executor. A process that has threads, such as a notebook's, can't be
    forked."""
    if jobs == 1:
        return futures.ThreadPoolExecutor(1)
    ways = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context(
        "forkserver" if "forkserver" in ways else "spawn"
    )
    ignored = (signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    return futures.ProcessPoolExecutor(
        jobs, context, initializer=signal.signal, initargs=ignored
    )


def project_of(path: Path) -> str:
    """Name the project of a file: Claude Code's folder for it, or else the file's own
    folder.

    >>> project_of(Path("/home/ada/.claude/projects/-home-ada-shop/5f1c/subagents/agent-1.jsonl"))
    '-home-ada-shop'
    """
    *_, mark, folders = path.as_posix().rpartition(f"/{PROJECTS.name}/")
    return (
        folders.split("/")[0] if mark and "/" in folders else path.resolve().parent.name
    )


def kind_of(path: Path) -> str:
    """Name whose conversation a file is, by the names that Claude Code gives.

    >>> kind_of(Path("agent-a1.jsonl")), kind_of(Path("agent-acompact-a1.jsonl"))
    ('subagent', 'compaction call')
    """
    if not path.name.startswith("agent-"):
        return "session"
    return "compaction call" if path.name.startswith("agent-acompact") else "subagent"


def summarise(path: Path, session: Session | None = None) -> dict[str, DataFrame]:
    """Add up one file: the tables of `overview`, without its texts. Raises what `load`
    raises.

    `session`: what is in the file, if it is loaded already.
    """
    session = session or load(path)
    if not session.requests:
        raise ValueError("it has no response")
    every = responses(session)
    spent = [
        {**row, "where": where, "tokens": tokens, "dollars": dollars}
        for row in every
        for where, (tokens, dollars) in row.pop("spent").items()
    ]
    lost = [row["tokens"] for row in losses(session)] if session.compactions else []
    events = {FALLS: [row["gone"] for row in every if row["gone"]], LOST: lost}
    sums = [
        {"what": n, "number": len(v), "tokens": sum(v)} for n, v in events.items() if v
    ]
    tables = {"spent": spent, "window": window(session), "files": files_read(session)}
    aside = sum(each.startswith(SUBAGENT) for each in session.damage)
    damaged = len(session.damage) > aside or bool(session.skipped)
    left_out = [{"damaged": damaged, "aside": aside}]
    tables |= {"events": sums, "again": calls_again(session), "left out": left_out}
    names = {"session": path.stem, "project": project_of(path), "kind": kind_of(path)}
    return {
        n: DataFrame(rows).assign(path=str(path), **names) for n, rows in tables.items()
    }


def overview(
    paths: Iterable[Path | str] = (PROJECTS,),
    *,
    session: Session | None = None,
    **options: Any,
) -> dict[str, DataFrame]:
    """Read all session files among these paths and in these folders, and put them into
    tables.

    Each row has the `session`, the `project` and the `kind` of its file:

    - spent: a row for each response and each place where its tokens and dollars went
    - priced: those with a known price, or all if there is none
    - window: what filled the windows up to the first compaction
    - files: each time that a file was read
    - again: each call that was made before
    - events: silent falls of the prompt, and what compactions lost that was asked for
      again
    - not counted: what is not in the sums or only once, and what is though it was left
    - unread: which files couldn't be read, and why

    A response that stands in two files, as after /resume, counts once. One on a branch
    that a rewind left counts, because it was paid. One of a sub-agent counts if it has
    a file of its own. `session` is the content of the only file, if it is loaded
    already. The options are those of `each`. Raises FileNotFoundError if a path doesn't
    exist, ValueError if no file could be read.
    """
    found, failed = each(partial(summarise, session=session), files(paths), **options)
    if not found:
        reasons = [f"{path}: {reason}" for path, reason in failed.items()]
        raise ValueError("\n".join(["no session could be read", *reasons[:9]]))
    names = next(iter(found.values()))
    tables = {
        n: pandas.concat([t[n] for t in found.values()], ignore_index=True)
        for n in names
    }
    spent, filled = tables["spent"], tables["window"]
    spent["response"] = spent["path"] + "/" + spent["turn"].astype(str)
    first = spent.groupby(["key", "model"], dropna=False)["response"].transform("first")
    is_copy = (spent["response"] != first) & (spent["at"] > 0)
    spent["day"] = pandas.to_datetime(spent["at"], unit="s").dt.strftime("%Y-%m-%d")
    filled["share"] = filled["tokens"] / filled["tokens"].sum()
    servers = filled[filled["tool"].str.startswith("mcp__")]
    is_left = ~is_copy & (spent["branch"] > 0)
    counts = {
        "responses of a model without a known price": spent[spent["dollars"].isna()],
        COPIED: spent[is_copy],
        "responses on branches that a rewind left, counted": spent[is_left],
    }
    numbers = {what: rows["response"].nunique() for what, rows in counts.items()}
    left_out = tables.pop("left out").sum(numeric_only=True)
    numbers["responses of sub-agents in the session's own file, not counted"] = (
        left_out["aside"]
    )
    numbers["files with damaged lines"] = left_out["damaged"]
    numbers["files that could not be read"] = len(failed)
    tables["spent"] = counted = spent[~is_copy]
    has_price = counted["dollars"].notna()
    tables["priced"] = counted[has_price] if has_price.any() else counted
    tables["servers"] = servers.assign(server=servers["tool"].str.split("__").str[1])
    aside = [(what, number) for what, number in numbers.items() if number]
    tables["not counted"] = DataFrame(aside, columns=["what", "number"])
    tables["unread"] = DataFrame(
        {"file": map(str, failed), "reason": [*failed.values()]}
    )
    return tables
