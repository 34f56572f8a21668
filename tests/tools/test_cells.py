"""Cells as parts of a page: predictions become forms, answers and hints are folded."""

import html
from collections.abc import Sequence

import pytest
from nbformat import NotebookNode, v4

from tools.cells import Field, Part, output, parts, reader
from tools.pages import NOTEBOOKS, read

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNg"
    "AAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
LESSONS = sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))


def code(source: str, printed: str = "", picture: str = "") -> NotebookNode:
    outputs = [v4.new_output("stream", text=printed)] if printed else []
    if picture:
        data = {"image/png": PIXEL, "text/plain": picture}
        outputs.insert(0, v4.new_output("display_data", data))
    return v4.new_code_cell(source, outputs=outputs)


def made(*cells: NotebookNode) -> list[Part]:
    return parts(v4.new_notebook(cells=list(cells)), reader())


def asked(question: str, source: str, *values: str) -> tuple[Sequence[Field], Part]:
    """Return the fields of a prediction, and the part that answers it."""
    printed = "\n".join(
        f"{value.partition(' ')[0]}: you said nothing, it is {value.partition(' ')[2]}"
        for value in values
    )
    cells = (v4.new_markdown_cell(question), code(source), code("run()", printed))
    _, form, answer = made(*cells)
    assert answer.answers == form.id
    return form.fields, answer


def test_the_fields_of_a_prediction_take_what_the_answer_gives():
    fields, answer = asked(
        'Once `"no"`. **Predict:** does it end? With `"more"` turns or `"fewer"`? How many?',
        'predict("02.x", ends=None, turns=None, count=None, cents=None)',
        *("ends yes", "turns more", "count 1,200", "cents 2.60"),
    )
    words = Field("turns", ("more", "fewer"))
    assert fields == (
        Field("ends", ("yes", "no")),
        words,
        Field("count"),
        Field("cents"),
    )
    assert 'data-name="count" data-value="1,200"' in "".join(answer.outputs)


def test_only_the_code_cell_after_a_prediction_answers_it():
    printed = "n: you said nothing, it is 4"
    question = v4.new_markdown_cell("**Predict:** how many?")
    _, _, answer, later = made(
        question,
        code('predict("02.x", n=None)'),
        code("1", printed),
        code("2", printed),
    )
    assert answer.answers
    assert not later.answers


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_every_prediction_of_a_lesson_can_be_made_and_can_be_right(path):
    notebook = read(path)
    shown = parts(notebook, reader())
    forms = [part for part in shown if part.fields]
    assert len(forms) == sum("predict(" in cell.source[:8] for cell in notebook.cells)
    for form in forms:
        [answer] = [part for part in shown if part.answers == form.id]
        for field in form.fields:
            text = html.unescape("".join(answer.outputs))
            value = text.partition(f'data-name="{field.name}" data-value="')[
                2
            ].partition('"')[0]
            assert (
                value in field.choices
                if field.choices
                else value.replace(",", "")[0].isdigit()
            )


def test_an_exercise_has_its_hints_in_order():
    [exercise] = made(code('def f():\n    return None\n\n\ncheck("00.1", f)'))
    assert len(exercise.hints) == 2
    assert "reply = ask(messages)" in exercise.hints[0]


def test_a_picture_is_half_its_size_and_described_by_what_is_printed_beside_it():
    [figure] = made(code("1", 'a "window",\n17 turns', picture="<Chart>"))
    assert 'alt="a &#34;window&#34;, 17 turns"' in figure.outputs[0]
    [panel] = made(code("1", picture="window 8,000:\n13 turns"))
    assert 'alt="window 8,000: 13 turns"' in panel.outputs[0]


def test_rows_of_links_are_no_part_of_the_text():
    row = v4.new_markdown_cell("[← 01](a.ipynb) · [glossary](GLOSSARY.md)")
    text = v4.new_markdown_cell("See [this](a.ipynb) · or not")
    assert [part.text for part in made(row, text)] == [reader()(text.source)]


def test_headings_can_be_linked_to_and_their_ids_differ():
    markdown = reader()
    assert '<h2 id="tool-use">' in markdown("## tool use")
    assert '<h2 id="tool-use-2">' in markdown("## tool use")


def test_a_solution_stays_folded():
    fold = "<details><summary>Solution</summary>\n\n```python\nanswer = 42\n```\n\n</details>\n"
    folded = (
        reader()(fold)
        .partition("<summary>Solution</summary>")[2]
        .partition("</details>")[0]
    )
    assert "42" in folded


def test_a_picture_on_another_server_is_replaced_by_its_words():
    assert reader()("[![build](https://example.org/a.svg)](https://example.org/)") == (
        '<p><a href="https://example.org/">build</a></p>\n'
    )


def test_printed_text_may_be_wrapped_and_printed_columns_may_not():
    def printed(text: str) -> str:
        return str(output(v4.new_output("stream", text=text), reader()))

    assert 'class="words"' in printed("  one sentence\n  that goes on")
    assert 'class="words"' not in printed("name   turns\na          3")
