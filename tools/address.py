"""Set the repository's address in the one place that has it, and write the links that
need it.

python -m tools.address owner/name    # `make address REPO=owner/name`

The address is kept in `[project.urls]` of pyproject.toml. The README's links to the web
pages, to Binder and to Codespaces follow from it, and so does the line by which a
workflow installs the wind tunnel. Without an address the README says so and has no
links.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(?<=<!-- address -->\n).*?(?=<!-- end of address -->)", re.DOTALL)
INSTALLED = re.compile(r"(?<=git\+https://github\.com/)[\w./-]+")
"""The repository in the install line of the wind tunnel's page."""
URLS = re.compile(r"\n\[project\.urls\]\n.*?\n(?=\n)", re.DOTALL)
REPOSITORY = re.compile(r"[\w-]+/[\w.-]+")
FIRST = "workbook/an_hour.ipynb"
NONE = """This copy of the course has no address on the web yet. After you have pushed it to GitHub,
`make address REPO=owner/name` writes links here that open it in a browser.
"""


def repository(root: Path = ROOT) -> str:
    """Return "owner/name", or "" if no address is set."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    return (
        project.get("urls", {})
        .get("Repository", "")
        .removeprefix("https://github.com/")
    )


def site(repo: str) -> str:
    """Return the address of the web pages that GitHub publishes, with a slash at its
    end.

    >>> site("Ada/course"), site("ada/ada.github.io")
    ('https://ada.github.io/course/', 'https://ada.github.io/')
    """
    owner, _, name = repo.lower().partition("/")
    host = f"{owner}.github.io"
    return (
        f"https://{host}/"
        if name == host
        else f"https://{host}/{repo.partition('/')[2]}/"
    )


def ways(repo: str) -> dict[str, str]:
    """Return where one can read or run the course without installing it."""
    return {
        "Try it in your browser": f"{site(repo)}an_hour.html#try",
        "Read it on the web": site(repo),
        "Run it on Binder": f"https://mybinder.org/v2/gh/{repo}/HEAD?urlpath=lab/tree/{FIRST}",
        "Run it in Codespaces": f"https://codespaces.new/{repo}",
    }


def block(repo: str) -> str:
    """Return the README's lines about the address."""
    if not repo:
        return NONE
    badge = f"https://github.com/{repo}/actions/workflows/ci.yml"
    links = [f"[{words}]({url})" for words, url in ways(repo).items()]
    return f"[![ci]({badge}/badge.svg)]({badge})\n" + " ·\n".join(links) + "\n"


def write(repo: str, root: Path = ROOT) -> None:
    """Write the address into pyproject.toml, the README's lines and the wind tunnel's
    page."""
    project = root / "pyproject.toml"
    readme = root / "README.md"
    page = root / "docs/wind-tunnel.md"
    text = URLS.sub("", project.read_text(encoding="utf-8"))
    urls = f'[project.urls]\nRepository = "https://github.com/{repo}"\n\n'
    text = text.replace(
        "[project.optional-dependencies]", f"{urls}[project.optional-dependencies]"
    )
    project.write_text(text, encoding="utf-8", newline="\n")
    lines = BLOCK.sub(lambda _: block(repo), readme.read_text(encoding="utf-8"))
    readme.write_text(lines, encoding="utf-8", newline="\n")
    lines = INSTALLED.sub(repo, page.read_text(encoding="utf-8"))
    page.write_text(lines, encoding="utf-8", newline="\n")


def main(*arguments: str) -> int:
    if len(arguments) != 1 or not REPOSITORY.fullmatch(arguments[0]):
        print(
            "Give the repository on GitHub: make address REPO=owner/name",
            file=sys.stderr,
        )
        return 2
    write(arguments[0])
    print("\n".join(ways(arguments[0]).values()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
