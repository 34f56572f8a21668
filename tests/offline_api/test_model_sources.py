"""What a file says about itself is quoted, never made up, even if only half of it is
seen."""

import ast
import asyncio
import email
import json
from pathlib import Path
from types import ModuleType

import pytest

from offline_api.model.sources import BARE, COMMENT_ONLY, describe, first_sentence


def test_two_documented_names_come_before_undocumented_ones() -> None:
    text = 'def a(): pass\n\ndef b():\n    "Does b."\n\nclass C:\n    """Is C.\n\n    More."""\n'
    assert describe("x.py", text).names == ("b: Does b.", "C: Is C.")


def test_private_names_are_not_named_and_a_file_without_public_ones_says_so() -> None:
    assert describe("x.py", "def _a():\n    'Does a.'\n") == (
        "no docstring",
        (BARE,),
        (),
    )


@pytest.mark.parametrize(
    ("source", "purpose"),
    [
        ('"""Adds, e.g. numbers. And more."""\n', "Adds, e.g. numbers."),
        ("# Licence: MIT\n\n# Counts words.\nx = 1\n", "Counts words."),
        ('f"""Not a docstring."""\n', "no docstring"),
        ('"""Half """ + "a sum"\n', "no docstring"),
        ('"""With \\x41 in it."""\n', "With A in it."),
        ("print 'old'\n", "not described, because its text can't be parsed"),
        ('("""In parentheses.""")\n', "In parentheses."),
        ("x = 1\n", "no docstring"),
        ("", "empty file"),
    ],
)
def test_the_purpose_is_the_first_sentence_of_docstring_or_comment(
    source: str, purpose: str
) -> None:
    assert describe("x.py", source).purpose == purpose


def test_code_inside_a_string_defines_nothing() -> None:
    assert describe("x.py", 'TEXT = """\ndef fake():\n    "Fake."\n"""\n').names == (
        BARE,
    )


def test_what_was_cut_off_is_left_out() -> None:
    text = 'def a():\n    "Does a."\n\n\ndef b():\n    """Starts well and'
    assert describe("x.py", text).names == ("a: Does a.",)


def test_a_name_that_is_defined_twice_is_left_out() -> None:
    assert (
        describe("x.py", 'def a():\n    "One."\n\ndef a():\n    "Two."\n').names == ()
    )


def test_planted_facts_are_found_in_comments_and_not_in_code() -> None:
    text = '# FACT: four attempts.\n"""Text.\n\nDECISION: no threads.\n"""\nFACT: int = 3\n'
    assert describe("x.py", text).facts == (
        "FACT: four attempts.",
        "DECISION: no threads.",
    )


def test_other_languages_by_their_exports_or_by_their_first_comment() -> None:
    java = "/* Copyright X */\n/** Starts it. */\npublic class App {\n  public void run() {}\n}\n"
    assert describe("App.java", java).names == ("App", "run")
    script = "#!/usr/bin/env node\n// Serves pages.\n\nexport const port = 1;\n"
    assert describe("s.ts", script)[:2] == ("Serves pages.", ("port",))
    go = "// Counts words.\npackage main\n\nfunc Count() {}\n"
    assert describe("m.go", go)[:2] == ("Counts words.", (COMMENT_ONLY,))


def test_a_long_sentence_is_cut_at_a_clause() -> None:
    text = "It says one thing, " * 20
    assert first_sentence(text).endswith("one thing")
    assert len(first_sentence(text)) <= 160


@pytest.mark.parametrize("package", [email, json, asyncio])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_every_name_and_sentence_stands_in_the_source(
    package: ModuleType, share: float
) -> None:
    """Also where only the first half of the file can be seen."""
    for file in sorted(Path(package.__path__[0]).rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        described = describe(file.name, source[: int(len(source) * share)])
        tree = ast.parse(source)
        known = {
            node.name: " ".join((ast.get_docstring(node) or "").split())
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        }
        for line in described.names:
            name, _, what = line.partition(": ")
            if line != BARE:
                assert what in known[name] or (
                    what == "no docstring" and not known[name]
                ), file
