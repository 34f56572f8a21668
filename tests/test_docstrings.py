"""Every example in a docstring of agentlib is run, and gives what it says."""

import doctest
import importlib
import pkgutil
import types

import pytest

import agentlib

MODULES = [
    "agentlib",
    *(module.name for module in pkgutil.walk_packages(agentlib.__path__, "agentlib.")),
]


def failures(module: types.ModuleType) -> list[str]:
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    for test in doctest.DocTestFinder().find(module, module.__name__):
        runner.run(test, out=said.append)
    return said


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_give_what_they_say(name):
    module = importlib.import_module(name)
    assert "\n".join(failures(module)) == ""
    assert module.__doc__, f"{name} does not say what it is"


def test_a_planted_wrong_example_is_found():
    planted = types.ModuleType("planted", ">>> 1 + 1\n3\n")
    assert any("Expected:\n    3\nGot:\n    2" in said for said in failures(planted))


LAYERS = ["estimation", "micro_compact", "auto_compact", "manual_compact", "head_and_tail"]
LAYERS += ["messages", "settings"]


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_has_an_example_small_enough_to_check_on_paper(name):
    module = importlib.import_module(f"agentlib.{name}")
    assert sum(bool(test.examples) for test in doctest.DocTestFinder().find(module)) >= 1
