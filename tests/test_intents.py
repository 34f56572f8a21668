"""The task is found by features of the words, in two languages."""

import pytest

from agentlib.lab.model.intents import task_of

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
        ("麻烦手动把聊天压缩一次", "compact", ".", ()),
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
        "早上好",
        "Thanks!",
        "Write a file hello.txt",
        "delete all files",
        "Zip the files",
        "Order all modules by date",
        "把所有模块排序",
        "Compress logo.png",
        "把图标压缩一下",
        "Disable compaction",
        "停用自动压缩",
        "Write a song about compression",
        "Which modules have you opened?",
        "你读过哪些模块?",
        "Where were you?",
    ],
)
def test_anything_else_is_unknown(prompt: str) -> None:
    assert task_of(prompt).kind == "unknown"


@pytest.mark.parametrize(
    ("prompt", "kind", "folder", "endings"),
    [
        ("Open lib/*.py", "read", "lib", ("py",)),
        ("Look at all files matching cmd/**/*.go in turn", "read", "cmd", ("go",)),
        ("Audit test/*.java and write it up", "report", "test", ("java",)),
        ("依次打开 web/*.ts", "read", "web", ("ts",)),
        ("View each of ./web/*.{ts,tsx}, please", "read", "web", ("ts", "tsx")),
        ("Open notes/* one after another.", "read", "notes", ()),
        ("Look through all modules in core/.", "read", "core", ()),
        ("Open all scripts of my-tools, one by one", "read", "my-tools", ()),
        ("Open every script in the folder scripts, please", "read", "scripts", ()),
        ("Review my_tools file by file", "report", "my_tools", ()),
    ],
)
def test_a_pattern_names_folder_and_kind(
    prompt: str, kind: str, folder: str, endings: tuple[str, ...]
) -> None:
    task = task_of(prompt)
    assert (task.kind, task.folder, task.endings) == (kind, folder, endings)


@pytest.mark.parametrize(
    "prompt",
    [
        "Never shrink our chat, nor shorten or condense it",
        "You should not review the modules",
        "don't open a single file",
        "请勿压缩上下文",
        "无需审查任何代码",
    ],
)
def test_what_is_not_to_be_done_is_no_task(prompt: str) -> None:
    assert task_of(prompt).kind == "unknown"


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("Never stop reading files before compaction is triggered", "until"),
        ("Don't take the modules all at once: open each one by itself", "read"),
        ("Open every script in bin/ without skipping one", "read"),
        ("Audit each module, without compacting the conversation", "report"),
        ("Open every module, but don't write a report", "read"),
        ("Shrink the chat by hand, don't open any files", "compact"),
        ("Why don't you open all modules in turn?", "read"),
        ("不要漏掉任何脚本, 依次打开所有脚本", "read"),
        ("别停, 一直打开文件, 直到触发压缩", "until"),
        ("分别打开 core 目录下的每个模块", "read"),
    ],
)
def test_a_denial_leaves_the_rest_of_the_request(prompt: str, kind: str) -> None:
    assert task_of(prompt).kind == kind


@pytest.mark.parametrize(
    "prompt",
    [
        "What happens to old messages when the context is compressed?",
        "Could you explain what the compact tool is for?",
        "Compaction: why is it needed?",
        "Has our conversation been compacted?",
        "压缩对话会丢掉什么?",
        "请解释上下文压缩的原理",
        "对话已经压缩了吗?",
    ],
)
def test_a_question_about_compaction_is_no_order(prompt: str) -> None:
    assert task_of(prompt).kind == "unknown"


def test_an_order_in_the_form_of_a_question_is_an_order() -> None:
    for prompt in ("Would you shrink our chat?", "How about compacting our chat?", "能压缩对话吗?"):
        assert task_of(prompt).kind == "compact"


@pytest.mark.parametrize(
    "prompt",
    [
        "Create JUnit tests for each class in src",
        "Go through every module and add comments",
        "Put docstrings on the functions of all modules",
        "Turn each Python script into plain Kotlin",
        "Change all Java files to Rust",
        "Rewrite all the scripts",
        "Compress all the files into an archive",
        "为每个模块编写测试用例",
        "在所有脚本里补上类型标注",
        "把代码换成 Rust",
        "重写每个模块",
    ],
)
def test_work_on_the_code_is_no_reading_and_no_renaming(prompt: str) -> None:
    assert task_of(prompt).kind == "unknown"


def test_a_review_may_be_of_tests_and_about_comments() -> None:
    for prompt in (
        "Audit every test file and write a report on the tests",
        "Audit each module and suggest how to refactor it",
        "写一份测试脚本的审查报告, 依次打开每个脚本",
    ):
        assert task_of(prompt).kind == "report"


def test_what_there_is_to_watch_is_no_request() -> None:
    for aside in ("(观察 micro-compact 替换旧结果)", " (watch old results being replaced)"):
        assert task_of(READ_TS + aside) == task_of(READ_TS)


def test_compaction_that_comes_by_itself_is_waited_for() -> None:
    prompt = "Open file after file, so that the chat is compacted by itself"
    assert task_of(prompt).kind == "until"
    assert task_of("多看几个文件, 我要看到压缩自行发生").kind == "until"


def test_a_rule_is_no_request() -> None:
    rule = "Rule: the first line of every report must be '# For Ada'."
    assert task_of(rule).kind == "rules"
    assert task_of(f"{rule} Read every Python file.").kind == "read"


def test_the_report_has_the_name_it_is_given() -> None:
    assert task_of("Review every file and write AUDIT.md").report == "AUDIT.md"
    assert task_of("Review every file").report == "REPORT.md"


def test_a_compact_report_is_a_report() -> None:
    assert task_of("Write a compact report on every Python file").kind == "report"


@pytest.mark.parametrize("sign", ["x", "-_", "/", "."])
def test_pasted_data_hides_no_request_and_takes_no_minutes(sign: str) -> None:
    data = sign * 40_000
    assert task_of(data).kind == "unknown"
    assert task_of(f"Read every file in src.\n{data}") == task_of("Read every file in src.")


def test_the_focus_is_what_is_to_be_kept() -> None:
    assert task_of("Compact the conversation, focus on the rules.").focus == "the rules"
    assert task_of("压缩对话, 保留决定").focus == "决定"
