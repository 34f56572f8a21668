"""pyproject, lock, conda environment and wheel agree with each other. Nothing is
downloaded."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from rattler import MatchSpec

from tests.packages import PACKAGES, ROOT
from tools import pages

COURSE = {"jupyterlab", "anthropic", "matplotlib", "pandas", "ipywidgets", "nbval"}
REGISTRY = re.compile(r"https?://[\w.-]*(py" r"pi|python" r"hosted)|file:/" r"//\w")
LOCKED = re.compile(r"[a-z0-9._-]+==[^\s;]+( ; .+)?")


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]


def required() -> list[Requirement]:
    extras = project()["optional-dependencies"].values()
    lines = project()["dependencies"] + [line for extra in extras for line in extra]
    return [Requirement(line) for line in lines]


def lock_lines() -> list[str]:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.lstrip().startswith("#")]


def locked() -> dict[str, list[str]]:
    """Return the versions of each package. numpy has several, for different Pythons."""
    versions: dict[str, list[str]] = {}
    for requirement in map(Requirement, lock_lines()):
        version = str(requirement.specifier).removeprefix("==")
        versions.setdefault(canonicalize_name(requirement.name), []).append(version)
    return versions


def environment() -> tuple[list[str], list[str]]:
    """Return what environment.yml requires of conda, and what of pip."""
    entries = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))[
        "dependencies"
    ]
    through_pip = next(entry["pip"] for entry in entries if isinstance(entry, dict))
    return [entry for entry in entries if isinstance(entry, str)], through_pip


def tracked() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("only a clone can list its tracked files")
    git = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    command = [*git, "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(
        command, cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout
    return [
        ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()
    ]


def test_the_lock_satisfies_pyproject():
    versions = locked()
    found = [(r, versions[canonicalize_name(r.name)]) for r in required()]
    wrong = {r.name: v for r, v in found if not all(each in r.specifier for each in v)}
    assert wrong == {}


def test_the_lock_holds_versions_and_nothing_else():
    assert [line for line in lock_lines() if not LOCKED.fullmatch(line)] == []


def test_conda_gets_the_same_versions_as_the_lock():
    pins = {Requirement(line).name: Requirement(line) for line in environment()[1][:-1]}
    assert set(pins) == COURSE
    assert {name: str(pin.specifier) for name, pin in pins.items()} == {
        name: f"=={locked()[name][0]}" for name in COURSE
    }
    assert environment()[1][-1] == "-e .[lab]"
    assert "lab" in project()["optional-dependencies"]


def test_binder_gets_the_lock_and_makes_the_workbook():
    folder = ROOT / ".binder"
    included = re.findall(
        r"^-r (.+)$", (folder / "requirements.txt").read_text("utf-8"), re.M
    )
    assert [(folder / name).resolve() for name in included] == [
        ROOT / "requirements.lock"
    ]
    python = (folder / "runtime.txt").read_text("utf-8").strip().removeprefix("python-")
    assert f"{python}.0" in SpecifierSet(project()["requires-python"])
    assert "python -m tools.workbook\n" in (folder / "postBuild").read_text("utf-8")


def test_codespaces_and_the_pages_workflow_run_targets_of_the_makefile():
    targets = set(
        re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    )
    container = json.loads(
        (ROOT / ".devcontainer/devcontainer.json").read_text("utf-8")
    )
    workflow = yaml.safe_load((ROOT / ".github/workflows/pages.yml").read_text("utf-8"))
    steps = workflow["jobs"]["build"]["steps"]
    run = [
        container["postCreateCommand"],
        *(step["run"] for step in steps if "run" in step),
    ]
    assert (
        set(re.findall(r"make ([a-z-]+)", " ".join(run)))
        == {"setup", "html"}
        <= targets
    )
    [uploaded] = [
        step["with"]["path"] for step in steps if "path" in step.get("with", {})
    ]
    assert ROOT / uploaded == pages.OUT


def test_conda_can_read_its_part_of_the_environment():
    specs = {MatchSpec(entry).name.normalized: entry for entry in environment()[0]}
    assert set(specs) == {"python", "pip"}
    python = specs["python"].removeprefix("python=")
    assert f"{python}.0" in SpecifierSet(project()["requires-python"])


def test_no_file_names_a_package_index():
    texts = {path.name: path.read_text("utf-8", "ignore") for path in tracked()}
    assert [name for name, text in texts.items() if REGISTRY.search(text)] == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(folder),
    ]
    run = subprocess.run([*command, str(ROOT)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return next(folder.glob("*-py3-none-any.whl"))


def test_the_wheel_holds_every_file_of_the_packages(wheel: Path):
    ours = [
        path.relative_to(folder.parent).as_posix()
        for path in tracked()
        for folder in PACKAGES.values()
        if path.is_relative_to(folder)
    ]
    inside = [
        name
        for name in zipfile.ZipFile(wheel).namelist()
        if name.partition("/")[0] in PACKAGES
    ]
    assert sorted(inside) == sorted(ours)
    assert {f"{package}/py.typed" for package in PACKAGES} <= {*inside}


IMPORT_ALL = f"""
import agentlib, importlib, pkgutil, sys
for package in map(importlib.import_module, {[*PACKAGES]}):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if module.name.endswith("__main__") or ".adapters." in module.name:
            continue
        if ".data" not in module.name:
            importlib.import_module(module.name)
assert "matplotlib.pyplot" not in sys.modules  # it would look for a screen
print(agentlib.__path__[0])
"""


def installed(wheel: Path, folder: Path) -> Path:
    """Install the wheel in a fresh environment that borrows its dependencies; return
    its Python."""
    uv = [sys.executable, "-m", "uv", "--offline", "--no-config"]
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    subprocess.run([*uv, "venv", "-q", "-p", sys.executable, str(folder)], check=True)
    subprocess.run(
        [*uv, "pip", "install", "-q", "-p", str(python), "--no-deps", str(wheel)],
        check=True,
    )
    # A path in a .pth file adds the packages there but not their own .pth files, so the
    # editable install of this repository stays out.
    fresh = sysconfig.get_path(
        "purelib", vars={"base": str(folder), "platbase": str(folder)}
    )
    borrowed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (Path(fresh) / "borrowed.pth").write_text("\n".join(borrowed), encoding="utf-8")
    return python


def test_the_installed_wheel_imports_outside_the_repository(
    wheel: Path, tmp_path: Path
):
    python = installed(wheel, tmp_path / "venv")
    run = subprocess.run(
        [str(python), "-I", "-c", IMPORT_ALL],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert Path(run.stdout.strip()).is_relative_to(tmp_path / "venv")
