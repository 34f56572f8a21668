"""The prompt cache's rules, each by an example small enough to count by hand."""

from hypothesis import given
from hypothesis import strategies as st

from offline_api.cache import LONG, LOOK_BACK, SHORT, Bill, Part, PromptCache

HUNDRED = [Part(f"block {i}", 100) for i in range(60)]


def cache(min_tokens: int = 100) -> PromptCache:
    return PromptCache(min_tokens=min_tokens)


def test_a_breakpoint_writes_what_stands_before_it_and_the_next_request_reads_it():
    one = cache()
    assert one.bill(HUNDRED[:3], [1], now=0) == Bill(0, 200, 100)
    assert one.bill(HUNDRED[:5], [1, 4], now=1) == Bill(200, 300, 0)


def test_a_prefix_under_the_minimum_is_neither_written_nor_read():
    one = PromptCache(min_tokens=512)
    for now in (0, 1):
        assert one.bill(HUNDRED[:5], [4], now) == Bill(0, 0, 500)
    assert one.bill(HUNDRED[:6], [5], now=2) == Bill(0, 600, 0)
    assert one.bill(HUNDRED[:6], [5], now=3) == Bill(600, 0, 0)


def test_a_changed_block_loses_all_that_stands_behind_it():
    one = cache()
    one.bill(HUNDRED[:6], [1, 5], now=0)
    changed = [*HUNDRED[:3], Part("cleared", 10), *HUNDRED[4:6]]
    assert one.bill(changed, [1, 5], now=1) == Bill(200, 310, 0)


def test_the_look_back_counts_twenty_positions_with_its_own():
    assert LOOK_BACK == 20
    near = cache()
    far = cache()
    near.bill(HUNDRED[:16], [15], now=0)
    assert near.bill(HUNDRED[:35], [34], now=1).read == 1_600
    far.bill(HUNDRED[:15], [14], now=0)
    assert far.bill(HUNDRED[:35], [34], now=1).read == 0


def test_a_second_breakpoint_finds_what_the_last_one_looks_past():
    one = cache()
    one.bill(HUNDRED[:15], [14], now=0)
    assert one.bill(HUNDRED[:40], [14, 39], now=1) == Bill(1_500, 2_500, 0)


def test_a_run_of_calls_is_one_position_and_so_is_a_run_of_results():
    calls = [Part(f"call {i}", 10, "tool_use") for i in range(24)]
    results = [Part(f"result {i}", 10, "tool_result") for i in range(24)]
    one = cache()
    one.bill(HUNDRED[:1], [0], now=0)
    assert one.bill([*HUNDRED[:1], *calls, *results], [48], now=1).read == 100
    texts = [Part(f"text {i}", 10, "text") for i in range(24)]
    assert one.bill([*HUNDRED[:1], *texts], [24], now=2).read == 0


def test_a_message_may_stand_for_several_positions_and_a_setting_for_none():
    one = cache()
    one.bill(HUNDRED[:1], [0], now=0)
    wide = [Part("message", 10, positions=19)]
    assert one.bill(HUNDRED[:1] + wide, [1], now=1).read == 100
    wider = [Part("wider message", 10, positions=20)]
    assert one.bill(HUNDRED[:1] + wider, [1], now=2).read == 0
    with_setting = [*wide, Part("setting", 0, positions=0)]
    assert one.bill(HUNDRED[:1] + with_setting, [2], now=3).read == 110


def test_an_entry_dies_five_minutes_after_its_last_use():
    one = cache()
    one.bill(HUNDRED[:3], [2], now=0)
    assert one.bill(HUNDRED[:3], [2], now=299).read == 300
    assert one.bill(HUNDRED[:3], [2], now=598).read == 300
    assert one.bill(HUNDRED[:3], [2], now=598 + SHORT) == Bill(0, 300, 0)


def test_an_entry_that_a_look_back_reads_lives_on():
    one = cache()
    one.bill(HUNDRED[:2], [1], now=0)
    for at, name in ((299, "b"), (598, "c")):
        longer = [*HUNDRED[:2], Part(name, 100)]
        assert one.bill(longer, [2], now=at) == Bill(200, 100, 0)


def test_an_hour_costs_more_and_is_told_apart():
    one = cache()
    assert one.bill(HUNDRED[:4], {1: LONG, 3: SHORT}, now=0) == Bill(
        0, 400, 0, written_1h=200
    )
    assert one.bill(HUNDRED[:4], {1: LONG, 3: SHORT}, now=1_800) == Bill(200, 200, 0)
    assert one.bill(HUNDRED[:4], {1: LONG, 3: SHORT}, now=1_801) == Bill(400, 0, 0)


def test_a_breakpoint_of_five_minutes_does_not_shorten_an_entry_of_an_hour():
    one = cache()
    one.bill(HUNDRED[:2], {1: LONG}, now=0)
    one.bill(HUNDRED[:2], {1: SHORT}, now=100)
    assert one.bill(HUNDRED[:2], {1: SHORT}, now=1_800).read == 200


def test_the_usage_says_how_long_each_write_lives():
    usage = Bill(read=7, written=50, uncached=3, written_1h=20).usage(9)
    assert usage == {
        "input_tokens": 3,
        "cache_creation_input_tokens": 50,
        "cache_read_input_tokens": 7,
        "cache_creation": {
            "ephemeral_5m_input_tokens": 30,
            "ephemeral_1h_input_tokens": 20,
        },
        "output_tokens": 9,
    }


Prompt = tuple[list[Part], list[int]]
kinds = st.sampled_from(["text", "tool_use", "tool_result"])


@st.composite
def prompts(draw: st.DrawFn) -> Prompt:
    rows = draw(st.lists(st.tuples(st.integers(0, 2), kinds), min_size=1, max_size=40))
    blocks = [Part(key, 90 * key + 40, kind) for key, kind in rows]
    marks = draw(st.lists(st.integers(0, len(blocks) - 1), max_size=4, unique=True))
    return blocks, marks


@given(st.lists(st.tuples(prompts(), st.floats(0, 400)), max_size=8))
def test_every_token_is_billed_once(requests: list[tuple[Prompt, float]]):
    one = cache()
    now = 0.0
    for (blocks, marks), wait in requests:
        now += wait
        bill = one.bill(blocks, marks, now)
        assert min(bill) >= 0
        assert bill.read + bill.written + bill.uncached == sum(
            part.tokens for part in blocks
        )
        assert bill.written_1h <= bill.written
