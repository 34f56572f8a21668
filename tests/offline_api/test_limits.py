"""Limits: what doesn't end is stopped, in any thread, and what ends isn't."""

import threading
import time

import pytest

from offline_api.limits import TimeOver, limited


def forever():
    while True:
        try:
            sum(range(99))
        except Exception:  # as careless code does
            continue


def test_a_loop_that_catches_every_exception_is_stopped():
    with pytest.raises(TimeOver), limited(0.1):
        forever()


def test_it_is_stopped_in_a_thread_of_its_own_too():
    ends = []

    def work():
        try:
            with limited(0.1):
                forever()
        except TimeOver:
            ends.append("over")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert ends == ["over"]


def test_nothing_is_raised_once_the_block_has_ended():
    with limited(0.05):
        pass
    time.sleep(0.15)


def test_the_outer_limit_counts_again_after_an_inner_one():
    def inner_then_forever():
        with limited(60):
            pass
        forever()

    with pytest.raises(TimeOver), limited(0.2):
        inner_then_forever()


def test_another_clock_may_be_the_one_that_counts():
    with limited(0.05, lambda: 0.0):
        time.sleep(0.15)
