"""The table of readings, and the pictures of lesson 01."""

import base64
import io

import numpy as np
import pytest
from PIL import Image as Picture

from agentlib.estimation import TokenMeter
from agentlib.lab.panels import estimation_panel
from agentlib.lab.replay.estimates import (
    BLOCKS,
    CHARS,
    LAST_BILL,
    METER,
    WAYS,
    error_percent,
    growths,
    readings,
    rings_at,
)
from agentlib.messages import Message
from agentlib.session_file import Request
from agentlib.settings import Settings
from agentlib.transcripts import Session

HELLO: Message = {"role": "user", "content": "x" * 100}
ANSWER: Message = {"role": "assistant", "content": "y" * 200}


def request(context: list[Message], billed: int) -> Request:
    usage = {"input_tokens": billed, "output_tokens": 9}
    return Request(context=context, usage=usage, reply=ANSWER, at=0.0, seen=len(context))


def session() -> Session:
    sent = [request([HELLO], 50), request([HELLO, ANSWER, HELLO], 150)]
    return Session(session_id="s", requests=sent)


def test_each_way_reads_what_it_could_know_before_the_request():
    first, second = readings(session()).to_dict("records")
    assert (first["billed"], second["billed"]) == (50, 150)
    # 131 + 2 characters of Python text; 100 of text alone
    assert (first[CHARS], first[BLOCKS]) == (33, 34)
    assert first[LAST_BILL] == first[CHARS]
    # the bill of 50, and 236 + 2 + 131 + 2 characters that are new
    assert second[LAST_BILL] == 50 + 92
    meter = TokenMeter(len(str([])))
    meter.observe([HELLO], {"input_tokens": 50})
    assert second[METER] == meter.estimate([HELLO, ANSWER, HELLO]) == 50 + 57 + 30


def test_growth_is_from_request_to_request():
    assert list(growths(session())) == [100]
    assert list(growths(Session(session_id="empty"))) == []


def test_an_alarm_by_a_low_estimate_rings_late_and_by_a_high_one_early():
    assert error_percent(40, 100) == -60
    assert rings_at(171_000, -60) == 427_500
    assert rings_at(171_000, -55) == 380_000
    assert rings_at(171_000, 100) == 85_500
    with pytest.raises(ValueError, match="-100 % off reads nothing"):
        rings_at(171_000, -100)


def test_the_charts_name_every_way():
    table = readings(session())
    for chart in (estimation_panel.lines(table, window=100), estimation_panel.errors(table)):
        legend = chart.axes[0].get_legend()
        assert legend is not None
        assert {text.get_text() for text in legend.get_texts()} >= set(WAYS)


def test_the_panel_says_where_the_alarm_rings():
    panel = estimation_panel.estimation([100, 15_000])
    assert "171,000; the alarm rings at 171,000: in time." in panel.text.replace("\n", " ")
    assert "1 of 2 recorded turns brought more" in panel.text.replace("\n", " ")
    before = np.asarray(Picture.open(io.BytesIO(panel.png)))
    panel.off.value = -60
    assert "427,500: never" in panel.text.replace("\n", " ")
    assert not np.array_equal(before, np.asarray(Picture.open(io.BytesIO(panel.png))))
    panel.off.value = -10
    assert "too late for an answer of 16,000" in panel.text.replace("\n", " ")
    assert base64.b64decode(panel._repr_mimebundle_()["image/png"]) == panel.png


def test_shares_that_do_not_fit_are_an_error_in_the_panel():
    panel = estimation_panel.estimation(settings=Settings(context_window=40_000))
    panel.buffer.value = 40_000
    assert "ValueError: context_window=40,000 leaves nothing" in panel.text
    panel.buffer.value = 13_000
    assert "40,000 - 16,000 - 13,000 = 11,000" in panel.text
