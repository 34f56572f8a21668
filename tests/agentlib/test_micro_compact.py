"""Micro-compact: what is cleared, cut or trimmed, and what never is."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib.messages import active_request, changes, result_text, tool_names
from agentlib.micro_compact import (
    micro_compact,
    replacements,
    trim_results,
    truncate_results,
)
from offline_api import violation
from tests.builders import (
    assistant,
    call,
    conversation,
    prose,
    result,
    user,
)
from tests.strategies import histories, length, results_of, unseen_of

CLEARED = "[Previous: used read_file]"
SEEN = [assistant("Seen."), user("Go on.")]
keeps = st.fixed_dictionaries(
    {
        "keep_recent": st.integers(0, 6),
        "min_chars": st.sampled_from([0, 20, 100]),
        "keep_tools": st.sampled_from([(), ("read_file",), ("bash", "compact")]),
        "recall": st.booleans(),
    }
)
policies = st.one_of(
    st.builds(lambda numbers: lambda m: micro_compact(m, **numbers), keeps),
    st.builds(
        lambda n, c: lambda m: truncate_results(m, keep_messages=n, max_result_chars=c),
        st.integers(0, 7),
        st.sampled_from([0, 20, 200]),
    ),
    st.builds(
        lambda n: lambda m: trim_results(m, trim_over=2 * n + 100, trim_keep=n),
        st.sampled_from([0, 90, 800]),
    ),
)


def contents(messages):
    return {name: found.get("content") for name, found in results_of(messages).items()}


def left(messages, **numbers):
    """Ids of the results that stay whole."""
    gone = replacements(messages, micro_compact(messages, **numbers))
    return set(results_of(messages)) - set(gone)


def newest(messages, number):
    return list(results_of(messages))[max(0, len(results_of(messages)) - number) :]


def answered_by(*results, tool="read_file"):
    """A seen turn with these results; the newest result is another one."""
    calls = [call(r["tool_use_id"], tool) for r in results]
    last = [assistant(call("newest")), user(result("newest", prose(500)))]
    return [user("Go."), assistant(*calls), user(*results), *last]


def test_a_batch_of_five_is_kept_whole_until_it_has_been_seen():
    names = [f"toolu_b{n}" for n in range(5)]
    batch = user(*(result(name, prose(500)) for name in names))
    messages = [*conversation(1), assistant(*map(call, names)), batch]
    assert micro_compact(messages, keep_recent=3)[-1] is batch
    assert left(messages, keep_recent=3) == set(names)
    assert left([*messages, *SEEN], keep_recent=3) == set(names[2:])
    assert left(messages, keep_recent=3, keep_unseen=False) == set(names[2:])


def test_results_of_min_chars_or_fewer_stay():
    messages = answered_by(result("a", "x" * 100), result("b", "x" * 101))
    assert left(messages, keep_recent=0) == {"a", "newest"}
    assert left(messages, keep_recent=0, min_chars=101) == {"a", "b", "newest"}
    assert left(messages, keep_recent=0, min_chars=0) == {"newest"}


def test_results_of_kept_tools_stay_and_count_as_recent():
    messages = answered_by(result("a", prose(500)))
    assert left(messages, keep_recent=1, keep_tools=("read_file",)) == {"a", "newest"}
    assert left(messages, keep_recent=1, keep_tools=("bash",)) == {"newest"}


def test_with_recall_the_placeholder_says_how_to_get_the_original_back():
    long = "[Previous: used read_file; recall toolu_a returns it]"
    messages = answered_by(
        result("toolu_a", prose(500)), result("toolu_b", prose(len(long) - 1))
    )
    found = contents(micro_compact(messages, keep_recent=0, min_chars=0, recall=True))
    assert found["toolu_a"] == long
    assert found["toolu_b"] == CLEARED  # the long one would not be shorter


def test_a_file_that_begins_as_a_placeholder_does_is_cleared_as_any():
    messages = answered_by(
        result("a", "[Previous: used bash] is how one looks.\n" + prose(500))
    )
    assert contents(micro_compact(messages, keep_recent=0))["a"] == CLEARED


@pytest.mark.parametrize("recall", [False, True])
def test_no_placeholder_is_longer_than_what_it_replaces(recall):
    for size in range(1, 80):
        messages = answered_by(result("a", "x" * size))
        numbers = {"keep_recent": 0, "min_chars": 0, "recall": recall}
        assert len(contents(micro_compact(messages, **numbers))["a"]) <= size


def test_an_unseen_result_is_not_cut_whatever_else_is():
    messages = conversation(3, 3_000)
    assert (
        contents(truncate_results(messages, keep_messages=0))["toolu_2"]
        == (contents(messages)["toolu_2"])
    )
    seen = truncate_results([*messages, *SEEN], keep_messages=0)
    assert len(contents(seen)["toolu_2"]) < 300


def test_a_result_is_truncated_to_200_characters_outside_the_last_6_messages():
    messages = conversation(4, size=1_000)  # results are messages 2, 4, 6, 8 of 9
    found = contents(truncate_results(messages))
    assert found["toolu_0"] == prose(200) + "... [truncated]"
    assert [len(content) for content in found.values()] == [215, 1_000, 1_000, 1_000]
    assert [
        len(c) for c in contents(truncate_results(messages, keep_messages=4)).values()
    ] == [
        *(215, 215),
        *(1_000, 1_000),
    ]


def test_a_result_over_2000_characters_keeps_800_at_each_end():
    original = prose(3_000)
    trimmed = contents(trim_results([*conversation(1, 3_000), *SEEN]))["toolu_0"]
    assert trimmed == (
        f"{original[:800]}\n\n[... 1400 characters trimmed ...]\n\n{original[-800:]}"
    )


@given(histories(), policies)
def test_a_policy_twice_is_once_and_shares_what_it_leaves(history, policy):
    before = copy.deepcopy(history)
    view = policy(history)
    assert list(changes(view, policy(view))) == []
    assert history == before
    assert all(view[i] != history[i] for i in changes(history, view))


@given(histories(), policies)
def test_a_policy_keeps_the_rules_the_calls_and_all_that_is_no_old_result(
    history, policy
):
    view = policy(history)
    assert violation(view) is None
    assert len(view) == len(history)
    assert tool_names(view) == tool_names(history)
    assert results_of(view).keys() == results_of(history).keys()
    assert active_request(view) == active_request(history)
    assert unseen_of(view) == unseen_of(history)
    assert all(view[i]["role"] == "user" for i in changes(history, view))


@given(histories(), policies)
def test_what_stands_in_for_a_result_is_never_longer(history, policy):
    old = results_of(history)
    for name, content in replacements(history, policy(history)).items():
        assert len(content) <= length(old[name])


@given(histories(min_size=2), keeps)
def test_the_newest_results_stay_whole(history, numbers):
    old = results_of(history)
    view = results_of(micro_compact(history, **numbers))
    recent = newest(history, numbers["keep_recent"])
    assert [view[name] for name in recent] == [old[name] for name in recent]


@given(histories(min_size=2), keeps)
def test_every_other_long_result_is_cleared(history, numbers):
    names = tool_names(history)
    old = results_of(history)
    spared = {*newest(history, numbers["keep_recent"]), *unseen_of(history)}
    for name, found in results_of(micro_compact(history, **numbers)).items():
        kept_tool = names[name] in numbers["keep_tools"]
        if name not in spared and not kept_tool and length(old[name]) > 100:
            assert result_text(found).startswith(f"[Previous: used {names[name]}")
