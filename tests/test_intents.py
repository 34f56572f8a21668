"""The task is found by features of the words, in two languages."""

import pytest

from agentlib.lab.policy.intents import task_of

READ_PY = "Read every Python file in the agents/ directory one by one"
READ_TS = "Read every TypeScript file in the agents-ts directory one by one"
REPORT = "Read every Python file in this directory one by one and write a report"
UNTIL = "Keep reading files until compression triggers automatically"
COMPACT = "Use the compact tool to manually compress the conversation"
JAVA = "逐个分析项目中的所有 Java 文件, 为每个文件写详细的代码审查报告"


@pytest.mark.parametrize(
    ("prompt", "kind", "folder", "endings"),
    [
        (READ_PY, "read", "agents", ("py",)),
        ("逐个读取 agents/ 目录下的所有 Python 文件", "read", "agents", ("py",)),
        (READ_TS, "read", "agents-ts", ("ts", "tsx")),
        ("逐个读取agents-ts目录中的所有TypeScript文件", "read", "agents-ts", ("ts", "tsx")),
        (UNTIL, "until", ".", ()),
        ("继续读取文件, 直到自动触发压缩", "until", ".", ()),
        (COMPACT, "compact", ".", ()),
        ("使用 compact 工具手动压缩对话", "compact", ".", ()),
        (JAVA, "report", ".", ("java",)),
        ("Write a detailed code review of each Java file in the project", "report", ".", ("java",)),
        (REPORT, "report", ".", ("py",)),
        ("逐个读取这个目录中的每个 Python 文件并写一份报告", "report", ".", ("py",)),
        ("You must read every file.", "read", ".", ()),
    ],
)  # fmt: skip
def test_the_seeds_own_prompts(
    prompt: str, kind: str, folder: str, endings: tuple[str, ...]
) -> None:
    task = task_of(prompt)
    assert (task.kind, task.folder, task.endings) == (kind, folder, endings)


@pytest.mark.parametrize(
    ("prompt", "kind", "names"),
    [
        ("Rename `load` to `read` everywhere and run the tests", "rename", ("load", "read")),
        ("把 MAX_SIZE 改名为 LIMIT 并运行测试", "rename", ("MAX_SIZE", "LIMIT")),
        ("Find where TIMEOUT is set and follow it through the files", "trace", ("TIMEOUT",)),
        ("找出 grace_days 在哪里赋值, 一直跟到最初的值", "trace", ("grace_days",)),
    ],
)
def test_tasks_on_names(prompt: str, kind: str, names: tuple[str, ...]) -> None:
    assert (task_of(prompt).kind, task_of(prompt).names) == (kind, names)


@pytest.mark.parametrize(
    "prompt",
    [
        "hello",
        "你好",
        "Thanks!",
        "Write a file hello.txt",
        "delete all files",
        "Zip the files",
    ],
)
def test_anything_else_is_unknown(prompt: str) -> None:
    assert task_of(prompt).kind == "unknown"


def test_a_rule_is_no_request() -> None:
    rule = "Rule: the first line of every report must be '# For Ada'."
    assert task_of(rule).kind == "rules"
    assert task_of(f"{rule} Read every Python file.").kind == "read"


def test_the_report_has_the_name_it_is_given() -> None:
    assert task_of("Review every file and write AUDIT.md").report == "AUDIT.md"
    assert task_of("Review every file").report == "REPORT.md"


def test_a_compact_report_is_a_report() -> None:
    assert task_of("Write a compact report on every Python file").kind == "report"


def test_the_focus_is_what_is_to_be_kept() -> None:
    assert task_of("Compact the conversation, focus on the rules.").focus == "the rules"
    assert task_of("压缩对话, 保留决定").focus == "决定"
