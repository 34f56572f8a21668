"""The web pages: where links lead, and what a screen reader says. A person judges their looks."""

from pathlib import Path

import pytest
from nbformat import NotebookNode, v4

from tools import pages
from tools.pages import described, linked, page, title

NOTEBOOKS = pages.ROOT / "notebooks"
KNOWN = {NOTEBOOKS / "01_estimation.ipynb", NOTEBOOKS / "GLOSSARY.md", pages.ROOT / "README.md"}


def lesson(*texts: str) -> tuple[str, set[Path]]:
    return linked("".join(texts), NOTEBOOKS / "00_the_wall.ipynb", KNOWN)


@pytest.mark.parametrize(
    ("href", "moved"),
    [
        ("01_estimation.ipynb", "01_estimation.html"),
        ("GLOSSARY.md#tool-use", "GLOSSARY.html#tool-use"),
        ("../README.md", "README.html"),
        ("../agentlib/loop.py", "files/agentlib/loop.py.txt"),
        ("#A-heading", "#A-heading"),
        ("https://example.org/01_estimation.ipynb", "https://example.org/01_estimation.ipynb"),
        ("mailto:ada@example.org", "mailto:ada@example.org"),
    ],
)
def test_a_link_leads_to_the_page_or_the_copy_of_its_file(href, moved):
    assert lesson(f'<a class="x" href="{href}">it</a>')[0] == f'<a class="x" href="{moved}">it</a>'


def test_pictures_and_linked_source_files_are_copied_along():
    text, files = linked('<img src="docs/wall.png">', pages.ROOT / "README.md", KNOWN)
    assert text == '<img src="files/docs/wall.png">'
    assert files == {pages.ROOT / "docs/wall.png"}
    assert lesson('<a href="../agentlib/loop.py">')[1] == {pages.ROOT / "agentlib/loop.py"}


@pytest.mark.parametrize("href", ["GLOSARY.md", "../agentlib", "../agentlib/gone.py#L3"])
def test_a_dead_link_is_an_error_that_names_it(href):
    with pytest.raises(FileNotFoundError, match=r"00_the_wall\.ipynb links to .+, which is not"):
        lesson(f'<a href="{href}">')


def test_the_title_of_a_page_is_its_first_heading():
    cells = [v4.new_markdown_cell("[back](x)\n\n# 00 · The wall\n"), v4.new_code_cell("# no")]
    assert title(v4.new_notebook(cells=cells)) == "00 · The wall"


PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)


def shown(text: str, printed: str = "") -> NotebookNode:
    picture = v4.new_output("display_data", {"image/png": PIXEL, "text/plain": text})
    words = v4.new_output("stream", name="stdout", text=printed)
    return v4.new_notebook(cells=[v4.new_code_cell("1", outputs=[picture, words])])


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_no_link_of_the_repositorys_own_texts_is_dead(name):
    linked(page(pages.ROOT / name), pages.ROOT / name, KNOWN)


def test_a_picture_is_described_by_the_words_beside_it():
    assert described(shown("window 8,000:\n13 turns", "more")) == ["window 8,000: 13 turns"]
    assert described(shown("<Chart with 1 Axes>", "17 turns,\n4 cleared\n")) == [
        "17 turns, 4 cleared"
    ]


def test_a_page_loads_nothing_from_other_servers_and_follows_the_readers_theme(tmp_path):
    file = tmp_path / "lesson.ipynb"
    file.write_text(v4.writes(shown('window "8,000"')), encoding="utf-8")
    text = page(file)
    assert 'alt="window &quot;8,000&quot;"' in text
    assert "No description has been provided" not in text
    assert "(prefers-color-scheme: dark)" in text
    assert not [each for each in ('src="http', "src='http", "@import") if each in text]


def test_a_solution_stays_folded(tmp_path):
    file = tmp_path / "lesson.md"
    fold = "<details><summary>Solution</summary>\n\n```python\nanswer = 42\n```\n\n</details>\n"
    file.write_text(fold, encoding="utf-8")
    folded = page(file).partition("<summary>Solution</summary>")[2].partition("</details>")[0]
    assert "42" in folded


def test_the_glossarys_terms_can_be_linked_to():
    assert 'id="tool-use"' in page(NOTEBOOKS / "GLOSSARY.md")


def test_the_answer_to_a_prediction_is_folded_and_a_later_output_is_not(tmp_path):
    def cell(source: str, printed: str) -> NotebookNode:
        outputs = [v4.new_output("stream", name="stdout", text=printed)]
        return v4.new_code_cell(source, outputs=outputs)

    cells = [cell('predict("02.x", n=None)', "no guess"), cell("1", "it is 42"), cell("2", "then")]
    file = tmp_path / "lesson.ipynb"
    file.write_text(v4.writes(v4.new_notebook(cells=cells)), encoding="utf-8")
    before, _, after = page(file).partition("<summary>The answer</summary>")
    answer, _, rest = after.partition("</details>")
    assert "no guess" in before
    assert "it is 42" in answer
    assert "then" in rest
