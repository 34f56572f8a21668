"""Limits: what doesn't end is stopped, in any thread, and what ends isn't."""

import subprocess
import sys
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


def swallows():
    while True:
        try:
            for number in range(10**6):
                number += 1
        except:  # noqa: E722
            pass


def sleeps():
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            continue


def nests():
    try:
        while True:
            sum(range(9))
    except:  # noqa: E722
        nests()


def tidies():
    while True:
        try:
            try:
                swallows()
            finally:
                swallows()
        except BaseException:
            swallows()


@pytest.mark.parametrize("careless", [swallows, sleeps, nests, tidies])
def test_a_loop_that_catches_everything_is_stopped_too(careless):
    begin = time.monotonic()
    with pytest.raises(TimeOver), limited(0.1):
        careless()
    assert time.monotonic() - begin < 5
    assert not sys.gettrace() or "limits" not in repr(sys.gettrace())
    time.sleep(0.3)  # nothing comes later


def test_a_function_has_time_to_tidy_up():
    tidied = []

    def work():
        try:
            forever()
        finally:
            time.sleep(0.05)
            tidied.append("all")

    with pytest.raises(TimeOver), limited(0.1):
        work()
    assert tidied == ["all"]


def test_blocks_in_many_threads_end_and_nothing_comes_late():
    ends = []

    def work(number):
        for _ in range(2):
            try:
                with limited(0.05):
                    (forever, swallows, sleeps)[number % 3]()
            except TimeOver:
                ends.append(number)
        time.sleep(0.3)
        ends.append("done")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert ends.count("done") == 3
    assert len(ends) == 3 + 6


def test_a_block_that_ends_just_in_time_raises_nothing_afterwards():
    for _ in range(40):
        try:
            with limited(0.02):
                time.sleep(0.019)
        except TimeOver:
            pass
        sum(range(1_000))


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


def test_a_debugger_works_after_a_block_has_ended():
    code = (
        "import sys\n"
        "from offline_api.limits import limited\n"
        "with limited(9):\n    pass\n"
        "sys.setprofile(lambda *_: None)\n"
        "(lambda: None)()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
