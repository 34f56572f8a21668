"""One bash command: what it may see, how it is stopped, and how much of its output is
kept.

`tools` decides whether a command may run and what the model reads of it. A command's
process group is killed when it ends, and when this process ends, however that comes
about. Outside bubblewrap, a process that leaves the group (`setsid`) lives on.
"""

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from agentlib.session.file import defer_ctrl_c

CAP = 50_000
"""Most characters of one result, as in learn-claude-code's s06."""

PASSED = """PATH HOME USER LOGNAME SHELL TMPDIR LD_LIBRARY_PATH PYTHONPATH VIRTUAL_ENV CONDA_PREFIX
JAVA_HOME GOPATH CARGO_HOME RUSTUP_HOME NVM_DIR SSL_CERT_FILE SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC
PATHEXT APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES USERPROFILE USERNAME TEMP TMP MSYSTEM"""
"""Names of the variables that a command gets from this process. Any other could hold a
key."""

FIXED = {
    "LC_ALL": "C",
    "TZ": "UTC",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "COLUMNS": "80",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
}
"""Variables that make a program's output the same on every machine."""

FILE_LIMIT = 1_000_000
MEMORY_LIMIT = 4_000_000
"""Most kilobytes of each file that a command writes, and of the memory of each of its
processes."""

_WATCHED = f"""( (read -r _; kill -KILL 0) <&0 > /dev/null 2>&1 & ); exec < /dev/null
ulimit -f {FILE_LIMIT} 2> /dev/null; ulimit -d {MEMORY_LIMIT} 2> /dev/null; exec "$@" """
"""Limits a command, and kills its process group once nobody holds the other end of its
input.

The watcher is no child of the command, which may wait for all of its children.
"""

_WHY = {
    "git runs hooks and filters": ".git",
    "Mercurial runs hooks": ".hg",
    "Jujutsu runs what its settings name": ".jj",
    "git runs hooks": """
        .husky .githooks .pre-commit-config.y*ml lefthook*.y*ml lefthook*.toml
        lefthook*.json .lefthook* .overcommit.yml .lintstagedrc* lint-staged.config.*
        prek.toml
    """,
    "direnv runs it": ".envrc",
    "mise runs hooks": "mise.toml mise.*.toml .mise.*toml .mise .config/mise .rtx.*toml",
    "the shell runs it": ".autoenv*",
    "the editor runs tasks": """
        .vscode *.code-workspace .idea .fleet .zed .vs *.sublime-project
    """,
    "the editor runs it": """
        .exrc .vimrc .nvimrc .nvim.lua .lazy.lua .lvimrc .dir-locals*.el
    """,
    "the editor builds it and runs its commands": """
        .devcontainer* .gitpod* .idx .replit .devfile.y*ml devfile.y*ml
    """,
    "Claude Code runs hooks": ".claude",
    "agents start its servers": ".mcp.json",
    "agents run its hooks and servers": """
        .agents .aider.conf.y*ml .amazonq .amp .augment .cline .clinerules .codebuddy .codex
        .continue .copilot .crush.json crush.json .cursor .factory .gemini .goose .iflow .junie
        .kilocode .kiro .openhands .opencode opencode.json* .pi .qoder .qwen .roo
        .serena .trae .vibe .warp .windsurf .zencoder
    """,
    "GitHub runs them": """
        .github/workflows .github/actions .github/hooks .github/agents
    """,
    "GitLab runs it": "*.gitlab-ci.y*ml .gitlab/ci",
    "CircleCI runs it": ".circleci",
    "a build server runs it": """
        *.woodpecker.y*ml .woodpecker .appveyor.yml appveyor.yml .azure-pipelines*
        azure-pipelines* .azuredevops bitbucket-pipelines.y*ml bitrise.y*ml
        .build.y*ml .builds .buildkite buildspec*.y*ml .cirrus.* cloudbuild*.y*ml
        cloudbuild.json .codefresh codefresh*.y*ml codemagic.y*ml .drone.*
        .forgejo/actions .forgejo/workflows .gitea/actions .gitea/workflows .harness
        Jenkinsfile* *.jenkinsfile .onedev-buildspec.y*ml .readthedocs.y*ml
        screwdriver.y*ml .semaphore .teamcity .tekton .travis.y*ml .vela.y*ml
        wercker.y*ml .zuul* zuul.d zuul.y*ml
    """,
}
PROTECTED = {name: why for why, names in _WHY.items() for name in names.split()}
"""Files and folders from which other programs run commands later, outside any sandbox,
and why. A `*` stands for any characters but a slash.

No list can be whole. It knows programs that run a file by its name, when somebody
commits, pushes or opens a folder. It doesn't know what a person runs by hand, such as a
Makefile, nor the settings of a host that builds a site.
"""
BARE = "HEAD"
"""The file by which git takes any folder for a repository, whose settings name
commands."""
MOST_LINKS = 40
"""Most links that a path is followed through, as in Linux."""


@dataclass
class Execution:
    """What a command printed, and how it ended."""

    output: str = ""
    """Standard output and error in the order of their arrival, at most `CAP`
    characters."""
    cut: int = 0
    """Number of characters that came after those."""
    exit_code: int | None = None
    """As a shell counts: killed by signal 9 is 137. None if the time limit passed."""


def environment() -> dict[str, str]:
    """Return a command's variables: the `PASSED` ones of this process, and the `FIXED`
    ones.

    `python` is the interpreter that runs this code.
    """
    kept = {name: os.environ[name] for name in PASSED.split() if name in os.environ}
    path = [str(Path(sys.executable).parent), kept.get("PATH", os.defpath)]
    return kept | FIXED | {"PATH": os.pathsep.join(path)}


def sandbox_prefix(bubblewrap: str, folder: Path) -> list[str]:
    """Make the words to put before a command, so that it runs in bubblewrap.

    `folder` is its `/workspace`. It may write there and in a `/tmp` of its own, and
    read the system's programs. It has no network and sees no home folder, where keys
    lie, nor the `.env` files that stand in `folder` itself.

    The `PROTECTED` files and folders that stand in `folder` itself are read-only, and
    so is all of `.github`, because a command could rename it. A command can still make
    one that is missing, and change one that is a symlink or lies in a subfolder. So
    look before you run git or open an editor in a folder that had none.
    """
    system = ("/bin", "/etc", "/lib", "/lib64", "/opt", "/sbin", "/usr")
    call = [
        bubblewrap,
        "--unshare-all",
        "--die-with-parent",
        "--setenv",
        "HOME",
        "/tmp",
    ]
    call += ["--cap-drop", "ALL"]  # root could undo a read-only mount
    call += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    for place in (*system, sys.base_prefix, sys.prefix):
        # What lies beside the folder is nobody's program.
        if not folder.is_relative_to(place):
            call += ["--ro-bind-try", place, place]
    call += ["--bind", str(folder), "/workspace", "--chdir", "/workspace"]
    for name in _tops(folder):
        # bubblewrap fails if it leads out of the folder
        if not (folder / name).is_symlink():
            call += ["--ro-bind-try", str(folder / name), f"/workspace/{name}"]
    for path in folder.glob(".env*"):
        file = path.resolve()
        if holds_keys(path.name) and file.is_file() and file.is_relative_to(folder):
            hidden = file.relative_to(folder).as_posix()
            call += ["--ro-bind", "/dev/null", f"/workspace/{hidden}"]
    return call


def confines() -> bool:
    """Return whether there is a bubblewrap, and it may make namespaces here."""
    bubblewrap = shutil.which("bwrap")
    call = [bubblewrap or "", "--unshare-all", "--ro-bind", "/", "/", "true"]
    return (
        bool(bubblewrap) and subprocess.run(call, capture_output=True).returncode == 0
    )


def _tops(folder: Path) -> list[str]:
    """List the names in `folder` itself at which a `PROTECTED` one is or would be."""
    tops = [name.partition("/")[0] for name in PROTECTED]
    there = [path.name for top in tops if "*" in top for path in folder.glob(top)]
    return [*dict.fromkeys([top for top in tops if "*" not in top] + there)]


def _pattern(name: str) -> str:
    return re.escape(name).replace(r"\*", "[^/:]*")


_PROTECTED_NAME = re.compile(
    rf"(?i)(^|/)(({'|'.join(map(_pattern, PROTECTED))})[. ]*($|[/:])|{BARE}[. ]*($|:))"
)


def is_protected(path: str) -> bool:
    """Return whether a path with slashes is one of the `PROTECTED` or lies below one.

    They count at any depth and in any case, because macOS and Windows ignore the case
    of a name. Windows also ignores dots and blanks at its end.

    >>> is_protected("lib/.Git/config"), is_protected(".gitignore")
    (True, False)
    """
    return _PROTECTED_NAME.search(path) is not None


def steps(root: Path, path: str) -> list[str]:
    """List the names in `root` by which a path gets to its file, link after link.

    `root` is a folder without links in its own path. The last name is the file's.

    >>> Path("agents").mkdir()
    >>> Path(".claude").symlink_to("agents")
    >>> steps(Path.cwd().resolve(), ".claude/a.json")
    ['.claude/a.json', 'agents/a.json', 'agents/a.json']
    """
    at = root
    names = list[str]()
    links = 0
    ahead = [*reversed(Path(path).parts)]
    while ahead:
        part = ahead.pop()
        if part == "..":
            at = at.parent
            continue
        place = at / part
        whole = place.joinpath(*reversed(ahead))
        if whole.is_relative_to(root):
            names.append(whole.relative_to(root).as_posix())
        if place.is_symlink() and links < MOST_LINKS:
            links += 1
            ahead += reversed(place.readlink().parts)
        else:
            at = place
    return names


def is_linked(root: Path, file: Path) -> bool:
    """Return whether a protected name is a link to `file` or to a folder above it.

    That is how `.husky -> hooks` makes hooks of all that lies in `hooks`. Looks in each
    folder from `root` down to `file`, which has no link in its own path.
    """
    above = [folder for folder in file.parents if folder.is_relative_to(root)]
    places = [
        folder / name
        for folder in above
        for name in PROTECTED
        if "/" in name and "*" not in name
    ]
    for folder in filter(Path.is_dir, above):
        with os.scandir(folder) as entries:
            places += [
                folder / entry.name
                for entry in entries
                if entry.is_symlink() and is_protected(entry.name)
            ]
    targets = [Path(os.path.realpath(place)) for place in places]
    return any(
        target != place and file.is_relative_to(target)
        for place, target in zip(places, targets, strict=True)
    )


def holds_keys(path: str) -> bool:
    """Return whether a path with slashes is a `.env` file, at any depth and in any
    case.

    >>> holds_keys("api/.env"), holds_keys(".env.local"), holds_keys(".env.example")
    (True, True, False)
    """
    return bool(
        re.search(
            r"(?i)(^|/)\.env([. :](?!(example|sample|template|dist)$)[^/]*)?$", path
        )
    )


def keys_in(folder: Path) -> list[str]:
    """List the values in the folder's own `.env`, the longest first."""
    from dotenv import dotenv_values

    file = folder / ".env"
    text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    values = dotenv_values(stream=io.StringIO(text), interpolate=False).values()
    return sorted(filter(None, values), key=len, reverse=True)


def run(call: list[str], folder: Path, *, time_limit: float) -> Execution:
    """Run `call` in `folder` for at most `time_limit` seconds.

    The process group is killed in every case: at the end, at the time limit, at Ctrl-C,
    and when this process is killed. `FILE_LIMIT` and `MEMORY_LIMIT` hold, except on
    Windows. Raises OSError if the call can't be started (an argument too long, the
    folder gone).

    >>> run(["bash", "-c", "echo one; echo two >&2; exit 3"], Path("."), time_limit=9)
    Execution(output='one\\ntwo\\n', cut=0, exit_code=3)
    """
    execution = Execution()
    process = None
    is_posix = os.name == "posix"
    try:
        # Ctrl-C before the process has a name would leave it running, and before it has
        # a reader would leave its pipe open.
        with defer_ctrl_c():
            process = subprocess.Popen(
                ["bash", "-c", _WATCHED, "bash", *call] if is_posix else call,
                cwd=folder,
                env=environment(),
                stdin=subprocess.PIPE if is_posix else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
            reader = threading.Thread(
                target=_drain, args=(process.stdout, execution), daemon=True
            )
            reader.start()
            # Waiting with a time limit would poll. A thread that waits for ever
            # doesn't.
            waiter = threading.Thread(target=process.wait, daemon=True)
            waiter.start()
        waiter.join(time_limit)
        if (code := process.returncode) is not None:
            execution.exit_code = 128 - code if code < 0 else code
    finally:
        if process:
            _kill_group(process)
    # A process that left the group may hold the pipe open for ever.
    reader.join(timeout=2.0)
    return execution


def _drain(stream: TextIO, execution: Execution) -> None:
    with stream:
        # Read in parts, so that a line without an end can't fill the memory.
        while text := stream.readline(65_536):
            room = CAP - len(execution.output)
            execution.output += text[:room]
            execution.cut += len(text[room:])


def _kill_group(process: subprocess.Popen[str]) -> None:
    if sys.platform == "win32":
        tree = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
        subprocess.run(tree, capture_output=True, check=False)
    else:
        # The group may be gone, or (macOS says "permission") hold only what is dead
        # already.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin:
        process.stdin.close()
