"""The measuring instruments."""

import asyncio
import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from bench.measure import gauge, in_ms, percentile, process_tree, tokens, tree_cpu_s, tree_pss_mb, word_error_rate
from bench.sleeper import control_sleeper, lateness


@given(st.lists(st.integers(), min_size=1), st.floats(1, 100))
def test_a_percentile_is_a_value_that_so_many_do_not_exceed(values: list[int], percent: float) -> None:
    """At least so many percent of the values are no larger, and the percentile is one of them."""
    found = percentile(values, percent)
    assert found in values
    assert sum(value <= found for value in values) * 100 >= percent * len(values)


def test_percentiles_of_nothing_are_unknown() -> None:
    """No values, no percentile; and none in milliseconds either."""
    assert percentile([], 95) is None
    assert in_ms(None) is None
    assert in_ms(1_234_560) == 1234.6


def test_case_punctuation_and_spelling_are_no_errors() -> None:
    """Words are compared as Whisper's normaliser writes them."""
    assert word_error_rate("It's the colour grey.", "it is the color gray") == 0
    assert word_error_rate("the cat sat down", "the cap sat down") == 0.25


def test_tokens_keep_letters_digits_and_apostrophes() -> None:
    """Punctuation and case are left out, whatever the apostrophe."""
    assert tokens("The cat\u2019s 2nd nap \u2014 isn't it?") == ("the", "cat's", "2nd", "nap", "isn't", "it")


def test_memory_and_cpu_count_children() -> None:
    """A process tree is a process and all it started."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert {os.getpid(), child.pid} <= {process.pid for process in process_tree(os.getpid())}
        assert (tree_pss_mb(os.getpid()) or 0) > (tree_pss_mb(child.pid) or 0) > 0
        assert tree_cpu_s(os.getpid()) > 0
    finally:
        child.communicate(b"\n")
    assert process_tree(child.pid) == []
    assert tree_pss_mb(child.pid) is None


def test_a_gauge_is_read_by_its_whole_name() -> None:
    """Comments, labelled series and longer names are other metrics."""
    text = '# TYPE a gauge\na_total 1.0\na{x="y"} 2.0\na 0.25\n'
    assert gauge(text, "a") == 0.25
    assert gauge(text, "b") is None


async def test_the_sleeper_sleeps_until_it_is_told_to_stop() -> None:
    """Each sleep adds one lateness, none of them negative."""
    stop = asyncio.get_running_loop().create_future()
    sleeping = asyncio.ensure_future(lateness(stop))
    await asyncio.sleep(0.05)
    stop.set_result(None)
    late_s = await sleeping
    assert late_s
    assert min(late_s) >= 0


async def test_the_control_runs_in_a_process_of_its_own() -> None:
    """It starts with the body, and its figure comes when it is stopped."""
    async with control_sleeper() as control:
        await asyncio.sleep(0.3)
        assert await control.stop() >= 0


async def test_the_control_ends_with_its_body() -> None:
    """A body that never asks leaves no process behind."""
    before = {process.pid for process in process_tree(os.getpid())}
    async with control_sleeper():
        assert {process.pid for process in process_tree(os.getpid())} > before
    assert {process.pid for process in process_tree(os.getpid())} <= before
