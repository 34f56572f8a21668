"""The field's mechanisms as engines: what other systems do that is no number in
`Settings`.

Each module has one `compact` with the signature of `pipeline.compact`, so the agent
runs with it, a replay replays it and the judge judges it. It is built from the layers,
and only its own mechanism differs from the course's agent. Its docstring says who does
it, and what it is good for.
"""

from importlib import import_module

from agentlib.step import ContextEngine

FAMILIES = {
    "clears results": "cleared_by_tokens identical_once positional short_arguments spilled "
    "telling_placeholders",
    "keeps other messages": "fresh_window newest_third persons_words sliding_window",
    "another summary": "asked_twice own_focus plan_put_back same_language scratchpad second_model",
    "another moment": "learned_rates prepared stops_refilling when_cold",
}
"""The engines' modules by what they change."""

ALL: dict[str, ContextEngine] = {
    name: import_module(f"{__name__}.{name}").compact
    for names in FAMILIES.values()
    for name in names.split()
}
"""Every engine by the name of its module."""
