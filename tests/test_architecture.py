"""The walls: who may import whom, how large a thing may be, and what no layer brings with it."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "agentlib"
SOURCES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}

LAYERS = "estimation micro_compact auto_compact manual_compact head_and_tail"
# A module of the agent, and what of agentlib it may import.
AGENT = {
    "__init__": "",
    "messages": "",
    "settings": "",
    "presets": "settings",
    "wire": "messages",
    "kinds": "messages",
    "estimation": "messages kinds",
    "micro_compact": "messages kinds",
    "auto_compact": "messages estimation wire",
    "manual_compact": "messages",
    "head_and_tail": "messages estimation micro_compact auto_compact wire",
    "interrupts": "",
    "json_lines": "",
    "session_file": "messages json_lines",
    "transcripts": "messages settings wire interrupts json_lines session_file",
    "recovery": "messages settings estimation wire auto_compact session_file",
    "restore": "messages estimation auto_compact recovery pipeline",
    "pipeline": f"messages settings wire {LAYERS} recovery",
    "tool_schemas": "",
    "tool_text": "",
    "shell": "interrupts tool_text",
    "tools": "messages shell tool_schemas tool_text",
    "agent": f"messages settings wire {LAYERS} recovery restore pipeline tools transcripts",
    "loop": f"messages settings presets agent {LAYERS} restore pipeline tools transcripts",
    # the terminal: the shell on top
    "arguments": "settings presets pipeline",
    "working_copy": "",
    "screen": "messages kinds estimation agent loop pipeline transcripts",
    "terminal": "settings agent loop pipeline tools transcripts json_lines session_file screen",
    "__main__": "*",
}


def within(package: str, modules: str) -> str:
    """A package and modules of it, as names of the bench."""
    return " ".join([package, *(f"{package}.{module}" for module in modules.split()), ""])


# The bench has rooms of several modules, which see each other and what stands behind the arrow.
ROOMS = {
    "the prompt cache": ("cache", "messages"),
    "what it costs": ("cost metering", "cache"),
    "what the offline model does": (
        within("policy", "acting calls exports files intents notes pending places reading renaming")
        + within("policy", "report sources summarising tasks tracing unasked words"),
        "messages",
    ),
    "the Messages API in process": (
        within("offline", "answers binding counting faults pictures rules shapes streaming"),
        "messages settings cache policy",
    ),
    "offline or live": ("client", "offline offline.faults cost metering settings"),
    "tasks": ("scenarios checking fetcher parcels workspaces", "messages policy.report"),
    "replay": (
        "replay recording",
        f"messages kinds settings wire {LAYERS} recovery pipeline transcripts session_file cache "
        "cost",
    ),
    "sessions of other programs": (
        "sessions claude_lines",
        "messages wire auto_compact transcripts json_lines session_file",
    ),
    "pictures of a table": ("charts artists", ""),
    "what a lesson asks": (
        "teach " + within("exercises", "wall estimation micro_compact"),
        f"messages tools settings kinds readings {LAYERS}",
    ),
    "the scorecard": (
        "scoreboard",
        "loop client presets scenarios cost messages settings estimation pipeline tools "
        "transcripts",
    ),
    "drawing ahead": ("ahead", ""),
    "panels": ("panels", "ahead loop client scenarios replay charts settings presets transcripts"),
    "the window map": ("window_map", "charts artists messages kinds estimation"),
    "bills and scenes of a replay": (
        "bills scenes",
        "replay recording cache cost window_map messages kinds estimation session_file transcripts",
    ),
    "the what-if panel": (
        "whatif whatif_controls run_pane bills_chart",
        "panels charts artists bills replay rerun scoreboard scenarios pipeline presets settings "
        "transcripts",
    ),
    "the map over time, and settings compared": (
        "map_over_time comparison",
        "ahead panels charts artists window_map scenes bills replay estimation settings "
        "transcripts",
    ),
    "a task done again": (
        "rerun",
        "loop client offline.faults scenarios replay cost messages settings estimation pipeline "
        "tools transcripts",
    ),
    "made-up tasks": ("generated made_up", "scenarios workspaces messages"),
    "engines side by side": (
        "side_by_side",
        "loop client scenarios scoreboard cost messages settings estimation pipeline tools "
        "transcripts",
    ),
    "the panel of lesson 02": ("rerun_panel", "rerun panels charts scenarios settings"),
    "a layer of the learner's own": (
        "bare",
        "loop client rerun scenarios messages settings estimation tools auto_compact wire "
        "tool_schemas",
    ),
    "the panel of lesson 03": (
        "compaction_panel",
        "ahead rerun rerun_panel replay panels charts settings transcripts",
    ),
    "exercises of lesson 03": (
        "exercises.auto_compact",
        "exercises client rerun messages settings wire",
    ),
    "a compaction by hand": (
        "by_hand errand",
        "rerun loop client scenarios replay messages settings auto_compact estimation pipeline "
        "tools transcripts fetcher workspaces",
    ),
    "the panel of lesson 04": (
        "focus_panel",
        "ahead by_hand panels charts window_map scenarios messages settings",
    ),
    "exercises of lesson 04": (
        "exercises.manual_compact",
        "exercises exercises.micro_compact by_hand scenarios messages settings",
    ),
    "what a compaction left": (
        "generations",
        "charts artists scenarios messages estimation head_and_tail transcripts",
    ),
    "the panel of lesson 06": (
        "tail_panel",
        "ahead generations replay panels charts settings transcripts",
    ),
    "a hand-off, obeyed or not": (
        "handing_over",
        "loop client offline policy scenarios messages auto_compact settings tools transcripts",
    ),
    "exercises of lesson 06": (
        "exercises.head_and_tail",
        "exercises policy messages estimation auto_compact",
    ),
    "exercises of lesson 02": (
        "exercises.micro_compact",
        "exercises rerun scenarios messages settings",
    ),
    "a bad day, and the panel of lesson 07": (
        "bad_day fault_panel",
        "loop client offline offline.faults rerun scenarios panels charts pipeline restore "
        "settings tools transcripts",
    ),
    "examples to copy from": (
        "plug_in",
        "messages auto_compact estimation pipeline recovery settings tools wire",
    ),
    "exercises of lesson 07": (
        "exercises.recovery",
        "exercises messages auto_compact estimation pipeline settings",
    ),
    "what the estimates read": ("readings", "estimation transcripts"),
    "the pictures of lesson 01": ("estimation_panel", "ahead charts panels readings settings"),
    "exercises of lesson 01": (
        "exercises.estimation",
        "exercises offline.counting loop client scenarios messages settings estimation tools "
        "transcripts readings",
    ),
    "a session read back (lesson 05)": (
        "session_table session_browser",
        "ahead panels charts window_map messages kinds estimation transcripts",
    ),
    "notes in a file": ("note_taking", "scenarios workspaces messages"),
    "an agent that is killed": ("killed", "loop offline scenarios settings tools transcripts"),
    "exercises of lesson 05": (
        "exercises.transcripts",
        "exercises rerun scenarios session_table messages settings session_file json_lines "
        "transcripts",
    ),
}
BENCH = {
    module: f"{modules} {behind}"
    for modules, behind in ROOMS.values()
    for module in modules.split()
}


def tree(name: str) -> ast.Module:
    return ast.parse(SOURCES[name].read_text(encoding="utf-8"))


def imports(source: ast.Module) -> set[str]:
    """The modules of agentlib that a module imports anywhere, by their names inside it."""
    found = set[str]()
    for node in ast.walk(source):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level:
            found.add("agentlib.a relative import")
        elif isinstance(node, ast.ImportFrom):
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            package = {name for name in inside if name.removeprefix("agentlib.") in SOURCES}
            found |= package or {str(node.module)}
    return {name.removeprefix("agentlib.") for name in found if name.startswith("agentlib")}


def allowed(name: str) -> set[str]:
    """The row of the table. In a room's row, a name that is of the bench means the bench's."""
    if not name.startswith("lab"):
        assert name in AGENT, f"{name} has no row in the table; say what it may import"
        return set(SOURCES) if AGENT[name] == "*" else set(AGENT[name].split())
    module = name.removeprefix("lab").removeprefix(".")
    assert not module or module in BENCH, f"lab.{module} is in no room; say which"
    return {f"lab.{n}" if n in BENCH else n for n in BENCH.get(module, "").split()}


@pytest.mark.parametrize("name", SOURCES)
def test_a_module_imports_what_the_table_allows(name):
    assert imports(tree(name)) - allowed(name) == set()


def test_the_agent_never_imports_the_lab_its_terminal_apart():
    importers = [
        name
        for name in SOURCES
        if not name.startswith("lab") and any(i.startswith("lab") for i in imports(tree(name)))
    ]
    assert set(importers) <= {"__main__"}


def test_the_arrows_point_one_way():
    arrows = {name: imports(tree(name)) for name in SOURCES}
    TopologicalSorter(arrows).prepare()  # or it raises CycleError, which names the circle
    with pytest.raises(CycleError):
        TopologicalSorter({**arrows, "messages": {"pipeline"}}).prepare()


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("from agentlib.messages import blocks", {"messages"}),
        ("from agentlib import session_file as file", {"session_file"}),
        ("def f():\n    import agentlib.lab.client", {"lab.client"}),
        ("from agentlib.lab import cost", {"lab.cost"}),
        ("from .lab import cost", {"a relative import"}),
        ("import json", set()),
    ],
)
def test_an_import_is_seen_in_every_form(line, names):
    assert imports(ast.parse(line)) == names


HEAVY = ("anthropic", "httpx2", "pandas", "matplotlib", "ipywidgets", "agentlib.lab")
IMPORT_THE_AGENT = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
    heavy = [h for h in {heavy} if h in sys.modules]
    if heavy:
        sys.exit(f"{{name}} brings {{heavy}}")
"""


def imported(*names: str) -> str:
    """What is said when the modules are imported one by one in a fresh Python."""
    script = IMPORT_THE_AGENT.format(heavy=HEAVY)
    command = [sys.executable, "-c", script, *names]
    run = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True)
    return run.stderr.strip()


def test_no_module_of_the_agent_brings_a_heavy_package():
    agent = [n for n in SOURCES if not n.startswith("lab") and n not in ("__main__", "__init__")]
    assert imported(*(f"agentlib.{name}" for name in agent)) == ""


def test_a_heavy_import_would_be_seen():
    assert imported("json", "httpx2") == "httpx2 brings ['httpx2']"


def functions(source: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return (node for node in ast.walk(source) if isinstance(node, kinds))


@pytest.mark.parametrize("name", SOURCES)
def test_a_module_fits_in_the_head_and_a_function_on_a_screen(name):
    lines = SOURCES[name].read_text(encoding="utf-8").count("\n")
    assert lines <= 280, "split it where the work shows a wall"
    sizes = {f.name: (f.end_lineno or 0) - f.lineno + 1 for f in functions(tree(name))}
    assert {f: size for f, size in sizes.items() if size > 40} == {}


def test_the_packages_themselves_export_nothing():
    for name in ("__init__", "lab"):
        [docstring] = tree(name).body
        assert isinstance(docstring, ast.Expr), f"{name} holds more than its docstring"
