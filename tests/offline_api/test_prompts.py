"""A prompt is understood wholly or refused, in English and in Chinese."""

import re
import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib.loop import run
from agentlib.tools import Workspace
from offline_api import client
from offline_api.model import prompts, reply
from offline_api.model.prompts import Task, required_line, rules_in, understand

TABLE = tomllib.loads(
    (Path(__file__).parents[1] / "data/prompts.toml").read_text(encoding="utf-8")
)
EXAMPLES, EXAMPLES_ZH = (
    prompts.TABLE["refusal"][n]["examples"] for n in ("english", "chinese")
)
PLAIN = [
    "Read every Python file in the agents/ directory one by one and write a report, NOTES.md",
    "Keep reading files until compression triggers automatically",
    "Where does LIMIT come from? Trace its value through the files.",
    "Please replace the name LIMIT by CEILING in all files, then run the tests.",
    "Use the compact tool to manually compress the conversation",
    "逐个读取 agents/ 目录下的所有 Python 文件，然后 写一份报告",
    "把 LIMIT 重命名为 CEILING，所有文件都要改，然后 运行测试。",
    "找出 LIMIT 在哪里设置， 并追踪它的值。",
]


def told(task: Task) -> str:
    """A task in one line, as the table has it."""
    if task.kind in ("report", "read", "until"):
        report = () if task.report == "REPORT.md" else (task.report,)
        return " ".join([task.kind, task.folder, *task.endings, *task.files, *report])
    return " ".join([task.kind, *task.names, task.focus]).strip()


@pytest.mark.parametrize(("prompt", "task"), TABLE["understood"])
def test_a_prompt_is_understood(prompt: str, task: str):
    assert told(understand(prompt)) == task
    assert not understand(prompt).unknown


@pytest.mark.parametrize(("prompt", "words"), TABLE["refused"])
def test_a_prompt_is_refused_and_the_words_are_named(prompt: str, words: str):
    assert understand(prompt) == Task("unknown", unknown=tuple(words.split()))


@given(
    st.sampled_from(PLAIN),
    st.integers(0, 40),
    st.sampled_from(
        [
            "except",
            "not",
            "only",
            "skip",
            "three",
            "German",
            "除了",
            "不要",
            "跳过",
            "只",
        ]
    ),
)
def test_a_word_more_is_never_lost(prompt: str, at: int, word: str):
    assert understand(prompt).kind != "unknown"
    words = prompt.split()
    words.insert(at % (len(words) + 1), word)
    assert understand(" ".join(words)).kind == "unknown"


@given(st.sampled_from(PLAIN), st.sampled_from(PLAIN))
def test_two_requests_are_refused(one: str, other: str):
    assert understand(f"{one}. {other}").kind == "unknown"


def test_the_examples_of_a_refusal_are_the_seven_tasks():
    kinds = ["report", "until", "trace", "rename", "run", "compact", "rules"]
    for examples in (EXAMPLES, EXAMPLES_ZH):
        assert [understand(prompt).kind for _, prompt in examples] == kinds


@pytest.mark.parametrize(
    ("prompt", "rules", "kind"),
    [
        ("Never edit files below vendor/. Review src/.", 1, "report"),
        ("Don't rename OLD_NAME.", 1, "rules"),
        ("Yes, you may edit files under vendor/.", 1, "rules"),
        ("你可以修改 vendor/ 里的文件。", 1, "rules"),
        ("Don't rename MAX. Rename MAX to MIN everywhere.", 1, "unknown"),
        (
            "Never edit files outside vendor/. Rename MAX to MIN everywhere.",
            0,
            "unknown",
        ),
        ("Begin every report with the line '# For Ada'. Thanks!", 1, "rules"),
        ("Every report must end with '# For Ada', in German.", 0, "unknown"),
        ("Decision: money is an integer number of cents. Review src/.", 1, "report"),
        ("Rule: never read the tests. Review src/.", 0, "unknown"),
        ("You must review src/.", 0, "report"),
        ("Always compact first. Review src/.", 0, "unknown"),
        ("规则：金额是整数。审查 src/ 目录下的所有文件。", 1, "report"),
        ("不要修改 vendor/ 里的文件。", 1, "rules"),
    ],
)
def test_rules_are_whole_sentences_that_can_be_kept(prompt: str, rules: int, kind: str):
    assert (len(rules_in(prompt)), understand(prompt).kind) == (rules, kind)


@pytest.mark.parametrize("ending", ["begin with '# A' and end with '# B'", "be long"])
def test_a_rule_for_no_one_line_requires_none(ending: str):
    rule = f"Every report must {ending}."
    assert not rules_in(rule)
    assert (
        required_line([rule], first=True) is required_line([rule], first=False) is None
    )


@pytest.mark.parametrize(
    "data", ["x" * 300_000, "#" * 300_000, "ab/+ " * 60_000, f"{'aGk/' * 19}\n" * 4_000]
)
@pytest.mark.parametrize(
    "prompt", ["Read every file in src/. ", "Rule: the sky is blue. "]
)
def test_pasted_data_is_refused_at_once(prompt: str, data: str):
    start = time.process_time()
    task = understand(prompt + data)
    assert time.process_time() - start < 0.2
    assert task.kind == "unknown"
    assert len(" ".join(task.unknown)) < 600


def test_a_refusal_names_the_words_and_the_six_tasks():
    for prompt, examples in (("Sing a song", EXAMPLES), ("请唱歌", EXAMPLES_ZH)):
        said = reply({"messages": [{"role": "user", "content": prompt}]})
        assert said["stop_reason"] == "refusal"
        text = said["content"][0]["text"]
        assert re.findall(r"\n- .*", text) == [
            f'\n- {what}: "{e}"' for what, e in examples
        ]
        assert f'"{understand(prompt).unknown[0]}"' in text


@pytest.mark.parametrize("prompt", [prompt for _, prompt in (*EXAMPLES, *EXAMPLES_ZH)])
def test_the_model_sets_to_work_at_an_example_of_its_refusal(
    prompt: str, tmp_path: Path
):
    (tmp_path / "a.py").write_text("LIMIT = 3\n")
    turn = next(run(client(), prompt, Workspace(tmp_path)))
    assert turn.stop_reason == ("end_turn" if rules_in(prompt) else "tool_use")


@pytest.mark.parametrize(
    ("prompt", "rules", "line"),
    [
        ("每份报告的第一行必须是 '# 甲'。", 1, "# 甲"),
        ("每份报告的第一行不要是 '# 甲'。", 0, None),
        ("不要修改 json/ 里的文件。", 1, None),
        ("不要修改 json/ 以外的文件。", 0, None),
        ("不要重命名 LIMIT。", 1, None),
        ("不要不重命名 LIMIT。", 0, None),
    ],
)
def test_chinese_words_turn_a_rule_round(prompt: str, rules: int, line: str | None):
    assert len(rules_in(prompt)) == rules
    assert required_line(rules_in(prompt), first=True) == line


@pytest.mark.parametrize("words", ["继续", "请继续。", "Go on.", "continue"])
def test_to_go_on_with_nothing_is_refused(words: str, tmp_path: Path):
    (turn,) = run(client(), words, Workspace(tmp_path))
    assert turn.stop_reason == "refusal"


def test_a_refusal_ends_the_run_and_says_so(tmp_path: Path):
    (turn,) = run(client(), "Sing a song", Workspace(tmp_path))
    assert turn.stop_reason == "refusal"
    assert [event.kind for event in turn.events] == ["stopped"]


def test_the_sixth_task_says_rules_and_summary():
    rule = "Rule: the first line of every report must be '# For Ada'."
    for asked, words in (
        ("Which rules hold?", rule),
        ("What does the summary say?", "no summary"),
    ):
        messages = [rule, "Understood.", asked]
        said = reply(
            {
                "messages": [
                    {"role": role, "content": text}
                    for role, text in zip(
                        ("user", "assistant", "user"), messages, strict=True
                    )
                ]
            }
        )
        assert words in said["content"][0]["text"]
