"""The exercises of lesson 00: when a request no longer fits, what fills it, and a tool."""

from pathlib import Path
from tempfile import TemporaryDirectory

from agentlib.lab.lessons import checking
from agentlib.lab.lessons.checking import Answer, conversation, exercise, require
from agentlib.messages import of_type, result_text
from agentlib.tools import Workspace


@exercise("00.1", "a prompt as large as the window still fits, one token more is refused.")
def _refused(answer: Answer) -> None:
    cases = {
        "turn 4 sends 1,800 tokens and turn 5 sends 2,200": (5, 600, 400, 2_000),
        "a prompt as large as the window still fits": (4, 600, 200, 1_000),
        "longer turns and a larger window": (17, 600, 2_000, 32_000),
        "the first prompt alone is too large": (1, 5_000, 400, 2_000),
    }
    answer.agree(cases)


@exercise("00.2", "every call has its result, and the failed one says what went wrong.")
def _hands(answer: Answer) -> None:
    calls = [checking.call_block(1, path="a.txt"), checking.call_block(2, path="missing.txt")]
    with TemporaryDirectory() as folder:
        Path(folder, "a.txt").write_text("one line\n", encoding="utf-8", newline="\n")
        message = answer.call(calls, Workspace(Path(folder)))
    checking.require_answered(calls, message)
    first, second = of_type(message, "tool_result")
    text = result_text(first)
    require(text == "one line", f"the result of toolu_1 is {text!r}, but a.txt holds 'one line'.")
    require(second.get("is_error"), "toolu_2 reads a missing file, and its result has no is_error.")


@exercise("00.3", "40 turns instead of 20 send four times as many tokens.")
def _sent(answer: Answer) -> None:
    cases = {
        "600, 1,000 and 1,400 tokens are sent and paid for": (3_000, 600, 400, 3),
        "a single turn sends the first prompt": (600, 600, 400, 1),
        "the sum grows with the square of the turns": (1_584_000, 600, 2_000, 40),
    }
    answer.agree(cases)


@exercise("00.4", "the text counts, whether it is a string or stands in a list of blocks.")
def _largest(answer: Answer) -> None:
    in_list = conversation(300, 0, 23)
    in_list[4]["content"] = [checking.result_block(2, [{"type": "text", "text": "b" * 2_000}])]
    cases = {
        "toolu_2 has 2,000 characters in a list with one text block": ("toolu_2", in_list),
        "toolu_1 has 400 characters and comes first": ("toolu_1", conversation(400, [300, 90])),
    }
    answer.agree(cases)


SMALLEST_WINDOW = 96_000
"""The first of the slider's windows that the largest prompt of the whole task fits into."""


@exercise("00.5", "one step below, the last prompts are refused, when the report is due.")
def _window(answer: Answer) -> None:
    low = "the sentence still says that the API would refuse a prompt"
    high = "all prompts fit, but they do in a smaller window of the slider, too"
    how = "move the slider, read the sentence, and put in the window"
    answer.hit(SMALLEST_WINDOW, how=how, low=low, high=high)


SOURCE = """class Parcel:
    async def weigh(self):
        return "def nothing(): a text"

def deliver(parcel): ...
"""
OUTLINE = {"1": "class Parcel:", "2": "async def weigh(self):", "5": "def deliver(parcel): ..."}
"""The lines of `SOURCE` that define something."""


@exercise("00.6", "five lines became three.")
def _tool(answer: Answer) -> None:
    definition, function = answer.typed(tuple, "give a pair: the definition and the function")
    require(definition.get("description"), "without a description no model can use the tool.")
    schema = definition["input_schema"]
    types = {name: each.get("type") for name, each in schema["properties"].items()}
    require(types == {"path": "string"}, f"the one property should be path, a string: {types}.")
    require(schema.get("required") == ["path"], '"path" is not in "required".')
    lines = str(Answer(function).call(SOURCE)).splitlines()
    for number, text in OUTLINE.items():
        listed = any(each.startswith(number) and each.endswith(text) for each in lines)
        require(listed, f"the outline should have the line {number}: {text}")
    require(len(lines) == 3, f"the outline has {len(lines)} lines; only three define something.")
